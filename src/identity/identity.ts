// Signs users in. Each way of signing in has a file of its own; provider-sources.ts finds the provider and its source, and
// account-entry.ts updates or creates the account. Does not know HTTP, sessions or tokens.
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { Destination } from '../model/sessions/destination.ts'
import type { AddressedZone } from '../model/request.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import { createAccountEntry } from './account-entry.ts'
import type { AccountEntryDeps } from './account-entry.ts'
import { createAssertionSignIn } from './assertion-sign-in.ts'
import type { SignInWithAssertion } from './assertion-sign-in.ts'
import { createPasswordSignIn } from './password-sign-in.ts'
import type { SignInWithPassword } from './password-sign-in.ts'
import { createProviderLogout } from './provider-logout.ts'
import type { ProviderLogout } from './provider-logout.ts'
import { createProviderSources } from './provider-sources.ts'
import type { ProviderSources } from './provider-sources.ts'
import { createRedirectSignIn, createUserConfirmation } from './redirect-sign-in.ts'
import type { ConfirmsUser, FinishRedirect } from './redirect-sign-in.ts'
import { createSignInEvents } from './sign-in-events.ts'
import type { AnswerShape, IdentitySourceType, RedirectStart } from './source.ts'
import { internalSource } from './sources/internal.ts'
import type { LdapDeps } from './sources/ldap.ts'
import { withBreaker } from './sources/outbound-breaker.ts'
import type { OidcDeps } from './sources/oidc.ts'
import type { SamlDeps } from './sources/saml.ts'

/** Signs users in. */
export interface Identity
  extends ProviderLogout,
    Pick<ProviderSources, 'loginProviders' | 'claimedIssuer' | 'problemIn'> {
  readonly signInWithPassword: SignInWithPassword
  readonly signInWithAssertion: SignInWithAssertion
  /** Whether the provider's settings for a redirect are known; may fetch its discovery document. */
  isReady(zone: Zone, provider: IdentityProvider): Promise<boolean>
  /** Whether a page shows the provider; does not wait for the discovery document. */
  isOffered(zone: Zone, provider: IdentityProvider): Promise<boolean>
  /** The sign-in at the provider; undefined if the provider cannot be used now. */
  startRedirect(zone: AddressedZone, origin: string, start: RedirectStart): Promise<Destination | undefined>
  readonly finishRedirect: FinishRedirect
  readonly confirmsUser: ConfirmsUser
  /** The shape of the provider's responses; undefined for one without redirects. */
  answersOf(
    zone: Zone,
    origin: string,
  ): Promise<{ readonly shape: AnswerShape; readonly path: string | undefined } | undefined>
  /** The origins of the active providers of this type with this issuer: several if their documents claim the same one. */
  originsOf(zone: Zone, type: string, issuer: string): Promise<readonly string[]>
}

/** Dependencies of `createIdentity`. */
interface IdentityDeps extends AccountEntryDeps, OidcDeps, LdapDeps, SamlDeps {}

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
  const sources = createProviderSources(types, deps)
  const { open, redirectOf } = sources
  const parts = { ...deps, sources, entry: createAccountEntry(deps, sources), events: createSignInEvents(deps) }

  return {
    ...createProviderLogout({ store: deps.store, ...sources }),
    signInWithPassword: createPasswordSignIn(parts),
    signInWithAssertion: createAssertionSignIn(parts),
    finishRedirect: createRedirectSignIn(parts),
    confirmsUser: createUserConfirmation(sources),
    loginProviders: sources.loginProviders,
    claimedIssuer: sources.claimedIssuer,
    problemIn: sources.problemIn,
    isReady: async (zone, provider) => (await (await open(zone, provider)).redirect?.isReady()) === true,
    isOffered: async (zone, provider) => (await open(zone, provider)).redirect?.isOffered() === true,
    startRedirect: async (zone, origin, start) => (await redirectOf(zone, origin))?.redirect.start(start, zone),
    originsOf: async (zone, type, issuer) =>
      (await sources.providersOf(zone, type, issuer)).map(({ provider }) => provider.originKey),
    async answersOf(zone, origin) {
      const found = await redirectOf(zone, origin)
      return found && { shape: found.redirect.answer, path: found.redirect.callbackPath }
    },
  }
}
