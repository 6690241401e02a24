import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import { approvalProblem } from '../token/approvals.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { BadEncoding } from '../web/requests/form.ts'
import { sendJson } from '../web/requests/json.ts'
import { isRevocable, requireInspector, shownClaims } from './inspection.ts'
import { formOf, parseParams } from './params.ts'
import type { OAuthDeps } from './deps.ts'

/** UAA: `/check_token`, the predecessor of /introspect. */
export function checkTokenEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  app.route({
    method: deps.settings.queryString ? ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] : ['POST'],
    url: '/check_token',
    errorHandler(error) {
      // UAA: a code of its own, which only this endpoint has.
      if (!(error instanceof BadEncoding)) throw error
      const description = 'One of the parameters was incorrectly encoded'
      throw new OAuthError('parameter_parsing_error', description, { cause: error })
    },
    exposeHeadRoute: false,
    config: { access: { by: 'client' }, audience: 'api' },
    handler: (request, reply) => checkToken(request, reply, deps),
  })
}

async function checkToken(request: FastifyRequest, reply: FastifyReply, deps: OAuthDeps): Promise<FastifyReply> {
  const params = parseParams(formOf(request, deps.settings), deps.behaviour)
  await requireInspector(request, { params, basicOnly: true }, deps)
  const token = params.get('token')
  if (token === undefined) {
    throw new OAuthError({ error: 'invalid_token', status: 400 }, 'Token parameter must be set')
  }
  const found = await readForCheck(request.zone, token, deps)
  const held = new Set(found.scopes.map(scope => scope.toLowerCase()))
  const wanted = params.get(request.method === 'POST' ? 'scopes' : 'scope') ?? ''
  const asked = wanted.split(',').flatMap(scope => scope.trim() || [])
  const missing = asked.filter(scope => !held.has(scope.toLowerCase()))
  if (missing.length > 0) {
    throw new OAuthError('invalid_scope', `Some requested scopes are missing: ${missing.join(',')}`)
  }
  return sendJson(reply, { ...shownClaims(found), scope: found.scopes, revocable: isRevocable(found) })
}

async function readForCheck(zone: AddressedZone, token: string, deps: OAuthDeps): Promise<VerifiedToken> {
  const refuse = (description: string): OAuthError =>
    new OAuthError({ error: 'invalid_token', status: 400 }, description)
  try {
    const found = await deps.reader.read({ zone, inspected: true }, token)
    const unapproved = await approvalProblem(zone, found, found.scopes, deps)
    if (unapproved === undefined) return found
    throw refuse(unapproved)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw refuse(error.message.startsWith('Invalid access token: expired') ? 'Token has expired' : error.message)
  }
}
