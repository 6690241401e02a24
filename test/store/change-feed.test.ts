// How one node learns what another one changes in PostgreSQL: by notifications, by reading a table, through a pooler.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { changeNumberOf, readChange } from '../../src/store/changes.ts'
import { createChangeTail } from '../../src/store/engine/postgres/change-tail.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { startPgBouncer, withoutPgBouncer } from '../support/pgbouncer.ts'
import { administer } from '../support/postgres.ts'
import { inTime } from './cases.ts'
import { client, key, token, zone } from './records.ts'

const isFast = !DATABASE_KINDS.includes('postgres') && 'a fast run has no PostgreSQL'

describe('Changes by another node', { skip: isFast }, () => {
  let database: TestDatabase
  before(async () => {
    database = await freshDatabase('postgres')
  })
  after(() => database.drop())

  async function withNodes(
    { url = database.url, changes }: { url?: string; changes?: 'listen' | 'poll' },
    test: (writer: Store, reader: Store, errors: readonly unknown[]) => Promise<void>,
  ): Promise<void> {
    const errors: unknown[] = []
    const open = (): Promise<Store> =>
      openStore(url, { clock: systemClock, changes, onError: error => errors.push(error) })
    const [writer, reader] = [await open(), await open()]
    try {
      await test(writer, reader, errors)
    } finally {
      await Promise.all([writer.close(), reader.close()])
    }
  }
  const nameOf = async (store: Store, clientId: string): Promise<unknown> =>
    (await store.clients.find('z1', clientId))?.name

  it('are polled from the table when notifications are off', () =>
    withNodes({ changes: 'poll' }, async (writer, reader, errors) => {
      await writer.clients.insert('z1', client({ clientId: 'polled', name: 'old' }))
      assert.equal(await nameOf(reader, 'polled'), 'old')
      await writer.clients.update('z1', client({ clientId: 'polled', name: 'new' }))
      await inTime('new', () => nameOf(reader, 'polled'))
      assert.deepEqual(errors, [])
    }))

  it('are received even if committed later than subsequent ones', () =>
    withNodes({ changes: 'poll' }, async (writer, reader) => {
      const [slow, lost] = ['slow', 'lost'].map(() => new Client({ connectionString: database.url }))
      assert.ok(slow && lost)
      await Promise.all([slow.connect(), lost.connect()])
      await writer.clients.insert('z1', client({ clientId: 'slow', name: 'old' }))
      await writer.clients.insert('z1', client({ clientId: 'quick', name: 'old' }))
      const announce = `insert into changes (change, changed_at) values ('["clients","z1","slow"]', 0)`
      await slow.query(`begin; update clients set name = 'new' where client_id = 'slow'; ${announce}`)
      await lost.query(`begin; ${announce}; rollback`)
      await nameOf(reader, 'slow')
      await nameOf(reader, 'quick')
      await writer.clients.update('z1', client({ clientId: 'quick', name: 'new' }))
      await inTime('new', () => nameOf(reader, 'quick'))
      assert.equal(await nameOf(reader, 'slow'), 'old')
      await slow.query('commit')
      await inTime('new', () => nameOf(reader, 'slow'))
      // Also of a transaction that was open when the reader began.
      await slow.query(`begin; update clients set name = 'newer' where client_id = 'slow'; ${announce}`)
      await writer.clients.update('z1', client({ clientId: 'quick', name: 'newer' }))
      await withNodes({ changes: 'poll' }, async (_, late) => {
        assert.equal(await nameOf(late, 'slow'), 'new')
        await slow.query('commit')
        await inTime('newer', () => nameOf(late, 'slow'))
      })
      await Promise.all([slow.end(), lost.end()])
    }))

  it('clear the cache if there are too many, or one is unreadable', () =>
    withNodes({ changes: 'poll' }, async (writer, reader) => {
      await writer.clients.insert('z1', client({ clientId: 'many', name: '0' }))
      const noise = [
        `insert into changes (change, changed_at) select '["clients","z1","x"]', 0 from generate_series(1, 1500)`,
        `insert into changes (change, changed_at) values ('["later","z1","x"]', 0)`,
        `select setval('changes_id_seq', (select last_value + 100000 from changes_id_seq))`,
      ]
      for (const [index, statement] of noise.entries()) {
        assert.equal(await nameOf(reader, 'many'), String(index))
        const name = String(index + 1)
        await administer(database.url, `update clients set name = '${name}' where client_id = 'many'`, statement)
        // A gap shows with the next change.
        await writer.clients.insert('z1', client({ clientId: `next-${index}` }))
        await inTime(name, () => nameOf(reader, 'many'))
      }
    }))

  it('are applied once: from a notification, the process itself or the table', async () => {
    await (await openStore(database.url, { clock: systemClock })).close()
    const types = { getTypeParser: (oid: number) => (oid === 20 ? Number : String) }
    const client = new Client({ connectionString: database.url, types })
    await client.connect()
    const reported: string[] = []
    const tail = createChangeTail({
      changed: ({ key }) => reported.push(key),
      missed: () => reported.push('everything'),
    })
    const announce = async (key: string): Promise<number> => {
      const { rows } = await client.query<{ id: number }>(
        `insert into changes (change, changed_at) values ('["clients","z1","${key}"]', 0) returning id`,
      )
      return Number(rows[0]?.id)
    }
    await announce('before')
    await tail.begin(client)
    tail.received(await announce('heard'))
    const read = await announce('read')
    await tail.read(client)
    tail.received(read)
    await announce('next')
    const own = await announce('own')
    assert.deepEqual([tail.received(own), tail.received(own)], [true, false]) // committed here, then heard as a notification
    await tail.read(client)
    await tail.read(client)
    assert.deepEqual(reported, ['read', 'next'])
    await client.end()
  })

  it('are numbered in notifications, compatibly with older versions', async () => {
    const heard: string[] = []
    const listening = new Client({ connectionString: database.url })
    await listening.connect()
    listening.on('notification', ({ payload = '' }) => heard.push(payload))
    await listening.query('listen latchkey_changes')
    await withNodes({}, async writer => {
      await writer.clients.insert('z1', client({ clientId: 'a]",5' }))
      await writer.clients.insert('z1', client({ clientId: 'x'.repeat(7950) }))
      await inTime(2, async () => heard.length)
    })
    await listening.end()
    const [short = '', long = ''] = heard
    assert.deepEqual(readChange(short), { kind: 'clients', zoneId: 'z1', key: 'a]",5' })
    assert.match(short, /,\d+\]$/)
    assert.equal(changeNumberOf(short), Number(/(\d+)\]$/.exec(short)?.[1]))
    assert.match(long, /^\d+$/)
    assert.deepEqual(
      [readChange(long), changeNumberOf(long), changeNumberOf('["clients","z1","a,5]"]')],
      [undefined, undefined, undefined],
    )
  })

  describe('behind PgBouncer in transaction mode', { skip: withoutPgBouncer }, () => {
    it('are received in time without session features', async () => {
      const fresh = await freshDatabase('postgres')
      const bouncer = await startPgBouncer(fresh.url)
      try {
        // Two that migrate at once: the lock is one of a transaction.
        await withNodes({ url: bouncer.url }, async (writer, reader, errors) => {
          await writer.zones.insert(zone())
          await writer.clients.insert('z1', client({ name: 'old' }))
          assert.equal(await nameOf(reader, 'app'), 'old')
          assert.equal(await reader.clients.find('z1', 'app'), await reader.clients.find('z1', 'app'), 'is cached')
          await writer.clients.update('z1', client({ name: 'new' }))
          await inTime('new', () => nameOf(reader, 'app'))
          const digests = Array.from({ length: 100 }, (_, number) => `t${number}`)
          await Promise.all(
            digests.map((idDigest, index) => (index % 2 ? writer : reader).tokens.insert('z1', token({ idDigest }))),
          )
          const found = await Promise.all(digests.map(idDigest => writer.tokens.find('z1', idDigest)))
          assert.ok(found.every(each => each !== undefined))
          const keys = await Promise.all(
            [writer, reader].map((store, index) =>
              store.keys.saveFirst('z1', key({ keyId: `k${index}`, active: true })),
            ),
          )
          assert.deepEqual(keys[0], keys[1])
          assert.deepEqual(errors, [])
        })
        const sessions = new Client({ connectionString: fresh.url })
        await sessions.connect()
        const { rows } = await sessions.query<{ count: string }>(
          `select count(*) from pg_stat_activity where query ilike 'listen%' and datname = current_database()`,
        )
        assert.equal(Number(rows[0]?.count), 0)
        await sessions.end()
      } finally {
        await bouncer.stop()
        await fresh.drop()
      }
    })
  })
})
