import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { createOutbound } from '../../src/base/outbound.ts'
import { createRandom } from '../../src/base/random.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { createSubjects } from '../../src/model/tokens/subject.ts'
import { createUrls } from '../../src/model/urls.ts'
import { createBackChannel } from '../../src/oauth/logout/back-channel.ts'
import { createTestClock } from '../support/clock.ts'
import { authorize, signedIn } from '../support/authorize.ts'
import { startLogoutReceiver } from '../support/logout-receiver.ts'
import { changeClient, changeUser, exchange, MODES, tokensOf, userNamed, verified } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

/** A client that receives logout tokens. */
interface Receiver {
  readonly tokens: string[]
  answer: number | 'never'
  readonly url: string
  stop(): Promise<void>
}

async function startReceiver(): Promise<Receiver> {
  const tokens: string[] = []
  const self = { tokens, answer: 200 as number | 'never', url: '', stop: () => Promise.resolve() }
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      tokens.push(new URLSearchParams(body).get('logout_token') ?? '')
      if (self.answer !== 'never') response.writeHead(self.answer).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  self.url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/bye`
  self.stop = () =>
    new Promise(resolve => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  return self
}

for (const mode of MODES) {
  describe(`Back-channel logout in ${mode}`, () => {
    let shop: Receiver
    let bank: Receiver
    let server: TestServer
    before(async () => {
      ;[shop, bank] = await Promise.all([startReceiver(), startReceiver()])
      const client = (id: string, more: object) => ({
        client_id: id,
        client_secret: 'secret',
        authorized_grant_types: ['authorization_code', 'refresh_token'],
        scope: ['openid'],
        redirect_uri: [`https://${id}.example/cb`],
        autoapprove: true,
        ...more,
      })
      const clients = [
        ...defaultBootstrap.clients,
        client('shop', { backchannel_logout_uri: shop.url }),
        client('bank', { backchannel_logout_uri: bank.url, subject_type: 'pairwise' }),
        client('quiet', {}),
      ]
      const zone_config = { protocols: { backchannelLogout: true, pairwiseSubjects: true } }
      server = await startServer({ mode, config: { bootstrap: { ...defaultBootstrap, clients }, zone_config } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await Promise.all([server.stop(), shop.stop(), bank.stop()])
    })

    const deliver = async (): Promise<number> => (await server.app.backChannel()).deliver()
    async function visit(browser: Browser, id: string): Promise<string> {
      const redirectUri = `https://${id}.example/cb`
      const request = { response_type: 'code', client_id: id, redirect_uri: redirectUri, scope: 'openid' }
      const code = (await authorize(browser, request)).location().searchParams.get('code') ?? ''
      return tokensOf(await exchange(server, code, { redirect_uri: redirectUri }, [id, 'secret'])).id_token
    }
    const leave = async (browser: Browser): Promise<void> => {
      const answer = await browser.send('/logout.do', { query: { redirect: '/login' } })
      assert.ok(answer.status < 400, answer.text)
    }

    // Covers later standards: back-channel logout, to applications
    it('sends a verifiable logout token to each client of the session that has a logout URI', async () => {
      const browser = await signedIn(server)
      const idToken = await visit(browser, 'shop')
      const ofBank = await visit(browser, 'bank')
      await visit(browser, 'quiet')
      await leave(browser)
      assert.equal(await deliver(), 1)
      assert.equal(shop.tokens.length, 1)
      const { payload, header } = await verified(server, shop.tokens[0] ?? '', { audience: 'shop', typ: 'logout+jwt' })
      assert.equal(payload.sub, (await userNamed(server, 'marissa')).id)
      if (mode === 'standard') assert.equal(payload['sid'], decodeJwt(idToken)['sid'])
      assert.deepEqual(payload['events'], { 'http://schemas.openid.net/event/backchannel-logout': {} })
      assert.equal(payload['nonce'], undefined)
      assert.equal(Number(payload.exp) - Number(payload.iat), 120)
      assert.ok(header.kid)
      assert.equal(decodeJwt(bank.tokens[0] ?? '').sub, decodeJwt(ofBank).sub)
      assert.equal(await deliver(), 0)
    })

    it('sends a token that is not accepted as access token or id_token_hint', async () => {
      const token = shop.tokens[0] ?? ''
      assert.equal((await server.send('/userinfo', { bearer: token })).status, 401)
      const browser = await signedIn(server)
      const asHint = await authorize(browser, {
        response_type: 'code',
        client_id: 'shop',
        redirect_uri: 'https://shop.example/cb',
        prompt: 'none',
        id_token_hint: token,
      })
      if (mode === 'standard') assert.equal(asHint.location().searchParams.get('error'), 'invalid_request')
    })

    it('retries a failed client, and notifies the others once', async () => {
      shop.tokens.length = 0
      bank.tokens.length = 0
      shop.answer = 503
      const browser = await signedIn(server)
      await visit(browser, 'shop')
      await visit(browser, 'bank')
      await leave(browser)
      assert.equal(await deliver(), 1)
      assert.equal(await deliver(), 0) // not immediately
      shop.answer = 204
      server.clock.advance(11)
      assert.equal(await deliver(), 1)
      assert.deepEqual([shop.tokens.length, bank.tokens.length], [2, 1])
      assert.notEqual(decodeJwt(shop.tokens[0] ?? '').jti, decodeJwt(shop.tokens[1] ?? '').jti)
      server.clock.advance(100_000)
      assert.equal(await deliver(), 0)
    })

    it('gives up on status 400 immediately, and on other errors after 8 attempts', async () => {
      shop.tokens.length = 0
      shop.answer = 400
      const first = await signedIn(server)
      await visit(first, 'shop')
      await leave(first)
      assert.equal(await deliver(), 1)
      server.clock.advance(100_000)
      assert.equal(await deliver(), 0)
      const channel = await server.app.backChannel()
      const before = await channel.totals()
      shop.answer = 500
      const second = await signedIn(server)
      await visit(second, 'shop')
      await leave(second)
      assert.deepEqual(await channel.totals(), { ...before, waiting: 1 })
      await deliver()
      server.clock.advance(20)
      assert.equal((await channel.totals()).waitingMilliseconds, 20_000)
      for (let attempt = 1; attempt < 20; attempt += 1) {
        await deliver()
        server.clock.advance(20_000)
      }
      assert.deepEqual(await channel.totals(), {
        outcomes: {
          ...before.outcomes,
          failed: before.outcomes.failed + 7,
          given_up: before.outcomes.given_up + 1,
        },
        waiting: 0,
        waitingMilliseconds: 0,
      })
      assert.equal((await server.store.endedSessions.waiting()).count, 0)
      assert.equal(shop.tokens.length, 1 + 8)
      assert.ok(
        server.lines.some(line => /given up after 8 attempts: shop \(it responded with status 500\)/.test(line)),
      )
      shop.answer = 200
    })

    it('uses the issuer of the zone path of the session', async () => {
      shop.tokens.length = 0
      shop.answer = 200
      const browser = server.browser()
      const page = await browser.send('/z/default/login')
      const [, name = '', value = ''] = /name="(X-[A-Za-z]+-Csrf)" value="([^"]+)"/.exec(page.text) ?? []
      const form = { username: 'marissa', password: 'koala', [name]: value }
      await browser.send('/z/default/login.do', { method: 'POST', form })
      const redirect_uri = 'https://shop.example/cb'
      const query = { response_type: 'code', client_id: 'shop', redirect_uri, scope: 'openid' }
      const answer = await browser.send('/z/default/oauth/authorize', { query })
      const code = answer.location().searchParams.get('code') ?? ''
      const given = await server.send('/z/default/oauth/token', {
        method: 'POST',
        form: { grant_type: 'authorization_code', code, redirect_uri },
        basic: ['shop', 'secret'],
      })
      const { iss } = decodeJwt(tokensOf(given).id_token)
      assert.match(String(iss), /\/z\/default/)
      await browser.send('/z/default/logout.do', { query: { redirect: '/login' } })
      await deliver()
      assert.deepEqual(
        shop.tokens.map(token => decodeJwt(token).iss),
        [iss],
      )
    })

    for (const status of [401, 403, 404, 410, 502]) {
      it(`logs status ${status} and retries`, async () => {
        shop.tokens.length = 0
        shop.answer = status
        const browser = await signedIn(server)
        await visit(browser, 'shop')
        await leave(browser)
        await deliver()
        const line = `back-channel logout: shop was not notified, will retry: it responded with status ${status}`
        assert.ok(server.lines.includes(line))
        assert.equal((await server.store.endedSessions.waiting()).count, 1)
        shop.answer = 200
        server.clock.advance(11)
        await deliver()
        assert.deepEqual([shop.tokens.length, (await server.store.endedSessions.waiting()).count], [2, 0])
      })
    }

    it('logs an unreachable client once', async () => {
      await changeClient(server, 'bank', { backchannelLogoutUri: 'http://127.0.0.1:1/bye' })
      const browser = await signedIn(server)
      await visit(browser, 'bank')
      await leave(browser)
      await deliver()
      server.clock.advance(11)
      await deliver()
      const reason = 'http://127.0.0.1:1: cannot be reached (ECONNREFUSED)'
      const line = `back-channel logout: bank was not notified, will retry: ${reason}`
      assert.equal(server.lines.filter(each => each === line).length, 1)
      await changeClient(server, 'bank', { backchannelLogoutUri: bank.url })
      server.clock.advance(3600)
      assert.equal(await deliver(), 1)
      assert.equal((await server.store.endedSessions.waiting()).count, 0)
    })

    it('starts no attempt during shutdown', async () => {
      shop.tokens.length = 0
      const browser = await signedIn(server)
      await visit(browser, 'shop')
      await leave(browser)
      assert.equal(await (await server.app.backChannel()).deliver(() => true), 0)
      assert.deepEqual([shop.tokens.length, (await server.store.endedSessions.waiting()).count], [0, 1])
      assert.equal(await deliver(), 1)
    })

    it('gives up immediately on a forbidden address', async () => {
      await changeClient(server, 'bank', { backchannelLogoutUri: 'https://169.254.169.254/bye' })
      const browser = await signedIn(server)
      await visit(browser, 'bank')
      await leave(browser)
      await deliver()
      assert.equal((await server.store.endedSessions.waiting()).count, 0)
      await changeClient(server, 'bank', { backchannelLogoutUri: bank.url })
    })

    it('does not delay sign-out for a client that does not respond', async () => {
      shop.answer = 'never'
      const browser = await signedIn(server)
      await visit(browser, 'shop')
      await leave(browser) // answers before any client is notified
      assert.equal((await server.store.endedSessions.waiting()).count, 1)
      shop.answer = 200
      await deliver()
    })

    it('is sent for every way in which a session ends', async () => {
      const { id } = await userNamed(server, 'marissa')
      await server.store.users.endAccess('svc', id, 'before') // sessions of the cases above
      await deliver()
      shop.tokens.length = 0
      for (const end of [
        (browser: Browser) =>
          browser.send('/profile').then(() => server.store.users.endAccess('svc', id, `r${Math.random()}`)),
        async (browser: Browser) => {
          await changeUser(server, 'marissa', { active: false })
          await browser.send('/profile') // detects the deactivation
          await changeUser(server, 'marissa', { active: true })
        },
      ]) {
        const browser = await signedIn(server)
        await visit(browser, 'shop')
        await end(browser)
        await deliver()
      }
      assert.equal(shop.tokens.length, 2)
    })
  })
}

describe('Back-channel logout of a node whose clock is a day ahead', () => {
  it('schedules retries by the clock of the database', async t => {
    const shop = await startReceiver()
    t.after(() => shop.stop())
    const clients = [
      ...defaultBootstrap.clients.filter(({ client_id: id }) => id !== 'auto'),
      { ...defaultBootstrap.clients[1], backchannel_logout_uri: shop.url },
    ]
    const zone_config = { protocols: { backchannelLogout: true } }
    const databaseClock = createTestClock()
    const clock = createTestClock(databaseClock.now().getTime() + 86_400_000)
    const config = { bootstrap: { ...defaultBootstrap, clients }, zone_config }
    const server = await startServer({ config, clock, databaseClock })
    t.after(() => server.stop())
    const deliver = async (): Promise<number> => (await server.app.backChannel()).deliver()
    const browser = await signedIn(server)
    await authorize(browser, { response_type: 'code', client_id: 'auto', redirect_uri: 'https://auto.example/cb' })
    await browser.send('/logout.do', { query: { redirect: '/login' } })
    shop.answer = 502
    assert.deepEqual([await deliver(), await deliver()], [1, 0])
    shop.answer = 200
    databaseClock.advance(11)
    assert.deepEqual([await deliver(), shop.tokens.length], [1, 2])
  })
})

describe('Back-channel logout disabled in the zone', () => {
  it('notifies no client', async () => {
    const shop = await startReceiver()
    const clients = [
      ...defaultBootstrap.clients.filter(({ client_id: id }) => id !== 'auto'),
      { ...defaultBootstrap.clients[1], backchannel_logout_uri: shop.url },
    ]
    const zone_config = { protocols: { backchannelLogout: false } }
    const server = await startServer({ config: { bootstrap: { ...defaultBootstrap, clients }, zone_config } })
    const browser = await signedIn(server)
    await authorize(browser, { response_type: 'code', client_id: 'auto', redirect_uri: 'https://auto.example/cb' })
    await browser.send('/logout.do', { query: { redirect: '/login' } })
    assert.equal((await server.store.endedSessions.waiting()).count, 0)
    await server.stop()
    await shop.stop()
  })
})

describe('Back-channel logout to clients that do not respond', () => {
  const clientsOf = (urls: ReadonlyMap<string, string>) =>
    Array.from(urls, ([id, url]) => ({
      client_id: id,
      client_secret: 'secret',
      authorized_grant_types: ['authorization_code'],
      scope: ['openid'],
      redirect_uri: [`https://${id}.example/cb`],
      backchannel_logout_uri: url,
    }))

  /** Receivers that do not respond. */
  async function hangingReceivers(t: TestContext, length: number) {
    const receivers = await Promise.all(Array.from({ length }, startLogoutReceiver))
    t.after(() => Promise.all(receivers.map(each => each.stop())))
    for (const each of receivers) each.answer(undefined)
    const arrived = async (count: number): Promise<void> => {
      while (receivers.flatMap(({ tokens }) => tokens).length < count) await new Promise(setImmediate)
    }
    return { receivers, arrived }
  }

  /** A sender whose requests last until they are aborted. */
  async function senderFor(t: TestContext, bootstrap: object, deadline?: () => AbortSignal) {
    const server = await startServer({ config: { bootstrap: { ...defaultBootstrap, ...bootstrap } } })
    t.after(() => server.stop())
    let timeout = new AbortController()
    const { app, store, clock, vault } = server
    const faults: unknown[] = []
    const behaviour = behaviourOf('standard')
    const outbound = createOutbound({
      allowPrivate: false,
      allowLoopback: true,
      deadline: deadline ?? (() => timeout.signal),
    })
    const channel = createBackChannel({
      store,
      clock,
      behaviour,
      random: createRandom(),
      keys: app.keys,
      outbound: outbound.for('logout'),
      urls: createUrls(server.baseUrl, behaviour),
      subjects: createSubjects({ behaviour, vault }),
      documents: { isGone: () => false },
      log: { warn: () => {}, fault: (_, cause) => void faults.push(cause) },
    })
    const { id: userId } = await userNamed(server, 'marissa')
    const end = (id: string, zoneId = 'svc', clients: readonly string[] = [id], beganAt?: Date): Promise<void> =>
      store.endedSessions.add({
        ...(beganAt && { beganAt }),
        zoneId,
        id,
        userId,
        sessionSalt: id,
        clients,
        attempts: 0,
        nextAttemptAt: clock.now(),
      })
    const endRequests = async (rounds: readonly Promise<unknown>[]): Promise<void> => {
      timeout.abort()
      await Promise.all(rounds)
      timeout = new AbortController()
    }
    return { channel, clock, end, endRequests, faults }
  }

  it('gives up each client after its own attempts', { timeout: 60_000 }, async t => {
    const { receivers } = await hangingReceivers(t, 20)
    const urls = new Map(receivers.map(({ url }, index) => [`hanging-${index}`, url]))
    const clients = [...defaultBootstrap.clients, ...clientsOf(urls)]
    const { channel, clock, end } = await senderFor(t, { clients }, () => AbortSignal.timeout(5))
    await end('session', 'svc', [...urls.keys()])
    const begin = clock.now().getTime()
    let { waiting } = await channel.totals()
    while (waiting > 0 && clock.now().getTime() < begin + 12 * 3_600_000) {
      await channel.deliver()
      clock.advance(60)
      ;({ waiting } = await channel.totals())
    }
    const { outcomes } = await channel.totals()
    assert.deepEqual([waiting, outcomes.given_up, outcomes.failed], [0, 20, 20 * 7])
  })

  it('gives up a logout that cannot be sent for hours', { timeout: 60_000 }, async t => {
    const { receivers, arrived } = await hangingReceivers(t, 3)
    const urls = new Map(receivers.map(({ url }, index) => [`hanging-${index}`, url]))
    const clients = [...defaultBootstrap.clients, ...clientsOf(urls)]
    const { channel, clock, end, endRequests } = await senderFor(t, { clients })
    await end('before', 'svc', [...urls.keys()])
    const first = channel.deliver()
    await arrived(3)
    clock.advance(10) // they count as slow from now on
    await endRequests([first])
    await end('busy', 'svc', [...urls.keys()].slice(0, 2))
    clock.advance(11)
    const busy = channel.deliver() // occupies both slots of the zone
    await arrived(5)
    await end('session', 'svc', ['hanging-2'], new Date(clock.now().getTime() - 7 * 3_600_000))
    const rounds = [busy, channel.deliver()]
    while ((await channel.totals()).outcomes.given_up === 0) await new Promise(setImmediate)
    await endRequests(rounds)
  })

  it('notifies other clients immediately during retries', { timeout: 20_000 }, async t => {
    const { receivers: hanging, arrived } = await hangingReceivers(t, 10)
    const healthy = await startLogoutReceiver()
    t.after(() => healthy.stop())
    const urls = new Map(hanging.map(({ url }, index) => [`hanging-${index}`, url])).set('healthy', healthy.url)
    const clients = [...defaultBootstrap.clients, ...clientsOf(urls)]
    const { channel, clock, end, endRequests, faults } = await senderFor(t, { clients })

    const notifyHealthy = async (): Promise<void> => {
      const { delivered } = (await channel.totals()).outcomes
      await end('healthy')
      while ((await channel.totals()).outcomes.delivered === delivered) {
        rounds.push(channel.deliver()) // as the server does every second, in case all workers were about to finish
        await new Promise(setImmediate)
      }
    }
    const rounds: Promise<unknown>[] = []

    await notifyHealthy() // it counts as responsive from now on
    for (const id of urls.keys()) if (id !== 'healthy') await end(id)
    for (const requests of [6, 6 + 2]) {
      rounds.push(channel.deliver())
      await arrived(requests)
      await notifyHealthy()
      await endRequests(rounds)
      clock.advance(11)
    }
    assert.deepEqual([healthy.tokens.length, faults], [3, []])
  })

  it('notifies other clients while every worker waits for another zone', { timeout: 20_000 }, async t => {
    const { receivers, arrived } = await hangingReceivers(t, 16)
    const healthy = await startLogoutReceiver()
    t.after(() => healthy.stop())
    const { channel, end, endRequests, faults } = await senderFor(t, {
      clients: [...defaultBootstrap.clients, ...clientsOf(new Map([['healthy', healthy.url]]))],
      identity_zones: receivers.map(({ url }, index) => {
        const id = `zone-${index}`
        return { id, subdomain: id, name: id, bootstrap: { clients: clientsOf(new Map([[id, url]])) } }
      }),
    })
    for (const index of receivers.keys()) await end(`zone-${index}`, `zone-${index}`)
    const rounds = [channel.deliver()]
    await arrived(16)
    await end('healthy')
    while (healthy.tokens.length === 0) {
      rounds.push(channel.deliver())
      await setTimeout(50)
    }
    await endRequests(rounds)
    assert.deepEqual([healthy.tokens.length, faults], [1, []])
  })

  for (const { name, status } of [
    { name: 'do not respond', status: undefined },
    { name: 'respond late, with an error', status: 503 },
  ]) {
    it(`retries all clients that ${name}, with increasing delays`, { timeout: 20_000 }, async t => {
      const requests = [0, 0, 0, 0] // more servers than are tried concurrently
      const servers = requests.map((_, index) =>
        createServer((_request, response) => {
          requests[index] = (requests[index] ?? 0) + 1
          clock.advance(2)
          if (status !== undefined) response.writeHead(status).end()
        }),
      )
      const urls = new Map<string, string>()
      for (const [index, server] of servers.entries()) {
        await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
        t.after(() => server.closeAllConnections())
        t.after(() => server.close())
        const address = server.address()
        urls.set(`late-${index}`, `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/bye`)
      }
      const clients = [...defaultBootstrap.clients, ...clientsOf(urls)]
      const { channel, clock, end, endRequests, faults } = await senderFor(t, { clients })
      await end('session', 'svc', [...urls.keys()])
      for (let round = 0; round < 60; round += 1) {
        const delivery = channel.deliver()
        await (status === undefined ? setTimeout(20) : delivery)
        await endRequests([delivery])
        clock.advance(11)
      }
      assert.deepEqual([requests.every(count => count >= 1 && count <= 10), faults], [true, []], requests.join())
    })
  }

  for (const { name, zoneIds, count, most } of [
    { name: 'two concurrent requests to slow clients of a zone', zoneIds: ['one'], count: 4, most: 2 },
    {
      name: 'twelve concurrent requests to slow clients of all zones',
      zoneIds: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
      count: 14,
      most: 12,
    },
  ]) {
    it(`sends at most ${name}`, { timeout: 20_000 }, async t => {
      const { receivers, arrived } = await hangingReceivers(t, count)
      const idOf = (index: number): string => `hanging-${index}`
      const zoneOf = (index: number): string => zoneIds[index % zoneIds.length] ?? ''
      const { channel, clock, end, endRequests, faults } = await senderFor(t, {
        identity_zones: zoneIds.map(id => {
          const urls = receivers.flatMap(({ url }, index) =>
            zoneOf(index) === id ? [[idOf(index), url] as const] : [],
          )
          return { id, subdomain: id, name: id, bootstrap: { clients: clientsOf(new Map(urls)) } }
        }),
      })
      for (const index of receivers.keys()) await end(idOf(index), zoneOf(index))
      for (const requests of [count, count + most]) {
        const round = channel.deliver()
        await arrived(requests)
        await setTimeout(100) // more would arrive in this time
        await endRequests([round])
        clock.advance(11)
      }
      assert.deepEqual([receivers.flatMap(({ tokens }) => tokens).length, faults], [count + most, []])
    })
  }
})
