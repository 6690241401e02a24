// The client record between the wire and the model: the bootstrap and the client API
// read it here, so that both accept the same.
import type { Client } from './client.ts'
import { GRANT_TYPES } from './client.ts'
import { keySetProblem, keyUriProblem, publicKeySet } from './client-keys.ts'
import type { Service } from './service.ts'
import { LONGEST_SECONDS } from './zone.ts'

/** What a request or the configuration says about a client: all of it but its zone, its secrets at rest and its dates. */
export type ClientDefinition = Omit<Client, 'zoneId' | 'secrets' | 'createdAt' | 'updatedAt'>

/** A rule of §3.2 that the record breaks: the property, and the text that the API answers. */
export interface ClientProblem {
  readonly key: string
  readonly message: string
}

/** What was read; the definition may only be used when there are no problems. */
export interface ClientFromJson {
  readonly definition: ClientDefinition
  /** In the clear, oldest first, at most two; none when the record names none. */
  readonly secrets: readonly string[]
  /** In the order of §3.2. */
  readonly problems: readonly ClientProblem[]
}

/** What the reading depends on: the names that follow the service, and row A15 of the mode table. */
export interface ClientRules {
  readonly service: Service
  readonly exactRedirectUri: boolean
}

/** Properties with a meaning of their own; everything else is an additional attribute. */
const OWN_PROPERTIES = new Set([
  'client_id',
  'client_secret',
  'secondary_client_secret',
  'jwks_uri',
  'jwks',
  'authorized_grant_types',
  'redirect_uri',
  'scope',
  'authorities',
  'autoapprove',
  'allowpublic',
  'access_token_validity',
  'refresh_token_validity',
  'name',
  'allowedproviders',
  'required_user_groups',
  'token_salt',
  // What only the server says; a value sent by somebody else is ignored.
  'resource_ids',
  'createdwith',
  'approvals_deleted',
  'action',
  'lastModified',
  'client_jwt_config',
])

/**
 * Reads a client in the shape of `POST /oauth/clients`. Lists may be arrays or one text separated by white space and
 * commas. Rules that depend on the caller (§3.3), the secret policy (§3.4) and "no secret for implicit" are the API's.
 */
export function clientFromJson(json: Readonly<Record<string, unknown>>, rules: ClientRules): ClientFromJson {
  const problems: ClientProblem[] = []
  const refuse = (key: string, message: string): void => {
    problems.push({ key, message })
  }
  const read = readerOf(json, refuse)

  const clientId = read.text('client_id') ?? ''
  if (clientId === '') refuse('client_id', 'A client_id must be provided.')
  if (clientId === rules.service.name) refuse('client_id', `Not allowed: ${clientId} is a reserved client_id`)
  if (/[/\\]/.test(clientId)) refuse('client_id', 'Not allowed characters: client_id must not contain / or \\')
  if (clientId.length > 255) refuse('client_id', 'client_id must have at most 255 characters')

  const grantTypes = read.list('authorized_grant_types') ?? []
  const redirectUris = read.list('redirect_uri') ?? []
  for (const grant of ['authorization_code', 'implicit'].filter(grant => grantTypes.includes(grant))) {
    if (redirectUris.length === 0) {
      refuse('redirect_uri', `${grant} grant type requires at least one redirect URL.`)
    }
  }
  const isUsable = rules.exactRedirectUri ? isExactRedirectUri : isRedirectPattern
  for (const uri of redirectUris) {
    if (!isUsable(uri)) refuse('redirect_uri', `One of the redirect_uri is invalid: ${uri}`)
  }

  const known = `Must be one of: [${GRANT_TYPES.join(', ')}]`
  if (grantTypes.length === 0) {
    refuse('authorized_grant_types', `An authorized grant type must be provided. ${known}`)
  }
  for (const grant of grantTypes.filter(grant => !GRANT_TYPES.some(type => type === grant))) {
    refuse('authorized_grant_types', `${grant} is not an allowed grant type. ${known}`)
  }

  const secrets = [read.text('client_secret'), read.text('secondary_client_secret')].filter(text => text !== undefined)
  const scope = read.list('scope')?.flatMap(words) ?? []
  const jwks = read.keySet()
  const jwksUri = read.text('jwks_uri')
  const hasCredential = secrets.some(secret => secret !== '') || jwks !== undefined || jwksUri !== undefined
  const bearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  if (grantTypes.includes(bearer)) {
    if (scope.length === 0) refuse('scope', `Scope cannot be empty for grant_type ${bearer}`)
    if (!hasCredential) refuse('client_secret', `Client secret is required for grant type ${bearer}`)
  }
  if (grantTypes.includes('client_credentials') && !hasCredential) {
    refuse('client_secret', 'Client secret is required for client_credentials grant type')
  }
  if (jwksUri !== undefined) {
    const problem = keyUriProblem(jwksUri)
    if (problem !== undefined) refuse('jwks_uri', problem)
  }

  const scopes = scope.length === 0 ? [rules.service.scope('none')] : unique(scope)
  const authorities = unique(read.list('authorities') ?? [])
  const refreshes = grantTypes.includes('authorization_code') || grantTypes.includes('password')
  const allowPublic = read.flag('allowpublic')
  const accessTokenSeconds = read.seconds('access_token_validity')
  const refreshTokenSeconds = read.seconds('refresh_token_validity')
  const name = read.text('name')
  const allowedProviders = read.list('allowedproviders')
  const tokenSalt = read.text('token_salt')
  const definition: ClientDefinition = {
    clientId,
    authorizedGrantTypes: unique(refreshes ? [...grantTypes, 'refresh_token'] : grantTypes),
    redirectUris: unique(redirectUris),
    scope: scopes,
    authorities: authorities.length === 0 ? [rules.service.scope('none')] : authorities,
    autoapprove: read.autoapprove(scopes),
    ...(allowPublic === undefined ? {} : { allowPublic }),
    ...(accessTokenSeconds === undefined ? {} : { accessTokenSeconds }),
    ...(refreshTokenSeconds === undefined ? {} : { refreshTokenSeconds }),
    ...(name === undefined ? {} : { name }),
    ...(allowedProviders === undefined ? {} : { allowedProviders: unique(allowedProviders) }),
    requiredUserGroups: unique(read.list('required_user_groups') ?? []),
    ...(tokenSalt === undefined ? {} : { tokenSalt }),
    ...(jwks === undefined || jwksUri !== undefined ? {} : { jwks }), // §3.1: used only when jwks_uri is absent
    ...(jwksUri === undefined ? {} : { jwksUri }),
    additional: Object.fromEntries(
      Object.entries(json).filter(([key, value]) => !OWN_PROPERTIES.has(key) && value !== null),
    ),
  }
  return { definition, secrets, problems }
}

const unique = (list: readonly string[]): readonly string[] => [...new Set(list)]

const words = (text: string): readonly string[] => text.split(/[\s,]+/).filter(word => word !== '')

/** Reads one property at a time; null counts as absent, and a value of another type is refused and then absent. */
function readerOf(json: Readonly<Record<string, unknown>>, refuse: (key: string, message: string) => void) {
  const value = (key: string): unknown => (Object.hasOwn(json, key) ? (json[key] ?? undefined) : undefined)

  function text(key: string): string | undefined {
    const found = value(key)
    if (found === undefined || typeof found === 'string') return found
    refuse(key, `${key} must be a string`)
    return undefined
  }

  function list(key: string): readonly string[] | undefined {
    const found = value(key)
    if (found === undefined) return undefined
    if (typeof found === 'string') return words(found)
    if (Array.isArray(found) && found.every(item => typeof item === 'string')) return found
    refuse(key, `${key} must be a list of strings`)
    return undefined
  }

  function flag(key: string): boolean | undefined {
    const found = value(key)
    if (found === undefined || typeof found === 'boolean') return found
    if (found === 'true' || found === 'false') return found === 'true'
    refuse(key, `${key} must be a boolean`)
    return undefined
  }

  function seconds(key: string): number | undefined {
    const found = value(key)
    if (found === undefined) return undefined
    if (typeof found === 'number' && Number.isInteger(found) && found > 0 && found <= LONGEST_SECONDS) {
      return found
    }
    refuse(key, `${key} must be a positive number of seconds`)
    return undefined
  }

  /** Everything, or the scopes that the client has anyway: others are dropped (§3.1). */
  function autoapprove(scopes: readonly string[]): true | readonly string[] {
    const found = value('autoapprove')
    if (typeof found === 'boolean') return found ? true : []
    const approved = list('autoapprove') ?? []
    return approved.includes('true') ? true : unique(approved.filter(scope => scopes.includes(scope)))
  }

  /** Public halves only, as JSON text. */
  function keySet(): string | undefined {
    const found = value('jwks')
    if (found === undefined) return undefined
    const problem = keySetProblem(found)
    if (problem === undefined) return publicKeySet(found)
    refuse('jwks', problem)
    return undefined
  }

  return { text, list, flag, seconds, autoapprove, keySet }
}

/** Schemes whose "address" is a program or a document of its own: a redirect there runs what an attacker wrote. */
const UNSAFE_SCHEME = /^(?:javascript|data|vbscript):/i

/** Row A15: an absolute URI that is compared as it stands; no wildcard, no fragment (RFC 6749 §3.1.2). */
function isExactRedirectUri(uri: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s#*]+$/i.test(uri) && !UNSAFE_SCHEME.test(uri) && URL.canParse(uri)
}

/** UAA: `scheme://[user:pw@]host[:port][/path]`; `*` anywhere but in the last two labels of the host, or as whole port. */
export function isRedirectPattern(uri: string): boolean {
  const parts =
    /^[a-z*][a-z0-9+.*-]*:\/\/(?:[^\s,@/]+@)?(\[[0-9a-f:.]+\]|[a-z0-9_.*-]+)(?::(?:\d+|\*))?(?:\/[^\s,]*)?$/i
  const host = parts.exec(uri)?.[1]
  return host !== undefined && !UNSAFE_SCHEME.test(uri) && !host.split('.').slice(-2).join('').includes('*')
}
