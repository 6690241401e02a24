// Ends a browser session: UAA's logout with `redirect`, and OpenID Connect RP-Initiated Logout.
import type { FastifyReply } from 'fastify'
import { ANSWERED, LOGOUT_PATH as PATH } from '../../model/sessions/logout-return.ts'
import { PageError } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import { leadTo } from '../../web/destination.ts'
import type { Exchange } from '../../web/exchange.ts'
import { goTo } from '../../web/redirect.ts'
import { isLoadedInAdvance } from '../../web/requests/navigation.ts'
import { encodeNamed, queryForm } from '../../web/requests/query.ts'
import { isFromAnotherOrigin } from '../../web/requests/request-origin.ts'
import { postedForm } from '../../web/route.ts'
import { locationFor } from '../authorize/response/redirect.ts'
import { framesOf } from './front-channel.ts'
import { findHint, isOfSession, isOfUser } from './hint.ts'
import {
  askForConfirmation,
  checkForwardedLength,
  CONFIRMED,
  forwardedNames,
  showFrames,
  showSignedOut,
} from './logout-pages.ts'
import type { LogoutRoute } from './routes.ts'
import { createLogoutTargets, isRegistered, mayRedirect, redirectParameterName } from './targets.ts'
import type { LogoutTargets } from './targets.ts'
import type { Params } from '../params.ts'
import { readParams } from '../params.ts'
import { createUpstreamLogout } from '../upstream-logout.ts'
import type { AfterLogout, UpstreamLogout } from '../upstream-logout.ts'
import type { OAuthDeps } from '../deps.ts'

interface LogoutDeps extends OAuthDeps {
  readonly targets: LogoutTargets
  readonly upstream: UpstreamLogout
}

/** Sets the handlers of `/logout.do`. */
export function logoutHandlers(on: On<LogoutRoute>, given: OAuthDeps): void {
  const deps = { ...given, targets: createLogoutTargets(given), upstream: createUpstreamLogout(given) }
  for (const name of ['GET /logout.do', 'POST /logout.do'] as const) {
    on(name, (request, reply) => logout({ request, reply }, deps))
  }
}

async function logout({ request, reply }: Exchange, deps: LogoutDeps): Promise<FastifyReply> {
  const { sessions, denial, csrf, urls, behaviour, upstream, targets } = deps
  // After an error the browser repeats the request when the user actually opens the link.
  if (isLoadedInAdvance(request)) throw new PageError(403, 'This address must not be prefetched.')
  const isPost = request.method === 'POST'
  const form = isPost ? postedForm(request) : queryForm(request)
  const params = readParams(form)
  const returned = upstream.afterReturn(request, reply, params.get('state'))
  if (returned?.target !== undefined) return reply.redirect(returned.target, 302)
  if (returned) return showReturn({ request, reply }, returned.offeredUrl, deps)
  if (params.get(ANSWERED) !== undefined) return afterAnswer({ request, reply }, params, deps)
  const isOwnForm = isPost && params.get(csrf.fieldName) !== undefined
  // Without a session (ended in another tab, or expired) there is nothing to protect.
  const needsCsrfToken = isOwnForm ? (await sessions.signedIn(request)) !== undefined : !behaviour.openLogoutPost
  if (isPost && needsCsrfToken && !(await csrf.isGenuine(request))) {
    return denial.refuseForgery(request, reply)
  }
  if (!behaviour.rpInitiatedLogout) {
    const signedIn = await sessions.signedIn(request)
    const query = behaviour.upstreamReturnByQuery ? await targets.returnQuery(request.zone, params) : undefined
    return endThenGo({ request, reply }, { target: await targets.of(request.zone, params, signedIn), query }, deps)
  }
  if (isPost && !isOwnForm && !sessions.wasSent(request)) {
    // A form on another site is sent without the SameSite cookie. Redirect to GET, with which the browser sends it.
    const query = encodeNamed(form, forwardedNames(request.zone))
    checkForwardedLength(query.length)
    return reply.redirect(`${urls.ofZone(request.zone)}${PATH}?${query}`, 303)
  }
  if (isOwnForm && params.get(CONFIRMED) === undefined) {
    return endThenGo({ request, reply }, { target: targets.fallback(request.zone) }, deps)
  }
  return logoutForClient({ request, reply }, { params, isConfirmed: isOwnForm }, deps)
}

/** Handles a return that this browser does not expect, or without a stored target. Ends no session (row L7). */
async function afterAnswer({ request, reply }: Exchange, params: Params, deps: LogoutDeps): Promise<FastifyReply> {
  const { behaviour, targets } = deps
  if (behaviour.upstreamReturnByQuery) return reply.redirect(await targets.of(request.zone, params, undefined), 302)
  return showReturn({ request, reply }, undefined, deps)
}

/** Shows that the user is signed out, with a link to the offered URL, unless a user has signed in meanwhile. */
async function showReturn(
  { request, reply }: Exchange,
  offeredUrl: string | undefined,
  deps: LogoutDeps,
): Promise<FastifyReply> {
  const { sessions, urls } = deps
  if (await sessions.signedIn(request)) return goTo(reply, '/', urls)
  return showSignedOut({ request, reply }, offeredUrl, deps)
}

const MAX_LOGGED_LENGTH = 500

/** RP-Initiated Logout §2, §3 (rows L2 to L5). */
async function logoutForClient(
  exchange: Exchange,
  { params, isConfirmed }: { readonly params: Params; readonly isConfirmed: boolean },
  deps: LogoutDeps,
): Promise<FastifyReply> {
  const { request } = exchange
  const { sessions, urls, subjects, targets } = deps
  const { zone } = request
  const signedIn = await sessions.signedIn(request)
  const target = params.get('post_logout_redirect_uri')
  const namesClientsTarget = params.get('id_token_hint') !== undefined || target !== undefined
  if (!namesClientsTarget && params.get(redirectParameterName(zone)) !== undefined) {
    // Any site can link here: ask for confirmation unless the link is on our own origin.
    const isForeign = isFromAnotherOrigin(request, urls.addressesOf(zone))
    if (signedIn && !isConfirmed && isForeign) return askForConfirmation(exchange, { params, signedIn }, deps)
    return endThenGo(exchange, { target: await targets.of(zone, params, signedIn) }, deps)
  }
  const hint = await findHint(zone, params, deps)
  if (hint && target !== undefined && !isRegistered(hint.client, target)) {
    const named = JSON.stringify(target.slice(0, MAX_LOGGED_LENGTH))
    deps.log.refusal(`post_logout_redirect_uri ${named} is not registered for the client ${hint.client.clientId}`)
    throw new PageError(400, 'The post_logout_redirect_uri is not registered for this client.', {
      code: 'invalid_request',
    })
  }
  const isTheirs = hint !== undefined && isOfSession(zone, { hint, signedIn }, subjects)
  if (signedIn && !isConfirmed && !isTheirs) return askForConfirmation(exchange, { params, signedIn }, deps)
  if (hint === undefined || target === undefined) return endThenGo(exchange, { target: undefined }, deps)
  const url = withState(target, params.get('state'))
  const redirects = mayRedirect(hint.client, isOfUser(zone, { hint, signedIn }, subjects))
  return endThenGo(exchange, redirects ? { target: url } : { target: undefined, offeredUrl: url }, deps)
}

/** The target with the client's `state` (RP-Initiated Logout §3). */
const withState = (target: string, state: string | undefined): string =>
  state === undefined ? target : locationFor(target, 'query', { state })

/** Ends the session, then redirects to its provider, else to the target or the signed-out page. */
async function endThenGo(exchange: Exchange, afterLogout: AfterLogout, deps: LogoutDeps): Promise<FastifyReply> {
  const { request, reply } = exchange
  const { pages, upstream } = deps
  const frames = await framesOf(request, deps)
  const atProvider = await upstream.end(request, reply, afterLogout)
  const destination = atProvider ?? afterLogout.target
  const offeredUrl = atProvider === undefined ? afterLogout.offeredUrl : undefined // at the return
  if (frames.length > 0) return showFrames(exchange, { frames, destination, offeredUrl }, deps)
  if (destination === undefined) return showSignedOut(exchange, offeredUrl, deps)
  return leadTo(request, reply, { destination, pages })
}
