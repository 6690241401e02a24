import { isLoopbackHost } from '../../base/loopback.ts'

const MAX_LENGTH = 255

/** Whether the id is intended as a URL; no other id has a slash. */
export const isAddress = (clientId: string): boolean =>
  clientId.startsWith('https://') || clientId.startsWith('http://')

/**
 * Why a client id cannot be the address of a document (Client ID Metadata Document §3); undefined if it can. Names of this
 * machine may do without https: whether they are reached is decided where requests are made.
 */
export function documentUrlProblem(clientId: string): string | undefined {
  if (!isAddress(clientId)) return 'must begin with https://'
  if (clientId.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`
  const url = URL.parse(clientId)
  // One spelling for each address: what is compared, stored and shown is what is fetched.
  if (!url || url.href !== clientId) return 'must be a normalized URL'
  if (url.protocol !== 'https:' && !isLoopbackHost(url.hostname)) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not have credentials'
  if (url.hash !== '' || clientId.includes('#')) return 'must not have a fragment'
  if (url.search !== '' || clientId.includes('?')) return 'must not have a query'
  if (url.pathname === '/') return 'must have a path'
  return undefined
}
