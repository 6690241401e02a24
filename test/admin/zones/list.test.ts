import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { listOfZones } from '../../../src/admin/zones/list.ts'
import type { JsonRecord } from '../../../src/base/json.ts'
import type { Store, ZoneState } from '../../../src/store/store.ts'
import { zone } from '../../store/records.ts'
import { sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'

type Zones = Pick<Store, 'zones'>

const states = (count: number): ZoneState[] =>
  Array.from({ length: count }, (_, number) => ({ zone: zone({ id: `z${number}` }), revision: 0 }))

/** A store of these zones; `onPage` receives the number of pages requested before. */
function storeOf(all: readonly ZoneState[], onPage: (pages: number) => void = () => {}): Zones {
  let pages = 0
  const list: Store['zones']['list'] = ({ count, after }) => {
    onPage(pages)
    pages += 1
    const start = after ? all.indexOf(after) + 1 : 0
    return Promise.resolve(all.slice(start, start + count))
  }
  return { zones: { list } } as Zones // the list calls nothing else
}

const idOnly = ({ zone: { id } }: ZoneState): JsonRecord => ({ id })

describe('listOfZones', () => {
  for (const count of [0, 1, 49, 50, 51, 100, 1234]) {
    it(`streams one array of ${count} zones`, async () => {
      const all = states(count)
      const written: unknown = JSON.parse(await text(await listOfZones(storeOf(all), idOnly)))
      assert.deepEqual(written, all.map(idOnly))
    })
  }

  it('yields to the event loop between chunks', async () => {
    const turns = new Set<number>()
    let turn = 0
    let isOver = false
    const next = (): void => {
      turn += 1
      if (!isOver) setImmediate(next)
    }
    setImmediate(next)
    await text(await listOfZones(storeOf(states(1000)), state => (turns.add(turn), idOnly(state))))
    isOver = true
    assert.ok(turns.size >= 1000 / 100, `the zones were written in ${turns.size} turns`)
  })

  it('applies back-pressure', async () => {
    let asked = 0
    const list = await listOfZones(
      storeOf(states(10_000), pages => {
        asked = pages
      }),
      idOnly,
    )
    for (let turn = 0; turn < 100; turn += 1) await new Promise(resolve => setImmediate(resolve))
    assert.ok(asked < 2, `${asked} pages were read too early`)
    assert.equal(JSON.parse(await text(list)).length, 10_000)
  })

  it('rejects if the first page fails', async () => {
    const gone = storeOf([], () => {
      throw new Error('gone')
    })
    await assert.rejects(async () => listOfZones(gone, idOnly), /gone/)
  })

  it('fails with truncated JSON if a later page fails', async () => {
    const going = storeOf(states(1000), pages => {
      if (pages === 3) throw new Error('gone')
    })
    const list = await listOfZones(going, idOnly)
    let written = ''
    await assert.rejects(async () => {
      for await (const piece of list) written += String(piece)
    }, /gone/)
    assert.ok(written.startsWith('[{"id":"z0"}'))
    assert.throws(() => JSON.parse(written))
  })

  it('returns each zone exactly once over HTTP', async () => {
    const server = await startZoneServer({})
    try {
      const ids = Array.from({ length: 120 }, (_, number) => `many-${number}`)
      for (const id of ids) await server.store.zones.insert(zone({ id, subdomain: id }))
      const bearer = await tokenOf(server, 'root')
      const answer = await sendJson(server, 'GET', '/identity-zones', undefined, { bearer })
      const listed = answer.json<{ readonly id: string }[]>().map(({ id }) => id)
      assert.equal(new Set(listed).size, listed.length)
      for (const id of ['svc', 'z1', ...ids]) assert.ok(listed.includes(id), id)
    } finally {
      await server.stop()
    }
  })
})
