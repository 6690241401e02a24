// Problems of a client that depend on its zone, not on its record alone. Checked when a client is created or changed.
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { possibleTlsMethods, tlsMethodOf } from '../model/clients/mutual-tls.ts'
import type { MutualTlsSettings } from '../model/clients/mutual-tls.ts'
import type { SigningAlgorithm } from '../model/tokens/signing-key.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { ClientDefinition } from './client-json.ts'
import { ruledOut } from './profile-report.ts'
import { isDeepStrictEqual } from 'node:util'
import { missingGroups } from '../model/users/group.ts'
import { secondFactorPolicy } from '../model/users/second-factor.ts'

/** Inputs of the checks. */
export interface InZoneDeps {
  readonly store: Store
  readonly keys: KeyRing
  readonly behaviour: Behaviour
  readonly urls: Urls
  /** Absent: no certificates are requested. */
  readonly mutualTls?: MutualTlsSettings | undefined
}

type Check = (zone: Zone, client: ClientDefinition, deps: InZoneDeps) => Promise<string | undefined>

/** Algorithms that the zone must have a key for, by the name of the member. */
const ALGORITHMS = [
  ['id_token_signed_response_alg', ({ idTokenSignedResponseAlg: algorithm }: ClientDefinition) => algorithm],
  ['userinfo_signed_response_alg', ({ userinfoSignedResponseAlg: algorithm }: ClientDefinition) => algorithm],
  ['introspection_signed_response_alg', ({ introspectionSignedResponseAlg: algorithm }: ClientDefinition) => algorithm],
  ['authorization_signed_response_alg', ({ authorizationSignedResponseAlg: algorithm }: ClientDefinition) => algorithm],
] as const

/** The algorithms of what the server signs for the client, as its record names them. */
export const requiredAlgorithms = (client: ClientDefinition): readonly SigningAlgorithm[] =>
  ALGORITHMS.flatMap(([, algorithmOf]) => algorithmOf(client) ?? [])

/** An algorithm that the client already had is accepted: its key may be gone, and other members must stay changeable. */
const missingKey: Check = async (zone, client, { store, keys }) => {
  if (ALGORITHMS.every(([, algorithmOf]) => algorithmOf(client) === undefined)) return undefined
  const before: Client | undefined = await store.clients.find(zone.id, client.clientId)
  for (const [name, algorithmOf] of ALGORITHMS) {
    const algorithm = algorithmOf(client)
    if (algorithm === undefined || (before && algorithmOf(before) === algorithm)) continue
    if (!(await keys.withAlgorithm(zone.id, algorithm))) return `${name}: the zone has no key for ${algorithm}`
  }
  return undefined
}

/** A certificate method that the server cannot verify; one that the client already had is accepted. */
const unreadCertificate: Check = async (zone, client, { store, behaviour, mutualTls }) => {
  const method = tlsMethodOf(client)
  if (method === undefined || !supportsProtocol(zone, 'mutualTls', behaviour)) return undefined
  if (possibleTlsMethods(mutualTls).includes(method)) return undefined
  const before = await store.clients.find(zone.id, client.clientId)
  if (before?.tokenEndpointAuthMethod === method) return undefined
  const lacking = mutualTls ? 'no trusted CA (mutual_tls.trusted_ca)' : 'client certificates disabled (mutual_tls)'
  return `token_endpoint_auth_method: ${method} is not available: the server has ${lacking}`
}

/**
 * Members of the client that its profile or that of the zone rules out; missing settings of the zone can be added later. Of the
 * zone's, what the client already had is accepted: the zone may have got its profile later.
 */
const profile: Check = async (zone, client, { store }) => {
  const problems = ruledOut(zone, client)
  if (problems.length === 0) return undefined
  const before = client.profile === undefined ? await store.clients.find(zone.id, client.clientId) : undefined
  const known = before ? ruledOut(zone, before).map(({ key, message }) => `${key}: ${message}`) : []
  const text = problems.map(({ key, message }) => `${key}: ${message}`).find(each => !known.includes(each))
  return text === undefined ? undefined : `profile: ${text}`
}

/** Tokens of this server's clients and users must not become credentials of a client: they are shown to others. */
const ownIssuer: Check = async (zone, client, { urls }) =>
  client.jwtCreds?.some(({ iss }) => urls.isOwnIssuer(zone, iss))
    ? 'jwt_creds must not name this server; use jwks_uri for a client that signs with keys of its own'
    : undefined

/** Pairwise subjects where the zone has them off: the client would get the ids of accounts. One that already had them may stay. */
const pairwiseSubjects: Check = async (zone, client, { store, behaviour }) => {
  if (client.subjectType !== 'pairwise' || supportsProtocol(zone, 'pairwiseSubjects', behaviour)) return undefined
  const before = await store.clients.find(zone.id, client.clientId)
  return before?.subjectType === 'pairwise'
    ? undefined
    : 'subject_type: pairwise subjects are disabled in the zone (protocols.pairwiseSubjects)'
}

const CHECKS: readonly Check[] = [
  clientPolicyProblem,
  missingKey,
  unreadCertificate,
  profile,
  ownIssuer,
  pairwiseSubjects,
]

/** The first problem, as a complete sentence. */
export async function problemInZone(
  zone: Zone,
  client: ClientDefinition,
  deps: InZoneDeps,
): Promise<string | undefined> {
  for (const check of CHECKS) {
    const problem = await check(zone, client, deps)
    if (problem !== undefined) return problem
  }
  return undefined
}

/**
 * Why a new policy would apply to no user, or refuse all; undefined for a policy that the client already had, so that later
 * changes of the zone do not block other changes of the client.
 */
async function clientPolicyProblem(
  zone: Zone,
  { clientId, secondFactor: policy }: Pick<Client, 'clientId' | 'secondFactor'>,
  { store, behaviour }: { readonly store: Pick<Store, 'clients' | 'groups'>; readonly behaviour: Behaviour },
): Promise<string | undefined> {
  if (policy === undefined) return undefined
  const before = (await store.clients.find(zone.id, clientId))?.secondFactor
  if (isDeepStrictEqual(policy, before)) return undefined
  const ofZone = secondFactorPolicy(zone, behaviour)
  if (ofZone.requirement === 'off') return 'secondFactor has no effect: second factors are disabled in the zone'
  const { groups = [], methods = ofZone.methods } = policy
  if (!methods.some(method => ofZone.methods.includes(method))) {
    return `secondFactor.methods must have one that the zone accepts: ${ofZone.methods.join(', ')}`
  }
  const found = groups.length === 0 ? [] : await store.groups.findByNames(zone.id, groups)
  const [unknown] = missingGroups(groups, found)
  return unknown === undefined ? undefined : `secondFactor.groups: there is no group named ${unknown}`
}
