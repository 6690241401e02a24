import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { withServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const SERVICE = { grant_type: 'client_credentials', client_id: 'service', client_secret: 'service-secret' }

/** Opens connections to the server. */
async function socketsTo(server: TestServer, count: number): Promise<readonly Socket[]> {
  const { port } = new URL(await server.app.http.listen({ host: '127.0.0.1', port: 0 }))
  const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  return sockets
}

const HALF_A_BODY = `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n
Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant_type=`.replace('\r\n\n', '\r\n')

/** Floods and slow clients. */
export const overloadAttacks: readonly Attack[] = [
  {
    attack: 'requests two thousand tokens at once',
    outcome: 'a thousand are issued, the others are refused immediately and may retry, and the next caller is served',
    attempt: () =>
      withServer({}, async server => {
        await server.token(SERVICE)
        const asked = Array.from({ length: 2000 }, () => server.token(SERVICE))
        const answers = await Promise.all(asked)
        const refused = answers.filter(({ status }) => status === 503)
        assert.ok(refused.length > 0 && refused.length <= 1000, `${refused.length} were refused`)
        assert.equal(answers.filter(({ status }) => status === 200).length, 2000 - refused.length)
        for (const { headers, text } of refused) {
          assert.equal(headers['retry-after'], '2')
          assert.equal(JSON.parse(text).error, 'temporarily_unavailable')
        }
        assert.equal((await server.token(SERVICE)).status, 200)
        assert.deepEqual(server.faults, [])
      }),
  },
  {
    attack: 'requests five hundred tokens right after startup, before any secret is cached',
    outcome: 'all are issued: concurrent uses of one correct secret count as one attempt',
    attempt: () =>
      withServer({}, async server => {
        const answers = await Promise.all(Array.from({ length: 500 }, () => server.token(SERVICE)))
        assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
        const wrong = Array.from({ length: 150 }, (_, index) =>
          server.token({ ...SERVICE, client_secret: `x${index}` }),
        )
        const refused = await Promise.all(wrong)
        assert.equal(refused.filter(({ status }) => status === 401).length, 100, 'other secrets are guesses')
        assert.equal(refused.filter(({ status }) => status === 429).length, 50)
      }),
  },
  {
    attack: 'requests so many tokens that health checks might fail',
    outcome: 'health and readiness checks succeed',
    attempt: () =>
      withServer({}, async server => {
        const asked = Array.from({ length: 1500 }, () => server.token(SERVICE))
        const checks = ['/livez', '/readyz', '/healthz'].map(async path => (await server.send(path)).status)
        assert.deepEqual(await Promise.all(checks), [200, 200, 200])
        await Promise.all(asked)
      }),
  },
  {
    attack: 'opens more requests than the limit, and never completes their bodies',
    outcome: 'other requests are served',
    attempt: () =>
      withServer({}, async server => {
        const sockets = await socketsTo(server, 1100)
        try {
          for (const socket of sockets) socket.write(HALF_A_BODY)
          assert.equal((await server.token(SERVICE)).status, 200)
        } finally {
          for (const socket of sockets) socket.destroy()
        }
      }),
  },
  {
    attack: 'repeatedly sends two thousand requests, and disconnects before any response',
    outcome: 'all slots are released',
    attempt: () =>
      withServer({}, async server => {
        const body = new URLSearchParams(SERVICE).toString()
        const request = HALF_A_BODY.replace('99', String(body.length)).replace('grant_type=', body)
        const sockets = await socketsTo(server, 2000)
        for (const socket of sockets) {
          socket.write(request)
          socket.destroySoon()
        }
        await Promise.all(sockets.filter(socket => !socket.closed).map(socket => once(socket, 'close')))
        // The server may still process requests that it read before the connections closed.
        let status = 503
        while (status === 503) {
          await turn()
          ;({ status } = await server.token(SERVICE))
        }
        assert.equal(status, 200)
        let refused = Infinity
        for (let attempt = 0; attempt < 10 && refused > 0; attempt += 1) {
          const answers = await Promise.all(Array.from({ length: 900 }, () => server.token(SERVICE)))
          refused = answers.filter(({ status }) => status !== 200).length
        }
        assert.equal(refused, 0)
      }),
  },
  {
    attack: 'pipelines thousands of requests on one connection, and reads no response',
    outcome: 'a few are answered, then the connection is closed; others are served',
    attempt: () =>
      withServer({}, async server => {
        const [socket] = await socketsTo(server, 1)
        assert.ok(socket)
        const timeouts = new Set<number | undefined>()
        server.app.http.server.on('request', (request, response) =>
          response.once('prefinish', () => timeouts.add(request.socket.timeout)),
        )
        socket.pause()
        socket.write('GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20_000))
        for (let attempt = 0; attempt < 50; attempt += 1) {
          await turn()
          assert.equal((await server.token(SERVICE)).status, 200)
        }
        let answers = ''
        socket.setEncoding('latin1').on('data', (part: string) => (answers += part))
        socket.resume()
        await once(socket, 'close')
        assert.ok(timeouts.has(30_000))
        const heads = answers.match(/^HTTP\/1\.1 200 [^]*?\r\n\r\n/gm) ?? []
        assert.equal(heads.length, 8)
        assert.deepEqual(
          heads.map(head => /^connection: close\r$/im.test(head)),
          [...Array.from({ length: 7 }, () => false), true],
        )
      }),
  },
  {
    attack: 'pipelines thousands of requests with a malformed path on one connection',
    outcome: 'the first is answered, then the connection is closed',
    attempt: () =>
      withServer({}, async server => {
        const [socket] = await socketsTo(server, 1)
        assert.ok(socket)
        let answers = ''
        socket.setEncoding('latin1').on('data', (part: string) => (answers += part))
        socket.write('GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20_000))
        await once(socket, 'close')
        const heads = answers.match(/^HTTP\/1\.1 400 [^]*?\r\n\r\n/gm) ?? []
        assert.equal(heads.length, 1)
        assert.match(heads[0] ?? '', /^connection: close\r$/im)
      }),
  },
  {
    attack: 'sends many long bodies except their last byte, to exhaust memory',
    outcome: 'a network is limited to 16 MB of them, others are served, and the memory is released',
    attempt: () =>
      withServer({}, async server => {
        const length = 256 * 1024
        const head = `POST /oauth/token/alias/nobody HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n`
        const request = `${head}Content-Type: application/x-www-form-urlencoded\r\n\r\n`
        const sockets = await socketsTo(server, 80)
        try {
          let refused = 0
          const areRefused = Promise.withResolvers<void>()
          for (const socket of sockets) {
            socket.setEncoding('latin1').on('data', (part: string) => {
              if (part.startsWith('HTTP/1.1 503 ')) refused += 1
              if (refused === 16) areRefused.resolve()
            })
            socket.write(request + 'a'.repeat(length - 1))
          }
          await areRefused.promise
          const long = { form: { ...SERVICE, state: 'a'.repeat(20_000) } }
          assert.equal((await server.send('/oauth/token', long)).status, 503)
          assert.equal((await server.token(SERVICE)).status, 200)
          for (const socket of sockets) socket.destroy()
          let status = 503
          while (status === 503) {
            await turn() // requests of the same process leave no time to hear of sockets
            ;({ status } = await server.send('/oauth/token', long))
          }
          assert.equal(status, 200)
        } finally {
          for (const socket of sockets) socket.destroy()
        }
      }),
  },
]
