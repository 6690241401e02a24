import { isLoopbackHost } from '../base/loopback.ts'

/** Whether an absolute URI is safe in a header, unambiguous to all parsers, and not executable. */
export const isSafeUri = (uri: string): boolean =>
  uri.length <= 4096 &&
  /^[\x21-\x5b\x5d-\x7e]+$/.test(uri) && // no control character, no white space, no backslash
  !/^https?:(?!\/\/[^/])/i.test(uri) && // a browser takes `https:name` for a path of the page that it is on
  URL.canParse(uri) &&
  !/^(javascript|data|vbscript|blob|file):/i.test(uri)

/** Whether an answer goes to a site, not to a program on the device of the user. */
export const leavesDevice = (redirectUri: string): boolean =>
  redirectUri.startsWith('https:') && URL.canParse(redirectUri) && !isLoopbackHost(new URL(redirectUri).hostname)
