import type { FastifyRequest } from 'fastify'

/**
 * Whether the answer is shown in a window: a browser that loads a frame, an image or a script says so (Fetch Metadata), and a
 * link in another page must not do there what only a visit may do. Programs do not send the header.
 */
export const isNavigation = ({ headers }: FastifyRequest): boolean =>
  headers['sec-fetch-dest'] === undefined || headers['sec-fetch-dest'] === 'document'
