// Signs a person in by a form. The page leads back to wherever the person came from; usually that is /oauth/authorize,
// which then decides the next step.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../identity/identity.ts'
import type { SignInRefusal } from '../identity/source.ts'
import type { Client } from '../model/client.ts'
import { displayName } from '../model/client.ts'
import { parseLoginHint } from '../model/login-hint.ts'
import { savedRequestOf } from '../model/session.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import { promptsOf, selfServiceLinks } from '../model/zone.ts'
import { loginPage } from '../pages/login.ts'
import type { Message } from '../pages/messages.ts'
import { messageFor } from '../pages/messages.ts'
import type { Store } from '../store/store.ts'
import { wantsJson } from '../web/answers.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Denial } from '../web/denial.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM, parseForm } from '../web/form.ts'
import { callerKey } from '../web/limits.ts'
import type { Limits } from '../web/limits.ts'
import { ownPath } from '../web/own-path.ts'
import type { PageWriter } from '../web/pages.ts'
import { queryForm } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions } from '../web/session.ts'

/** What signing in needs. */
export interface LoginDeps {
  readonly store: Store
  readonly identity: Identity
  readonly sessions: Sessions
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly limits: Limits
  readonly urls: Urls
  /** What `/login` answers to a program, the same as `/info`. */
  readonly serverInfo: (zone: Zone) => Promise<object>
}

/** `GET /login` and `POST /login.do`. */
export function loginEndpoints(app: FastifyInstance, deps: LoginDeps): void {
  const { store, identity, sessions, denial, csrf, pages, urls } = deps
  const config = { access: { by: 'anyone', because: 'it is where one signs in' }, audience: 'page' } as const

  app.get('/login', { config }, async (request, reply) => {
    if (wantsJson(request)) return reply.send(await deps.serverInfo(request.zone))
    const query = queryForm(request)
    const session = await sessions.of(request)
    const saved = savedRequestOf(session)
    if (session?.signIn && !saved?.reauthenticate && query.get('error') === undefined) {
      return reply.redirect(`${urls.ofZone(request.zone)}/home`, 302)
    }
    const destination = ownPath(urls.ofZone(request.zone), query.get('form_redirect_uri')) ?? saved?.path
    return showForm(request, reply, { query, destination })
  })

  app.post('/login.do', { config }, async (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    if (!csrf.isGenuine(request)) {
      if (!(await sessions.visitor(request))) sessions.setCurrentUser(reply, undefined)
      return denial.refuseForgery(request, reply)
    }
    const saved = savedRequestOf(await sessions.of(request))
    const destination = ownPath(urls.ofZone(request.zone), form.get('form_redirect_uri')) ?? saved?.path
    const refuse = async (code: string): Promise<FastifyReply> => {
      sessions.setCurrentUser(reply, undefined)
      // The form that is shown next must lead where this one did, whatever became of the session or another tab.
      if (destination !== undefined && destination !== saved?.path) {
        await sessions.saveRequest(request, reply, {
          path: destination,
          reauthenticate: saved?.reauthenticate ?? false,
        })
      }
      return reply.redirect(`${urls.ofZone(request.zone)}/login?error=${code}`, 302)
    }
    const client = await clientOf(request.zone, destination)
    const userName = form.get('username') ?? ''
    const password = form.get('password') ?? ''
    if (userName === '' || password === '') return refuse('login_failure')
    const { origin } = parseLoginHint(form.get('login_hint') || undefined)
    const caller = callerKey(request.ip, request.zone.id, userName.toLowerCase())
    deps.limits.wrongPasswords.check(caller)
    const result = await identity.signInWithPassword(request.zone, {
      userName,
      password,
      client,
      origin,
      remoteAddress: request.ip,
    })
    if (result.outcome !== 'signed-in') {
      if (result.outcome === 'refused') deps.limits.wrongPasswords.count(caller)
      return refuse(result.outcome === 'refused' ? messageCode(result.reason) : 'login_failure')
    }
    await sessions.signIn(request, reply, result.user, result.amr)
    return reply.redirect(urls.ofZone(request.zone) + (destination ?? '/'), 302)
  })

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { query, destination }: { query: Form; destination: string | undefined },
  ): Promise<FastifyReply> {
    const { zone } = request
    const client = await clientOf(zone, destination)
    const hintText = hintOf(destination) ?? query.get('login_hint')
    const hint = parseLoginHint(hintText)
    const providers = await identity.passwordProviders(zone, client)
    const takesPasswords = providers.length > 0
    const hintFails = hint.origin !== undefined && !providers.some(provider => provider.originKey === hint.origin)
    const userName = query.get('username') ?? hint.text
    const { signup, passwd } = selfServiceLinks(zone)
    const page = loginPage(await pages.chrome(request, reply, { form: true }), {
      prompts: takesPasswords ? promptsOf(zone) : [],
      message: messageOf(query) ?? (hintFails ? messageFor('error', 'invalid_login_hint') : undefined),
      ...(userName !== undefined && { userName }),
      ...(destination !== undefined && { formRedirectUri: urls.ofZone(zone) + destination }),
      ...(hint.origin !== undefined && !hintFails && hintText !== undefined && { loginHint: hintText }),
      ...(client && { clientName: displayName(client) }),
      links: {
        ...(signup !== undefined && { createAccount: signup }),
        ...(passwd !== undefined && { resetPassword: passwd }),
      },
      providers: [],
    })
    return pages.send(reply, page)
  }

  /** The client on whose behalf the person signs in, when the destination is an authorization request. */
  async function clientOf(zone: Zone, destination: string | undefined): Promise<Client | undefined> {
    const clientId = authorizationQuery(destination)?.get('client_id')
    return clientId ? store.clients.find(zone.id, clientId) : undefined
  }
}

const hintOf = (destination: string | undefined): string | undefined =>
  authorizationQuery(destination)?.get('login_hint')

function authorizationQuery(destination: string | undefined): Form | undefined {
  if (!destination?.startsWith('/oauth/authorize?')) return undefined
  try {
    return parseForm(destination.slice(destination.indexOf('?') + 1).replace(/#.*$/s, ''))
  } catch {
    return undefined // the authorization endpoint will say what is wrong with it
  }
}

function messageOf(query: Form): Message | undefined {
  const error = query.get('error')
  const success = query.get('success')
  if (error !== undefined) return messageFor('error', error)
  return success === undefined ? undefined : messageFor('success', success)
}

function messageCode(reason: SignInRefusal): string {
  switch (reason) {
    case 'bad-credentials':
    case 'provider-disabled':
      return 'login_failure'
    case 'account-locked':
      return 'account_locked'
    case 'account-not-verified':
      return 'account_not_verified'
    case 'password-change-required':
      return 'password_expired'
  }
}
