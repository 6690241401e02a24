import type { FastifyRequest } from 'fastify'

/**
 * Whether the answer is shown in a window: a browser that loads a frame, an image or a script says so (Fetch Metadata), and one
 * that loads a page in advance (`Sec-Purpose`). Such a request must not do what only a visit may do. Programs send neither.
 */
export const isNavigation = ({ headers }: FastifyRequest): boolean =>
  (headers['sec-fetch-dest'] ?? 'document') === 'document' && headers['sec-purpose'] === undefined
