import assert from 'node:assert/strict'
import { createTransport } from '../../src/mail/transport.ts'
import type { Delivery, OutgoingMail } from '../../src/mail/transport.ts'
import type { SmtpSettings } from '../../src/model/mail.ts'
import { signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { appOf } from '../support/second-factor.ts'
import { smtpAt, startMailServer } from '../support/mail-server.ts'
import type { MailServer, MailServerOptions } from '../support/mail-server.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** Sends one mail to a server of the attacker's choice. */
async function sending(
  mail: Partial<OutgoingMail>,
  smtp: Partial<SmtpSettings> = {},
  options: MailServerOptions = {},
): Promise<Pick<MailServer, 'received'> & { readonly delivery: Delivery }> {
  const server = await startMailServer(options)
  const transport = createTransport(smtpAt(server.port, smtp))
  const usual = { id: 'id', createdAt: new Date(0), from: 'Example', to: 'ann@example.org', subject: 'Hello' }
  const text = 'https://id.example/verify?code=secret'
  const delivery = await transport.send({ ...usual, text, html: text, ...mail }, new AbortController().signal)
  transport.close()
  await server.stop()
  return { delivery, received: server.received }
}

/** Adds an authenticator app to the account. */
async function enrolAt(browser: Browser, server: TestServer): Promise<void> {
  const page = (await browser.send('/profile/security/app')).text
  const form = { ...hiddenFields(page), code: appOf(page).code(server) }
  assert.equal((await browser.send('/profile/security/app', { form })).status, 200)
}

/** Attacks on mail: recipients, headers, transport. */
export const mailAttacks: readonly Attack[] = [
  {
    attack: 'injects a header or a recipient by a name with line breaks',
    outcome: 'line breaks are removed, and only one user gets the mail',
    async attempt() {
      const name = 'Ann\r\nBcc: eve@example.org\r\n\r\nBody'
      const { received } = await sending({ from: name, subject: name })
      assert.deepEqual(received[0]?.to, ['ann@example.org'])
      assert.equal(received[0]?.headers['bcc'], undefined)
    },
  },
  {
    attack: 'has a mail sent to a second user by an address that contains two',
    outcome: 'nothing is sent',
    async attempt() {
      const { received, delivery } = await sending({ to: 'ann@example.org, eve@example.org' })
      assert.deepEqual([received.length, delivery.outcome], [0, 'refused'])
    },
  },
  {
    attack: 'floods another user with mail about changed factors of an account with their email address',
    outcome: 'changes are limited to thirty an hour',
    async attempt() {
      const server = await startServer()
      const browser = await signedIn(server)
      await enrolAt(browser, server)
      const sent = async () => (await server.mails()).length
      const before = await sent()
      const statuses = new Set<number>()
      for (let times = 0; times < 40; times += 1) {
        const form = hiddenFields((await browser.send('/profile/security/codes')).text)
        statuses.add((await browser.send('/profile/security/codes', { form })).status)
      }
      assert.deepEqual([...statuses], [200, 429])
      assert.ok((await sent()) - before <= 30)
      await server.stop()
    },
  },
  {
    attack: 'removes STARTTLS from the response of the mail server',
    outcome: 'neither password nor mail is sent',
    async attempt() {
      const { received, delivery } = await sending({}, { starttls: true, user: 'u', password: 'p' })
      assert.deepEqual([received.length, delivery.outcome], [0, 'unavailable'])
    },
  },
  {
    attack: 'impersonates the mail server with an untrusted certificate',
    outcome: 'neither password nor mail is sent',
    async attempt() {
      for (const [smtp, tls] of [[{ starttls: true }, 'starttls'] as const, [{ secure: true }, 'implicit'] as const]) {
        const { received, delivery } = await sending({}, smtp, { tls })
        assert.deepEqual([received.length, delivery.outcome], [0, 'unavailable'])
      }
    },
  },
  {
    attack: 'reads the outbox of a regular server, or of the playground by DNS rebinding',
    outcome: 'the outbox is not served',
    async attempt() {
      const server = await startServer()
      assert.notEqual((await server.send('/outbox')).status, 200)
      await server.stop()
      const playground = await startServer({ playground: true })
      assert.equal((await playground.send('/outbox', { host: 'evil.example' })).status, 404)
      await playground.stop()
    },
  },
]
