import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { digest } from '../../src/base/secrets.ts'
import type { AuditEvent } from '../../src/model/audit/event.ts'
import {
  changeClient,
  changeUser,
  exchange,
  insertCode,
  isAlive,
  MODES,
  refresh,
  refused,
  RESOURCE,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { Refusal, Tokens } from '../support/oauth.ts'
import { clientToken, ELSEWHERE, OTHER, startRevocationServer, TARGET, userTokens } from '../support/revocation.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' // RFC 7636 appendix B
const S256 = { codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', codeChallengeMethod: 'S256' } as const

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The token with other claims under its own signature. */
function tampered(token: string, change: object): string {
  const [header, , signature] = token.split('.')
  return `${header}.${encode({ ...decodeJwt(token), ...change })}.${signature}`
}

const unsigned = (token: string): string => `${encode({ alg: 'none', kid: 'k', typ: 'JWT' })}.${token.split('.')[1]}.`

for (const mode of MODES) {
  describe(`POST /oauth/revoke, ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startRevocationServer({ mode })))
    after(() => server.stop())

    const revoke = (token: string, form = {}, request: TestRequest = { basic: TARGET }): Promise<TestAnswer> =>
      server.send('/oauth/revoke', { form: { token, ...form }, ...request })
    const isDone = async (sending: Promise<TestAnswer>): Promise<void> => {
      const { status, text, headers } = await sending
      assert.deepEqual([status, text], [200, '{}']) // some libraries refuse a response that is not JSON
      assert.match(String(headers['content-type']), /^application\/json/)
      assert.equal(headers['cache-control'], 'no-store')
    }
    const canRefresh = async (token: string, basic = TARGET): Promise<boolean> =>
      (await refresh(server, token, {}, basic)).status === 200
    const revocations = (): readonly AuditEvent[] => server.events.filter(({ type }) => type === 'TokenRevocationEvent')
    /** Sends what must be answered like a success and change nothing. */
    const isIgnored = async (token: string, form = {}, request: TestRequest = { basic: TARGET }): Promise<void> => {
      const before = revocations().length
      await isDone(revoke(token, form, request))
      assert.equal(revocations().length, before)
    }
    /** A code grant of the public client. */
    const publicTokens = async (): Promise<Tokens> => {
      const code = await insertCode(server, { clientId: 'spa', scopes: ['openid', 'cloud.read'], ...S256 })
      return tokensOf(await exchange(server, code, { client_id: 'spa', code_verifier: VERIFIER }, null))
    }

    describe('an access token', () => {
      for (const format of ['jwt', 'opaque']) {
        // Covers POST /oauth/revoke: token
        // Covers compatibility: token endpoint: C8 revocation
        it(`ends at once, and nothing else does: ${format}`, async () => {
          const tokens = await userTokens(server, 'marissa', { token_format: format })
          const sibling = tokensOf(await refresh(server, tokens.refresh_token, { token_format: format }, TARGET))
          const stranger = await userTokens(server, 'marissa', { token_format: format })
          await isDone(revoke(tokens.access_token))
          const alive = [tokens, sibling, stranger].map(each => isAlive(server, each.access_token))
          assert.deepEqual(await Promise.all(alive), [false, true, true])
          assert.equal((await server.send('/userinfo', { bearer: tokens.access_token })).status, 401)
          assert.equal(await canRefresh(tokens.refresh_token), true)
        })
      }

      for (const hint of ['access_token', 'refresh_token', 'id_token', 'saml', '']) {
        // Covers POST /oauth/revoke: token_type_hint
        it(`is found under the hint ${JSON.stringify(hint)}`, async () => {
          for (const format of ['jwt', 'opaque']) {
            const { access_token: token } = await userTokens(server, 'marissa', { token_format: format })
            await isDone(revoke(token, { token_type_hint: hint }))
            assert.equal(await isAlive(server, token), false)
          }
        })
      }

      it('of a client that acts for itself is revoked too', async () => {
        for (const format of ['jwt', 'opaque']) {
          const token = await clientToken(server, TARGET, { token_format: format })
          const another = await clientToken(server, TARGET, { token_format: format })
          await isDone(revoke(token))
          assert.deepEqual([await isAlive(server, token), await isAlive(server, another)], [false, true])
        }
      })

      it('stays dead until it expires, whatever is purged meanwhile', async () => {
        const { access_token: token } = await userTokens(server, 'marissa')
        await isDone(revoke(token))
        server.clock.advance((mode === 'standard' ? 3600 : 43_200) - 1)
        while ((await server.store.purge(server.clock.now())) > 0);
        assert.equal(await isAlive(server, token), false)
      })

      it('may be revoked twice, and by two at once', async () => {
        for (const format of ['jwt', 'opaque']) {
          const { access_token: token } = await userTokens(server, 'marissa', { token_format: format })
          await Promise.all([isDone(revoke(token)), isDone(revoke(token))])
          await isDone(revoke(token))
          assert.equal(await isAlive(server, token), false)
        }
      })

      it('is revoked while it is out of use, and does not come back with the account or a scope', async () => {
        const { access_token: first } = await userTokens(server, 'joel', { basic: OTHER })
        await changeUser(server, 'joel', { active: false })
        await isDone(revoke(first, {}, { basic: OTHER }))
        await changeUser(server, 'joel', { active: true })
        assert.equal(await isAlive(server, first), false)
        const { access_token: second } = await userTokens(server, 'joel', { basic: OTHER })
        await changeClient(server, 'other', { scope: [] })
        await isDone(revoke(second, {}, { basic: OTHER }))
        await changeClient(server, 'other', { scope: ['openid', 'cloud.read'] })
        assert.equal(await isAlive(server, second), false)
      })
    })

    describe('a refresh token', () => {
      it('takes the stored access tokens of its grant along, and leaves those of other grants', async () => {
        const opaque = { token_format: 'opaque' }
        const first = await userTokens(server, 'marissa', opaque)
        const second = tokensOf(await refresh(server, first.refresh_token, opaque, TARGET))
        const stranger = await userTokens(server, 'marissa', opaque)
        await isDone(revoke(first.refresh_token))
        const alive = [first, second, stranger].map(each => isAlive(server, each.access_token))
        assert.deepEqual(await Promise.all(alive), [false, false, true])
        assert.equal(await canRefresh(first.refresh_token), false)
        assert.equal(await canRefresh(stranger.refresh_token), true)
      })

      it('takes its plain JWTs along in standard; in uaa they name no grant and live on', async () => {
        const code = await insertCode(server, { clientId: 'target', scopes: ['openid', 'cloud.read'] })
        const first = tokensOf(await exchange(server, code, {}, TARGET))
        await isDone(revoke(first.refresh_token, { token_type_hint: 'access_token' }))
        assert.equal(await isAlive(server, first.access_token), mode === 'uaa')
        assert.equal(await canRefresh(first.refresh_token), false)
      })

      it('that was exchanged still ends its family', async () => {
        const first = await publicTokens()
        const second = tokensOf(await refresh(server, first.refresh_token, { client_id: 'spa' }, null))
        await isDone(revoke(first.refresh_token, { client_id: 'spa' }, {}))
        assert.notEqual((await refresh(server, second.refresh_token, { client_id: 'spa' }, null)).status, 200)
        assert.equal(await isAlive(server, second.access_token), false)
      })

      it('may be revoked twice', async () => {
        const { refresh_token: token } = await userTokens(server, 'marissa')
        await isDone(revoke(token))
        await isDone(revoke(token))
      })

      it('has no live tokens left, also when it is being used at the same moment', async () => {
        const { refresh_token: token } = await userTokens(server, 'marissa')
        const [, ...answers] = await Promise.all([
          revoke(token),
          ...Array.from({ length: 8 }, () => refresh(server, token, { token_format: 'opaque' }, TARGET)),
        ])
        assert.equal(await canRefresh(token), false)
        const issued = answers.filter(({ status }) => status === 200).map(answer => tokensOf(answer).access_token)
        const alive = await Promise.all(issued.map(each => isAlive(server, each)))
        // UAA's opaque tokens know their grant by their row alone: one that was written a moment later stays.
        if (mode === 'standard') assert.ok(!alive.includes(true))
      })
    })

    describe('an unusable token is answered like a success, and changes nothing (RFC 7009 §2.2)', () => {
      const worthless: readonly { readonly name: string; readonly token: (good: string) => string }[] = [
        { name: 'a text that was not issued', token: () => 'nonsense' },
        { name: 'something like a JWT', token: () => 'a.b.c' },
        { name: 'an empty JWT', token: () => '..' },
        { name: 'the claims of a live token, unsigned', token: unsigned },
        { name: 'the claims of a live token, tampered with', token: good => tampered(good, { x: 1 }) },
        { name: 'a live token cut short', token: good => good.slice(0, -10) },
        { name: 'the jti of a live token', token: good => String(decodeJwt(good).jti) },
        { name: 'the digest of a token', token: good => digest(good) },
        { name: 'a text of 40 KiB', token: () => 'x'.repeat(40_000) },
        { name: 'a JWT of 40 KiB', token: () => `${'x'.repeat(40_000)}.y.z` },
        { name: 'a text of SQL', token: () => "' or 1=1 --" },
        { name: 'a text of other alphabets', token: () => '\u00fc\u4e16\u{1f511}' },
      ]
      for (const { name, token } of worthless) {
        it(name, async () => {
          const { access_token: good } = await userTokens(server, 'marissa')
          await isIgnored(token(good))
          assert.equal(await isAlive(server, good), true)
        })
      }

      it('an expired token of each kind', async () => {
        const tokens = await userTokens(server, 'marissa')
        const opaque = await userTokens(server, 'marissa', { token_format: 'opaque' })
        server.clock.advance(2_592_000)
        for (const each of [tokens, opaque]) {
          for (const token of [each.access_token, each.refresh_token, each.id_token]) await isIgnored(token)
        }
      })

      it('a token of another zone, which stays valid there', async () => {
        for (const format of ['jwt', 'opaque']) {
          const there = await userTokens(server, 'marissa', { token_format: format, host: ELSEWHERE })
          for (const token of [there.access_token, there.refresh_token]) await isIgnored(token)
          const form = { token: there.access_token }
          const reported = await server.send('/introspect', { host: ELSEWHERE, form, basic: RESOURCE })
          assert.equal(reported.json()['active'], true)
          assert.equal((await refreshThere(there.refresh_token)).status, 200)
        }
      })
      const refreshThere = (token: string): Promise<TestAnswer> =>
        server.token({ grant_type: 'refresh_token', refresh_token: token }, { host: ELSEWHERE, basic: TARGET })

      it('a token of a client that is gone', async () => {
        const now = server.clock.now()
        const expiresAt = new Date(now.getTime() + 60_000)
        const shared = { zoneId: 'svc', kind: 'access_token', format: 'opaque', issuedAt: now, expiresAt } as const
        const claims = { client_id: 'gone', exp: expiresAt.getTime() / 1000 }
        await server.store.tokens.insert('svc', { ...shared, idDigest: digest('orphan'), clientId: 'gone', claims })
        await isIgnored('orphan')
      })
    })

    describe("another client's token", () => {
      const foreign: Refusal = { want: '400 invalid_grant', description: 'The token was issued to another client' }
      for (const format of ['jwt', 'opaque']) {
        // Covers POST /oauth/revoke: error: another client's token
        it(`is refused and stays valid: ${format}`, async () => {
          const tokens = await userTokens(server, 'marissa', { token_format: format })
          for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token]) {
            for (const hint of ['access_token', 'refresh_token']) {
              const sending = () => revoke(token, { token_type_hint: hint }, { basic: OTHER })
              await refused(server, mode, sending, { ...foreign, challenge: null })
            }
          }
          await refused(server, mode, () => revoke(tokens.access_token, { client_id: 'spa' }, {}), foreign)
          assert.equal(await isAlive(server, tokens.access_token), true)
          assert.equal(await canRefresh(tokens.refresh_token), true)
        })
      }

      it('is refused to a client whose id is that of the user', async () => {
        const { id } = await userNamed(server, 'marissa')
        const client = await server.store.clients.find('svc', 'other')
        assert.ok(client)
        await server.store.clients.insert('svc', { ...client, clientId: id })
        const { access_token: token } = await userTokens(server, 'marissa')
        await refused(server, mode, () => revoke(token, {}, { basic: [id, 'secret'] }), foreign)
        assert.equal(await isAlive(server, token), true)
      })
    })

    it('says that it cannot revoke an ID token, and leaves the access token with the same jti (RFC 7009 §2.2.1)', async () => {
      const full = await userTokens(server, 'marissa')
      const small = await userTokens(server, 'marissa', { scope: 'openid' })
      for (const { access_token: token, id_token: idToken } of [full, small]) {
        await refused(server, mode, () => revoke(idToken), {
          want: '400 unsupported_token_type',
          description: 'ID tokens cannot be revoked',
          challenge: null,
        })
        assert.equal(await isAlive(server, token), true)
        await isDone(revoke(token))
        assert.equal(await isAlive(server, token), false)
      }
    })

    // Covers POST /oauth/revoke: client authentication
    describe('authenticates the client', () => {
      const accepted: readonly { readonly name: string; readonly request: TestRequest & { form?: object } }[] = [
        { name: 'by Basic', request: { basic: TARGET } },
        { name: 'by Basic beside its own client_id', request: { basic: TARGET, form: { client_id: 'target' } } },
        { name: 'by its secret in the form', request: { form: { client_id: 'target', client_secret: 'secret' } } },
      ]
      for (const { name, request } of accepted) {
        it(name, async () => {
          const { access_token: token } = await userTokens(server, 'marissa')
          const { form, ...others } = request
          await isDone(revoke(token, form, others))
          assert.equal(await isAlive(server, token), false)
        })
      }

      it('without a credential where it is public, by its client_id alone', async () => {
        const { access_token: token, refresh_token: refreshToken } = await publicTokens()
        await isDone(revoke(token, { client_id: 'spa' }, {}))
        assert.equal(await isAlive(server, token), false)
        await isDone(revoke(refreshToken, { client_id: 'spa' }, {}))
        assert.notEqual((await refresh(server, refreshToken, { client_id: 'spa' }, null)).status, 200)
      })

      const closed: readonly (Refusal & {
        readonly name: string
        readonly form?: object
        readonly request?: TestRequest
      })[] = [
        {
          name: 'nobody',
          want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
          challenge: /^Basic realm="SVC\/client"/,
        },
        {
          name: 'a wrong secret',
          request: { basic: ['target', 'wrong'] },
          want: '401 invalid_client',
          challenge: /^Basic /,
        },
        { name: 'an unknown client', request: { basic: ['nemo', 'secret'] }, want: '401 invalid_client' },
        { name: 'an unknown client without a secret', form: { client_id: 'nemo' }, want: '401 invalid_client' },
        {
          name: 'a client that has a secret and sends none',
          form: { client_id: 'target' },
          want: '401 invalid_client',
        },
        {
          name: 'a client beside the id of another',
          form: { client_id: 'other' },
          request: { basic: TARGET },
          want: '401 invalid_client',
        },
        {
          name: 'a bearer token',
          request: { bearer: 'x' },
          want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
        },
      ]
      for (const { name, form, request, ...refusal } of closed) {
        it(`and is closed to ${name}`, async () => {
          const { access_token: token } = await userTokens(server, 'marissa')
          await refused(server, mode, () => revoke(token, form, request ?? {}), refusal)
          assert.equal(await isAlive(server, token), true)
        })
      }

      it('by one method only, in standard (C2)', async () => {
        const { access_token: token } = await userTokens(server, 'marissa')
        const form = { client_id: 'target', client_secret: 'secret' }
        const answer = await revoke(token, form, { basic: TARGET })
        assert.equal(answer.status, mode === 'standard' ? 400 : 200)
        assert.equal(await isAlive(server, token), mode === 'standard')
      })
    })

    describe('requires a form with a token', () => {
      const requests: readonly (Refusal & { readonly name: string; readonly request: TestRequest })[] = [
        {
          name: 'no token',
          request: { form: '' },
          want: '400 invalid_request',
          description: 'The token parameter is missing',
        },
        { name: 'an empty token', request: { form: 'token=' }, want: '400 invalid_request' },
        { name: 'a hint alone', request: { form: 'token_type_hint=access_token' }, want: '400 invalid_request' },
        { name: 'a token in the query', request: { query: { token: 'x' }, form: '' }, want: '400 invalid_request' },
        { name: 'a NUL in the token', request: { form: 'token=%00' }, want: '400 invalid_request' },
        { name: 'a broken encoding', request: { form: 'token=%zz' }, want: '400 invalid_request' },
        {
          name: 'JSON',
          request: { body: '{"token":"x"}', headers: { 'content-type': 'application/json' } },
          want: '400 invalid_request',
        },
        { name: 'a body of 70 KiB', request: { form: `token=${'x'.repeat(70_000)}` }, want: '413 invalid_request' },
      ]
      for (const { name, request, ...refusal } of requests) {
        it(`and refuses ${name}`, async () => {
          await refused(server, mode, () => server.send('/oauth/revoke', { basic: TARGET, ...request }), {
            ...refusal,
            challenge: null,
          })
        })
      }

      it('and refuses a public client without one by the same words', async () => {
        const sending = () => server.send('/oauth/revoke', { form: { client_id: 'spa' } })
        await refused(server, mode, sending, {
          want: '400 invalid_request',
          description: 'The token parameter is missing',
        })
      })

      it('once, in standard (A3)', async () => {
        const { access_token: token } = await userTokens(server, 'marissa')
        const answer = await server.send('/oauth/revoke', { form: `token=${token}&token=x`, basic: TARGET })
        assert.equal(answer.status, mode === 'standard' ? 400 : 200)
        assert.equal(await isAlive(server, token), mode === 'standard')
      })

      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        it(`by POST and not by ${method}`, async () => {
          const answer = await refused(server, mode, () => server.send('/oauth/revoke', { method, basic: TARGET }), {
            want: '405 method_not_allowed',
          })
          assert.equal(answer.headers['allow'], 'POST')
        })
      }
    })

    it('writes to the audit trail whose token it was, and not which', async () => {
      const { access_token: token, jti } = await userTokens(server, 'marissa')
      const { id } = await userNamed(server, 'marissa')
      await isDone(revoke(token))
      const { principal, clientId, zoneId, data, remoteAddress } = revocations().at(-1) ?? {}
      assert.deepEqual(
        [principal, clientId, zoneId, data, remoteAddress],
        [`clientId:target,userId:${id}`, 'target', 'svc', `ClientID=target, UserID=${id}, ZoneID=svc`, '127.0.0.1'],
      )
      assert.ok(!JSON.stringify(server.events).includes(jti))
    })

    it('logged no fault in all this', () => assert.deepEqual(server.faults, []))
  })

  for (const rotates of [false, true]) {
    describe(`POST /oauth/revoke for refresh tokens that are JWTs ${rotates ? 'with' : 'without'} a row, ${mode}`, () => {
      let server: TestServer
      before(async () => {
        const tokenPolicy = { refreshTokenFormat: 'jwt', refreshTokenRotate: rotates, jwtRevocable: rotates }
        server = await startRevocationServer({ mode, config: { zone_config: { tokenPolicy } } })
      })
      after(() => server.stop())
      const revoke = async (token: string): Promise<void> => {
        const { status } = await server.send('/oauth/revoke', { form: { token }, basic: TARGET })
        assert.equal(status, 200)
      }

      it('ends the grant', async () => {
        const first = await userTokens(server, 'marissa')
        const stranger = await userTokens(server, 'marissa')
        await revoke(first.refresh_token)
        assert.notEqual((await refresh(server, first.refresh_token, {}, TARGET)).status, 200)
        assert.equal(await isAlive(server, first.access_token), mode === 'uaa' && !rotates)
        assert.equal((await refresh(server, stranger.refresh_token, {}, TARGET)).status, 200)
      })

      it('accepts a stored access token by its value, once or twice', async () => {
        const first = await userTokens(server, 'marissa')
        const events = (): number => server.events.filter(({ type }) => type === 'TokenRevocationEvent').length
        const before = events()
        await revoke(first.access_token)
        await revoke(first.access_token)
        // Without a row it is unknown whether it was revoked before.
        assert.equal(events() - before, rotates ? 1 : 2)
        assert.equal(await isAlive(server, first.access_token), false)
        assert.equal((await refresh(server, first.refresh_token, {}, TARGET)).status, 200)
      })

      it('remembers it until the token expires, also when tokens are valid for a shorter time by now', async () => {
        const year = 365 * 86_400
        await changeClient(server, 'target', { refreshTokenSeconds: year })
        const { refresh_token: token } = await userTokens(server, 'marissa')
        await changeClient(server, 'target', { refreshTokenSeconds: 600 })
        await revoke(token)
        server.clock.advance(year - 60)
        while ((await server.store.purge(server.clock.now())) > 0);
        assert.notEqual((await refresh(server, token, {}, TARGET)).status, 200)
      })
    })
  }
}
