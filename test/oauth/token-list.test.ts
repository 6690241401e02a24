import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { addSeconds } from '../../src/base/clock.ts'
import { digest } from '../../src/base/secrets.ts'
import {
  changeClient,
  changeUser,
  clientNamed,
  insufficientScope,
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
  ELSEWHERE,
  nameClientAfterUser,
  OTHER,
  startRevocationServer,
  TARGET,
  userTokens,
} from '../support/revocation.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'

const REALM = 'Bearer realm="SVC/oauth"'
const METHODS = ['POST', 'PUT', 'DELETE', 'PATCH']

const denied: Refusal = {
  want: '403 access_denied',
  description: 'Access is denied',
  challenge: null,
}

/** An entry of a list, with its members in order. */
interface Listed {
  readonly tokenId: string
  readonly clientId: string
  readonly userId: string | null
  readonly format: string
  readonly responseType: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly scope: string
  readonly value: null
  readonly zoneId: string
}

for (const mode of MODES) {
  describe(`/oauth/token/list in ${mode}`, () => {
    let server: TestServer
    let admin: string
    let marissa: string
    before(async () => {
      server = await startRevocationServer({ mode })
      admin = await clientToken(server, ADMIN)
      marissa = (await userNamed(server, 'marissa')).id
    })
    after(() => server.stop())

    const send = (path: string, request: TestRequest = {}): Promise<TestAnswer> =>
      server.send(`/oauth/token/list${path}`, { bearer: admin, ...request })
    async function list(path: string): Promise<readonly Listed[]> {
      const answer = await send(path)
      assert.equal(answer.status, 200, answer.text)
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      assert.equal(answer.headers['cache-control'], 'no-store')
      return answer.json<readonly Listed[]>()
    }
    const idsOf = async (path: string): Promise<readonly string[]> =>
      (await list(path)).map(({ tokenId }) => tokenId).toSorted()
    /** Deletes all stored tokens of the clients. */
    async function clear(): Promise<void> {
      for (const client of ['target', 'other']) {
        while ((await server.store.tokens.deleteSomeOfClient('svc', client)) > 0);
      }
    }

    // Covers GET /oauth/token/list/user/{userId}: response: tokenId; clientId; zoneId; userId; format; responseType
    // Covers GET /oauth/token/list/user/{userId}: response: issuedAt; expiresAt; scope; value
    // Covers GET /oauth/token/list/client/{clientId}: response: array as for a user
    it('returns all members of a stored token, with null as value', async () => {
      await clear()
      const tokens = await userTokens(server, 'marissa', { token_format: 'opaque', scope: 'cloud.read openid' })
      const own = await clientToken(server, TARGET, { token_format: 'opaque' })
      const issuedAt = server.clock.now().getTime()
      const lives = (seconds: number): object => ({ issuedAt, expiresAt: issuedAt + seconds * 1000 })
      const seconds = mode === 'standard' ? 3600 : 43_200
      const shared = { clientId: 'target', format: 'opaque', value: null, zoneId: 'svc' }
      const ofUser = { ...shared, userId: marissa, scope: '[cloud.read, openid]' }
      const wanted = [
        { ...ofUser, tokenId: digest(tokens.access_token), responseType: 'ACCESS_TOKEN', ...lives(seconds) },
        { ...ofUser, tokenId: digest(tokens.refresh_token), responseType: 'REFRESH_TOKEN', ...lives(2_592_000) },
        {
          ...shared,
          userId: null,
          scope: '[jobs.run]',
          tokenId: digest(own),
          responseType: 'ACCESS_TOKEN',
          ...lives(seconds),
        },
      ]
      const byId = (left: { tokenId: string }, right: { tokenId: string }): number =>
        left.tokenId < right.tokenId ? -1 : 1
      assert.deepEqual((await list(`/user/${marissa}`)).toSorted(byId), wanted.slice(0, 2).toSorted(byId))
      const { text } = await send('/client/target')
      const reported: readonly Listed[] = JSON.parse(text)
      assert.deepEqual(reported.toSorted(byId), wanted.toSorted(byId))
      assert.deepEqual(Object.keys(reported[0] ?? {}), [
        'tokenId',
        'clientId',
        'userId',
        'format',
        'responseType',
        'issuedAt',
        'expiresAt',
        'scope',
        'value',
        'zoneId',
      ])
      for (const secret of [tokens.access_token, tokens.refresh_token, own]) assert.ok(!text.includes(secret))
    })

    it('returns ids that revoke tokens but cannot be used as tokens', async () => {
      await clear()
      await userTokens(server, 'marissa', { token_format: 'opaque' })
      for (const id of await idsOf(`/user/${marissa}`)) {
        assert.equal((await server.send('/userinfo', { bearer: id })).status, 401)
        assert.notEqual((await refresh(server, id, {}, TARGET)).status, 200)
        assert.equal((await server.send(`/oauth/token/revoke/${id}`, { method: 'DELETE', bearer: admin })).status, 200)
      }
      assert.deepEqual(await list(`/user/${marissa}`), [])
    })

    it('omits unstored JWTs', async () => {
      await clear()
      await clientToken(server, TARGET)
      assert.deepEqual(await list('/client/target'), [])
    })

    // Covers GET /oauth/token/list/user/{userId}: userId
    // Covers GET /oauth/token/list/client/{clientId}: clientId
    it('separates users, clients and zones', async () => {
      await clear()
      const issue = async (userName: string, basic: readonly [string, string], host?: string): Promise<string> => {
        const form = { token_format: 'opaque', scope: 'openid', basic, ...(host !== undefined && { host }) }
        const { access_token, refresh_token } = await userTokens(server, userName, form)
        await server.store.tokens.delete(host === undefined ? 'svc' : 'z1', digest(refresh_token))
        return digest(access_token)
      }
      const [a, b, c] = [await issue('marissa', TARGET), await issue('marissa', OTHER), await issue('joel', TARGET)]
      const there = await issue('marissa', TARGET, ELSEWHERE)
      const joel = (await userNamed(server, 'joel')).id
      const lists = {
        [`/user/${marissa}`]: [a, b],
        [`/user/${joel}`]: [c],
        '/client/target': [a, c],
        '/client/other': [b],
      }
      for (const [path, ids] of Object.entries(lists)) assert.deepEqual(await idsOf(path), ids.toSorted(), path)
      const theirs = (await userNamed(server, 'marissa', 'z1')).id
      assert.deepEqual(await list(`/user/${theirs}`), [])
      const adminThere = await clientToken(server, ADMIN, {}, ELSEWHERE)
      const reported = (await send(`/user/${theirs}`, { host: ELSEWHERE, bearer: adminThere })).json<
        readonly Listed[]
      >()
      assert.deepEqual([reported.length, reported[0]?.tokenId, reported[0]?.zoneId], [1, there, 'z1'])
      const headers = { 'x-identity-zone-id': 'z1' }
      const named = (await send(`/user/${theirs}`, { headers })).json<readonly Listed[]>()
      assert.deepEqual(named, reported, 'for the server administrator with X-Identity-Zone-Id')
      assert.deepEqual((await send(`/user/${marissa}`, { headers })).json(), [])
    })

    describe('omits tokens if', () => {
      const deaths: readonly {
        readonly name: string
        readonly die: () => Promise<unknown>
        readonly undo?: () => Promise<unknown>
      }[] = [
        {
          name: 'the token salt of the user changed',
          die: () => server.store.users.setSalt('svc', marissa, 'another'),
        },
        {
          name: 'the token salt of the client changed',
          die: () => server.store.clients.setTokenSalt('svc', 'target', 'another'),
        },
        { name: 'the password changed', die: () => changeUser(server, 'marissa', { passwordRevision: 'another' }) },
        {
          name: 'the account was deactivated',
          die: () => changeUser(server, 'marissa', { active: false }),
          undo: () => changeUser(server, 'marissa', { active: true }),
        },
        {
          name: 'the account was deleted',
          die: async () => {
            const now = server.clock.now()
            await server.store.tokens.insert('svc', {
              zoneId: 'svc',
              idDigest: 'orphan',
              kind: 'access_token',
              format: 'opaque',
              clientId: 'target',
              userId: 'gone',
              claims: {},
              issuedAt: now,
              expiresAt: addSeconds(now, 60),
            })
            await server.store.tokens.deleteSomeOfUser('svc', marissa)
          },
        },
      ]
      for (const { name, die, undo } of deaths) {
        it(name, async () => {
          await clear()
          await userTokens(server, 'marissa', { token_format: 'opaque' })
          assert.equal((await list(`/user/${marissa}`)).length, 2)
          await die()
          for (const path of [`/user/${marissa}`, '/client/target', '/user/gone'])
            assert.deepEqual(await list(path), [], path)
          await undo?.()
        })
      }

      it('the client was deleted', async () => {
        await clear()
        await userTokens(server, 'marissa', { token_format: 'opaque' })
        const [token] = await server.store.tokens.listOfUser('svc', marissa, server.clock.now())
        assert.ok(token)
        await server.store.tokens.insert('svc', { ...token, idDigest: 'without a client', clientId: 'gone' })
        assert.deepEqual(await list('/client/gone'), [])
        assert.equal((await list(`/user/${marissa}`)).length, 2)
      })

      it('the token expired', async () => {
        await clear()
        await userTokens(server, 'marissa', { token_format: 'opaque' })
        server.clock.advance((mode === 'standard' ? 3600 : 43_200) - 0.001)
        admin = await clientToken(server, ADMIN)
        assert.equal((await list(`/user/${marissa}`)).length, 2)
        server.clock.advance(0.001)
        const left = await list(`/user/${marissa}`)
        assert.deepEqual(
          left.map(({ responseType }) => responseType),
          ['REFRESH_TOKEN'],
        )
      })

      it('the refresh token was rotated', async () => {
        await clear()
        await changeClient(server, 'target', { allowPublic: true }) // enables rotation
        const first = await userTokens(server, 'marissa')
        const second = tokensOf(await refresh(server, first.refresh_token, {}, TARGET))
        const refreshIds = (await list(`/user/${marissa}`)).filter(
          ({ responseType }) => responseType === 'REFRESH_TOKEN',
        )
        assert.deepEqual(
          refreshIds.map(({ tokenId }) => tokenId),
          [digest(second.refresh_token)],
        )
        await changeClient(server, 'target', { allowPublic: false })
      })

      it('but not if an older one of two client secrets is still valid', async () => {
        await clear()
        const { secrets } = await clientNamed(server, 'target')
        const opaque = await clientToken(server, TARGET, { token_format: 'opaque' })
        await changeClient(server, 'target', { secrets: [...secrets, { hash: 'x', revision: 'newer' }] })
        assert.deepEqual(await idsOf('/client/target'), [digest(opaque)])
        await changeClient(server, 'target', { secrets: [{ hash: 'x', revision: 'newer' }] })
        assert.deepEqual(await list('/client/target'), [])
        await changeClient(server, 'target', { secrets })
      })
    })

    it('returns the tokens of all of many users', async () => {
      await clear()
      const { access_token: token } = await userTokens(server, 'marissa', { token_format: 'opaque' })
      const row = await server.store.tokens.find('svc', digest(token))
      assert.ok(row)
      const copies = Array.from({ length: 300 }, (_, number) => ({
        ...row,
        idDigest: `copy ${number}`,
        userId: number % 100 === 0 ? marissa : `gone ${number}`,
      }))
      await Promise.all(copies.map(copy => server.store.tokens.insert('svc', copy)))
      const reported = (await idsOf('/client/target')).filter(id => id.startsWith('copy'))
      assert.deepEqual(reported, ['copy 0', 'copy 100', 'copy 200'])
    })

    // In uaa a trailing slash is ignored, and a path without an id is not a list.
    const none = mode === 'standard' ? [''] : []
    for (const id of ['nemo', ...none, 'x'.repeat(300), '%00', 'a%2Fb', 'a/b', '%F0%9F%94%91']) {
      it(`returns an empty list for "${id.slice(0, 20)}" (${id.length} characters)`, async () => {
        for (const path of [`/user/${id}`, `/client/${id}`]) assert.deepEqual(await list(path), [])
      })
    }

    describe('allows', () => {
      const allowed: Readonly<Record<string, () => Promise<string>>> = {
        'an admin client': async () => admin,
        'an admin user': async () => (await userTokens(server, 'root', { basic: CONSOLE })).access_token,
        // Covers GET /oauth/token/list/user/{userId}: rule: tokens.list or admin
        // Covers GET /oauth/token/list/client/{clientId}: rule: tokens.list or admin
        'a client with tokens.list': () => clientToken(server, ['lister', 'secret']),
        'a user with tokens.list': async () => (await userTokens(server, 'auditor', { basic: CONSOLE })).access_token,
      }
      for (const [name, bearerOf] of Object.entries(allowed)) {
        it(name, async () => {
          const bearer = await bearerOf()
          for (const path of [`/user/${marissa}`, '/client/target']) {
            assert.equal((await send(path, { bearer })).status, 200)
          }
        })
      }

      const notAllowed = insufficientScope(mode, 'svc.admin tokens.list')
      const refusals: readonly (Refusal & {
        readonly name: string
        readonly bearer: () => Promise<string | undefined>
      })[] = [
        { name: 'the user', bearer: async () => (await userTokens(server, 'marissa')).access_token, ...notAllowed },
        { name: 'the client', bearer: () => clientToken(server, TARGET), ...notAllowed },
        {
          name: 'a client with tokens.revoke',
          bearer: () => clientToken(server, ['revoker', 'secret']),
          ...notAllowed,
        },
        {
          name: 'a client named like the user',
          bearer: async () => clientToken(server, await nameClientAfterUser(server, 'marissa')),
          ...notAllowed,
        },
        {
          name: 'the admin of another zone',
          bearer: () => clientToken(server, ADMIN, {}, ELSEWHERE),
          want: '401 invalid_token',
          challenge: /^Bearer realm="SVC\/oauth", error="invalid_token"/,
        },
        {
          name: 'an admin whose token expired',
          bearer: async () => {
            const token = await clientToken(server, ['brief', 'secret'])
            server.clock.advance(60)
            return token
          },
          want: '401 invalid_token',
          description: /^Invalid access token: expired at /,
        },
        {
          name: 'an anonymous caller',
          bearer: async () => undefined,
          want: '401 unauthorized',
          description: 'Full authentication is required to access this resource',
          challenge:
            mode === 'standard'
              ? REALM
              : `${REALM}, error="unauthorized", error_description="Full authentication is required to access this resource"`,
        },
      ]
      for (const { name, bearer: bearerOf, ...refusal } of refusals) {
        it(`but not ${name}`, async () => {
          const bearer = await bearerOf()
          for (const path of [`/user/${marissa}`, '/client/target', '/user/nemo']) {
            const sending = () => server.send(`/oauth/token/list${path}`, bearer === undefined ? {} : { bearer })
            const answer = await refused(server, mode, sending, refusal)
            const helps = refusal.want === notAllowed.want ? 'svc.admin tokens.list' : undefined
            assert.equal(answer.json()['scope'], helps)
          }
        })
      }
    })

    // Covers GET /oauth/token/list: rule: denied to everybody
    it('refuses to list all tokens', async () => {
      const lister = await clientToken(server, ['lister', 'secret'])
      for (const bearer of [admin, lister]) {
        for (const path of ['', '/', '/user', '/client', '/zone/svc']) {
          for (const method of ['GET', ...METHODS])
            await refused(server, mode, () => send(path, { bearer, method }), denied)
        }
      }
      await refused(server, mode, () => server.send('/oauth/token/list'), { want: '401 unauthorized' })
    })

    for (const method of METHODS) {
      it(`refuses ${method} even to an administrator`, async () => {
        for (const path of [`/user/${marissa}`, '/client/target']) {
          await refused(server, mode, () => send(path, { method }), denied)
          await refused(server, mode, () => server.send(`/oauth/token/list${path}`, { method }), {
            want: '401 unauthorized',
          })
        }
      })
    }

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`/oauth/token/list with all tokens stored in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const tokenPolicy = { jwtRevocable: true, refreshTokenFormat: 'jwt' }
      server = await startRevocationServer({ mode, config: { zone_config: { tokenPolicy } } })
    })
    after(() => server.stop())

    it('identifies a JWT by its jti', async () => {
      const tokens = await userTokens(server, 'marissa', { scope: 'openid' })
      const bearer = await clientToken(server, ADMIN)
      const reported = (await server.send('/oauth/token/list/client/target', { bearer })).json<readonly Listed[]>()
      const known = reported.map(({ tokenId, format, responseType, scope }) => [
        responseType,
        { tokenId, format, scope },
      ])
      const { jti } = decodeJwt(tokens.refresh_token)
      assert.deepEqual(Object.fromEntries(known), {
        ACCESS_TOKEN: { tokenId: tokens.jti, format: 'jwt', scope: '[openid]' },
        REFRESH_TOKEN: { tokenId: jti, format: 'jwt', scope: '[openid]' },
      })
      assert.equal(reported.length, 2)
      const own = (await server.send('/oauth/token/list/client/admin', { bearer })).json<readonly Listed[]>()
      assert.deepEqual(
        own.map(({ tokenId, userId }) => [tokenId, userId]),
        [[decodeJwt(bearer).jti, null]],
      )
    })
  })
}
