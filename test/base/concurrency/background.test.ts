import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBackground } from '../../../src/base/concurrency/background.ts'

const unexpected = (cause: unknown): void => assert.fail(String(cause))

describe('createBackground', () => {
  it('runs one task at a time, in order, and idle waits for them', async () => {
    const background = createBackground({ max: 10, onError: unexpected })
    const log: string[] = []
    for (const name of ['a', 'b']) {
      background.run(async () => {
        log.push(`${name} begins`)
        await Promise.resolve()
        log.push(`${name} ends`)
      })
    }
    assert.deepEqual(log, [])
    await background.idle()
    assert.deepEqual(log, ['a begins', 'a ends', 'b begins', 'b ends'])
  })

  it('idle waits for tasks started by tasks', async () => {
    const background = createBackground({ max: 10, onError: unexpected })
    let done = false
    background.run(() => {
      background.run(() => {
        done = true
        return Promise.resolve()
      })
      return Promise.resolve()
    })
    await background.idle()
    assert.ok(done)
  })

  it('rejects tasks at its limit until others are done', async () => {
    const background = createBackground({ max: 1, onError: unexpected })
    assert.ok(background.run(() => Promise.resolve()))
    assert.ok(!background.run(() => assert.fail('ran a rejected task')))
    await background.idle()
    assert.ok(background.run(() => Promise.resolve()))
    await background.idle()
  })

  it('continues after a failed task', async () => {
    const causes: unknown[] = []
    const background = createBackground({ max: 10, onError: cause => causes.push(cause) })
    let done = false
    background.run(() => Promise.reject(new Error('no')))
    background.run(() => {
      done = true
      return Promise.resolve()
    })
    await background.idle()
    assert.deepEqual([causes.map(String), done], [['Error: no'], true])
  })
})
