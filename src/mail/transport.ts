// Hands one mail at a time to the mail server (SMTP, RFC 5321) and returns the outcome. Independent of the queue. Outcomes and
// reasons contain no address, no password and no text of the server, because servers repeat addresses.
import type { Readable } from 'node:stream'
import { isLoopbackHost } from '../base/loopback.ts'
import { isMailAddress } from '../model/mail.ts'
import type { SmtpSettings } from '../model/mail.ts'
import type { AddressedMail } from './mailer.ts'

/** A mail and the values that are the same for every attempt. */
export interface OutgoingMail extends AddressedMail {
  readonly id: string
  readonly createdAt: Date
}

/** The outcome of a mail. Every outcome but `sent` has a reason for the log. */
export type Delivery =
  | { readonly outcome: 'sent' }
  /** The recipient or the mail is refused permanently. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** This mail is refused temporarily. */
  | { readonly outcome: 'deferred'; readonly reason: string }
  /** The server accepts no mail at all: unreachable, untrusted, or it refuses us. */
  | { readonly outcome: 'unavailable'; readonly reason: string }
  /** The connection closed during the transfer: the server may have accepted the mail. */
  | { readonly outcome: 'interrupted'; readonly reason: string }

/** The connection to the mail server, opened when needed. */
export interface Transport {
  /** Never rejects. `signal` aborts the attempt. */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<Delivery>
  /** Closes the connection, even during a transfer; the next `send` opens a new one. */
  close(): void
}

/** Options of `createTransport`. */
export interface TransportOptions {
  /** PEM of a certificate authority to trust instead of those of the system. */
  readonly authority?: string
  /** Milliseconds without a response from the server. */
  readonly silence?: number
}

const MAX_SILENCE_MS = 60_000
const CONNECTION_MS = 30_000
const IDLE_MS = 30_000
const MAILS_PER_CONNECTION = 1000
/** RFC 5321 §4.2.2, RFC 4954 §6: about the session and its authentication, independent of the recipient. */
const ABOUT_THE_SESSION = new Set([421, 530, 534, 535, 538])

const UNUSABLE = 'no mail can be sent to this address'

/** Settings of nodemailer for the mail server. */
export function connectionOptions(smtp: SmtpSettings, { authority, silence = MAX_SILENCE_MS }: TransportOptions = {}) {
  const { host, port, secure, starttls, user, password } = smtp
  const isLocal = isLoopbackHost(host)
  return {
    host,
    port,
    secure,
    // Credentials never leave the machine unencrypted. A local server is not asked for TLS: the certificate that
    // it has there is rarely valid.
    requireTLS: !secure && (starttls || (user !== undefined && !isLocal)),
    ignoreTLS: !starttls && isLocal,
    tls: { minVersion: 'TLSv1.2', ...(authority !== undefined && { ca: authority }) },
    ...(user !== undefined && { auth: { user, pass: password ?? '' }, forceAuth: true }),
    connectionTimeout: Math.min(CONNECTION_MS, silence),
    greetingTimeout: Math.min(CONNECTION_MS, silence),
    socketTimeout: silence,
    socketCloseTimeout: 1000,
    pool: true,
    maxConnections: 1,
    maxMessages: MAILS_PER_CONNECTION,
    idleTimeout: IDLE_MS,
    maxRequeues: 1, // when the server closed an idle connection, and no part of the mail was sent
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
}

/** The message for nodemailer. Addresses are objects, so that nothing in them is parsed. */
const messageOf = (smtp: SmtpSettings, mail: OutgoingMail) => ({
  envelope: { from: smtp.from, to: mail.to },
  from: { name: singleLine(mail.from), address: smtp.from },
  to: { name: '', address: mail.to },
  subject: singleLine(mail.subject),
  text: mail.text,
  html: mail.html,
  // Servers and mailboxes recognize a mail that is sent twice by its id.
  messageId: `<${mail.id}@${smtp.from.slice(smtp.from.lastIndexOf('@') + 1)}>`,
  date: mail.createdAt,
  headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834 §5: no out-of-office replies
  xMailer: false as const,
})

/** Line breaks would end a header; other control characters and what turns the direction of text mislead its reader. */
const singleLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim()
    .slice(0, 200)
    .toWellFormed()

/** Loads nodemailer at the first mail. */
export function createTransport(smtp: SmtpSettings, options?: TransportOptions): Transport {
  let opened: Promise<Opened> | undefined

  return {
    async send(mail, signal) {
      // nodemailer would read several addresses out of one text.
      if (!isMailAddress(mail.to)) return { outcome: 'refused', reason: UNUSABLE }
      let connection: Opened | undefined
      try {
        connection = await (opened ??= open(smtp, options))
        await connection.send(messageOf(smtp, mail), signal)
        return { outcome: 'sent' }
      } catch (error) {
        if (!connection) opened = undefined // it could not be loaded, for example without a free file descriptor
        return deliveryOf(error as Failure, connection?.handedOver() ?? false) // of nodemailer
      }
    },
    close() {
      void opened?.then(
        connection => connection.close(),
        () => {},
      )
      opened = undefined
    },
  }
}

interface Opened {
  send(message: ReturnType<typeof messageOf>, signal: AbortSignal): Promise<unknown>
  /** Whether the transfer of the last message had started. */
  handedOver(): boolean
  close(): void
}

async function open(smtp: SmtpSettings, options?: TransportOptions): Promise<Opened> {
  const { createTransport: create } = await import('nodemailer')
  const transporter = create(connectionOptions(smtp, options))
  let stream: Readable | undefined
  transporter.use('stream', ({ message }, done) => {
    stream = undefined
    const make = message.createReadStream.bind(message)
    message.createReadStream = given => (stream = make(given))
    done()
  })
  return {
    async send(message, signal) {
      stream = undefined
      const given = { ...message, signal } // newer than its types
      await transporter.sendMail(given)
    },
    handedOver: () => stream?.readableDidRead ?? false,
    // The cast: the option is newer than the types.
    close: () => (transporter.transporter as { close(options: { force: true }): void }).close({ force: true }),
  }
}

interface Failure extends Error {
  readonly code?: string
  readonly command?: string
  readonly response?: string
  readonly responseCode?: number
}

/** Classifies a failure: this mail or every mail, temporary or permanent. */
function deliveryOf(failure: Failure, handedOver: boolean): Delivery {
  const { code, command, responseCode: status } = failure
  const reason = reasonOf(failure)
  if (status === undefined && code !== 'EENVELOPE' && code !== 'EMESSAGE') {
    return { outcome: handedOver ? 'interrupted' : 'unavailable', reason }
  }
  const aboutMail = (code === 'EENVELOPE' || code === 'EMESSAGE') && command !== 'MAIL FROM'
  if (!aboutMail || (status !== undefined && ABOUT_THE_SESSION.has(status))) return { outcome: 'unavailable', reason }
  return { outcome: status !== undefined && status < 500 ? 'deferred' : 'refused', reason }
}

/** The codes and, only for failures on our side, the message. */
function reasonOf({ code, command, response, responseCode, message }: Failure): string {
  if (responseCode === undefined) {
    return code === 'EENVELOPE' || code === 'EMESSAGE' ? UNUSABLE : singleLine(message)
  }
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1] // RFC 3463
  return [responseCode, enhanced, command && command !== 'CONN' && `to ${command}`].filter(Boolean).join(' ')
}
