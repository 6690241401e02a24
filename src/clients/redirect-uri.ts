// Where an authorization response may be sent. Three sets of rules: exact text (RFC 9700 §4.1.3), and in `uaa` the lenient
// ones of the reference system (row A15) or, where the operator wants them, its strict ones. URIs that they do not
// allow are never redirected to.
import type { Client } from '../model/clients/client.ts'
import { isRedirectPattern } from './redirect-uri-form.ts'
import { isSafeUri } from '../model/safe-uri.ts'

/** Which of the rules apply. */
interface RedirectRules {
  readonly exactRedirectUri: boolean
  readonly strictRedirects?: boolean
}

/** The redirect URI of the response, or undefined if the requested one does not match the client's. */
export function resolveRedirectUri(
  client: Pick<Client, 'redirectUris' | 'registration'>,
  requested: string | undefined,
  rules: RedirectRules,
): string | undefined {
  // For clients that no administrator created, matching is always exact.
  const exactRedirectUri = rules.exactRedirectUri || client.registration !== undefined
  const registered = client.redirectUris
  // UAA: one entry that is no valid pattern invalidates all of them.
  if (!exactRedirectUri && !registered.every(isRedirectPattern)) return undefined
  if (requested === undefined) {
    if (client.registration) return undefined // OpenID Connect Core §3.1.2.1; the others keep what was specified for them
    const [only, ...others] = registered
    if (only === undefined || others.length > 0 || !isUsable(only)) return undefined
    return exactRedirectUri && only.includes('*') ? undefined : only
  }
  if (!isUsable(requested)) return undefined
  const matches = exactRedirectUri ? matchesExactly : rules.strictRedirects ? matchesStrictly : matchesLeniently
  return registered.some(entry => matches(entry, requested)) ? requested : undefined
}

/** Whether a logout may redirect to the target: it equals the entry, or matches it as an Ant pattern. */
export function fitsLogoutEntry(entry: string, target: string): boolean {
  if (!isSafeUri(target)) return false
  return entry === target || (entry.includes('*') && isRedirectPattern(entry) && matchesPattern(entry, target))
}

/** RFC 6749 §3.1.2: absolute, and without a fragment. */
const isUsable = (uri: string): boolean => isSafeUri(uri) && !uri.includes('#')

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

/** UAA: everything except the query is equal, and the query contains that of the registered one. */
function matchesStrictly(entry: string, requested: string): boolean {
  if (entry === requested) return true
  if (namesOwnParameter(requested) || !URL.canParse(entry)) return false
  const [registered, url] = [new URL(entry), new URL(requested)]
  const queryOf = ({ searchParams }: URL): readonly string[] => Array.from(searchParams, pair => JSON.stringify(pair))
  const sent = queryOf(url)
  return withoutQuery(registered) === withoutQuery(url) && queryOf(registered).every(pair => sent.includes(pair))
}

const withoutQuery = ({ protocol, username, password, host, pathname }: URL): string =>
  JSON.stringify([protocol, username, password, host, pathname])

/** UAA: wildcards, path prefixes and subdomains. See docs/compatibility.md, A15. */
function matchesLeniently(entry: string, requested: string): boolean {
  if (entry === requested) return true
  if (namesOwnParameter(requested)) return false
  return entry.includes('*') ? matchesPattern(entry, requested) : isBelow(entry, requested)
}

const OWN_PARAMETERS = ['code', 'state', 'error', 'iss', 'access_token', 'id_token', 'response']

/** Whether its query already has a response parameter: the client might use the first of two codes. */
const namesOwnParameter = (requested: string): boolean =>
  OWN_PARAMETERS.some(name => new URL(requested).searchParams.has(name))

const isWeb = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:'

const hasUser = ({ username, password }: URL): boolean => username !== '' || password !== ''

/** The same scheme and port, the host or one below it, and a path that begins with the registered one. */
function isBelow(entry: string, requested: string): boolean {
  if (!URL.canParse(entry)) return false
  const registered = new URL(entry)
  const url = new URL(requested)
  const sameHost = url.hostname === registered.hostname || url.hostname.endsWith(`.${registered.hostname}`)
  const path = normalPath(url.pathname)
  const prefix = normalPath(registered.pathname)
  return (
    isWeb(url) &&
    url.protocol === registered.protocol &&
    url.port === registered.port &&
    sameHost &&
    !hasUser(url) &&
    path !== undefined &&
    prefix !== undefined &&
    path.startsWith(prefix)
  )
}

/** Whether an entry accepts redirect URIs of the host by the lenient rules, with any scheme, port and path. */
export function acceptsHost(entry: string, hostname: string): boolean {
  if (entry.includes('*')) {
    const [, host = ''] = /^[^:]+:\/\/(?:[^@/]*@)?(\[[^\]]*\]|[^/:?#]+)/.exec(entry.toLowerCase()) ?? []
    return host.includes('*') ? wordFits(host, hostname) : isHostOrBelow(hostname, host)
  }
  return isHostOrBelow(hostname, URL.parse(entry)?.hostname.toLowerCase() ?? '')
}

const isHostOrBelow = (hostname: string, own: string): boolean =>
  own !== '' && (hostname === own || hostname.endsWith(`.${own}`))

/** An Ant pattern: the host must end with exactly the text after its last wildcard. */
function matchesPattern(entry: string, requested: string): boolean {
  const parts = /^([^:]+):\/\/(?:[^@/]*@)?([^/]*?)(?::(\d+|\*))?(\/.*)?$/s.exec(entry)
  if (!parts) return false
  const [, scheme = '', host = '', port, rest = '/'] = parts
  const url = new URL(requested)
  const path = normalPath(url.pathname)
  if (!isWeb(url) || hasUser(url) || path === undefined) return false
  const text = path + url.search + url.hash
  return (
    wordFits(scheme.toLowerCase(), url.protocol.slice(0, -1)) &&
    wordFits(host.toLowerCase(), url.hostname) &&
    (port === '*' ? namesPort(requested) : portOf(url, port) === portOf(url, url.port)) &&
    fits(rest.split('/'), text.split('/'), { star: '**', same: wordFits })
  )
}

const namesPort = (uri: string): boolean => /^[^/]*\/\/[^/?#]*:\d+(?:[/?#]|$)/.test(uri)

const portOf = ({ protocol }: URL, port: string | undefined): string => port || (protocol === 'https:' ? '443' : '80')

interface Wildcards {
  readonly star: string
  readonly same: (wanted: string, item: string) => boolean
}

const CHARACTERS: Wildcards = { star: '*', same: (wanted, character) => wanted === '?' || wanted === character }

/** `?` is one character, `*` any number of them. */
const wordFits = (pattern: string, text: string): boolean => fits(pattern.split(''), text.split(''), CHARACTERS)

/**
 * Whether the items match the pattern, in which `star` stands for any number of them. Only the last star is extended, so
 * the cost is at most the product of both lengths, which a regular expression with several stars does not guarantee.
 */
function fits(pattern: readonly string[], items: readonly string[], { star, same }: Wildcards): boolean {
  let position = 0
  let retry: { position: number; item: number } | undefined
  let index = 0
  while (index < items.length) {
    const wanted = pattern[position]
    if (wanted === star) {
      retry = { position: position + 1, item: index }
      position += 1
    } else if (wanted !== undefined && same(wanted, items[index] ?? '')) {
      position += 1
      index += 1
    } else if (retry) {
      retry = { position: retry.position, item: retry.item + 1 }
      position = retry.position
      index = retry.item
    } else {
      return false
    }
  }
  return pattern.slice(position).every(wanted => wanted === star)
}

/** Percent-decoded until it no longer changes; undefined for a path with `..` or an encoded separator, which never matches. */
function normalPath(path: string): string | undefined {
  let text = path
  for (let round = 0; round < 5; round += 1) {
    const decoded = decodeOnce(text)
    if (decoded === undefined) return undefined
    if (decoded === text) return /(^|[/\\])\.\.?([/\\;]|$)/.test(text) || text.includes('\\') ? undefined : text
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
