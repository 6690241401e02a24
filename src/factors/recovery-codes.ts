// Single-use codes in place of a second factor: ten for the user, and one issued by an administrator. Only keyed
// digests are stored.
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { UsedFactorCode } from '../store/factors/factor-store.ts'
import type { Store } from '../store/store.ts'
import { withoutSeparators } from './typed-code.ts'

/** The codes of all zones. */
export interface RecoveryCodes {
  /** Ten new ones in display form, which replace the previous ones; undefined for an unknown user. */
  renew(zoneId: string, userId: string): Promise<readonly string[] | undefined>
  /** A code issued by an administrator, which replaces the previous one; undefined for an unknown user. */
  bypass(
    zoneId: string,
    userId: string,
    seconds: number,
  ): Promise<{ readonly code: string; readonly expiresAt: Date } | undefined>
  /** Consumes the code; undefined if it is not valid. `FactorStore.restoreCode` puts it back. */
  use(zoneId: string, userId: string, entered: string): Promise<UsedFactorCode | undefined>
}

/** Number of codes in a set. */
export const RECOVERY_CODES = 10
const LENGTH = 12 // 60 bits

/** The display form: groups of four. */
const shown = (code: string): string => code.replace(/.{4}(?=.)/g, '$&-')

/** Normalizes the input; undefined for anything that cannot be a code. Letters that look like digits become digits. */
export function enteredRecoveryCode(entered: string): string | undefined {
  const characters = withoutSeparators(entered).toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1')
  return /^[0-9A-HJKMNP-TV-Z]{12}$/.test(characters) ? characters : undefined
}

/** One instance serves every zone. */
export function createRecoveryCodes(deps: { store: Store; clock: Clock; random: Random; vault: Vault }): RecoveryCodes {
  const { store, clock, random, vault } = deps
  const digestOf = (zoneId: string, userId: string, code: string): string =>
    vault.keyedDigest(JSON.stringify(['recovery code', zoneId, userId, code]))

  return {
    async renew(zoneId, userId) {
      const codes = Array.from({ length: RECOVERY_CODES }, () => random.base32(LENGTH))
      const digests = codes.map(code => digestOf(zoneId, userId, code))
      const isKept = await store.factors.setCodes(zoneId, userId, { kind: 'recovery', digests, createdAt: clock.now() })
      return isKept ? codes.map(shown) : undefined
    },
    async bypass(zoneId, userId, seconds) {
      const code = random.base32(LENGTH)
      const createdAt = clock.now()
      const expiresAt = addSeconds(createdAt, seconds)
      const digests = [digestOf(zoneId, userId, code)]
      const isKept = await store.factors.setCodes(zoneId, userId, { kind: 'bypass', digests, createdAt, expiresAt })
      return isKept ? { code: shown(code), expiresAt } : undefined
    },
    async use(zoneId, userId, entered) {
      const code = enteredRecoveryCode(entered)
      if (code === undefined) return undefined
      return store.factors.useCode(zoneId, userId, digestOf(zoneId, userId, code), clock.now())
    },
  }
}
