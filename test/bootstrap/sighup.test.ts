import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { afterEach, describe, it } from 'node:test'
import type { Sighup } from '../../src/bootstrap/sighup.ts'
import { listenForSighup } from '../../src/bootstrap/sighup.ts'

describe('SIGHUP', () => {
  const workers = cluster.workers as Record<string, unknown>
  let sighup: Sighup | undefined
  afterEach(() => {
    sighup?.stop()
    for (const id of Object.keys(workers)) delete workers[id]
  })

  it('is handled once the process has started', () => {
    sighup = listenForSighup()
    process.emit('SIGHUP')
    process.emit('SIGHUP')
    let count = 0
    sighup.at(() => (count += 1))
    assert.equal(count, 1)
    process.emit('SIGHUP')
    assert.equal(count, 2)
  })

  it('is passed once to each worker that is listening', () => {
    sighup = listenForSighup()
    const heard: string[] = []
    const add = (id: number) => {
      const worker = { id, process: { kill: (signal: string) => heard.push(`${id} ${signal}`) } }
      workers[id] = worker
      return worker as never
    }
    cluster.emit('listening', add(1))
    const second = add(2)
    const third = add(3)
    process.emit('SIGHUP')
    assert.deepEqual(heard, ['1 SIGHUP'])
    cluster.emit('listening', second)
    cluster.emit('listening', second)
    assert.deepEqual(heard, ['1 SIGHUP', '2 SIGHUP'])
    delete workers[3]
    cluster.emit('exit', third)
    process.emit('SIGHUP')
    assert.deepEqual(heard, ['1 SIGHUP', '2 SIGHUP', '1 SIGHUP', '2 SIGHUP'])
  })
})
