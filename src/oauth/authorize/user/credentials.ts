// Authorization requests in which a program sends the user's user name and password, and gets tokens in the fragment.
// There is no browser: no session is looked up, and every refusal that is not a redirect is JSON.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { mayUseGrant } from '../../../model/clients/client.ts'
import { mayHandlePasswords } from '../../../model/clients/client-demands.ts'
import { parseLoginHint } from '../../../model/sessions/login-hint.ts'
import { concerning, OAuthError } from '../../../model/oauth-error.ts'
import type { Rule } from '../../../model/rules.ts'
import type { Form } from '../../../web/requests/form.ts'
import { parseForm } from '../../../web/requests/form.ts'
import { limitedSignIn } from '../../../web/limits/limits.ts'
import { encodeForm, queryForm } from '../../../web/requests/query.ts'
import { bodyForm, postedForm } from '../../../web/route.ts'
import { acceptsTokens } from '../../grants/passcode.ts'
import { noProvider } from '../../grants/password.ts'
import { refused } from '../../grants/resource-owner.ts'
import { readParams } from '../../params.ts'
import { found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { RedirectRefusal } from '../response/redirect.ts'
import { contextOf } from '../../../web/requests/request-context.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Whether the request declares that it contains credentials; does not check them. */
export function hasCredentials(request: FastifyRequest): boolean {
  if (!acceptsTokens(request.headers.accept)) return false
  const form = formOf(request)
  if (!(form.get('response_type') ?? '').startsWith('token')) return false
  return form.get('source') === 'credentials' || (form.get('credentials') ?? '').startsWith('{')
}

/** Starts such a request; throws for GET. */
export function credentialsContext(request: FastifyRequest, reply: FastifyReply): AuthorizeContext {
  request.audience = 'api'
  reply.removeHeader('pragma').removeHeader('expires').header('cache-control', 'no-store')
  if (request.method !== 'POST') throw unauthorized('Credentials must be sent by (one of methods): [POST]')
  const form = formOf(request)
  return {
    request,
    reply,
    form,
    query: () => encodeForm(form, ['source', 'credentials']),
    params: readParams(form),
    silent: false,
    program: { by: 'password' },
    asked: {},
  }
}

/** Runs before the password check: a caller without this right must not learn whether the password is correct (row A20). */
export function requirePasswordGrant({ asked, program }: AuthorizeContext): void {
  if (program?.by === 'password' && !mayUseGrant(found(asked.client), 'password')) {
    throw unauthorizedGrant(asked, 'client-grant-type')
  }
}

/** Also where the client's grants are not asked (row A20), or allow what the request asks for, such as a code. */
export function requirePasswordsAllowed({ request, asked, program }: AuthorizeContext): void {
  const client = found(asked.client)
  if (program?.by !== 'password' || mayHandlePasswords(request.zone, client)) return
  throw unauthorizedGrant(asked, client.registration ? 'client-grant-type' : 'client-profile')
}

const unauthorizedGrant = ({ target }: AuthorizeContext['asked'], rule: Rule): RedirectRefusal =>
  new RedirectRefusal(found(target), new OAuthError('unauthorized_client', 'Unauthorized grant type', { rule }))

/** Signs the user in for this request only; the client is known by now, so that passwords cannot be guessed without one. */
export async function signInWithPassword(context: AuthorizeContext, deps: OAuthDeps): Promise<void> {
  const { request, form, asked, program } = context
  if (program?.by !== 'password') return
  const { identity, limits, clock } = deps
  const from = contextOf(request)
  const typed = credentialsOf(postedForm(request))
  if (!typed) throw unauthorized('Request does not contain credentials.')
  const { origin } = parseLoginHint(form.get('login_hint'))
  const client = found(asked.client)
  const result = await limitedSignIn(limits, { from, userName: typed.userName }, () =>
    identity.signInWithPassword(from, { ...typed, client, origin }),
  )
  switch (result.outcome) {
    case 'no-provider':
      throw asUnauthorized(noProvider(result.reason, deps))
    case 'refused': {
      const refusal = refused(result, deps)
      throw concerning(refusal.error === 'mfa_required' ? refusal : asUnauthorized(refusal), result.userId)
    }
    case 'signed-in':
      context.authenticatedUser = { user: result.user, amr: result.amr, acr: result.acr, authenticatedAt: clock.now() }
      // A password that was just sent satisfies `prompt=login` and `max_age`.
      context.asked = { ...asked, forceLogin: false, maxAge: undefined }
  }
}

/** The refusal of a user whose identity provider the client does not allow. */
export const providerNotAllowed = (): OAuthError => unauthorized('The application is not authorized for your account.')

const MAX_CREDENTIALS_LENGTH = 10_000

/** Read from the body alone, and passed on to nothing but the sign-in. */
const SECRET = ['username', 'password']

/** UAA: a request's parameters are those of its URL and of its body. */
function formOf(request: FastifyRequest): Form {
  const body = bodyForm(request)
  const query = queryForm(request)
  if (!body) return query
  return parseForm(`${encodeForm(query, SECRET)}&${encodeForm(body, SECRET)}`)
}

const unauthorized = (description: string): OAuthError => new OAuthError('unauthorized', description)

/** The same refusal under the code of this flow. */
const asUnauthorized = ({ message, rule }: OAuthError): OAuthError => new OAuthError('unauthorized', message, { rule })

/** The JSON in `credentials`, or the two fields; undefined unless both are non-empty strings. */
function credentialsOf(body: Form): { userName: string; password: string } | undefined {
  const json = body.get('credentials')
  const [userName, password] =
    json === undefined ? [body.get('username'), body.get('password')] : membersOf(json.slice(0, MAX_CREDENTIALS_LENGTH))
  if (typeof userName !== 'string' || typeof password !== 'string') return undefined
  return userName === '' || password === '' ? undefined : { userName, password }
}

function membersOf(json: string): readonly [unknown, unknown] {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value !== 'object' || value === null) return [undefined, undefined]
    return [Reflect.get(value, 'username'), Reflect.get(value, 'password')]
  } catch {
    return [undefined, undefined] // not a pair of credentials, and refused as such
  }
}
