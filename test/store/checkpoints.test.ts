import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { createCheckpoints } from '../../src/store/engine/sqlite/checkpoints.ts'
import type { Checkpoints } from '../../src/store/engine/sqlite/checkpoints.ts'

const LIMITS = { pass: 20, restart: 100, last: 40, max: 1000 }

describe('Checkpoints of a SQLite file', () => {
  let folder: string
  let path: string
  let writer: DatabaseSync
  let errors: unknown[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-checkpoints-'))
    path = join(folder, 'log.db')
    writer = new DatabaseSync(path)
    writer.exec('pragma journal_mode = wal; create table t (a blob)')
    errors = []
  })
  afterEach(() => {
    writer.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const open = (of = path): Checkpoints =>
    createCheckpoints({ path: of, writer, limits: LIMITS, onError: error => errors.push(error) })

  const progress = (): { log: number; checkpointed: number } =>
    writer.prepare('pragma wal_checkpoint(noop)').get() as unknown as { log: number; checkpointed: number }

  /** Like the write queue. */
  async function write(checkpoints: Checkpoints, pages = 10): Promise<void> {
    await checkpoints.lastPass
    writer.exec(`insert into t with recursive n (i) as (select 1 union all select i + 1 from n where i < ${pages})
      select randomblob(4000) from n`)
    checkpoints.afterCommit()
  }

  /** Writes until the condition holds. */
  async function writeUntil(checkpoints: Checkpoints, condition: () => boolean): Promise<void> {
    for (let batch = 0; batch < 5000; batch += 1) {
      await write(checkpoints)
      await new Promise(resolve => setImmediate(resolve))
      if (condition()) return
    }
    assert.fail(`not after ${JSON.stringify(progress())}, errors: ${errors.map(String).join()}`)
  }

  it('run in a thread', async () => {
    const checkpoints = open()
    await writeUntil(checkpoints, () => progress().checkpointed > 0)
    await checkpoints.close()
    assert.deepEqual(errors, [])
  })

  it('restart the log during writes, which limits its size', async () => {
    const checkpoints = open()
    let before = 0
    let restarts = 0
    let longest = 0
    await writeUntil(checkpoints, () => {
      const { log } = progress()
      if (log < before) restarts += 1
      before = log
      longest = Math.max(longest, log)
      return restarts === 3
    })
    // On a busy machine the main thread checkpoints at the limit, which one commit may exceed.
    assert.ok(longest < 2 * LIMITS.max, `${longest} pages`)
    await checkpoints.close()
    assert.deepEqual(errors, [])
  })

  it('wait for a reader of the log, then restart it', async () => {
    const checkpoints = open()
    const reader = new DatabaseSync(path, { readOnly: true })
    reader.exec('begin; select count(*) from t')
    await writeUntil(checkpoints, () => progress().log > 3 * LIMITS.restart)
    reader.exec('commit')
    reader.close()
    await writeUntil(checkpoints, () => progress().log < LIMITS.restart)
    await checkpoints.close()
    assert.deepEqual(errors, [])
  })

  it('fall back to the main thread if the thread fails, and report the error', async () => {
    const checkpoints = open(join(folder, 'none', 'log.db'))
    let before = 0
    let began = false
    // The thread needs some time to fail.
    await writeUntil(checkpoints, () => {
      const { log } = progress()
      began ||= log < before
      before = log
      return began && errors.length > 0
    })
    assert.ok(statSync(`${path}-wal`).size < 2 * LIMITS.max * 4200)
    await checkpoints.close()
  })

  it('may be interrupted by closing, and are completed by the last connection', async () => {
    const checkpoints = open()
    await write(checkpoints, 5 * LIMITS.pass)
    await checkpoints.close()
    const count = writer.prepare('select count(*) as count from t').get()
    assert.equal(count?.['count'], 5 * LIMITS.pass)
    assert.deepEqual(errors, [])
    writer.close()
    assert.equal(existsSync(`${path}-wal`), false)
    writer = new DatabaseSync(path)
    assert.equal(writer.prepare('select count(*) as count from t').get()?.['count'], 5 * LIMITS.pass)
  })
})
