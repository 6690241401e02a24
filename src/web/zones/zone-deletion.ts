// Lets the store know the zone of each request, for writes after the zone was deleted.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Store } from '../../store/store.ts'

/** Must be called before the hooks that find the zone. */
export function refuseWritesToDeletedZones(http: FastifyInstance, store: Pick<Store, 'during'>): void {
  // Undefined until it is resolved, despite its type.
  const within = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void =>
    store.during(() => request.zone as FastifyRequest['zone'] | undefined, done)
  http.addHook('onRequest', within)
  // A body is read by callbacks of its connection, which have lost the context.
  http.addHook('preValidation', within)
}
