// Mapping of upstream claims to roles and user_attributes.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

type Claims = Readonly<Record<string, unknown>>

const REDIRECT_URI = 'https://claims.example/cb'

for (const mode of MODES) {
  describe(`Claims of an upstream provider in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const bootstrap = {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          {
            client_id: 'claims',
            client_secret: 'x',
            authorized_grant_types: ['authorization_code', 'refresh_token'],
            scope: ['openid', 'roles', 'user_attributes', 'app.read', 'app.write'],
            redirect_uri: [REDIRECT_URI],
            autoapprove: true,
          },
        ],
        groups: [...defaultBootstrap.groups, { displayName: 'app.read' }, { displayName: 'app.write' }],
        external_groups: [
          { displayName: 'app.read', externalGroup: 'cn=staff', origin: 'corp' },
          { displayName: 'app.write', externalGroup: 'writers', origin: 'corp' },
        ],
        identity_providers: [
          upstreamRecord(upstream, 'corp', {
            attributeMappings: { external_groups: 'groups', 'user.attribute.costCentre': 'cc' },
          }),
        ],
      }
      server = await startServer({ mode, clock, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    async function signIn(claims: Claims): Promise<Browser> {
      const browser = server.browser()
      assert.equal((await signInUpstream(browser, upstream, { origin: 'corp', claims })).status, 302)
      return browser
    }

    /** Requests tokens in the session of the browser. */
    async function tokensOf(browser: Browser): Promise<{ idToken: Claims; accessToken: string; refreshToken: string }> {
      const query = { response_type: 'code', client_id: 'claims', redirect_uri: REDIRECT_URI }
      const answer = await browser.send('/oauth/authorize', { query })
      const code = answer.location().searchParams.get('code') ?? ''
      const redeemed = await server.token(
        { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI },
        { basic: ['claims', 'x'] },
      )
      assert.equal(redeemed.status, 200, redeemed.text)
      const tokens = redeemed.json<Record<string, string>>()
      return {
        idToken: decodeJwt(String(tokens['id_token'])),
        accessToken: String(tokens['access_token']),
        refreshToken: String(tokens['refresh_token']),
      }
    }

    // Partly covers attributeMappings: user.attribute.<name>
    it('are mapped to roles and user_attributes, and updated at each sign-in', async () => {
      const { idToken, accessToken } = await tokensOf(
        await signIn({ groups: ['CN=Staff', 'writers', 'unmapped'], cc: ['X1', 7] }),
      )
      assert.deepEqual(idToken['roles'], ['app.read', 'app.write'])
      assert.deepEqual(idToken['user_attributes'], { costCentre: ['X1', '7'] })
      const userinfo = await server.send('/userinfo', { bearer: accessToken })
      const { roles, user_attributes: attributes } = userinfo.json<Claims>()
      assert.deepEqual([roles, attributes], [['app.read', 'app.write'], { costCentre: ['X1', '7'] }])
      const { scope } = decodeJwt<{ scope: string | string[] }>(accessToken)
      assert.ok(scope.includes('app.write'))

      // Row P13: a string is one name; in `uaa` several, with commas.
      const groups = mode === 'uaa' ? 'writers, other' : 'writers'
      const later = (await tokensOf(await signIn({ groups }))).idToken
      assert.deepEqual([later['roles'], later['user_attributes']], [['app.write'], undefined])
      const last = (await tokensOf(await signIn({}))).idToken
      assert.deepEqual([last['roles'], last['user_attributes']], [undefined, undefined])
    })
  })
}
