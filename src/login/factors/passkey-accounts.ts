import { addSeconds } from '../../base/clock.ts'
import { allowsProvider } from '../../model/clients/client.ts'
import type { Client } from '../../model/clients/client.ts'
import type { User } from '../../model/users/user.ts'
import { lockedUntil, lockoutPolicy } from '../../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { LoginDeps } from '../deps.ts'

/** An account with its provider, or the code of the message and the data of the event if it may not sign in. */
type FoundAccount =
  | { readonly user: User; readonly provider: IdentityProvider }
  | { readonly problem: string; readonly data: string }

/** Finds the account of a proven passkey, if it may sign in to this client. One instance serves every zone. */
export function createPasskeyAccounts({ store, clock, service, behaviour }: LoginDeps) {
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
