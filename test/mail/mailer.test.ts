import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { createMailer, isMailAddress, openMail, UnusableAddress } from '../../src/mail/mailer.ts'
import { mailIn } from '../../src/pages/mails/frame.ts'
import { placeholderAddress } from '../../src/model/mail.ts'
import { textsIn } from '../../src/pages/texts/texts.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import { startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const frame = { texts: textsIn('en'), site: 'Example' }
const content = { subject: 'Hello', heading: 'Hello', lead: ['A sentence.'], notes: [] }

describe('`isMailAddress`', () => {
  for (const address of [
    'ann@example.org',
    'a.b+c@sub.example.org',
    'älg@exämple.org',
    'ann@xn--exmple-cua.org',
    `${'a'.repeat(64)}@b`,
  ]) {
    it(`accepts ${address}`, () => assert.ok(isMailAddress(address)))
  }
  const invalid = [
    '',
    'ann',
    '@example.org',
    'ann@',
    'ann@example.org\r\nBcc: eve@example.org',
    'ann@example.org, eve@example.org',
    'ann@example.org;eve@example.org',
    'Ann <ann@example.org>',
    '"ann eve"@example.org',
    'ann@[127.0.0.1]',
    'ann\0@example.org',
    'a@b@c',
    `${'a'.repeat(65)}@example.org`,
    `a@${'b'.repeat(300)}`,
    'ann@example.org.',
    'ann@.example.org',
    'ann@example..org',
    'ann@example。org',
    'ann@ｅxample.org',
    placeholderAddress('ann', 'corp'),
    'Ann@User.From.Corp.CF',
    'ann@this-default-was-not-configured.invalid',
  ]
  for (const address of invalid) {
    it(`refuses ${JSON.stringify(address.slice(0, 80))}`, () => assert.ok(!isMailAddress(address)))
  }
})

describe('`mailIn`', () => {
  it('returns a text and an HTML part, escaped', () => {
    const mail = mailIn(
      { ...frame, site: 'Ex<b>\r\nBcc: eve@example.org' },
      { ...content, subject: 'a\r\nBcc: b', button: { text: 'Go', url: 'https://id.example/x?a=1&b=2' } },
    )
    assert.equal(mail.subject, 'a Bcc: b')
    assert.equal(mail.from, 'Ex<b> Bcc: eve@example.org')
    assert.equal(mail.text, `Hello\n\nA sentence.\n\nGo:\nhttps://id.example/x?a=1&b=2\n\n${mail.from}\n`)
    assert.match(mail.html, /<a href="https:\/\/id\.example\/x\?a=1&amp;b=2"/)
    assert.doesNotMatch(mail.html, /<b>|<img|<script|src=/)
  })
})

describe('`createMailer`', () => {
  let server: TestServer
  let zone: Zone
  const random = createRandom()
  const vault = createVault(Buffer.alloc(32, 7), random)

  before(async () => {
    server = await startServer()
    zone = (await server.store.zones.find('svc')) ?? assert.fail()
  })
  after(() => server.stop())

  it('encrypts a queued mail, bound to its zone and id', async () => {
    const { store, clock } = server
    const mailer = createMailer({ store, vault, clock, random })
    const usefulUntil = new Date(clock.now().getTime() + 1000)
    await mailer.send(zone, { ...mailIn(frame, content), to: 'ann@example.org' }, usefulUntil)
    const [kept] = await store.mails.newest(10)
    assert.ok(kept)
    assert.doesNotMatch(JSON.stringify(kept), /ann@|Hello/)
    assert.deepEqual([kept.zoneId, kept.attempts, kept.usefulUntil], ['svc', 0, usefulUntil])
    assert.equal(openMail(vault, kept).to, 'ann@example.org')
    assert.throws(() => openMail(vault, { ...kept, zoneId: 'other' }))
    assert.throws(() => openMail(vault, { ...kept, id: random.uuid() }))
    assert.deepEqual(
      (await server.mails()).map(({ to, subject }) => [to, subject]),
      [['ann@example.org', 'Hello']],
    )
  })

  it('refuses two addresses', async () => {
    const { store, clock } = server
    const mailer = createMailer({ store, vault, clock, random })
    const mail = { ...mailIn(frame, content), to: 'ann@example.org,eve@example.org' }
    await assert.rejects(mailer.send(zone, mail, clock.now()), UnusableAddress)
  })
})
