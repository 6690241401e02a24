// Lists and ends the sessions of a user, for administrators of users. UAA has no such API.
import { isLive, mayContinue } from '../../model/sessions/session.ts'
import { findUser } from '../../users/user-changes.ts'
import { endAccessOfUser } from '../../users/access.ts'
import { sendJson } from '../../web/requests/json.ts'
import type { On } from '../../web/deferred-routes.ts'
import { callerOf } from '../resources/caller.ts'
import type { UserRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

interface OfUser {
  readonly Params: { readonly id: string }
}

/** `GET /Users/{id}/sessions`, and `DELETE`, which ends them together with all codes and tokens of the user. */
export function userSessionHandlers(on: On<UserRoute>, deps: AdminDeps): void {
  const { store, clock, pageSettings } = deps

  on<OfUser>('GET /Users/:id/sessions', async (request, reply) => {
    const { zone, params } = request
    const user = await findUser(store, zone, params.id)
    const now = clock.now()
    const sessions = await store.sessions.listOfUser(zone.id, user.id, now)
    const shown = sessions.flatMap(session => {
      const { signIn, createdAt, lastSeenAt, expiresAt, clients = [] } = session
      if (!signIn || !isLive(session, now, pageSettings.idleSeconds) || !mayContinue(user, signIn)) return []
      return {
        signedInAt: createdAt.toISOString(),
        lastSeenAt: lastSeenAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
        methods: signIn.amr,
        userAgent: signIn.userAgent,
        remoteAddress: signIn.remoteAddress,
        clients,
      }
    })
    return sendJson(reply, shown)
  })

  on<OfUser>('DELETE /Users/:id/sessions', async (request, reply) => {
    await endAccessOfUser(request.zone, request.params.id, callerOf(request), deps)
    return reply.status(204).send()
  })
}
