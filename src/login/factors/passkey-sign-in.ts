// Signs in with a passkey alone, without a user name. For accounts of this server; users of directories and providers
// sign in there, so that users who are blocked there are blocked here.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { readAnswer } from '../../factors/browser-answer.ts'
import { withLevel } from '../../model/sessions/assurance.ts'
import type { Client } from '../../model/clients/client.ts'
import type { AuditEvent } from '../../model/audit/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { offersPasskeySignIn, secondFactorPolicy } from '../../model/users/second-factor.ts'
import { offerAccountChoice } from '../../web/account-choice.ts'
import { turnedOff } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { contextOf, originOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import type { FactorPage } from './factor-pages.ts'
import type { SignInTarget } from '../sign-in/sign-in-target.ts'
import type { LoginDeps } from '../deps.ts'
import { addSeconds } from '../../base/clock.ts'
import { allowsProvider } from '../../model/clients/client.ts'
import type { User } from '../../model/users/user.ts'
import { lockedUntil, lockoutPolicy } from '../../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { Zone } from '../../model/zones/zone.ts'

/** `POST /login/passkey/options`, the options for the browser, and `POST /login/passkey`, its response. */
export function passkeySignInHandlers(on: On<FactorPage>, deps: LoginDeps, { passkeys }: Factors): void {
  const { store, sessions, csrf, urls, service, behaviour } = deps
  const findAccount = createPasskeyAccounts(deps)

  /** Refuses where the zone has no passkeys. */
  function checkIsOffered({ zone }: FastifyRequest): void {
    if (offersPasskeySignIn(secondFactorPolicy(zone, behaviour), service.name)) return
    throw turnedOff()
  }

  /** What the challenge is bound to; undefined for a browser without cookies. */
  async function ceremonyOf(request: FastifyRequest) {
    const session = await sessions.of(request)
    const browser = csrf.browserOf(request) ?? (session && `session ${session.idDigest}`)
    return browser === undefined
      ? undefined
      : { zoneId: request.zone.id, baseUrl: urls.ofZone(request.zone), browser: `signs in: ${browser}` }
  }

  on('POST /login/passkey/options', async (request, reply) => {
    checkIsOffered(request)
    const at = await ceremonyOf(request)
    if (!at || !(await csrf.isGenuine(request))) throw new OAuthError('invalid_request', 'Open the sign-in page again.')
    return reply.send(await passkeys.authenticationOptions(at))
  })

  on('POST /login/passkey', async (request, reply) => {
    checkIsOffered(request)
    const form = postedForm(request)
    const signInTarget = await deps.signInTargets.of(request, form)
    if (!(await csrf.isGenuine(request))) return refuseForm(request, reply, { form, signInTarget })
    const result = await deps.limits.wrongPasswords.attempt(
      callerKey(contextOf(request), 'passkey'),
      () => authenticate(request, reply, { answer: form.get('credential') ?? '', client: signInTarget.client }),
      ({ outcome }) => outcome === 'refused',
    )
    if (result.outcome !== 'signed-in') {
      await deps.signInTargets.keep(request, reply, signInTarget)
      return goTo(reply, `/login?error=${result.message}`, urls)
    }
    const { user, level, amr } = result
    const acr = withLevel(level)
    await sessions.signIn(request, reply, user, { amr: [...amr, 'mfa'], ...(acr && { acr }) })
    const signedIn = await sessions.signedIn(request)
    const demand = signedIn && (await deps.signInDemands.open(request, signedIn))
    if (demand) return deps.signInDemands.raise(request, reply, demand, signInTarget.path)
    return goTo(reply, signInTarget.path ?? '/', urls)
  })

  /**
   * Shows an expired page again, with its target. One of a user who has signed in meanwhile, in another tab, continues, as that of
   * a password does; such a page gets no options, so that it usually sends no passkey.
   */
  async function refuseForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { form, signInTarget }: { readonly form: Form; readonly signInTarget: SignInTarget },
  ): Promise<FastifyReply> {
    const { denial, signInTargets } = deps
    const signedIn = await sessions.signedIn(request)
    if (!signedIn) {
      if (behaviour.staleFormShownAgain && csrf.isStale(request)) await signInTargets.keep(request, reply, signInTarget)
      return denial.refuseForgery(request, reply)
    }
    const isOlder = behaviour.staleFormShownAgain && csrf.isFromBeforeSignIn(request)
    if (!isOlder) return denial.refuseForgery(request, reply)
    const answer = form.get('credential') ?? ''
    const passkey = await store.factors.findPasskey(request.zone.id, readAnswer(answer, [])?.id ?? '')
    const { path = '/' } = signInTarget
    const { user } = signedIn
    if (answer !== '' && passkey?.userId !== user.id) {
      return offerAccountChoice({ request, reply: reply.status(403) }, { user, path }, deps)
    }
    return goTo(reply, path, urls)
  }

  /** The account of the passkey, if it may sign in this way, for this client. */
  async function authenticate(
    request: FastifyRequest,
    reply: FastifyReply,
    { answer, client }: { readonly answer: string; readonly client: Client | undefined },
  ) {
    const { zone } = request
    const shared = { zoneId: zone.id, ...originOf(request), ...(client && { clientId: client.clientId }) }
    const refuse = (message: string, event: Pick<AuditEvent, 'type' | 'principal' | 'data'>) => {
      deps.audit({ ...event, ...shared })
      return { outcome: 'refused', message } as const
    }
    const type = 'PrincipalAuthenticationFailure'
    const at = await ceremonyOf(request)
    const proof = at && (await passkeys.authenticate(at, { answer }))
    if (proof?.outcome !== 'proved') {
      if (proof?.reason === 'expired') return { outcome: 'expired', message: 'passkey_refused' } as const
      const reason = proof?.reason ?? 'no cookie'
      const ownerId = proof?.userId
      // Otherwise a remembered browser would not ask for the step that this passkey has to be.
      if (ownerId !== undefined) deps.remembered.forget(request, reply, { id: ownerId })
      const message = ownerId === undefined ? 'passkey_refused' : 'passkey_needs_password'
      return refuse(message, { type, principal: 'passkey', data: `passkey: ${reason}` })
    }
    const { userId: principal } = proof
    const found = await findAccount(zone, principal, client)
    if ('problem' in found) return refuse(found.problem, { type, principal, data: found.data })
    const { user, provider } = found
    const facts = { principal, origin: user.origin, authenticationType: provider.type, data: 'passkey' }
    if (!user.verified) return refuse('account_not_verified', { type: 'UnverifiedUserAuthentication', ...facts })
    for (const success of ['IdentityProviderAuthenticationSuccess', 'UserAuthenticationSuccess'] as const) {
      deps.audit({ type: success, ...facts, ...shared })
    }
    return { ...proof, outcome: 'signed-in', user } as const
  }
}

/** An account with its provider, or the code of the message and the data of the event if it may not sign in. */
type FoundAccount =
  | { readonly user: User; readonly provider: IdentityProvider }
  | { readonly problem: string; readonly data: string }

/** Finds the account of a proven passkey, if it may sign in to this client. One instance serves every zone. */
function createPasskeyAccounts({ store, clock, service, behaviour }: LoginDeps) {
  /** A locked account is locked for every sign-in method, as administrators expect. */
  async function isLocked({ zoneId, id }: User, provider: IdentityProvider): Promise<boolean> {
    const policy = lockoutPolicy(provider)
    const now = clock.now()
    const failures = await store.events.failures(zoneId, id, addSeconds(now, -policy.countFailuresWithin))
    return lockedUntil(policy, failures, now) !== undefined
  }

  return async ({ id: zoneId }: Zone, userId: string, client: Client | undefined): Promise<FoundAccount> => {
    const user = await store.users.findWithGroups(zoneId, userId)
    const provider = await store.providers.findByOrigin(zoneId, service.name)
    if (user?.origin !== service.name || !user.active || provider?.active !== true) {
      return { problem: 'passkey_refused', data: 'passkey: account' }
    }
    if (client && !allowsProvider(client, service.name)) return { problem: 'passkey_refused', data: 'passkey: client' }
    if (!(await isLocked(user, provider))) return { user, provider }
    return { problem: behaviour.hideLockout ? 'passkey_refused' : 'account_locked', data: 'the account is locked' }
  }
}
