import type { FastifyRequest } from 'fastify'
import { isLoopbackHost } from '../base/loopback.ts'
import type { Urls } from '../model/urls.ts'
import type { Store } from '../store/store.ts'
import { PageError } from './answers.ts'

/** What a host name says about the zone: a subdomain, empty for the default zone, or nothing that we serve. */
export type HostAnswer = { readonly subdomain: string } | 'unknown'

/**
 * The host of the base URL and `localhost` are roots; what stands before a root is a subdomain. While `localhost` is the only
 * root any other host is the default zone's, unless `onlyLoopback` is set: then a name that somebody pointed here is not.
 */
export function subdomainOf(host: string | undefined, rootHost: string, onlyLoopback = false): HostAnswer {
  const name = hostName(host ?? '')
  const roots = [rootHost, 'localhost']
  if (roots.includes(name)) return { subdomain: '' }
  for (const root of roots) {
    if (name.endsWith(`.${root}`)) return { subdomain: name.slice(0, -root.length - 1) }
  }
  return rootHost === 'localhost' && (!onlyLoopback || isLoopbackHost(name)) ? { subdomain: '' } : 'unknown'
}

/** Lower case, without a port and without the dot that ends a fully qualified name. */
function hostName(host: string): string {
  const withoutPort = host.startsWith('[') ? host.replace(/\]:\d+$/, ']') : host.replace(/:\d+$/, '')
  return withoutPort.toLowerCase().replace(/\.$/, '')
}

/** Gives a request its zone before anything else; an unknown or inactive one is a 404. */
export function createZoneResolver(deps: {
  store: Store
  urls: Urls
  defaultZoneId: string
  /** In the playground a page of another site must not reach the public accounts by a name that leads here. */
  isPlayground: boolean
}): (request: FastifyRequest) => Promise<void> {
  const { store, urls, defaultZoneId } = deps
  const answers = new Map<string, HostAnswer>()

  /** The few names that clients use are read once; whoever sends many makes it forget, not grow. */
  function answerFor(host = ''): HostAnswer {
    const known = answers.get(host)
    if (known) return known
    const answer = subdomainOf(host, urls.hostname, deps.isPlayground)
    if (answers.size >= MOST_HOSTS) answers.clear()
    if (host.length <= LONGEST_NAME) answers.set(host, answer)
    return answer
  }

  return async request => {
    const answer = answerFor(request.headers.host)
    if (answer === 'unknown') throw new PageError(404, UNKNOWN_ZONE)
    const zone =
      answer.subdomain === ''
        ? await store.zones.find(defaultZoneId)
        : await store.zones.findBySubdomain(answer.subdomain)
    if (!zone?.active) throw new PageError(404, UNKNOWN_ZONE)
    request.zone = zone
  }
}

const MOST_HOSTS = 1000
const LONGEST_NAME = 260 // a domain name and a port
const UNKNOWN_ZONE = 'The subdomain does not map to a valid identity zone.'
