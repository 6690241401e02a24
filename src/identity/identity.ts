// Signs a user in: chooses the provider and lets its source check. Owns who may answer for whom; refuses to know HTTP,
// sessions and tokens.
import { createHash } from 'node:crypto'
import type { Client } from '../model/client.ts'
import { allowsProvider } from '../model/client.ts'
import type { Audit } from '../model/event.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import type { Zone } from '../model/zone.ts'
import type { IdentitySource, IdentitySourceType, PasswordAttempt, SignInResult, SourceDeps } from './source.ts'
import { internalSource } from './sources/internal.ts'

/** How a password sign-in is asked for. */
export interface PasswordSignIn extends PasswordAttempt {
  /** Only providers that this client allows are asked; absent means all. */
  readonly client?: Client | undefined
  /** The only provider to ask, from a login hint. */
  readonly origin?: string | undefined
  readonly remoteAddress?: string | undefined
}

/** Why no provider could be asked. */
export type NoProvider = 'unusable-hint' | 'provider-barred' | 'no-provider' | 'several-providers'

/** Signs people in. */
export interface Identity {
  /** Tries the providers that take passwords, in the zone's order; a `NoProvider` answer means that none was asked. */
  signInWithPassword(
    zone: Zone,
    signIn: PasswordSignIn,
  ): Promise<SignInResult | { outcome: 'no-provider'; reason: NoProvider }>
  /** The active providers of the zone that take passwords and that the client allows. */
  passwordProviders(zone: Zone, client?: Client): Promise<readonly IdentityProvider[]>
}

/** Opens the provider types; a new type is one file and one entry in this list. */
export function createIdentity(deps: SourceDeps & { audit: Audit; serviceName: string }): Identity {
  const types: readonly IdentitySourceType[] = [internalSource(deps.serviceName)]
  const { audit, store, serviceName } = deps

  function open(zone: Zone, provider: IdentityProvider): IdentitySource {
    return types.find(type => type.type === provider.type)?.open(zone, provider, deps) ?? {}
  }

  async function passwordProviders(zone: Zone, client?: Client): Promise<readonly IdentityProvider[]> {
    const active = await store.providers.listActive(zone.id)
    return active.filter(
      provider => open(zone, provider).password && (!client || allowsProvider(client, provider.originKey)),
    )
  }

  async function chooseProviders(
    zone: Zone,
    { client, origin }: PasswordSignIn,
  ): Promise<{ providers: readonly IdentityProvider[] } | { reason: NoProvider }> {
    const all = await passwordProviders(zone)
    const allowed = all.filter(provider => !client || allowsProvider(client, provider.originKey))
    if (origin !== undefined) {
      const named = all.find(provider => provider.originKey === origin)
      if (!named) return { reason: 'unusable-hint' }
      return allowed.includes(named) ? { providers: [named] } : { reason: 'provider-barred' }
    }
    const preferred = allowed.find(provider => provider.originKey === zone.config.defaultIdentityProvider)
    if (preferred) return { providers: [preferred] }
    if (allowed.length === 0) {
      return (await internalIsDisabled(zone, client)) ? { providers: [] } : { reason: 'no-provider' }
    }
    // The internal accounts and a directory may stand side by side and are asked one after the other.
    const chain = allowed.filter(provider => provider.type === serviceName || provider.type === 'ldap')
    if (chain.length > 0) return { providers: chain.toSorted((a, b) => rank(a) - rank(b)) }
    return allowed.length === 1 ? { providers: allowed } : { reason: 'several-providers' }
  }

  /** Whether the internal accounts would have been asked if somebody had not switched them off. */
  async function internalIsDisabled(zone: Zone, client: Client | undefined): Promise<boolean> {
    const internal = await store.providers.findByOrigin(zone.id, serviceName)
    return internal?.active === false && (!client || allowsProvider(client, serviceName))
  }

  const rank = (provider: IdentityProvider): number => (provider.type === serviceName ? 0 : 1)

  function report(zone: Zone, { userName, remoteAddress }: PasswordSignIn, origin: string, result: SignInResult): void {
    const facts = { zoneId: zone.id, origin, ...(remoteAddress !== undefined && { remoteAddress }) }
    if (result.outcome === 'signed-in') {
      audit({ type: 'IdentityProviderAuthenticationSuccess', principal: result.user.id, ...facts })
      audit({ type: 'UserAuthenticationSuccess', principal: result.user.id, ...facts })
      return
    }
    const principal = result.userId ?? hashedName(userName)
    switch (result.reason) {
      case 'bad-credentials':
        if (result.userId === undefined) audit({ type: 'UserNotFound', principal, ...facts })
        else {
          audit({ type: 'IdentityProviderAuthenticationFailure', principal, ...facts })
          audit({ type: 'UserAuthenticationFailure', principal, ...facts })
        }
        return audit({ type: 'PrincipalAuthenticationFailure', principal, ...facts })
      case 'account-not-verified':
        return audit({ type: 'UnverifiedUserAuthentication', principal, ...facts })
      case 'account-locked': // the reference system reports nothing: a refusal must not prolong the lock
      case 'password-change-required':
      case 'provider-disabled':
        return undefined
    }
  }

  return {
    passwordProviders,
    async signInWithPassword(zone, signIn) {
      const choice = await chooseProviders(zone, signIn)
      if ('reason' in choice) return { outcome: 'no-provider', reason: choice.reason }
      let result: SignInResult = { outcome: 'refused', reason: 'provider-disabled' } // where there is none to ask
      for (const provider of choice.providers) {
        const source = open(zone, provider).password
        if (!source) continue
        result = await source.check(signIn)
        report(zone, signIn, provider.originKey, result)
        // Another provider is asked only about a name that this one does not know.
        if (result.outcome === 'signed-in' || result.userId !== undefined) return result
      }
      return result
    },
  }
}

/** A name that is nobody's may be a password typed into the wrong field: the trail gets its hash only. */
const hashedName = (userName: string): string => createHash('sha1').update(userName).digest('base64')
