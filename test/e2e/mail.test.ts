// Mails through real processes, real databases and a real mail server.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { createMailer } from '../../src/mail/mailer.ts'
import { createSender } from '../../src/mail/sender.ts'
import { createTransport } from '../../src/mail/transport.ts'
import { openStore } from '../../src/store/open.ts'
import { freshDatabase } from '../support/databases.ts'
import { smtpAt, startMailServer } from '../support/mail-server.ts'
import type { MailServer } from '../support/mail-server.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { zone } from '../store/records.ts'

const KEY = Buffer.alloc(32, 7)
const random = createRandom()
const folder = mkdtempSync(join(tmpdir(), 'latchkey-mail-'))
after(() => rmSync(folder, { recursive: true }))

const configFor = (database: string, server: MailServer, rate = 200) => ({
  database,
  master_key: KEY.toString('hex'),
  smtp: { host: '127.0.0.1', port: server.port, from: 'id@id.example', rate },
})

/** Puts mails into the queue of a database, as another process would. */
async function queue(database: string, count: number): Promise<void> {
  const store = await openStore(database, { clock: systemClock })
  const mailer = createMailer({ store, vault: createVault(KEY, random), clock: systemClock, random })
  const usefulUntil = new Date(systemClock.now().getTime() + 3_600_000)
  for (let number = 0; number < count; number += 1) {
    const mail = {
      from: 'Example',
      to: `ann-${number}@example.org`,
      subject: 'Hello',
      text: 'secret-code',
      html: '<p>x',
    }
    await mailer.send(zone({ id: 'svc' }), mail, usefulUntil)
  }
  await store.close()
}

async function waitingIn(database: string): Promise<number> {
  const store = await openStore(database, { clock: systemClock })
  const { count } = await store.mails.waiting()
  await store.close()
  return count
}

const recipients = (server: MailServer): readonly string[] => server.received.flatMap(({ to }) => to)

describe('Mail delivery by several processes', () => {
  const rows = [
    { name: 'two servers on one SQLite file', workers: '1', kind: 'sqlite' },
    { name: 'two servers with two workers each, on one PostgreSQL', workers: '2', kind: 'postgres' },
  ] as const
  for (const { name, workers, kind } of rows) {
    // Covers configuration file: smtp.host; smtp.port
    it(`sends each mail exactly once (${name})`, async () => {
      const database = await freshDatabase(kind)
      const mailServer = await startMailServer()
      await queue(database.url, 60)
      const config = configFor(database.url, mailServer)
      const servers = await Promise.all([1, 2].map(() => serve({ config, args: ['--workers', workers] })))
      await queue(database.url, 60)
      await mailServer.has(120)
      const endings = await Promise.all(servers.map(server => server.stop()))
      assert.deepEqual(
        endings.map(({ status }) => status),
        [0, 0],
      )
      assert.equal(await waitingIn(database.url), 0)
      const all = recipients(mailServer)
      assert.equal(all.length, 120)
      assert.equal(new Set(mailServer.received.map(({ headers }) => headers['message-id'])).size, 120)
      assert.doesNotMatch(endings.map(({ stdout, stderr }) => stdout + stderr).join(), /secret-code|ann-/)
      await mailServer.stop()
      await database.drop()
    })
  }
})

describe('A process that ends', () => {
  /** An SMTP server that holds the third mail until the test sends a response. */
  async function untilTheThird(file: string): Promise<{
    readonly mailServer: MailServer
    readonly server: ServerProcess
    readonly database: string
    readonly answer: () => void
  }> {
    const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>()
    const { promise: third, resolve: begin } = Promise.withResolvers<void>()
    let count = 0
    const mailServer = await startMailServer({
      message() {
        count += 1
        if (count !== 3) return undefined
        begin()
        return answered
      },
    })
    const database = `sqlite:${join(folder, file)}`
    await queue(database, 5)
    const server = await serve({ config: configFor(database, mailServer) })
    await third
    return { mailServer, server, database, answer: () => answer(undefined) }
  }

  it('by SIGTERM completes the current mail and leaves others in the queue', async () => {
    const { mailServer, server, database, answer } = await untilTheThird('term.db')
    const ended = server.stop()
    // What is to be shown: the process does not end before the answer, and sends no fourth mail after it.
    setTimeout(answer, 300)
    assert.equal((await ended).status, 0)
    assert.deepEqual([mailServer.received.length, await waitingIn(database)], [3, 2])
    await mailServer.stop()
  })

  it('by SIGKILL leaves its mail to the next process, with the same message id', async () => {
    const { mailServer, server, database, answer } = await untilTheThird('kill.db')
    await server.stop('SIGKILL')
    answer() // the server has taken it, and nobody knows
    await mailServer.has(3)
    assert.equal(await waitingIn(database), 3)
    // Minutes later: the lease and the claim of the killed process are over.
    const clock = { now: () => new Date(systemClock.now().getTime() + 6 * 60_000) }
    const store = await openStore(database, { clock })
    const smtp = smtpAt(mailServer.port, { rate: 1000 })
    const sender = createSender({
      smtp,
      mails: store.mails,
      transport: createTransport(smtp),
      vault: createVault(KEY, random),
      clock,
      expiryTime: async () => clock.now(),
      sharedTime: async () => clock.now(),
      random,
      log: { info: () => {}, warn: assert.fail, fault: (_, cause) => assert.fail(String(cause)) },
      pause: (_, signal) => new Promise(resolve => signal.addEventListener('abort', () => resolve())),
    })
    sender.start()
    while (mailServer.received.length < 6) {
      sender.wake()
      await new Promise(resolve => setImmediate(resolve))
    }
    await sender.stop()
    await store.close()
    const ids = mailServer.received.map(({ headers }) => headers['message-id'])
    assert.deepEqual([ids.length, new Set(ids).size], [6, 5])
    assert.ok(ids.slice(3).includes(ids[2]))
    await mailServer.stop()
  })
})
