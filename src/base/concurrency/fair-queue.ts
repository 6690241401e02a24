// Limits concurrent slow work and shares the slots fairly: round-robin between zones, and between networks within a zone.
// A caller that floods the queue delays only its own requests.
import { subnetOf } from '../network-address.ts'

/** The zone and network that the work is charged to. */
export interface Requester {
  readonly zoneId: string
  /** IP address of the caller. */
  readonly address: string | undefined
}

/** Thrown when a requester's share of the queue is full: the caller answers 503 with `Retry-After`. */
export class QueueFull extends Error {
  override name = 'QueueFull'
  constructor(message = 'too many operations of this kind are in progress') {
    super(message)
  }
}

/** Maximum waiting jobs: in total, per zone, and per network across all zones. */
export interface QueueBounds {
  readonly all: number
  readonly zone: number
  readonly network: number
}

/** For work that is already bounded by the number of requests. */
export const UNBOUNDED: QueueBounds = { all: Infinity, zone: Infinity, network: Infinity }

/** A fixed number of slots with a queue for them. */
export interface FairQueue {
  /** Runs the work when a slot is free. Throws `QueueFull`, or the error that `full` makes. */
  run<T>(requester: Requester, work: () => Promise<T>): Promise<T>
}

interface Waiter {
  readonly zoneId: string
  readonly network: string
  readonly begin: () => void
  readonly refuse: (reason: Error) => void
}

/** A zone's waiting jobs by network. The insertion order of the maps is the round-robin order. */
interface WaitingZone {
  count: number
  readonly networks: Map<string, Waiter[]>
}

/** Makes a queue with `concurrency` slots. Nothing is queued while a slot is free. */
export function createFairQueue({
  concurrency,
  bounds,
  full = () => new QueueFull(),
}: {
  readonly concurrency: number
  readonly bounds: QueueBounds
  readonly full?: () => QueueFull
}): FairQueue {
  const zones = new Map<string, WaitingZone>()
  const perNetwork = new Map<string, number>()
  let running = 0
  let waiting = 0

  function enter(waiter: Waiter): void {
    const { zoneId, network } = waiter
    if ((perNetwork.get(network) ?? 0) >= bounds.network || !makeRoom(waiter)) throw full()
    const zone = zones.get(zoneId) ?? { count: 0, networks: new Map<string, Waiter[]>() }
    zones.set(zoneId, zone)
    const queue = zone.networks.get(network) ?? []
    zone.networks.set(network, queue)
    queue.push(waiter)
    zone.count += 1
    waiting += 1
    perNetwork.set(network, (perNetwork.get(network) ?? 0) + 1)
  }

  /** When the zone or the whole queue is full, evicts the newest job of the longest queue in favour of a shorter queue. */
  function makeRoom({ zoneId, network }: Waiter): boolean {
    const own = zones.get(zoneId)
    if ((own?.count ?? 0) >= bounds.zone) return own !== undefined && drop(zoneId, own, network)
    if (waiting < bounds.all) return true
    const [largestId, longest] = largestEntry(zones, zone => zone.count)
    if (largestId === zoneId) return drop(zoneId, longest, network)
    return longest.count > (own?.count ?? 0) + 1 && drop(largestId, longest, undefined)
  }

  function drop(zoneId: string, zone: WaitingZone, network: string | undefined): boolean {
    const [longest, queue] = largestEntry(zone.networks, each => each.length)
    const own = network === undefined ? 0 : (zone.networks.get(network)?.length ?? 0)
    if (network !== undefined && queue.length <= own + 1) return false
    queue.pop()?.refuse(full())
    remove(zoneId, zone, longest)
    return true
  }

  function remove(zoneId: string, zone: WaitingZone, network: string): void {
    zone.count -= 1
    waiting -= 1
    if (zone.networks.get(network)?.length === 0) zone.networks.delete(network)
    if (zone.count === 0) zones.delete(zoneId)
    const left = (perNetwork.get(network) ?? 1) - 1
    if (left === 0) perNetwork.delete(network)
    else perNetwork.set(network, left)
  }

  /** Takes the next job and moves its zone, and its network within the zone, to the end of the round. */
  function next(): Waiter | undefined {
    for (const [zoneId, zone] of zones) {
      for (const [network, queue] of zone.networks) {
        const waiter = queue.shift()
        zone.networks.delete(network)
        zone.networks.set(network, queue)
        zones.delete(zoneId)
        zones.set(zoneId, zone)
        remove(zoneId, zone, network)
        return waiter
      }
    }
    return undefined
  }

  return {
    async run({ zoneId, address }, work) {
      if (running < concurrency) running += 1
      else {
        // The finishing job hands over its slot, so `running` does not change.
        await new Promise<void>((begin, refuse) => enter({ zoneId, network: subnetOf(address ?? ''), begin, refuse }))
      }
      try {
        return await work()
      } finally {
        const waiter = next()
        if (waiter) waiter.begin()
        else running -= 1
      }
    },
  }
}

/** The entry with the highest number; throws for an empty map. */
function largestEntry<V>(map: ReadonlyMap<string, V>, lengthOf: (value: V) => number): readonly [string, V] {
  let longest: readonly [string, V] | undefined
  for (const entry of map) if (!longest || lengthOf(entry[1]) > lengthOf(longest[1])) longest = entry
  if (!longest) throw new Error('the queue is empty')
  return longest
}
