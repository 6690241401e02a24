// Resolves a request's zone by host name, or by `/z/{subdomain}` after the base path. The prefix is removed from the URL
// first, so that routes, checks and logs see one address; see docs/decisions/0016-zones-by-path.md.
import type { FastifyRequest } from 'fastify'
import { isLoopbackHost } from '../../base/loopback.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { Urls } from '../../model/urls.ts'
import { subdomainForPathName } from '../../model/urls.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { Store } from '../../store/store.ts'
import { PageError } from '../answers.ts'
import { rawQuery } from '../requests/query.ts'

/** The subdomain of a host name, empty for the default zone; or `unknown` for a host that is not served. */
type HostAnswer = { readonly subdomain: string } | 'unknown'

/**
 * The default zone's hosts and `localhost` are roots; the subdomain is what precedes the longest matching root. If
 * `localhost` is the only root, any other host is the default zone's, unless `onlyLoopback` is set, which prevents DNS
 * rebinding.
 */
export function subdomainOf(
  host: string | undefined,
  rootHosts: readonly string[],
  { onlyLoopback = false }: { readonly onlyLoopback?: boolean } = {},
): HostAnswer {
  const name = hostName(host ?? '')
  const root = rootOf(name, rootHosts)
  if (root !== undefined) return { subdomain: name === root ? '' : name.slice(0, -root.length - 1) }
  const isOnlyRoot = rootHosts.every(each => each === 'localhost')
  return isOnlyRoot && (!onlyLoopback || isLoopbackHost(name)) ? { subdomain: '' } : 'unknown'
}

/** The longest of the roots that a host name is, or is below. */
function rootOf(name: string, rootHosts: readonly string[]): string | undefined {
  const roots = [...rootHosts, 'localhost'].toSorted((a, b) => b.length - a.length)
  return roots.find(root => name === root || name.endsWith(`.${root}`))
}

/**
 * The further root, with its port, that a host is or is below, where responses then have their URLs. Undefined for the base
 * URL's host, and at another port than that of the base URL: browsers do not come that way.
 */
export function furtherRootOf(
  host: string | undefined,
  furtherHosts: readonly string[],
  { hostname, port, isHttps }: Pick<Urls, 'hostname' | 'port' | 'isHttps'>,
): string | undefined {
  const root = rootOf(hostName(host ?? ''), [hostname, ...furtherHosts])
  if (root === undefined || root === hostname || !furtherHosts.includes(root)) return undefined
  const [, named = ''] = /:(\d*)$/.exec(host ?? '') ?? []
  if ((named === (isHttps ? '443' : '80') ? '' : named) !== port) return undefined
  return port === '' ? root : `${root}:${port}`
}

/**
 * Whether a host name can belong to a zone of this server: a root, a name below one, or a loopback name. Used to refuse our
 * own URLs where a URL of another server is expected.
 */
export function isOwnHost(host: string, rootHosts: readonly string[]): boolean {
  const name = hostName(host)
  return isLoopbackHost(name) || rootHosts.some(root => name === root || name.endsWith(`.${root}`))
}

/** In lower case, without port, which may be empty (RFC 3986 §3.2.3), and without the trailing dot of a fully qualified name. */
function hostName(host: string): string {
  const withoutPort = host.startsWith('[') ? host.replace(/\]:\d*$/, ']') : host.replace(/:\d*$/, '')
  return withoutPort.toLowerCase().replace(/\.$/, '')
}

/** The zone that a request's path names. */
interface PathAddress {
  /** In lower case; undefined for an invalid name. */
  readonly subdomain: string | undefined
  /** Whether the path ended there, without even a slash. */
  readonly isBare: boolean
}

/** RFC 8414 §3.1 inserts this between the origin and the issuer's path. */
export const METADATA_AT_ORIGIN = '/.well-known/oauth-authorization-server'

/** RFC 9728 §3.1: the same for the path of a resource. */
export const RESOURCE_METADATA_AT_ORIGIN = '/.well-known/oauth-protected-resource'

/** The segment `z`, the name after it, and the rest. */
const ZONE_PREFIX = /^\/z(?:\/([^/?#]*)(.*)|([?#].*)?)$/s
/** Like host names: no percent-encoding, no dot segments, nothing that a proxy could interpret. */
const PATH_NAME = /^[a-z0-9_](?:[a-z0-9._-]{0,253}[a-z0-9_])?$/i

const byPath = new WeakMap<object, PathAddress>()

/** The path and query of an absolute URL, which a server must accept (RFC 9112 §3.2.2); other targets as they are. */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target // nearly all
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return path === target || path.startsWith('/') ? path : `/${path}`
}

/**
 * For Fastify's `rewriteUrl`: removes the origin of an absolute URL, so that all other code sees a path, and the zone's prefix, which
 * it stores for `createZoneResolver`. Never throws; an invalid name is refused later, in the format of the route.
 */
export function createPrefixRemover({ basePath }: Urls): (raw: { readonly url?: string | undefined }) => string {
  const prefixes = [basePath, METADATA_AT_ORIGIN + basePath, RESOURCE_METADATA_AT_ORIGIN + basePath]
  return raw => {
    const path = pathOf(raw.url ?? '/')
    if (!path.includes('/z')) return path // nearly all
    for (const prefix of prefixes) {
      const found = path.startsWith(`${prefix}/z`) ? ZONE_PREFIX.exec(path.slice(prefix.length)) : null
      if (!found) continue
      const [, name = '', rest = ''] = found
      const isName = PATH_NAME.test(name) && !ZONE_PREFIX.test(rest)
      const isMetadata = prefix !== basePath
      byPath.set(raw, {
        subdomain: isName ? subdomainForPathName(name.toLowerCase()) : undefined,
        isBare: !rest.startsWith('/') && !isMetadata,
      })
      return prefix + (rest.startsWith('/') || isMetadata ? rest : `/${rest}`)
    }
    return path
  }
}

/**
 * UAA: one trailing slash makes no difference. Removed first, so that routes, checks, limits and logs see one path. Keeps
 * the slash of the base path and of paths with an empty segment. See docs/compatibility.md, M8.
 */
export function withoutTrailingSlash(url: string, { basePath }: Urls): string {
  const mark = url.indexOf('?')
  const end = mark < 0 ? url.length : mark
  if (url[end - 1] !== '/' || end <= basePath.length + 1) return url // nearly all
  const path = url.slice(0, end)
  return path.includes('//') ? url : path.slice(0, -1) + url.slice(end)
}

/** The URL to redirect to from the base path or `/z/{subdomain}`: with a slash, which cookies of that path require. */
export function startOfZone(request: FastifyRequest, urls: Urls): string | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  const isBasePath = urls.basePath !== '' && request.url.replace(/\?.*$/s, '') === urls.basePath
  if (!isBasePath && byPath.get(request.raw)?.isBare !== true) return undefined
  const query = rawQuery(request)
  return `${urls.ofZone(request.zone)}/${query === '' ? '' : `?${query}`}`
}

/** By address and further host, of which the configuration has few. */
const requested = new Map<string, WeakMap<Zone, AddressedZone>>()

/** The zone with how it was addressed; one object per cached record. */
function addressedBy(address: AddressedZone['address'], root: string | undefined, zone: Zone): AddressedZone {
  const key = `${address} ${root ?? ''}`
  const known = requested.get(key) ?? new WeakMap<Zone, AddressedZone>()
  requested.set(key, known)
  const withAddress = known.get(zone) ?? { ...zone, address, ...(root !== undefined && { root }) }
  known.set(zone, withAddress)
  return withAddress
}

/** Sets `request.zone`; throws 404 for an unknown or inactive zone. */
export function createZoneResolver(deps: {
  store: Store
  urls: Urls
  defaultZoneId: string
  settings: Pick<TokenSettings, 'internalHostnames'>
  /** The internal host names, where zones have URLs of their own. */
  furtherHosts: readonly string[]
  /** Set in the playground: prevents DNS rebinding, by which a page of another site could use the demo accounts. */
  isPlayground: boolean
  log: { info(message: string): void }
}): (request: FastifyRequest) => Promise<void> {
  const { store, urls, defaultZoneId } = deps
  const { internalHostnames } = deps.settings
  const rootHosts = [urls.hostname, ...internalHostnames]
  const answers = new Map<string, { readonly answer: HostAnswer; readonly root: string | undefined }>()
  let hasLogged = false

  /** Once per process: enough to find a proxy that does not forward Host, and callers can send any host. */
  function logUnknownHost(host = ''): void {
    if (hasLogged) return
    hasLogged = true
    const shown = JSON.stringify(host.slice(0, MAX_NAME_LENGTH))
    const further = internalHostnames.map(name => `, ${name} (zones.internal.hostnames)`).join('')
    deps.log.info(
      `a request for the host ${shown} got 404: this server is ${urls.hostname} (base_url)${further}, and its zones have subdomains of it. If users or programs call the server by this name, add it to zones.internal.hostnames; otherwise a proxy must pass the Host header on. Not logged again`,
    )
  }

  /** Caches the answers for the few names in use; cleared when it is full. */
  function answerFor(host = '') {
    const cached = answers.get(host)
    if (cached) return cached
    const answer = subdomainOf(host, rootHosts, { onlyLoopback: deps.isPlayground })
    const found = { answer, root: furtherRootOf(host, deps.furtherHosts, urls) }
    if (answers.size >= MAX_HOSTS) answers.clear()
    if (host.length <= MAX_NAME_LENGTH) answers.set(host, found)
    return found
  }

  async function find(subdomain: string): Promise<Zone> {
    const zone = await (subdomain === '' ? store.zones.find(defaultZoneId) : store.zones.findBySubdomain(subdomain))
    if (!zone?.active) throw new PageError(404, UNKNOWN_ZONE)
    return zone
  }

  return async request => {
    const { answer, root } = answerFor(request.headers.host)
    if (answer === 'unknown') {
      logUnknownHost(request.headers.host)
      throw new PageError(404, UNKNOWN_ZONE)
    }
    const path = byPath.get(request.raw)
    if (!path) {
      request.zone = addressedBy('host', root, await find(answer.subdomain))
      return
    }
    // A zone's own host serves that zone only.
    if (answer.subdomain !== '' || path.subdomain === undefined) throw new PageError(404, UNKNOWN_ZONE)
    request.zone = addressedBy('path', root, await find(path.subdomain))
  }
}

const MAX_HOSTS = 1000
const MAX_NAME_LENGTH = 260 // a domain name and a port
const UNKNOWN_ZONE = 'The subdomain does not map to a valid identity zone.'
