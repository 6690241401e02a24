// Ends what somebody may do without a new sign-in. Decides nothing; whoever calls it has checked the right to.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/event.ts'
import { revocationEvent } from '../model/revocation-event.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import { forgetGrantAt } from '../token/lifetimes.ts'
import { PASSWORD_REVISION_LENGTH } from './password.ts'
import { noSuchResource } from './refusal.ts'
import { originOf } from './caller.ts'
import type { Caller } from './caller.ts'

/** What ending the access of a client needs. */
export interface AccessDeps {
  readonly store: Store
  readonly clock: Clock
  readonly behaviour: Behaviour
}

/**
 * Ends what the client holds for the user: codes, stored tokens, and the JWTs that share a grant with one of them. A JWT
 * without a stored token beside it lives on, but fails wherever approvals are asked for.
 */
export async function endAccessOfClient(
  zone: Zone,
  { userId, client }: { readonly userId: string; readonly client: Client },
  { store, clock, behaviour }: AccessDeps,
): Promise<void> {
  const forgetAt = forgetGrantAt(zone, client, clock.now(), behaviour)
  await store.tokens.revokeGrantsOf(zone.id, { clientId: client.clientId, userId }, forgetAt)
}

/**
 * Ends everything that the user is signed in with: sessions, codes, passcodes and tokens, JWTs too; the password stays.
 * Throws `scim_resource_not_found`.
 */
export async function endAccessOfUser(
  zone: Zone,
  userId: string,
  by: Caller,
  { store, random, audit }: { readonly store: Store; readonly random: Random; readonly audit: Audit },
): Promise<void> {
  const isThere = await store.users.endAccess(zone.id, userId, random.urlSafe(PASSWORD_REVISION_LENGTH))
  if (!isThere) throw noSuchResource('User', userId)
  const { clientId: caller = 'none', remoteAddress } = by
  const reason = `sessions ended, too; caller=${by.userId ?? caller}`
  audit(revocationEvent(zone.id, { userId, caller, remoteAddress, reason }))
  audit({ type: 'SessionsEndedEvent', zoneId: zone.id, principal: userId, ...originOf(userId, by), data: reason })
}
