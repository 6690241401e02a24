// Lists the clients of a zone page by page, with UAA's variant of SCIM.
import { OAuthError } from '../../model/oauth-error.ts'
import { queryForm } from '../../web/requests/query.ts'
import type { On } from '../../web/deferred-routes.ts'
import { sendJson } from '../../web/requests/json.ts'
import { findPage, listOf, readListParameters } from '../resources/list.ts'
import type { ListRules } from '../resources/list.ts'
import { clientToJson } from './record.ts'
import type { ClientRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const RULES: ListRules = {
  defaults: { filter: 'client_id pr', sortBy: 'client_id' },
  isDescending: sortOrder => sortOrder !== 'ascending', // UAA: any other value
  lenient: { startIndex: false, count: true },
  allowsNot: true,
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
export function clientListHandler(on: On<ClientRoute>, { store, behaviour, settings }: AdminDeps): void {
  on('GET /oauth/clients', async (request, reply) => {
    const parameters = readListParameters(queryForm(request), RULES, {
      behaviour,
      maxCount: settings.maxCounts.clients,
    })
    const { records, totalResults } = await findPage(parameters, RULES, query =>
      store.clients.list(request.zone.id, query),
    )
    const resources = records.map(client => clientToJson(client, { inList: true }))
    // UAA: the smaller of the requested count and the total, instead of the number on this page.
    const itemsPerPage = Math.min(parameters.count, totalResults)
    return sendJson(reply, listOf(resources, parameters, { rules: RULES, totalResults, itemsPerPage }))
  })
}
