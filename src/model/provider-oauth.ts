// The records of OAuth 2.0 and OpenID Connect providers (§6.6).
import { isJsonRecord, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import {
  ABSENT,
  EXTERNAL_MEMBERS,
  FLAG,
  isPlainText,
  listOfRecords,
  member,
  oneOf,
  TEXT,
  TEXT_MAP,
  TEXTS,
  URL_TEXT,
} from './provider-members.ts'
import type { Kind, Member } from './provider-members.ts'
import type { ProviderProblem, ProviderRecordType } from './provider-types.ts'

const GROUP_MAPPING = oneOf('AS_SCOPES', 'EXPLICITLY_MAPPED')
/** The usual mode is kept, and shown, as no mode at all. */
const SHOWN_GROUP_MAPPING: Kind = {
  ...GROUP_MAPPING,
  read: value => (value === 'EXPLICITLY_MAPPED' ? null : GROUP_MAPPING.read(value)),
}

const KEY_MEMBERS = ['kid', 'key', 'cert', 'alg', 'iss', 'aud']
/** `true` for the keys of the zone, or a key of its own. */
const OWN_KEY: Kind = {
  expected: `true or an object of texts: ${KEY_MEMBERS.join(', ')}`,
  read(value) {
    if (value === true) return true
    if (value === false) return null
    if (!isJsonRecord(value)) return undefined
    const known = KEY_MEMBERS.flatMap(name => (Object.hasOwn(value, name) ? [[name, value[name]] as const] : []))
    // A null stays: it says that the key is to be forgotten, where an absent one is kept.
    return known.every(([, each]) => each === null || isPlainText(each)) ? Object.fromEntries(known) : undefined
  },
}

const members = (more: readonly Member[], { withUserInfo = false } = {}): readonly Member[] => [
  ...EXTERNAL_MEMBERS,
  ...more.filter(({ name }) => name === 'discoveryUrl'),
  member('authUrl', URL_TEXT),
  member('tokenUrl', URL_TEXT),
  member('tokenKeyUrl', URL_TEXT),
  member('tokenKey', TEXT),
  member('userInfoUrl', URL_TEXT),
  ...(withUserInfo ? [member('checkTokenUrl', URL_TEXT)] : []),
  member('logoutUrl', URL_TEXT),
  member('performRpInitiatedLogout', FLAG, true),
  member('issuer', TEXT),
  member('relyingPartyId', TEXT),
  member('relyingPartySecret', TEXT, ABSENT),
  member('authMethod', TEXT),
  member('clientAuthInBody', FLAG, false),
  member('pkce', FLAG, true),
  member('scopes', TEXTS),
  member('responseType', TEXT, 'code'),
  member('linkText', TEXT),
  member('showLinkText', FLAG, true),
  member('skipSslValidation', FLAG, false),
  member('userPropagationParameter', TEXT),
  member('groupMappingMode', SHOWN_GROUP_MAPPING, ABSENT),
  member('cacheJwks', FLAG, true),
  ...more.filter(({ name }) => name !== 'discoveryUrl'),
]

const OWN_PARAMETERS = new Set([
  'redirect_uri',
  'code',
  'client_id',
  'client_secret',
  'response_type',
  'grant_type',
  'code_verifier',
  'client_assertion',
  'client_assertion_type',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'state',
  'scope',
  'assertion',
  'subject_token',
  'actor_token',
  'username',
  'password',
])

/** Whether the parameter of an authorization request is the protocol's own: a record can add others only. */
export const isOwnParameter = (name: string): boolean => OWN_PARAMETERS.has(name)

const isSet = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

const unusable = (key: string, message: string): ProviderProblem => ({ key, message, kind: 'unusable' })

const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt']

/** How this server proves itself there: what the secret, the key and `clientAuthInBody` come to. */
export function authMethodOf(config: JsonRecord): string {
  if (isSet(config['relyingPartySecret'])) {
    return config['clientAuthInBody'] === true ? 'client_secret_post' : 'client_secret_basic'
  }
  return (config['jwtClientAuthentication'] ?? undefined) === undefined ? 'none' : 'private_key_jwt'
}

function checkAuthMethod(config: JsonRecord): readonly ProviderProblem[] {
  const method = config['authMethod'] ?? undefined
  const hasSecret = isSet(config['relyingPartySecret'])
  const hasKey = (config['jwtClientAuthentication'] ?? undefined) !== undefined
  if (method === undefined) {
    const message = 'must say which of the secret and the key is used'
    return hasSecret && hasKey ? [unusable('authMethod', message)] : []
  }
  if (!AUTH_METHODS.some(each => each === method)) {
    return [{ key: 'authMethod', message: `must be one of ${AUTH_METHODS.join(', ')}`, kind: 'invalid' }]
  }
  const fits = method === 'none' ? !hasSecret && !hasKey : method === 'private_key_jwt' ? hasKey : hasSecret
  return fits ? [] : [unusable('authMethod', 'does not fit the secret or the key that is there')]
}

/** Whether the text of a verification key holds what only the provider may know. */
function isPrivateKey(text: string): boolean {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return true
  const value = parseJson(text)
  const keys: readonly unknown[] = isJsonRecord(value) && Array.isArray(value['keys']) ? value['keys'] : [value]
  return keys.some(key => isJsonRecord(key) && Object.hasOwn(key, 'd'))
}

/** Longer than any issuer is, and short enough for an index of either database. */
const MAX_ISSUER_LENGTH = 2000

function checkOauth(config: JsonRecord): readonly ProviderProblem[] {
  const { tokenKey, issuer, additionalAuthzParameters: added } = config
  const problems: ProviderProblem[] = []
  if (!isSet(config['relyingPartyId'])) {
    problems.push(
      unusable(
        'relyingPartyId',
        'Relying Party Id must be the client-id for the UAA that is registered with the external IDP',
      ),
    )
  }
  if (typeof tokenKey === 'string' && isPrivateKey(tokenKey)) {
    problems.push({ key: 'tokenKey', message: 'must be a public key', kind: 'invalid' })
  }
  if (typeof issuer === 'string' && Buffer.byteLength(issuer) > MAX_ISSUER_LENGTH) {
    problems.push({ key: 'issuer', message: `must have at most ${MAX_ISSUER_LENGTH} bytes`, kind: 'invalid' })
  }
  if (config['showLinkText'] !== false && !isSet(config['linkText'])) {
    problems.push(unusable('linkText', 'Link Text must be specified because showLinkText is true'))
  }
  if (isJsonRecord(added) && Object.keys(added).some(name => isOwnParameter(name))) {
    const message = 'No OAuth standard parameters allowed in section additionalAuthzParameters'
    problems.push(unusable('additionalAuthzParameters', message))
  }
  return [...problems, ...checkAuthMethod(config)]
}

function checkOidc(config: JsonRecord): readonly ProviderProblem[] {
  const problems = [...checkOauth(config)]
  if (isSet(config['discoveryUrl'])) return problems // whatever is missing is found there, at sign-in
  if (!isSet(config['authUrl'])) problems.push(unusable('authUrl', 'Authorization URL must be a valid URL'))
  if (!isSet(config['tokenUrl'])) problems.push(unusable('tokenUrl', 'Token URL must be a valid URL'))
  if (!isSet(config['tokenKey']) && !isSet(config['tokenKeyUrl'])) {
    problems.push(unusable('tokenKey', 'Either token key or token key URL must be specified'))
  }
  return problems
}

const shared = {
  needsConfig: true,
  computed: ({ config }: { readonly config: JsonRecord }): JsonRecord => ({ authMethod: authMethodOf(config) }),
  externalKey(config: JsonRecord): string | undefined {
    const issuer = config['issuer']
    return typeof issuer === 'string' && issuer !== '' ? issuer : undefined
  },
}

/** OAuth 2.0, where people are described by an endpoint. */
export const OAUTH_RECORD: ProviderRecordType = {
  ...shared,
  type: 'oauth2.0',
  members: members([], { withUserInfo: true }),
  check: checkOauth,
}

/** OpenID Connect, where they are described by a token. */
export const OIDC_RECORD: ProviderRecordType = {
  ...shared,
  type: 'oidc1.0',
  members: members([
    member('discoveryUrl', URL_TEXT),
    member('jwtClientAuthentication', OWN_KEY),
    member('passwordGrantEnabled', FLAG, false),
    member('setForwardHeader', FLAG, false),
    member('prompts', listOfRecords('name', 'type', 'text'), ABSENT),
    member('additionalAuthzParameters', TEXT_MAP, ABSENT),
  ]),
  check: checkOidc,
}
