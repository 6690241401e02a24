// What an attacker would try after reading the source: each was possible once, or nearly.
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

/** Changes the default zone's token policy, as the zone API will. */
async function changePolicy(server: TestServer, tokenPolicy: object): Promise<void> {
  const zone = await server.store.zones.find('svc')
  assert.ok(zone)
  await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy } })
}

describe('a client whose secret is the empty text', () => {
  const cli = {
    client_id: 'cli',
    client_secret: '',
    authorized_grant_types: ['authorization_code'],
    scope: ['openid'],
    redirect_uri: ['https://cli.example/cb'],
    autoapprove: true,
  }
  it('must send a challenge, because any caller can authenticate as it', () =>
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
  describe(`a refresh token in ${mode}`, () => {
    it('that is a JWT without a row is good once, when rotation is switched on after it was issued', () =>
      withServer({ mode, config: { zone_config: { tokenPolicy: { refreshTokenFormat: 'jwt' } } } }, async server => {
        const token = await logIn(server)
        assert.equal(token.split('.').length, 3)
        await changePolicy(server, { refreshTokenFormat: 'jwt', refreshTokenRotate: true })
        assert.equal((await refresh(server, token)).status, 200)
        assert.equal((await refresh(server, token)).status, mode === 'standard' ? 400 : 401)
      }))

    it('that is the only one of its user stays known once it was used', () =>
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

    it('as a JWT counts where a user may have only one', () =>
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

describe('a redirect URI that already says what only a response may say, in uaa', () => {
  for (const { query, wanted } of [
    { query: 'code=stolen', wanted: 400 },
    { query: 'a=1&state=x', wanted: 400 },
    { query: 'a=1', wanted: 302 },
  ]) {
    it(`${wanted === 400 ? 'is refused' : 'is no matter otherwise'}: ${query}`, () =>
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

describe('a database that is gone', () => {
  for (const url of ['/login', '/no/such/page', '/oauth/authorize', '/%ZZ']) {
    it(`reveals nothing of itself to a user at ${url}`, () =>
      withServer({}, async server => {
        Object.assign(server.store.zones, {
          find: () => Promise.reject(new StoreUnavailable('cannot reach 10.1.2.3:5432')),
        })
        const answer = await server.send(url, { headers: { accept: 'text/html' } })
        assert.ok([400, 503].includes(answer.status), String(answer.status))
        assert.doesNotMatch(answer.text, /10\.1\.2\.3|stack|at .*\.ts/)
        assert.ok(server.faults.length > 0, 'the log knows')
      }))
  }

  it('is no invalid hint at /logout.do in uaa, whose user would go to the default page', () =>
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

describe('the audit trail', () => {
  it('keeps no text that is not a client id: it may be a secret in the wrong place', () =>
    withServer({}, async server => {
      await server.token({ grant_type: 'client_credentials' }, { basic: ['app-secret', 'app'] })
      const failure = server.events.find(({ type }) => type === 'ClientAuthenticationFailure')
      assert.ok(failure)
      assert.doesNotMatch(JSON.stringify(failure), /app-secret/)
    }))
})
