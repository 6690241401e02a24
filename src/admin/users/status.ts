// Locks and required password changes, which are not part of the record.
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { findUser } from '../../users/user-changes.ts'
import { createGroupRights } from '../../users/groups/group-rights.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { callerOf, groupCallerOf } from '../resources/caller.ts'
import { refuseResource } from '../../users/refusal.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { UserRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const refuse = (message: string): Error => refuseResource('scim', message)

/** `PATCH /Users/{id}/status`. */
export function statusHandler(on: On<UserRoute>, { store, service, users }: AdminDeps): void {
  const rights = createGroupRights({ store, service })

  on<{ Params: { id: string } }>('PATCH /Users/:id/status', async (request, reply) => {
    const { zone, params } = request
    const body = jsonBody(request)
    const locked = flagIn(body, 'locked')
    const passwordChangeRequired = flagIn(body, 'passwordChangeRequired')
    const user = await findUser(store, zone, params.id)
    if (user.origin !== service.name) throw refuse('Can only manage users from the internal user store.')
    if (locked === true) {
      throw refuse(
        'Cannot set user account to locked. User accounts only become locked through exceeding the allowed failed login attempts.',
      )
    }
    if (passwordChangeRequired === false) {
      throw refuse('The requirement that this user change their password cannot be removed via API.')
    }
    const by = callerOf(request)
    if (locked === false) {
      // Failures may be guesses of a second factor; a caller who clears those of an administrator could guess without limit.
      await rights.checkUser(user, groupCallerOf(request, service))
      await users.unlock(zone, user, by)
    }
    if (passwordChangeRequired === true) await users.requirePasswordChange(zone, user, by)
    return sendJson(reply, {
      ...(locked !== undefined && { locked }),
      ...(passwordChangeRequired !== undefined && { passwordChangeRequired }),
    })
  })
}

/** Null counts as absent; UAA also accepts the strings `true` and `false`. */
function flagIn(body: JsonRecord, name: string): boolean | undefined {
  const value = memberOf(body, name) ?? undefined
  if (value === undefined || typeof value === 'boolean') return value
  if (value === 'true' || value === 'false') return value === 'true'
  throw refuse(`The value of ${name} must be a boolean`)
}
