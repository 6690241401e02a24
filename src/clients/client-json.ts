// Reads and shows the JSON of clients for the bootstrap and the client API, so that both accept the same. Does not know
// how secrets are hashed.
import type { JsonRecord } from '../base/json.ts'
import { looksSecret } from '../base/secret-names.ts'
import { callerProblems } from '../model/clients/client-caller.ts'
import { holdsPrivateKey, keySetProblem, keyUriProblem, publicKeySet } from '../model/clients/client-keys.ts'
import type { Client } from '../model/clients/client.ts'
import { isSafeUri } from '../model/safe-uri.ts'
import { isBlank } from '../model/clients/secret-policy.ts'
import type { Service } from '../model/service.ts'
import { clientFields, clientSecretFields } from '../records/client.ts'
import {
  checkGrantTypes,
  checkId,
  checkRedirectUris,
  checkScopes,
  checkSecondFactor,
  checkSecrets,
} from './client-rules.ts'
import type { ClientProblem, ClientReading, ClientRules, Refuse } from './client-rules.ts'
import { asksForEncryption, metadataProblems } from './metadata-rules.ts'
import { isKeepable, UNKEEPABLE } from '../records/kinds.ts'
import { readRecord, showRecord, wireNames } from '../records/record.ts'
import { JWT_BEARER } from '../model/clients/grant-types.ts'

/** A client as a request or the configuration defines it, without its zone, stored secrets and dates. */
export type ClientDefinition = Omit<
  Client,
  'zoneId' | 'secrets' | 'registration' | 'incarnation' | 'createdAt' | 'updatedAt'
>

/** The result of reading; use the definition only if there are no problems. */
export interface ClientFromJson {
  readonly definition: ClientDefinition
  /** Unencrypted, oldest first, at most two. */
  readonly secrets: readonly string[]
  /** In UAA's order. */
  readonly problems: readonly ClientProblem[]
}

/** The members of a client that were sent. */
type SentMembers = SentClient['values']

type SentClient = ReturnType<typeof readRecord<typeof clientFields>>

interface SentKeys extends Pick<Client, 'jwks' | 'jwksUri'> {
  readonly problems: readonly ClientProblem[]
}

interface SentCredentials {
  readonly first: string | undefined
  readonly second: string | undefined
  readonly keys: SentKeys
}

const CONFIGURED: ClientReading = { as: 'configured', withSecondSecret: true }

/** Read-only members besides the described fields; ignored in requests. */
const IGNORED = ['approvals_deleted', 'action', 'client_jwt_config']

/** Known members; every other one is stored as an attribute. */
export const CLIENT_MEMBERS: ReadonlySet<string> = new Set([
  ...wireNames(clientFields),
  ...wireNames(clientSecretFields),
  ...IGNORED,
])

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
  const members = readRecord(clientFields, json)
  const { values, problems: typeProblems } = members
  const sentSecrets = readRecord(clientSecretFields, json)
  problems.push(...typeProblems.filter(({ key }) => !KEY_MEMBERS.has(key)), ...sentSecrets.problems)

  const { clientId = '', authorizedGrantTypes: grantTypes = [] } = values
  const isLenient = reading.as === 'configured' && rules.lenientConfiguration === true
  const redirectUris = [...new Set([...(values.redirectUris ?? []), ...(isLenient ? selfServiceTargets(json) : [])])]
  if (isNew) checkId(clientId, service, refuse)
  checkRedirectUris({ redirectUris, grantTypes }, rules, refuse)
  if (reading.as !== 'configured') checkScopes(values, refuse)
  checkGrantTypes(grantTypes, { isLenient, furtherProtocols: rules.furtherProtocols }, refuse)

  const { first } = sentSecrets.values
  const second = reading.withSecondSecret ? sentSecrets.values.second : undefined
  const secrets = [first, second].filter(text => text !== undefined)
  const keys = readKeys(json, reading, members)
  const hasCredential = !isNew || canAuthenticate(members, { first, second, keys }, reading)
  if (grantTypes.includes(JWT_BEARER)) {
    if ((values.scope ?? []).length === 0) refuse('scope', `Scope cannot be empty for grant_type ${JWT_BEARER}`)
    if (!hasCredential) refuse('client_secret', `Client secret is required for grant type ${JWT_BEARER}`)
  }

  if (reading.caller) {
    for (const [key, message] of callerProblems(reading.caller, values, service)) refuse(key, message)
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

  const additional = additionalOf(json, refuse)
  const definition = definitionOf({ ...values, redirectUris }, { keys, additional, isNew, service })
  return { definition, secrets, problems }
}

/** Whether the new client has something to authenticate with. Problems of its keys are reported instead of a missing secret. */
function canAuthenticate(
  { values, problems }: SentClient,
  { first, second, keys }: SentCredentials,
  { as }: ClientReading,
): boolean {
  if (values.tokenEndpointAuthMethod === 'tls_client_auth' || keys.problems.length > 0) return true
  if ((values.jwtCreds ?? []).length > 0 || problems.some(({ key }) => key === 'jwt_creds')) return true
  // UAA: requires a secret even with keys. Only the configuration accepts a second secret alone.
  const secrets = as === 'configured' ? [first, second] : [first]
  return [...secrets, keys.jwks, keys.jwksUri].some(text => text !== undefined && !isBlank(text))
}

/** The client with defaults for what was not sent. In an update, `false` and an empty list remove a member. */
function definitionOf(
  values: SentMembers,
  {
    keys,
    additional,
    isNew,
    service,
  }: {
    readonly keys: Pick<Client, 'jwks' | 'jwksUri'>
    readonly additional: JsonRecord
    readonly isNew: boolean
    readonly service: Service
  },
): ClientDefinition {
  const { allowPublic, jwks: _, jwksUri: __, jwtCreds, ...others } = values
  const { clientId = '', authorizedGrantTypes: grantTypes = [], scope = [], authorities = [] } = values
  const scopes = scope.length === 0 ? [service.scope('none')] : scope
  const refreshes = grantTypes.includes('authorization_code') || grantTypes.includes('password')
  return {
    ...others,
    clientId,
    authorizedGrantTypes: refreshes ? [...new Set([...grantTypes, 'refresh_token'])] : grantTypes,
    redirectUris: values.redirectUris ?? [],
    scope: scopes,
    authorities: authorities.length === 0 ? [service.scope('none')] : authorities,
    autoapprove: approvedOf(values.autoapprove, scopes),
    ...(allowPublic !== undefined && (isNew || allowPublic) && { allowPublic }),
    requiredUserGroups: values.requiredUserGroups ?? [],
    ...(jwtCreds !== undefined && (!isNew || jwtCreds.length > 0) && { jwtCreds }),
    ...(keys.jwks === undefined || keys.jwksUri !== undefined ? {} : { jwks: keys.jwks }), // used only without jwks_uri
    ...(keys.jwksUri === undefined ? {} : { jwksUri: keys.jwksUri }),
    additional,
  }
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

/** Members that `readKeys` reads. */
const KEY_MEMBERS: ReadonlySet<string> = new Set(['jwks', 'jwks_uri'])

function keysProblem(keys: unknown, options: { readonly named: boolean }): string | undefined {
  if (!isKeepable(keys)) return `jwks ${UNKEEPABLE}`
  const problem = keySetProblem(keys, options)
  return problem === undefined && holdsPrivateKey(keys) ? 'jwks must contain only public keys' : problem
}

/** Public keys as a JSON string, and the URL of keys. */
function readKeys(
  json: JsonRecord,
  { as }: ClientReading,
  { values: { jwksUri }, problems: typeProblems }: SentClient,
): SentKeys {
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
    else if (asksForEncryption(key, value)) refuse(key, `${key} is not supported`)
    else if (looksSecret(key, value)) refuse(key, `${key.slice(0, 100)} ${MUST_BE_SECRET}`)
  }
  return Object.fromEntries(entries)
}

/**
 * A stored client as shown by the API, without credentials. Lists omit the required groups.
 */
export const clientToJson = (client: Client, view: { readonly inList?: boolean } = {}): JsonRecord => ({
  ...client.additional,
  ...showRecord(clientFields, client, view),
})
