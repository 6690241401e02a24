// A mail server for tests on loopback: stores received mails, and fails as configured.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { SMTPServerOptions } from 'smtp-server'
import type { SmtpSettings } from '../../src/model/mail.ts'
import { certificateOf } from './certificate.ts'

/** A mail as the server received it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly isSecure: boolean
  readonly user: string | undefined
  /** Raw headers and body. */
  readonly source: string
  /** Headers by lower-case name, unfolded. */
  readonly headers: Readonly<Record<string, string>>
}

/** The behavior of a server. */
export interface MailServerOptions {
  readonly tls?: 'none' | 'starttls' | 'implicit'
  /** The only user and the password; without, the server offers no authentication. */
  readonly user?: readonly [string, string]
  /** Status with text for a sender, a recipient or a whole mail; undefined accepts. */
  readonly sender?: () => string | undefined
  readonly recipient?: (address: string) => string | undefined
  readonly message?: (mail: ReceivedMail) => string | undefined | Promise<string | undefined>
  /** The port, if it must be a certain one. */
  readonly port?: number
}

/** A running mail server. */
export interface MailServer {
  readonly port: number
  readonly received: readonly ReceivedMail[]
  /** Connections so far. */
  readonly connections: () => number
  /** Resolves when this many mails were received. */
  has(count: number): Promise<void>
  stop(): Promise<void>
}

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
/** The self-signed certificate of servers with TLS. */
export const CERTIFICATE = certificateOf(key, { name: 'mail.example', address: '127.0.0.1' })

/** Starts a server; the test stops it. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { tls = 'none', user: account, sender, recipient, message } = options
  const received: ReceivedMail[] = []
  const waiting = new Set<() => void>()
  let connections = 0

  const refusal = (text: string | undefined): Error | null =>
    text === undefined ? null : Object.assign(new Error(text.slice(4)), { responseCode: Number(text.slice(0, 3)) })

  const settings: SMTPServerOptions = {
    secure: tls === 'implicit',
    key,
    cert: CERTIFICATE,
    hideSTARTTLS: tls !== 'starttls',
    disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(account ? [] : ['AUTH'])],
    authOptional: !account,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    logger: false,
    onConnect(_session, done) {
      connections += 1
      done()
    },
    onAuth({ username, password }, _session, done) {
      const isRight = username === account?.[0] && password === account?.[1]
      done(isRight ? null : new Error('Invalid credentials'), isRight ? { user: username } : undefined)
    },
    onMailFrom: (_address, _session, done) => done(refusal(sender?.())),
    onRcptTo: ({ address }, _session, done) => done(refusal(recipient?.(address))),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => void answer(chunks, session, done))
    },
  }
  type Session = Parameters<NonNullable<SMTPServerOptions['onData']>>[1]
  async function answer(
    chunks: readonly Buffer[],
    { envelope, secure, user }: Session,
    done: (error: Error | null) => void,
  ): Promise<void> {
    const source = Buffer.concat(chunks).toString()
    const [head = ''] = source.split('\r\n\r\n', 1)
    const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
    const mail = {
      from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
      to: envelope.rcptTo.map(({ address }) => address),
      isSecure: secure,
      user,
      source,
      headers: Object.fromEntries(
        lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
      ),
    }
    const refused = refusal(await message?.(mail))
    if (!refused) received.push(mail)
    done(refused)
    for (const look of waiting) look()
  }

  const server = new SMTPServer(settings)
  server.on('error', () => {}) // clients that go away
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port, // no pipe
    received,
    connections: () => connections,
    has: count =>
      new Promise(resolve => {
        const look = (): void => {
          if (received.length < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    stop: () => new Promise(resolve => server.close(() => resolve())),
  }
}

/** A scripted server: `reply` returns the response to each line and to `(connected)`, silence, or the end of the connection. */
export async function startRawServer(
  /** A line, `end`, or undefined for silence. */
  reply: (line: string, socket: Socket) => string | undefined,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    let rest = ''
    const say = (line: string): void => {
      const answer = reply(line, socket)
      if (answer === 'end') socket.destroy()
      else if (answer !== undefined) socket.write(`${answer}\r\n`)
    }
    socket.on('error', () => {})
    socket.on('data', chunk => {
      const lines = `${rest}${chunk.toString()}`.split('\r\n')
      rest = lines.pop() ?? ''
      lines.forEach(say)
    })
    say('(connected)')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // no pipe
    stop: () =>
      new Promise(resolve => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** Settings for a server on this port. */
export const smtpAt = (port: number, given: Partial<SmtpSettings> = {}): SmtpSettings => ({
  host: '127.0.0.1',
  port,
  from: 'no-reply@id.example',
  secure: false,
  starttls: false,
  rate: 10,
  ...given,
})
