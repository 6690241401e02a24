import { requiredAlgorithms } from '../../clients/in-zone.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import type { Store } from '../../store/store.ts'

const PAGE_SIZE = 500
const MAX_NAMES = 10

/**
 * Names the clients of the zone that require signatures by the algorithm although no key of the zone makes them; empty if
 * there are none. Does not know other zones, which may sign with the keys of this one.
 */
export async function unsignedClients(
  zoneId: string,
  algorithm: SigningAlgorithm,
  { keys, clients }: Pick<Store, 'keys' | 'clients'>,
): Promise<string> {
  const isSigning = (await keys.list(zoneId)).some(
    key => key.algorithm === algorithm && key.sealedPrivateKey !== undefined && key.expiresAt === undefined,
  )
  if (isSigning) return ''
  const ids: string[] = []
  const query = { filter: { kind: 'present', attribute: 'client_id' }, sortBy: 'client_id', descending: false } as const
  let hasMore = true
  for (let startIndex = 1; hasMore; startIndex += PAGE_SIZE) {
    const { records } = await clients.list(zoneId, { ...query, startIndex, count: PAGE_SIZE })
    const concerned = records.filter(client => requiredAlgorithms(client).includes(algorithm))
    ids.push(...concerned.map(({ clientId }) => clientId.replace(/[^\x20-\x7e]/g, '?')))
    hasMore = records.length === PAGE_SIZE
  }
  if (ids.length === 0) return ''
  const names = `${ids.slice(0, MAX_NAMES).join(', ')}${ids.length > MAX_NAMES ? ', …' : ''}`
  const who = ids.length === 1 ? 'a client requires it' : `${ids.length} clients require it`
  return `No key signs with ${algorithm} now, but ${who}: ${names}. Their requests fail until you add such a key.\n`
}
