import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it, mock } from 'node:test'
import { deliverContinuously } from '../../../src/ops/audit/delivering.ts'
import type { ShownEvent } from '../../support/audit.ts'
import { createTestClock } from '../../support/clock.ts'
import { auditConfig, verified } from '../../support/audit.ts'
import { SERVICE } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const KEY = Buffer.alloc(32, 3)
const SECRET = `whsec_${KEY.toString('base64')}`

interface Message {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly zone: string
  readonly events: readonly ShownEvent[]
}

describe('Audit webhooks', () => {
  const received: Message[] = []
  const arrivals = new EventEmitter()
  let status: number | undefined = 204
  /** Sent endlessly. */
  let answer: string | undefined
  let server: TestServer | undefined
  let url = ''
  const receiver = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const { zone, events } = JSON.parse(text) as Message
      received.push({ headers: request.headers, text, zone, events })
      arrivals.emit('message')
      if (status === undefined) request.socket.destroy()
      else if (answer !== undefined) response.writeHead(200).write(answer)
      else response.writeHead(status, status === 302 ? { location: url } : {}).end()
    })
  })
  before(async () => {
    await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/audit` // no pipe
  })
  after(() => receiver.close())
  afterEach(async () => {
    await server?.stop()
    server = undefined
    received.length = 0
    status = 204
    answer = undefined
  })

  async function start(webhook: object = {}, audit: object = {}): Promise<TestServer> {
    server = await startServer({
      config: auditConfig({ webhooks: [{ name: 'siem', url, secret: SECRET, ...webhook }], ...audit }),
    })
    return server
  }
  const act = async (on: TestServer, times = 1, host = 'localhost:8080') => {
    const basic = host === 'localhost:8080' ? SERVICE : (['service', 'service-secret'] as const)
    for (let i = 0; i < times; i += 1) await on.token({ grant_type: 'client_credentials' }, { basic, host })
    await on.app.trail?.flush()
  }
  const numbersOf = (zone: string): readonly number[] =>
    received.filter(each => each.zone === zone).flatMap(({ events }) => events.map(({ number }) => number))

  // Covers audit: webhooks
  it('receive every entry once, in order and signed', async () => {
    const on = await start()
    await act(on, 70)
    await on.app.trail?.deliver()
    await act(on)
    await on.app.trail?.deliver()
    await on.app.trail?.deliver()
    assert.deepEqual(
      numbersOf('svc'),
      Array.from({ length: 142 }, (_, index) => index + 1),
    )
    assert.deepEqual(
      received.map(({ events }) => events.length),
      [100, 40, 2],
    )
    const last = received.at(-1)
    assert.equal(last?.events.at(-1)?.hash, (await verified(on)).head?.hash)
    for (const { headers, text } of received) {
      const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
      assert.equal(Number(timestamp), on.clock.now().getTime() / 1000)
      const signature = createHmac('sha256', KEY)
        .update(`${String(id)}.${String(timestamp)}.${text}`)
        .digest('base64')
      assert.equal(headers['webhook-signature'], `v1,${signature}`)
    }
    assert.equal(last?.headers['webhook-id'], 'svc.141.142')
  })

  it('are retried by the clock of the database, shared by all nodes', async () => {
    const databaseClock = createTestClock()
    const clock = createTestClock(databaseClock.now().getTime() + 86_400_000)
    server = await startServer({
      config: auditConfig({ webhooks: [{ name: 'siem', url, secret: SECRET }] }),
      clock,
      databaseClock,
    })
    await act(server)
    status = 500
    await server.app.trail?.deliver()
    await server.app.trail?.deliver()
    assert.equal(received.length, 1)
    status = 204
    databaseClock.advance(5)
    await server.app.trail?.deliver()
    assert.equal(received.length, 2)
  })

  for (const failure of [500, 302, 401, undefined]) {
    it(`are retried with increasing delay after ${failure ?? 'no response'}`, async () => {
      const on = await start()
      await act(on)
      status = failure
      await on.app.trail?.deliver()
      await on.app.trail?.deliver()
      assert.equal(received.length, 1)
      on.clock.advance(5)
      await on.app.trail?.deliver()
      on.clock.advance(29)
      await on.app.trail?.deliver()
      assert.deepEqual(await on.app.trail?.webhookTotals(), [
        { name: 'siem', outcomes: { accepted: 0, lost: 0, failed: 2 }, waiting: 2, waitingMilliseconds: 34_000 },
      ])
      assert.equal(received.length, 2)
      status = 200
      on.clock.advance(1)
      await on.app.trail?.deliver()
      await on.app.trail?.deliver()
      assert.equal(received.length, 3)
      assert.deepEqual(new Set(received.map(({ headers }) => headers['webhook-id'])), new Set(['svc.1.2']))
      assert.ok(on.lines.some(line => line.startsWith('audit webhook siem: zone svc waits; attempt 1 failed: ')))
      assert.deepEqual(on.faults, [])
    })
  }

  it('accept entries by status, with any response body', async () => {
    const on = await start()
    answer = 'x'.repeat(100_000)
    await act(on)
    await on.app.trail?.deliver()
    const [totals] = (await on.app.trail?.webhookTotals()) ?? []
    assert.deepEqual(totals?.outcomes, { accepted: 2, lost: 0, failed: 0 })
  })

  it('receive entries of their zones only', async () => {
    const on = await start({ zones: ['z1'] })
    await act(on)
    await act(on, 1, 'z1.localhost:8080')
    await act(on, 1, 'z2.localhost:8080')
    await on.app.trail?.deliver()
    assert.deepEqual([...new Set(received.map(({ zone }) => zone))], ['z1'])
    assert.deepEqual(numbersOf('z1'), [1, 2])
  })

  it('continue after entries deleted by retention, and log the loss', async () => {
    const on = await start({}, { days: 1 })
    await act(on)
    await on.app.trail?.deliver()
    status = 503
    await act(on)
    await on.app.trail?.deliver()
    on.clock.advance(3 * 86_400)
    await on.app.trail?.deleteExpired()
    await act(on)
    status = 200
    await on.app.trail?.deliver()
    assert.deepEqual(
      received.at(-1)?.events.map(({ number }) => number),
      [5, 6],
    )
    assert.ok(on.lines.some(line => line === 'audit webhook siem: entries 3 to 4 of zone svc are gone'))
    assert.deepEqual(await on.app.trail?.webhookTotals(), [
      { name: 'siem', outcomes: { accepted: 4, lost: 2, failed: 1 }, waiting: 0, waitingMilliseconds: 0 },
    ])
  })

  it('do not delay requests, and never receive a secret', async () => {
    const on = await start()
    status = undefined
    const marissa = { grant_type: 'password', username: 'marissa', password: 'koala' }
    const answer = await on.token(marissa, { basic: ['app', 'app-secret'] })
    assert.equal(answer.status, 200)
    await on.token({ ...marissa, password: 'my-secret-word' }, { basic: ['app', 'app-secret'] })
    await on.app.trail?.flush()
    status = 200
    await on.app.trail?.deliver()
    const sent = received.map(({ text }) => text).join('')
    assert.match(sent, /UserAuthenticationFailure/)
    const { access_token } = answer.json<{ access_token: string }>()
    for (const secret of ['koala', 'my-secret-word', 'app-secret', access_token, SECRET]) {
      assert.ok(!sent.includes(secret))
    }
  })

  describe('with slow webhooks', () => {
    /** Responds when the test says so. */
    const waiting: (() => void)[] = []
    const slow = createServer((request, response) => {
      request.resume().on('end', () => {
        waiting.push(() => response.writeHead(204).end())
        arrivals.emit('message')
      })
    })
    let slowUrl = ''
    before(async () => {
      await new Promise<void>(resolve => slow.listen(0, '127.0.0.1', resolve))
      slowUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/audit` // no pipe
    })
    after(() => slow.close())
    afterEach(() => mock.timers.reset())

    const startBeside = async (count: number): Promise<TestServer> => {
      const others = Array.from({ length: count }, (_, index) => ({
        name: `slow-${index}`,
        url: slowUrl,
        secret: SECRET,
      }))
      server = await startServer({
        config: auditConfig({ webhooks: [...others, { name: 'siem', url, secret: SECRET }] }),
      })
      return server
    }
    const answerAll = (): void => {
      for (const end of waiting.splice(0)) end()
    }
    const until = async (condition: () => boolean): Promise<void> => {
      while (!condition()) await once(arrivals, 'message')
    }

    it('receive entries of every zone at once, however many connections the slow ones hold', async () => {
      const on = await startBeside(3)
      for (const host of ['localhost:8080', 'z1.localhost:8080', 'z2.localhost:8080']) await act(on, 1, host)
      const delivery = on.app.trail?.deliver()
      await until(() => waiting.length === 9 && received.length === 3)
      assert.deepEqual(received.map(({ zone }) => zone).toSorted(), ['svc', 'z1', 'z2'])
      answerAll()
      await delivery
      const totals = (await on.app.trail?.webhookTotals()) ?? []
      assert.deepEqual(
        totals.map(({ outcomes }) => outcomes.failed),
        [0, 0, 0, 0],
      )
    })

    it('receive further entries while a slow one still processes the first', async () => {
      const on = await startBeside(1)
      const { trail } = on.app
      assert.ok(trail)
      mock.timers.enable({ apis: ['setInterval'] })
      const stop = deliverContinuously(trail, { fault: assert.fail })
      await act(on)
      mock.timers.tick(1000)
      await until(() => waiting.length === 1 && received.length === 1)
      await act(on)
      mock.timers.tick(1000)
      await until(() => received.length === 2)
      assert.deepEqual(numbersOf('svc'), [1, 2, 3, 4])
      assert.equal(waiting.length, 1)
      const stopped = stop()
      answerAll()
      await stopped
    })
  })
})
