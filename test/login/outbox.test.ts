import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { createMailLog } from '../../src/mail/mail-log.ts'
import { createMailer } from '../../src/mail/mailer.ts'
import { startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const random = createRandom()

describe('GET /outbox', () => {
  let server: TestServer

  before(async () => {
    server = await startServer({ playground: true })
    const { store, clock } = server
    const mailer = createMailer({ store, vault: createVault(Buffer.alloc(32, 7), random), clock, random })
    const zone = (await store.zones.find('svc')) ?? assert.fail()
    const later = new Date(clock.now().getTime() + 1e6)
    const text = 'Hello <b>Ann</b>\n\nGo:\nhttp://localhost:8080/verify?a=1&b=2\n\njavascript:alert(1)\n'
    const mail = { from: 'Example', text, html: '<script>alert(1)</script>' }
    await mailer.send(zone, { ...mail, to: 'first@example.org', subject: 'First <i>' }, later)
    clock.advance(1)
    await mailer.send(zone, { ...mail, to: 'second@example.org', subject: 'Second' }, later)
    await mailer.send({ ...zone, id: 'other' }, { ...mail, to: 'third@example.org', subject: 'Third' }, later)
  })
  after(() => server.stop())

  it('shows the mails of the zone, newest first, as text with links', async () => {
    const { status, text, headers } = await server.send('/outbox')
    assert.equal(status, 200)
    assert.ok(text.indexOf('second@example.org') < text.indexOf('first@example.org'))
    assert.match(text, /<a href="http:\/\/localhost:8080\/verify\?a=1&amp;b=2">/)
    assert.match(text, /Hello &lt;b&gt;Ann/)
    assert.doesNotMatch(text, /third@|<b>|<i>|alert\(1\)<\/script>|href="javascript/)
    assert.match(String(headers['content-security-policy']), /^script-src 'self'/)
    assert.match(String(headers['cache-control']), /no-store/)
  })

  it('refuses an unknown host, against DNS rebinding', async () => {
    assert.equal((await server.send('/outbox', { host: 'evil.example:8080' })).status, 404)
  })

  it('exists only in the playground', async () => {
    const other = await startServer()
    assert.notEqual((await other.send('/outbox')).status, 200)
    await other.stop()
  })
})

describe('`createMailLog`', () => {
  it('logs recipient, subject and link of a mail', () => {
    const lines: string[] = []
    createMailLog(line => lines.push(line))({
      from: 'Example',
      to: 'ann@example.org',
      subject: 'Verify',
      text: 'Go:\nhttps://id.example/verify?code=1\n',
      html: '',
    })
    assert.deepEqual(lines, ['mail to ann@example.org, not sent: Verify https://id.example/verify?code=1'])
  })
})
