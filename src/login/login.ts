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
import { promptsOf } from '../model/zone.ts'
import { loginPage } from '../pages/login.ts'
import type { Message } from '../pages/messages.ts'
import { messageFor } from '../pages/messages.ts'
import type { Store } from '../store/store.ts'
import { FORGED, PageError, wantsJson } from '../web/answers.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM, parseForm } from '../web/form.ts'
import type { PageWriter } from '../web/pages.ts'
import { queryForm } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions } from '../web/session.ts'

/** What signing in needs. */
export interface LoginDeps {
  readonly store: Store
  readonly identity: Identity
  readonly sessions: Sessions
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly urls: Urls
  /** What `/login` answers to a program, the same as `/info`. */
  readonly serverInfo: (zone: Zone) => Promise<object>
}

/** `GET /login` and `POST /login.do`. */
export function loginEndpoints(app: FastifyInstance, deps: LoginDeps): void {
  const { store, identity, sessions, csrf, pages, urls } = deps
  const config = { access: { by: 'anyone', because: 'it is where one signs in' }, audience: 'page' } as const

  app.get('/login', { config }, async (request, reply) => {
    if (wantsJson(request)) return reply.send(await deps.serverInfo(request.zone))
    const query = queryForm(request)
    const session = await sessions.of(request)
    const saved = savedRequestOf(session)
    if (session?.signIn && !saved?.reauthenticate && query.get('error') === undefined) {
      return reply.redirect(`${urls.ofZone(request.zone)}/home`, 302)
    }
    const destination = ownPath(request, query.get('form_redirect_uri')) ?? saved?.path
    return showForm(request, reply, { query, destination })
  })

  app.post('/login.do', { config }, async (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    if (!csrf.isGenuine(request)) return refuseForgery(request, reply)
    const saved = savedRequestOf(await sessions.of(request))
    const destination = ownPath(request, form.get('form_redirect_uri')) ?? saved?.path
    const client = await clientOf(request.zone, destination)
    const userName = form.get('username') ?? ''
    const password = form.get('password') ?? ''
    if (userName === '' || password === '') return refuse(request, reply, 'login_failure')
    const { origin } = parseLoginHint(form.get('login_hint') || undefined)
    const result = await identity.signInWithPassword(request.zone, {
      userName,
      password,
      client,
      origin,
      remoteAddress: request.ip,
    })
    if (result.outcome !== 'signed-in') {
      return refuse(request, reply, result.outcome === 'refused' ? messageCode(result.reason) : 'login_failure')
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
    const links = zone.config.links?.selfService
    const page = loginPage(await pages.chrome(request, reply, { form: true }), {
      prompts: takesPasswords ? promptsOf(zone) : [],
      message: messageOf(query) ?? (hintFails ? messageFor('error', 'invalid_login_hint') : undefined),
      ...(userName !== undefined && { userName }),
      ...(destination !== undefined && { formRedirectUri: urls.ofZone(zone) + destination }),
      ...(hint.origin !== undefined && !hintFails && hintText !== undefined && { loginHint: hintText }),
      ...(client && { clientName: displayName(client) }),
      links: {
        ...(links?.signup && { createAccount: fillIn(links.signup, zone) }),
        ...(links?.passwd && { resetPassword: fillIn(links.passwd, zone) }),
      },
      providers: [],
    })
    return pages.send(reply, page)
  }

  async function refuse(request: FastifyRequest, reply: FastifyReply, code: string): Promise<FastifyReply> {
    sessions.setCurrentUser(reply, undefined)
    return reply.redirect(`${urls.ofZone(request.zone)}/login?error=${code}`, 302)
  }

  async function refuseForgery(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (await sessions.visitor(request)) throw new PageError(403, FORGED, { code: 'invalid_request' })
    return refuse(request, reply, 'invalid_login_request')
  }

  /** The path below the base URL of a URL of this zone; undefined for any other text, so that nobody is led away. */
  function ownPath(request: FastifyRequest, text: string | undefined): string | undefined {
    const base = urls.ofZone(request.zone)
    if (!text || !text.startsWith(`${base}/`) || !URL.canParse(text) || /[\\\s]/.test(text)) return undefined
    const url = new URL(text)
    // Compared again after parsing: dot segments must not climb out of the base path.
    const path = url.href.startsWith(`${base}/`) ? url.href.slice(base.length) : undefined
    return path?.startsWith('//') ? undefined : path
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

/** A zone's own link, with its variables filled in. */
const fillIn = (link: string, zone: Zone): string =>
  link
    .replaceAll('{zone.id}', encodeURIComponent(zone.id))
    .replaceAll('{zone.subdomain}', encodeURIComponent(zone.subdomain))
