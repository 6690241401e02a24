// Which zone a request is for: by the host name, or by `/z/{subdomain}` behind the base path. The prefix is taken off the
// URL before anything else sees it, so that routes, checks and logs know one address; see docs/decisions/0016-zones-by-path.md.
import type { FastifyRequest } from 'fastify'
import { isLoopbackHost } from '../base/loopback.ts'
import type { TokenSettings } from '../model/settings.ts'
import type { Urls } from '../model/urls.ts'
import { subdomainForPathName } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import { PageError } from './answers.ts'
import { rawQuery } from './query.ts'

/** What a host name says about the zone: a subdomain, empty for the default zone, or nothing that we serve. */
export type HostAnswer = { readonly subdomain: string } | 'unknown'

/**
 * The hosts of the default zone and `localhost` are roots; what stands before a root, the longest that fits, is a subdomain.
 * While `localhost` is the only root any other host is the default zone's, unless `onlyLoopback` is set: then a name that
 * somebody pointed here is not.
 */
export function subdomainOf(
  host: string | undefined,
  rootHosts: readonly string[],
  { onlyLoopback = false }: { readonly onlyLoopback?: boolean } = {},
): HostAnswer {
  const name = hostName(host ?? '')
  const roots = [...new Set([...rootHosts, 'localhost'])].toSorted((a, b) => b.length - a.length)
  if (roots.includes(name)) return { subdomain: '' }
  for (const root of roots) {
    if (name.endsWith(`.${root}`)) return { subdomain: name.slice(0, -root.length - 1) }
  }
  return roots.length === 1 && (!onlyLoopback || isLoopbackHost(name)) ? { subdomain: '' } : 'unknown'
}

/**
 * Whether a host name can lead to this server, as any zone's: it is one of the roots or below one, or this very machine.
 * Callers that keep URLs of their own must not take ours.
 */
export function isOwnHost(host: string, rootHosts: readonly string[]): boolean {
  const name = hostName(host)
  return isLoopbackHost(name) || rootHosts.some(root => name === root || name.endsWith(`.${root}`))
}

/** Lower case, without a port and without the dot that ends a fully qualified name. */
function hostName(host: string): string {
  const withoutPort = host.startsWith('[') ? host.replace(/\]:\d+$/, ']') : host.replace(/:\d+$/, '')
  return withoutPort.toLowerCase().replace(/\.$/, '')
}

/** How a request named its zone in the path. */
interface PathAddress {
  /** Lower case; undefined for what no zone is called. */
  readonly subdomain: string | undefined
  /** Whether the path ended there, without even a slash. */
  readonly isBare: boolean
}

/** Where RFC 8414 §3.1 puts metadata: between the origin and the issuer's path. */
export const METADATA_AT_ORIGIN = '/.well-known/oauth-authorization-server'

/** The segment `z` as a whole, the name behind it, and the rest. */
const ZONE_PREFIX = /^\/z(?:\/([^/?#]*)(.*)|([?#].*)?)$/s
/** As host names and what people call zones: nothing encoded, no dot segment, nothing that means something to a proxy. */
const PATH_NAME = /^[a-z0-9_](?:[a-z0-9._-]{0,253}[a-z0-9_])?$/i

const byPath = new WeakMap<object, PathAddress>()

/**
 * For Fastify's `rewriteUrl`: takes the zone's prefix off the URL of a request, and remembers for `createZoneResolver` what
 * it said. Throws nothing; what names no zone is refused where others are, in the shape that the route gives.
 */
export function createPrefixRemover({ basePath }: Urls): (raw: { readonly url?: string | undefined }) => string {
  const places = [basePath, METADATA_AT_ORIGIN + basePath]
  return raw => {
    const { url = '/' } = raw
    if (!url.includes('/z')) return url // nearly all
    const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '') // RFC 9112 §3.2.2
    for (const place of places) {
      const found = path.startsWith(`${place}/z`) ? ZONE_PREFIX.exec(path.slice(place.length)) : null
      if (!found) continue
      const [, name = '', rest = ''] = found
      const isName = PATH_NAME.test(name) && !ZONE_PREFIX.test(rest)
      const isMetadata = place !== basePath
      byPath.set(raw, {
        subdomain: isName ? subdomainForPathName(name.toLowerCase()) : undefined,
        isBare: !rest.startsWith('/') && !isMetadata,
      })
      return place + (rest.startsWith('/') || isMetadata ? rest : `/${rest}`)
    }
    return url
  }
}

/**
 * UAA: a path means the same with one slash behind it. Taken off before anything else sees the URL, so that routes, checks,
 * limits and logs judge one path. The base path and what has an empty segment stay as they are. See row M8.
 */
export function withoutTrailingSlash(url: string, { basePath }: Urls): string {
  const mark = url.indexOf('?')
  const end = mark < 0 ? url.length : mark
  if (url[end - 1] !== '/' || end <= basePath.length + 1) return url // nearly all
  const path = url.slice(0, end)
  return path.includes('//') ? url : path.slice(0, -1) + url.slice(end)
}

/** Where a request for the base path or `/z/{subdomain}` belongs: behind the slash, with which the zone's cookies come. */
export function startOfZone(request: FastifyRequest, urls: Urls): string | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  const isBasePath = urls.basePath !== '' && request.originalUrl.replace(/\?.*$/s, '') === urls.basePath
  if (!isBasePath && byPath.get(request.raw)?.isBare !== true) return undefined
  const query = rawQuery(request)
  return `${urls.ofZone(request.zone)}/${query === '' ? '' : `?${query}`}`
}

const marked = new WeakMap<Zone, Zone>()

/** The zone with the mark of its address, one object for each record that the store remembers. */
function addressedByPath(zone: Zone): Zone {
  const known = marked.get(zone) ?? { ...zone, address: 'path' }
  marked.set(zone, known)
  return known
}

/** Gives a request its zone before anything else; an unknown or inactive one is a 404. */
export function createZoneResolver(deps: {
  store: Store
  urls: Urls
  defaultZoneId: string
  settings: Pick<TokenSettings, 'internalHostnames'>
  /** In the playground a page of another site must not reach the public accounts by a name that leads here. */
  isPlayground: boolean
}): (request: FastifyRequest) => Promise<void> {
  const { store, urls, defaultZoneId } = deps
  const rootHosts = [urls.hostname, ...deps.settings.internalHostnames]
  const answers = new Map<string, HostAnswer>()

  /** The few names that clients use are read once; whoever sends many makes it forget, not grow. */
  function answerFor(host = ''): HostAnswer {
    const known = answers.get(host)
    if (known) return known
    const answer = subdomainOf(host, rootHosts, { onlyLoopback: deps.isPlayground })
    if (answers.size >= MAX_HOSTS) answers.clear()
    if (host.length <= MAX_NAME_LENGTH) answers.set(host, answer)
    return answer
  }

  async function find(subdomain: string): Promise<Zone> {
    const zone = await (subdomain === '' ? store.zones.find(defaultZoneId) : store.zones.findBySubdomain(subdomain))
    if (!zone?.active) throw new PageError(404, UNKNOWN_ZONE)
    return zone
  }

  return async request => {
    const answer = answerFor(request.headers.host)
    if (answer === 'unknown') throw new PageError(404, UNKNOWN_ZONE)
    const path = byPath.get(request.raw)
    if (!path) {
      request.zone = await find(answer.subdomain)
      return
    }
    // A zone's own host is that zone's alone: no page of another one is shown under its name.
    if (answer.subdomain !== '' || path.subdomain === undefined) throw new PageError(404, UNKNOWN_ZONE)
    request.zone = addressedByPath(await find(path.subdomain))
  }
}

const MAX_HOSTS = 1000
const MAX_NAME_LENGTH = 260 // a domain name and a port
const UNKNOWN_ZONE = 'The subdomain does not map to a valid identity zone.'
