// Authorization requests of an external login server (`source=login`): its token asserts the user that the request
// names. There is no browser: no session is looked up, and the question for approval is JSON, which the login server asks.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { vouchedUserOf } from '../../../identity/vouched.ts'
import { PageError } from '../../../web/answers.ts'
import { bearerHeader } from '../../../web/callers/authorization-header.ts'
import type { Form } from '../../../web/requests/form.ts'
import { parseForm } from '../../../web/requests/form.ts'
import { refuseVouching, requireLoginServer } from '../../../web/callers/login-server.ts'
import { encodeForm, queryForm } from '../../../web/requests/query.ts'
import { contextOf } from '../../../web/requests/request-context.ts'
import { bodyForm, postedForm } from '../../../web/route.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { MFA_REQUIRED } from '../../grants/resource-owner.ts'
import { readParams } from '../../params.ts'
import { found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { providerNotAllowed } from './credentials.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Whether the request declares that a login server sent it; UAA: the first type of `Accept` must be JSON. */
export function isVouched(request: FastifyRequest): boolean {
  const sent = (name: string): string | undefined => queryForm(request).get(name) ?? bodyForm(request)?.get(name)
  const isMeant = sent('source') === 'login' || sent('login')?.startsWith('{') === true
  if (!isMeant) return false
  if (acceptsJson(request.headers.accept)) return true
  if (bearerHeader(request) === undefined) return false // of a browser, which cannot assert a user
  throw new PageError(406, 'A request with source=login must be sent with Accept: application/json.')
}

/** Starts such a request: verifies the token before anything else is read. */
export async function vouchedContext(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: OAuthDeps,
): Promise<AuthorizeContext> {
  request.audience = 'api'
  reply.removeHeader('pragma').removeHeader('expires').header('cache-control', 'no-store')
  if (request.method !== 'POST') {
    throw refuseVouching('unauthorized', 'Credentials must be sent by (one of methods): [POST]')
  }
  const server = await requireLoginServer(request, deps)
  const form = formOf(request)
  return {
    request,
    reply,
    form,
    query: () => encodeForm(form, ['login', ...ANSWER]),
    params: readParams(form),
    silent: false,
    program: { by: 'login-server', server },
    // The login server repeats the request with the answer of the user: there is no session that keeps the question.
    ...(form.get('user_oauth_approval') !== undefined && { answer: { form } }),
    asked: {},
  }
}

/** Signs the user in for this request only; the client is known by now, so that no account is created unnecessarily. */
export async function signInVouched(context: AuthorizeContext, { vouching, clock }: OAuthDeps): Promise<void> {
  const { request, form, source, asked, program } = context
  if (program?.by !== 'login-server') return
  // The client signs the parameters, and the login server asserts the user in addition.
  const sent = source?.sent ?? form
  const result = await vouching.signIn(contextOf(request), {
    vouchedUser: vouchedUserOf(name => sent.get(name)),
    addNew: sent.get('add_new') === 'true',
    server: program.server,
    client: found(asked.client),
  })
  if (result.outcome === 'refused') {
    if (result.reason === 'second-factor-required') throw new OAuthError('mfa_required', MFA_REQUIRED)
    throw result.reason === 'provider-barred'
      ? providerNotAllowed()
      : refuseVouching('unauthorized', result.description)
  }
  context.authenticatedUser = { user: result.user, amr: result.amr, authenticatedAt: clock.now() }
  // UAA: the login server decides how fresh a sign-in must be.
  context.asked = { ...asked, forceLogin: false, maxAge: undefined }
}

const ANSWER = ['user_oauth_approval']

/** Secrets of other ways to sign in, which have no meaning here. */
const UNREAD = ['password', 'credentials', 'access_token', 'client_secret']

/** UAA: a request's parameters are those of its URL and of its body. */
function formOf(request: FastifyRequest): Form {
  const body = postedForm(request)
  return parseForm(`${encodeForm(queryForm(request), UNREAD)}&${encodeForm(body, UNREAD)}`)
}

function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true
  return accept.split(/[,;]/, 1)[0]?.trim().toLowerCase() === 'application/json'
}
