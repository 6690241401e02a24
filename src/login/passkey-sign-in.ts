// Signing in with a passkey alone: nobody types a name. For accounts of this server; people of directories and providers are
// signed in there, so that whoever is shut out there is shut out here.
import type { FastifyRequest } from 'fastify'
import type { Factors } from '../accounts/factors.ts'
import { withLevel } from '../model/assurance.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit, AuditEvent } from '../model/event.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { isAbout, offersPasskeySignIn, secondFactorPolicy } from '../model/second-factor.ts'
import type { Service } from '../model/service.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/user.ts'
import type { Store } from '../store/store.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Denial } from '../web/denial.ts'
import type { On } from '../web/deferred-routes.ts'
import { EMPTY_FORM } from '../web/form.ts'
import { callerKey } from '../web/limits.ts'
import type { Limits } from '../web/limits.ts'
import { contextOf, originOf } from '../web/request-context.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions } from '../web/session.ts'
import type { SignInDemands } from '../web/sign-in-demands.ts'
import type { FactorPage } from './factor-pages.ts'
import type { Journeys } from './journey.ts'

/** Dependencies of `passkeySignInHandlers`. */
export interface PasskeySignInDeps {
  readonly store: Store
  readonly sessions: Sessions
  readonly signInDemands: SignInDemands
  readonly journeys: Journeys
  readonly denial: Denial
  readonly csrf: Csrf
  readonly limits: Limits
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** `POST /login/passkey/options`, what the script asks the browser, and `POST /login/passkey`, what the browser answered. */
export function passkeySignInHandlers(on: On<FactorPage>, deps: PasskeySignInDeps, { passkeys }: Factors): void {
  const { store, sessions, csrf, urls, service, behaviour } = deps

  const isOffered = ({ zone }: FastifyRequest): boolean =>
    offersPasskeySignIn(secondFactorPolicy(zone, behaviour), service.name)

  /** What the challenge is bound to; undefined for a browser that keeps no cookie. */
  async function ceremonyOf(request: FastifyRequest) {
    const session = await sessions.of(request)
    const browser = csrf.browserOf(request) ?? (session && `session ${session.idDigest}`)
    return browser === undefined
      ? undefined
      : { zoneId: request.zone.id, baseUrl: urls.ofZone(request.zone), browser: `signs in: ${browser}` }
  }

  on('POST /login/passkey/options', async (request, reply) => {
    const at = await ceremonyOf(request)
    if (!isOffered(request)) throw new OAuthError('not_found', 'Passkeys are off.')
    if (!at || !(await csrf.isGenuine(request))) throw new OAuthError('invalid_request', 'Open the sign-in page again.')
    return reply.send(await passkeys.authenticationOptions(at))
  })

  on('POST /login/passkey', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return deps.denial.refuseForgery(request, reply)
    const form = bodyForm(request) ?? EMPTY_FORM
    const journey = await deps.journeys.of(request, form)
    const result = await deps.limits.wrongPasswords.attempt(
      callerKey(contextOf(request), 'passkey'),
      () => authenticate(request, form.get('credential') ?? ''),
      ({ outcome }) => outcome === 'refused',
    )
    if (result.outcome === 'refused') {
      await deps.journeys.keep(request, reply, journey)
      return reply.redirect(`${urls.ofZone(request.zone)}/login?error=${result.message}`, 302)
    }
    const { user, level, amr } = result
    const acr = withLevel(level)
    await sessions.signIn(request, reply, user, { amr: [...amr, 'mfa'], ...(acr && { acr }) })
    const visitor = await sessions.visitor(request)
    const demand = visitor && (await deps.signInDemands.open(request, visitor))
    if (demand) return deps.signInDemands.raise(request, reply, demand, journey.path)
    return reply.redirect(urls.ofZone(request.zone) + (journey.path ?? '/'), 302)
  })

  /** The account of the passkey, if it may sign in this way. */
  async function authenticate(request: FastifyRequest, answer: string) {
    const { zone } = request
    const at = await ceremonyOf(request)
    const proof = at && isOffered(request) ? await passkeys.authenticate(at, { answer }) : undefined
    const failed = (message: string, event?: Omit<AuditEvent, 'zoneId' | 'remoteAddress' | 'userAgent'>) => {
      if (event) deps.audit({ ...event, zoneId: zone.id, ...originOf(request) })
      return { outcome: 'refused', message } as const
    }
    if (proof?.outcome !== 'proved') {
      const principal = proof ? 'passkey' : undefined
      const data = `passkey: ${proof?.reason ?? 'off'}`
      return failed('passkey_refused', principal && { type: 'PrincipalAuthenticationFailure', principal, data })
    }
    const { userId: principal } = proof
    const user = await store.users.findWithGroups(zone.id, principal)
    if (!user || !(await mayEnter(request, user))) {
      return failed('passkey_refused', { type: 'PrincipalAuthenticationFailure', principal, data: 'passkey: account' })
    }
    const facts = { principal, origin: user.origin, authenticationType: service.name, data: 'passkey' }
    if (!user.verified) return failed('account_not_verified', { type: 'UnverifiedUserAuthentication', ...facts })
    for (const type of ['IdentityProviderAuthenticationSuccess', 'UserAuthenticationSuccess'] as const) {
      deps.audit({ type, ...facts, zoneId: zone.id, ...originOf(request) })
    }
    return { ...proof, outcome: 'signed-in', user } as const
  }

  /** Whether an account of this server may sign in by a passkey alone. A lockout does not count: nothing was guessed. */
  async function mayEnter({ zone }: FastifyRequest, user: User): Promise<boolean> {
    const isOwn = user.origin === service.name && isAbout(secondFactorPolicy(zone, behaviour), user)
    return isOwn && user.active && (await store.providers.isActive(zone.id, service.name))
  }
}
