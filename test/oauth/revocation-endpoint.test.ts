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

/** The token with modified claims and its original signature. */
function tampered(token: string, change: object): string {
  const [header, , signature] = token.split('.')
  return `${header}.${encode({ ...decodeJwt(token), ...change })}.${signature}`
}

const unsigned = (token: string): string => `${encode({ alg: 'none', kid: 'k', typ: 'JWT' })}.${token.split('.')[1]}.`

for (const mode of MODES) {
  describe(`POST /oauth/revoke in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startRevocationServer({ mode })))
    after(() => server.stop())

    const revoke = (token: string, form = {}, request: TestRequest = { basic: TARGET }): Promise<TestAnswer> =>
      server.send('/oauth/revoke', { form: { token, ...form }, ...request })
    const isDone = async (sending: Promise<TestAnswer>): Promise<void> => {
      const { status, text, headers } = await sending
      assert.deepEqual([status, text], [200, '{}']) // some libraries require a JSON response
      assert.match(String(headers['content-type']), /^application\/json/)
      assert.equal(headers['cache-control'], 'no-store')
    }
    const canRefresh = async (token: string, basic = TARGET): Promise<boolean> =>
      (await refresh(server, token, {}, basic)).status === 200
    const revocations = (): readonly AuditEvent[] => server.events.filter(({ type }) => type === 'TokenRevocationEvent')
    /** Expects a success that revokes nothing. */
    const isIgnored = async (token: string, form = {}, request: TestRequest = { basic: TARGET }): Promise<void> => {
      const before = revocations().length
      await isDone(revoke(token, form, request))
      assert.equal(revocations().length, before)
    }
    /** Tokens of the public client by authorization code. */
    const publicTokens = async (): Promise<Tokens> => {
      const code = await insertCode(server, { clientId: 'spa', scopes: ['openid', 'cloud.read'], ...S256 })
      return tokensOf(await exchange(server, code, { client_id: 'spa', code_verifier: VERIFIER }, null))
    }

    describe('of an access token', () => {
      for (const format of ['jwt', 'opaque']) {
        // Covers POST /oauth/revoke: token
        // Covers compatibility: token endpoint: C8 revocation
        it(`revokes only this ${format} token`, async () => {
          const tokens = await userTokens(server, 'marissa', { token_format: format })
          const sibling = tokensOf(await refresh(server, tokens.refresh_token, { token_format: format }, TARGET))
          const unrelated = await userTokens(server, 'marissa', { token_format: format })
          await isDone(revoke(tokens.access_token))
          const alive = [tokens, sibling, unrelated].map(each => isAlive(server, each.access_token))
          assert.deepEqual(await Promise.all(alive), [false, true, true])
          assert.equal((await server.send('/userinfo', { bearer: tokens.access_token })).status, 401)
          assert.equal(await canRefresh(tokens.refresh_token), true)
        })
      }

      for (const hint of ['access_token', 'refresh_token', 'id_token', 'saml', '']) {
        // Covers POST /oauth/revoke: token_type_hint
        it(`accepts token_type_hint ${JSON.stringify(hint)}`, async () => {
          for (const format of ['jwt', 'opaque']) {
            const { access_token: token } = await userTokens(server, 'marissa', { token_format: format })
            await isDone(revoke(token, { token_type_hint: hint }))
            assert.equal(await isAlive(server, token), false)
          }
        })
      }

      it('revokes a client token', async () => {
        for (const format of ['jwt', 'opaque']) {
          const token = await clientToken(server, TARGET, { token_format: format })
          const another = await clientToken(server, TARGET, { token_format: format })
          await isDone(revoke(token))
          assert.deepEqual([await isAlive(server, token), await isAlive(server, another)], [false, true])
        }
      })

      it('keeps the revocation until the token expires', async () => {
        const { access_token: token } = await userTokens(server, 'marissa')
        await isDone(revoke(token))
        server.clock.advance((mode === 'standard' ? 3600 : 43_200) - 1)
        while ((await server.store.purge(server.clock.now())) > 0);
        assert.equal(await isAlive(server, token), false)
      })

      it('can be repeated, and concurrent', async () => {
        for (const format of ['jwt', 'opaque']) {
          const { access_token: token } = await userTokens(server, 'marissa', { token_format: format })
          await Promise.all([isDone(revoke(token)), isDone(revoke(token))])
          await isDone(revoke(token))
          assert.equal(await isAlive(server, token), false)
        }
      })

      it('is possible while the token is unusable, and permanent', async () => {
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

    describe('of a refresh token', () => {
      it('revokes the stored access tokens of its grant only', async () => {
        const opaque = { token_format: 'opaque' }
        const first = await userTokens(server, 'marissa', opaque)
        const second = tokensOf(await refresh(server, first.refresh_token, opaque, TARGET))
        const unrelated = await userTokens(server, 'marissa', opaque)
        await isDone(revoke(first.refresh_token))
        const alive = [first, second, unrelated].map(each => isAlive(server, each.access_token))
        assert.deepEqual(await Promise.all(alive), [false, false, true])
        assert.equal(await canRefresh(first.refresh_token), false)
        assert.equal(await canRefresh(unrelated.refresh_token), true)
      })

      it('revokes JWT access tokens of its grant in standard', async () => {
        const code = await insertCode(server, { clientId: 'target', scopes: ['openid', 'cloud.read'] })
        const first = tokensOf(await exchange(server, code, {}, TARGET))
        await isDone(revoke(first.refresh_token, { token_type_hint: 'access_token' }))
        assert.equal(await isAlive(server, first.access_token), mode === 'uaa')
        assert.equal(await canRefresh(first.refresh_token), false)
      })

      it('revokes the family of a rotated token', async () => {
        const first = await publicTokens()
        const second = tokensOf(await refresh(server, first.refresh_token, { client_id: 'spa' }, null))
        await isDone(revoke(first.refresh_token, { client_id: 'spa' }, {}))
        assert.notEqual((await refresh(server, second.refresh_token, { client_id: 'spa' }, null)).status, 200)
        assert.equal(await isAlive(server, second.access_token), false)
      })

      it('can be repeated', async () => {
        const { refresh_token: token } = await userTokens(server, 'marissa')
        await isDone(revoke(token))
        await isDone(revoke(token))
      })

      it('revokes access tokens of concurrent refreshes', async () => {
        const { refresh_token: token } = await userTokens(server, 'marissa')
        const [, ...answers] = await Promise.all([
          revoke(token),
          ...Array.from({ length: 8 }, () => refresh(server, token, { token_format: 'opaque' }, TARGET)),
        ])
        assert.equal(await canRefresh(token), false)
        const issued = answers.filter(({ status }) => status === 200).map(answer => tokensOf(answer).access_token)
        const alive = await Promise.all(issued.map(each => isAlive(server, each)))
        // In UAA opaque tokens refer to their grant by row only: one that is written later remains valid.
        if (mode === 'standard') assert.ok(!alive.includes(true))
      })
    })

    describe('of an unusable token answers 200 and changes nothing (RFC 7009 §2.2):', () => {
      const unusable: readonly { readonly name: string; readonly token: (good: string) => string }[] = [
        { name: 'an unknown token', token: () => 'nonsense' },
        { name: 'a malformed JWT', token: () => 'a.b.c' },
        { name: 'empty JWT parts', token: () => '..' },
        { name: 'an unsigned JWT with claims of a valid token', token: unsigned },
        { name: 'a valid token with modified claims', token: good => tampered(good, { x: 1 }) },
        { name: 'a truncated token', token: good => good.slice(0, -10) },
        { name: 'the jti of a valid token', token: good => String(decodeJwt(good).jti) },
        { name: 'the digest of a valid token', token: good => digest(good) },
        { name: 'a token of 40 KiB', token: () => 'x'.repeat(40_000) },
        { name: 'a JWT of 40 KiB', token: () => `${'x'.repeat(40_000)}.y.z` },
        { name: 'SQL as a token', token: () => "' or 1=1 --" },
        { name: 'a token with non-ASCII characters', token: () => '\u00fc\u4e16\u{1f511}' },
      ]
      for (const { name, token } of unusable) {
        it(name, async () => {
          const { access_token: good } = await userTokens(server, 'marissa')
          await isIgnored(token(good))
          assert.equal(await isAlive(server, good), true)
        })
      }

      it('expired tokens', async () => {
        const tokens = await userTokens(server, 'marissa')
        const opaque = await userTokens(server, 'marissa', { token_format: 'opaque' })
        server.clock.advance(2_592_000)
        for (const each of [tokens, opaque]) {
          for (const token of [each.access_token, each.refresh_token, each.id_token]) await isIgnored(token)
        }
      })

      it('tokens of another zone', async () => {
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

      it('a token of a deleted client', async () => {
        const now = server.clock.now()
        const expiresAt = new Date(now.getTime() + 60_000)
        const shared = { zoneId: 'svc', kind: 'access_token', format: 'opaque', issuedAt: now, expiresAt } as const
        const claims = { client_id: 'gone', exp: expiresAt.getTime() / 1000 }
        await server.store.tokens.insert('svc', { ...shared, idDigest: digest('orphan'), clientId: 'gone', claims })
        await isIgnored('orphan')
      })
    })

    describe('of a token of another client', () => {
      const foreign: Refusal = { want: '400 invalid_grant', description: 'The token was issued to another client' }
      for (const format of ['jwt', 'opaque']) {
        // Covers POST /oauth/revoke: error: another client's token
        it(`is refused for ${format}`, async () => {
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

      it('is refused to a client whose id is the user id', async () => {
        const { id } = await userNamed(server, 'marissa')
        const client = await server.store.clients.find('svc', 'other')
        assert.ok(client)
        await server.store.clients.insert('svc', { ...client, clientId: id })
        const { access_token: token } = await userTokens(server, 'marissa')
        await refused(server, mode, () => revoke(token, {}, { basic: [id, 'secret'] }), foreign)
        assert.equal(await isAlive(server, token), true)
      })
    })

    it('refuses an ID token, and keeps the access token with the same jti (RFC 7009 §2.2.1)', async () => {
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
        { name: 'with Basic', request: { basic: TARGET } },
        { name: 'with Basic and its own client_id', request: { basic: TARGET, form: { client_id: 'target' } } },
        { name: 'with the secret in the form', request: { form: { client_id: 'target', client_secret: 'secret' } } },
      ]
      for (const { name, request } of accepted) {
        it(name, async () => {
          const { access_token: token } = await userTokens(server, 'marissa')
          const { form, ...others } = request
          await isDone(revoke(token, form, others))
          assert.equal(await isAlive(server, token), false)
        })
      }

      it('with only the client_id if it is public', async () => {
        const { access_token: token, refresh_token: refreshToken } = await publicTokens()
        await isDone(revoke(token, { client_id: 'spa' }, {}))
        assert.equal(await isAlive(server, token), false)
        await isDone(revoke(refreshToken, { client_id: 'spa' }, {}))
        assert.notEqual((await refresh(server, refreshToken, { client_id: 'spa' }, null)).status, 200)
      })

      const refusedCallers: readonly (Refusal & {
        readonly name: string
        readonly form?: object
        readonly request?: TestRequest
      })[] = [
        {
          name: 'an anonymous caller',
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
          name: 'a confidential client without its secret',
          form: { client_id: 'target' },
          want: '401 invalid_client',
        },
        {
          name: 'a client with the client_id of another',
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
      for (const { name, form, request, ...refusal } of refusedCallers) {
        it(`and refuses ${name}`, async () => {
          const { access_token: token } = await userTokens(server, 'marissa')
          await refused(server, mode, () => revoke(token, form, request ?? {}), refusal)
          assert.equal(await isAlive(server, token), true)
        })
      }

      it('with one method only in standard (C2)', async () => {
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
        {
          name: 'only a token_type_hint',
          request: { form: 'token_type_hint=access_token' },
          want: '400 invalid_request',
        },
        { name: 'a token in the query', request: { query: { token: 'x' }, form: '' }, want: '400 invalid_request' },
        { name: 'a NUL character in the token', request: { form: 'token=%00' }, want: '400 invalid_request' },
        { name: 'bad percent-encoding', request: { form: 'token=%zz' }, want: '400 invalid_request' },
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

      it('and refuses a public client without a token', async () => {
        const sending = () => server.send('/oauth/revoke', { form: { client_id: 'spa' } })
        await refused(server, mode, sending, {
          want: '400 invalid_request',
          description: 'The token parameter is missing',
        })
      })

      it('that is not repeated, in standard (A3)', async () => {
        const { access_token: token } = await userTokens(server, 'marissa')
        const answer = await server.send('/oauth/revoke', { form: `token=${token}&token=x`, basic: TARGET })
        assert.equal(answer.status, mode === 'standard' ? 400 : 200)
        assert.equal(await isAlive(server, token), mode === 'standard')
      })

      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        it(`with POST, not ${method}`, async () => {
          const answer = await refused(server, mode, () => server.send('/oauth/revoke', { method, basic: TARGET }), {
            want: '405 method_not_allowed',
          })
          assert.equal(answer.headers['allow'], 'POST')
        })
      }
    })

    it('records user and client in the audit trail, not the token', async () => {
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

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  for (const rotates of [false, true]) {
    describe(`POST /oauth/revoke of ${rotates ? 'stored' : 'unstored'} JWT refresh tokens in ${mode}`, () => {
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

      it('revokes the grant', async () => {
        const first = await userTokens(server, 'marissa')
        const unrelated = await userTokens(server, 'marissa')
        await revoke(first.refresh_token)
        assert.notEqual((await refresh(server, first.refresh_token, {}, TARGET)).status, 200)
        assert.equal(await isAlive(server, first.access_token), mode === 'uaa' && !rotates)
        assert.equal((await refresh(server, unrelated.refresh_token, {}, TARGET)).status, 200)
      })

      it('revokes an access token by value, repeatedly', async () => {
        const first = await userTokens(server, 'marissa')
        const events = (): number => server.events.filter(({ type }) => type === 'TokenRevocationEvent').length
        const before = events()
        await revoke(first.access_token)
        await revoke(first.access_token)
        // Without a row it is unknown whether the token was revoked before.
        assert.equal(events() - before, rotates ? 1 : 2)
        assert.equal(await isAlive(server, first.access_token), false)
        assert.equal((await refresh(server, first.refresh_token, {}, TARGET)).status, 200)
      })

      it('keeps the revocation until the token expires, even if the validity was reduced', async () => {
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
