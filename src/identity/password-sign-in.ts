// Signs a user in by user name and password: asks the providers of the zone in turn.
import { hasControlCharacter } from '../base/text/control-characters.ts'
import type { Clock } from '../base/clock.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Client } from '../model/clients/client.ts'
import type { RequestOrigin } from '../model/request.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Store } from '../store/store.ts'
import type { AccountEntry } from './account-entry.ts'
import { createPasswordProviders } from './password-providers.ts'
import type { NoProvider } from './password-providers.ts'
import type { ProviderSources } from './provider-sources.ts'
import type { SignInEvents } from './sign-in-events.ts'
import type {
  ExternalRefusal,
  PasswordAttempt,
  PasswordRelay,
  RefusedSignIn,
  SignInRefusal,
  SignInResult,
} from './source.ts'

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

/** Tries the providers that take passwords, in the zone's order; `no-provider`: none was tried. */
export type SignInWithPassword = (
  from: RequestOrigin,
  signIn: PasswordSignIn,
) => Promise<SignInResult | { readonly outcome: 'no-provider'; readonly reason: NoProvider }>

interface PasswordSignInDeps {
  readonly store: Store
  readonly clock: Clock
  readonly service: Service
  readonly behaviour: Behaviour
  readonly sources: ProviderSources
  readonly entry: AccountEntry
  readonly events: SignInEvents
}

/** One instance serves every zone. */
export function createPasswordSignIn(deps: PasswordSignInDeps): SignInWithPassword {
  const { store, service, behaviour, events } = deps
  const { open } = deps.sources
  const chooseProviders = createPasswordProviders({ store, open, serviceName: service.name })
  return async (from, signIn) => {
    const { zone } = from
    const choice = await chooseProviders(zone, signIn)
    if ('reason' in choice) return { outcome: 'no-provider', reason: choice.reason }
    let result: SignInResult = { outcome: 'refused', reason: 'provider-disabled' } // if there are no providers
    for (const provider of choice.providers) {
      const { password, relay } = await open(zone, provider)
      // Never send control characters to another server.
      if (provider.type !== service.name && hasControlCharacter(signIn.userName)) result = BAD_CREDENTIALS
      else if (password) result = await password.check(from, signIn)
      else if (relay) result = await checkUpstream(from, { provider, relay, signIn }, deps)
      else continue
      events.report(provider, { from, signIn }, result)
      if (result.outcome === 'signed-in' || !mayTryNext(result, behaviour)) return withoutLockout(result, behaviour)
    }
    return result
  }
}

/** Lets the provider check the password, and updates or creates the account of the returned user. */
async function checkUpstream(
  from: RequestOrigin,
  {
    provider,
    relay,
    signIn,
  }: { readonly provider: IdentityProvider; readonly relay: PasswordRelay; readonly signIn: PasswordSignIn },
  { store, clock, entry }: PasswordSignInDeps,
): Promise<SignInResult> {
  const { zone } = from
  const { userName, password, field = () => undefined, opensSession = false, invited } = signIn
  const checked = await relay.check(from, { userName, password, field })
  const result =
    checked.outcome === 'genuine'
      ? await entry.enter(zone, provider, { externalUser: checked.externalUser, invited })
      : checked
  if (result.outcome === 'signed-in') {
    if (opensSession) return result
    if (await entry.lacksSecondFactor(zone, result)) {
      return { outcome: 'refused', reason: 'second-factor-required', userId: result.user.id }
    }
    await store.users.recordLogon(zone.id, result.user.id, clock.now())
    return result
  }
  if (result.outcome !== 'refused') return { outcome: 'refused', reason: 'refused-upstream', description: NOT_ASKED }
  return { outcome: 'refused', reason: REFUSALS[result.reason], description: result.description }
}

/**
 * Whether to try the next provider. An account that has no password yet keeps no user of another provider out: anyone can sign up
 * with their name. UAA: sends it a wrong password of an account here, too.
 */
const mayTryNext = ({ reason, userId, hasNoPassword }: RefusedSignIn, behaviour: Behaviour): boolean =>
  reason === 'bad-credentials' &&
  (userId === undefined || hasNoPassword === true || !behaviour.directoryForUnknownNames)

/** Hides lockouts from callers: one would reveal that the account exists, and when to resume guessing. */
const withoutLockout = (result: SignInResult, { hideLockout }: Behaviour): SignInResult =>
  hideLockout && result.outcome === 'refused' && result.reason === 'account-locked'
    ? { ...result, reason: 'bad-credentials' }
    : result

const REFUSALS = {
  untrusted: 'refused-upstream',
  unusable: 'refused-upstream',
  'not-precreated': 'account-not-precreated',
  'not-invited': 'not-invited',
  'second-factor-required': 'second-factor-required',
} as const satisfies Record<ExternalRefusal['reason'], SignInRefusal>

const NOT_ASKED = 'The identity provider could not be contacted.'

const BAD_CREDENTIALS: SignInResult = { outcome: 'refused', reason: 'bad-credentials' }
