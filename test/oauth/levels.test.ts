// The authentication level in tokens is that of the session they were issued in.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { authorizeBootstrap, authorize, AUTO_REQUEST, signedIn } from '../support/authorize.ts'
import { AUTO, MODES, RESOURCE, tokensOf } from '../support/oauth.ts'
import type { Tokens } from '../support/oauth.ts'
import { makeSession, setPolicy } from '../support/second-factor.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const REDIRECT_URI = AUTO_REQUEST.redirect_uri
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

const bootstrap = {
  ...authorizeBootstrap,
  clients: [
    ...authorizeBootstrap.clients,
    {
      client_id: 'call',
      client_secret: 'call-secret',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'user_token', JWT_BEARER],
      scope: ['openid', 'svc.user', 'cloud.read'],
      redirect_uri: ['https://call.example/cb'],
      autoapprove: true,
    },
  ],
}
const CALL = ['call', 'call-secret'] as const
const CALL_REQUEST = { ...AUTO_REQUEST, client_id: 'call', redirect_uri: 'https://call.example/cb' }

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  describe(`Authentication level in tokens in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** The acr claim in this mode. */
    const reported = (...classes: readonly string[]): unknown =>
      isStandard ? (classes[0] ?? '1') : classes.length > 0 ? { values: classes } : undefined

    async function codeOf(browser: Browser, request: Readonly<Record<string, string>> = AUTO_REQUEST): Promise<string> {
      const answer = await authorize(browser, request)
      const code = answer.location().searchParams.get('code')
      assert.ok(code !== null, answer.location().href)
      return code
    }
    const redeem = async (code: string, basic = AUTO as readonly [string, string], redirect: string = REDIRECT_URI) =>
      tokensOf(await server.token({ grant_type: 'authorization_code', code, redirect_uri: redirect }, { basic }))
    const refreshed = async (tokens: Pick<Tokens, 'refresh_token'>, basic = AUTO as readonly [string, string]) =>
      tokensOf(await server.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, { basic }))
    const inspected = async (token: string) =>
      (await server.send('/introspect', { method: 'POST', form: { token }, basic: RESOURCE })).json()

    async function check(tokens: Tokens, want: { acr: unknown; amr: readonly string[] | undefined }): Promise<void> {
      const id = decodeJwt(tokens.id_token)
      const access = decodeJwt(tokens.access_token)
      const seen = await inspected(tokens.access_token)
      assert.equal(seen['active'], true)
      for (const each of [id, access, seen]) {
        assert.deepEqual([each['acr'], each['amr']], [want.acr, want.amr])
        assert.equal(each['auth_time'], server.clock.now().getTime() / 1000)
      }
    }

    describe('in a zone with second factors', () => {
      before(() => setPolicy(server, { requirement: 'optional' }))

      it('is 1 after a password', async () => {
        const tokens = await redeem(await codeOf(await signedIn(server)))
        await check(tokens, { acr: reported(), amr: ['pwd'] })
        await check(await refreshed(tokens), { acr: reported(), amr: ['pwd'] })
      })

      for (const level of ['2', 'phr', 'phrh']) {
        it(`is ${level} if the session reached it, also after refresh`, async () => {
          const browser = await signedIn(server)
          const amr = ['pwd', 'otp', 'mfa']
          await makeSession(server, browser, { acr: [level], amr })
          const tokens = await redeem(await codeOf(browser))
          await check(tokens, { acr: reported(level), amr })
          await check(await refreshed(await refreshed(tokens)), { acr: reported(level), amr })
        })
      }

      it('is that of the session when the code was issued', async () => {
        const browser = await signedIn(server)
        const code = await codeOf(browser)
        const earlier = await redeem(await codeOf(browser))
        await makeSession(server, browser, { acr: ['2'], amr: ['pwd', 'otp', 'mfa'] })
        await check(await redeem(code), { acr: reported(), amr: ['pwd'] })
        await check(await refreshed(earlier), { acr: reported(), amr: ['pwd'] })
      })

      it('precedes acr values of a provider, which count as no level', async () => {
        const browser = await signedIn(server)
        const amr = ['ext']
        await makeSession(server, browser, { acr: ['2', 'urn:gold', ' phr'], amr })
        await check(await redeem(await codeOf(browser)), { acr: reported('2', 'urn:gold'), amr })
        await makeSession(server, browser, { acr: ['urn:gold', ' phr', ' 2'], amr })
        const tokens = await redeem(await codeOf(browser))
        await check(tokens, { acr: reported('urn:gold'), amr })
        await check(await refreshed(tokens), { acr: reported('urn:gold'), amr })
        await makeSession(server, browser, { acr: [' phr'], amr })
        await check(await redeem(await codeOf(browser)), { acr: reported(), amr })
      })

      it('is 1 for a refresh token of an older version with acr values of a provider', async () => {
        const browser = await signedIn(server)
        const tokens = await redeem(await codeOf(browser))
        const { store } = server
        // An older version stored this for a provider whose acr values equal our levels.
        await rewriteRefreshToken(store, tokens.refresh_token, { acr: { values: ['phr', 'urn:gold'] }, amr: ['ext'] })
        await check(await refreshed(tokens), { acr: reported('urn:gold'), amr: ['ext'] })
      })

      describe('is kept by', () => {
        const levels = [
          { name: '1', acr: undefined, amr: ['pwd'], want: () => reported() },
          { name: '2', acr: ['2'], amr: ['pwd', 'otp', 'mfa'], want: () => reported('2') },
        ] as const
        for (const { name, acr, amr, want } of levels) {
          const sign = async (): Promise<Tokens> => {
            const browser = await signedIn(server)
            if (acr) await makeSession(server, browser, { acr, amr })
            return redeem(await codeOf(browser, CALL_REQUEST), CALL, CALL_REQUEST.redirect_uri)
          }

          it(`the authorization API flow with a token of level ${name}`, async () => {
            const { access_token: bearer } = await sign()
            const answer = await server.send('/oauth/authorize', { query: AUTO_REQUEST, bearer })
            const code = answer.location().searchParams.get('code') ?? ''
            await check(await redeem(code), { acr: want(), amr })
          })

          it(`user_token with a token of level ${name}`, async () => {
            const { access_token: bearer } = await sign()
            const form = { grant_type: 'user_token', client_id: 'auto', scope: 'openid' }
            const made = tokensOf(await server.token(form, { bearer }))
            const { access_token: access } = await refreshed(made)
            assert.deepEqual([decodeJwt(access)['acr'], decodeJwt(access)['amr']], [want(), amr])
          })

          for (const kind of ['access_token', 'id_token'] as const) {
            it(`jwt-bearer with an ${kind} of level ${name}`, async () => {
              const tokens = await sign()
              const form = { grant_type: JWT_BEARER, assertion: tokens[kind] }
              const { access_token: access } = tokensOf(await server.token(form, { basic: CALL }))
              assert.deepEqual([decodeJwt(access)['acr'], decodeJwt(access)['amr']], [want(), amr])
            })
          }
        }

        it('is not taken from an ID token with acr of a provider, issued before second factors were enabled', async () => {
          await setPolicy(server, { requirement: 'off' })
          const browser = await signedIn(server)
          await makeSession(server, browser, { acr: [' phr'], amr: ['ext', 'mfa'] })
          const tokens = await redeem(await codeOf(browser, CALL_REQUEST), CALL, CALL_REQUEST.redirect_uri)
          assert.deepEqual(decodeJwt(tokens.id_token)['acr'], isStandard ? 'phr' : { values: ['phr'] })
          await setPolicy(server, { requirement: 'optional' })
          for (const assertion of [tokens.id_token, tokens.access_token]) {
            const answer = await server.token({ grant_type: JWT_BEARER, assertion }, { basic: CALL })
            assert.deepEqual(decodeJwt(tokensOf(answer).access_token)['acr'], reported())
          }
        })
      })

      it('is not in client tokens', async () => {
        const form = { grant_type: 'client_credentials' }
        const { access_token: token } = tokensOf(await server.token(form, { basic: ['service', 'service-secret'] }))
        assert.deepEqual([decodeJwt(token)['acr'], decodeJwt(token)['amr']], [undefined, undefined])
      })
    })

    describe('in a zone without second factors', () => {
      before(() => setPolicy(server, { requirement: 'off' }))

      it('is omitted, and acr values of a provider are returned unchanged', async () => {
        const browser = await signedIn(server)
        const plain = await redeem(await codeOf(browser))
        for (const [acr, want] of [
          [undefined, []],
          [['2'], []],
          [['2', 'urn:gold'], ['urn:gold']],
          [
            [' 2', 'urn:gold'],
            ['2', 'urn:gold'],
          ],
        ] as const) {
          if (acr) await makeSession(server, browser, { acr })
          const tokens = acr ? await redeem(await codeOf(browser)) : plain
          for (const each of [tokens, await refreshed(tokens)]) {
            const id = decodeJwt(each.id_token)
            assert.deepEqual(id['acr'], isStandard ? want[0] : want.length > 0 ? { values: want } : undefined)
            assert.deepEqual(id['amr'], ['pwd'])
            const access = decodeJwt(each.access_token)
            const seen = await inspected(each.access_token)
            for (const other of [access, seen]) assert.ok(!('acr' in other) && !('amr' in other))
          }
        }
      })

      it('is omitted after a token is exchanged', async () => {
        const browser = await signedIn(server)
        await makeSession(server, browser, { acr: ['2'] })
        const tokens = await redeem(await codeOf(browser, CALL_REQUEST), CALL, CALL_REQUEST.redirect_uri)
        const answer = await server.send('/oauth/authorize', { query: AUTO_REQUEST, bearer: tokens.access_token })
        const { id_token: id } = await redeem(answer.location().searchParams.get('code') ?? '')
        assert.deepEqual([decodeJwt(id)['acr'], decodeJwt(id)['amr']], [undefined, undefined])
      })
    })
  })
}

/** Replaces claims of a stored refresh token. */
async function rewriteRefreshToken(
  store: TestServer['store'],
  value: string,
  claims: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { digest } = await import('../../src/base/secrets.ts')
  const stored = await store.tokens.find('svc', digest(value))
  assert.ok(stored)
  await store.tokens.delete('svc', stored.idDigest)
  await store.tokens.insert('svc', { ...stored, claims: { ...stored.claims, ...claims } })
}
