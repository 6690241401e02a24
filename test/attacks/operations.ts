import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createManagement } from '../../src/ops/management.ts'
import { changeUser, tokensOf } from '../support/oauth.ts'
import { runToEnd } from '../support/process.ts'
import { withServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const PUBLIC_ADDRESS = 'https://id.example.org'

/** Attacks that exploit clocks, proxies and connections. */
export const operationsAttacks: readonly Attack[] = [
  {
    attack: 'uses the well-known accounts of a playground with a public base URL',
    outcome: 'the playground does not start',
    attempt: async () => {
      const option = await runToEnd(['serve', '--port', '0', '--base-url', PUBLIC_ADDRESS])
      const variable = await runToEnd(['serve', '--port', '0'], { env: { LATCHKEY_BASE_URL: PUBLIC_ADDRESS } })
      assert.deepEqual([option.status, variable.status], [2, 2])
      assert.match(option.stderr, /^latchkey: --base-url: .*only loopback[^\n]*\n$/)
      assert.match(variable.stderr, /^latchkey: LATCHKEY_BASE_URL: .*only loopback[^\n]*\n$/)
    },
  },
  {
    attack: 'continues with a session from before a password change, made while the clock was an hour behind',
    outcome: 'the session has ended',
    attempt: () =>
      withServer({}, async server => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        assert.equal((await browser.send('/profile')).status, 200)
        server.clock.advance(-3600)
        await changeUser(server, 'marissa', { passwordRevision: 'next', passwordChangedAt: server.clock.now() })
        assert.equal((await browser.send('/profile')).status, 302)
      }),
  },
  {
    attack:
      'uses a revoked token after the clock jumped past its expiry, revocations were purged, and the clock was corrected',
    outcome: 'the token is still revoked',
    attempt: () =>
      withServer({}, async server => {
        const grant = { grant_type: 'client_credentials' }
        const { access_token: token } = tokensOf(await server.token(grant, { basic: ['service', 'service-secret'] }))
        const basic = ['service', 'service-secret'] as const
        assert.equal((await server.send('/oauth/revoke', { method: 'POST', form: { token }, basic })).status, 200)
        const jump = 20 * 3600
        server.clock.advance(jump)
        while ((await server.store.purge(server.clock.now())) > 0);
        server.clock.advance(-jump)
        const asked = { method: 'POST', form: { token }, basic: ['resource', 'resource-secret'] } as const
        assert.equal((await server.send('/introspect', asked)).json()['active'], false)
      }),
  },
  {
    attack: 'sends two Host headers, which a proxy may read differently',
    outcome: '400',
    attempt: () =>
      withServer({}, async server => {
        const address = await server.app.http.listen({ host: '127.0.0.1', port: 0 })
        const socket = connect(Number(new URL(address).port), '127.0.0.1')
        let answer = ''
        socket.setEncoding('latin1').on('data', (part: string) => (answer += part))
        socket.write('GET /login HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
        await once(socket, 'close')
        assert.match(answer, /^HTTP\/1\.1 400 /)
      }),
  },
  {
    attack: 'resets the connection after sending a wrong password, to hide the address from the log',
    outcome: 'the guess is not checked, or audit trail and limits have the address',
    attempt: () =>
      withServer({}, async server => {
        const { port } = new URL(await server.app.http.listen({ host: '127.0.0.1', port: 0 }))
        const form = { grant_type: 'password', client_id: 'app', client_secret: 'app-secret', username: 'marissa' }
        const body = new URLSearchParams({ ...form, password: 'wrong' }).toString()
        const type = 'application/x-www-form-urlencoded'
        const head = `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n`
        for (let count = 0; count < 20; count += 1) {
          const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
          await once(socket, 'connect')
          const sent = Promise.withResolvers<void>()
          socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, () => sent.resolve())
          await sent.promise
          socket.resetAndDestroy()
          await once(socket, 'close')
        }
        // Guesses for one name are checked sequentially.
        await server.token({ ...form, password: 'wrong' })
        const guesses = server.events.filter(({ type: each }) => each === 'UserAuthenticationFailure')
        assert.ok(guesses.length > 0)
        assert.deepEqual([...new Set(guesses.map(({ remoteAddress }) => remoteAddress))], ['127.0.0.1'])
      }),
  },
  {
    attack: 'reads the metrics by DNS rebinding from a browser on the machine',
    outcome: '421, as for every foreign host name',
    attempt: async () => {
      const management = createManagement({
        settings: { host: '127.0.0.1', port: 0 },
        baseUrl: 'https://id.example.org',
        version: '1.2.3',
        workers: 1,
        isDatabaseUp: () => true,
        onFailure: assert.ifError,
      })
      const port = await management.listen()
      const statusFor = async (host: string): Promise<number> => {
        const socket = connect(port, '127.0.0.1')
        let answer = ''
        socket.setEncoding('latin1').on('data', (part: string) => (answer += part))
        socket.write(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
        await once(socket, 'close')
        return Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1])
      }
      try {
        for (const host of [
          'rebind.example',
          'rebind.example:9090',
          'localhost.rebind.example',
          '127.0.0.1.example',
          '',
        ]) {
          assert.equal(await statusFor(host), 421, host)
        }
        for (const host of ['localhost:9090', '127.0.0.1', '127.0.0.1:9090', '[::1]:9090', '10.1.2.3:9090']) {
          assert.equal(await statusFor(host), 200, host)
        }
      } finally {
        management.close()
      }
    },
  },
]
