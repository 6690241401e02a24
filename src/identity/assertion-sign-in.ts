// Signs a user in by an assertion that a client presents.
import type { Clock } from '../base/clock.ts'
import type { Audit } from '../model/audit/event.ts'
import { allowsProvider } from '../model/clients/client.ts'
import type { Client } from '../model/clients/client.ts'
import type { RequestOrigin } from '../model/request.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Store } from '../store/store.ts'
import type { AccountEntry, EnteredUser } from './account-entry.ts'
import type { NoSuchProvider } from './provider-logout.ts'
import type { ProviderSources } from './provider-sources.ts'
import { auditRefusal, auditSuccess, hashedName } from './sign-in-events.ts'
import type { SignInEvents } from './sign-in-events.ts'
import type { AssertionReader, ExternalRefusal, Presentation } from './source.ts'

/** An assertion about a user, signed by another issuer and presented by a client. */
interface AssertionSignIn {
  readonly assertion: string
  /** The type of provider that issues this kind of assertion. */
  readonly type: string
  readonly client: Client
  /** The absolute URL of the endpoint that it was presented at. */
  readonly recipient: string
  readonly undoOnFailure: Presentation['undoOnFailure']
}

/** The result of an assertion; `unreadable`: it names no issuer; `no-provider`: that of none or of several providers. */
export type AssertionResult =
  | EnteredUser
  | { readonly outcome: 'unreadable' }
  | NoSuchProvider
  | { readonly outcome: 'provider-barred' }
  | ExternalRefusal

/** Verifies the assertion with the one active provider of its issuer, and updates or creates the user's account. */
export type SignInWithAssertion = (from: RequestOrigin, signIn: AssertionSignIn) => Promise<AssertionResult>

interface AssertionSignInDeps {
  readonly store: Store
  readonly clock: Clock
  readonly audit: Audit
  readonly sources: ProviderSources
  readonly entry: AccountEntry
  readonly events: SignInEvents
}

/** One instance serves every zone. */
export function createAssertionSignIn(deps: AssertionSignInDeps): SignInWithAssertion {
  const { audit, events } = deps
  const { claimedIssuer, providerOf } = deps.sources
  return async (from, { assertion, type, client, recipient, undoOnFailure }) => {
    const { zone } = from
    const issuer = await claimedIssuer(type, assertion)
    if (issuer === undefined) return { outcome: 'unreadable' }
    const found = await providerOf(zone, type, issuer)
    if (!found?.source.assertion) return { outcome: 'no-provider' }
    const { provider } = found
    const source = found.source.assertion
    // Before reading anything: a user who may not use the client must not get an account.
    if (!allowsProvider(client, provider.originKey)) return { outcome: 'provider-barred' }
    const at = { zone, recipient, undoOnFailure }
    const result = await enterByAssertion(zone, { provider, source, assertion, at }, deps)
    const facts = events.factsOf(provider, from, client)
    // The subject of a refused assertion is unverified or has no account; the hash identifies repeated attempts.
    if (result.outcome === 'refused') auditRefusal(audit, { principal: hashedName(assertion), ...facts }, result)
    else auditSuccess(audit, { principal: result.user.id, ...facts })
    return result
  }
}

async function enterByAssertion(
  zone: Zone,
  {
    provider,
    source,
    assertion,
    at,
  }: {
    readonly provider: IdentityProvider
    readonly source: AssertionReader
    readonly assertion: string
    readonly at: Presentation
  },
  { store, clock, entry }: AssertionSignInDeps,
): Promise<EnteredUser | ExternalRefusal> {
  const reading = await source.read(assertion, at)
  if (reading.outcome === 'refused') return reading
  const entered = await entry.enter(zone, provider, { externalUser: reading.externalUser })
  if (entered.outcome === 'refused') return entered
  if (await entry.lacksSecondFactor(zone, entered)) return SECOND_FACTOR_OUTSTANDING
  await store.users.recordLogon(zone.id, entered.user.id, clock.now())
  return entered
}

const SECOND_FACTOR_OUTSTANDING: ExternalRefusal = {
  outcome: 'refused',
  reason: 'second-factor-required',
  description: 'A second factor is required.',
  audit: 'second-factor',
}
