import type { FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { Urls } from '../../model/urls.ts'
import { RESOURCE_METADATA_AT_ORIGIN } from '../zones/zone.ts'
import { zoneIfFound } from '../requests/request-context.ts'

/**
 * The URL of the metadata of the API that a client called without a suitable token (RFC 9728 §5.1); undefined for
 * other routes, and where the zone does not publish them.
 */
export function resourceMetadataOf(
  request: FastifyRequest,
  { urls, behaviour }: { readonly urls: Urls; readonly behaviour: Behaviour },
): string | undefined {
  const zone = zoneIfFound(request)
  const isApi = request.routeOptions.config.access?.by === 'bearer'
  if (!isApi || !zone || !supportsProtocol(zone, 'protectedResourceMetadata', behaviour)) return undefined
  // In front of an IP address, a subdomain makes no URL.
  const address = URL.parse(urls.ofZone(zone))
  if (!address) return undefined
  const { origin, pathname } = address
  return origin + RESOURCE_METADATA_AT_ORIGIN + (pathname === '/' ? '' : pathname)
}
