// The list of a zone's clients, a page at a time, in the dialect of SCIM that UAA speaks.
import type { FastifyInstance } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { Store } from '../../store/store.ts'
import { queryForm } from '../../web/query.ts'
import { sendJson } from '../../web/json.ts'
import { findPage, listOf, readListParameters } from '../resources/list.ts'
import type { ListRules } from '../resources/list.ts'
import { clientAccess, clientToJson } from './record.ts'

/** What the endpoint needs. */
export interface ClientListDeps {
  readonly store: Store
  readonly service: Service
  readonly behaviour: Behaviour
}

const RULES: ListRules = {
  defaults: { filter: 'client_id pr', sortBy: 'client_id' },
  isDescending: sortOrder => sortOrder !== 'ascending', // UAA: whatever else it says
  lenient: { startIndex: false, count: true },
  attributePaths: false,
  schemas: ['http://cloudfoundry.org/schema/scim/oauth-clients-1.0'],
  refuse: message => new OAuthError('invalid_request', message),
  refuseFilter: ({ filter, sortBy }, cause) =>
    new OAuthError('unknown_error', `Invalid filter expression: [${filter}] [${sortBy}]`, {
      detail: cause.message,
      cause,
    }),
}

/** `GET /oauth/clients`. */
export function clientListEndpoint(app: FastifyInstance, { store, service, behaviour }: ClientListDeps): void {
  app.get(
    '/oauth/clients',
    { config: { access: clientAccess(service, 'clients.read'), audience: 'api' } },
    async (request, reply) => {
      const parameters = readListParameters(queryForm(request), RULES, behaviour)
      const { records, totalResults } = await findPage(parameters, RULES, query =>
        store.clients.list(request.zone.id, query),
      )
      const resources = records.map(client => clientToJson(client, { inList: true }))
      // UAA: what was asked for, or what there is on all pages together, and not what is on this one.
      const itemsPerPage = Math.min(parameters.count, totalResults)
      return sendJson(reply, listOf(resources, parameters, { rules: RULES, totalResults, itemsPerPage }))
    },
  )
}
