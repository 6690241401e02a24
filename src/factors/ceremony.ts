// What both passkey ceremonies share: the relying party, the options and the refusals.
import { loadOnce } from '../base/concurrency/load-once.ts'
import { digest } from '../base/secrets.ts'
import type { JsonRecord } from '../base/json.ts'
import type { Store } from '../store/store.ts'

/** Where a ceremony takes place. */
export interface Ceremony {
  readonly zoneId: string
  /** Base URL of the zone: its host is the relying party's id, its origin the only one accepted. */
  readonly baseUrl: string
  /** What the challenge is bound to: the browser's session, or its substitute before a sign-in. */
  readonly browser: string
}

/** Why a response is not accepted: one word for the audit trail, and the library's message for the log. */
export interface PasskeyRefusal {
  readonly outcome: 'refused'
  readonly reason:
    | 'malformed'
    | 'challenge'
    /** The page was open for too long: nothing was proven or tried. */
    | 'expired'
    | 'unknown'
    | 'other-person'
    | 'attestation'
    | 'key'
    | 'invalid'
    | 'counter'
    | 'eligibility'
    | 'never-verified'
    | 'used'
  readonly detail?: string
  /** Whose passkey it is, where the user has to prove another factor first. */
  readonly userId?: string
}

/** Timeout of a ceremony: five minutes. */
export const TIMEOUT_MILLISECONDS = 300_000

/** Loads the library with the first response. */
export const library = loadOnce(() => import('@simplewebauthn/server'))

/**
 * The user handle, which an authenticator stores with the credential: zone and user. Zones below one host share a relying
 * party's id, and a credential of the same handle would replace the one of another zone.
 */
export const userHandle = (zoneId: string, userId: string): string =>
  digest(JSON.stringify(['passkey of', zoneId, userId]))

/** The refusal, with the message of the library's error. */
export const refused = (reason: PasskeyRefusal['reason'], cause?: unknown): PasskeyRefusal => ({
  outcome: 'refused',
  reason,
  ...(cause instanceof Error && { detail: cause.message.slice(0, 300) }),
})

/** The ID of the relying party: the host of the zone. */
export const relyingPartyId = ({ baseUrl }: Ceremony): string => new URL(baseUrl).hostname

/** The credential descriptors of a user's passkeys, for a browser. */
export const credentialsOf = async (
  zoneId: string,
  userId: string,
  { factors }: Pick<Store, 'factors'>,
): Promise<readonly JsonRecord[]> =>
  (await factors.passkeysOf(zoneId, userId)).map(({ credentialId: id, transports }) => ({
    type: 'public-key',
    id,
    transports,
  }))
