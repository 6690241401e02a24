import { digest } from '../../base/secrets.ts'
import type { Store } from '../../store/store.ts'

/** A provider's logout message, which is valid once. */
interface LogoutMessageId {
  /** Protocol, origin and the id that the provider gave it. */
  readonly key: readonly [protocol: string, origin: string, id: string]
  /** When the message expires. */
  readonly usableUntil: Date
}

/**
 * Processes the message; false if that was done before. The message counts as used when the work is done, so that a
 * provider may repeat one whose work failed halfway. Of two concurrent ones, both do the work, and one gets false.
 */
export async function processOnce(
  zoneId: string,
  { key, usableUntil }: LogoutMessageId,
  work: () => Promise<void>,
  { store }: { readonly store: Store },
): Promise<boolean> {
  const idDigest = digest(JSON.stringify(key))
  if (await store.assertions.isUsed(zoneId, idDigest)) return false
  await work()
  return store.assertions.use(zoneId, idDigest, usableUntil)
}
