// Signs a person in at another provider: redirects the browser there and handles its return. Decides what the browser must
// prove on return, and which message a failure gets; does not know the provider's protocol. See
// docs/decisions/0014-upstream-sign-in.md.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { openInvitation, takeInvitation } from '../accounts/accept-invitation.ts'
import type { OpenDeps } from '../accounts/accept-invitation.ts'
import { onwardUrl } from '../accounts/onward.ts'
import type { OnwardDeps } from '../accounts/onward.ts'
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { digest } from '../base/secrets.ts'
import type { Identity, RedirectReturn } from '../identity/identity.ts'
import type { AnswerShape } from '../identity/source.ts'
import { allowsProvider } from '../model/client.ts'
import { emailDomains, linkTextOf } from '../model/identity-provider.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { parseLoginHint } from '../model/login-hint.ts'
import type { Urls } from '../model/urls.ts'
import type { AddressedZone } from '../model/request.ts'
import { describedIn, errorPage } from '../pages/error.ts'
import { formPostPage, fragmentPostPage } from '../pages/form-post.ts'
import type { Store } from '../store/store.ts'
import { EMPTY_FORM } from '../web/form.ts'
import type { Form } from '../web/form.ts'
import type { PageWriter } from '../web/pages.ts'
import { queryForm } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions } from '../web/session.ts'
import type { Attempt, Attempts } from './attempts.ts'
import { MAX_PATH_LENGTH } from './attempts.ts'
import { detailOf, failureOf, LOST } from './external-failures.ts'
import type { Failure } from './external-failures.ts'
import type { Journey, Journeys } from './journey.ts'
import { contextOf } from '../web/request-context.ts'

/** Dependencies of sign-in at other providers. */
export interface ExternalDeps extends Omit<OpenDeps, 'store'>, Pick<OnwardDeps, 'settings'> {
  readonly store: Store
  readonly identity: Identity
  readonly sessions: Sessions
  readonly attempts: Attempts
  readonly journeys: Journeys
  readonly pages: PageWriter
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly clock: Clock
  readonly log: { refusal(message: string): void }
}

/** Redirects browsers to other providers. */
export interface ExternalSignIn {
  /** Redirects to the provider; undefined, without answering, if it is unavailable or not allowed for the client. */
  start(
    request: FastifyRequest,
    reply: FastifyReply,
    to: {
      readonly origin: string
      readonly journey: Journey
      readonly userName?: string | undefined
      /** The code of the invitation that the person accepts by signing in. */
      readonly invitation?: string
    },
  ): Promise<FastifyReply | undefined>
}

/** Path of the sign-in page's link to a provider, below the zone's base URL. */
export const externalPath = (origin: string): string => `/login/external/${encodeURIComponent(origin)}`

const callbackUrl = (urls: Urls, zone: AddressedZone, origin: string): string =>
  `${urls.ofZone(zone)}/login/callback/${encodeURIComponent(origin)}`

/** See `ExternalSignIn`. */
export function createExternalSignIn(deps: ExternalDeps): ExternalSignIn {
  const { identity, sessions, attempts, urls, behaviour } = deps
  return {
    async start(request, reply, { origin, journey, userName, invitation }) {
      const { zone } = request
      const { path, saved, client } = journey
      if (client && !allowsProvider(client, origin)) return undefined
      const provider = await deps.store.providers.findByOrigin(zone.id, origin)
      if (!provider?.active || !(await identity.isReady(zone, provider))) return undefined
      const reauthenticate = saved?.reauthenticate ?? false
      const maxAge = reauthenticate ? undefined : saved?.maxAge
      const isLong = path !== undefined && path.length > MAX_PATH_LENGTH
      if (!(await sessions.of(request)) || (isLong && path !== saved?.path)) {
        await sessions.saveInSession(request, reply, {
          path: path ?? '/',
          reauthenticate,
          ...(maxAge !== undefined && { maxAge }),
        })
      }
      const attempt = await attempts.begin(request, reply, {
        origin,
        provider: fingerprint(provider),
        path: isLong ? undefined : path,
        invitation,
        maxAge: reauthenticate ? 0 : maxAge,
      })
      const target = await identity.startRedirect(zone, origin, {
        ...attempt,
        redirectUri: callbackUrl(urls, zone, origin),
        userName,
        reauthenticate,
        ...(behaviour.requestPassedOn && { maxAge, passedOn: passedOn(journey, provider) }),
      })
      return target === undefined ? undefined : reply.redirect(target, 302)
    },
  }
}

/** Settings that decide who is asked, and as whom. */
const ADDRESSES = [
  'issuer',
  'relyingPartyId',
  'authUrl',
  'tokenUrl',
  'tokenKeyUrl',
  'userInfoUrl',
  'discoveryUrl',
  'responseType',
] as const

/** Changes if another provider gets the name of this one, or the record leads elsewhere. */
const fingerprint = ({ id, config }: IdentityProvider): string =>
  digest(JSON.stringify([id, ...ADDRESSES.map(name => config[name])]))

/** Longer values are left out. */
const MAX_PARAMETER_LENGTH = 500

/** What the provider is to know of the client's request (OpenID Connect Core §3.1.2.1). */
function passedOn({ query, hint }: Journey, provider: IdentityProvider): Readonly<Record<string, string>> {
  const { text } = parseLoginHint(hint)
  const namesProvider = text === provider.originKey || emailDomains(provider)?.includes(text ?? '') === true
  const values = {
    login_hint: namesProvider ? undefined : text,
    acr_values: query?.get('acr_values'),
    ui_locales: query?.get('ui_locales'),
  }
  const isGiven = (entry: [string, string | undefined]): entry is [string, string] =>
    entry[1] !== undefined && entry[1] !== '' && entry[1].length <= MAX_PARAMETER_LENGTH
  return Object.fromEntries(Object.entries(values).filter(isGiven))
}

/** Accepted difference to the provider's clock, when it says at what time it authenticated the user. */
const SKEW_SECONDS = 60

/** A posted answer that makes a longer URL, such as a SAML response, is posted once more instead; proxies cut URLs off. */
const MAX_URL_LENGTH = 4000
const POSTED_AGAIN = 'posted_again'

/** For a provider that is gone, so that its answer is refused like any other that nobody waits for. */
const NO_ANSWER: AnswerShape = { state: 'state', fields: [] }

const namesOf = ({ state, fields }: AnswerShape): readonly string[] => [state, ...fields]

/** Whether no field was sent twice (RFC 6749 §3.1). */
const isPlain = (form: Form, shape: AnswerShape): boolean => namesOf(shape).every(name => form.all(name).length <= 1)

/** `GET /login/external/:origin`, and `GET` and `POST /login/callback/:origin` (OpenID Connect Core §3.1.2.5). */
export function externalEndpoints(app: FastifyInstance, deps: ExternalDeps & { external: ExternalSignIn }): void {
  const { store, identity, sessions, attempts, journeys, pages, urls, external, log, behaviour } = deps
  const audience = 'page'

  app.get<{ Params: { origin: string } }>(
    '/login/external/:origin',
    {
      config: { access: { by: 'anyone', because: 'it is a way to where one signs in' }, audience },
      exposeHeadRoute: false, // each request starts a sign-in
    },
    async (request, reply) => {
      const query = queryForm(request)
      const journey = await journeys.of(request, query)
      const { origin } = request.params
      const started = await external.start(request, reply, { origin, journey, userName: query.get('username') })
      return started ?? reply.redirect(`${urls.ofZone(request.zone)}/login?error=idp_not_found`, 302)
    },
  )

  const config = {
    access: { by: 'anyone', because: 'the state proves that this browser was sent to the provider' },
    audience,
  } as const

  app.get<{ Params: { origin: string } }>(
    '/login/callback/:origin',
    { config, exposeHeadRoute: false },
    async (request, reply) => {
      const { origin } = request.params
      const form = queryForm(request)
      const shape = await shapeOf(request, origin)
      if (!shape.hasTokens || namesOf(shape).some(name => form.get(name) !== undefined)) {
        return comeBack(request, reply, origin, form)
      }
      const chrome = await pages.chrome(request, reply)
      const name = chrome.branding.companyName ?? chrome.zoneName
      const action = callbackUrl(urls, request.zone, origin)
      return pages.send(reply, fragmentPostPage(chrome, { name, action, fields: namesOf(shape) }))
    },
  )

  const shapeOf = async ({ zone }: FastifyRequest, origin: string): Promise<AnswerShape> =>
    (await identity.answerShape(zone, origin)) ?? NO_ANSWER

  app.post<{ Params: { origin: string } }>('/login/callback/:origin', { config }, async (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    if (form.get(POSTED_AGAIN) !== undefined) return comeBack(request, reply, request.params.origin, form)
    const shape = await shapeOf(request, request.params.origin)
    const pairs = namesOf(shape).flatMap(name => form.all(name).map((value): [string, string] => [name, value]))
    const target = callbackUrl(urls, request.zone, request.params.origin)
    // A form posted by another site carries no cookies (`SameSite`); redirected to a GET, the browser sends them.
    const url = `${target}?${new URLSearchParams(pairs).toString()}`
    if (!shape.hasTokens && url.length <= MAX_URL_LENGTH) return reply.redirect(url, 303)
    if (!isPlain(form, shape)) return fail(request, reply, LOST)
    // It sends them with a form of our own page too.
    const chrome = await pages.chrome(request, reply)
    const fields = { ...Object.fromEntries(pairs), [POSTED_AGAIN]: 'true' }
    return pages.send(
      reply,
      formPostPage(chrome, { clientName: chrome.branding.companyName ?? chrome.zoneName, action: target, fields }),
    )
  })

  async function comeBack(
    request: FastifyRequest,
    reply: FastifyReply,
    origin: string,
    form: Form,
  ): Promise<FastifyReply> {
    const { zone } = request
    const shape = await shapeOf(request, origin)
    const state = form.get(shape.state)
    const attempt = isPlain(form, shape) && state ? await attempts.take(request, reply, { origin, state }) : undefined
    const provider = await store.providers.findByOrigin(zone.id, origin)
    if (!attempt || !provider || attempt.provider !== fingerprint(provider)) {
      log.refusal(`sign-in at ${JSON.stringify(origin)}: no such attempt`)
      return fail(request, reply, LOST)
    }
    const invitation =
      attempt.invitation === undefined ? undefined : await openInvitation(zone, attempt.invitation, deps)
    if (attempt.invitation !== undefined && invitation?.user.origin !== origin) {
      log.refusal(`sign-in at ${JSON.stringify(origin)}: the invitation is not good any more`)
      return fail(request, reply, LOST)
    }
    const path = invitation ? undefined : (attempt.path ?? (await sessions.savedRequest(request))?.path)
    const result = await identity.finishRedirect(contextOf(request), {
      origin,
      answer: Object.fromEntries(shape.fields.map(name => [name, form.get(name)])),
      attempt: { ...attempt, redirectUri: callbackUrl(urls, zone, origin) },
      client: await journeys.clientOf(zone, path),
      invited: invitation?.user,
      ...recency(attempt),
    })
    if (result.outcome !== 'signed-in') {
      log.refusal(`sign-in at ${JSON.stringify(origin)}: ${detailOf(result)}`)
      return fail(request, reply, failureOf(result, linkTextOf(provider) ?? provider.name))
    }
    // Linking the account has ended its codes; this is for one that was linked before.
    if (attempt.invitation !== undefined) await takeInvitation(zone, attempt.invitation, deps)
    const { amr, acr, authenticatedAt, upstream } = result
    const since = behaviour.upstreamAuthTime ? authenticatedAt : undefined
    await sessions.signIn(request, reply, result.user, {
      amr,
      upstream,
      ...(acr && { acr }),
      ...(since && { authenticatedAt: since }),
    })
    if (invitation) {
      const onward = await onwardUrl(zone, invitation.errand, deps)
      return reply.redirect(onward ?? `${urls.ofZone(zone)}/home`, 302)
    }
    const start = behaviour.externalSignInLeadsToStart ? '/' : '/home'
    const target = path === undefined || path === '/' ? start : path
    return reply.redirect(urls.ofZone(zone) + target, 302)
  }

  /** How recent the sign-in at the provider must be; whoever was asked for `max_age` must say (OpenID Connect Core §2). */
  function recency({ maxAge, beganAt }: Attempt): Pick<RedirectReturn, 'authenticatedSince' | 'mayOmitTime'> {
    if (maxAge === undefined || !behaviour.upstreamAuthTime) return {}
    const from = maxAge === 0 ? new Date(beganAt) : addSeconds(deps.clock.now(), -maxAge)
    return { authenticatedSince: addSeconds(from, -SKEW_SECONDS), mayOmitTime: maxAge === 0 }
  }

  async function fail(request: FastifyRequest, reply: FastifyReply, failure: Failure): Promise<FastifyReply> {
    if (!behaviour.externalFailureInPlace) return reply.redirect(`${urls.ofZone(request.zone)}/oauth_error`, 302)
    // The person may be signed in already if the callback is opened a second time.
    const isSignedIn = (await sessions.visitor(request)) !== undefined
    const chrome = await pages.chrome(request, reply)
    const { basePath } = chrome
    const texts = chrome.texts.error
    const back = isSignedIn
      ? { text: texts.start, url: `${basePath}/` }
      : { text: texts.again, url: `${basePath}/login` }
    const page = errorPage(chrome, {
      ...failure,
      ...describedIn(chrome.texts, failure.description),
      title: texts.titles.signInRefused,
      back,
    })
    return pages.send(reply.status(failure.status), page)
  }
}
