import type { FastifyRequest } from 'fastify'

/**
 * Whether a page of another origin sent the request, by `Sec-Fetch-Site` (Fetch Metadata), or without it by `Origin` or
 * `Referer`. A request with none of them counts as same-origin.
 */
export function isFromAnotherOrigin({ headers }: FastifyRequest, ownAddresses: readonly string[]): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none' // `none`: typed, or from a bookmark
  const source = headers.origin ?? headers.referer
  if (source === undefined) return false
  return !URL.canParse(source) || !ownAddresses.some(address => new URL(address).origin === new URL(source).origin)
}
