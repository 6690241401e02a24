// Ends a browser's session: the reference system's way with `redirect`, and OpenID Connect RP-Initiated Logout.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../model/client.ts'
import { textList } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import { logoutConfirmationPage } from '../pages/logout-confirmation.ts'
import { signedOutPage } from '../pages/signed-out.ts'
import type { Store } from '../store/store.ts'
import type { TokenReader } from '../token/reader.ts'
import { FORGED, PageError } from '../web/answers.ts'
import type { Csrf } from '../web/csrf.ts'
import { EMPTY_FORM } from '../web/form.ts'
import type { PageWriter } from '../web/pages.ts'
import { queryForm } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions, Visitor } from '../web/session.ts'
import type { Params } from './params.ts'
import { readParams } from './params.ts'
import { resolveRedirectUri } from './redirect-uri.ts'
import { locationFor } from './respond.ts'
import { sessionIdFor } from './session-state.ts'

/** What the logout endpoint needs. */
export interface LogoutDeps {
  readonly store: Store
  readonly reader: TokenReader
  readonly sessions: Sessions
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly urls: Urls
  readonly behaviour: Behaviour
}

const PATH = '/logout.do'
/** The parameters that the question hands on. */
const HANDED_ON = ['post_logout_redirect_uri', 'client_id', 'state', 'id_token_hint']
const CONFIRMED = 'confirmed'

/** A hint that was verified: who and which client it was made for. */
interface Hint {
  readonly userId: string
  readonly sid?: string
  readonly client: Client
}

/** `GET` and `POST /logout.do`, the `end_session_endpoint`. */
export function logoutEndpoint(app: FastifyInstance, deps: LogoutDeps): void {
  const { store, sessions, csrf, pages, urls, behaviour } = deps

  app.route({
    method: ['GET', 'POST'],
    url: PATH,
    config: { access: { by: 'anyone', because: 'whoever has no session ends none' }, audience: 'page' },
    async handler(request, reply) {
      const isPost = request.method === 'POST'
      const params = readParams(isPost ? (bodyForm(request) ?? EMPTY_FORM) : queryForm(request))
      const isOwnForm = isPost && params.get(csrf.fieldName) !== undefined
      if (isPost && (isOwnForm || !behaviour.openLogoutPost) && !csrf.isGenuine(request)) {
        await sessions.visitor(request)
        throw new PageError(403, FORGED, { code: 'invalid_request' })
      }
      if (!behaviour.rpInitiatedLogout) return endThenGo(request, reply, await lenientTarget(request.zone, params))
      if (isOwnForm && params.get(CONFIRMED) === undefined)
        return endThenGo(request, reply, defaultTarget(request.zone))
      return initiatedByClient(request, reply, { params, confirmed: isOwnForm })
    },
  })

  /** RP-Initiated Logout §2, §3 (rows L2 to L5). */
  async function initiatedByClient(
    request: FastifyRequest,
    reply: FastifyReply,
    { params, confirmed }: { params: Params; confirmed: boolean },
  ): Promise<FastifyReply> {
    const visitor = await sessions.visitor(request)
    const hintText = params.get('id_token_hint')
    const target = params.get('post_logout_redirect_uri')
    if (hintText === undefined && target === undefined && params.get('redirect') !== undefined) {
      return endThenGo(request, reply, await exactTarget(request.zone, params))
    }
    const hint = hintText === undefined ? undefined : await verifyHint(request.zone, hintText, params)
    if (hint && target !== undefined && !textList(hint.client, 'post_logout_redirect_uris').includes(target)) {
      throw new PageError(400, 'The post_logout_redirect_uri is not registered for this client.', {
        code: 'invalid_request',
      })
    }
    if (visitor && !confirmed && !(hint && speaksOf(hint, visitor))) return ask(request, reply, { params, visitor })
    await sessions.end(request, reply)
    if (hint && target !== undefined) {
      const state = params.get('state')
      return reply.redirect(
        state === undefined
          ? target
          : locationFor({ clientId: hint.client.clientId, redirectUri: target, mode: 'query' }, { state }),
        302,
      )
    }
    const chrome = await pages.chrome(request, reply)
    return pages.send(reply, signedOutPage(chrome, { signInUrl: `${urls.basePath}/login` }))
  }

  /** A bad hint is told to the person and ends nothing (row L3). */
  async function verifyHint(zone: Zone, text: string, params: Params): Promise<Hint> {
    const claims = await deps.reader.readHint(zone, text).catch((cause: unknown) => {
      if (cause instanceof OAuthError) {
        throw new PageError(400, 'The id_token_hint was not issued by this server.', { code: 'invalid_request', cause })
      }
      throw cause
    })
    const { azp, sub, sid } = claims
    const clientId = params.get('client_id')
    const client = typeof azp === 'string' ? await store.clients.find(zone.id, azp) : undefined
    if (!client || typeof sub !== 'string' || (clientId !== undefined && clientId !== client.clientId)) {
      throw new PageError(400, 'The id_token_hint does not belong to this client.', { code: 'invalid_request' })
    }
    return { userId: sub, client, ...(typeof sid === 'string' && { sid }) }
  }

  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    { params, visitor }: { params: Params; visitor: Visitor },
  ): Promise<FastifyReply> {
    const fields = HANDED_ON.flatMap(name => {
      const value = params.get(name)
      return value === undefined ? [] : [[name, value] as const]
    })
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = logoutConfirmationPage(chrome, {
      action: `${urls.basePath}${PATH}`,
      fields: Object.fromEntries([...fields, [CONFIRMED, 'true']]),
      userName: visitor.user.userName,
    })
    return pages.send(reply, page)
  }

  async function endThenGo(request: FastifyRequest, reply: FastifyReply, target: string): Promise<FastifyReply> {
    await sessions.end(request, reply)
    return reply.redirect(target, 302)
  }

  function defaultTarget(zone: Zone): string {
    const target = zone.config.links?.logout?.redirectUrl ?? '/login'
    return target.startsWith('/') ? urls.ofZone(zone) + target : target
  }

  /** Whether a URL is one of ours: the same origin, and below the base path. */
  function isOwn(zone: Zone, target: string): boolean {
    if (!URL.canParse(target) || target.includes('\\')) return false
    const url = new URL(target)
    const own = new URL(urls.ofZone(zone))
    return url.origin === own.origin && url.username === '' && `${url.pathname}/`.startsWith(`${urls.basePath}/`)
  }

  /** `redirect` without a hint: our own URLs, or what the zone or the named client registered, to the letter (row L2). */
  async function exactTarget(zone: Zone, params: Params): Promise<string> {
    const target = params.get('redirect') ?? ''
    const clientId = params.get('client_id')
    const client = clientId === undefined ? undefined : await store.clients.find(zone.id, clientId)
    const allowed = [
      ...(zone.config.links?.logout?.whitelist ?? []),
      ...(client ? [...client.redirectUris, ...textList(client, 'post_logout_redirect_uris')] : []),
    ]
    const isWeb = /^https?:\/\//i.test(target) && URL.canParse(target)
    return isOwn(zone, target) || (isWeb && allowed.includes(target)) ? target : defaultTarget(zone)
  }

  /** UAA: patterns, and never an error. See docs/compatibility.md, L4. */
  async function lenientTarget(zone: Zone, params: Params): Promise<string> {
    const parameterName = zone.config.links?.logout?.redirectParameterName ?? 'redirect'
    const target = params.get('post_logout_redirect_uri') ?? params.get(parameterName)
    if (target === undefined) return defaultTarget(zone)
    if (isOwn(zone, target)) return target
    const client = await clientOfLogout(zone, params)
    const patterns = [...(zone.config.links?.logout?.whitelist ?? []), ...(client?.redirectUris ?? [])]
    return resolveRedirectUri({ redirectUris: patterns }, target, { exactRedirectUri: false }) ?? defaultTarget(zone)
  }

  async function clientOfLogout(zone: Zone, params: Params): Promise<Client | undefined> {
    const hint = params.get('id_token_hint')
    if (hint !== undefined) {
      const claims = await deps.reader.readHint(zone, hint).catch(() => undefined) // a bad hint is ignored here
      return typeof claims?.['azp'] === 'string' ? store.clients.find(zone.id, claims['azp']) : undefined
    }
    const clientId = params.get('client_id')
    return clientId === undefined ? undefined : store.clients.find(zone.id, clientId)
  }
}

/** Whether the hint was made for the person, and where it says so the session, at hand. */
function speaksOf(hint: Hint, { session, user }: Visitor): boolean {
  if (hint.userId !== user.id) return false
  return hint.sid === undefined || hint.sid === sessionIdFor(session.signIn, hint.client.clientId)
}
