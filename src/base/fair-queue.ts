// Shares out a few places for work that is slow. Waiting zones take turns, and within a zone its waiting networks do, so
// that whoever fills the queue waits behind their own requests and not everybody behind theirs.
import { subnetOf } from './network-address.ts'

/** For whom the work is done. */
export interface Requester {
  readonly zoneId: string
  /** IP address of the caller. */
  readonly address: string | undefined
}

/** Thrown when the share of a requester is used up: the caller answers 503 and asks to come back. */
export class QueueFull extends Error {
  constructor(message = 'too much of this kind is under way') {
    super(message)
    this.name = 'QueueFull'
  }
}

/** How much may wait: in all, of one zone, and of one network, whichever zones it asks. */
export interface QueueBounds {
  readonly all: number
  readonly zone: number
  readonly network: number
}

/** A number of places, and those who wait for one. */
export interface FairQueue {
  /** Runs the work as soon as it has a place. Throws `QueueFull`, or what `full` makes instead. */
  run<T>(requester: Requester, work: () => Promise<T>): Promise<T>
}

interface Waiter {
  readonly zoneId: string
  readonly network: string
  readonly begin: () => void
  readonly refuse: (reason: Error) => void
}

/** Those of a zone that wait, by network; both maps keep the order of the turns. */
interface WaitingZone {
  count: number
  readonly networks: Map<string, Waiter[]>
}

/** Costs nothing but two additions while a place is free. */
export function createFairQueue({
  places,
  bounds,
  full = () => new QueueFull(),
}: {
  readonly places: number
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

  /** Where the zone or everything is full, the newest of the longest queue makes way for somebody with a shorter one. */
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

  /** Whoever has had a turn goes to the end: the zone among the zones, the network among those of the zone. */
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
      if (running < places) running += 1
      else {
        // The place is handed over, so that `running` stays.
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

/** The entry with the highest number, of a map that is not empty. */
function largestEntry<V>(map: ReadonlyMap<string, V>, lengthOf: (value: V) => number): readonly [string, V] {
  let longest: readonly [string, V] | undefined
  for (const entry of map) if (!longest || lengthOf(entry[1]) > lengthOf(longest[1])) longest = entry
  if (!longest) throw new Error('nobody waits')
  return longest
}
