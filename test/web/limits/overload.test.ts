import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventEmitter } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createLoadShedding } from '../../../src/web/limits/overload.ts'

describe('`createLoadShedding`', () => {
  /** Returns a function that starts a request of a zone: the function that ends it, or undefined if refused. */
  function server({ isRead = true } = {}) {
    const { enter, leave } = createLoadShedding(10, { all: 4, zone: 2 })
    return (zoneId: string): (() => void) | undefined => {
      const raw = Object.assign(new EventEmitter(), { closed: false })
      const request = { zone: { id: zoneId }, routeOptions: { config: {} } }
      let refusal: Error | undefined
      // The properties that the hook uses.
      enter(request as unknown as FastifyRequest, { raw } as unknown as FastifyReply, error => (refusal = error))
      const answer = (): void => leave(request as unknown as FastifyRequest, undefined, undefined, () => {})
      return refusal ? undefined : () => void (isRead ? raw.emit('close') : answer())
    }
  }
  const times = (count: number, work: () => unknown): readonly boolean[] =>
    Array.from({ length: count }, () => work() !== undefined)

  it('reserves capacity for zones with few requests', () => {
    const ask = server()
    assert.deepEqual(times(12, () => ask('busy')).filter(Boolean).length, 10)
    assert.deepEqual(
      times(3, () => ask('quiet')),
      [true, true, false],
    )
    assert.deepEqual(
      times(3, () => ask('other')),
      [true, true, false],
    )
    assert.deepEqual(
      times(1, () => ask('third')),
      [false],
    )
  })

  it('counts a request until its response ends', () => {
    const ask = server()
    const ends = Array.from({ length: 10 }, () => ask('busy'))
    assert.equal(ask('busy'), undefined)
    ends[0]?.()
    assert.notEqual(ask('busy'), undefined)
    const quiet = [ask('quiet'), ask('quiet')]
    assert.equal(ask('quiet'), undefined)
    quiet[0]?.()
    assert.notEqual(ask('quiet'), undefined)
  })

  it('counts a request until its response is complete, even if the client never reads it', () => {
    const ask = server({ isRead: false })
    const ends = Array.from({ length: 10 }, () => ask('busy'))
    assert.equal(ask('busy'), undefined)
    ends[0]?.()
    ends[0]?.()
    assert.notEqual(ask('busy'), undefined)
    assert.equal(ask('busy'), undefined)
  })
})
