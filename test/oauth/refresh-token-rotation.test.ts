import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { decodeJwt } from 'jose'
import { OAuthError } from '../../src/model/oauth-error.ts'
import type { StoredToken } from '../../src/model/tokens/token.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { Tokens } from '../support/oauth.ts'
import { exchange, insertCode, isAlive, MODES, passwordTokens, refresh, refused, tokensOf } from '../support/oauth.ts'

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' // RFC 7636 appendix B
const S256 = { codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', codeChallengeMethod: 'S256' } as const

const unusable = {
  want: { standard: '400 invalid_grant', uaa: '401 invalid_token' },
  description: 'The token expired, was revoked, or the token ID is incorrect.',
} as const

for (const mode of MODES) {
  for (const format of ['opaque', 'jwt'] as const) {
    // Covers POST /oauth/token grant_type=refresh_token: rule: rotation by zone policy
    // Covers refresh token: refreshTokenRotate
    describe(`Rotation of ${format} refresh tokens by zone policy in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        const zoneConfig = { tokenPolicy: { refreshTokenRotate: true, refreshTokenFormat: format } }
        server = await startServer({ mode, config: { zone_config: zoneConfig } })
      })
      after(() => server.stop())

      // Covers POST /oauth/token grant_type=refresh_token: response: new refresh token with rotation
      // Covers Zone config in effect: tokenPolicy.refreshTokenRotate
      it('returns a new refresh token each time', async () => {
        const first = await passwordTokens(server)
        const second = tokensOf(await refresh(server, first.refresh_token))
        const third = tokensOf(await refresh(server, second.refresh_token))
        assert.equal(new Set([first, second, third].map(tokens => tokens.refresh_token)).size, 3)
      })

      it('keeps the token valid if no new one can be issued', async () => {
        const setRotation = async (refreshTokenRotate: boolean): Promise<void> => {
          const zone = (await server.store.zones.find('svc')) ?? assert.fail()
          const tokenPolicy = { refreshTokenRotate, refreshTokenFormat: format }
          await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy } })
        }
        const rotating = await passwordTokens(server)
        await setRotation(false)
        const older = await passwordTokens(server) // a JWT issued without rotation is not stored
        await setRotation(true)
        const { tokens } = server.store
        const insert = tokens.insert.bind(tokens)
        const failing = mock.method(tokens, 'insert', (zoneId: string, token: StoredToken) =>
          token.usedAt ? insert(zoneId, token) : Promise.reject(new OAuthError('invalid_request', 'gone')),
        )
        for (const { refresh_token: token } of [rotating, older]) {
          assert.equal((await refresh(server, token)).json()['error_description'], 'gone')
          assert.equal((await refresh(server, token)).json()['error_description'], 'gone')
        }
        failing.mock.restore()
        for (const { refresh_token: token } of [rotating, older]) {
          const next = tokensOf(await refresh(server, token))
          assert.equal((await refresh(server, next.refresh_token)).status, 200)
          assert.notEqual((await refresh(server, token)).status, 200)
        }
      })

      it('keeps all scopes for the next token, even if fewer were requested', async () => {
        const first = await passwordTokens(server)
        const second = tokensOf(await refresh(server, first.refresh_token, { scope: 'openid' }))
        assert.equal(tokensOf(await refresh(server, second.refresh_token)).scope, first.scope)
      })

      // Covers POST /oauth/token grant_type=refresh_token: rule: rotation does not prolong
      it('does not extend the lifetime of the first token (RFC 9700 §4.14.2)', async () => {
        const first = await passwordTokens(server)
        server.clock.advance(2_592_000 - 10)
        const second = tokensOf(await refresh(server, first.refresh_token))
        if (format === 'jwt') {
          const [before, now] = [decodeJwt(first.refresh_token), decodeJwt(second.refresh_token)]
          assert.deepEqual([now.iat, now.exp], [before.iat, before.exp])
        }
        server.clock.advance(10)
        const { want } = unusable
        await refused(server, mode, () => refresh(server, second.refresh_token), { want, description: /expired/ })
      })

      // Covers POST /oauth/token grant_type=refresh_token: rule: reuse revokes the family
      // Covers refresh token: revocable
      // Covers compatibility: tokens and userinfo: T10 rotation
      it('refuses a used token, and revokes its family in standard (T10)', async () => {
        const first = await passwordTokens(server)
        const unrelated = await passwordTokens(server)
        const second = tokensOf(await refresh(server, first.refresh_token))
        await refused(server, mode, () => refresh(server, first.refresh_token), unusable)
        const survives = mode === 'uaa'
        for (const { access_token: token } of [first, second]) assert.equal(await isAlive(server, token), survives)
        assert.equal((await refresh(server, second.refresh_token)).status, survives ? 200 : 400)
        tokensOf(await refresh(server, unrelated.refresh_token))
      })

      it('treats immediate reuse as theft by default', async () => {
        const first = await passwordTokens(server)
        const second = tokensOf(await refresh(server, first.refresh_token))
        server.clock.advance(5)
        await refused(server, mode, () => refresh(server, first.refresh_token), unusable)
        assert.equal(await isAlive(server, second.access_token), mode === 'uaa')
      })

      describe('with grace_seconds of 30 after a lost response', () => {
        let server: TestServer
        before(async () => {
          const zoneConfig = { tokenPolicy: { refreshTokenRotate: true, refreshTokenFormat: format } }
          const jwt = { token: { refresh: { grace_seconds: 30 } } }
          server = await startServer({ mode, config: { jwt, zone_config: zoneConfig } })
        })
        after(() => server.stop())
        const withGrace = { skip: mode === 'uaa' && 'UAA has no grace period' }
        const lost = async (seconds: number): Promise<[Tokens, Tokens, () => Promise<TestAnswer>]> => {
          const first = await passwordTokens(server)
          const second = tokensOf(await refresh(server, first.refresh_token))
          server.clock.advance(seconds)
          return [first, second, () => refresh(server, first.refresh_token)]
        }

        for (const seconds of [1, 30]) {
          it(`accepts reuse after ${seconds} s in standard`, async () => {
            const [first, , again] = await lost(seconds)
            if (mode === 'uaa') return void (await refused(server, mode, again, unusable))
            const third = tokensOf(await again())
            assert.equal(third.scope, first.scope)
            tokensOf(await refresh(server, third.refresh_token))
          })
        }

        for (const seconds of [0, 0.999, 30.001, 3600]) {
          it(`treats reuse as theft after ${seconds} s in standard`, async () => {
            const [, second, again] = await lost(seconds)
            await refused(server, mode, again, unusable)
            assert.equal(await isAlive(server, second.access_token), mode === 'uaa')
          })
        }

        it('keeps the grace period if the repeated request fails', withGrace, async () => {
          const [, second, again] = await lost(10)
          const { tokens } = server.store
          const failing = mock.method(tokens, 'insert', () => Promise.reject(new OAuthError('invalid_request', 'gone')))
          assert.equal((await again()).json()['error_description'], 'gone')
          failing.mock.restore()
          assert.equal(await isAlive(server, second.access_token), true)
          server.clock.advance(20.001)
          await refused(server, mode, again, unusable)
        })

        it('keeps the next token valid if the repeated request fails', withGrace, async () => {
          const [, second, again] = await lost(10)
          const { tokens } = server.store
          const failing = mock.method(tokens, 'insert', () => Promise.reject(new OAuthError('invalid_request', 'gone')))
          assert.equal((await again()).json()['error_description'], 'gone')
          failing.mock.restore()
          tokensOf(await refresh(server, second.refresh_token))
        })

        it('treats reuse as theft if the next token was used', async () => {
          const [, second, again] = await lost(0)
          const third = tokensOf(await refresh(server, second.refresh_token))
          server.clock.advance(5)
          await refused(server, mode, again, unusable)
          assert.equal(await isAlive(server, third.access_token), mode === 'uaa')
        })

        it('treats use of the token from the lost response as theft', withGrace, async () => {
          const [, second, again] = await lost(5)
          const third = tokensOf(await again())
          await refused(server, mode, () => refresh(server, second.refresh_token), unusable)
          await refused(server, mode, () => refresh(server, third.refresh_token), { want: unusable.want })
        })

        it('accepts one of two concurrent repetitions', async () => {
          const [, , again] = await lost(5)
          const statuses = (await Promise.all([again(), again()])).map(({ status }) => status)
          assert.deepEqual(
            statuses.toSorted((a, b) => a - b),
            mode === 'uaa' ? [401, 401] : [200, 400],
          )
        })
      })

      it('detects reuse even if the request is otherwise invalid', async () => {
        const first = await passwordTokens(server)
        const second = tokensOf(await refresh(server, first.refresh_token))
        await refused(server, mode, () => refresh(server, first.refresh_token, { scope: 'cloud.write' }), unusable)
        assert.equal(await isAlive(server, second.access_token), mode === 'uaa')
      })

      it('does not count a refused request as use', async () => {
        const { refresh_token: token } = await passwordTokens(server)
        await refresh(server, token, { scope: 'cloud.write' })
        await refresh(server, token, {}, ['app', 'wrong'])
        await refresh(server, token, { token_format: 'saml' })
        await refresh(server, token, {}, ['auto', 'auto-secret'])
        tokensOf(await refresh(server, token))
      })

      it('logs no faults', () => assert.deepEqual(server.faults, []))
    })
  }

  describe(`Rotation for public clients in ${mode}`, () => {
    const YEAR = 365 * 86_400
    let server: TestServer
    before(async () => {
      const clients = defaultBootstrap.clients.map(client =>
        client.client_id === 'spa' ? { ...client, access_token_validity: YEAR, refresh_token_validity: 600 } : client,
      )
      server = await startServer({ mode, config: { bootstrap: { ...defaultBootstrap, clients } } })
    })
    after(() => server.stop())
    const start = async (): Promise<Tokens> => {
      const code = await insertCode(server, { clientId: 'spa', scopes: ['openid', 'cloud.read'], ...S256 })
      return tokensOf(await exchange(server, code, { client_id: 'spa', code_verifier: VERIFIER }, null))
    }
    const next = (token: string): Promise<TestAnswer> => refresh(server, token, { client_id: 'spa' }, null)

    // Covers POST /oauth/token grant_type=refresh_token: rule: rotation for public clients
    it('does not require a zone policy', async () => {
      const first = await start()
      assert.notEqual(tokensOf(await next(first.refresh_token)).refresh_token, first.refresh_token)
    })

    it('keeps the revocation until access tokens of the family would have expired', async () => {
      const first = await start()
      tokensOf(await next(first.refresh_token))
      await refused(server, mode, () => next(first.refresh_token), unusable)
      server.clock.advance(YEAR - 10)
      while ((await server.store.purge(server.clock.now())) > 0);
      assert.equal(await isAlive(server, first.access_token), mode === 'uaa')
    })
  })
}
