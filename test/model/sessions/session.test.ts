import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFresh, isLive, SESSION_IDLE_SECONDS } from '../../../src/model/sessions/session.ts'

describe('isLive', () => {
  const now = new Date('2026-01-01T12:00:00Z')
  const at = (milliseconds: number): Date => new Date(now.getTime() + milliseconds)
  const idle = SESSION_IDLE_SECONDS * 1000
  const cases = [
    { name: 'is true for a session in use', lastSeenAt: at(0), expiresAt: at(1), want: true },
    { name: 'is false from the moment at which it expires', lastSeenAt: at(0), expiresAt: at(0), want: false },
    { name: 'is true until just before the idle time is over', lastSeenAt: at(1 - idle), expiresAt: at(9), want: true },
    { name: 'is false when the idle time is over', lastSeenAt: at(-idle), expiresAt: at(9), want: false },
  ]
  for (const { name, lastSeenAt, expiresAt, want } of cases) {
    it(name, () => {
      const session = { zoneId: 'svc', idDigest: 'd', createdAt: new Date(0), lastSeenAt, expiresAt }
      assert.equal(isLive(session, now, SESSION_IDLE_SECONDS), want)
    })
  }
})

describe('isFresh', () => {
  const now = new Date('2026-01-01T12:00:00Z')
  const cases = [
    { name: 'is true for five minutes', seconds: -300, want: true },
    { name: 'is false afterwards', seconds: -301, want: false },
    { name: 'is true on a node whose clock is a little behind', seconds: 60, want: true },
    { name: 'is false while the clock is set back by more than that', seconds: 301, want: false },
  ]
  for (const { name, seconds, want } of cases) {
    it(name, () => assert.equal(isFresh({ createdAt: new Date(now.getTime() + seconds * 1000) }, now), want))
  }
})
