// Limits concurrent requests to other servers.
import { OutboundBusy } from './error.ts'

/**
 * Concurrent requests for each purpose: in total, per zone, per identity provider, which may use many hosts, and per zone and
 * host, since one host may be slow. `late`: per zone once half of the total is taken, and per provider once its zone has only
 * the slots left that a single provider cannot take. So a few that cooperate cannot take all slots.
 */
const MAX_CONCURRENT = {
  background: { all: 128, zone: 8, provider: 6, host: 4, late: { zone: 4, provider: 1 } },
  'sign-in': { all: 128, zone: 32, provider: 24, host: 16, late: { zone: 4, provider: 2 } },
  directory: { all: 256, zone: 8, provider: 8, host: 8, late: { zone: 4, provider: 8 } },
  /** Idle connections that are kept for reuse. */
  kept: { all: 512, zone: 8, provider: 8, host: 8, late: { zone: 4, provider: 8 } },
} as const

/** The share of concurrent requests that a request counts against. */
export interface OutboundShare {
  /** The zone whose configuration names the address. */
  readonly zoneId: string
  /** The origin of the identity provider, so that it leaves connections to the others of the zone. */
  readonly provider?: string
  /** `sign-in`: a user waits for the result; `directory`: for that of a directory. Each has slots of its own. */
  readonly purpose: 'sign-in' | 'directory' | 'background'
}

/** For requests of the server itself. */
export const OWN_SHARE: OutboundShare = { zoneId: '', purpose: 'background' }

/** A share, or that of idle connections that are kept for reuse. */
type SlotOwner = Omit<OutboundShare, 'purpose'> & { readonly purpose: keyof typeof MAX_CONCURRENT }

/** Takes a slot for a host or throws `OutboundBusy`; the returned function releases it. */
export type TakeSlot = (host: string, label: string, owner: SlotOwner) => () => void

/** Creates one set of limits. */
export function createOutboundSlots(): TakeSlot {
  const underWay = createCounts()
  return (host, label, { zoneId, provider, purpose }) => {
    const max = MAX_CONCURRENT[purpose]
    const keyOf = (...parts: readonly string[]): string => JSON.stringify([purpose, zoneId, ...parts])
    const isLate = underWay.of(purpose) >= max.all / 2
    const isLateInZone = underWay.of(keyOf()) >= max.provider
    const limits: (readonly [key: string, limit: number])[] = [
      [purpose, max.all],
      [keyOf(), isLate ? max.late.zone : max.zone],
      [keyOf('host', host), max.host],
    ]
    if (provider !== undefined) {
      limits.push([keyOf('provider', provider), isLateInZone ? max.late.provider : max.provider])
    }
    if (limits.some(([key, limit]) => underWay.of(key) >= limit)) throw new OutboundBusy(label)
    for (const [key] of limits) underWay.add(key, 1)
    return () => {
      for (const [key] of limits) underWay.add(key, -1)
    }
  }
}

/** Counts by key; a key is removed when its count is 0. */
function createCounts() {
  const counts = new Map<string, number>()
  const of = (key: string): number => counts.get(key) ?? 0
  return {
    of,
    add(key: string, change: 1 | -1): void {
      const count = of(key) + change
      if (count === 0) counts.delete(key)
      else counts.set(key, count)
    },
  }
}
