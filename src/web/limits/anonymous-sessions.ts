// Limits anonymous sessions per network: beyond the limit the network's oldest session is deleted. Counted per process.
import { subnetOf } from '../../base/network-address.ts'

/** The key of an anonymous session's row. */
interface AnonymousSession {
  readonly zoneId: string
  readonly idDigest: string
}

const MAX_PER_NETWORK = 500
/** Networks that are counted at once; the least recently used one is dropped first. */
const MAX_NETWORKS = 1000
/** Entries of all networks, some 100 bytes each. */
const MAX_ALL = 200_000

/** The anonymous sessions of one purpose. */
export type AnonymousSessions = ReturnType<typeof createAnonymousSessions>

/** Counts rows per network (see `subnetOf`); `add` returns the row to delete in exchange for the new one, if any. */
export function createAnonymousSessions(max = MAX_PER_NETWORK) {
  const networks = new Map<string, AnonymousSession[]>()
  let count = 0
  return {
    add(address: string, session: AnonymousSession): AnonymousSession | undefined {
      const network = subnetOf(address)
      const rows = networks.get(network) ?? []
      networks.delete(network)
      networks.set(network, rows)
      rows.push(session)
      const excess = rows.length > max ? rows.shift() : undefined
      if (!excess) count += 1
      for (const [oldest, { length }] of networks) {
        if (networks.size <= MAX_NETWORKS && count <= MAX_ALL) break
        networks.delete(oldest)
        count -= length
      }
      return excess
    },
  }
}
