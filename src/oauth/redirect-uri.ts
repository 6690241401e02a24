// Where an authorization response may be sent. Two sets of rules: exact text (RFC 9700 §4.1.3), and the lenient ones of
// the reference system (row A15). Whatever neither allows is never redirected to.
import type { Client } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'

/** The URI to answer to, or undefined when the request's does not fit the client's. */
export function resolveRedirectUri(
  client: Pick<Client, 'redirectUris'>,
  requested: string | undefined,
  { exactRedirectUri }: Pick<Behaviour, 'exactRedirectUri'>,
): string | undefined {
  const registered = client.redirectUris
  if (requested === undefined) return registered.length === 1 && isUsable(registered[0]) ? registered[0] : undefined
  if (!isUsable(requested)) return undefined
  const matches = exactRedirectUri ? matchesExactly : matchesLeniently
  return registered.some(entry => matches(entry, requested)) ? requested : undefined
}

/** Absolute, without a fragment (RFC 6749 §3.1.2), control characters and white space, and not a script. */
function isUsable(uri: string | undefined): uri is string {
  if (
    uri === undefined ||
    uri.length > 4096 ||
    !/^[\x21-\x7e]+$/.test(uri) ||
    uri.includes('#') ||
    uri.includes('\\')
  ) {
    return false
  }
  return URL.canParse(uri) && !/^(javascript|data|vbscript|blob|file):/i.test(uri)
}

/** The same text; only the port of a loopback address is free (RFC 8252 §7.3), and wildcards never match. */
function matchesExactly(entry: string, requested: string): boolean {
  if (entry.includes('*')) return false
  if (entry === requested) return true
  const fixed = loopbackWithoutPort(entry)
  return fixed !== undefined && fixed === loopbackWithoutPort(requested, true)
}

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d{1,5})?([/?].*)?$/

/** A loopback URI with its port taken out; a registered `localhost` must have none for its port to be free. */
function loopbackWithoutPort(uri: string, isRequest = false): string | undefined {
  const [, origin, port, rest = ''] = LOOPBACK.exec(uri) ?? []
  if (origin === undefined) return undefined
  if (!isRequest && port !== undefined && origin.endsWith('localhost')) return undefined
  return origin + rest
}

const ENTRY = /^[a-z][a-z0-9+.*-]*:\/\/(?:[^/@\s]+@)?([^/:?#\s]+)(?::(?:\d+|\*))?(?:[/?].*)?$/i

/** UAA: wildcards, path prefixes and subdomains. See docs/compatibility.md, A15. */
function matchesLeniently(entry: string, requested: string): boolean {
  if (!/^https?:/i.test(entry)) return entry === requested
  const host = ENTRY.exec(entry)?.[1]
  if (host === undefined || host === '*' || /^\*+\.[^.]*$/.test(host) || /\.\*+$/.test(host)) return false
  return entry.includes('*') ? matchesPattern(entry, requested) : isBelow(entry, requested)
}

/** The same scheme and port, the host or one below it, and a path that begins with the registered one. */
function isBelow(entry: string, requested: string): boolean {
  const registered = new URL(entry)
  const url = new URL(requested)
  const sameHost = url.hostname === registered.hostname || url.hostname.endsWith(`.${registered.hostname}`)
  const path = normalPath(url.pathname)
  const prefix = registered.pathname
  return (
    url.protocol === registered.protocol &&
    url.port === registered.port &&
    sameHost &&
    url.username === '' &&
    path !== undefined &&
    path.startsWith(prefix)
  )
}

/** An Ant pattern over the whole URL; what stands right of a wildcard in the host must be there to the letter. */
function matchesPattern(entry: string, requested: string): boolean {
  const [, scheme = '', authority = '', rest = ''] = /^([^:]+):\/\/([^/?]*)(.*)$/.exec(entry) ?? []
  const url = new URL(requested)
  const path = normalPath(url.pathname)
  if (path === undefined || url.username !== '') return false
  const [, host = '', port = ''] = /^(.*?)(?::(\d+|\*))?$/.exec(authority) ?? []
  const portFits = port === '*' ? url.port !== '' : port === url.port
  return (
    antPattern(scheme).test(url.protocol.slice(0, -1)) &&
    antPattern(host, '.').test(url.hostname) &&
    portFits &&
    antPattern(rest === '' ? '/' : rest).test(path + url.search)
  )
}

const patterns = new Map<string, RegExp>()

/** `?` is one character, `*` any but the separator, `**` any at all. Built once for each pattern. */
function antPattern(pattern: string, separator = '/'): RegExp {
  const key = separator + pattern
  const known = patterns.get(key)
  if (known) return known
  const one = separator === '.' ? '[^./:@]' : '[^/]'
  const source = pattern.replace(/\*+|\?|[^*?]+/g, piece => {
    if (piece === '?') return one
    if (piece === '*') return `${one}*`
    return piece.startsWith('*') ? (separator === '.' ? `${one}*` : '.*') : piece.replace(/[\\^$.|+()[\]{}]/g, '\\$&')
  })
  const built = new RegExp(`^${source}$`)
  if (patterns.size > 1000) patterns.clear()
  patterns.set(key, built)
  return built
}

/** Percent-decoded until it no longer changes; a path that still climbs or hides a separator fits nothing. */
function normalPath(path: string): string | undefined {
  let text = path
  for (let round = 0; round < 5; round += 1) {
    const decoded = decodeOnce(text)
    if (decoded === undefined) return undefined
    if (decoded === text) return /(^|[/\\])\.\.?([/\\]|$)/.test(text) || text.includes('\\') ? undefined : text
    text = decoded
  }
  return undefined
}

function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // half a percent-code
  }
}
