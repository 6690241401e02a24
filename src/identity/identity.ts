// Signs users in: asks the source of the provider, and updates or creates the account. password-providers.ts chooses the
// providers of a password, provider-sources.ts finds all others. Does not know HTTP, sessions or tokens.
import { hasControlCharacter } from '../base/control-characters.ts'
import { loadOnce } from '../base/load-once.ts'
import type { Random } from '../base/random.ts'
import { foreignClasses, mappedLevel, withLevel } from '../model/sessions/assurance.ts'
import type { Client } from '../model/clients/client.ts'
import { allowsProvider } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Destination } from '../model/sessions/destination.ts'
import type { Audit } from '../model/audit/event.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { UpstreamSession } from '../model/sessions/session.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Service } from '../model/service.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import { createAliases } from '../users/aliases.ts'
import { createAccounts } from './accounts.ts'
import { invitedUser } from './invited-user.ts'
import { createMemberships } from './memberships.ts'
import { auditSuccess, createSignInEvents, hashedName } from './sign-in-events.ts'
import { createPasswordProviders } from './password-providers.ts'
import type { NoProvider } from './password-providers.ts'
import { createProviderLogout } from './provider-logout.ts'
import type { NoSuchProvider, ProviderLogout } from './provider-logout.ts'
import { createProviderSources } from './provider-sources.ts'
import type { LoginProvider } from './provider-sources.ts'
import type {
  AnswerShape,
  AssertionReader,
  ExternalUser,
  ExternalRefusal,
  IdentitySourceType,
  PasswordAttempt,
  PasswordRelay,
  Presentation,
  RedirectAnswer,
  RedirectAttempt,
  RedirectRefusal,
  RedirectStart,
  SignInRefusal,
  SignInResult,
  SourceDeps,
} from './source.ts'
import { internalSource } from './sources/internal.ts'
import type { LdapDeps } from './sources/ldap.ts'
import { withBreaker } from './sources/patient-outbound.ts'
import type { OidcDeps } from './sources/oidc.ts'
import type { SamlDeps } from './sources/saml.ts'
import type { AddressedZone, RequestOrigin } from '../model/request.ts'

/** A sign-in with a user name and password. */
export interface PasswordSignIn extends PasswordAttempt {
  /** Limits the providers to those that this client allows. */
  readonly client?: Client | undefined
  /** The only provider to ask, from a login hint. */
  readonly origin?: string | undefined
  /** Reads further form fields; present where the password may be sent to a provider (`passwordGrantEnabled`). */
  readonly field?: (name: string) => string | undefined
  /** The account that the user was invited to, which is the only one that they may be signed in to; of this origin. */
  readonly invited?: User | undefined
}

/** An assertion about a user, signed by another issuer and presented by a client. */
interface AssertionSignIn {
  readonly assertion: string
  /** The type of provider that issues this kind of assertion. */
  readonly type: string
  readonly client: Client
  /** The absolute URL of the endpoint that it was presented at. */
  readonly recipient: string
}

/** The result of an assertion; `unreadable`: it names no issuer; `no-provider`: that of none or of several providers. */
export type AssertionResult =
  | {
      readonly outcome: 'signed-in'
      readonly user: User
      readonly amr: readonly string[]
      readonly acr?: readonly string[]
      readonly authenticatedAt?: Date
    }
  | { readonly outcome: 'unreadable' }
  | NoSuchProvider
  | { readonly outcome: 'provider-barred' }
  | ExternalRefusal

/** The return of the browser from a provider. */
export interface RedirectReturn {
  readonly origin: string
  readonly answer: RedirectAnswer
  /** Without secrets for an unsolicited response. */
  readonly attempt: RedirectAttempt | (Pick<RedirectAttempt, 'redirectUri'> & { readonly nonce?: never })
  /** The client that the user signs in for, which must allow the provider. */
  readonly client?: Client | undefined
  /** The user must have signed in at the provider since; absent where any time will do. */
  readonly authenticatedSince?: Date | undefined
  /** Whether a provider that does not say when is believed to have done so. */
  readonly mayOmitTime?: boolean
  /** The account that the user was invited to, which is the only one that they may be signed in to. */
  readonly invited?: User | undefined
}

/** The result of a redirect sign-in; `no-provider`: it is gone, or the client does not allow it, unless `detail` says more. */
export type RedirectResult =
  | (Extract<AssertionResult, { outcome: 'signed-in' }> & { readonly upstream?: UpstreamSession | undefined })
  | (NoSuchProvider & { readonly detail?: string })
  | RedirectRefusal

/** Signs users in. */
export interface Identity extends ProviderLogout {
  /** Tries the providers that take passwords, in the zone's order; `no-provider`: none was tried. */
  signInWithPassword(
    from: RequestOrigin,
    signIn: PasswordSignIn,
  ): Promise<SignInResult | { outcome: 'no-provider'; reason: NoProvider }>
  /** Verifies the assertion with the one active provider of its issuer, and updates or creates the user's account. */
  signInWithAssertion(from: RequestOrigin, signIn: AssertionSignIn): Promise<AssertionResult>
  /** The active providers of the zone that sign users in on a page, whatever clients allow. */
  loginProviders(zone: Zone): Promise<readonly LoginProvider[]>
  /** Whether the provider's settings for a redirect are known; may fetch its discovery document. */
  isReady(zone: Zone, provider: IdentityProvider): Promise<boolean>
  /** Whether a page shows the provider; does not wait for the discovery document. */
  isOffered(zone: Zone, provider: IdentityProvider): Promise<boolean>
  /** The sign-in at the provider; undefined if the provider cannot be used now. */
  startRedirect(zone: AddressedZone, origin: string, start: RedirectStart): Promise<Destination | undefined>
  /** How the provider answers; undefined for one without redirects. */
  answersOf(
    zone: Zone,
    origin: string,
  ): Promise<{ readonly shape: AnswerShape; readonly path: string | undefined } | undefined>
  /** The issuer that a message of this type names, unverified. */
  claimedIssuer(type: string, message: string): Promise<string | undefined>
  /** One word for why a message of this type names no issuer, for the audit trail. */
  problemIn(type: string, message: string): Promise<string | undefined>
  /** The origin of the one active provider of this type with this issuer. */
  originOf(zone: Zone, type: string, issuer: string): Promise<string | undefined>
  /** Completes a redirect sign-in and returns the user's account. */
  finishRedirect(from: RequestOrigin, end: RedirectReturn): Promise<RedirectResult>
}

/** Dependencies of `createIdentity`. */
interface IdentityDeps extends SourceDeps, OidcDeps, LdapDeps, SamlDeps {
  readonly random: Random
  readonly audit: Audit
  readonly behaviour: Behaviour
  readonly service: Service
  readonly settings: Pick<TokenSettings, 'aliasEntities'>
}

/** A new provider type is one file and one entry in `types`. */
export function createIdentity(given: IdentityDeps): Identity {
  const deps = { ...given, outbound: withBreaker(given.outbound, given) }
  const internal = internalSource(deps.service.name)
  // The others are loaded with the first provider of their type: most servers have none.
  const types: Readonly<Record<string, () => Promise<IdentitySourceType>>> = {
    [internal.type]: () => Promise.resolve(internal),
    ldap: loadOnce(async () => (await import('./sources/ldap.ts')).ldapSource(deps)),
    'oidc1.0': loadOnce(async () => (await import('./sources/oidc.ts')).oidcSource(deps)),
    'oauth2.0': loadOnce(async () => (await import('./sources/oauth2.ts')).oauth2Source(deps)),
    saml: loadOnce(async () => (await import('./sources/saml.ts')).samlSource(deps)),
  }
  const { audit, clock, store, behaviour } = deps
  const serviceName = deps.service.name
  const sources = createProviderSources(types, deps)
  const { open, redirectOf, claimedIssuer, providerOf, isUnchanged } = sources
  const chooseProviders = createPasswordProviders({ store, open, serviceName })
  const aliases = createAliases(deps)
  const accounts = createAccounts({ ...deps, aliases })
  const memberships = createMemberships(deps)
  const { factsOf, report } = createSignInEvents(deps)

  /** Has the provider check the password, and updates or creates the account of the user it returns. */
  async function checkUpstream(
    from: RequestOrigin,
    provider: IdentityProvider,
    { relay, signIn }: { relay: PasswordRelay; signIn: PasswordSignIn },
  ): Promise<SignInResult> {
    const { zone } = from
    const { userName, password, field = () => undefined, opensSession = false } = signIn
    const checked = await relay.check(from, { userName, password, field })
    const result =
      checked.outcome === 'genuine' ? await enter(zone, provider, checked.externalUser, signIn.invited) : checked
    if (result.outcome === 'signed-in') {
      if (opensSession) return result
      if (await lacksSecondFactor(zone, result)) {
        return { outcome: 'refused', reason: 'second-factor-required', userId: result.user.id }
      }
      await store.users.recordLogon(zone.id, result.user.id, clock.now())
      return result
    }
    if (result.outcome !== 'refused') return { outcome: 'refused', reason: 'refused-upstream', description: NOT_ASKED }
    return { outcome: 'refused', reason: REFUSALS[result.reason], description: result.description }
  }

  async function enterByAssertion(
    zone: Zone,
    provider: IdentityProvider,
    { source, assertion, at }: { source: AssertionReader; assertion: string; at: Presentation },
  ): Promise<Extract<AssertionResult, { outcome: 'signed-in' | 'refused' }>> {
    const reading = await source.read(assertion, at)
    if (reading.outcome === 'refused') return reading
    const entered = await enter(zone, provider, reading.externalUser)
    if (entered.outcome === 'refused') return entered
    if (await lacksSecondFactor(zone, entered)) return SECOND_FACTOR_OUTSTANDING
    await store.users.recordLogon(zone.id, entered.user.id, clock.now())
    return entered
  }

  /** Whether the sign-in of a provider's user lacks a second factor. Before the logon is recorded, which would clear guesses. */
  const lacksSecondFactor = async (
    zone: Zone,
    { user, acr }: { readonly user: User; readonly acr?: readonly string[] },
  ): Promise<boolean> => (await deps.findOutstandingDemand(zone, user, { acr }))?.name === 'second-factor'

  /** Updates or creates the account with its memberships. Does not record the logon: a browser session does that itself. */
  async function enter(
    zone: Zone,
    provider: IdentityProvider,
    externalUser: ExternalUser,
    invited?: User,
  ): Promise<Extract<AssertionResult, { outcome: 'signed-in' | 'refused' }>> {
    if (!(await isUnchanged(provider))) return CHANGED
    const resolved = externalUser.groups && (await memberships.resolve(zone, provider, externalUser.groups))
    if (resolved && 'outcome' in resolved) return resolved
    const roles = resolved && { roles: resolved.roles }
    const entry = invited
      ? await accounts.enterInvited(
          zone,
          provider,
          { ...invitedUser(provider, externalUser, invited), ...roles },
          invited,
        )
      : await accounts.enter(zone, provider, { ...externalUser, ...roles })
    if (entry.outcome === 'refused') return entry
    if (resolved) await memberships.apply(zone, entry.user, resolved)
    const { amr, acr: named = [], authenticatedAt } = externalUser
    const acr = withLevel(mappedLevel(named, provider.config['acrMapping']), foreignClasses(named))
    return {
      outcome: 'signed-in',
      user: entry.user,
      amr,
      ...(acr && { acr }),
      ...(authenticatedAt && { authenticatedAt }),
    }
  }

  /** Whether the next provider is asked. UAA: sends it a wrong password of an account here, too. */
  const goesOn = ({ reason, userId }: Extract<SignInResult, { outcome: 'refused' }>): boolean =>
    reason === 'bad-credentials' && (userId === undefined || !behaviour.directoryForUnknownNames)

  /** Hides lockouts from callers: one would reveal that the account exists, and when to resume guessing. */
  const withoutLockout = (result: SignInResult): SignInResult =>
    behaviour.hideLockout && result.outcome === 'refused' && result.reason === 'account-locked'
      ? { ...result, reason: 'bad-credentials' }
      : result

  return {
    loginProviders: sources.loginProviders,
    isReady: async (zone, provider) => (await (await open(zone, provider)).redirect?.isReady()) === true,
    isOffered: async (zone, provider) => (await open(zone, provider)).redirect?.isOffered() === true,
    startRedirect: async (zone, origin, start) => (await redirectOf(zone, origin))?.redirect.start(start, zone),
    ...createProviderLogout({ store, ...sources }),
    claimedIssuer,
    problemIn: sources.problemIn,
    originOf: async (zone, type, issuer) => (await providerOf(zone, type, issuer))?.provider.originKey,
    async answersOf(zone, origin) {
      const found = await redirectOf(zone, origin)
      return found && { shape: found.redirect.answer, path: found.redirect.callbackPath }
    },
    async finishRedirect(from, { origin, answer, attempt, client, invited, ...demand }) {
      const { zone } = from
      const found = await redirectOf(zone, origin)
      // Before redeeming the code: a user who may not use the client must not get an account.
      if (!found || (client && !allowsProvider(client, origin))) return { outcome: 'no-provider' }
      const { provider, redirect } = found
      const finished =
        attempt.nonce === undefined
          ? await redirect.unsolicited?.(answer, attempt, zone)
          : await redirect.finish(answer, attempt, zone)
      if (!finished) return { outcome: 'no-provider', detail: UNASKED }
      const ended = finished.outcome === 'genuine' && !isRecent(finished.externalUser, demand) ? NOT_AGAIN : finished
      const result = ended.outcome === 'genuine' ? await enter(zone, provider, ended.externalUser, invited) : ended
      const facts = factsOf(provider, from, client)
      if (result.outcome === 'signed-in') {
        auditSuccess(audit, { principal: result.user.id, ...facts })
        return { ...result, ...(ended.outcome === 'genuine' && { upstream: ended.upstream }) }
      }
      const principal = hashedName(
        ended.outcome === 'genuine' ? ended.externalUser.userName : (attempt.nonce ?? origin),
      )
      audit({ type: 'IdentityProviderAuthenticationFailure', principal, ...facts, ...reasonOf(result) })
      return result
    },
    async signInWithAssertion(from, { assertion, type, client, recipient }) {
      const { zone } = from
      const issuer = await claimedIssuer(type, assertion)
      if (issuer === undefined) return { outcome: 'unreadable' }
      const found = await providerOf(zone, type, issuer)
      if (!found?.source.assertion) return { outcome: 'no-provider' }
      const { provider } = found
      const source = found.source.assertion
      // Before reading anything: a user who may not use the client must not get an account.
      if (!allowsProvider(client, provider.originKey)) return { outcome: 'provider-barred' }
      const result = await enterByAssertion(zone, provider, { source, assertion, at: { zone, recipient } })
      const facts = factsOf(provider, from, client)
      if (result.outcome === 'refused') {
        // Its subject is unverified or has no account; the hash shows repeated attempts with the same assertion.
        const principal = hashedName(assertion)
        audit({ type: 'IdentityProviderAuthenticationFailure', principal, ...facts, ...reasonOf(result) })
        return result
      }
      auditSuccess(audit, { principal: result.user.id, ...facts })
      return result
    },
    async signInWithPassword(from, signIn) {
      const { zone } = from
      const choice = await chooseProviders(zone, signIn)
      if ('reason' in choice) return { outcome: 'no-provider', reason: choice.reason }
      let result: SignInResult = { outcome: 'refused', reason: 'provider-disabled' } // if there are no providers
      for (const provider of choice.providers) {
        const { password, relay } = await open(zone, provider)
        // Never send control characters to another server.
        if (provider.type !== serviceName && hasControlCharacter(signIn.userName)) result = BAD_CREDENTIALS
        else if (password) result = await password.check(from, signIn)
        else if (relay) result = await checkUpstream(from, provider, { relay, signIn })
        else continue
        report(provider, { from, signIn }, result)
        if (result.outcome === 'signed-in' || !goesOn(result)) return withoutLockout(result)
      }
      return result
    },
  }
}

const REFUSALS = {
  untrusted: 'refused-upstream',
  unusable: 'refused-upstream',
  'not-precreated': 'account-not-precreated',
  'not-invited': 'not-invited',
  'second-factor-required': 'second-factor-required',
} as const satisfies Record<ExternalRefusal['reason'], SignInRefusal>

const SECOND_FACTOR_OUTSTANDING: ExternalRefusal = {
  outcome: 'refused',
  reason: 'second-factor-required',
  description: 'A second factor is required.',
  audit: 'second-factor',
}

const CHANGED: ExternalRefusal = {
  outcome: 'refused',
  reason: 'untrusted',
  description: 'The record of the provider was changed or deleted during the sign-in.',
}

const NOT_ASKED = 'The identity provider could not be asked.'

const BAD_CREDENTIALS: SignInResult = { outcome: 'refused', reason: 'bad-credentials' }

/** For the log; the code is that of the audit event, which the receiver of the response reports. */
const UNASKED =
  'in-response-to: it answers no request, and the record does not allow sign-ins that begin at the provider (allowIdpInitiated)'

const NOT_AGAIN: RedirectRefusal = {
  outcome: 'refused',
  reason: 'unusable',
  description: 'Your provider did not ask you to sign in again, which the application requires.',
}

/** The reason of a refusal in the audit trail. */
const reasonOf = (result: RedirectResult): { readonly data?: string } =>
  'audit' in result && result.audit !== undefined ? { data: result.audit } : {}

/** OpenID Connect Core §3.1.2.1 and §3.1.3.7. */
function isRecent(
  { authenticatedAt }: ExternalUser,
  { authenticatedSince, mayOmitTime }: Pick<RedirectReturn, 'authenticatedSince' | 'mayOmitTime'>,
): boolean {
  if (!authenticatedSince) return true
  return authenticatedAt ? authenticatedAt >= authenticatedSince : mayOmitTime === true
}
