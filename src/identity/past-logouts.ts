// Logouts by SAML providers also hold for assertions that the provider issued before, but that arrive later (SAML Core §3.7.3.1):
// in a form that the browser has not sent yet, or with a client that has not presented its assertion.
import { addSeconds } from '../base/clock.ts'
import { digest } from '../base/secrets.ts'
import type { Store } from '../store/store.ts'

/** The name of a user at a provider. */
interface NamedUser {
  /** The provider's. */
  readonly origin: string
  readonly externalId: string
}

interface PastLogout extends NamedUser {
  /** The provider's sessions; all of the user if there is none. */
  readonly sids: readonly string[]
  readonly issuedAt: Date
}

interface IssuedAssertion extends NamedUser {
  readonly sid?: string | undefined
  readonly issuedAt: Date
}

/** Longer than any assertion is accepted after it was issued, so that those issued before the logout are refused until they expire. */
const KEPT_SECONDS = 3600

/** Remembers a verified logout. */
export async function rememberLogout(
  zoneId: string,
  { sids, issuedAt, ...user }: PastLogout,
  { assertions }: Pick<Store, 'assertions'>,
): Promise<void> {
  const until = addSeconds(issuedAt, KEPT_SECONDS)
  for (const sid of sids.length === 0 ? [undefined] : sids) await assertions.keep(zoneId, idOf(user, sid), until)
}

/** When the provider signed the user out, if that was after it issued the assertion. Both times are of the provider's clock. */
export async function logoutSince(
  zoneId: string,
  { sid, issuedAt, ...user }: IssuedAssertion,
  { assertions }: Pick<Store, 'assertions'>,
): Promise<Date | undefined> {
  for (const each of new Set([undefined, sid])) {
    const until = await assertions.expiryOf(zoneId, idOf(user, each))
    const loggedOutAt = until && addSeconds(until, -KEPT_SECONDS)
    if (loggedOutAt && loggedOutAt > issuedAt) return loggedOutAt
  }
  return undefined
}

const idOf = ({ origin, externalId }: NamedUser, sid: string | undefined): string =>
  digest(JSON.stringify(['SAML logout of', origin, externalId, ...(sid === undefined ? [] : [sid])]))
