import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { afterEach, describe, it } from 'node:test'
import { connectionOptions, createTransport } from '../../src/mail/transport.ts'
import type { Delivery, OutgoingMail, Transport, TransportOptions } from '../../src/mail/transport.ts'
import type { SmtpSettings } from '../../src/model/mail.ts'
import { freePort } from '../support/free-port.ts'
import { CERTIFICATE, smtpAt, startMailServer, startRawServer } from '../support/mail-server.ts'
import type { MailServerOptions, ReceivedMail } from '../support/mail-server.ts'

const mail: OutgoingMail = {
  id: '0d9c1f1e-6f0c-4c39-8f5c-1d6f3c9a7b11',
  createdAt: new Date(Date.UTC(2026, 0, 15, 12)),
  from: 'Example',
  to: 'ann@example.org',
  subject: 'Hello',
  text: 'A sentence.\n\nhttps://id.example/verify?code=secret-code\n',
  html: '<p>A sentence.</p>',
}
const never = new AbortController().signal
const toStop: (() => unknown)[] = []

afterEach(async () => {
  for (const stop of toStop.splice(0)) await stop()
})

function open(settings: SmtpSettings, options: TransportOptions = { authority: CERTIFICATE }): Transport {
  const transport = createTransport(settings, options)
  toStop.unshift(() => transport.close())
  return transport
}

async function serverWith(options: MailServerOptions) {
  const server = await startMailServer(options)
  toStop.push(() => server.stop())
  return server
}

/** Sends one mail; returns the outcome, and the mail if received. */
async function attempt(
  options: MailServerOptions,
  given: Partial<SmtpSettings> = {},
  sent: Partial<OutgoingMail> = {},
): Promise<Delivery & { readonly got?: ReceivedMail }> {
  const server = await serverWith(options)
  const delivery = await open(smtpAt(server.port, given)).send({ ...mail, ...sent }, never)
  return { ...delivery, ...(server.received[0] && { got: server.received[0] }) }
}

describe('Delivery', () => {
  // Covers configuration file: smtp.from
  it('sends both parts with a constant Message-ID and Date, and Auto-Submitted', async () => {
    const { outcome, got } = await attempt({})
    assert.equal(outcome, 'sent')
    assert.ok(got)
    assert.deepEqual([got.from, got.to, got.isSecure], ['no-reply@id.example', ['ann@example.org'], false])
    const { 'content-type': type, ...headers } = got.headers
    assert.match(type ?? '', /^multipart\/alternative;/)
    assert.deepEqual(headers, {
      from: 'Example <no-reply@id.example>',
      to: 'ann@example.org',
      subject: 'Hello',
      'message-id': `<${mail.id}@id.example>`,
      date: 'Thu, 15 Jan 2026 12:00:00 +0000',
      'mime-version': '1.0',
      'auto-submitted': 'auto-generated',
    })
    assert.match(got.source, /Content-Type: text\/plain[^]*A sentence\.[^]*Content-Type: text\/html[^]*<p>A sentence/)
  })

  it('reuses the connection', async () => {
    const server = await serverWith({})
    const transport = open(smtpAt(server.port))
    for (let i = 0; i < 5; i += 1) assert.deepEqual(await transport.send(mail, never), { outcome: 'sent' })
    assert.deepEqual([server.received.length, server.connections()], [5, 1])
  })

  it('is unavailable while the library cannot be loaded, and not longer', async () => {
    const server = await serverWith({})
    const transport = open(smtpAt(server.port))
    const hooks = registerHooks({
      resolve(specifier, context, next) {
        if (specifier === 'nodemailer') throw new Error('EMFILE: too many open files')
        return next(specifier, context)
      },
    })
    const failed = await transport.send(mail, never).finally(() => hooks.deregister())
    assert.deepEqual(failed, { outcome: 'unavailable', reason: 'EMFILE: too many open files' })
    assert.deepEqual(await transport.send(mail, never), { outcome: 'sent' })
  })

  it('opens a new connection after close', async () => {
    const server = await serverWith({})
    const transport = open(smtpAt(server.port))
    await transport.send(mail, never)
    transport.close()
    assert.deepEqual(await transport.send(mail, never), { outcome: 'sent' })
    assert.equal(server.connections(), 2)
  })
})

describe('TLS to the mail server', () => {
  const accepted: readonly (readonly [string, MailServerOptions, Partial<SmtpSettings>])[] = [
    ['from the first byte', { tls: 'implicit' }, { secure: true }],
    ['by StartTLS', { tls: 'starttls' }, { starttls: true }],
  ]
  for (const [name, options, given] of accepted) {
    it(`is used ${name}`, async () => {
      const { outcome, got } = await attempt(options, given)
      assert.deepEqual([outcome, got?.isSecure], ['sent', true])
    })

    it(`is refused ${name} with a certificate of an unknown authority`, async () => {
      const server = await serverWith(options)
      const delivery = await open(smtpAt(server.port, given), {}).send(mail, never)
      assert.equal(delivery.outcome, 'unavailable')
      assert.match('reason' in delivery ? delivery.reason : '', /self.signed certificate/)
      assert.equal(server.received.length, 0)
    })

    it(`is refused ${name} with a certificate of another host`, async () => {
      const server = await serverWith(options)
      const delivery = await open(smtpAt(server.port, { ...given, host: '127.0.0.2' })).send(mail, never)
      assert.equal(delivery.outcome, 'unavailable')
      assert.equal(server.received.length, 0)
    })
  }

  it('is required by starttls: a server without it gets no mail', async () => {
    const delivery = await attempt({}, { starttls: true, user: 'u', password: 'secret-password' })
    assert.equal(delivery.outcome, 'unavailable')
    assert.equal(delivery.got, undefined)
    assert.doesNotMatch(JSON.stringify(delivery), /secret-password/)
  })

  const requirements: readonly (readonly [string, Partial<SmtpSettings>, boolean, boolean])[] = [
    ['a remote server', { host: 'mail.example' }, false, false],
    ['a remote server with a user', { host: 'mail.example', user: 'u', password: 'p' }, true, false],
    ['a local server', { host: 'localhost' }, false, true],
    ['a local server with a user', { host: 'localhost', user: 'u', password: 'p' }, false, true],
    ['a local server with starttls', { host: 'localhost', starttls: true }, true, false],
  ]
  for (const [name, given, required, ignored] of requirements) {
    it(`is ${required ? 'required' : ignored ? 'not used' : 'used if offered'} for ${name}`, () => {
      const { requireTLS, ignoreTLS, tls } = connectionOptions(smtpAt(25, given))
      assert.deepEqual([requireTLS, ignoreTLS], [required, ignored])
      assert.ok(!('rejectUnauthorized' in tls))
    })
  }
})

describe('Authentication to the mail server', () => {
  it('sends user and password', async () => {
    const { outcome, got } = await attempt({ user: ['u', 'p'] }, { user: 'u', password: 'p' })
    assert.deepEqual([outcome, got?.user], ['sent', 'u'])
  })

  it('reports the server as unavailable after a wrong password, without the password', async () => {
    const delivery = await attempt({ user: ['u', 'p'] }, { user: 'u', password: 'secret-password' })
    assert.deepEqual(delivery, { outcome: 'unavailable', reason: '535 to AUTH PLAIN' })
  })

  it('is required if configured: a server without it gets no mail', async () => {
    const delivery = await attempt({}, { user: 'u', password: 'p' })
    assert.equal(delivery.outcome, 'unavailable')
  })
})

describe('Failed delivery', () => {
  const rows: readonly (readonly [string, MailServerOptions, Delivery])[] = [
    [
      'is refused for a permanent error of the recipient',
      { recipient: to => `550 5.1.1 <${to}> unknown` },
      { outcome: 'refused', reason: '550 5.1.1 to RCPT TO' },
    ],
    [
      'is deferred if the recipient is greylisted',
      { recipient: () => '451 4.7.1 later' },
      { outcome: 'deferred', reason: '451 4.7.1 to RCPT TO' },
    ],
    [
      'is refused for a permanent error of the content',
      { message: () => '554 5.6.0 no' },
      { outcome: 'refused', reason: '554 5.6.0 to DATA' },
    ],
    [
      'is deferred for a temporary error of the content',
      { message: () => '452 4.3.1 full' },
      { outcome: 'deferred', reason: '452 4.3.1 to DATA' },
    ],
    [
      'is unavailable if the sender is refused',
      { sender: () => '550 5.7.1 not you' },
      { outcome: 'unavailable', reason: '550 5.7.1 to MAIL FROM' },
    ],
    [
      'is unavailable if authentication is required',
      { recipient: () => '530 5.7.0 authenticate' },
      { outcome: 'unavailable', reason: '530 5.7.0 to RCPT TO' },
    ],
    [
      'is unavailable if the server shuts down',
      { recipient: () => '421 4.3.2 bye' },
      { outcome: 'unavailable', reason: '421 4.3.2' },
    ],
  ]
  for (const [name, options, want] of rows) {
    it(name, async () => assert.deepEqual(await attempt(options), want))
  }

  it('keeps the connection after a refusal', async () => {
    const server = await serverWith({ recipient: to => (to.startsWith('eve') ? '550 5.1.1 no' : undefined) })
    const transport = open(smtpAt(server.port))
    assert.equal((await transport.send({ ...mail, to: 'eve@example.org' }, never)).outcome, 'refused')
    assert.equal((await transport.send(mail, never)).outcome, 'sent')
    assert.equal(server.connections(), 1)
  })

  it('is unavailable if the server is down', async () => {
    const delivery = await open(smtpAt(await freePort())).send(mail, never)
    assert.equal(delivery.outcome, 'unavailable')
    assert.match('reason' in delivery ? delivery.reason : '', /ECONNREFUSED/)
  })

  /** Answers correctly until a line matches `stopAt`. */
  const answersUntil = (stopAt: RegExp, then: 'end' | undefined) => (line: string) => {
    if (stopAt.test(line)) return then
    if (line === '(connected)') return '220 mail.example'
    if (line.startsWith('EHLO')) return '250 mail.example'
    if (line === 'DATA') return '354 go on'
    return /^(?:MAIL|RCPT|RSET|QUIT)/.test(line) ? '250 OK' : undefined
  }
  const broken: readonly (readonly [string, RegExp, 'end' | undefined, Delivery['outcome']])[] = [
    ['hangs instead of a greeting', /^\(/, undefined, 'unavailable'],
    ['hangs after the greeting', /^EHLO/, undefined, 'unavailable'],
    ['hangs before the mail', /^DATA$/, undefined, 'unavailable'],
    ['hangs after the mail', /^\.$/, undefined, 'interrupted'],
    ['closes instead of a greeting', /^\(/, 'end', 'unavailable'],
    ['closes before the mail', /^RCPT/, 'end', 'unavailable'],
    ['closes in the middle of the mail', /^Subject/, 'end', 'interrupted'],
    ['closes instead of accepting the mail', /^\.$/, 'end', 'interrupted'],
  ]
  for (const [name, stopAt, then, want] of broken) {
    it(`is ${want} if the server ${name}`, async () => {
      const server = await startRawServer(answersUntil(stopAt, then))
      toStop.push(() => server.stop())
      const { outcome } = await open(smtpAt(server.port), { silence: 150 }).send(mail, never)
      assert.equal(outcome, want)
    })
  }

  it('is aborted by a signal', async () => {
    const attempted = new AbortController()
    const server = await startRawServer(line => {
      if (line === 'DATA') attempted.abort()
      return answersUntil(/^DATA$/, undefined)(line)
    })
    toStop.push(() => server.stop())
    const { outcome } = await open(smtpAt(server.port)).send(mail, attempted.signal)
    assert.equal(outcome, 'unavailable')
  })

  it('sends or refuses an address that requires SMTPUTF8', async () => {
    const delivery = await attempt({}, {}, { to: 'älg@example.org' }) // the server has no SMTPUTF8
    assert.ok(delivery.outcome === 'sent' || delivery.outcome === 'refused', delivery.outcome)
  })
})

describe('Headers of a mail', () => {
  const injected = ['a\r\nBcc: eve@example.org', 'a\nX-Evil: 1', 'a\rX-Evil: 1', 'a\0b', 'a\u2028X-Evil: 1']
  const names = [
    ...injected,
    '"quoted" <eve@example.org>',
    'a, eve@example.org',
    '=?utf-8?q?=0d=0aBcc:_e?=',
    'Ünïcode 例え 🎉',
  ]
  const plain = async (sent: Partial<OutgoingMail>): Promise<ReceivedMail> => {
    const { outcome, got } = await attempt({}, {}, sent)
    assert.equal(outcome, 'sent')
    return got ?? assert.fail()
  }
  const expected = ['from', 'to', 'subject', 'message-id', 'date', 'mime-version', 'auto-submitted', 'content-type']

  for (const name of names) {
    it(`have no injected header with ${JSON.stringify(name)} as sender name and subject`, async () => {
      const { headers, to, from } = await plain({ from: name, subject: name })
      assert.deepEqual(Object.keys(headers).toSorted(), expected.toSorted())
      assert.deepEqual([to, from], [['ann@example.org'], 'no-reply@id.example'])
      assert.equal(headers['from']?.match(/<[^>]*>$/)?.[0], '<no-reply@id.example>')
    })
  }

  for (const to of [
    'ann@example.org\r\nBcc: eve@example.org',
    'ann@example.org, eve@example.org',
    'a <eve@example.org>',
  ]) {
    it(`are refused with ${JSON.stringify(to)} as recipient`, async () => {
      const refused = { outcome: 'refused', reason: 'no mail can be sent to this address' }
      assert.deepEqual(await attempt({}, {}, { to }), refused)
    })
  }

  it('escape a line with a single dot in the text', async () => {
    const { source } = await plain({ text: 'one\n.\r\n\r\nMAIL FROM:<eve@example.org>\n' })
    assert.match(source, /MAIL FROM:<eve/)
  })
})
