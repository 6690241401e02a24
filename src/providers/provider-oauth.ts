// Rules across the settings of OAuth 2.0 and OpenID Connect providers.
import { isJsonRecord, parseJson } from '../base/json.ts'
import type { OidcProviderConfig } from '../records/provider-oauth.ts'
import type { ProviderProblem } from './provider-types.ts'

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

/** Whether an authorization request parameter belongs to the protocol; records may add only others. */
export const isOwnParameter = (name: string): boolean => OWN_PARAMETERS.has(name)

const isSet = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

const unusable = (key: string, message: string): ProviderProblem => ({ key, message, kind: 'unusable' })

const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt']

/** The client authentication method at the provider, from the secret, the key and `clientAuthInBody`. */
export function authMethodOf(config: OidcProviderConfig): string {
  if (isSet(config.relyingPartySecret)) {
    return config.clientAuthInBody === true ? 'client_secret_post' : 'client_secret_basic'
  }
  return (config.jwtClientAuthentication ?? undefined) === undefined ? 'none' : 'private_key_jwt'
}

function checkAuthMethod(config: OidcProviderConfig): readonly ProviderProblem[] {
  const method = config.authMethod ?? undefined
  const hasSecret = isSet(config.relyingPartySecret)
  const hasKey = (config.jwtClientAuthentication ?? undefined) !== undefined
  if (method === undefined) {
    const message = 'must specify whether the secret or the key is used'
    return hasSecret && hasKey ? [unusable('authMethod', message)] : []
  }
  if (!AUTH_METHODS.some(each => each === method)) {
    return [{ key: 'authMethod', message: `must be one of ${AUTH_METHODS.join(', ')}`, kind: 'invalid' }]
  }
  const fits = method === 'none' ? !hasSecret && !hasKey : method === 'private_key_jwt' ? hasKey : hasSecret
  return fits ? [] : [unusable('authMethod', 'does not match the configured secret or key')]
}

/** Whether a verification key contains private members. */
function isPrivateKey(text: string): boolean {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return true
  const value = parseJson(text)
  const keys: readonly unknown[] = isJsonRecord(value) && Array.isArray(value['keys']) ? value['keys'] : [value]
  return keys.some(key => isJsonRecord(key) && Object.hasOwn(key, 'd'))
}

/** Longer than any issuer is, and short enough for an index of either database. */
const MAX_ISSUER_LENGTH = 2000

/** Characters; a page shows those of all providers. */
const MAX_LINK_LENGTH = 255

/** Rules of both types. */
export function checkOauth(config: OidcProviderConfig): readonly ProviderProblem[] {
  const { tokenKey, issuer, additionalAuthzParameters: added } = config
  const problems: ProviderProblem[] = []
  if (!isSet(config.relyingPartyId)) {
    problems.push(unusable('relyingPartyId', 'must be the id of the client that is registered at the provider'))
  }
  if (tokenKey && isPrivateKey(tokenKey)) {
    problems.push({ key: 'tokenKey', message: 'must be a public key', kind: 'invalid' })
  }
  if (issuer && Buffer.byteLength(issuer) > MAX_ISSUER_LENGTH) {
    problems.push({ key: 'issuer', message: `must have at most ${MAX_ISSUER_LENGTH} bytes`, kind: 'invalid' })
  }
  if (config.linkText && config.linkText.length > MAX_LINK_LENGTH) {
    problems.push({ key: 'linkText', message: `must have at most ${MAX_LINK_LENGTH} characters`, kind: 'invalid' })
  }
  if (config.showLinkText !== false && !isSet(config.linkText)) {
    problems.push(unusable('linkText', 'must be set, unless showLinkText is false'))
  }
  if (Object.keys(added ?? {}).some(name => isOwnParameter(name))) {
    const message = 'must not have parameters of the protocol, such as state'
    problems.push(unusable('additionalAuthzParameters', message))
  }
  return [...problems, ...checkAuthMethod(config)]
}

/** Rules of OpenID Connect providers: without discovery, the endpoints are required. */
export function checkOidc(config: OidcProviderConfig): readonly ProviderProblem[] {
  const problems = [...checkOauth(config)]
  const { jwtClientAuthentication: own } = config
  // UAA: resolves references to settings of the server, which administrators of providers could read that way.
  if (isJsonRecord(own) && Object.values(own).some(value => typeof value === 'string' && value.includes('${'))) {
    const message = 'must contain the values themselves: references (${...}) are not resolved'
    problems.push({ key: 'jwtClientAuthentication', message, kind: 'invalid' })
  }
  if (isSet(config.discoveryUrl)) return problems // missing settings are found there, at sign-in
  if (!isSet(config.authUrl)) problems.push(unusable('authUrl', 'must be set, because there is no discoveryUrl'))
  if (!isSet(config.tokenUrl)) problems.push(unusable('tokenUrl', 'must be set, because there is no discoveryUrl'))
  if (!isSet(config.tokenKey) && !isSet(config.tokenKeyUrl)) {
    problems.push(unusable('tokenKey', 'or tokenKeyUrl must be set, because there is no discoveryUrl'))
  }
  return problems
}
