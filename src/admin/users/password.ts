// Password changes by the owner, who must know the old password, and by administrators and clients, who need not.
import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import { createGroupRights } from '../../users/groups/group-rights.ts'
import { isOwnPassword, setNewPassword } from '../../users/password.ts'
import { bearerChallenge } from '../../web/callers/authorization-header.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { addressOf } from '../../web/requests/request-context.ts'
import { callerOf, groupCallerOf } from '../resources/caller.ts'
import { tooManyConflicts, refuseResource } from '../../users/refusal.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { UserRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'
import { stringIn } from '../resources/body.ts'

const refuse = (message: string, status = 400): Error => refuseResource('invalid_password', message, { status })

/** `PUT /Users/{id}/password`. */
export function passwordHandler(on: On<UserRoute>, deps: AdminDeps): void {
  const { store, service, users, limits } = deps
  const rights = createGroupRights(deps)

  /** Whether the caller must know the old password; throws if the caller may not change the password at all. */
  function needsOldPassword(request: FastifyRequest, id: string, isGiven: boolean): boolean {
    const caller = request.bearer?.user
    if (!caller) return false
    const administrators = { scopes: [service.scope('admin')], ofDefaultZone: ['zones.{zone}.admin'] }
    const isAdministrator = hasRight(request, administrators, service)
    if (caller.id !== id && !isAdministrator) throw refuse("Not permitted to change another user's password")
    if (caller.id !== id) return false
    if (isGiven) return true
    throw refuse(isAdministrator ? 'Previous password is required even for admin' : 'Previous password is required')
  }

  on<{ Params: { id: string } }>('PUT /Users/:id/password', async (request, reply) => {
    const { zone, params } = request
    const remoteAddress = addressOf(request)
    await users.checkManageable(zone, service.name) // UAA: for users of other origins, too
    const body = jsonBody(request)
    const password = stringIn(body, 'password') ?? ''
    const oldPassword = stringIn(body, 'oldPassword') ?? ''
    const caller = request.bearer?.user
    const isOwn = needsOldPassword(request, params.id, oldPassword !== '')
    const user = await store.users.find(zone.id, params.id)
    if (!user) throw refuseResource('bad_credentials', 'Invalid password change request')
    if (user.origin !== service.name) {
      throw refuseResource('scim', 'Can only manage users from the internal user store.')
    }
    // A client with `password.write`, or an administrator of the default zone, may have fewer rights than the account.
    if (caller?.id !== user.id) await rights.checkUser(user, groupCallerOf(request, service))
    if (oldPassword !== '') {
      const attempt = { zone, user, password: oldPassword, remoteAddress, countsFailures: isOwn, by: callerOf(request) }
      const matches = await limits.wrongPasswords.attempt(
        JSON.stringify(['own', zone.id, user.id]),
        () => isOwnPassword(attempt, deps),
        isRight => !isRight,
      )
      if (!matches) throw wrongPassword()
    }
    const result = await setNewPassword(
      { zone, user, password, meetsDemand: false, remoteAddress, by: callerOf(request) },
      deps,
    )
    switch (result.outcome) {
      case 'refused':
        throw refuse(result.message, result.reason === 'same' ? 422 : 400)
      case 'too-many-conflicts':
        throw tooManyConflicts('user', user.id)
      case 'changed':
        return sendJson(reply, { status: 'ok', message: 'password updated' })
    }
  })

  function wrongPassword(): OAuthError {
    const description = 'Old password is incorrect'
    const challenge = bearerChallenge(service.oauthRealm, { error: 'unauthorized', description })
    return new OAuthError('unauthorized', description, { challenge })
  }
}
