import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreBusy, StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createLogFlush } from '../../src/store/engine/sqlite/log-flush.ts'
import { createWriteQueue } from '../../src/store/engine/sqlite/write-queue.ts'
import { freshDatabase } from '../support/databases.ts'
import { storeCases, inTime } from './cases.ts'
import { approval, at, client, token } from './records.ts'

describe('The store on SQLite', () => storeCases('sqlite'))

const pathOf = (url: string): string => url.slice('sqlite:'.length)

async function withFile(test: (store: Store, path: string) => Promise<void>): Promise<void> {
  const database = await freshDatabase('sqlite')
  const store = await openStore(database.url, { clock: systemClock })
  try {
    await test(store, pathOf(database.url))
  } finally {
    await store.close()
    await database.drop()
  }
}

// Concurrently, because one of them waits for the store's timeout.
describe('A SQLite file', { concurrency: true }, () => {
  it('is readable by its owner only, like its folder and log', async () => {
    const database = await freshDatabase('sqlite')
    const path = join(dirname(pathOf(database.url)), 'new', 'folder', 'latchkey.db')
    const store = await openStore(`sqlite:${path}`, { clock: systemClock })
    await store.tokens.insert('z1', token())
    const mode = (of: string): string => (statSync(of).mode & 0o777).toString(8)
    assert.deepEqual([dirname(dirname(path)), dirname(path), path, `${path}-wal`].map(mode), [
      '700',
      '700',
      '600',
      '600',
    ])
    await store.close()
    assert.equal(existsSync(`${path}-wal`), false, 'the log is folded in when the last connection closes')
    await database.drop()
  })

  it('contains a write as soon as its promise resolves', () =>
    withFile(async (store, path) => {
      const reader = new DatabaseSync(path, { readOnly: true })
      const count = reader.prepare('select count(*) as count from tokens')
      const writing = Array.from({ length: 10 }, (_, number) =>
        store.tokens.insert('z1', token({ idDigest: `t${number}` })),
      )
      assert.equal(count.get()?.['count'], 0)
      await writing[0]
      assert.equal(count.get()?.['count'], 10)
      reader.close()
    }))

  it('waits for another writer without blocking the process', () =>
    withFile(async (store, path) => {
      const holder = new DatabaseSync(path)
      holder.exec('begin immediate')
      let written = false
      const writing = store.tokens.insert('z1', token()).then(() => (written = true))
      for (let turn = 0; turn < 5; turn += 1) await store.tokens.find('z1', 't1') // reads go on
      assert.equal(written, false)
      holder.exec('commit')
      await writing
      assert.notEqual(await store.tokens.find('z1', 't1'), undefined)
      holder.close()
    }))

  it('times out on a writer that never ends, then works again', () =>
    withFile(async (store, path) => {
      const holder = new DatabaseSync(path)
      holder.exec('begin immediate')
      await assert.rejects(store.tokens.insert('z1', token()), StoreUnavailable)
      holder.exec('commit')
      holder.close()
      await store.tokens.insert('z1', token())
    }))

  const elsewhere = [
    { name: 'removed', replace: () => {} },
    { name: 'replaced', replace: (path: string) => writeFileSync(path, '') },
  ]
  for (const { name, replace } of elsewhere) {
    it(`rejects writes while its path is ${name}`, () =>
      withFile(async (store, path) => {
        await store.tokens.insert('z1', token())
        renameSync(path, `${path}.away`)
        replace(path)
        const refused = new RegExp(`latchkey.db was ${name} while the server runs`)
        await assert.rejects(store.tokens.insert('z1', token({ idDigest: 't2' })), {
          name: 'StoreUnavailable',
          message: refused,
        })
        await assert.rejects(store.probeWriting(at(0)), refused)
        renameSync(`${path}.away`, path)
        await store.tokens.insert('z1', token({ idDigest: 't2' }))
      }))
  }

  for (const { name, replace } of elsewhere) {
    it(`rejects writes while its log is ${name}, and keeps earlier writes when closed`, () =>
      withFile(async (store, path) => {
        await store.tokens.insert('z1', token())
        rmSync(`${path}-wal`)
        replace(`${path}-wal`)
        await assert.rejects(store.tokens.insert('z1', token({ idDigest: 't2' })), {
          name: 'StoreUnavailable',
          message: new RegExp(`latchkey.db-wal was ${name} while the server runs`),
        })
        await store.close()
        const raw = new DatabaseSync(path)
        assert.equal(raw.prepare('select count(*) as count from tokens').get()?.['count'], 1)
        raw.close()
      }))
  }

  it('clears the cache when changes were purged unseen', () =>
    withFile(async (store, path) => {
      await store.clients.insert('z1', client({ name: 'old' }))
      assert.equal((await store.clients.find('z1', 'app'))?.name, 'old')
      const other = new DatabaseSync(path, { timeout: 5000 })
      other.exec(`begin immediate; update clients set name = 'new';
        insert into changes (change, changed_at) values ('["zones","x",""]', 0); delete from changes; commit`)
      other.close()
      await inTime('new', async () => (await store.clients.find('z1', 'app'))?.name)
    }))

  it('is rejected if changed by a newer version', async () => {
    const database = await freshDatabase('sqlite')
    await (await openStore(database.url, { clock: systemClock })).close()
    const raw = new DatabaseSync(pathOf(database.url))
    raw.exec(`insert into migrations (id, applied_at) values ('9999-later', 0)`)
    raw.close()
    await assert.rejects(openStore(database.url, { clock: systemClock }), StoreUnavailable)
    await database.drop()
  })

  it('is rejected in one line if it is not a database', async () => {
    await assert.rejects(openStore('sqlite:/dev/null/x.db', { clock: systemClock }), (error: unknown) => {
      assert.ok(error instanceof StoreUnavailable)
      assert.match(error.message, /^cannot open the database \/dev\/null\/x\.db: [^\n]+$/)
      return true
    })
  })
})

describe('An in-memory database', () => {
  it('is private to its store', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => openStore('sqlite::memory:', { clock: systemClock })))
    await one?.clients.insert('z1', client())
    assert.notEqual(await one?.clients.find('z1', 'app'), undefined)
    assert.equal(await two?.clients.find('z1', 'app'), undefined)
    await one?.close()
    await two?.close()
  })

  it('shows no uncommitted data', async () => {
    const store = await openStore('sqlite::memory:', { clock: systemClock })
    const failing = store.approvals.save('z1', [approval(), approval({ scope: '\0' })])
    const reads: Promise<readonly unknown[]>[] = []
    const reading = (async () => {
      for (let turn = 0; turn < 50; turn += 1) {
        reads.push(store.approvals.list('z1', 'u1', 'app', at(0)))
        await (turn % 2 === 0 ? Promise.resolve() : new Promise(resolve => setImmediate(resolve)))
      }
    })()
    await assert.rejects(failing)
    await reading
    assert.deepEqual((await Promise.all(reads)).flat(), [])
    await store.close()
  })
})

describe('Database URLs', () => {
  for (const url of ['', 'sqlite:', 'sqlite:///x.db', 'mysql://root:secret@host/db']) {
    it(`reject ${JSON.stringify(url)} without repeating it`, async () => {
      await assert.rejects(openStore(url, { clock: systemClock }), (error: unknown) => {
        assert.ok(error instanceof Error)
        assert.ok(!error.message.includes('secret'))
        return true
      })
    })
  }
})

describe('The write queue', () => {
  function recorded(flush: () => Promise<void> | undefined = () => undefined) {
    const database = new DatabaseSync(':memory:')
    database.exec('create table t (a text primary key)')
    const insert = database.prepare('insert into t values (?)')
    const commands: string[] = []
    const exec = (command: string): void => {
      commands.push(command)
      database.exec(command)
    }
    const queue = createWriteQueue({
      begin: () => Promise.resolve(exec('begin')),
      commit: () => exec('commit'),
      flush,
      rollback() {
        if (database.isTransaction) exec('rollback')
      },
      isOpen: () => database.isTransaction,
      setSavepoint: () => exec('savepoint job'),
      releaseSavepoint: () => exec('release job'),
      returnToSavepoint: () => exec('rollback to job; release job'),
    })
    const rows = (): unknown[] =>
      database
        .prepare('select a from t order by a')
        .all()
        .map(row => row['a'])
    return { database, queue, commands, rows, insert: (value: string) => insert.run(value) }
  }

  it('uses one transaction per turn, and no savepoint for a single statement', async () => {
    const { queue, commands, rows, insert } = recorded()
    await Promise.all(['a', 'b', 'c'].map(value => queue.addStatement(() => insert(value))))
    assert.deepEqual(commands, ['begin', 'commit'])
    assert.deepEqual(rows(), ['a', 'b', 'c'])
  })

  it('rolls back only a failed job', async () => {
    const { queue, commands, rows, insert } = recorded()
    const twoSteps = async (first: string, second: string): Promise<void> => {
      insert(first)
      await Promise.resolve()
      insert(second)
    }
    const results = await Promise.allSettled([
      queue.addTransaction(() => twoSteps('a', 'b')),
      queue.addTransaction(() => twoSteps('c', 'a')),
      queue.addStatement(() => insert('d')),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(rows(), ['a', 'b', 'd'])
    assert.equal(commands.filter(command => command === 'commit').length, 1)
  })

  it('rejects the whole batch if the database has rolled it back', async () => {
    const { queue, rows, database, insert } = recorded()
    const results = await Promise.allSettled([
      queue.addStatement(() => insert('a')),
      queue.addStatement(() => database.exec(`insert or rollback into t values ('a')`)),
      queue.addStatement(() => insert('b')),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    )
    assert.deepEqual(rows(), [])
    await queue.addStatement(() => insert('later'))
    assert.deepEqual(rows(), ['later'])
  })

  it('puts writes during a batch into the next one', async () => {
    const { queue, commands, rows, insert } = recorded()
    let second: Promise<unknown> | undefined
    await queue.addTransaction(async () => {
      insert('a')
      second = queue.addStatement(() => insert('b'))
      await Promise.resolve()
    })
    assert.deepEqual(rows(), ['a'])
    await second
    assert.deepEqual(rows(), ['a', 'b'])
    assert.deepEqual(commands, ['begin', 'savepoint job', 'release job', 'commit', 'begin', 'commit'])
  })

  it('starts the next batch during the flush, and resolves each batch once flushed', async () => {
    const disk = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    let flushes = 0
    const { queue, commands, insert } = recorded(() => disk[flushes++ as 0 | 1].promise)
    const settled: string[] = []
    const add = (value: string) => queue.addStatement(() => insert(value)).then(() => settled.push(value))
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(resolve => setImmediate(resolve))
    }
    const first = add('a')
    await turns()
    const second = add('b')
    await turns()
    assert.deepEqual(commands, ['begin', 'commit', 'begin', 'commit'])
    assert.deepEqual(settled, [])
    let isDrained = false
    const drained = queue.drain().then(() => (isDrained = true))
    disk[0].resolve()
    await first
    await turns()
    assert.deepEqual([settled, isDrained], [['a'], false])
    disk[1].resolve()
    await Promise.all([second, drained])
  })

  it('rejects a batch whose flush fails, and those that wait for it', async () => {
    const disk = Promise.withResolvers<void>()
    const { queue, insert } = recorded(() => disk.promise)
    const added = Array.from({ length: 4096 }, (_, number) => queue.addStatement(() => insert(`v${number}`)))
    const results = Promise.allSettled(added)
    for (let turn = 0; turn < 30; turn += 1) await new Promise(resolve => setImmediate(resolve))
    await assert.rejects(
      queue.addStatement(() => insert('refused')),
      StoreBusy,
    )
    disk.reject(new StoreUnavailable('the disk is gone'))
    for (const { status } of await results) assert.equal(status, 'rejected')
    await queue.drain()
  })

  it('is drained when every write is settled', async () => {
    const { queue, rows, insert } = recorded()
    const added = Array.from({ length: 1200 }, (_, number) => queue.addStatement(() => insert(`v${number}`)))
    await queue.drain()
    assert.equal(rows().length, 1200)
    await Promise.all(added)
    await queue.drain()
  })

  it('rejects writes beyond 4096 waiting ones, and accepts more later', async () => {
    const { queue, insert, rows } = recorded()
    const gate = Promise.withResolvers<void>()
    const first = queue.addTransaction(() => gate.promise)
    await new Promise(resolve => setImmediate(resolve)) // its batch is open
    const added = Array.from({ length: 4096 }, (_, number) => queue.addStatement(() => insert(`v${number}`)))
    await assert.rejects(
      queue.addStatement(() => insert('refused')),
      StoreBusy,
    )
    gate.resolve()
    await Promise.all([first, ...added])
    await queue.addStatement(() => insert('last'))
    assert.equal(rows().length, 4097)
  })
})

describe('Flushing the write-ahead log', () => {
  const inFolder = async (test: (folder: string) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-flush-'))
    try {
      await test(folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it('is shared by concurrent calls', () =>
    inFolder(async folder => {
      const path = join(folder, 'x.db-wal')
      writeFileSync(path, 'log')
      const log = createLogFlush(path)
      const first = log.flush()
      await Promise.resolve() // begun
      const [second, third] = [log.flush(), log.flush()]
      assert.notEqual(first, second)
      assert.equal(second, third)
      await Promise.all([first, second])
      log.refuseFailed()
      await log.close()
    }))

  it('fails for ever after a failure, and further commits are rejected', () =>
    inFolder(async folder => {
      const path = join(folder, 'x.db-wal')
      const log = createLogFlush(path)
      const refusal = { name: StoreUnavailable.name, message: /cannot be flushed.*restart the server$/ }
      await assert.rejects(log.flush(), refusal)
      writeFileSync(path, 'log')
      await assert.rejects(log.flush(), refusal)
      assert.throws(() => log.refuseFailed(), refusal)
      await log.close()
    }))
})
