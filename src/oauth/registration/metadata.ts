// Reads the metadata of a client that registers itself (RFC 7591 §2, OpenID Connect Registration §2). Only the members named
// here are taken; all others are ignored, as RFC 7591 §2 says, so that no registration reaches what administrators set.
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { asksForEncryption } from '../../clients/metadata-rules.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { Protocol } from '../../model/zones/protocols.ts'
import type { RegistrationPolicy } from '../../model/clients/registration.ts'
import { isSafeUri } from '../../model/safe-uri.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { parseResponseType } from '../authorize/response/response-type.ts'
import { impliedType, redirectUriProblem } from './redirect-uris.ts'
import type { ApplicationType } from './redirect-uris.ts'
import { DEVICE_CODE } from '../../model/clients/grant-types.ts'

/** Metadata whose members are valid on their own; `clientFromJson` checks the rules between members. */
export interface RequestedClient {
  /** In the shape of the client API. */
  readonly json: JsonRecord
  readonly grantTypes: readonly string[]
  readonly responseTypes: readonly string[]
  readonly needsSecret: boolean
}

/** Inputs of the rules. */
interface MetadataRules {
  readonly zone: Zone
  readonly policy: RegistrationPolicy
  readonly behaviour: Behaviour
}

/** A refusal of registration (RFC 7591 §3.2.2). */
export const invalidMetadata = (description: string, error: OAuthErrorCode = 'invalid_client_metadata'): OAuthError =>
  new OAuthError({ error, status: 400 }, description)

const MAX_ENTRIES = 20
const MAX_NAME_LENGTH = 100
/** Blanks, controls and what fonts leave out or leave blank, such as fillers of Hangul and Braille. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu
const MAX_LENGTH = 2000

type Kind = 'string' | 'link' | 'links' | 'strings' | 'flag' | 'number' | 'keys'

/** Members that are stored as they are sent, where the zone supports their protocol. */
const MEMBERS: readonly (readonly [name: string, kind: Kind, protocol?: Protocol])[] = [
  ['client_uri', 'link'],
  ['logo_uri', 'link'],
  ['policy_uri', 'link'],
  ['tos_uri', 'link'],
  ['initiate_login_uri', 'link'],
  ['contacts', 'strings'],
  ['software_id', 'string'],
  ['software_version', 'string'],
  ['jwks', 'keys'],
  ['jwks_uri', 'string'],
  ['token_endpoint_auth_signing_alg', 'string'],
  ['id_token_signed_response_alg', 'string'],
  ['default_max_age', 'number'],
  ['require_auth_time', 'flag'],
  ['default_acr_values', 'strings'],
  ['subject_type', 'string', 'pairwiseSubjects'],
  ['sector_identifier_uri', 'link', 'pairwiseSubjects'],
  ['userinfo_signed_response_alg', 'string', 'signedUserinfo'],
  ['introspection_signed_response_alg', 'string', 'signedIntrospection'],
  ['request_object_signing_alg', 'string', 'requestObjects'],
  ['require_signed_request_object', 'flag', 'requestObjects'],
  ['request_uris', 'links', 'requestObjects'],
  ['require_pushed_authorization_requests', 'flag', 'pushedRequests'],
  ['authorization_signed_response_alg', 'string', 'signedResponses'],
  ['dpop_bound_access_tokens', 'flag', 'dpop'],
  ['tls_client_auth_subject_dn', 'string', 'mutualTls'],
  ['tls_client_auth_san_dns', 'string', 'mutualTls'],
  ['tls_client_auth_san_uri', 'string', 'mutualTls'],
  ['tls_client_auth_san_ip', 'string', 'mutualTls'],
  ['tls_client_auth_san_email', 'string', 'mutualTls'],
  ['tls_client_certificate_bound_access_tokens', 'flag', 'mutualTls'],
  ['frontchannel_logout_uri', 'link', 'frontchannelLogout'],
  ['frontchannel_logout_session_required', 'flag', 'frontchannelLogout'],
  ['backchannel_logout_uri', 'link', 'backchannelLogout'],
  ['backchannel_logout_session_required', 'flag', 'backchannelLogout'],
]

/** The names of all members that a registration sets, in the names of the client API. */
export const REGISTERED_MEMBERS: ReadonlySet<string> = new Set([
  ...MEMBERS.map(([name]) => name),
  'redirect_uri',
  'post_logout_redirect_uris',
  'authorized_grant_types',
  'token_endpoint_auth_method',
  'application_type',
  'scope',
  'name',
  'allowpublic',
])

/** The methods, and whether each needs a secret or keys. */
const METHODS: ReadonlyMap<string, { readonly needs: 'secret' | 'keys' | 'nothing'; readonly protocol?: Protocol }> =
  new Map([
    ['client_secret_basic', { needs: 'secret' }],
    ['client_secret_post', { needs: 'secret' }],
    ['private_key_jwt', { needs: 'keys' }],
    ['tls_client_auth', { needs: 'nothing', protocol: 'mutualTls' }],
    ['self_signed_tls_client_auth', { needs: 'keys', protocol: 'mutualTls' }],
    ['none', { needs: 'nothing' }],
  ])

/** Checks the metadata. Throws `invalid_client_metadata` or `invalid_redirect_uri`. */
export function readMetadata(sent: JsonRecord, rules: MetadataRules): RequestedClient {
  if (isSent(sent, 'software_statement')) {
    throw invalidMetadata('Software statements are not accepted', 'unapproved_software_statement')
  }
  const encrypted = Object.keys(sent).find(name => asksForEncryption(name, memberOf(sent, name)))
  if (encrypted !== undefined) throw invalidMetadata(`${encrypted} is not supported`)
  const members = readMembers(sent, rules)
  const { grantTypes, responseTypes } = readTypes(sent, rules)
  const { type, redirectUris } = readRedirectUris(sent, grantTypes)
  const method = stringOf(sent, 'token_endpoint_auth_method') ?? 'client_secret_basic'
  const found = METHODS.get(method)
  if (!found || (found.protocol && !supportsProtocol(rules.zone, found.protocol, rules.behaviour))) {
    throw invalidMetadata('token_endpoint_auth_method is not supported')
  }
  if (found.needs === 'keys' && members['jwks'] === undefined && members['jwks_uri'] === undefined) {
    throw invalidMetadata(`token_endpoint_auth_method ${method} needs jwks or jwks_uri`)
  }
  const clientName = stringOf(sent, 'client_name')
  if (clientName !== undefined && (clientName.length > MAX_NAME_LENGTH || clientName.replace(INVISIBLE, '') === '')) {
    throw invalidMetadata(`client_name must have 1 to ${MAX_NAME_LENGTH} characters that can be seen`)
  }
  const json = {
    ...members,
    redirect_uri: redirectUris,
    post_logout_redirect_uris: readLogoutUris(sent, type),
    authorized_grant_types: grantTypes,
    scope: readScope(sent, rules.policy),
    token_endpoint_auth_method: method,
    application_type: type,
    ...(clientName !== undefined && { name: clientName }),
    ...(method === 'none' && { allowpublic: true }),
    require_nonce: true, // row A8
    ...(rules.policy.resources.length > 0 && { resources: rules.policy.resources }),
  }
  return { json, grantTypes, responseTypes, needsSecret: found.needs === 'secret' }
}

function readMembers(sent: JsonRecord, { zone, behaviour }: MetadataRules): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  for (const [name, kind, protocol] of MEMBERS) {
    if (protocol && !supportsProtocol(zone, protocol, behaviour)) continue
    const value = valueOf(sent, name, kind)
    if (value !== undefined) members[name] = value
  }
  if (members['jwks'] !== undefined && members['jwks_uri'] !== undefined) {
    throw invalidMetadata('jwks and jwks_uri must not be sent together') // RFC 7591 §2
  }
  return members
}

function valueOf(sent: JsonRecord, name: string, kind: Kind): unknown {
  switch (kind) {
    case 'string':
      return stringOf(sent, name)
    case 'strings':
      return stringsOf(sent, name)
    case 'link':
    case 'links': {
      const values = kind === 'link' ? stringOf(sent, name) : stringsOf(sent, name)
      const wrong = [values ?? []].flat().find(uri => !isLink(uri))
      if (wrong !== undefined) throw invalidMetadata(`${name} must be an https URL without credentials`)
      return values
    }
    case 'flag':
      return typed(sent, name, { needed: 'a boolean', fits: value => typeof value === 'boolean' })
    case 'number':
      return typed(sent, name, { needed: 'a number', fits: value => typeof value === 'number' })
    case 'keys':
      return typed(sent, name, { needed: 'a JWK set', fits: value => typeof value === 'object' })
  }
}

function typed<T>(
  sent: JsonRecord,
  name: string,
  { needed, fits }: { readonly needed: string; readonly fits: (value: unknown) => value is T },
): T | undefined {
  const value = memberOf(sent, name) ?? undefined
  if (value === undefined || fits(value)) return value
  throw invalidMetadata(`${name} must be ${needed}`)
}

/** Libraries send null or an empty string for absent values. */
const isSent = (sent: JsonRecord, name: string): boolean => (memberOf(sent, name) ?? '') !== ''

function stringOf(sent: JsonRecord, name: string): string | undefined {
  if (!isSent(sent, name)) return undefined
  return typed(sent, name, {
    needed: `a string of at most ${MAX_LENGTH} characters`,
    fits: (value): value is string => typeof value === 'string' && value.length <= MAX_LENGTH,
  })
}

function stringsOf(sent: JsonRecord, name: string): readonly string[] | undefined {
  return typed(sent, name, {
    needed: `a list of at most ${MAX_ENTRIES} strings of 1 to ${MAX_LENGTH} characters`,
    fits: isListOfStrings,
  })
}

const isListOfStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length <= MAX_ENTRIES &&
  value.every(each => typeof each === 'string' && each !== '' && each.length <= MAX_LENGTH)

/** Pages link to it and requests go there: https only, so that it can neither run code nor be intercepted. */
function isLink(uri: string): boolean {
  if (!isSafeUri(uri)) return false
  const { protocol, username, password } = new URL(uri)
  return protocol === 'https:' && username === '' && password === ''
}

/** Grants and response types, which must fit each other (RFC 7591 §2.1). */
function readTypes(
  sent: JsonRecord,
  { policy }: MetadataRules,
): { readonly grantTypes: readonly string[]; readonly responseTypes: readonly string[] } {
  const sentTypes = stringsOf(sent, 'response_types')
  // Editors register every grant that they know and discovery lists; the response names those that they have (RFC 7591 §3.2.1).
  const sentGrants = stringsOf(sent, 'grant_types')?.filter(grant => grant !== DEVICE_CODE)
  const impliedTypes = sentGrants?.includes('authorization_code') === false ? [] : ['code']
  const responseTypes = [...new Set(sentTypes ?? impliedTypes)]
  const needed = new Set<string>()
  for (const text of responseTypes) {
    const type = parseResponseType(text)
    if (!type || type.size !== text.split(' ').length) throw invalidMetadata(`response_types: ${text} is not supported`)
    if (type.has('code')) needed.add('authorization_code')
    if (type.has('token') || type.has('id_token')) needed.add('implicit')
  }
  const grantTypes = [...new Set(sentGrants ?? needed)]
  const refused = grantTypes.find(grant => !policy.grantTypes.includes(grant))
  if (refused !== undefined) throw invalidMetadata(`grant_types: ${refused} may not be registered`)
  const missing = [...needed].find(grant => !grantTypes.includes(grant))
  if (missing !== undefined) throw invalidMetadata(`response_types require the grant type ${missing}`)
  const idle = ['authorization_code', 'implicit'].find(grant => grantTypes.includes(grant) && !needed.has(grant))
  if (idle !== undefined) throw invalidMetadata(`grant_types: ${idle} requires a response type`)
  if (needed.size === 0 && grantTypes.every(grant => grant === 'refresh_token')) {
    throw invalidMetadata('grant_types must include a grant that a user can start, such as authorization_code')
  }
  return { grantTypes, responseTypes }
}

function readRedirectUris(
  sent: JsonRecord,
  grantTypes: readonly string[],
): { readonly type: ApplicationType; readonly redirectUris: readonly string[] } {
  const refuse = (description: string): OAuthError => invalidMetadata(description, 'invalid_redirect_uri')
  const redirectUris = [...new Set(stringsOf(sent, 'redirect_uris'))]
  const isRedirecting = grantTypes.includes('authorization_code') || grantTypes.includes('implicit')
  if (isRedirecting && redirectUris.length === 0) throw refuse('redirect_uris must have at least one URI')
  const named = stringOf(sent, 'application_type')
  if (named !== undefined && named !== 'web' && named !== 'native') {
    throw invalidMetadata('application_type must be web or native')
  }
  const type = named ?? impliedType(redirectUris)
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri, type)
    if (problem !== undefined) throw refuse(`redirect_uris: ${uri.slice(0, 200)} ${problem}`)
  }
  return { type, redirectUris }
}

function readLogoutUris(sent: JsonRecord, type: ApplicationType): readonly string[] | undefined {
  const uris = stringsOf(sent, 'post_logout_redirect_uris')
  for (const uri of uris ?? []) {
    const problem = redirectUriProblem(uri, type)
    if (problem !== undefined) throw invalidMetadata(`post_logout_redirect_uris: ${uri.slice(0, 200)} ${problem}`)
  }
  return uris
}

/** All that the zone allows, or some of it; `offline_access` is left out, as at the authorization endpoint (row A7). */
function readScope(sent: JsonRecord, policy: RegistrationPolicy): readonly string[] {
  const scope = stringOf(sent, 'scope')
  if (scope === undefined) return policy.scopes
  const words = [...new Set(scope.split(' ').filter(word => word !== '' && word !== 'offline_access'))]
  const refused = words.find(word => !policy.scopes.includes(word))
  if (refused !== undefined) throw invalidMetadata(`scope: ${refused.slice(0, 200)} may not be registered`)
  return words.length === 0 ? policy.scopes : words
}
