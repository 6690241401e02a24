import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { AuditEvent } from '../../src/model/audit/event.ts'
import { digest } from '../../src/base/secrets.ts'
import {
  insertCode,
  insufficientScope,
  isAlive,
  MODES,
  refresh,
  refused,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import {
  ADMIN,
  clientToken,
  CONSOLE,
  revokedNames,
  ELSEWHERE,
  issueVictims,
  nameClientAfterUser,
  nameOf,
  OTHER,
  startRevocationServer,
  TARGET,
  userTokens,
  victimNamed,
} from '../support/revocation.ts'
import type { Victim } from '../support/revocation.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { createSkip } from '../support/thinning.ts'

const REALM = 'Bearer realm="SVC/oauth"'
const challenge = (error: string, description: string): string =>
  `${REALM}, error="${error}", error_description="${description}"`

const notFound: Refusal = { want: '404 invalid_token', description: 'Resource not found', challenge: null }
const denied: Refusal = {
  want: '403 access_denied',
  description: 'Access is denied',
  challenge: null,
}

/** The object of a revocation, and callers allowed besides those who may revoke everything. */
interface Target {
  readonly name: string
  readonly path: (victims: readonly Victim[]) => Promise<string> | string
  readonly method: string
  readonly others: readonly string[]
  /** Whether this token is revoked; undefined for a missing object, where authorized callers get 404. */
  readonly dies?: (name: string) => boolean
}

for (const mode of MODES) {
  const notAllowed = insufficientScope(mode, 'svc.admin tokens.revoke')
  describe(`Authorization of /oauth/token/revoke in ${mode}`, () => {
    let server: TestServer
    let victims: readonly Victim[] | undefined
    let namedLikeTheUser: readonly [string, string]
    before(async () => {
      server = await startRevocationServer({ mode })
      namedLikeTheUser = await nameClientAfterUser(server, 'marissa')
    })
    after(() => server.stop())

    const idOf = async (userName: string, zone = 'svc'): Promise<string> => (await userNamed(server, userName, zone)).id
    const opaque = { token_format: 'opaque' } as const

    const EVERYTHING = new Set([
      'an admin client',
      'an admin user',
      'a client with tokens.revoke',
      'a user with tokens.revoke',
    ])
    const callers: Readonly<Record<string, () => Promise<string | undefined>>> = {
      'an admin client': () => clientToken(server, ADMIN),
      'an admin user': async () => (await userTokens(server, 'root', { basic: CONSOLE })).access_token,
      'a client with tokens.revoke': () => clientToken(server, ['revoker', 'secret']),
      'a user with tokens.revoke': async () => (await userTokens(server, 'warden', { basic: CONSOLE })).access_token,
      'the user through the client': async () => (await userTokens(server, 'marissa')).access_token,
      'the user through the client, opaque': async () => (await userTokens(server, 'marissa', opaque)).access_token,
      // Covers any /oauth/token/revoke/user/{userId}: rule: tokens.revoke, admin or the user
      'the user through another client': async () =>
        (await userTokens(server, 'marissa', { basic: OTHER })).access_token,
      // Covers DELETE /oauth/token/revoke/{tokenId}: error: not allowed
      'another user through the client': async () => (await userTokens(server, 'joel')).access_token,
      // Covers any /oauth/token/revoke/client/{clientId}: rule: tokens.revoke or admin
      'the client itself': () => clientToken(server, TARGET),
      'another client': () => clientToken(server, OTHER),
      'a client with tokens.list': () => clientToken(server, ['lister', 'secret']),
      'a client named like the user': () => clientToken(server, namedLikeTheUser),
      'the admin of another zone': () => clientToken(server, ADMIN, {}, ELSEWHERE),
      'the same user of another zone': async () =>
        (await userTokens(server, 'marissa', { host: ELSEWHERE })).access_token,
      'an admin whose token expired': async () => {
        const token = await clientToken(server, ['brief', 'secret'])
        server.clock.advance(60)
        return token
      },
      'a refresh token': async () => (await userTokens(server, 'marissa')).refresh_token,
      'an anonymous caller': async () => undefined,
    }
    const unauthorized: Readonly<Record<string, Refusal>> = {
      'the admin of another zone': {
        want: '401 invalid_token',
        challenge: /^Bearer realm="SVC\/oauth", error="invalid_t/,
      },
      'the same user of another zone': { want: '401 invalid_token', description: /^Invalid issuer / },
      'an admin whose token expired': { want: '401 invalid_token', description: /^Invalid access token: expired at / },
      'a refresh token': { want: '401 invalid_token' },
      'an anonymous caller': {
        want: '401 unauthorized',
        description: 'Full authentication is required to access this resource',
        challenge:
          mode === 'standard'
            ? REALM
            : challenge('unauthorized', 'Full authentication is required to access this resource'),
      },
    }

    const user = [
      'the user through the client',
      'the user through the client, opaque',
      'the user through another client',
    ]
    const pair = user.slice(0, 2)
    const token = (name: string) => (all: readonly Victim[]) => `/${victimNamed(all, name).value}`
    // A JWT contains its grant in `standard`.
    const endsWithPair = (name: string): boolean => mode === 'standard' || !name.endsWith('jwt')
    const targets: readonly Target[] = [
      {
        name: 'a user',
        method: 'GET',
        path: async () => `/user/${await idOf('marissa')}`,
        others: user,
        dies: name => name.startsWith('svc marissa'),
      },
      // Covers any /oauth/token/revoke/user/{userId}: error: unknown user
      { name: 'an unknown user', method: 'GET', path: () => '/user/nemo', others: [] },
      {
        name: 'a user of another zone',
        method: 'GET',
        path: async () => `/user/${await idOf('stranger', 'z1')}`,
        others: [],
      },
      // Covers any /oauth/token/revoke/user/{userId}/client/{clientId}: rule: tokens.revoke, admin or the user through the client
      {
        name: 'a user through a client',
        method: 'POST',
        path: async () => `/user/${await idOf('marissa')}/client/target`,
        others: pair,
        dies: name => name.startsWith('svc marissa target') && endsWithPair(name),
      },
      { name: 'an unknown user through a client', method: 'POST', path: () => '/user/nemo/client/target', others: [] },
      // Covers any /oauth/token/revoke/user/{userId}/client/{clientId}: error: unknown user or client
      {
        name: 'a user through an unknown client',
        method: 'POST',
        path: async () => `/user/${await idOf('marissa')}/client/nemo`,
        others: [],
      },
      {
        name: 'a user through a client of another zone',
        method: 'POST',
        path: async () => `/user/${await idOf('marissa')}/client/only-there`,
        others: [],
      },
      {
        name: 'a client',
        method: 'PUT',
        path: () => '/client/target',
        others: [],
        dies: name => name.startsWith('svc') && name.includes(' target '),
      },
      // Covers any /oauth/token/revoke/client/{clientId}: error: unknown client
      { name: 'an unknown client', method: 'PUT', path: () => '/client/nemo', others: [] },
      { name: 'a client of another zone', method: 'PUT', path: () => '/client/only-there', others: [] },
      // Covers DELETE /oauth/token/revoke/{tokenId}: rule: tokens.revoke, admin or the token's client or user
      // Covers unsafe behaviour: revocation hits only the named token
      {
        name: 'an access token of the user',
        method: 'DELETE',
        path: token('svc marissa target opaque'),
        others: [...user, 'the client itself'],
        dies: name => name === 'svc marissa target opaque',
      },
      {
        name: 'a refresh token of the user',
        method: 'DELETE',
        path: token('svc marissa target refresh'),
        others: [...user, 'the client itself'],
        dies: name => name === 'svc marissa target refresh',
      },
      {
        name: 'a token of the client itself',
        method: 'DELETE',
        path: token('svc itself target opaque'),
        others: ['the client itself'],
        dies: name => name === 'svc itself target opaque',
      },
      {
        name: 'a token of the user through another client',
        method: 'DELETE',
        path: token('svc marissa other opaque'),
        others: [...user, 'another client'],
        dies: name => name === 'svc marissa other opaque',
      },
      // Covers DELETE /oauth/token/revoke/{tokenId}: error: unknown token
      { name: 'an unknown token', method: 'DELETE', path: () => `/${'0'.repeat(32)}`, others: [] },
      { name: 'a token of another zone', method: 'DELETE', path: token('z1 marissa target opaque'), others: [] },
    ]

    const isSkipped = createSkip(mode === 'standard' ? 1 : 4)
    for (const target of targets) {
      for (const [caller, bearerOf] of Object.entries(callers)) {
        const isAllowed = EVERYTHING.has(caller) || target.others.includes(caller)
        const refusal = isAllowed ? notFound : (unauthorized[caller] ?? notAllowed)
        const succeeds = isAllowed && target.dies !== undefined
        // Authorization does not depend on the mode, only the error does.
        if (isSkipped()) continue
        it(`${succeeds ? 'allows' : 'refuses'} ${caller}: ${target.name}`, async () => {
          victims ??= await issueVictims(server)
          const path = `/oauth/token/revoke${await target.path(victims)}`
          const bearer = await bearerOf()
          const before = revocations(server).length
          const sending = (): Promise<TestAnswer> =>
            server.send(path, { method: target.method, ...(bearer !== undefined && { bearer }) })
          if (!succeeds) {
            const answer = await refused(server, mode, sending, refusal)
            assert.equal(answer.json()['scope'], refusal === notAllowed ? 'svc.admin tokens.revoke' : undefined)
            assert.equal(revocations(server).length, before)
            return
          }
          assert.deepEqual(await revokedNames(victims), [], 'refused requests revoked nothing')
          const answer = await sending()
          assert.deepEqual([answer.status, answer.text], [200, ''])
          assert.equal(answer.headers['cache-control'], 'no-store')
          assert.deepEqual(await revokedNames(victims), victims.map(nameOf).filter(target.dies ?? (() => false)))
          assert.equal(revocations(server).length, before + 1)
          victims = undefined
        })
      }
    }

    it('revoked nothing on refused requests', async () => {
      assert.ok(victims)
      assert.deepEqual(await revokedNames(victims), [])
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`/oauth/token/revoke in ${mode}`, () => {
    let server: TestServer
    let admin: string
    let userId: string
    before(async () => {
      server = await startRevocationServer({ mode })
      admin = await clientToken(server, ADMIN)
      userId = (await userNamed(server, 'marissa')).id
    })
    after(() => server.stop())
    const send = (path: string, request: TestRequest = {}): Promise<TestAnswer> =>
      server.send(`/oauth/token/revoke${path}`, { method: 'DELETE', bearer: admin, ...request })
    const isGone = async (sending: Promise<TestAnswer>): Promise<void> => {
      const { status, text } = await sending
      assert.deepEqual([status, text], [200, ''])
    }

    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
      it(`accepts ${method} for a user, a client, and both`, async () => {
        for (const path of [`/user/${userId}`, `/user/${userId}/client/target`, '/client/target']) {
          const { refresh_token: token } = await userTokens(server, 'marissa')
          await isGone(send(path, { method }))
          assert.notEqual((await refresh(server, token, {}, TARGET)).status, 200, path)
        }
      })
    }

    for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
      // Covers DELETE /oauth/token/revoke/{tokenId}: error: other method
      it(`refuses ${method} for a single token`, async () => {
        const { access_token: bearer } = await userTokens(server, 'marissa', { token_format: 'opaque' })
        for (const who of [admin, bearer]) {
          await refused(server, mode, () => send(`/${bearer}`, { method, bearer: who }), denied)
        }
        assert.equal(await isAlive(server, bearer), true)
      })
    }

    it('accepts a form, a content type without body, and a query', async () => {
      await isGone(send('/client/target', { method: 'POST', form: 'anything=else' }))
      for (const method of ['DELETE', 'PUT']) {
        await isGone(send('/client/target', { method, headers: { 'content-type': 'application/json' } }))
      }
      await isGone(send('/client/target', { query: { x: 'y' } }))
    })

    it('accepts the access token in the form, not in the query', async () => {
      await isGone(server.send('/oauth/token/revoke/client/target', { form: { access_token: admin } }))
      const query = { access_token: admin }
      await refused(server, mode, () => server.send('/oauth/token/revoke/client/target', { query }), {
        want: '401 unauthorized',
      })
    })

    // Covers any /oauth/token/revoke/user/{userId}: userId
    it('deletes all tokens of a user, who can sign in again', async () => {
      const before = await userTokens(server, 'marissa', { token_format: 'opaque' })
      await isGone(send(`/user/${userId}`))
      assert.deepEqual(await server.store.tokens.listOfUser('svc', userId, server.clock.now()), [])
      const { salt } = await userNamed(server, 'marissa')
      assert.match(String(salt), /^[0-9a-f]{32}$/)
      await isGone(send(`/user/${userId}`))
      assert.notEqual((await userNamed(server, 'marissa')).salt, salt)
      const again = await userTokens(server, 'marissa')
      assert.deepEqual(
        [await isAlive(server, before.access_token), await isAlive(server, again.access_token)],
        [false, true],
      )
    })

    it('revokes codes and concurrent tokens of a user and client', async () => {
      const { refresh_token: value } = await userTokens(server, 'marissa')
      const stored = await server.store.tokens.find('svc', digest(value))
      const code = await insertCode(server, { clientId: 'target' })
      await isGone(send(`/user/${userId}/client/target`))
      assert.ok(stored)
      await server.store.tokens.insert('svc', stored) // by a concurrent refresh
      assert.notEqual((await refresh(server, value, {}, TARGET)).status, 200)
      const redeemed = await server.token({ grant_type: 'authorization_code', code }, { basic: TARGET })
      assert.equal(redeemed.json()['error'], 'invalid_grant')
    })

    // Covers any /oauth/token/revoke/client/{clientId}: clientId
    it('deletes all tokens of a client, which can obtain new ones', async () => {
      const before = await clientToken(server, TARGET, { token_format: 'opaque' })
      await isGone(send('/client/target'))
      assert.deepEqual(await server.store.tokens.listOfClient('svc', 'target', server.clock.now()), [])
      const salt = (await server.store.clients.find('svc', 'target'))?.tokenSalt
      assert.match(String(salt), /^[0-9a-f]{32}$/)
      await isGone(send('/client/target'))
      assert.notEqual((await server.store.clients.find('svc', 'target'))?.tokenSalt, salt)
      const again = await clientToken(server, TARGET)
      assert.deepEqual([await isAlive(server, before), await isAlive(server, again)], [false, true])
    })

    const many = async (count: number): Promise<void> => {
      const [opaque] = await server.store.tokens.listOfUser('svc', userId, server.clock.now())
      assert.ok(opaque)
      const copies = Array.from({ length: count }, (_, number) => ({ ...opaque, idDigest: `copy ${number}` }))
      await Promise.all(copies.map(copy => server.store.tokens.insert('svc', copy)))
    }

    // Covers any /oauth/token/revoke/user/{userId}/client/{clientId}: userId; clientId
    it('deletes more than 1,000 tokens of a user and client', async () => {
      await userTokens(server, 'marissa')
      await many(1200)
      await isGone(send(`/user/${userId}/client/target`))
      assert.equal(await server.store.tokens.deleteSomeOfUser('svc', userId, 'target'), 0)
    })

    it('allows a client to revoke itself', async () => {
      const bearer = await clientToken(server, ADMIN)
      await isGone(send('/client/admin', { bearer }))
      await refused(server, mode, () => send('/client/admin', { bearer }), {
        want: '401 invalid_token',
        description: 'revocable signature mismatch',
      })
      admin = await clientToken(server, ADMIN)
    })

    const unusual = [
      ...(mode === 'standard' ? [''] : []), // another path in UAA
      'x',
      'x'.repeat(257),
      'x'.repeat(5000),
      '%00',
      'a%00b',
      '%F0%9F%94%91',
      '%20',
      'a%2Fb',
      'a/b',
      '..%2F..',
    ]
    for (const id of unusual) {
      const shown = id.slice(0, 20)
      it(`answers 404 for token, user or client "${shown}" (${id.length} characters)`, async () => {
        const unauthorizedClient = await clientToken(server, OTHER)
        const paths = [
          `/${id}`,
          `/user/${id}`,
          `/client/${id}`,
          `/user/${id}/client/target`,
          `/user/${userId}/client/${id}`,
        ]
        for (const path of paths) {
          await refused(server, mode, () => send(path), notFound)
          await refused(server, mode, () => send(path, { bearer: unauthorizedClient }), notAllowed)
          await refused(server, mode, () => server.send(`/oauth/token/revoke${path}`, { method: 'DELETE' }), {
            want: '401 unauthorized',
          })
        }
      })
    }

    for (const id of ['%', '%zz', '%ff', '%ED%A0%80']) {
      it(`answers 400 in JSON to the malformed path ${id}`, async () => {
        await refused(server, mode, () => send(`/${id}`), { want: '400 invalid_request', challenge: null })
      })
    }

    describe('of a single token', () => {
      // Covers DELETE /oauth/token/revoke/{tokenId}: tokenId
      it('finds it by value or by the id in the list, once', async () => {
        for (const idOf of [(value: string) => value, digest]) {
          const { access_token: token, refresh_token } = await userTokens(server, 'marissa', { token_format: 'opaque' })
          await isGone(send(`/${idOf(token)}`))
          assert.equal(await isAlive(server, token), false)
          await refused(server, mode, () => send(`/${idOf(token)}`), notFound)
          assert.equal(
            (await refresh(server, refresh_token, {}, TARGET)).status,
            200,
            'the refresh token remains valid',
          )
        }
      })

      it('succeeds for exactly one of many concurrent requests', async () => {
        const { access_token: token } = await userTokens(server, 'marissa', { token_format: 'opaque' })
        const answers = await Promise.all(Array.from({ length: 8 }, () => send(`/${token}`)))
        const statuses = answers.map(({ status }) => status)
        assert.equal(statuses.filter(status => status === 200).length, 1)
        assert.equal(statuses.filter(status => status === 404).length, 7)
      })

      it('does not accept the digest of its id', async () => {
        const { access_token: token } = await userTokens(server, 'marissa', { token_format: 'opaque' })
        await refused(server, mode, () => send(`/${digest(digest(token))}`), notFound)
        assert.equal(await isAlive(server, token), true)
      })

      it('may be authorized with the same token, once', async () => {
        const { access_token: bearer } = await userTokens(server, 'joel', { token_format: 'opaque' })
        await isGone(send(`/${bearer}`, { bearer }))
        await refused(server, mode, () => send(`/${bearer}`, { bearer }), { want: '401 invalid_token' })
      })

      it('revokes an unstored JWT by jti only with that token', async () => {
        const tokens = await userTokens(server, 'marissa')
        const { access_token: bearer, jti } = tokens
        await refused(server, mode, () => send(`/${jti}`), notFound)
        const { access_token: another } = await userTokens(server, 'marissa')
        await refused(server, mode, () => send(`/${jti}`, { bearer: another }), notAllowed)
        await refused(server, mode, () => send(`/${bearer}`, { bearer }), notAllowed)
        assert.equal(await isAlive(server, bearer), true)
        await isGone(send(`/${jti}`, { bearer }))
        assert.deepEqual([await isAlive(server, bearer), await isAlive(server, another)], [false, true])
        assert.equal((await refresh(server, tokens.refresh_token, {}, TARGET)).status, 200)
      })

      it('does not find an expired token', async () => {
        const { access_token: token } = await userTokens(server, 'marissa', { token_format: 'opaque' })
        server.clock.advance(43_200)
        admin = await clientToken(server, ADMIN)
        await refused(server, mode, () => send(`/${token}`), notFound)
      })
    })

    describe('in a zone of X-Identity-Zone-Id', () => {
      const headers = { 'x-identity-zone-id': 'z1' }
      const opaqueThere = async (): Promise<string> =>
        (await userTokens(server, 'marissa', { token_format: 'opaque', host: ELSEWHERE })).access_token
      const isAliveThere = (token: string): Promise<boolean> => isAlive(server, token, ELSEWHERE)

      it('allows the server administrator, and affects only that zone', async () => {
        const here = await userTokens(server, 'marissa', { token_format: 'opaque' })
        const { id } = await userNamed(server, 'marissa', 'z1')
        for (const path of [`/user/${id}`, `/user/${id}/client/target`, '/client/target']) {
          const there = await opaqueThere()
          await isGone(send(path, { headers }))
          assert.equal(await isAliveThere(there), false, path)
        }
        const there = await opaqueThere()
        await refused(server, mode, () => send(`/${there}`), notFound)
        await isGone(send(`/${there}`, { headers }))
        assert.equal(await isAliveThere(there), false)
        assert.equal(revocations(server).at(-1)?.zoneId, 'z1')
        assert.equal(await isAlive(server, here.access_token), true)
      })

      it('refuses clients of the default zone', async () => {
        const there = await clientToken(server, TARGET, { token_format: 'opaque' }, ELSEWHERE)
        const { id } = await userNamed(server, 'marissa', 'z1')
        const reader = await clientToken(server, ['reader', 'secret'])
        const { jti } = decodeJwt(reader)
        for (const path of [`/${there}`, '/client/target', `/user/${id}/client/target`, `/${String(jti)}`]) {
          await refused(server, mode, () => send(path, { bearer: reader, headers }), notAllowed)
        }
        assert.equal(await isAliveThere(there), true)
        const revoker = await clientToken(server, ['revoker', 'secret'])
        await refused(server, mode, () => send('/client/target', { bearer: revoker, headers }), {
          want: '403 access_denied',
        })
      })

      it('does not find the token of the caller in the default zone', async () => {
        const bearer = await clientToken(server, ADMIN)
        await refused(server, mode, () => send(`/${String(decodeJwt(bearer).jti)}`, { bearer, headers }), notFound)
        await isGone(send('/client/only-there', { bearer, headers }))
      })
    })

    describe('records in the audit trail', () => {
      const lastOf = (): Partial<AuditEvent> => revocations(server).at(-1) ?? {}
      const reported = (): unknown => {
        const { principal, clientId, zoneId, data, remoteAddress } = lastOf()
        return [principal, clientId, zoneId, data, remoteAddress]
      }

      // Covers audit trail: TokenRevocationEvent
      it('the user or client, and the caller', async () => {
        await isGone(send(`/user/${userId}`))
        assert.deepEqual(reported(), [`userId:${userId}`, 'admin', 'svc', `UserID=${userId}, ZoneID=svc`, '127.0.0.1'])
        await isGone(send('/client/target'))
        assert.deepEqual(reported(), ['clientId:target', 'admin', 'svc', 'ClientID=target, ZoneID=svc', '127.0.0.1'])
        await isGone(send(`/user/${userId}/client/target`))
        const both = [`clientId:target,userId:${userId}`, 'admin', 'svc']
        assert.deepEqual(reported(), [...both, `ClientID=target, UserID=${userId}, ZoneID=svc`, '127.0.0.1'])
      })

      it('user and client of a single token, not its value', async () => {
        const { access_token: token, jti } = await userTokens(server, 'marissa', { token_format: 'opaque' })
        await isGone(send(`/${token}`))
        assert.equal(lastOf().principal, `clientId:target,userId:${userId}`)
        const own = await clientToken(server, TARGET, { token_format: 'opaque' })
        await isGone(send(`/${own}`))
        assert.equal(lastOf().principal, 'clientId:target')
        for (const secret of [token, jti, own]) assert.ok(!JSON.stringify(server.events).includes(secret))
      })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`/oauth/token/revoke with all tokens stored in ${mode}`, () => {
    let server: TestServer
    let admin: string
    before(async () => {
      const tokenPolicy = { jwtRevocable: true, refreshTokenFormat: 'jwt', refreshTokenRotate: true }
      server = await startRevocationServer({ mode, config: { zone_config: { tokenPolicy } } })
      admin = await clientToken(server, ADMIN)
    })
    after(() => server.stop())
    const revoke = (id: string, bearer = admin): Promise<TestAnswer> =>
      server.send(`/oauth/token/revoke/${id}`, { method: 'DELETE', bearer })

    it('finds access and refresh tokens by jti', async () => {
      const first = await userTokens(server, 'marissa')
      assert.equal((await revoke(first.jti)).status, 200)
      assert.equal(await isAlive(server, first.access_token), false)
      const second = await userTokens(server, 'marissa')
      const { jti } = decodeJwt(second.refresh_token)
      assert.equal((await revoke(String(jti), second.access_token)).status, 200)
      assert.notEqual((await refresh(server, second.refresh_token, {}, TARGET)).status, 200)
      assert.equal(await isAlive(server, second.access_token), true)
    })

    it('does not find a rotated refresh token, whose reuse is still detected', async () => {
      const first = await userTokens(server, 'marissa')
      const second = tokensOf(await refresh(server, first.refresh_token, {}, TARGET))
      await refused(server, mode, () => revoke(String(decodeJwt(first.refresh_token).jti)), notFound)
      assert.notEqual((await refresh(server, first.refresh_token, {}, TARGET)).status, 200)
      assert.equal(await isAlive(server, second.access_token), mode === 'uaa')
    })
  })
}

function revocations({ events }: TestServer): readonly AuditEvent[] {
  return events.filter(({ type }) => type === 'TokenRevocationEvent')
}
