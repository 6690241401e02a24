import type { FastifyRequest } from 'fastify'

/**
 * Whether a page of another origin made the browser send the request, as far as the browser says: by `Sec-Fetch-Site`
 * (Fetch Metadata), and where that is missing by `Origin` or `Referer`. A request that says nothing counts as our own.
 */
export function isFromAnotherOrigin({ headers }: FastifyRequest, ownAddresses: readonly string[]): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none' // `none`: typed, or from a bookmark
  const said = headers.origin ?? headers.referer
  if (said === undefined) return false
  return !URL.canParse(said) || !ownAddresses.some(address => new URL(address).origin === new URL(said).origin)
}
