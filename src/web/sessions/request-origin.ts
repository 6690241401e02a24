// Where a browser says that a request comes from, which a sibling host that planted a cookie cannot change.
import type { FastifyRequest } from 'fastify'
import type { Urls } from '../../model/urls.ts'

/** Whether `Sec-Fetch-Site` or `Origin` name our own pages; true for a request without them, which no browser sends. */
export function isOwnOrigin(request: FastifyRequest, urls: Urls): boolean {
  const { origin } = request.headers
  const site = request.headers['sec-fetch-site']
  // `none`: user-initiated, such as resubmitting a form after restarting the browser.
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  // Forms of pages with `Referrer-Policy: no-referrer`, like ours, send `null` (Fetch §3.2.2), which proves nothing.
  if (origin === undefined || origin === 'null') return true
  return origin === new URL(urls.ofZone(request.zone)).origin || isSameHost(origin, request)
}

/** Behind a proxy or under another local name, the browser's origin may differ from the base URL's. */
function isSameHost(origin: string, request: FastifyRequest): boolean {
  return URL.canParse(origin) && new URL(origin).host === request.headers.host
}

/** Browsers send `Origin` or `Sec-Fetch-Site` with every POST. */
export const isScript = ({ headers }: FastifyRequest): boolean =>
  headers.origin === undefined && headers['sec-fetch-site'] === undefined
