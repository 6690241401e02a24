// Reads a metadata document as a client. The rules are those of clients that register themselves, and stricter where a
// document lets its author act for a host.
import { isLoopbackHost } from '../../base/loopback.ts'
import type { Clock } from '../../base/clock.ts'
import { isJsonRecord, memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Outbound } from '../../base/outbound.ts'
import { clientFromJson } from '../../clients/client-json.ts'
import { problemInZone } from '../../clients/in-zone.ts'
import type { InZoneDeps } from '../../clients/in-zone.ts'
import type { Client } from '../../model/clients/client.ts'
import { holdsPrivateKey } from '../../model/clients/client-keys.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { registrationPolicy } from '../../model/clients/registration.ts'
import type { Service } from '../../model/service.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { signingKeyProblem } from '../registration/signing-keys.ts'
import type { ForeignHostDeps } from '../registration/foreign-hosts.ts'
import { linksOf, refuseForeignLinks } from '../registration/foreign-hosts.ts'
import { readMetadata } from '../registration/metadata.ts'
import { checkSector } from '../registration/sector.ts'

/** What the rules look at. */
export interface ReadingDeps extends InZoneDeps, ForeignHostDeps {
  readonly service: Service
  readonly clock: Clock
  readonly outbound: Outbound
}

const refuse = (description: string): OAuthError => new OAuthError('invalid_client', description)

const METHODS: ReadonlySet<unknown> = new Set(['none', 'private_key_jwt'])

/** Throws an `OAuthError` that says why the document cannot be used. */
export async function readDocument(
  sent: unknown,
  { zone, clientId }: { readonly zone: Zone; readonly clientId: string },
  deps: ReadingDeps,
): Promise<Client> {
  const { service, behaviour, clock } = deps
  if (!isJsonRecord(sent)) throw refuse('it is not a JSON object')
  if (memberOf(sent, 'client_id') !== clientId) throw refuse('its client_id is not its address')
  for (const name of ['client_secret', 'client_secret_expires_at']) {
    if ((memberOf(sent, name) ?? undefined) !== undefined) throw refuse(`it has ${name}, which would be public`)
  }
  // A client without a secret has no authentication, unless the document says how.
  const method = memberOf(sent, 'token_endpoint_auth_method') ?? 'none'
  if (!METHODS.has(method)) throw refuse('its token_endpoint_auth_method must be none or private_key_jwt')
  const policy = registrationPolicy(zone, service)
  const { jwks, jwks_uri: jwksUri, ...others } = sent
  if (holdsPrivateKey(jwks)) throw refuse('jwks must contain only public keys')
  const keys = method === 'none' ? {} : { jwks, jwks_uri: jwksUri }
  const asked = { ...others, ...keys, ...narrowed(sent, policy), token_endpoint_auth_method: method }
  const requested = readMetadata(asked, { zone, policy, behaviour })
  const name = memberOf(requested.json, 'name')
  // No stored client can have an address as its id; every other rule is for this client too.
  const json = { ...requested.json, client_id: 'document', name: nameOf(clientId, name) }
  const rules = { service, exactRedirectUri: true, furtherProtocols: behaviour.furtherProtocols }
  const { definition: read, problems } = clientFromJson(json, rules, { as: 'configured', withSecondSecret: false })
  const [problem] = problems
  if (problem) throw refuse(problem.message)
  for (const uri of read.redirectUris) requireOwnHost(uri, clientId)
  const definition = { ...read, clientId, authorizedGrantTypes: requested.grantTypes }
  const problemHere = signingKeyProblem(zone, definition) ?? (await problemInZone(zone, definition, deps))
  if (problemHere !== undefined) throw refuse(problemHere)
  await refuseForeignLinks(
    zone.id,
    linksOf(definition).filter(link => !isOnHostOf(link, clientId)),
    deps,
  )
  await checkSector(zone.id, definition, deps.outbound)
  const now = clock.now()
  const { responseTypes } = requested
  return {
    ...definition,
    zoneId: zone.id,
    secrets: [],
    registration: { responseTypes, byDocument: true },
    createdAt: now,
    updatedAt: now,
  }
}

/** One document serves many servers: requested values that this zone, or a document, does not allow are left out. */
function narrowed(
  sent: JsonRecord,
  policy: { readonly scopes: readonly string[]; readonly grantTypes: readonly string[] },
): JsonRecord {
  const grants = memberOf(sent, 'grant_types')
  const types = memberOf(sent, 'response_types')
  const isAllowed = (grant: unknown): boolean => grant !== 'implicit' && policy.grantTypes.includes(String(grant))
  const scope = memberOf(sent, 'scope')
  return {
    ...(Array.isArray(grants) && { grant_types: grants.filter(isAllowed) }),
    ...(Array.isArray(types) && { response_types: types.filter(type => type === 'code') }),
    ...(typeof scope === 'string' && { scope: allowedScope(scope, policy.scopes) }),
    ...(isForDevices(sent) && { application_type: 'native' }),
  }
}

/** Throws if nothing is left: a client that names no scope gets every one, and so would this one. */
function allowedScope(scope: string, allowed: readonly string[]): string {
  const words = scope.split(' ').filter(word => word !== '' && word !== 'offline_access')
  const left = words.filter(word => allowed.includes(word))
  if (words.length > 0 && left.length === 0) throw refuse('scope: none of these may be registered')
  return left.join(' ')
}

/** If one document describes an application on the web and on devices, the rules for devices apply. */
function isForDevices(sent: JsonRecord): boolean {
  const uris = memberOf(sent, 'redirect_uris')
  return Array.isArray(uris) && uris.some(uri => typeof uri === 'string' && !uri.toLowerCase().startsWith('https:'))
}

/** The host comes first, because it cannot be forged; the self-asserted name follows. */
function nameOf(clientId: string, name: unknown): string {
  const { host } = new URL(clientId)
  return typeof name === 'string' ? `${host} (${name})` : host
}

/** A document may name its own host, and programs on the device of the user, which have none. */
function requireOwnHost(uri: string, clientId: string): void {
  const { protocol, hostname } = new URL(uri)
  if (protocol !== 'https:' || isLoopbackHost(hostname) || isOnHostOf(uri, clientId)) return
  throw refuse('a redirect URI has another host than the document')
}

const isOnHostOf = (url: string, clientId: string): boolean => new URL(url).host === new URL(clientId).host
