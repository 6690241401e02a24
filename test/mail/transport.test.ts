import assert from 'node:assert/strict'
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

/** What became of one mail, and the mail where it came. */
async function attempt(
  options: MailServerOptions,
  given: Partial<SmtpSettings> = {},
  sent: Partial<OutgoingMail> = {},
): Promise<Delivery & { readonly got?: ReceivedMail }> {
  const server = await serverWith(options)
  const delivery = await open(smtpAt(server.port, given)).send({ ...mail, ...sent }, never)
  return { ...delivery, ...(server.received[0] && { got: server.received[0] }) }
}

describe('a mail that is sent', () => {
  // Covers configuration file: smtp.from
  it('has sender, recipient, both parts, a constant id and date, and is marked as automatic', async () => {
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

  it('goes over one connection with the next ones', async () => {
    const server = await serverWith({})
    const transport = open(smtpAt(server.port))
    for (let i = 0; i < 5; i += 1) assert.deepEqual(await transport.send(mail, never), { outcome: 'sent' })
    assert.deepEqual([server.received.length, server.connections()], [5, 1])
  })

  it('goes over a new connection after the transport was closed', async () => {
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

  it('is demanded by starttls: nothing is sent to a server that does not offer it', async () => {
    const delivery = await attempt({}, { starttls: true, user: 'u', password: 'secret-password' })
    assert.equal(delivery.outcome, 'unavailable')
    assert.equal(delivery.got, undefined)
    assert.doesNotMatch(JSON.stringify(delivery), /secret-password/)
  })

  const demands: readonly (readonly [string, Partial<SmtpSettings>, boolean, boolean])[] = [
    ['a remote server', { host: 'mail.example' }, false, false],
    ['a remote server with a user', { host: 'mail.example', user: 'u', password: 'p' }, true, false],
    ['a local server', { host: 'localhost' }, false, true],
    ['a local server with a user', { host: 'localhost', user: 'u', password: 'p' }, false, true],
    ['a local server with starttls', { host: 'localhost', starttls: true }, true, false],
  ]
  for (const [name, given, required, ignored] of demands) {
    it(`is ${required ? 'required' : ignored ? 'not asked for' : 'used if offered'} by ${name}`, () => {
      const { requireTLS, ignoreTLS, tls } = connectionOptions(smtpAt(25, given))
      assert.deepEqual([requireTLS, ignoreTLS], [required, ignored])
      assert.ok(!('rejectUnauthorized' in tls))
    })
  }
})

describe('authentication to the mail server', () => {
  it('has user and password', async () => {
    const { outcome, got } = await attempt({ user: ['u', 'p'] }, { user: 'u', password: 'p' })
    assert.deepEqual([outcome, got?.user], ['sent', 'u'])
  })

  it('with a wrong password concerns every mail, and the password is not shown', async () => {
    const delivery = await attempt({ user: ['u', 'p'] }, { user: 'u', password: 'secret-password' })
    assert.deepEqual(delivery, { outcome: 'unavailable', reason: '535 to AUTH PLAIN' })
  })

  it('is insisted on: a server that asks for none gets no mail', async () => {
    const delivery = await attempt({}, { user: 'u', password: 'p' })
    assert.equal(delivery.outcome, 'unavailable')
  })
})

describe('a mail that is not sent', () => {
  const rows: readonly (readonly [string, MailServerOptions, Delivery])[] = [
    [
      'is refused with its recipient',
      { recipient: to => `550 5.1.1 <${to}> unknown` },
      { outcome: 'refused', reason: '550 5.1.1 to RCPT TO' },
    ],
    [
      'waits when its recipient is greylisted',
      { recipient: () => '451 4.7.1 later' },
      { outcome: 'deferred', reason: '451 4.7.1 to RCPT TO' },
    ],
    [
      'is refused for its content',
      { message: () => '554 5.6.0 no' },
      { outcome: 'refused', reason: '554 5.6.0 to DATA' },
    ],
    [
      'waits when its content is',
      { message: () => '452 4.3.1 full' },
      { outcome: 'deferred', reason: '452 4.3.1 to DATA' },
    ],
    [
      'is not given up because the sender is refused',
      { sender: () => '550 5.7.1 not you' },
      { outcome: 'unavailable', reason: '550 5.7.1 to MAIL FROM' },
    ],
    [
      'is not given up because authentication is missing',
      { recipient: () => '530 5.7.0 authenticate' },
      { outcome: 'unavailable', reason: '530 5.7.0 to RCPT TO' },
    ],
    [
      'is not given up because the server shuts down',
      { recipient: () => '421 4.3.2 bye' },
      { outcome: 'unavailable', reason: '421 4.3.2' },
    ],
  ]
  for (const [name, options, want] of rows) {
    it(name, async () => assert.deepEqual(await attempt(options), want))
  }

  it('does not take the connection along', async () => {
    const server = await serverWith({ recipient: to => (to.startsWith('eve') ? '550 5.1.1 no' : undefined) })
    const transport = open(smtpAt(server.port))
    assert.equal((await transport.send({ ...mail, to: 'eve@example.org' }, never)).outcome, 'refused')
    assert.equal((await transport.send(mail, never)).outcome, 'sent')
    assert.equal(server.connections(), 1)
  })

  it('waits for a server that is down', async () => {
    const delivery = await open(smtpAt(await freePort())).send(mail, never)
    assert.equal(delivery.outcome, 'unavailable')
    assert.match('reason' in delivery ? delivery.reason : '', /ECONNREFUSED/)
  })

  /** A server that speaks properly up to the line. */
  const polite = (stopAt: RegExp, then: 'end' | undefined) => (line: string) => {
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
    ['closes instead of taking the mail', /^\.$/, 'end', 'interrupted'],
  ]
  for (const [name, stopAt, then, want] of broken) {
    it(`is ${want} when the server ${name}`, async () => {
      const server = await startRawServer(polite(stopAt, then))
      toStop.push(() => server.stop())
      const { outcome } = await open(smtpAt(server.port), { silence: 150 }).send(mail, never)
      assert.equal(outcome, want)
    })
  }

  it('is given up by a signal, however slowly the server answers', async () => {
    const attempted = new AbortController()
    const server = await startRawServer(line => {
      if (line === 'DATA') attempted.abort()
      return polite(/^DATA$/, undefined)(line)
    })
    toStop.push(() => server.stop())
    const { outcome } = await open(smtpAt(server.port)).send(mail, attempted.signal)
    assert.equal(outcome, 'unavailable')
  })

  it('is refused when its address cannot be written', async () => {
    const delivery = await attempt({}, {}, { to: 'älg@example.org' }) // the server has no SMTPUTF8
    assert.ok(delivery.outcome === 'sent' || delivery.outcome === 'refused', delivery.outcome)
  })
})

describe('headers of a mail', () => {
  const smuggled = ['a\r\nBcc: eve@example.org', 'a\nX-Evil: 1', 'a\rX-Evil: 1', 'a\0b', 'a\u2028X-Evil: 1']
  const names = [
    ...smuggled,
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
    it(`are the usual ones with ${JSON.stringify(name)} as name of the sender and as subject`, async () => {
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
    it(`are not sent at all with ${JSON.stringify(to)} as recipient`, async () => {
      const refused = { outcome: 'refused', reason: 'no mail can be sent to this address' }
      assert.deepEqual(await attempt({}, {}, { to }), refused)
    })
  }

  it('cannot be ended by a text with a lone dot', async () => {
    const { source } = await plain({ text: 'one\n.\r\n\r\nMAIL FROM:<eve@example.org>\n' })
    assert.match(source, /MAIL FROM:<eve/)
  })
})
