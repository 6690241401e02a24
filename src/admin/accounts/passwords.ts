// New passwords by a login server, which sends the mail itself: one call issues the code, the other redeems it.
import { issueAutologin } from '../../accounts/autologin.ts'
import { accountToReset, issueReset, resetPassword } from '../../accounts/password-reset.ts'
import { isKeepable } from '../../records/kinds.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson, textBody } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { refuseResource } from '../../users/refusal.ts'
import { callerOf } from '../resources/caller.ts'
import type { PasswordRoute } from './routes.ts'
import { stringIn } from '../resources/body.ts'
import { bare } from './bare.ts'
import type { AdminDeps } from '../deps.ts'

const MAX_NAME_LENGTH = 255
const MAX_REDIRECT_LENGTH = 2048
const EXPIRED = 'Sorry, your reset password link is no longer valid. Please request a new one'

/** The handlers of `POST /password_resets` and `POST /password_change`. */
export function passwordHandlers(on: On<PasswordRoute>, deps: AdminDeps): void {
  const { users, service, behaviour } = deps

  on('POST /password_resets', async (request, reply) => {
    const { zone } = request
    await users.checkManageable(zone, service.name)
    const userName = textBody(request)
    if (userName === '')
      throw bare('invalid_request', { status: 400, message: 'The body must be a user name.' }, behaviour)
    const query = queryForm(request)
    const clientId = query.get('client_id') || request.bearer?.client.clientId
    const redirectUri = query.get('redirect_uri') || undefined
    const isTooLong = userName.length > MAX_NAME_LENGTH || !isKeepable(userName)
    const found = isTooLong ? undefined : await accountToReset(zone, userName, deps)
    if (!found) throw bare('not_found', { status: 404, message: 'There is no user with this name.' }, behaviour)
    const { user } = found
    if (found.kept === 'elsewhere') return sendJson(reply, { user_id: user.id }, 409)
    const requestedReturn = {
      ...(clientId !== undefined && { clientId: clientId.slice(0, MAX_NAME_LENGTH) }),
      ...(redirectUri !== undefined && redirectUri.length <= MAX_REDIRECT_LENGTH && { redirectUri }),
    }
    const { value } = await issueReset(zone, { user, requestedReturn }, deps)
    deps.audit({
      type: 'PasswordResetRequest',
      zoneId: zone.id,
      principal: user.id,
      origin: user.origin,
      byOther: true,
      ...callerOf(request),
      data: user.email,
    })
    return sendJson(reply, { code: value, user_id: user.id }, 201)
  })

  on('POST /password_change', async (request, reply) => {
    const { zone } = request
    await users.checkManageable(zone, service.name)
    const body = jsonBody(request)
    const code = stringIn(body, 'code')
    const password = stringIn(body, 'new_password') ?? ''
    if (code === undefined || code === '')
      throw bare('invalid_request', { status: 400, message: 'A code must be provided.' }, behaviour)
    const result = await resetPassword(zone, { code, password, by: callerOf(request) }, deps)
    switch (result.outcome) {
      case 'invalid':
        throw refuseResource('invalid_code', EXPIRED)
      case 'refused':
        throw refuseResource('invalid_password', result.message, { status: 422 })
      case 'changed': {
        const { user, requestedReturn } = result
        const clientId = requestedReturn.clientId ?? request.bearer?.client.clientId ?? ''
        const login = await issueAutologin(zone, { user, client: { clientId } }, deps)
        return sendJson(reply, { code: login.value, user_id: user.id, username: user.userName, email: user.email })
      }
    }
  })
}
