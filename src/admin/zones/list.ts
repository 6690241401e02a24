import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonRecord } from '../../base/json.ts'
import type { Store, ZoneState } from '../../store/store.ts'

/** The zones that are read and written in one go. */
const PIECE = 50

/**
 * All zones as one JSON array, of which the interface knows no pages. They are read and written piece by piece, at the pace
 * of who asked: ten thousand keep nobody else waiting, and are never in memory together. Rejects for a database that is
 * gone; when it goes later, the answer breaks off.
 */
export async function listOfZones(
  store: Pick<Store, 'zones'>,
  toJson: (state: ZoneState) => JsonRecord,
): Promise<Readable> {
  const first = await store.zones.list({ count: PIECE })
  async function* pieces(): AsyncGenerator<string> {
    let before = '['
    for (let piece = first; piece.length > 0; piece = await store.zones.list({ count: PIECE, after: piece.at(-1) })) {
      yield before + piece.map(state => JSON.stringify(toJson(state))).join(',')
      before = ','
      await nextTurn()
    }
    yield before === '[' ? '[]' : ']'
  }
  return Readable.from(pieces())
}
