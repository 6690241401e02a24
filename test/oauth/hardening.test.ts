// Attacks that were possible, or nearly, in an earlier version.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StoreUnavailable } from '../../src/store/store.ts'
import { APP, MODES } from '../support/oauth.ts'
import type { ServerOptions, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

async function withServer(options: ServerOptions, work: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer(options)
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

const logIn = async (server: TestServer): Promise<string> => {
  const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
  return String((await server.token(form, { basic: APP })).json()['refresh_token'])
}

const refresh = (server: TestServer, token: string) =>
  server.token({ grant_type: 'refresh_token', refresh_token: token }, { basic: APP })

/** Changes the token policy of the default zone. */
async function changePolicy(server: TestServer, tokenPolicy: object): Promise<void> {
  const zone = await server.store.zones.find('svc')
  assert.ok(zone)
  await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy } })
}

describe('Client with an empty secret', () => {
  const cli = {
    client_id: 'cli',
    client_secret: '',
    authorized_grant_types: ['authorization_code'],
    scope: ['openid'],
    redirect_uri: ['https://cli.example/cb'],
    autoapprove: true,
  }
  it('must use PKCE, because anyone can authenticate as it', () =>
    withServer({ config: { bootstrap: { ...defaultBootstrap, clients: [cli] } } }, async server => {
      const answer = await server.send('/oauth/authorize', {
        query: { response_type: 'code', client_id: 'cli', redirect_uri: 'https://cli.example/cb', state: 's' },
      })
      assert.equal(answer.status, 302)
      assert.equal(answer.location().searchParams.get('error'), 'invalid_request')
      assert.equal(answer.location().searchParams.get('state'), 's')
    }))
})

for (const mode of MODES) {
  describe(`Refresh token in ${mode}`, () => {
    it('that is a JWT is accepted once if rotation is enabled after it was issued', () =>
      withServer({ mode, config: { zone_config: { tokenPolicy: { refreshTokenFormat: 'jwt' } } } }, async server => {
        const token = await logIn(server)
        assert.equal(token.split('.').length, 3)
        await changePolicy(server, { refreshTokenFormat: 'jwt', refreshTokenRotate: true })
        assert.equal((await refresh(server, token)).status, 200)
        assert.equal((await refresh(server, token)).status, mode === 'standard' ? 400 : 401)
      }))

    it('that is unique and rotated is detected when reused', () =>
      withServer(
        { mode, config: { zone_config: { tokenPolicy: { refreshTokenUnique: true, refreshTokenRotate: true } } } },
        async server => {
          const stolen = await logIn(server)
          const thief = String((await refresh(server, stolen)).json()['refresh_token'])
          assert.notEqual(thief, stolen)
          assert.notEqual((await refresh(server, stolen)).status, 200)
          assert.equal((await refresh(server, thief)).status === 200, mode === 'uaa')
        },
      ))

    it('that is a JWT is replaced if refreshTokenUnique is set', () =>
      withServer(
        { mode, config: { zone_config: { tokenPolicy: { refreshTokenFormat: 'jwt', refreshTokenUnique: true } } } },
        async server => {
          const first = await logIn(server)
          server.clock.advance(1)
          const second = await logIn(server)
          assert.notEqual((await refresh(server, first)).status, 200)
          assert.equal((await refresh(server, second)).status, 200)
        },
      ))
  })
}

describe('Redirect URI with response parameters in uaa', () => {
  for (const { query, wanted } of [
    { query: 'code=stolen', wanted: 400 },
    { query: 'a=1&state=x', wanted: 400 },
    { query: 'a=1', wanted: 302 },
  ]) {
    it(`${wanted === 400 ? 'is refused' : 'is accepted otherwise'}: ${query}`, () =>
      withServer({ mode: 'uaa' }, async server => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        const answer = await browser.send('/oauth/authorize', {
          query: { response_type: 'code', client_id: 'auto', redirect_uri: `https://auto.example/cb?${query}` },
        })
        assert.equal(answer.status, wanted)
      }))
  }
})

describe('Database outage', () => {
  for (const url of ['/login', '/no/such/page', '/oauth/authorize', '/%ZZ']) {
    it(`exposes no internals at ${url}`, () =>
      withServer({}, async server => {
        Object.assign(server.store.zones, {
          find: () => Promise.reject(new StoreUnavailable('cannot reach 10.1.2.3:5432')),
        })
        const answer = await server.send(url, { headers: { accept: 'text/html' } })
        assert.ok([400, 503].includes(answer.status), String(answer.status))
        assert.doesNotMatch(answer.text, /10\.1\.2\.3|stack|at .*\.ts/)
        assert.ok(server.faults.length > 0, 'the fault is logged')
      }))
  }

  it('answers 503 instead of treating the hint as invalid at /logout.do in uaa', () =>
    withServer({ mode: 'uaa' }, async server => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const hint = String((await server.token(form, { basic: APP })).json()['id_token'])
      Object.assign(server.store.keys, {
        list: () => Promise.reject(new StoreUnavailable('cannot reach 10.1.2.3:5432')),
      })
      const query = { redirect: 'https://elsewhere.example/', id_token_hint: hint }
      assert.equal((await server.send('/logout.do', { query })).status, 503)
    }))
})

describe('Audit trail', () => {
  it('does not record an unknown client_id, which may be a misplaced secret', () =>
    withServer({}, async server => {
      await server.token({ grant_type: 'client_credentials' }, { basic: ['app-secret', 'app'] })
      const failure = server.events.find(({ type }) => type === 'ClientAuthenticationFailure')
      assert.ok(failure)
      assert.doesNotMatch(JSON.stringify(failure), /app-secret/)
    }))
})
