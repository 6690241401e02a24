import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { createScanner } from '../../src/store/sqlite-scan.ts'
import { StoreUnavailable } from '../../src/store/store.ts'

/** Counts to a million and more, which takes a while. */
const SLOW = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?) select count(*) as count from n`
const WHILE = 300_000

describe('a scan', () => {
  let folder: string
  let path: string

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-scan-'))
    path = join(folder, 'scan.db')
    const database = new DatabaseSync(path)
    database.exec(`pragma journal_mode = wal; create table t (a text, b integer) strict`)
    database.exec(`insert into t values ('x', 1), ('y', null)`)
    database.close()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const open = () => createScanner({ path, patienceMilliseconds: 100 })
  const plain = (rows: readonly unknown[]): unknown => JSON.parse(JSON.stringify(rows))

  it('answers the rows of a statement, as they are', async () => {
    const scanner = open()
    const rows = await scanner.run('select a, b from t where b is ? or a = ? order by a', [null, 'x'])
    assert.deepEqual(plain(rows), [
      { a: 'x', b: 1 },
      { a: 'y', b: null },
    ])
    await scanner.close()
  })

  it('keeps nobody else waiting', async () => {
    const scanner = open()
    let turns = 0
    const turning = setInterval(() => (turns += 1))
    assert.deepEqual(plain(await scanner.run(SLOW, [WHILE])), [{ count: WHILE }])
    clearInterval(turning)
    assert.ok(turns > 10, `${turns} turns of the event loop`)
    await scanner.close()
  })

  it('fails with the error of the database, and goes on', async () => {
    const scanner = open()
    await assert.rejects(scanner.run('select missing from t', []), { message: /no such column: missing/, errcode: 1 })
    await assert.rejects(scanner.run(`insert into t values ('z', 3)`, []), { message: /readonly/, errcode: 8 })
    assert.equal((await scanner.run('select a from t', [])).length, 2)
    await scanner.close()
  })

  it('is refused while too many wait', async () => {
    const scanner = open()
    const asked = Array.from({ length: 33 }, () => scanner.run('select a from t', []))
    const results = await Promise.allSettled(asked)
    assert.deepEqual(results.map(({ status }) => status).slice(0, 32), Array(32).fill('fulfilled'))
    const last = results.at(-1)
    assert.ok(last?.status === 'rejected' && last.reason instanceof StoreUnavailable)
    assert.equal((await scanner.run('select a from t', [])).length, 2)
    await scanner.close()
  })

  it('that is cut off fails, and the next one has a thread again', async () => {
    const scanner = open()
    const slow = scanner.run(SLOW, [WHILE * 1000])
    slow.catch(() => {})
    await new Promise(resolve => setImmediate(resolve))
    await scanner.close()
    await assert.rejects(slow, StoreUnavailable)
    assert.equal((await scanner.run('select a from t', [])).length, 2)
    await scanner.close()
  })

  it('of a file that is not there is told to whoever asks, each time', async () => {
    const scanner = createScanner({ path: join(folder, 'none.db'), patienceMilliseconds: 100 })
    await assert.rejects(scanner.run('select 1', []), StoreUnavailable)
    await assert.rejects(scanner.run('select 1', []), StoreUnavailable)
    await scanner.close()
  })
})
