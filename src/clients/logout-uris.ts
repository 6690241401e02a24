// The URIs of a client for the end of a session, and for a sign-in that begins here.
import { isLoopbackHost } from '../base/loopback.ts'
import { isSafeUri } from '../model/safe-uri.ts'
import type { MetadataRule } from './metadata-rules.ts'

/** https, or http on the machine itself; no credentials, which would not be sent. */
export function isProtectedUri(uri: string): boolean {
  if (!isSafeUri(uri)) return false
  const { protocol, hostname, username, password } = new URL(uri)
  const isProtected = protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))
  return isProtected && username === '' && password === ''
}

/** Nor a fragment. */
const isPlainUri = (uri: string): boolean => isProtectedUri(uri) && !uri.includes('#')

const message = (name: string): string => `${name} must be an https URL without a fragment`

/** Back-Channel Logout §2.2. */
export const backchannelProblem: MetadataRule = ({ backchannelLogoutUri: uri }) =>
  uri === undefined || isPlainUri(uri)
    ? undefined
    : { key: 'backchannel_logout_uri', message: message('backchannel_logout_uri') }

/** Front-Channel Logout §2: with the origin of a redirect URI. */
export const frontchannelProblem: MetadataRule = ({ frontchannelLogoutUri: uri, redirectUris }) => {
  const key = 'frontchannel_logout_uri'
  if (uri === undefined) return undefined
  if (!isPlainUri(uri)) return { key, message: message(key) }
  const { origin } = new URL(uri)
  const isKnown = redirectUris.some(entry => URL.canParse(entry) && new URL(entry).origin === origin)
  return isKnown ? undefined : { key, message: `${key} must have the scheme, host and port of a redirect URI` }
}

/** OpenID Connect Core §4. */
export const initiateLoginProblem: MetadataRule = ({ initiateLoginUri: uri }) =>
  uri === undefined || isPlainUri(uri)
    ? undefined
    : { key: 'initiate_login_uri', message: message('initiate_login_uri') }
