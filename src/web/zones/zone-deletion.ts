// Lets the store know the zone of each request, for writes after the zone was deleted.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Store } from '../../store/store.ts'
import { zoneIfFound } from '../requests/request-context.ts'

/** Must be called before the hooks that find the zone. */
export function refuseWritesToDeletedZones(http: FastifyInstance, store: Pick<Store, 'during'>): void {
  const within = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void =>
    store.during(() => zoneIfFound(request), done)
  http.addHook('onRequest', within)
  // A body is read by callbacks of its connection, which have lost the context.
  http.addHook('preValidation', within)
}
