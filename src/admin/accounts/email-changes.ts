// Changes of e-mail addresses by a login server, which sends the mail itself: one call issues the code, the other redeems it.
import type { FastifyInstance } from 'fastify'
import { issueCode } from '../../accounts/codes.ts'
import { changeEmail, emailProblem } from '../../accounts/email-change.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import { jsonBody, sendJson, textBody } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { refuseMalformed } from '../resources/refusal.ts'
import { findUser } from '../../users/user-changes.ts'
import { refuseResource } from '../../users/refusal.ts'
import { stringIn } from '../resources/body.ts'
import { bare } from './bare.ts'
import { reportCode } from './code-issued.ts'
import type { AdminDeps } from '../deps.ts'

/** `POST /email_verifications` and `POST /email_changes`. */
export function emailChangeEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  const { store, users, service, behaviour } = deps
  const access = { by: 'bearer', scopes: ['oauth.login'], resource: 'oauth', forLoginServers: true } as const
  const errorHandler = refuseMalformed

  const verification = { config: { access, audience: 'api', body: 'json' }, errorHandler } as const
  app.post('/email_verifications', verification, async (request, reply) => {
    const { zone } = request
    await users.checkManageable(zone, service.name)
    const body = jsonBody(request)
    const userId = stringIn(body, 'userId')
    const email = stringIn(body, 'email')
    if (userId === undefined) throw refuseResource('scim', 'A userId must be provided.')
    const user = await findUser(store, zone, userId)
    if (user.origin !== service.name)
      throw refuseResource('scim', 'Can only manage users from the internal user store.')
    const problem = await emailProblem(zone, { user, email: email ?? '' }, deps)
    if (problem === 'invalid') throw refuseResource('scim', 'Please enter a valid email address.')
    if (problem === 'taken') throw bare('scim_resource_already_exists', { status: 409, message: TAKEN }, behaviour)
    const data = { email: email ?? '', clientId: stringIn(body, 'client_id') }
    const { value } = await issueCode(zone, { purpose: 'email-verification', user, data }, deps)
    reportCode(request, { user, use: 'email change' }, deps)
    return reply
      .status(201)
      .type(behaviour.codeIsText ? 'text/plain' : 'application/json')
      .send(value)
  })

  const change = { config: { access, audience: 'api', body: 'text' }, errorHandler } as const
  app.post('/email_changes', change, async (request, reply) => {
    const { zone } = request
    await users.checkManageable(zone, service.name)
    const code = textBody(request)
    if (code === '') throw refuseResource('scim', 'A code must be provided.')
    const by = auditOriginOf(request)
    const changed = await changeEmail(zone, { purpose: 'email-verification', code, by }, deps)
    switch (changed.outcome) {
      case 'invalid':
        throw bare('invalid_request', { status: 422, message: 'The code is unknown, used or expired.' }, behaviour)
      case 'taken':
        throw bare('scim_resource_already_exists', { status: 409, message: TAKEN }, behaviour)
      case 'changed': {
        const { user, requestedReturn } = changed
        const url = await returnUrl(zone, requestedReturn, { ...deps, fallback: 'change_email_redirect_url' })
        return sendJson(reply, {
          username: user.userName,
          userId: user.id,
          redirect_url: url ?? null,
          email: user.email,
        })
      }
    }
  })
}

const TAKEN = 'There is already a user with that email address.'
