// What the endpoints of clients share: their refusals, their answers, and who counts as an administrator of clients.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { hasRight } from '../../web/bearer.ts'
import type { Access, Rights } from '../../web/route.ts'
import { sendJson } from '../../web/json.ts'

export { clientToJson } from '../../clients/client-json.ts'

/** A refusal of the client API, which has one code for everything that is wrong with a client. */
export const invalidClient = (description: string, status = 400, cause?: unknown): OAuthError =>
  new OAuthError({ error: 'invalid_client', status }, description, { cause })

/** Says that there is no such client (row M10). */
export const sendNotFound = (reply: FastifyReply, behaviour: Behaviour): FastifyReply =>
  behaviour.bodyInEveryRefusal
    ? sendJson(reply, { error: 'not_found', error_description: 'There is no such client.' }, 404)
    : reply.status(404).send()

const OF_DEFAULT_ZONE = ['zones.{zone}.admin']

/** Who may call an endpoint of clients: those with the scope, and administrators, also of another zone. */
export const clientAccess = (service: Service, ...scopes: readonly string[]): Access => ({
  by: 'bearer',
  scopes: [service.scope('admin'), ...scopes, 'clients.admin'],
  ofDefaultZone: OF_DEFAULT_ZONE,
  acrossZones: true,
})

/** The rights of whoever may do everything to every client of the zone. */
export const administrators = (service: Service): Rights => ({
  scopes: [service.scope('admin'), 'clients.admin'],
  ofDefaultZone: OF_DEFAULT_ZONE,
})

/** Whether the token's holder has one of them. */
export const isClientAdministrator = (request: FastifyRequest, service: Service): boolean =>
  hasRight(request, administrators(service), service)
