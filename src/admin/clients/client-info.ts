// What a client is told about itself, by its own credentials.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientToJson } from '../../model/client-json.ts'
import type { Client } from '../../model/client.ts'
import { sendJson } from './record.ts'

/** What the endpoint needs. */
export interface ClientInfoDeps {
  /** The client whose credentials the request has; throws as the token endpoint does. */
  readonly clientOfRequest: (request: FastifyRequest, path: string) => Promise<Client>
}

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
export function clientInfoEndpoint(app: FastifyInstance, { clientOfRequest }: ClientInfoDeps): void {
  app.route({
    method: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    url: '/clientinfo',
    config: { access: { by: 'client' }, audience: 'api' },
    handler: async (request, reply) => {
      const record = clientToJson(await clientOfRequest(request, '/clientinfo'))
      const shown = SHOWN.map(name => [name, record[name]] as const)
      const isFilled = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0)
      return sendJson(reply, Object.fromEntries(shown.filter(([, value]) => isFilled(value))))
    },
  })
}
