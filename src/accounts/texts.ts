// Codes for a text instead of an account (`POST /Codes`).
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { CODE_LENGTH, isCode } from './codes.ts'

/** A text that is stored temporarily. */
export interface StoredText {
  readonly data: string
  readonly expiresAt: Date
}

/** Dependencies of `storeText` and `redeemText`. */
interface TextDeps {
  readonly store: Pick<Store, 'oneTimeCodes'>
  readonly clock: Clock
  readonly random: Random
}

/** Stores the text and returns its code. */
export async function storeText(zone: Zone, text: StoredText, { store, random }: TextDeps): Promise<string> {
  const value = random.urlSafe(CODE_LENGTH)
  await store.oneTimeCodes.save(zone.id, { zoneId: zone.id, purpose: 'text', codeDigest: digest(value), ...text })
  return value
}

/** Returns the text, once; undefined if there is none, or no longer. */
export async function redeemText(
  zone: Zone,
  value: string,
  { store, clock }: TextDeps,
): Promise<StoredText | undefined> {
  if (!isCode(value)) return undefined
  const code = await store.oneTimeCodes.redeem(zone.id, 'text', digest(value))
  if (!code || code.expiresAt <= clock.now()) return undefined
  return { data: code.data ?? '', expiresAt: code.expiresAt }
}
