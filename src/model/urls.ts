import type { Behaviour } from './compatibility.ts'
import type { Zone } from './zone.ts'

/** The addresses of the server as each zone's clients see them: from the configuration, never from a Host header. */
export interface Urls {
  /** Base URL of the default zone, without a trailing slash. */
  readonly base: string
  /** Path of the base URL: empty, or beginning with a slash and not ending with one. */
  readonly basePath: string
  readonly isHttps: boolean
  /** Host name of the base URL, without a port, lower case. */
  readonly hostname: string
  /** The base URL with the zone's subdomain in front of the host. */
  ofZone(zone: Zone): string
  /** The zone's issuer identifier (OpenID Connect Discovery §3, row M1). */
  issuer(zone: Zone): string
}

/** Parses the base URL once. */
export function createUrls(baseUrl: string, behaviour: Behaviour): Urls {
  const url = new URL(baseUrl)
  const basePath = url.pathname.replace(/\/+$/, '')
  const base = `${url.protocol}//${url.host}${basePath}`
  const ofZone = (zone: Zone): string =>
    zone.subdomain === '' ? base : `${url.protocol}//${zone.subdomain}.${url.host}${basePath}`
  return {
    base,
    basePath,
    isHttps: url.protocol === 'https:',
    hostname: url.hostname,
    ofZone,
    issuer: zone => (zone.config.issuer ?? ofZone(zone)) + behaviour.issuerPath,
  }
}
