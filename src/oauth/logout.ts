// Ends a browser session: UAA's logout with `redirect`, and OpenID Connect RP-Initiated Logout.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { ANSWERED, LOGOUT_PATH as PATH } from '../model/sessions/logout-return.ts'
import type { Destination } from '../model/sessions/destination.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Subjects } from '../model/tokens/subject.ts'
import type { Urls } from '../model/urls.ts'
import type { AddressedZone } from '../model/request.ts'
import { sessionIdFor } from '../model/sessions/session.ts'
import { logoutConfirmationPage } from '../pages/logout-confirmation.ts'
import { signedOutPage } from '../pages/signed-out.ts'
import type { Store } from '../store/store.ts'
import { clientIdOf } from '../token/claims.ts'
import type { TokenReader } from '../token/reader.ts'
import { PageError } from '../web/answers.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import type { Denial } from '../web/sessions/denial.ts'
import { leadTo } from '../web/destination.ts'
import { EMPTY_FORM } from '../web/requests/form.ts'
import type { PageWriter } from '../web/pages.ts'
import { encodeNamed, queryForm } from '../web/requests/query.ts'
import { bodyForm } from '../web/route.ts'
import { isFromAnotherOrigin } from '../web/requests/request-origin.ts'
import type { SignedInUser } from '../web/sessions/current-session.ts'
import type { Sessions } from '../web/sessions/session.ts'
import type { Params } from './params.ts'
import { readParams } from './params.ts'
import { locationFor } from './authorize/redirect.ts'
import { framesOf } from './logout/front-channel.ts'
import { createLogoutTargets, isRegistered, redirectParameterName } from './logout/targets.ts'
import type { AfterLogout, UpstreamLogout } from './upstream-logout.ts'

interface LogoutDeps {
  readonly store: Store
  readonly reader: TokenReader
  readonly sessions: Sessions
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly upstream: UpstreamLogout
  readonly subjects: Subjects
}

/** The parameters that are repeated: in the confirmation form, and in the URL when a posted form is asked for again by GET. */
const FORWARDED_PARAMETERS = ['post_logout_redirect_uri', 'client_id', 'state', 'id_token_hint', 'ui_locales']
/** Together, in characters: as in the query of `/oauth/authorize`; a browser or a proxy would refuse a longer URL. */
const MAX_FORWARDED_LENGTH = 8000
const CONFIRMED = 'confirmed'
/** Browsers without script count from when the frames are loaded; there is a button, too. */
const WAIT_SECONDS = 6

/** The subject, session and client of a verified `id_token_hint`. */
interface Hint {
  readonly subject: string
  readonly sid?: string
  readonly client: Client
}

/** `GET` and `POST /logout.do`, the `end_session_endpoint`. */
export function logoutEndpoint(app: FastifyInstance, deps: LogoutDeps): void {
  const { store, sessions, denial, csrf, pages, urls, behaviour, upstream, subjects } = deps
  const targets = createLogoutTargets(deps)

  app.route({
    method: ['GET', 'POST'],
    exposeHeadRoute: false, // it would end the session
    url: PATH,
    config: {
      access: { by: 'anyone', because: 'it only ends the session of the browser that calls' },
      audience: 'page',
    },
    async handler(request, reply) {
      const isPost = request.method === 'POST'
      const form = isPost ? (bodyForm(request) ?? EMPTY_FORM) : queryForm(request)
      const params = readParams(form)
      const returnTarget = upstream.returnTarget(request, reply, params.get('state'))
      if (returnTarget !== undefined) return reply.redirect(returnTarget, 302)
      if (params.get(ANSWERED) !== undefined) return afterAnswer(request, reply, params)
      const isOwnForm = isPost && params.get(csrf.fieldName) !== undefined
      // Without a session, ended by another tab or by time, there is nothing to protect.
      const needsCsrfToken = isOwnForm ? (await sessions.signedIn(request)) !== undefined : !behaviour.openLogoutPost
      if (isPost && needsCsrfToken && !(await csrf.isGenuine(request))) {
        return denial.refuseForgery(request, reply)
      }
      if (!behaviour.rpInitiatedLogout) {
        const query = behaviour.upstreamReturnByQuery ? await targets.returnQuery(request.zone, params) : undefined
        return endThenGo(request, reply, { target: await targets.of(request.zone, params), query })
      }
      if (isPost && !isOwnForm && !sessions.wasSent(request)) {
        // A form on another site is sent without the SameSite cookie. Redirect to GET, with which the browser sends it.
        const query = encodeNamed(form, forwardedNames(request.zone))
        if (query.length > MAX_FORWARDED_LENGTH) throw tooLong()
        return reply.redirect(`${urls.ofZone(request.zone)}${PATH}?${query}`, 303)
      }
      if (isOwnForm && params.get(CONFIRMED) === undefined) {
        return endThenGo(request, reply, { target: targets.fallback(request.zone) })
      }
      return initiatedByClient(request, reply, { params, confirmed: isOwnForm })
    },
  })

  /** After an answer that this browser does not wait for, or without a target of its own. Ends nothing (row L7). */
  async function afterAnswer(request: FastifyRequest, reply: FastifyReply, params: Params): Promise<FastifyReply> {
    if (behaviour.upstreamReturnByQuery) return reply.redirect(await targets.of(request.zone, params), 302)
    if (await sessions.signedIn(request)) return reply.redirect(`${urls.ofZone(request.zone)}/`, 302)
    return showSignedOut(request, reply)
  }

  /** RP-Initiated Logout §2, §3 (rows L2 to L5). */
  async function initiatedByClient(
    request: FastifyRequest,
    reply: FastifyReply,
    { params, confirmed }: { params: Params; confirmed: boolean },
  ): Promise<FastifyReply> {
    const signedIn = await sessions.signedIn(request)
    const hintText = params.get('id_token_hint')
    const target = params.get('post_logout_redirect_uri')
    if (
      hintText === undefined &&
      target === undefined &&
      params.get(redirectParameterName(request.zone)) !== undefined
    ) {
      // Any site can link here: ask for confirmation unless the link is on our own origin.
      const isForeign = isFromAnotherOrigin(request, urls.addressesOf(request.zone))
      if (signedIn && !confirmed && isForeign) return ask(request, reply, { params, signedIn })
      return endThenGo(request, reply, { target: await targets.of(request.zone, params) })
    }
    const hint = hintText === undefined ? undefined : await verifyHint(request.zone, hintText, params)
    if (hint && target !== undefined && !isRegistered(hint.client, target)) {
      throw new PageError(400, 'The post_logout_redirect_uri is not registered for this client.', {
        code: 'invalid_request',
      })
    }
    const isTheirs = signedIn && hint && isOf(hint, signedIn, subjects.of(request.zone, hint.client, signedIn.user))
    if (signedIn && !confirmed && !isTheirs) return ask(request, reply, { params, signedIn })
    const isAllowed = hint !== undefined && target !== undefined
    return endThenGo(request, reply, { target: isAllowed ? withState(target, params.get('state')) : undefined })
  }

  /** Ends the session, then leads on: to the provider that it came from, else to the target or the page of those signed out. */
  async function endThenGo(
    request: FastifyRequest,
    reply: FastifyReply,
    afterLogout: AfterLogout,
  ): Promise<FastifyReply> {
    const frames = await framesOf(request, deps)
    const destination = (await upstream.end(request, reply, afterLogout)) ?? afterLogout.target
    if (frames.length > 0) return showFrames(request, reply, { frames, destination })
    return destination === undefined ? showSignedOut(request, reply) : leadTo(request, reply, { destination, pages })
  }

  /** Front-Channel Logout §2: the frames, and what follows when they are loaded. */
  async function showFrames(
    request: FastifyRequest,
    reply: FastifyReply,
    { frames, destination }: { readonly frames: readonly string[]; readonly destination: Destination | undefined },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply)
    const signInUrl = `${urls.pathOf(request.zone)}/login`
    // For browsers without script; a form waits for its button.
    if (typeof destination === 'string') reply.header('refresh', `${WAIT_SECONDS}; url=${new URL(destination).href}`)
    return pages.send(reply, signedOutPage(chrome, { signInUrl, frames, continueUrl: destination }), { frames })
  }

  async function showSignedOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply)
    return pages.send(reply, signedOutPage(chrome, { signInUrl: `${urls.pathOf(request.zone)}/login` }))
  }

  /** An invalid hint shows an error page and does not end the session (row L3). */
  async function verifyHint(zone: AddressedZone, text: string, params: Params): Promise<Hint> {
    const claims = await deps.reader.readHint(zone, text).catch((cause: unknown) => {
      if (cause instanceof OAuthError) {
        throw new PageError(400, 'The id_token_hint was not issued by this server.', { code: 'invalid_request', cause })
      }
      throw cause
    })
    const { sub, sid } = claims
    const issuedTo = clientIdOf(claims)
    const clientId = params.get('client_id')
    const client = issuedTo === undefined ? undefined : await store.clients.find(zone.id, issuedTo)
    if (!client || typeof sub !== 'string' || (clientId !== undefined && clientId !== client.clientId)) {
      throw new PageError(400, 'The id_token_hint does not belong to this client.', { code: 'invalid_request' })
    }
    return { subject: sub, client, ...(typeof sid === 'string' && { sid }) }
  }

  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    { params, signedIn }: { params: Params; signedIn: SignedInUser },
  ): Promise<FastifyReply> {
    const fields = forwardedNames(request.zone).flatMap(name => {
      const value = params.get(name)
      return value === undefined ? [] : [[name, value] as const]
    })
    if (fields.reduce((length, [, value]) => length + value.length, 0) > MAX_FORWARDED_LENGTH) throw tooLong()
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = logoutConfirmationPage(chrome, {
      action: `${urls.pathOf(request.zone)}${PATH}`,
      fields: Object.fromEntries([...fields, [CONFIRMED, 'true']]),
      userName: signedIn.user.userName,
    })
    return pages.send(reply, page)
  }
}

const tooLong = (): PageError => new PageError(400, 'The request is too long.', { code: 'invalid_request' })

const forwardedNames = (zone: AddressedZone): readonly string[] => [
  ...FORWARDED_PARAMETERS,
  redirectParameterName(zone),
]

/** The target with the client's `state` (RP-Initiated Logout §3). */
const withState = (target: string, state: string | undefined): string =>
  state === undefined ? target : locationFor(target, 'query', { state })

/** Whether the hint is for the signed-in user and, if it has a `sid`, for this session. */
function isOf(hint: Hint, { session }: SignedInUser, subject: string): boolean {
  if (hint.subject !== subject) return false
  return hint.sid === undefined || hint.sid === sessionIdFor(session.signIn, hint.client.clientId)
}
