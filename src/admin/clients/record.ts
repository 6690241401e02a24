// Shared by the client endpoints: errors, responses, and the check for administrators of clients.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digest } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import type { Access, Rights } from '../../web/route.ts'
import { sendJson } from '../../web/requests/json.ts'
import { managementAccess } from '../resources/access.ts'

export { clientToJson } from '../../clients/client-json.ts'

/** An error of the client API, which has one code for every invalid client. */
export const invalidClient = (description: string, status = 400, cause?: unknown): OAuthError =>
  new OAuthError({ error: 'invalid_client', status }, description, { cause })

/** The 404 response for an unknown client (row M10). */
export const sendNotFound = (reply: FastifyReply, behaviour: Behaviour): FastifyReply =>
  behaviour.bodyInEveryRefusal
    ? sendJson(reply, { error: 'not_found', error_description: 'There is no such client.' }, 404)
    : reply.status(404).send()

/** In the audit trail, for an id that no client has: it may be a secret in the wrong place. */
export const unknownPrincipal = (clientId: string): string => digest(clientId)

/** Access for tokens with one of the scopes and for administrators, who may act in another zone. */
export const clientAccess = (service: Service, ...scopes: readonly string[]): Access =>
  managementAccess(service, ...scopes, 'clients.admin')

/** The rights to change every client of the zone. */
export const administrators = (service: Service): Rights => ({
  scopes: [service.scope('admin'), 'clients.admin'],
  ofDefaultZone: ['zones.{zone}.admin'],
})

/** Whether the caller has one of these rights. */
export const isClientAdministrator = (request: FastifyRequest, service: Service): boolean =>
  hasRight(request, administrators(service), service)
