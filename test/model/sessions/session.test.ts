import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFresh, isLive, SESSION_IDLE_SECONDS } from '../../../src/model/sessions/session.ts'

describe('isLive', () => {
  const now = new Date('2026-01-01T12:00:00Z')
  const at = (milliseconds: number): Date => new Date(now.getTime() + milliseconds)
  const idle = SESSION_IDLE_SECONDS * 1000
  const cases = [
    { name: 'is true for a session just used', lastSeenAt: at(0), expiresAt: at(1), want: true },
    { name: 'is false once the session has expired', lastSeenAt: at(0), expiresAt: at(0), want: false },
    { name: 'is true just before the idle timeout', lastSeenAt: at(1 - idle), expiresAt: at(9), want: true },
    { name: 'is false at the idle timeout', lastSeenAt: at(-idle), expiresAt: at(9), want: false },
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
    { name: 'is true up to five minutes after creation', seconds: -300, want: true },
    { name: 'is false after five minutes', seconds: -301, want: false },
    { name: 'is true for a creation time slightly in the future (clock skew)', seconds: 60, want: true },
    { name: 'is false for a creation time far in the future', seconds: 301, want: false },
  ]
  for (const { name, seconds, want } of cases) {
    it(name, () => assert.equal(isFresh({ createdAt: new Date(now.getTime() + seconds * 1000) }, now), want))
  }
})
