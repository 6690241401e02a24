import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import type { User } from '../../src/model/users/user.ts'
import { statement } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/engine/postgres/postgres.ts'
import { clientConfig, createConnections } from '../../src/store/engine/postgres/connections.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnreachable, StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyDatabase, freshDatabase } from '../support/databases.ts'
import { administer } from '../support/postgres.ts'
import { storeCases, inTime } from './cases.ts'
import { at, client, session, token, user } from './records.ts'

describe('The store on PostgreSQL', () => storeCases('postgres'))

async function withDatabase(test: (store: Store, url: string, errors: unknown[]) => Promise<void>): Promise<void> {
  const database = await freshDatabase('postgres')
  const errors: unknown[] = []
  const store = await openStore(database.url, { clock: systemClock, onError: error => errors.push(error) })
  try {
    await test(store, database.url, errors)
  } finally {
    await store.close()
    await database.drop()
  }
}

describe('A transaction of an unresponsive process', () => {
  it('is ended by PostgreSQL, which releases its locks', async t => {
    const database = await freshDatabase('postgres')
    const listener = { changed: () => {}, missed: () => {} }
    const db = await openPostgres(database.url, { clock: systemClock, listener, onError: () => {} })
    t.after(async () => {
      await db.close()
      await database.drop()
    })
    const setting = statement<object, { value: string }>(
      `select current_setting('idle_in_transaction_session_timeout') as value`,
    )
    const { rows } = await db.transaction(within => within.run(setting, {}))
    assert.deepEqual(rows, [{ value: '10s' }])
  })
})

describe('A statement that nobody waits for any more', () => {
  it('is ended by PostgreSQL', async t => {
    const database = await freshDatabase('postgres')
    t.after(() => database.drop())
    const connections = createConnections({
      url: database.url,
      bounds: { slots: 1, maxWaiting: 1, maxWaitMs: 1000 },
      isUnreachable: () => false,
      onError: () => {},
    })
    const working = connections.withClient(client =>
      connections.run(client, statement<object, object>(`select pg_sleep(60)`), {}),
    )
    const sleeping = async (): Promise<unknown> => {
      const observer = new Client({ connectionString: database.url })
      await observer.connect()
      const { rowCount } = await observer.query(
        `select 1 from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(60)' and state = 'active'`,
      )
      await observer.end()
      return rowCount
    }
    await inTime(1, sleeping)
    connections.abandon()
    await assert.rejects(working)
    await inTime(0, sleeping)
    await connections.end()
  })
})

const DISCONNECT = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'latchkey'`

/** A way to the database on which the connection that listens for changes can fall silent without ending. */
async function silencingProxy(target: URL): Promise<{ url: string; silence(): void; close(): void }> {
  const sockets = new Set<Socket>()
  let listening: Socket | undefined
  const server = createServer(near => {
    const far = connect(Number(target.port), target.hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => [near, far].forEach(end => end.destroy()))
    }
    near.on('data', chunk => {
      if (chunk.includes('listen latchkey_changes')) listening = far
      far.write(chunk)
    })
    far.on('data', chunk => near.write(chunk))
  })
  const port = await freePort(server)
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    silence: () => listening?.pause(),
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function freePort(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

describe('A PostgreSQL store', () => {
  it('clears its cache when notifications stop, and listens again', async t => {
    const database = await freshDatabase('postgres')
    t.after(() => database.drop())
    const first = await openStore(database.url, { clock: systemClock })
    await first.clients.insert('z1', client({ name: 'old' }))
    await first.close()
    const proxy = await silencingProxy(new URL(database.url))
    t.after(() => proxy.close())
    const store = await openStore(proxy.url, { clock: systemClock })
    t.after(() => store.close())
    const ask = async (): Promise<unknown> => (await store.clients.find('z1', 'app'))?.name
    const isRemembered = async (): Promise<boolean> =>
      (await store.clients.find('z1', 'app')) === (await store.clients.find('z1', 'app'))
    await inTime(true, isRemembered)
    assert.equal(await ask(), 'old')
    proxy.silence()
    await administer(database.url, `update clients set name = 'new'`)
    await inTime('new', ask)
    assert.equal(store.isUnreachable(), false)
    await inTime(true, isRemembered)
  })

  it('clears its cache when connections break, and continues', () =>
    withDatabase(async (store, url, errors) => {
      await store.clients.insert('z1', client({ name: 'old' }))
      assert.equal((await store.clients.find('z1', 'app'))?.name, 'old')
      // No news of this change can arrive.
      await administer(url, DISCONNECT, `update clients set name = 'new'`)
      await inTime('new', async () => {
        try {
          return (await store.clients.find('z1', 'app'))?.name
        } catch (error) {
          assert.ok(error instanceof StoreUnavailable)
          return 'unavailable'
        }
      })
      assert.ok(errors.length > 0)
      await store.tokens.insert('z1', token())
      await administer(
        url,
        `update clients set name = 'newer'; select pg_notify('latchkey_changes', '["clients","z1","app"]')`,
      )
      await inTime('newer', async () => (await store.clients.find('z1', 'app'))?.name)
    }))

  it('clears its cache at an unreadable notification', () =>
    withDatabase(async (store, url) => {
      for (const [index, news] of ['', 'x', '[]', '["later","z1","app"]'].entries()) {
        const clientId = `app-${index}`
        await store.clients.insert('z1', client({ clientId, name: 'old' }))
        await store.clients.find('z1', clientId)
        await administer(url, `update clients set name = 'new'; select pg_notify('latchkey_changes', '${news}')`)
        await inTime('new', async () => (await store.clients.find('z1', clientId))?.name)
      }
    }))

  it('reports an unknown database or wrong password as unavailable', async () => {
    const database = await freshDatabase('postgres')
    const missing = new URL(database.url)
    missing.pathname = '/there_is_none'
    const isLasting = (error: unknown): boolean =>
      error instanceof StoreUnavailable && !(error instanceof StoreUnreachable)
    await assert.rejects(openStore(missing.href, { clock: systemClock }), isLasting)
    const wrong = new URL(database.url)
    if (process.env['LATCHKEY_TEST_POSTGRES'] === undefined) {
      wrong.password = 'wrong'
      await assert.rejects(openStore(wrong.href, { clock: systemClock }), isLasting)
    }
    await database.drop()
  })

  it('reports missing permission to create tables in one line', async () => {
    const database = await emptyDatabase('postgres')
    const url = new URL(database.url)
    const role = `guest_${process.pid}`
    await administer(database.url, `create role ${role} login password 'x'`)
    url.username = role
    url.password = 'x'
    await assert.rejects(openStore(url.href, { clock: systemClock }), error => {
      assert.ok(error instanceof StoreUnavailable)
      assert.match(
        error.message,
        /^the database refuses: permission denied for schema public; its account has to own the database, or /,
      )
      return true
    })
    await administer(database.url, `drop role ${role}`)
    await database.drop()
  })

  it('requires a verified certificate in every mode that pg reads so, without a warning of pg', () => {
    const urlOf = (query: string) => clientConfig(`postgres://u:p@db.example/x?${query}`).connectionString
    for (const mode of ['prefer', 'require', 'verify-ca']) {
      assert.equal(urlOf(`sslmode=${mode}&a=1`), 'postgres://u:p@db.example/x?sslmode=verify-full&a=1')
      assert.match(urlOf(`uselibpqcompat=true&sslmode=${mode}`), new RegExp(`sslmode=${mode}$`))
    }
    assert.match(urlOf('sslmode=disable'), /sslmode=disable$/)
  })

  it('reports a refused connection in one line without the password', async () => {
    const server = createServer()
    const port = await freePort(server)
    await new Promise(resolve => server.close(resolve))
    const url = `postgres://latchkey:hidden@127.0.0.1:${port}/latchkey`
    await assert.rejects(openStore(url, { clock: systemClock }), (error: unknown) => {
      assert.ok(error instanceof StoreUnreachable)
      assert.match(error.message, /^the database cannot be reached: [^\n]+$/)
      assert.ok(!error.message.includes('hidden'))
      return true
    })
  })

  const endsReads = (url: string, times: number) =>
    administer(
      url,
      'create sequence reads',
      `create function ended_first() returns boolean language plpgsql as $$ begin
         if nextval('reads') <= ${times} then raise exception 'deadlock detected' using errcode = '40P01'; end if;
         return true; end $$`,
      'alter table sessions rename to all_sessions',
      'create view sessions as select * from all_sessions where ended_first()',
    )

  it('repeats a read that failed in a deadlock', () =>
    withDatabase(async (store, url) => {
      await store.sessions.insert('z1', session())
      await endsReads(url, 3)
      assert.ok(await store.sessions.find('z1', session().idDigest))
    }))

  it('reports repeated deadlocks as busy', () =>
    withDatabase(async (store, url) => {
      await store.sessions.insert('z1', session())
      await endsReads(url, 4)
      const busy = { name: 'StoreBusy', message: 'the database refuses: deadlock detected' }
      await assert.rejects(store.sessions.find('z1', session().idDigest), busy)
      assert.ok(await store.sessions.find('z1', session().idDigest))
    }))

  it('does not deadlock in concurrent changes of a user and its alias', async () => {
    const database = await freshDatabase('postgres')
    const store = await openStore(database.url, { clock: systemClock })
    const [one, other] = [user(), user({ zoneId: 'z2', id: 'u2' })]
    for (const each of [one, other]) await store.users.insert(each.zoneId, each)
    for (let version = 0; version < 30; version += 1) {
      const before = [one, other].map(each => ({ ...each, version })) as [User, User]
      const change = ([first, second]: readonly [User, User]) =>
        store.users.replace(first.zoneId, first, { ...first, givenName: 'M' }, { before: second, user: second })
      const results = await Promise.all([change(before), change([before[1], before[0]])])
      assert.equal(results.filter(result => result !== undefined).length, 1, `version ${version}`)
    }
    await store.close() // the connections report what they counted
    assert.equal(await deadlocksOf(database.url), 0)
    await database.drop()
  })

  it('does not deadlock in concurrent deletions of users and their aliases', async () => {
    const database = await freshDatabase('postgres')
    const store = await openStore(database.url, { clock: systemClock })
    const pairs = Array.from({ length: 16 }, (_, place): [User, User] => {
      const [zoneId, other] = place % 2 === 0 ? ['z1', 'z2'] : ['z2', 'z1']
      const [id, copyId] = [`u${place}`, `c${place}`]
      return [user({ zoneId, id, userName: id }), user({ zoneId: other, id: copyId, userName: copyId })]
    })
    for (const each of pairs.flat()) await store.users.insert(each.zoneId, each)
    const deleted = await Promise.all(
      pairs.map(([{ zoneId, id }, copy]) => store.users.delete(zoneId, id, undefined, copy)),
    )
    assert.ok(deleted.every(Boolean))
    assert.deepEqual([await store.users.count('z1'), await store.users.count('z2')], [0, 0])
    await store.close() // the connections report what they counted
    assert.equal(await deadlocksOf(database.url), 0)
    await database.drop()
  })

  it('repeats transactions that deadlocked', () =>
    withDatabase(async store => {
      const digests = Array.from({ length: 40 }, (_, number) => `t${number}`)
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(digests.map(idDigest => store.tokens.insert('z1', token({ idDigest, grantId: idDigest }))))
        await Promise.all([
          ...digests.map(grantId => store.tokens.revokeGrant('z1', grantId, new Date(0))),
          ...[1, 2, 3].map(() => store.purge(new Date(Date.UTC(2040, 0)))),
        ])
      }
      assert.equal(await store.tokens.find('z1', 't0'), undefined)
    }))
})

describe('A read-only PostgreSQL', () => {
  it('is detected by the write probe, and used again once writable', () =>
    withDatabase(async (store, url) => {
      const name = new URL(url).pathname.slice(1)
      await administer(url, `alter database ${name} set default_transaction_read_only = on`, DISCONNECT)
      await inTime('refused', () =>
        store.probeWriting(at(1)).then(
          () => 'written',
          error => (error instanceof StoreUnavailable && /read-only/.test(error.message) ? 'refused' : 'lost'),
        ),
      )
      await store.ping()
      await assert.rejects(store.tokens.insert('z1', token()), StoreUnavailable)
      const admin = new URL(url)
      admin.pathname = '/postgres'
      await administer(admin.href, `alter database ${name} reset default_transaction_read_only`)
      await administer(url, DISCONNECT)
      await inTime('written', () =>
        store.probeWriting(at(2)).then(
          () => 'written',
          () => 'refused',
        ),
      )
      await store.tokens.insert('z1', token())
    }))
})

/** Of all connections that have ended. */
async function deadlocksOf(url: string): Promise<unknown> {
  const db = await openPostgres(url, {
    clock: systemClock,
    listener: { changed: () => {}, missed: () => {} },
    onError: () => {},
  })
  const counted = statement<object, { deadlocks: number }>(
    `select cast(deadlocks as integer) as deadlocks from pg_stat_database where datname = current_database()`,
  )
  const { rows } = await db.transaction(within => within.run(counted, {}))
  await db.close()
  return rows[0]?.deadlocks
}
