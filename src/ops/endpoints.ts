// Names of requests for metrics, traces and the log of requests: a fixed set, independent of input. A path may hold ids and
// codes, so its route pattern is used instead.
import type { FastifyRequest } from 'fastify'
import { TOKEN_GRANT_TYPES } from '../model/clients/grant-types.ts'
import { bodyForm } from '../web/route.ts'

/** A request without a route. */
export const UNKNOWN_ENDPOINT = 'unknown'

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const
const GRANTS: ReadonlySet<string> = new Set(TOKEN_GRANT_TYPES)

/** The pattern of the route below the base path, such as `/Users/:id`. */
export function endpointOf(route: string | undefined, basePath: string): string {
  if (route === undefined) return UNKNOWN_ENDPOINT
  const path = route.startsWith(basePath) ? route.slice(basePath.length) : route
  return path === '' ? '/' : path
}

/** The method, or `other`: Node accepts some thirty. */
export const methodOf = ({ method }: FastifyRequest): string => (METHODS.has(method) ? method : 'other')

/** The class of a status by its first digit; 0 for none. */
export const statusClassOf = (firstDigit: number): string => STATUS_CLASSES[firstDigit] ?? UNKNOWN_ENDPOINT

/** Whether the endpoint issues tokens by grants. */
export const issuesTokens = (endpoint: string): boolean =>
  endpoint === '/oauth/token' || endpoint.startsWith('/oauth/token/alias/')

/** The grant type of a token request; `none` or `other` unless it is one of this server's. */
export function grantTypeOf(request: FastifyRequest): string {
  const type = bodyForm(request)?.get('grant_type')
  return type === undefined ? 'none' : GRANTS.has(type) ? type : 'other'
}
