import type { FastifyInstance } from 'fastify'

/** `GET /healthz`: `ok` while the server is ready; it looks at no zone and at no database. */
export function healthEndpoint(app: FastifyInstance): void {
  app.get(
    '/healthz',
    {
      config: {
        access: { by: 'anyone', because: 'a load balancer asks without credentials' },
        audience: 'open',
        zone: false,
      },
    },
    (_, reply) => reply.header('cache-control', 'no-store').type('text/plain; charset=utf-8').send('ok'),
  )
}
