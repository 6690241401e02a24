import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonRecord } from '../../base/json.ts'
import type { Store, ZoneState } from '../../store/store.ts'

/** Zones read and written at a time. */
const CHUNK_SIZE = 50

/**
 * Streams all zones as one JSON array, since the interface has no pages, at the pace of the reader: ten thousand zones
 * do not block other requests and are never all in memory. Rejects if the database is unavailable; if it fails later,
 * the response is aborted.
 */
export async function listOfZones(
  store: Pick<Store, 'zones'>,
  toJson: (state: ZoneState) => JsonRecord,
): Promise<Readable> {
  const first = await store.zones.list({ count: CHUNK_SIZE })
  async function* pieces(): AsyncGenerator<string> {
    let before = '['
    for (
      let piece = first;
      piece.length > 0;
      piece = await store.zones.list({ count: CHUNK_SIZE, after: piece.at(-1) })
    ) {
      yield before + piece.map(state => JSON.stringify(toJson(state))).join(',')
      before = ','
      await nextTurn()
    }
    yield before === '[' ? '[]' : ']'
  }
  return Readable.from(pieces())
}
