import type { Behaviour } from './compatibility.ts'
import type { AddressedZone } from './request.ts'

/** The name of the default zone in a path. A zone with this subdomain is reachable by host only. */
const DEFAULT_ZONE = 'default'

/** The properties of a zone that determine its URLs. */
export type ZoneAddress = Pick<AddressedZone, 'subdomain' | 'address' | 'root'>

/** The URLs of each zone, derived from the configuration: a Host header only chooses among the host names there. */
export interface Urls {
  /** Base URL of the default zone, without a trailing slash. */
  readonly base: string
  /** Path of the base URL: empty, or with a leading and no trailing slash. */
  readonly basePath: string
  readonly isHttps: boolean
  /** Host name of the base URL, without a port, lower case. */
  readonly hostname: string
  /** Port of the base URL, empty for that of its scheme. */
  readonly port: string
  /**
   * The base URL of the zone as the request addressed it: with the subdomain in front of the host, or with `/z/` and the
   * subdomain behind the base path; at a further host, if the request named one.
   */
  ofZone(zone: ZoneAddress): string
  /** The same, always at the host of the base URL: what tokens name. */
  atBaseHost(zone: ZoneAddress): string
  /** The path of `ofZone`, in the form of `basePath`: the prefix of links, forms and cookie paths of the zone. */
  pathOf(zone: ZoneAddress): string
  /** All base URLs of the zone, that of the request first: for comparing input, never for output. */
  addressesOf(zone: ZoneAddress): readonly string[]
  /** The base URL of the zone where client certificates are requested, if it differs (RFC 8705 §5). */
  certificateBaseOf(zone: ZoneAddress): string | undefined
  /** The zone's issuer identifier as the request addressed it (OpenID Connect Discovery §3, row M1). */
  issuer(zone: AddressedZone): string
  /** All issuer identifiers of the zone, that of the request first: its keys and users are the same at each address. */
  issuersOf(zone: AddressedZone): readonly string[]
  /** Whether an issuer is the zone itself, or a URL on a host of this server's zones: theirs, and that of no other server. */
  isOwnIssuer(zone: Omit<AddressedZone, 'address'>, issuer: string): boolean
}

/** The name of the zone in a path: its subdomain, or `default`. */
export const pathNameOf = ({ subdomain }: Pick<ZoneAddress, 'subdomain'>): string =>
  subdomain === '' ? DEFAULT_ZONE : subdomain

/** The subdomain that a name in a path stands for; the default zone's is empty. */
export const subdomainForPathName = (name: string): string => (name === DEFAULT_ZONE ? '' : name)

/** Both forms of the base URL of a zone below one of the server. */
function zonesBelow(url: URL) {
  const basePath = url.pathname.replace(/\/+$/, '')
  const at = (host: string): string => `${url.protocol}//${host}${basePath}`
  const base = at(url.host)
  const byHost = ({ subdomain, root = url.host }: ZoneAddress): string =>
    at(subdomain === '' ? root : `${subdomain}.${root}`)
  const byPath = (zone: ZoneAddress): string => `${at(zone.root ?? url.host)}/z/${pathNameOf(zone)}`
  const ofZone = (zone: ZoneAddress): string => (zone.address === 'path' ? byPath(zone) : byHost(zone))
  return { base, basePath, byHost, byPath, ofZone }
}

/** Parses the base URL once; `certificateBase` is where client certificates are requested, if it differs. */
export function createUrls(baseUrl: string, behaviour: Behaviour, certificateBase?: string): Urls {
  const url = new URL(baseUrl)
  const { base, basePath, byHost, byPath, ofZone } = zonesBelow(url)
  const withCertificates = certificateBase === undefined ? undefined : zonesBelow(new URL(certificateBase))

  const addressesAt = (zone: ZoneAddress): readonly string[] => {
    if (zone.subdomain === DEFAULT_ZONE) return [byHost(zone)]
    return zone.address === 'path' ? [byPath(zone), byHost(zone)] : [byHost(zone), byPath(zone)]
  }
  const atBase = (zone: ZoneAddress): ZoneAddress => (zone.root === undefined ? zone : { ...zone, root: undefined })
  const addressesOf = (zone: ZoneAddress): readonly string[] =>
    zone.root === undefined ? addressesAt(zone) : [...addressesAt(zone), ...addressesAt(atBase(zone))]

  function issuersOf(zone: AddressedZone): readonly string[] {
    const { issuer } = zone.config
    return (issuer === undefined ? addressesAt(atBase(zone)) : [issuer]).map(each => each + behaviour.issuerPath)
  }
  const atBaseHost = (zone: ZoneAddress): string => ofZone(atBase(zone))

  return {
    base,
    basePath,
    isHttps: url.protocol === 'https:',
    hostname: url.hostname,
    port: url.port,
    ofZone,
    atBaseHost,
    pathOf: zone => (zone.address === 'path' ? `${basePath}/z/${pathNameOf(zone)}` : basePath),
    addressesOf,
    certificateBaseOf: zone => withCertificates?.ofZone(atBase(zone)),
    issuer: zone => (zone.config.issuer ?? atBaseHost(zone)) + behaviour.issuerPath,
    issuersOf,
    isOwnIssuer(zone, issuer) {
      if (issuersOf({ ...zone, address: 'host' }).includes(issuer)) return true
      const host = URL.canParse(issuer) ? new URL(issuer).host.replace(/\.(?=:|$)/, '') : '' // the full name is the same host
      return host === url.host || host.endsWith(`.${url.host}`)
    },
  }
}

/** A configured link for pages; a path is prefixed with the base path. */
export function linkIn(basePath: string, link: string | undefined): string | undefined {
  return link?.startsWith('/') === true && !link.startsWith('//') ? basePath + link : link
}
