// `GET /oauth/clients/{client_id}/profile`: what a client lacks to meet its profile of FAPI.
import { profileProblems } from '../../clients/profile-report.ts'
import { profileOf } from '../../model/clients/client-demands.ts'
import type { On } from '../../web/deferred-routes.ts'
import { sendJson } from '../../web/requests/json.ts'
import { sendNotFound } from './record.ts'
import type { ClientRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** Returns the profile, null if there is none, and everything that is missing. */
export function profileHandler(on: On<ClientRoute>, deps: AdminDeps): void {
  on<{ Params: { readonly client_id: string } }>('GET /oauth/clients/:client_id/profile', async (request, reply) => {
    const { zone } = request
    const clientId = request.params.client_id
    const client = (await deps.store.clients.findForChange(zone.id, clientId))?.client
    if (!client) return sendNotFound(reply, deps.behaviour)
    const problems = await profileProblems(zone, client, deps)
    return sendJson(reply, {
      client_id: clientId,
      profile: profileOf(zone, client) ?? null,
      missing: problems,
    })
  })
}
