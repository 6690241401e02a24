// Challenges of passkey ceremonies (Web Authentication §13.4.3). A challenge is a sealed statement of what it is for, so that
// nothing is stored when one is issued; when it comes back, it becomes invalid in every process.
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { digest } from '../base/secrets.ts'
import type { Vault } from '../base/secrets.ts'
import type { Store } from '../store/store.ts'

/** The purpose of a challenge, which is valid for nothing else. */
export interface ChallengeFor {
  readonly purpose: 'registration' | 'sign-in' | 'second factor'
  readonly zoneId: string
  /** The browser: its session, or the substitute before a sign-in. */
  readonly browser: string
  /** Absent before sign-in. */
  readonly userId?: string | undefined
}

/** Challenges of all zones. */
export interface Challenges {
  /** In base64url. */
  issue(of: ChallengeFor): string
  /** Whether it was issued for this (`unknown`: not), and is not too old. */
  stateOf(challenge: string, of: ChallengeFor): 'valid' | 'expired' | 'unknown'
  /** Consumes it; false if it was used before. */
  use(challenge: string, of: ChallengeFor): Promise<boolean>
}

const LIFE_SECONDS = 300
const MAX_LENGTH = 400

/** One instance serves every zone. */
export function createChallenges({ store, clock, vault }: { store: Store; clock: Clock; vault: Vault }): Challenges {
  const contextOf = ({ purpose, zoneId, browser, userId }: ChallengeFor): string =>
    JSON.stringify(['passkey challenge', purpose, zoneId, browser, userId ?? null])

  /** When it ends, or ended; undefined if it is not for this. */
  function endOf(challenge: string, of: ChallengeFor): Date | undefined {
    if (challenge.length > MAX_LENGTH) return undefined
    const sealed = Buffer.from(challenge, 'base64url')
    if (sealed.toString('base64url') !== challenge) return undefined
    try {
      return new Date(Number(vault.open(sealed.toString(), contextOf(of))))
    } catch {
      return undefined
    }
  }

  return {
    issue(of) {
      const until = addSeconds(clock.now(), LIFE_SECONDS).getTime()
      return Buffer.from(vault.seal(String(until), contextOf(of))).toString('base64url')
    },
    stateOf(challenge, of) {
      const until = endOf(challenge, of)
      if (until === undefined) return 'unknown'
      return until > clock.now() ? 'valid' : 'expired'
    },
    async use(challenge, of) {
      const until = endOf(challenge, of)
      return (
        until !== undefined &&
        until > clock.now() &&
        store.assertions.use(of.zoneId, digest(`passkey challenge ${challenge}`), until)
      )
    },
  }
}
