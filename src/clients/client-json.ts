// Reads and shows the JSON of clients for the bootstrap and the client API, so that both accept the same. Does not know
// how secrets are hashed.
import { isDeepStrictEqual } from 'node:util'
import type { JsonRecord } from '../base/json.ts'
import { isParsableUrl } from '../base/parsable-url.ts'
import { looksSecret } from '../base/secret-names.ts'
import { callerProblems } from '../model/clients/client-caller.ts'
import type { LimitedCaller } from '../model/clients/client-caller.ts'
import { holdsPrivateKey, keySetProblem, keyUriProblem, publicKeySet } from '../model/clients/client-keys.ts'
import type { Client } from '../model/clients/client.ts'
import { namesSameSubject } from '../model/clients/mutual-tls.ts'
import { CLASSIC_GRANT_TYPES, GRANT_TYPES } from '../model/clients/grant-types.ts'
import { policyProblem } from '../model/users/second-factor.ts'
import { isSafeUri } from '../model/safe-uri.ts'
import { isBlank, secretProblem } from '../model/clients/secret-policy.ts'
import type { SecretPolicy } from '../model/clients/secret-policy.ts'
import type { Service } from '../model/service.ts'
import { clientFields, clientSecretFields } from '../records/client.ts'
import { metadataProblems } from './metadata-rules.ts'
import { isKeepable, UNKEEPABLE } from '../records/kinds.ts'
import { mergeUpdate, readRecord, showRecord, wireNames } from '../records/record.ts'

/** A client as a request or the configuration defines it, without its zone, stored secrets and dates. */
export type ClientDefinition = Omit<
  Client,
  'zoneId' | 'secrets' | 'registration' | 'incarnation' | 'createdAt' | 'updatedAt'
>

/** A violated rule: the member, and the message of the API. */
export interface ClientProblem {
  readonly key: string
  readonly message: string
}

/** The result of reading; use the definition only if there are no problems. */
export interface ClientFromJson {
  readonly definition: ClientDefinition
  /** Unencrypted, oldest first, at most two. */
  readonly secrets: readonly string[]
  /** In UAA's order. */
  readonly problems: readonly ClientProblem[]
}

/** Inputs of the rules. */
export interface ClientRules {
  readonly service: Service
  readonly exactRedirectUri: boolean
  /** Row N1: whether the message about an unknown grant names those of newer standards. */
  readonly furtherProtocols: boolean
  /** Row C13: whether the configuration may have unknown grants and self-service redirect URIs. */
  readonly lenientConfiguration?: boolean
}

/** The source of a record. */
export interface ClientReading {
  /** From the configuration, as a new client of the API, or as an update, which keeps the secrets. */
  readonly as: 'configured' | 'created' | 'updated'
  /** Whether a second secret is allowed. */
  readonly withSecondSecret: boolean
  /** The caller, unless it is an administrator. */
  readonly caller?: LimitedCaller | undefined
  /** The policy of new secrets, if any. */
  readonly secretPolicy?: SecretPolicy | undefined
}

/** Reports the problem of a member. */
type Refuse = (key: string, message: string) => void

const CONFIGURED: ClientReading = { as: 'configured', withSecondSecret: true }

/** Read-only members besides the described fields; ignored in requests. */
const IGNORED = ['approvals_deleted', 'action', 'client_jwt_config']

/** Members that mean something; a client keeps every other one as an attribute. */
export const CLIENT_MEMBERS: ReadonlySet<string> = new Set([
  ...wireNames(clientFields),
  ...wireNames(clientSecretFields),
  ...IGNORED,
])

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * Reads a client in the shape of `POST /oauth/clients` and checks all rules, including those of the caller and the
 * policy if given. Lists may be arrays or strings separated by white space and commas.
 */
export function clientFromJson(
  json: JsonRecord,
  rules: ClientRules,
  reading: ClientReading = CONFIGURED,
): ClientFromJson {
  const { service } = rules
  const isNew = reading.as !== 'updated'
  const problems: ClientProblem[] = []
  const refuse = (key: string, message: string): void => {
    problems.push({ key, message })
  }
  const { values, problems: typeProblems } = readRecord(clientFields, json)
  const sentSecrets = readRecord(clientSecretFields, json)
  problems.push(...typeProblems.filter(({ key }) => !KEY_MEMBERS.has(key)), ...sentSecrets.problems)

  const { clientId = '', authorizedGrantTypes: grantTypes = [], authorities = [] } = values
  const isLenient = reading.as === 'configured' && rules.lenientConfiguration === true
  const redirectUris = [...new Set([...(values.redirectUris ?? []), ...(isLenient ? selfServiceTargets(json) : [])])]
  if (isNew) checkId(clientId, service, refuse)
  checkRedirectUris(redirectUris, grantTypes, rules, refuse)
  checkGrantTypes(grantTypes, { isLenient, furtherProtocols: rules.furtherProtocols }, refuse)

  const { first } = sentSecrets.values
  const second = reading.withSecondSecret ? sentSecrets.values.second : undefined
  const secrets = [first, second].filter(text => text !== undefined)
  const keys = readKeys(json, reading, { values, problems: typeProblems })
  // UAA: requires a secret even with keys. Only the configuration accepts a second secret alone.
  const proofs = reading.as === 'configured' ? secrets : [first ?? '']
  const named = [...proofs, keys.jwks ?? '', keys.jwksUri ?? '']
  const isByCertificate = values.tokenEndpointAuthMethod === 'tls_client_auth'
  const trustsOthers = (values.jwtCreds ?? []).length > 0 || typeProblems.some(({ key }) => key === 'jwt_creds')
  const hasKey = trustsOthers || named.some(text => !isBlank(text)) || keys.problems.length > 0 // these are reported instead
  const hasCredential = !isNew || isByCertificate || hasKey
  const scope = values.scope ?? []
  if (grantTypes.includes(JWT_BEARER)) {
    if (scope.length === 0) refuse('scope', `Scope cannot be empty for grant_type ${JWT_BEARER}`)
    if (!hasCredential) refuse('client_secret', `Client secret is required for grant type ${JWT_BEARER}`)
  }

  if (reading.caller) {
    const wanted = { clientId, grantTypes, scope, authorities }
    for (const [key, message] of callerProblems(reading.caller, wanted, service)) refuse(key, message)
    if (values.tokenExchange !== undefined)
      refuse('tokenExchange', 'tokenExchange is not allowed for non-admin caller.')
  }
  const isGuarded = reading.as !== 'configured' && first !== undefined && !isBlank(first)
  if (isGuarded && grantTypes.includes('implicit')) {
    refuse('client_secret', 'Implicit grant should not have a client_secret')
  }
  if (grantTypes.includes('client_credentials') && !hasCredential) {
    refuse('client_secret', 'Client secret is required for client_credentials grant type')
  }
  checkSecrets({ first, second }, reading, refuse)
  if (!reading.withSecondSecret && (json['secondary_client_secret'] ?? undefined) !== undefined) {
    refuse('secondary_client_secret', 'secondary_client_secret is not allowed here')
  }
  problems.push(...keys.problems)
  const wrongTarget = values.postLogoutRedirectUris?.find(uri => !isSafeUri(uri))
  if (wrongTarget !== undefined) {
    refuse('post_logout_redirect_uris', `One of the post_logout_redirect_uris is invalid: ${wrongTarget}`)
  }
  checkSecondFactor(values.secondFactor, refuse)
  problems.push(...metadataProblems({ ...values, redirectUris, authorizedGrantTypes: grantTypes }))

  const { allowPublic, jwks: _, jwksUri: __, jwtCreds, ...others } = values
  const scopes = scope.length === 0 ? [service.scope('none')] : scope
  const refreshes = grantTypes.includes('authorization_code') || grantTypes.includes('password')
  const definition: ClientDefinition = {
    ...others,
    clientId,
    authorizedGrantTypes: refreshes ? [...new Set([...grantTypes, 'refresh_token'])] : grantTypes,
    redirectUris,
    scope: scopes,
    authorities: authorities.length === 0 ? [service.scope('none')] : authorities,
    autoapprove: approvedOf(values.autoapprove, scopes),
    // `false` in an update removes it.
    ...(allowPublic !== undefined && (isNew || allowPublic) && { allowPublic }),
    requiredUserGroups: values.requiredUserGroups ?? [],
    // An empty list in an update removes them.
    ...(jwtCreds !== undefined && (!isNew || jwtCreds.length > 0) && { jwtCreds }),
    ...(keys.jwks === undefined || keys.jwksUri !== undefined ? {} : { jwks: keys.jwks }), // used only without jwks_uri
    ...(keys.jwksUri === undefined ? {} : { jwksUri: keys.jwksUri }),
    additional: additionalOf(json, refuse),
  }
  return { definition, secrets, problems }
}

/** Everything, or the listed ones among the client's scopes. */
const approvedOf = (sent: Client['autoapprove'] = [], scopes: readonly string[]): Client['autoapprove'] =>
  sent === true ? true : sent.filter(scope => scopes.includes(scope))

/** UAA: self-service redirect URLs are redirect URIs, too. See docs/compatibility.md, C13. */
const selfServiceTargets = (json: JsonRecord): readonly string[] =>
  ['signup_redirect_url', 'change_email_redirect_url'].flatMap(name => {
    const url = Object.hasOwn(json, name) ? json[name] : undefined
    return typeof url === 'string' && url !== '' ? [url] : []
  })

function checkGrantTypes(
  grantTypes: readonly string[],
  { isLenient, furtherProtocols }: { readonly isLenient: boolean; readonly furtherProtocols: boolean },
  refuse: Refuse,
): void {
  const choices = `Must be one of: [${(furtherProtocols ? GRANT_TYPES : CLASSIC_GRANT_TYPES).join(', ')}]`
  if (grantTypes.length === 0) {
    refuse('authorized_grant_types', `An authorized grant type must be provided. ${choices}`)
  }
  if (isLenient) return // a name that is no grant is of no use, and of no harm
  for (const grant of grantTypes.filter(grant => !GRANT_TYPES.some(type => type === grant))) {
    refuse('authorized_grant_types', `${grant} is not an allowed grant type. ${choices}`)
  }
}

function checkId(clientId: string, service: Service, refuse: Refuse): void {
  if (clientId === '') refuse('client_id', 'A client_id must be provided.')
  if (clientId === service.name) refuse('client_id', `Not allowed: ${clientId} is a reserved client_id`)
  if (/[/\\\p{Cc}]/u.test(clientId)) refuse('client_id', 'Not allowed characters: client_id must not contain / or \\')
  if (clientId.length > 255) refuse('client_id', 'client_id must have at most 255 characters')
}

function checkRedirectUris(
  uris: readonly string[],
  grantTypes: readonly string[],
  { exactRedirectUri }: ClientRules,
  refuse: Refuse,
): void {
  const redirecting = ['authorization_code', 'implicit'].filter(grant => grantTypes.includes(grant))
  if (uris.length === 0) {
    for (const grant of redirecting) {
      refuse('redirect_uri', `${grant} grant type requires at least one redirect URL.`)
    }
  }
  // UAA: validates them only on use. See docs/compatibility.md, A15.
  if (!exactRedirectUri && redirecting.length === 0) return
  const isUsable = exactRedirectUri ? isExactRedirectUri : isRedirectPattern
  for (const uri of uris) {
    if (!isUsable(uri)) refuse('redirect_uri', `One of the redirect_uri is invalid: ${uri}`)
  }
}

function checkSecrets(
  { first = '', second }: { first: string | undefined; second: string | undefined },
  { as, secretPolicy: policy }: ClientReading,
  refuse: Refuse,
): void {
  if (as !== 'created') return
  // A blank second secret would let every caller authenticate.
  if (second !== undefined && isBlank(second)) refuse('secondary_client_secret', 'A second secret must not be empty')
  if (!policy) return
  for (const [key, secret] of [['client_secret', first] as const, ['secondary_client_secret', second ?? ''] as const]) {
    const problem = secretProblem(policy, secret)
    if (problem !== undefined) refuse(key, problem)
  }
}

function checkSecondFactor(policy: Client['secondFactor'], refuse: Refuse): void {
  if (policy === undefined) return
  const problem = policyProblem(policy)
  if (problem) refuse('secondFactor', `secondFactor.${problem.member} ${problem.message}`)
}

/** Members that `readKeys` reads. */
const KEY_MEMBERS: ReadonlySet<string> = new Set(['jwks', 'jwks_uri'])

function keysProblem(keys: unknown, options: { readonly named: boolean }): string | undefined {
  if (!isKeepable(keys)) return `jwks ${UNKEEPABLE}`
  const problem = keySetProblem(keys, options)
  return problem === undefined && holdsPrivateKey(keys) ? 'jwks must hold public keys only' : problem
}

/** Public keys as a JSON string, and the URL of keys. */
function readKeys(
  json: JsonRecord,
  { as }: ClientReading,
  { values: { jwksUri }, problems: typeProblems }: ReturnType<typeof readRecord<typeof clientFields>>,
): { jwks?: string; jwksUri?: string; problems: readonly ClientProblem[] } {
  const problems: ClientProblem[] = typeProblems.filter(({ key }) => key === 'jwks_uri')
  const given = (Object.hasOwn(json, 'jwks') ? json['jwks'] : undefined) ?? undefined
  // The API refers to keys by `kid`.
  const problem = given === undefined ? undefined : keysProblem(given, { named: as !== 'configured' })
  if (problem !== undefined) problems.push({ key: 'jwks', message: problem })
  const uriProblem = jwksUri === undefined ? undefined : keyUriProblem(jwksUri)
  if (uriProblem !== undefined) problems.push({ key: 'jwks_uri', message: uriProblem })
  return {
    ...(given !== undefined && problem === undefined && { jwks: publicKeySet(given) }),
    ...(jwksUri !== undefined && { jwksUri }),
    problems,
  }
}

/** Additional attributes are stored and shown as they are. */
const MUST_BE_SECRET =
  'looks like a secret, and cannot be an additional attribute; the secret of a client is client_secret'

function additionalOf(json: JsonRecord, refuse: Refuse): JsonRecord {
  const entries = Object.entries(json).filter(([key, value]) => !CLIENT_MEMBERS.has(key) && value !== null)
  for (const [key, value] of entries) {
    if (!isKeepable(key) || !isKeepable(value)) refuse(key, `an additional attribute ${UNKEEPABLE}`)
    else if (looksSecret(key, value)) refuse(key, `${key.slice(0, 100)} ${MUST_BE_SECRET}`)
  }
  return Object.fromEntries(entries)
}

/** Schemes that contain a program or document: a redirect to one would execute it. */
const UNSAFE_SCHEME = /^(?:javascript|data|vbscript):/i

/** Row A15: an absolute URI for exact comparison: no wildcard, no fragment (RFC 6749 §3.1.2). */
function isExactRedirectUri(uri: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s#*]+$/i.test(uri) && !UNSAFE_SCHEME.test(uri) && isParsableUrl(uri)
}

/**
 * UAA: `scheme://[user:pw@]host[:port][/path]`; `*` anywhere but in the last two labels of the host, or as whole port.
 */
export function isRedirectPattern(uri: string): boolean {
  const parts =
    /^[a-z*][a-z0-9+.*-]*:\/\/(?:[^\s,@/]+@)?(\[[0-9a-f:.]+\]|[a-z0-9_.*-]+)(?::(?:\d+|\*))?(?:\/[^\s,]*)?$/i
  const host = parts.exec(uri)?.[1]
  return host !== undefined && !UNSAFE_SCHEME.test(uri) && !host.split('.').slice(-2).join('').includes('*')
}

/**
 * A stored client as shown by the API, without credentials. Lists omit the required groups.
 */
export const clientToJson = (client: Client, view: { readonly inList?: boolean } = {}): JsonRecord => ({
  ...client.additional,
  ...showRecord(clientFields, client, view),
})

/**
 * Merges an update with the client: absent and empty members keep their value, attributes are added or replaced, and
 * null removes one. The result still has to be read by `clientFromJson`.
 */
export const mergedJson = (existing: Client, update: JsonRecord): JsonRecord =>
  mergeUpdate(clientFields, clientToJson(existing), update)

/** Whether it has keys; null counts as absent. */
export const hasKeys = ({ jwks, jwksUri }: Pick<Client, 'jwks' | 'jwksUri'>): boolean =>
  jwks !== undefined || jwksUri !== undefined

/** Whether an update changes keys, `jwt_creds` or the subject of the certificate: like secrets, these are credentials. */
export const changesKeys = (existing: Client, definition: ClientDefinition): boolean =>
  hasKeys(definition) ||
  !isDeepStrictEqual(definition.jwtCreds ?? existing.jwtCreds ?? [], existing.jwtCreds ?? []) ||
  !namesSameSubject(existing, definition)

/** Applies an update to the client; keeps secrets, read-only members and, unless it has new ones, keys and `jwt_creds`. */
export function updatedClient(existing: Client, definition: ClientDefinition, now: Date): Client {
  const { zoneId, secrets, registration, incarnation, createdWith, createdAt } = existing
  const { jwks, jwksUri } = hasKeys(definition) ? definition : existing
  const { jwtCreds: sentCreds, ...others } = definition
  const jwtCreds = sentCreds ?? existing.jwtCreds ?? []
  return {
    ...others,
    ...(jwtCreds.length > 0 && { jwtCreds }),
    zoneId,
    secrets,
    ...(jwks !== undefined && { jwks }),
    ...(jwksUri !== undefined && { jwksUri }),
    ...(registration !== undefined && { registration }),
    ...(incarnation !== undefined && { incarnation }),
    ...(createdWith !== undefined && { createdWith }),
    createdAt,
    updatedAt: now,
  }
}
