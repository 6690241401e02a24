// Nonces that proofs must contain (RFC 9449 §8), so that an attacker with brief access to a key cannot create proofs for later.
// Nothing is stored; every process creates and accepts the same ones.
import type { Clock } from '../../base/clock.ts'
import { sameSecret } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Zone } from '../../model/zones/zone.ts'

/** How long each is handed out; it is accepted for one to two times as long. */
export const NONCE_SECONDS = 180

/** Creates and verifies nonces. */
export interface DpopNonces {
  /** The current nonce. */
  current(zone: Pick<Zone, 'id'>): string
  accepts(zone: Pick<Zone, 'id'>, nonce: string): boolean
}

/** One instance serves every zone. */
export function createDpopNonces({ vault, clock }: { vault: Vault; clock: Clock }): DpopNonces {
  const period = (): number => Math.floor(clock.now().getTime() / (NONCE_SECONDS * 1000))
  const nonceOf = ({ id }: Pick<Zone, 'id'>, number: number): string =>
    vault.keyedDigest(JSON.stringify(['dpop nonce', id, number]))

  return {
    current: zone => nonceOf(zone, period()),
    accepts(zone, nonce) {
      const now = period()
      // The next one may come from a process whose clock is a little ahead.
      return [now, now - 1, now + 1].some(number => sameSecret(nonceOf(zone, number), nonce))
    },
  }
}
