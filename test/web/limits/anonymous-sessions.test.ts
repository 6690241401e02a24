import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAnonymousSessions } from '../../../src/web/limits/anonymous-sessions.ts'

describe('`createAnonymousSessions`', () => {
  const session = (network: number, index: number) => ({ zoneId: 'z', idDigest: `${network}-${index}` })
  const addressOf = (network: number): string => `10.${network >> 8}.${network & 255}.1`

  it('returns the oldest session of a network beyond the limit', () => {
    const sessions = createAnonymousSessions(2)
    assert.equal(sessions.add(addressOf(1), session(1, 0)), undefined)
    assert.equal(sessions.add(addressOf(1), session(1, 1)), undefined)
    assert.equal(sessions.add(addressOf(2), session(2, 0)), undefined)
    assert.deepEqual(sessions.add(addressOf(1), session(1, 2)), session(1, 0))
  })

  it('tracks 200,000 sessions, and evicts the least recently used network', () => {
    const sessions = createAnonymousSessions()
    for (let network = 0; network <= 400; network += 1) {
      for (let index = 0; index < 500; index += 1) sessions.add(addressOf(network), session(network, index))
    }
    assert.deepEqual(sessions.add(addressOf(1), session(1, 500)), session(1, 0))
    assert.equal(sessions.add(addressOf(0), session(0, 500)), undefined)
  })

  it('tracks 1000 networks', () => {
    const sessions = createAnonymousSessions(1)
    for (let network = 0; network <= 1000; network += 1) sessions.add(addressOf(network), session(network, 0))
    assert.deepEqual(sessions.add(addressOf(1), session(1, 1)), session(1, 0))
    assert.equal(sessions.add(addressOf(0), session(0, 1)), undefined)
  })
})
