// Returns the calling client's own record.
import type { FastifyInstance } from 'fastify'
import { clientToJson } from '../../clients/client-json.ts'
import { authenticatedClient } from '../../web/callers/authenticated-client.ts'
import type { AuthenticatedClientDeps } from '../../web/callers/authenticated-client.ts'
import { sendJson } from '../../web/requests/json.ts'

const SHOWN = [
  'client_id',
  'scope',
  'resource_ids',
  'authorized_grant_types',
  'redirect_uri',
  'authorities',
  'access_token_validity',
  'refresh_token_validity',
]

/** `/clientinfo`, by any method. */
export function clientInfoEndpoint(app: FastifyInstance, deps: AuthenticatedClientDeps): void {
  app.route({
    method: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    url: '/clientinfo',
    config: { access: { by: 'client' }, audience: 'api' },
    handler: async (request, reply) => {
      const record = clientToJson(await authenticatedClient(request, '/clientinfo', deps))
      const shown = SHOWN.map(name => [name, record[name]] as const)
      const isFilled = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0)
      return sendJson(reply, Object.fromEntries(shown.filter(([, value]) => isFilled(value))))
    },
  })
}
