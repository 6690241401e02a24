import type { FastifyRequest } from 'fastify'
import type { Urls } from '../model/urls.ts'
import type { Store } from '../store/store.ts'
import { PageError } from './answers.ts'

/** What a host name says about the zone: a subdomain, empty for the default zone, or nothing that we serve. */
export type HostAnswer = { readonly subdomain: string } | 'unknown'

/** The host of the base URL and `localhost` are roots; what stands before a root is a subdomain. */
export function subdomainOf(host: string | undefined, rootHost: string): HostAnswer {
  const name = hostName(host ?? '')
  const roots = [rootHost, 'localhost']
  if (roots.includes(name)) return { subdomain: '' }
  for (const root of roots) {
    if (name.endsWith(`.${root}`)) return { subdomain: name.slice(0, -root.length - 1) }
  }
  return rootHost === 'localhost' ? { subdomain: '' } : 'unknown'
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
}): (request: FastifyRequest) => Promise<void> {
  const { store, urls, defaultZoneId } = deps
  return async request => {
    const answer = subdomainOf(request.headers.host, urls.hostname)
    if (answer === 'unknown') throw new PageError(404, UNKNOWN_ZONE)
    const zone =
      answer.subdomain === ''
        ? await store.zones.find(defaultZoneId)
        : await store.zones.findBySubdomain(answer.subdomain)
    if (!zone?.active) throw new PageError(404, UNKNOWN_ZONE)
    request.zone = zone
  }
}

const UNKNOWN_ZONE = 'The subdomain does not map to a valid identity zone.'
