import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBackground } from '../../src/base/concurrency/background.ts'
import { accountEventOf } from '../../src/model/users/account-event.ts'
import type { AccountEvent } from '../../src/model/users/account-event.ts'
import type { AuditEvent } from '../../src/model/audit/event.ts'
import { createAccountHistory } from '../../src/users/account-history.ts'
import { createTestClock } from '../support/clock.ts'

const audited = (given: Partial<AuditEvent> = {}): AuditEvent => ({
  type: 'UserAuthenticationSuccess',
  zoneId: 'z1',
  principal: 'u1',
  ...given,
})

describe('`accountEventOf`', () => {
  const now = new Date(0)
  const typeOf = (event: AuditEvent) => accountEventOf(event, now)?.type

  it('maps audit events that concern the account', () => {
    assert.equal(typeOf(audited()), 'signed-in')
    assert.equal(typeOf(audited({ type: 'UserAuthenticationFailure' })), 'sign-in-failed')
    assert.equal(typeOf(audited({ type: 'ApprovalModifiedEvent', data: 'openid APPROVED' })), 'access-changed')
    assert.equal(typeOf(audited({ type: 'ApprovalModifiedEvent', data: 'all revoked; by client x' })), 'access-revoked')
    assert.equal(typeOf(audited({ type: 'MfaAuthenticationFailure' })), 'second-factor-failed')
    assert.equal(typeOf(audited({ type: 'MfaFactorAddedEvent', data: 'passkey' })), 'factor-added')
    assert.equal(typeOf(audited({ type: 'MfaFactorModifiedEvent' })), 'factor-changed')
    assert.equal(typeOf(audited({ type: 'MfaFactorRemovedEvent' })), 'factor-removed')
    assert.equal(typeOf(audited({ type: 'TokenIssuedEvent' })), undefined)
    assert.equal(typeOf(audited({ type: 'ClientAuthenticationSuccess' })), undefined)
  })

  it('omits address, device and client of another actor', () => {
    const facts = { remoteAddress: '::ffff:192.0.2.1', userAgent: 'Firefox/1', clientId: 'app' }
    assert.deepEqual(accountEventOf(audited(facts), now), {
      userId: 'u1',
      type: 'signed-in',
      at: now,
      byOther: false,
      ...facts,
      remoteAddress: '192.0.2.1',
    })
    assert.deepEqual(accountEventOf(audited({ type: 'PasswordChangeSuccess', byOther: true, ...facts }), now), {
      userId: 'u1',
      type: 'password-changed',
      at: now,
      byOther: true,
    })
  })

  it('omits data, which may name others', () => {
    const event = accountEventOf(audited({ type: 'UserModifiedEvent', data: '["caller=admin"]', origin: 'o' }), now)
    assert.doesNotMatch(JSON.stringify(event), /caller|admin/)
  })
})

describe('`createAccountHistory`', () => {
  function history(add: (zoneId: string, events: readonly AccountEvent[]) => Promise<void>) {
    const causes: unknown[] = []
    const background = createBackground({ max: 1, onError: cause => causes.push(cause) })
    const accountEvents = { add, list: async () => Promise.resolve([]) }
    const clock = createTestClock()
    const made = createAccountHistory({
      store: { accountEvents },
      clock,
      background,
      onError: cause => causes.push(cause),
    })
    return { ...made, background, causes }
  }

  it('forwards events immediately, and writes them later in one batch per zone', async () => {
    const batches: string[] = []
    const { recorded, background } = history(async (zoneId, events) => {
      batches.push(`${zoneId}: ${events.map(({ type }) => type).join(', ')}`)
      return Promise.resolve()
    })
    const passed: AuditEvent[] = []
    const audit = recorded(event => void passed.push(event))
    const events = [
      audited(),
      audited({ type: 'TokenIssuedEvent' }),
      audited({ zoneId: 'z2' }),
      audited({ type: 'PasswordChangeSuccess' }),
    ]
    for (const event of events) audit(event)
    assert.deepEqual(passed, events)
    assert.deepEqual(batches, [])
    await background.idle()
    assert.deepEqual(batches, ['z1: signed-in, password-changed', 'z2: signed-in'])
    audit(audited())
    await background.idle()
    assert.equal(batches.length, 3)
  })

  it('limits queued failed sign-ins, and keeps other events', async () => {
    const written: AccountEvent[] = []
    const { recorded, background } = history(async (_, events) => {
      written.push(...events)
      return Promise.resolve()
    })
    const audit = recorded(() => {})
    for (let each = 0; each < 20_000; each += 1) audit(audited({ type: 'UserAuthenticationFailure' }))
    audit(audited({ type: 'PasswordChangeSuccess' }))
    await background.idle()
    assert.equal(written.length, 1001)
    assert.equal(written.at(-1)?.type, 'password-changed')
  })

  it('reports failed writes, and continues', async () => {
    let isDown = true
    const { recorded, background, causes, list } = history(async () => {
      if (isDown) throw new Error('down')
      return Promise.resolve()
    })
    const audit = recorded(() => {})
    audit(audited())
    await background.idle()
    assert.equal(causes.length, 1)
    isDown = false
    audit(audited())
    assert.deepEqual(await list({ id: 'z1' }, 'u1'), [])
    await background.idle()
    assert.equal(causes.length, 1)
  })
})
