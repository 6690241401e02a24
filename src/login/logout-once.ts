import { digest } from '../base/secrets.ts'
import type { Store } from '../store/store.ts'

/** A provider's message that asks for a logout, which counts once. */
interface LogoutMessageId {
  /** Protocol, origin and the id that the provider gave it. */
  readonly key: readonly [protocol: string, origin: string, id: string]
  /** The message is refused from then on. */
  readonly usableUntil: Date
}

/**
 * Does what the message asks for; false if that was done before. The message counts as used when the work is done, so that a
 * provider may repeat one whose work failed halfway. Of two that come at once, both do the work, and one gets false.
 */
export async function obeyOnce(
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
