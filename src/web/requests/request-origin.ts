// Where a browser says that a request comes from, which a sibling host that planted a cookie cannot change.
import type { FastifyRequest } from 'fastify'
import type { Urls } from '../../model/urls.ts'

type Headers = Pick<FastifyRequest, 'headers'>

/** Whether our own pages or the user sent the request, by `Sec-Fetch-Site` (Fetch Metadata); undefined without that header. */
export function isOwnSite({ headers }: Headers): boolean | undefined {
  const site = headers['sec-fetch-site']
  // `none`: typed, from a bookmark, or a form that was resubmitted after restarting the browser.
  return site === undefined ? undefined : site === 'same-origin' || site === 'none'
}

/**
 * Whether a page of another origin sent the request, by `Sec-Fetch-Site`, or without it by `Origin` or `Referer`. A request with
 * none of them counts as same-origin.
 */
export function isFromAnotherOrigin(request: Headers, ownAddresses: readonly string[]): boolean {
  const isOwn = isOwnSite(request)
  if (isOwn !== undefined) return !isOwn
  const source = request.headers.origin ?? request.headers.referer
  if (source === undefined) return false
  return !URL.canParse(source) || !ownAddresses.some(address => new URL(address).origin === new URL(source).origin)
}

/** Whether `Sec-Fetch-Site` or `Origin` name our own pages; true for a request without them, which no browser sends. */
export function isOwnOrigin(request: FastifyRequest, urls: Urls): boolean {
  const isOwn = isOwnSite(request)
  if (isOwn !== undefined) return isOwn
  const { origin } = request.headers
  // Forms of pages with `Referrer-Policy: no-referrer`, like ours, send `null` (Fetch §3.2.2), which proves nothing.
  if (origin === undefined || origin === 'null') return true
  return origin === new URL(urls.ofZone(request.zone)).origin || isSameHost(origin, request)
}

/** Behind a proxy or under another local name, the browser's origin may differ from the base URL's. */
function isSameHost(origin: string, request: Headers): boolean {
  return URL.canParse(origin) && new URL(origin).host === request.headers.host
}

/** Browsers send `Origin` or `Sec-Fetch-Site` with every POST. */
export const isScript = ({ headers }: Headers): boolean =>
  headers.origin === undefined && headers['sec-fetch-site'] === undefined
