// A password check for programs, and the sign-in of a user that an external login server asserts. Neither opens a
// session nor makes a token.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { vouchedUserOf } from '../identity/vouched.ts'
import type { Client } from '../model/clients/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { User } from '../model/users/user.ts'
import { PageError, prefersPage } from '../web/answers.ts'
import { bearerHeader } from '../web/callers/authorization-header.ts'
import type { Form } from '../web/requests/form.ts'
import { joinForms } from '../web/requests/form.ts'
import { sendJson } from '../web/requests/json.ts'
import { limitedSignIn } from '../web/limits/limits.ts'
import { requireLoginServer } from '../web/callers/login-server.ts'
import { queryForm } from '../web/requests/query.ts'
import { contextOf } from '../web/requests/request-context.ts'
import { postedForm } from '../web/route.ts'
import type { LoginDeps } from './deps.ts'

const PATH = '/authenticate'

/** `POST /authenticate`; a login server, with its token, gets more details of the account and may assert users. */
export function authenticateEndpoint(app: FastifyInstance, deps: LoginDeps): void {
  const { identity, vouching, limits, behaviour, settings } = deps
  const access = { by: 'anyone', because: 'it checks a password, with the same limits as every sign-in' } as const
  const config = { access, audience: 'api' } as const

  app.post(PATH, { config }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const form = formOf(request)
    const server = bearerHeader(request) === undefined ? undefined : await requireLoginServer(request, deps)
    if (form.get('source') === 'login') return vouch(request, reply, { form, server })
    return checkPassword(request, reply, { form, server })
  })

  app.get(PATH, { config: { ...config, audience: 'page', refuses: true } }, (request, reply) => {
    reply.headers({ allow: 'POST', 'cache-control': 'no-store' })
    const description = "Request method 'GET' is not supported"
    throw prefersPage(request) ? new PageError(405, description) : malformed(description, 'method_not_allowed')
  })

  /** UAA: parameters may be in the query; they are secrets, so here only where the setting allows it. */
  function formOf(request: FastifyRequest): Form {
    const body = postedForm(request)
    const query = queryForm(request)
    if (query.names.length > 0 && !settings.queryString) {
      throw malformed('Parameters must be passed in the body of the request')
    }
    const form = settings.queryString ? joinForms(query, body) : body
    const [repeated] = form.repeated
    if (repeated !== undefined) throw malformed(`The parameter ${repeated.slice(0, 100)} must not be repeated`)
    return form
  }

  async function checkPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { form, server }: Sent,
  ): Promise<FastifyReply> {
    const userName = form.get('username')
    const password = form.get('password')
    if (userName === undefined) throw malformed('The parameter username is missing')
    if (password === undefined) throw malformed('The parameter password is missing')
    const from = contextOf(request)
    const result = await limitedSignIn(limits, { from, userName }, () =>
      identity.signInWithPassword(from, { userName, password }),
    )
    if (result.outcome === 'signed-in') {
      const { user } = result
      const { email } = user
      return reply.send(server ? { ...factsOf(user), email, user_id: user.id } : { username: user.userName, email })
    }
    // Revealed only after the right password.
    switch (result.outcome === 'refused' ? result.reason : undefined) {
      case 'account-not-verified':
        return sendJson(reply, { error: 'account not verified' }, 403)
      case 'second-factor-required':
        return sendJson(reply, { error: 'mfa_required' }, 403)
      default:
        return refuse(reply)
    }
  }

  async function vouch(request: FastifyRequest, reply: FastifyReply, { form, server }: Sent): Promise<FastifyReply> {
    if (!server) return refuse(reply)
    for (const name of ['username', 'origin']) {
      if (!form.get(name)) throw malformed(`The parameter ${name} is missing`)
    }
    const addNew = form.get('add_new')
    if (addNew !== 'true' && addNew !== 'false') throw malformed('The parameter add_new must be true or false')
    const vouchedUser = vouchedUserOf(name => (NAMED.has(name) ? form.get(name) : undefined))
    const result = await vouching.signIn(contextOf(request), { vouchedUser, addNew: addNew === 'true', server })
    if (result.outcome === 'refused' && result.reason === 'second-factor-required') {
      return sendJson(reply, { error: 'mfa_required' }, 403)
    }
    if (result.outcome === 'refused') return refuse(reply)
    const { user } = result
    const details = behaviour.emailOfVouched ? { email: user.email } : {}
    return reply.send({ ...factsOf(user), ...details, user_id: user.id })
  }
}

interface Sent {
  readonly form: Form
  /** The client of the login server, if its token came with the request. */
  readonly server: Client | undefined
}

/** The parameters that name a user here. */
const NAMED: ReadonlySet<string> = new Set(['username', 'origin', 'email', 'given_name', 'family_name'])

const malformed = (
  description: string,
  error: 'invalid_request' | 'method_not_allowed' = 'invalid_request',
): OAuthError => new OAuthError(error, description)

const factsOf = ({ userName, origin }: User): object => ({ username: userName, origin })

const refuse = (reply: FastifyReply): FastifyReply => sendJson(reply, { error: 'authentication failed' }, 401)
