// The rows of visitors who are not signed in: whoever makes many of them loses their own oldest ones. Each process counts
// those that it made.
import { subnetOf } from '../base/network-address.ts'

/** A row. */
export interface AnonymousSession {
  readonly zoneId: string
  readonly idDigest: string
}

const MAX_PER_NETWORK = 500
/** Of networks whose rows are counted; the one that made none for the longest time is forgotten first. */
const MAX_NETWORKS = 1000

/** Counts the rows of each network; `add` answers the row that must go for the new one, if any. */
export function createAnonymousSessions(most = MAX_PER_NETWORK) {
  const networks = new Map<string, AnonymousSession[]>()
  return {
    add(address: string, session: AnonymousSession): AnonymousSession | undefined {
      const network = subnetOf(address)
      const rows = networks.get(network) ?? []
      networks.delete(network)
      networks.set(network, rows)
      if (networks.size > MAX_NETWORKS) {
        const oldest = networks.keys().next()
        if (!oldest.done) networks.delete(oldest.value)
      }
      rows.push(session)
      return rows.length > most ? rows.shift() : undefined
    },
  }
}
