import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { createSqliteThread } from '../../src/store/engine/sqlite/thread.ts'
import { StoreBusy, StoreUnavailable } from '../../src/store/store.ts'

/** Counts beyond a million, which takes some time. */
const SLOW = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?) select count(*) as count from n`
const WHILE = 300_000

describe('A SQLite reader thread', () => {
  let folder: string
  let path: string

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-thread-'))
    path = join(folder, 'scan.db')
    const database = new DatabaseSync(path)
    database.exec(`pragma journal_mode = wal; create table t (a text, b integer) strict`)
    database.exec(`insert into t values ('x', 1), ('y', null)`)
    database.close()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const open = () => createSqliteThread({ path, timeoutMilliseconds: 100, readOnly: true })
  const plain = (rows: readonly unknown[]): unknown => JSON.parse(JSON.stringify(rows))

  it('returns rows unchanged', async () => {
    const thread = open()
    const rows = await thread.run('select a, b from t where b is ? or a = ? order by a', [null, 'x'])
    assert.deepEqual(plain(rows), [
      { a: 'x', b: 1 },
      { a: 'y', b: null },
    ])
    await thread.close()
  })

  it('does not block other reads', async () => {
    const thread = open()
    let turns = 0
    const turning = setInterval(() => (turns += 1))
    assert.deepEqual(plain(await thread.run(SLOW, [WHILE])), [{ count: WHILE }])
    clearInterval(turning)
    assert.ok(turns > 10, `${turns} turns of the event loop`)
    await thread.close()
  })

  it('fails with the database’s error, and continues', async () => {
    const thread = open()
    await assert.rejects(thread.run('select missing from t', []), { message: /no such column: missing/, errcode: 1 })
    await assert.rejects(thread.run(`insert into t values ('z', 3)`, []), { message: /readonly/, errcode: 8 })
    assert.equal((await thread.run('select a from t', [])).length, 2)
    await thread.close()
  })

  it('rejects statements when its queue is full', async () => {
    const thread = open()
    const asked = Array.from({ length: 257 }, () => thread.run('select a from t', []))
    const results = await Promise.allSettled(asked)
    assert.deepEqual(results.map(({ status }) => status).slice(0, 256), Array(256).fill('fulfilled'))
    const last = results.at(-1)
    assert.ok(last?.status === 'rejected' && last.reason instanceof StoreBusy)
    assert.equal((await thread.run('select a from t', [])).length, 2)
    await thread.close()
  })

  it('fails a statement that is cut off, then starts again', async () => {
    const thread = open()
    const slow = thread.run(SLOW, [WHILE * 1000])
    slow.catch(() => {})
    await new Promise(resolve => setImmediate(resolve))
    await thread.close()
    await assert.rejects(slow, StoreUnavailable)
    assert.equal((await thread.run('select a from t', [])).length, 2)
    await thread.close()
  })

  /** The output of a process that does nothing else. */
  function runAlone(statements: string) {
    const module = new URL('../../src/store/engine/sqlite/thread.ts', import.meta.url).href
    const file = join(folder, 'process.mjs')
    const script = `import { createSqliteThread } from '${module}'
      const thread = createSqliteThread({ path: ${JSON.stringify(path)}, timeoutMilliseconds: 100, readOnly: true })
      await thread.run('select a from t', [])
      ${statements}
      await thread.close()`
    writeFileSync(file, script)
    const { status, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
    return { status, stderr }
  }

  it('can be awaited when nothing else keeps the process alive', () => {
    assert.deepEqual(runAlone(''), { status: 0, stderr: '' })
  })

  it('can be awaited with an unread response', () => {
    const answered = `thread.run('select a from t', []).catch(() => undefined)
      for (let turn = 0; turn < 10; turn += 1) await undefined
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50) // the thread answers meanwhile`
    assert.deepEqual(runAlone(answered), { status: 0, stderr: '' })
  })

  it('reports a missing file to every caller', async () => {
    const thread = createSqliteThread({ path: join(folder, 'none.db'), timeoutMilliseconds: 100, readOnly: true })
    await assert.rejects(thread.run('select 1', []), StoreUnavailable)
    await assert.rejects(thread.run('select 1', []), StoreUnavailable)
    await thread.close()
  })
})
