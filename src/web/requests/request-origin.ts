import type { FastifyRequest } from 'fastify'

/**
 * Whether a page of another origin sent the request, by `Sec-Fetch-Site` (Fetch Metadata), or without it by `Origin` or
 * `Referer`. A request with none of them counts as same-origin.
 */
export function isFromAnotherOrigin({ headers }: FastifyRequest, ownAddresses: readonly string[]): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none' // `none`: typed, or from a bookmark
  const said = headers.origin ?? headers.referer
  if (said === undefined) return false
  return !URL.canParse(said) || !ownAddresses.some(address => new URL(address).origin === new URL(said).origin)
}
