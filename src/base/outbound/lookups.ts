// Looks names up for zones. A look-up takes one of the few threads that the process has for them until the name server answers,
// and cannot be cancelled when the request is given up: names that are never answered must not delay those of other zones.
import { createFairQueue, UNBOUNDED } from '../concurrency/fair-queue.ts'
import type { FairQueue } from '../concurrency/fair-queue.ts'

/** Resolves a host name to all its addresses. */
export type Resolver = (hostname: string) => Promise<readonly string[]>

/** Who looks a name up. */
export interface LookupCaller {
  readonly zoneId: string
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal
}

/** Half of the threads on a machine with one core. */
const MAX_OF_ZONE = 2

/** A name that is being looked up, or waits for it. */
interface Pending {
  readonly addresses: Promise<readonly string[]>
  /** Of its callers. */
  readonly signals: AbortSignal[]
}

/** Looks up a few names of each zone at a time; concurrent callers of a zone share the look-up of a name. */
export function createLookups(
  resolve: Resolver,
): (hostname: string, caller: LookupCaller) => Promise<readonly string[]> {
  const zones = new Map<string, { readonly queue: FairQueue; readonly names: Map<string, Pending> }>()

  return (hostname, { zoneId, signal }) => {
    const zone = zones.get(zoneId) ?? {
      queue: createFairQueue({ concurrency: MAX_OF_ZONE, bounds: UNBOUNDED }), // the requests are bounded
      names: new Map<string, Pending>(),
    }
    zones.set(zoneId, zone)
    const { queue, names } = zone
    const pending = names.get(hostname)
    if (pending) {
      pending.signals.push(signal)
      return pending.addresses
    }
    const signals = [signal]
    const resolveIfWanted = async (): Promise<readonly string[]> => {
      if (signals.every(({ aborted }) => aborted)) throw new Error('no caller waits any more')
      return resolve(hostname)
    }
    const addresses = queue.run({ zoneId, address: undefined }, resolveIfWanted).finally(() => {
      names.delete(hostname)
      if (names.size === 0) zones.delete(zoneId)
    })
    names.set(hostname, { addresses, signals })
    return addresses
  }
}
