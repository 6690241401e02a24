import type { FastifyRequest } from 'fastify'

/**
 * Whether the response is shown in a window. A browser declares when it loads a frame, an image or a script (Fetch Metadata), or
 * prefetches a page; such a request must not do what only a visit may do. Programs declare neither.
 */
export const isNavigation = (request: FastifyRequest): boolean =>
  (request.headers['sec-fetch-dest'] ?? 'document') === 'document' && !isLoadedInAdvance(request)

/** Whether the browser loads the page before the user asks for it; older ones have other names for the header. */
export const isLoadedInAdvance = ({ headers }: FastifyRequest): boolean =>
  headers['sec-purpose'] !== undefined ||
  ['purpose', 'x-moz'].some(name => headers[name]?.includes('prefetch') === true)
