import { isLoopbackHost } from '../base/loopback.ts'

/** URL parsers accept nearly any character in a host, but a semicolon or comma would end a header value. */
const HOST = /^(?:[a-z0-9._*-]+|\[[0-9a-f:.]+\])$/ // `*`: patterns of UAA's redirect URIs

/** Whether an absolute URI is safe in a header, unambiguous to all parsers, and not executable. */
export const isSafeUri = (uri: string): boolean =>
  uri.length <= 4096 &&
  /^[\x21-\x5b\x5d-\x7e]+$/.test(uri) && // no control character, no white space, no backslash
  !/^https?:(?!\/\/[^/])/i.test(uri) && // a browser interprets `https:name` as a path of the current page
  !/^(javascript|data|vbscript|blob|file):/i.test(uri) &&
  hasPlainHost(uri)

/** An app's own scheme may have any host, or none. */
function hasPlainHost(uri: string): boolean {
  const url = URL.parse(uri)
  return url !== null && (!/^https?:$/.test(url.protocol) || HOST.test(url.hostname))
}

/** Whether a response goes to a web site rather than a program on the user's device. */
export const leavesDevice = (redirectUri: string): boolean =>
  redirectUri.startsWith('https:') && URL.canParse(redirectUri) && !isLoopbackHost(new URL(redirectUri).hostname)
