// Searches on real standby servers that stream from a real primary.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { parseFilter } from '../../src/model/filters/filter.ts'
import { statement } from '../../src/store/database.ts'
import type { Database } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/engine/open-database.ts'
import { openStore } from '../../src/store/open.ts'
import type { ReplicaChange } from '../../src/store/search-servers.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { onThisMachine } from '../support/busy-machine.ts'
import { freePort } from '../support/free-port.ts'
import { administer, postgresUrl, startPostgres, startStandby } from '../support/postgres.ts'
import type { OwnPostgres } from '../support/postgres.ts'
import { serve } from '../support/process.ts'
import { inTime } from './cases.ts'
import { group } from './records.ts'

const isFast = process.env['LATCHKEY_TEST_FAST'] !== undefined
/** The maximum duration of a search on a failing replica. */
const PROMPT_MS = 2000

const WHERE = statement<object, { where: string }>(
  `select case when pg_is_in_recovery() then 'replica' else 'primary' end as where`,
)
const SLOW = statement<{ seconds: number }, { where: string }>(
  `select case when pg_is_in_recovery() then 'replica' else 'primary' end as where
   from pg_sleep(case when pg_is_in_recovery() then cast(:seconds as float) else 0 end)`,
)
/** Waits on a replica for its lock. Locks belong to one database. */
const HELD = statement<object, { where: string }>(
  `select case when pg_is_in_recovery() then 'replica' else 'primary' end as where
   from (select case when pg_is_in_recovery() then pg_advisory_xact_lock_shared(1) end) held`,
)
const ADD = statement<{ id: number }>(`insert into written (id) values (:id)`)
const COUNT = statement<object, { count: number; where: string }>(
  `select count(*) as count, case when pg_is_in_recovery() then 'replica' else 'primary' end as where from written`,
)

describe('Read replicas of PostgreSQL', { skip: isFast && 'a fast run has no PostgreSQL' }, () => {
  let primary: OwnPostgres
  let standby: OwnPostgres
  let url: string
  let replicaUrl: string
  let db: Database
  const changes: ReplicaChange[] = []
  before(async () => {
    primary = await startPostgres()
    await administer(primary.url, 'create database one template template0')
    url = databaseOf(primary, 'one')
    await (await openStore(url, { clock: systemClock })).close() // makes the tables
    await administer(url, 'create table written (id bigint)')
    await administer(primary.url, 'create database two template one') // its tables have the same numbers
    standby = await startStandby(primary)
    replicaUrl = databaseOf(standby, 'one')
    db = await open(url, [replicaUrl], change => changes.push(change))
    await untilUsed(db)
  })
  after(async () => {
    for (const server of [standby, primary]) if (server?.isRunning()) await server.kill()
    await db?.close() // last, as one that hangs must not keep the servers
  })

  const open = (
    from: string,
    urls: readonly string[],
    onChange: (change: ReplicaChange) => unknown = () => {},
  ): Promise<Database> =>
    openDatabase(from, {
      clock: systemClock,
      listener: { changed() {}, missed() {} },
      onError: () => {},
      replicas: { urls, onChange },
    })

  const whereOf = async (of: Database): Promise<string | undefined> => (await of.search(WHERE, {}))[0]?.where
  const untilUsed = (of: Database): Promise<void> => inTime('replica', () => whereOf(of))
  const searchesOf = (of: Pick<Database, 'searchServers'>): readonly number[] =>
    of.searchServers?.().map(({ searches }) => searches) ?? []

  /** That a replica is not used, and why not. */
  async function refusal(from: string, replica: string): Promise<string | undefined> {
    const reported: ReplicaChange[] = []
    const refused = await open(from, [replica], change => reported.push(change))
    try {
      await inTime(1, () => Promise.resolve(reported.length))
      assert.equal(await whereOf(refused), 'primary')
      assert.deepEqual(
        reported.map(({ isUsed }) => isUsed),
        [false],
      )
      return reported[0]?.reason
    } finally {
      await refused.close()
    }
  }

  it('answer only searches', async () => {
    await untilUsed(db)
    assert.deepEqual(await db.read(WHERE, {}), [{ where: 'primary' }])
    assert.deepEqual(await db.scan(WHERE, {}), [{ where: 'primary' }])
    assert.deepEqual(changes, [{ name: new URL(standby.url).host, isUsed: true }])
  })

  it('answer long lists and the audit trail, but not indexed or short lists', async t => {
    const replicas = { urls: [replicaUrl], onChange: () => {} }
    const store = await openStore(url, { clock: systemClock, replicas })
    t.after(() => store.close())
    await store.groups.insert('z1', group({ displayName: 'cloud.read' }))
    const list = async (filter: string): Promise<number> => {
      const query = { sortBy: 'displayName', descending: false, startIndex: 1, count: 10 }
      return (await store.groups.list('z1', { ...query, filter: parseFilter(filter) })).totalResults
    }
    await inTime(true, () => Promise.resolve(store.searchServers()[1]?.isUsed))
    assert.equal(await list('displayName co "read"'), 1)
    await administer(
      url,
      `insert into groups (zone_id, id, display_name, display_name_lower, version, created_at, updated_at)
       select 'z1', 'm' || n, 'many.' || n, 'many.' || n, 0, 0, 0 from generate_series(1, 1500) n`,
    )
    assert.equal(await list('id eq "m7"'), 1)
    assert.equal(await list('id gt "m"'), 1500)
    assert.deepEqual(searchesOf(store), [0, 0])
    // Of each, there are two statements.
    await inTime(4, async () => {
      const [, before = 0] = searchesOf(store)
      assert.equal(await list('displayName co "many.1"'), 612)
      await store.audit.find('z1', { count: 10 })
      return (searchesOf(store)[1] ?? 0) - before
    })
  })

  it('show preceding writes by this or another node', async () => {
    let answered = 0
    for (let id = 1; id <= 50; id += 1) {
      if (id % 2 === 0) await db.write(ADD, { id })
      else await administer(url, `insert into written (id) values (${id})`)
      const [row] = await db.search(COUNT, {})
      assert.equal(row?.count, id)
      if (row.where === 'replica') answered += 1
    }
    assert.ok(answered > 0)
  })

  it('show preceding writes even with asynchronous commit', async t => {
    await administer(url, 'create table noted (id bigint)')
    const hasty = await open(`${url}?options=-csynchronous_commit%3Doff`, [replicaUrl])
    t.after(() => hasty.close())
    await untilUsed(hasty)
    const note = statement<{ id: number }>(`insert into noted (id) values (:id)`)
    const count = statement<object, { count: number }>(`select count(*) as count from noted`)
    for (let id = 1; id <= 10; id += 1) {
      await hasty.write(note, { id })
      assert.deepEqual(await hasty.search(count, {}), [{ count: id }])
    }
  })

  it('are skipped until they have replayed committed writes', async () => {
    await administer(standby.url, 'select pg_wal_replay_pause()')
    try {
      await inTime('paused', async () => {
        const [state] = await openAndRead(standby.url, `select pg_get_wal_replay_pause_state() as state`)
        return state
      })
      await db.write(ADD, { id: 51 })
      const begin = performance.now()
      assert.deepEqual(await db.search(COUNT, {}), [{ count: 51, where: 'primary' }])
      assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS))
    } finally {
      await administer(standby.url, 'select pg_wal_replay_resume()')
    }
    await untilUsed(db)
    assert.equal(changes.length, 1, 'a short lag is not logged')
  })

  it('pass a failed statement to the primary, and remain in use', async () => {
    const fails = statement<object, { n: number }>(`select 1 / (case when pg_is_in_recovery() then 0 else 1 end) as n`)
    assert.deepEqual(await db.search(fails, {}), [{ n: 1 }])
    await untilUsed(db)
    assert.equal(changes.length, 1)
  })

  it('pass searches beyond their limit to the primary', async t => {
    const holder = await connected(replicaUrl)
    t.after(() => holder.end())
    await holder.query('select pg_advisory_lock(1)')
    let left = 0
    const searches = Array.from({ length: 15 }, async () => {
      const [row] = await db.search(HELD, {})
      if (row?.where === 'primary') left += 1
      return row?.where
    })
    await inTime(5, () => Promise.resolve(left))
    await holder.query('select pg_advisory_unlock(1)')
    const answered = (await Promise.all(searches)).filter(where => where === 'replica').length
    assert.equal(answered, 10)
    await untilUsed(db)
  })

  it('share the searches', async t => {
    const other = new URL(replicaUrl)
    other.hostname = 'localhost'
    const both = await open(url, [replicaUrl, other.href])
    t.after(() => both.close())
    await inTime(true, async () => both.searchServers?.().every(({ isUsed }) => isUsed !== false))
    await inTime(true, async () => {
      await both.search(WHERE, {})
      return searchesOf(both).every((searches, server) => server === 0 || searches > 1)
    })
  })

  const ways: readonly { name: string; away: () => unknown; back: () => unknown; reason: RegExp }[] = [
    {
      name: 'are killed',
      away: () => standby.kill(),
      back: () => standby.restart(),
      reason: /^terminating|terminated/i,
    },
    { name: 'are frozen', away: () => standby.freeze(), back: () => standby.thaw(), reason: /^it does not answer/ },
  ]
  for (const { name, away, back, reason } of ways) {
    it(`that ${name} do not block searches, even in progress, and are used again later`, async () => {
      await untilUsed(db)
      changes.length = 0
      const underWay = db.search(SLOW, { seconds: 5 })
      await inTime(1, async () => {
        const sleeping = `select count(*) as state from pg_stat_activity where wait_event = 'PgSleep'`
        return (await openAndRead(standby.url, sleeping))[0]
      })
      const begin = performance.now()
      await away()
      try {
        assert.deepEqual(await underWay, [{ where: 'primary' }])
        assert.equal(await whereOf(db), 'primary')
        assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS), `it took ${performance.now() - begin} ms`)
        await inTime(1, () => Promise.resolve(changes.length))
        assert.match(changes[0]?.reason ?? '', reason)
      } finally {
        await back()
      }
      await untilUsed(db)
      assert.deepEqual(
        changes.map(({ isUsed }) => isUsed),
        [false, true],
      )
    })
  }

  it('are rejected if of another database or cluster', async () => {
    const different = /^it is a standby of another database/
    assert.match((await refusal(url, databaseOf(standby, 'two'))) ?? '', different)
    // A database that has the same number in both clusters.
    const other = databaseOf({ url: await postgresUrl() }, 'template1')
    assert.match((await refusal(other, databaseOf(standby, 'template1'))) ?? '', different)
    assert.match((await refusal(url, url)) ?? '', /^it is not a standby/)
  })

  it('are rejected if the account may not compare clusters', async () => {
    const plain = new URL(url)
    plain.username = plain.password = 'plain'
    await administer(
      url,
      `create role plain login password 'plain'`,
      'revoke execute on function pg_control_system() from public',
    )
    assert.match((await refusal(plain.href, replicaUrl)) ?? '', /permission denied for function pg_control_system/)
    await administer(url, 'grant execute on function pg_control_system() to public')
  })

  it('are reported in metrics and the log', async t => {
    const port = await freePort()
    const server = await serve({
      config: {
        database: url,
        database_options: { read_replicas: [new URL(standby.url).host] },
        listen: { management: { port } },
      },
    })
    t.after(() => server.stop())
    await server.printed(/the replica 127\.0\.0\.1:\d+ answers searches/)
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const { host } = new URL(standby.url)
    assert.ok(text.includes(`latchkey_replica_used{server="${host}"} 1\n`))
    assert.ok(text.includes(`latchkey_database_searches_total{server="primary"} 0\n`))
    assert.ok(text.includes(`latchkey_database_searches_total{server="${host}"} 0\n`))
  })

  it('are not used once promoted, nor after a failover of the primary', async t => {
    const promoted = await startStandby(primary)
    t.after(() => promoted.kill())
    const reported: ReplicaChange[] = []
    const before = await open(url, [databaseOf(promoted, 'one')], change => reported.push(change))
    t.after(() => before.close())
    await untilUsed(before)
    await administer(promoted.url, 'select pg_promote()')
    assert.equal(await whereOf(before), 'primary')
    await inTime(false, () => Promise.resolve(reported.at(-1)?.isUsed))
    assert.match(reported.at(-1)?.reason ?? '', /promoted/)
    // The standby of the earlier primary has replayed more than the new one has written, and none of that.
    await administer(url, 'insert into written select generate_series(1, 10000)')
    assert.match((await refusal(databaseOf(promoted, 'one'), replicaUrl)) ?? '', /failover/)
  })

  it('answer no search during an outage of the primary', async () => {
    await untilUsed(db)
    await primary.kill()
    const begin = performance.now()
    await assert.rejects(whereOf(db), StoreUnavailable)
    assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS))
    assert.deepEqual(await openAndRead(standby.url, 'select 1 as state'), [1])
  })
})

function databaseOf(server: Pick<OwnPostgres, 'url'>, name: string): string {
  const url = new URL(server.url)
  url.pathname = `/${name}`
  return url.href
}

/** The column `state` of each row. */
async function openAndRead(url: string, text: string): Promise<readonly unknown[]> {
  const client = await connected(url)
  try {
    const { rows } = await client.query<{ state: unknown }>(text)
    return rows.map(({ state }) => (typeof state === 'string' && /^\d+$/.test(state) ? Number(state) : state))
  } finally {
    await client.end()
  }
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}
