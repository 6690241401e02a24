// What a client may register as a redirect URI, and may use under a profile; redirect-uri.ts compares it with what a request names.
import { isParsableUrl } from '../base/text/parsable-url.ts'
import { isSafeUri } from '../model/safe-uri.ts'

/** Schemes that contain a program or document: a redirect to one would execute it. */
const UNSAFE_SCHEME = /^(?:javascript|data|vbscript):/i

/** Row A15: an absolute URI for exact comparison that responses are sent to: no wildcard, no fragment (RFC 6749 §3.1.2). */
export function isExactRedirectUri(uri: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s#*]+$/i.test(uri) && isParsableUrl(uri) && isSafeUri(uri)
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

/** Not plain http, except to the device itself; other schemes as RFC 8252 §7.1 asks for them (FAPI 2.0 Security Profile §5.3.2.2). */
const PROTECTED_URI = /^https:|^http:\/\/(?:127\.0\.0\.1|\[::1\])(?:[:/]|$)|^[a-z0-9+-]+(?:\.[a-z0-9+-]+)+:/i

/** The problem of a redirect URI that responses could be read at on their way, for a client with a profile of FAPI. */
export function unprotectedProblem(uri: string, { httpsOnly }: { readonly httpsOnly: boolean }): string | undefined {
  if (httpsOnly) return /^https:/i.test(uri) ? undefined : 'must be https'
  if (PROTECTED_URI.test(uri)) return undefined
  return 'must be https, or for programs on devices http on a loopback address, or a scheme with a dot'
}
