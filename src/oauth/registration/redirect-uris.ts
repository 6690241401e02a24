// Which redirect URIs a client may register (RFC 7591 §5, OpenID Connect Registration §2, RFC 8252 §7 and §8.4).
import { isLoopbackHost } from '../../base/loopback.ts'
import { isSafeUri } from '../../model/safe-uri.ts'

/** Where an application runs: on a server, or on the device of the user. */
export type ApplicationType = 'web' | 'native'

const MAX_LENGTH = 2000

/**
 * The problem of a redirect URI; undefined if it may be registered. Web: https only. Native: loopback by http, https, and
 * schemes of its own, which must have a dot, as names of their owner do: other schemes belong to the system or to no one.
 */
export function redirectUriProblem(uri: string, type: ApplicationType): string | undefined {
  if (uri.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`
  if (!isSafeUri(uri)) return 'must be an absolute URI'
  if (uri.includes('#')) return 'must not have a fragment'
  if (uri.includes('*')) return 'must not have wildcards'
  const { protocol, username, password, hostname } = new URL(uri)
  if (username !== '' || password !== '') return 'must not have credentials'
  if (protocol === 'https:') {
    return type === 'web' && isLoopbackHost(hostname)
      ? 'must not be on this machine unless application_type is native'
      : undefined
  }
  if (type === 'web') return 'must be https unless application_type is native'
  if (protocol === 'http:') return isLoopbackHost(hostname) ? undefined : 'must be https, or http on a loopback address'
  return /^[a-z0-9+-]+(?:\.[a-z0-9+-]+)+:$/.test(protocol)
    ? undefined
    : 'must have a scheme with a dot, such as com.example.app (RFC 8252, section 8.4)'
}

/** The default application type: native if no redirect URI could belong to a server. */
export function impliedType(uris: readonly string[]): ApplicationType {
  const isNative = (uri: string): boolean => {
    if (!URL.canParse(uri)) return false
    const { protocol, hostname } = new URL(uri)
    return protocol === 'http:' ? isLoopbackHost(hostname) : protocol !== 'https:'
  }
  return uris.length > 0 && uris.every(isNative) ? 'native' : 'web'
}
