// The account of a user whom a provider has authenticated: updated or created, with its memberships and the level of the sign-in.
import type { Random } from '../base/random.ts'
import type { Audit } from '../model/audit/event.ts'
import { foreignClasses, mappedLevel, withLevel } from '../model/sessions/assurance.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { Zone } from '../model/zones/zone.ts'
import { createAliases } from '../users/aliases.ts'
import { createAccounts } from './accounts.ts'
import { invitedUser } from './invited-user.ts'
import { createMemberships } from './memberships.ts'
import type { ProviderSources } from './provider-sources.ts'
import type { ExternalRefusal, ExternalUser, SourceDeps } from './source.ts'

/** A user of a provider with their account here. */
export interface EnteredUser {
  readonly outcome: 'signed-in'
  readonly user: User
  readonly amr: readonly string[]
  readonly acr?: readonly string[]
  readonly authenticatedAt?: Date
}

/** A user whom a provider has authenticated. */
interface AuthenticatedUser {
  readonly externalUser: ExternalUser
  /** The account that the user was invited to, which is the only one that they may be signed in to. */
  readonly invited?: User | undefined
}

/** The accounts of users of providers. */
export interface AccountEntry {
  /** Updates or creates the account with its memberships. Does not record the logon: a browser session does that itself. */
  enter(zone: Zone, provider: IdentityProvider, user: AuthenticatedUser): Promise<EnteredUser | ExternalRefusal>
  /** Whether the sign-in lacks a second factor. Checked before the logon is recorded, which would reset the failure count. */
  lacksSecondFactor(zone: Zone, entered: Pick<EnteredUser, 'user' | 'acr'>): Promise<boolean>
}

/** Dependencies of accounts. */
export interface AccountEntryDeps extends SourceDeps {
  readonly random: Random
  readonly audit: Audit
  readonly service: Service
  readonly settings: Pick<TokenSettings, 'aliasEntities'>
}

/** One instance serves every zone. */
export function createAccountEntry(
  deps: AccountEntryDeps,
  { isUnchanged }: Pick<ProviderSources, 'isUnchanged'>,
): AccountEntry {
  const accounts = createAccounts({ ...deps, aliases: createAliases(deps) })
  const memberships = createMemberships(deps)
  return {
    async enter(zone, provider, { externalUser, invited }) {
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
      // The deletion of a provider deletes its accounts last; an account created meanwhile must not pass to a later provider.
      if (!(await isUnchanged(provider))) {
        if (entry.isNew === true) await deps.store.users.delete(zone.id, entry.user.id)
        return CHANGED
      }
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
    },
    lacksSecondFactor: async (zone, { user, acr }) =>
      (await deps.findOutstandingDemand(zone, user, { acr }))?.name === 'second-factor',
  }
}

const CHANGED: ExternalRefusal = {
  outcome: 'refused',
  reason: 'untrusted',
  description: 'The record of the provider was changed or deleted during the sign-in.',
}
