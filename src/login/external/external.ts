// Signs a user in at another provider: redirects the browser there, and receives the response. Its checks are in
// returns.ts; does not know the provider's protocol. See docs/decisions/0014-upstream-sign-in.md.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { allowsProvider } from '../../model/clients/client.ts'
import { classesFor } from '../../model/sessions/assurance.ts'
import { emailDomains } from '../../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { levelsAsked } from '../../model/sessions/step-up.ts'
import { parseLoginHint } from '../../model/sessions/login-hint.ts'
import { supportsLevels } from '../../model/users/second-factor.ts'
import { formPostPage, fragmentPostPage } from '../../pages/form-post.ts'
import { siteName } from '../../pages/parts/layout.ts'
import { leadTo } from '../../web/destination.ts'
import { goTo } from '../../web/redirect.ts'
import { queryForm } from '../../web/requests/query.ts'
import { postedForm } from '../../web/route.ts'
import { LOST } from './external-failures.ts'
import type { SignInTarget } from '../sign-in/sign-in-target.ts'
import { callbackPath, fingerprint, isPlain, namesOf } from './returns.ts'
import type { ExternalDeps, Returns } from './returns.ts'

/** Redirects browsers to other providers. */
export interface ExternalSignIn {
  /**
   * Redirects to the provider; false, without answering, if it is unavailable or not allowed for the client. A promise of the
   * reply would become undefined: awaiting a reply waits for its end, and yields nothing.
   */
  start(
    request: FastifyRequest,
    reply: FastifyReply,
    to: {
      readonly origin: string
      readonly signInTarget: SignInTarget
      readonly userName?: string | undefined
      /** The code of the invitation that the user accepts by signing in. */
      readonly invitation?: string
    },
  ): Promise<boolean>
}

/** Path of the sign-in page's link to a provider, below the zone's base URL. */
export const externalPath = (origin: string): string => `/login/external/${encodeURIComponent(origin)}`

/** See `ExternalSignIn`. */
export function createExternalSignIn(deps: ExternalDeps): ExternalSignIn {
  const { identity, sessions, attempts, urls, behaviour } = deps
  return {
    async start(request, reply, { origin, signInTarget, userName, invitation }) {
      const { zone } = request
      const { path, saved, client } = signInTarget
      if (client && !allowsProvider(client, origin)) return false
      const provider = await deps.store.providers.findByOrigin(zone.id, origin)
      if (!provider?.active || !(await identity.isReady(zone, provider))) return false
      const reauthenticate = saved?.reauthenticate ?? false
      const maxAge = reauthenticate ? undefined : saved?.maxAge
      if (!(await sessions.of(request))) {
        await sessions.saveInSession(request, reply, {
          path: path ?? '/',
          reauthenticate,
          ...(maxAge !== undefined && { maxAge }),
        })
      }
      const callback = (await identity.answersOf(zone, origin))?.path ?? callbackPath(origin)
      const attempt = await attempts.begin(request, reply, {
        origin,
        callback,
        provider: fingerprint(provider),
        path,
        invitation,
        maxAge: reauthenticate ? 0 : maxAge,
        hasMaxAge: saved?.maxAge !== undefined,
      })
      const target = await identity.startRedirect(zone, origin, {
        ...attempt,
        redirectUri: urls.ofZone(zone) + callback,
        userName,
        reauthenticate,
        ...(behaviour.requestPassedOn && {
          maxAge,
          passedOn: passedOn(signInTarget, provider, supportsLevels(zone, behaviour)),
        }),
      })
      if (target === undefined) return false
      await leadTo(request, reply, { destination: target, pages: deps.pages })
      return true
    },
  }
}

/** Longer values are omitted. */
const MAX_PARAMETER_LENGTH = 500

/** Maps our levels to the provider's classes that reach them; other values are passed on unchanged. */
const inWordsOf = ({ config }: IdentityProvider, acrValues: string): string =>
  [...new Set(acrValues.split(' ').flatMap(word => classesFor(word, config['acrMapping'])))].join(' ')

/** The parameters of the client's request that are passed to the provider (OpenID Connect Core §3.1.2.1). */
function passedOn(
  { query, hint, client }: SignInTarget,
  provider: IdentityProvider,
  hasLevels: boolean,
): Readonly<Record<string, string>> {
  const { text } = parseLoginHint(hint)
  const namesProvider = text === provider.originKey || emailDomains(provider)?.includes(text ?? '') === true
  const acrValues = query && levelsAsked(query.get('acr_values'), client)
  const values = {
    login_hint: namesProvider ? undefined : text,
    acr_values: hasLevels ? inWordsOf(provider, acrValues ?? '') : acrValues,
    ui_locales: query?.get('ui_locales'),
  }
  const isGiven = (entry: [string, string | undefined]): entry is [string, string] =>
    entry[1] !== undefined && entry[1] !== '' && entry[1].length <= MAX_PARAMETER_LENGTH
  return Object.fromEntries(Object.entries(values).filter(isGiven))
}

/** A posted response that would make a longer URL, such as a SAML response, is posted again instead; proxies limit URLs. */
const MAX_URL_LENGTH = 4000
const POSTED_AGAIN = 'posted_again'

/** What UAA shows after a failure. */
const RETURN = { failurePath: '/oauth_error' } as const

/** `GET /login/external/:origin`, and `GET` and `POST /login/callback/:origin` (OpenID Connect Core §3.1.2.5). */
export function externalEndpoints(
  app: FastifyInstance,
  deps: ExternalDeps & { readonly external: ExternalSignIn; readonly returns: Returns },
): void {
  const { signInTargets, pages, urls, external, returns } = deps
  const audience = 'page'

  app.get<{ Params: { origin: string } }>(
    '/login/external/:origin',
    {
      config: { access: { by: 'anyone', because: 'it starts a sign-in' }, audience },
      exposeHeadRoute: false, // each request starts a sign-in
    },
    async (request, reply) => {
      const query = queryForm(request)
      const signInTarget = await signInTargets.of(request, query)
      const { origin } = request.params
      const started = await external.start(request, reply, { origin, signInTarget, userName: query.get('username') })
      return started ? reply : goTo(reply, '/login?error=idp_not_found', urls)
    },
  )

  const config = {
    access: { by: 'anyone', because: 'the state proves that this browser was sent to the provider' },
    antiForgery: { by: 'nobody', because: 'providers post to it' },
    audience,
  } as const

  app.get<{ Params: { origin: string } }>(
    '/login/callback/:origin',
    { config, exposeHeadRoute: false },
    async (request, reply) => {
      const { origin } = request.params
      const form = queryForm(request)
      const shape = await returns.shapeOf(request.zone, origin)
      if (!shape.hasTokens || namesOf(shape).some(name => form.get(name) !== undefined)) {
        return returns.finishAttempt(request, reply, { origin, form, ...RETURN })
      }
      const chrome = await pages.chrome(request, reply)
      const name = siteName(chrome)
      const action = urls.ofZone(request.zone) + callbackPath(origin)
      return pages.send(reply, fragmentPostPage(chrome, { name, action, fields: namesOf(shape) }))
    },
  )

  app.post<{ Params: { origin: string } }>('/login/callback/:origin', { config }, async (request, reply) => {
    const form = postedForm(request)
    if (form.get(POSTED_AGAIN) !== undefined) {
      return returns.finishAttempt(request, reply, { origin: request.params.origin, form, ...RETURN })
    }
    const shape = await returns.shapeOf(request.zone, request.params.origin)
    const pairs = namesOf(shape).flatMap(name => form.all(name).map((value): [string, string] => [name, value]))
    const target = urls.ofZone(request.zone) + callbackPath(request.params.origin)
    // A form posted by another site carries no cookies (`SameSite`); redirected to a GET, the browser sends them.
    const url = `${target}?${new URLSearchParams(pairs).toString()}`
    if (!shape.hasTokens && url.length <= MAX_URL_LENGTH) return reply.redirect(url, 303)
    if (!isPlain(form, shape)) return returns.fail(request, reply, { failure: LOST, ...RETURN })
    // The browser sends them with a form of our own page, too.
    const chrome = await pages.chrome(request, reply)
    const fields = { ...Object.fromEntries(pairs), [POSTED_AGAIN]: 'true' }
    return pages.send(reply, formPostPage(chrome, { clientName: siteName(chrome), action: target, fields }))
  })
}
