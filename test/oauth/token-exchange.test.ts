import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import {
  changeClient,
  changeUser,
  clientNamed,
  insertCode,
  isAlive,
  MODES,
  passwordTokens,
  refresh,
  RESOURCE,
  tokensOf,
  userNamed,
  verified,
} from '../support/oauth.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { sendJson } from '../support/zones.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const JWT = 'urn:ietf:params:oauth:token-type:jwt'
const rule = (audience: string, more: object = {}) => ({
  audience,
  subjects: ['front'],
  scopes: ['cloud.read', 'cloud.write'],
  mode: 'delegation',
  ...more,
})
const service = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: [GRANT, 'client_credentials'],
  scope: ['cloud.read', 'cloud.write', 'jobs.run'],
  authorities: ['jobs.run'],
  ...more,
})
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'front',
      client_secret: 'secret',
      authorized_grant_types: ['password', 'refresh_token', 'authorization_code'],
      redirect_uri: ['https://front.example/cb'],
      scope: ['openid', 'cloud.read', 'cloud.write'],
    },
    // A resource server of the scopes cloud.*, so it is in the audience of tokens with them.
    service('cloud', {
      tokenExchange: [
        rule('stock'),
        rule('https://bank.example/', { scopes: ['cloud.read'], mode: 'impersonation' }),
        rule('jobs', { scopes: ['jobs.run'] }),
      ],
    }),
    service('stock', { tokenExchange: [rule('archive', { subjects: ['cloud'] })] }),
    service('single', { tokenExchange: [rule('only', { subjects: ['single', 'front'] })] }),
    service('itself', {
      authorized_grant_types: [GRANT, 'password'],
      scope: ['openid'],
      tokenExchange: [rule('itself', { subjects: ['itself'], scopes: ['openid'], mode: 'impersonation' })],
    }),
    service('nothing'),
    service('blank', { client_secret: '', authorized_grant_types: [GRANT], tokenExchange: [rule('stock')] }),
    service('public', {
      allowpublic: true,
      client_secret: undefined,
      authorized_grant_types: [GRANT],
      tokenExchange: [rule('stock')],
    }),
    {
      client_id: 'admin',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['clients.admin', 'clients.read', 'clients.write', 'tokens.list'],
    },
    {
      client_id: 'writer',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['clients.write', 'clients.read'],
      scope: ['cloud.read'],
    },
  ],
}
const zone_config = { protocols: { tokenExchange: true } }

for (const mode of MODES) {
  describe(`Token exchange in ${mode}`, () => {
    let server: TestServer
    let subject: string
    before(async () => {
      server = await startServer({ mode, config: { bootstrap, zone_config } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const exchange = (
      form: Readonly<Record<string, string>>,
      basic: readonly [string, string] = ['cloud', 'secret'],
    ): Promise<TestAnswer> =>
      server.token({ grant_type: GRANT, subject_token_type: ACCESS_TOKEN, subject_token: subject, ...form }, { basic })
    const tokenOf = async (scope = 'openid cloud.read'): Promise<string> =>
      (await passwordTokens(server, { scope }, ['front', 'secret'])).access_token
    const own = async (id: string): Promise<string> =>
      tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: [id, 'secret'] })).access_token
    before(async () => {
      subject = await tokenOf()
    })

    // Covers later standards: token exchange
    it('returns a token for another service with the actor in act', async () => {
      const answer = await exchange({ audience: 'stock' })
      assert.equal(answer.status, 200, answer.text)
      const body = answer.json()
      assert.equal(body['issued_token_type'], ACCESS_TOKEN)
      assert.equal(body['refresh_token'], undefined)
      assert.equal(body['id_token'], undefined)
      const { payload } = await verified(server, String(body['access_token']))
      const { id } = await userNamed(server, 'marissa')
      assert.deepEqual(
        [payload.sub, payload.aud, payload['client_id'], payload['act'], payload['grant_type']],
        [id, ['stock'], 'cloud', { sub: 'cloud' }, GRANT],
      )
      assert.deepEqual([payload['scope']].flat(), ['cloud.read'])
      const reported = server.events.findLast(({ type }) => type === 'TokenExchangedEvent')
      assert.deepEqual([reported?.principal, reported?.clientId], [id, 'cloud'])
      assert.match(String(reported?.data), /"from":"front","for":"stock","mode":"delegation"/)
    })

    it('returns an access token with scope openid for the client itself, which UAA treats as an ID token', async () => {
      const own = await passwordTokens(server, {}, ['itself', 'secret'])
      const { access_token: token } = tokensOf(
        await exchange({ subject_token: own.access_token }, ['itself', 'secret']),
      )
      assert.deepEqual(decodeJwt(token).aud, ['itself'])
      const answer = await server.send('/introspect', { form: { token }, basic: RESOURCE })
      assert.equal(answer.json()['active'], true, answer.text)
    })

    it('returns the chain of actors from the token and introspection', async () => {
      const { access_token: first } = tokensOf(await exchange({ audience: 'stock' }))
      const second = tokensOf(await exchange({ subject_token: first, audience: 'archive' }, ['stock', 'secret']))
      const act = { sub: 'stock', act: { sub: 'cloud' } }
      assert.deepEqual(decodeJwt(second.access_token)['act'], act)
      const asked = { form: { token: second.access_token }, basic: ['resource', 'resource-secret'] as const }
      assert.deepEqual((await server.send('/introspect', asked)).json()['act'], act)
    })

    it('accepts an actor token', async () => {
      const actor = await own('cloud')
      const form = { audience: 'stock', actor_token: actor, actor_token_type: ACCESS_TOKEN }
      assert.deepEqual(decodeJwt(tokensOf(await exchange(form)).access_token)['act'], { sub: 'cloud' })
    })

    it('omits act only with a rule of mode impersonation', async () => {
      const { access_token: token } = tokensOf(await exchange({ resource: 'https://bank.example/' }))
      assert.equal(decodeJwt(token)['act'], undefined)
      assert.deepEqual(decodeJwt(token).aud, ['https://bank.example/'])
      const actor = { actor_token: await own('cloud'), actor_token_type: ACCESS_TOKEN }
      const refused = await exchange({ audience: 'https://bank.example/', ...actor })
      assert.equal(refused.json()['error'], 'invalid_request')
    })

    it('compares audiences regardless of a trailing slash after the host', async () => {
      for (const name of ['audience', 'resource']) {
        const { access_token: token } = tokensOf(await exchange({ [name]: 'https://bank.example' }))
        assert.deepEqual(decodeJwt(token).aud, ['https://bank.example/'], 'as in the client record')
      }
      const both = await exchange({ audience: 'https://bank.example', resource: 'https://bank.example/' })
      assert.equal(both.status, 200, both.text)
      for (const audience of ['https://bank.example//', 'stock/', 'https://bank.example/x', 'https://bank.example?']) {
        assert.equal((await exchange({ audience })).json()['error'], 'invalid_target', audience)
      }
    })

    it('requires an audience unless there is one rule, and refuses client tokens', async () => {
      const mine = await server.token(
        { grant_type: GRANT, subject_token_type: ACCESS_TOKEN, subject_token: await own('single') },
        { basic: ['single', 'secret'] },
      )
      assert.equal(mine.json()['error'], 'invalid_request') // a client token has no user
      assert.equal((await exchange({})).json()['error'], 'invalid_target')
    })

    it('returns only requested scopes of the subject token and the rule', async () => {
      subject = await tokenOf('openid cloud.read')
      assert.equal(
        (await exchange({ audience: 'stock', scope: 'cloud.read cloud.write' })).json()['error'],
        'invalid_scope',
      )
      assert.equal((await exchange({ audience: 'stock', scope: 'openid' })).json()['error'], 'invalid_scope')
      assert.equal((await exchange({ audience: 'stock', scope: 'jobs.run' })).json()['error'], 'invalid_scope')
      assert.equal(tokensOf(await exchange({ audience: 'stock', scope: 'cloud.read' })).scope, 'cloud.read')
    })

    it('returns a token that expires no later than the subject token', async () => {
      const seconds = Number(decodeJwt(subject).exp) - Math.floor(server.clock.now().getTime() / 1000)
      server.clock.advance(seconds - 100)
      const issued = tokensOf(await exchange({ audience: 'stock' }))
      assert.equal(decodeJwt(issued.access_token).exp, decodeJwt(subject).exp)
      assert.ok(issued.expires_in <= 100)
      server.clock.advance(200)
      assert.equal((await exchange({ audience: 'stock' })).json()['error'], 'invalid_request')
      subject = await tokenOf()
    })

    const refusals: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
      ['another audience', { audience: 'elsewhere' }, 'invalid_target'],
      ['no subject_token', { subject_token: '' }, 'invalid_request'],
      ['no subject_token_type', { subject_token_type: '' }, 'invalid_request'],
      [
        'a refresh token type',
        { subject_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
        'invalid_request',
      ],
      ['an ID token type', { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
      ['a malformed token', { subject_token: 'a.b.c' }, 'invalid_request'],
      [
        'a refresh token as requested_token_type',
        { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
        'invalid_request',
      ],
      [
        'a JWT as requested_token_type with token_format=opaque',
        { audience: 'stock', requested_token_type: JWT, token_format: 'opaque' },
        'invalid_request',
      ],
      [
        'actor_token_type without actor_token',
        { audience: 'stock', actor_token_type: ACCESS_TOKEN },
        'invalid_request',
      ],
      [
        'a malformed actor_token',
        { audience: 'stock', actor_token: 'x', actor_token_type: ACCESS_TOKEN },
        'invalid_request',
      ],
    ]
    for (const [name, form, error] of refusals) {
      it(`refuses ${name}`, async () => {
        const answer = await exchange(form)
        assert.equal(answer.json()['error'], error, answer.text)
      })
    }

    it('accepts and returns JWTs by the JWT type, and refuses opaque tokens with it (RFC 8693 §3)', async () => {
      const issued = (await exchange({ audience: 'stock', subject_token_type: JWT, requested_token_type: JWT })).json()
      assert.equal(issued['issued_token_type'], JWT)
      assert.deepEqual(decodeJwt(String(issued['access_token'])).aud, ['stock'])
      const scoped = { scope: 'openid cloud.read', token_format: 'opaque' }
      const { access_token: opaque } = await passwordTokens(server, scoped, ['front', 'secret'])
      const sent = { audience: 'stock', subject_token: opaque }
      assert.equal((await exchange(sent)).status, 200)
      assert.match((await exchange({ ...sent, subject_token_type: JWT })).text, /"invalid_request".*is not a JWT/)
    })

    it('refuses a subject token of another audience, and a client without rule, credential or grant type', async () => {
      // The audience contains neither the client id nor one of its scopes.
      assert.match((await exchange({ audience: 'archive' }, ['stock', 'secret'])).text, /not meant for this client/)
      assert.equal((await exchange({ audience: 'stock' }, ['nothing', 'secret'])).status, 400)
      const anonymous = {
        grant_type: GRANT,
        subject_token_type: ACCESS_TOKEN,
        subject_token: subject,
        client_id: 'public',
      }
      assert.equal((await server.token(anonymous)).status, 401)
      // RFC 6749 §5.2: only `invalid_client` may be 401.
      const unproven = await exchange({ audience: 'stock' }, ['blank', ''])
      assert.equal(`${unproven.status} ${String(unproven.json()['error'])}`, '400 unauthorized_client')
      assert.equal(unproven.headers['www-authenticate'], undefined)
      const wrong = await exchange({ audience: 'stock' }, ['front', 'secret'])
      assert.match(wrong.json<{ error: string }>().error, /^(?:unauthorized_client|invalid_client)$/)
    })

    it('refuses several audiences (RFC 8693 §2.1, §2.2.2), and a subject token without a scope of the rule', async () => {
      const fields = { grant_type: GRANT, subject_token_type: ACCESS_TOKEN, subject_token: subject, audience: 'stock' }
      const form = `${new URLSearchParams(fields).toString()}&audience=archive`
      const several = await server.send('/oauth/token', { form, basic: ['cloud', 'secret'] })
      assert.equal(several.json()['error'], 'invalid_target')
      assert.match((await exchange({ audience: 'jobs' })).text, /"invalid_scope".*no scope of the rule: jobs\.run/)
    })

    it('refuses refresh tokens and ID tokens of any declared type', async () => {
      const { refresh_token: refreshToken, id_token: idToken } = await passwordTokens(server, {}, ['front', 'secret'])
      for (const token of [refreshToken, idToken]) {
        assert.equal((await exchange({ audience: 'stock', subject_token: token })).json()['error'], 'invalid_request')
      }
    })

    it('revokes the token with its subject token', async () => {
      const { access_token: token } = tokensOf(await exchange({ audience: 'stock' }))
      assert.equal(await isAlive(server, token), true)
      await changeUser(server, 'marissa', { salt: 'another' })
      assert.equal(await isAlive(server, token), false)
      assert.equal((await exchange({ audience: 'stock' })).json()['error'], 'invalid_request')
      subject = await tokenOf()
    })

    it('lists the token while its subject token is valid', async () => {
      const given = { audience: 'stock', token_format: 'opaque', subject_token: await tokenOf() }
      assert.equal((await exchange(given)).status, 200)
      const bearer = await own('admin')
      const listed = async () =>
        (await server.send('/oauth/token/list/client/cloud', { bearer })).json<unknown[]>().length
      assert.equal(await listed(), 1)
      await changeClient(server, 'front', { tokenSalt: 'listed' })
      assert.equal(await listed(), 0)
      subject = await tokenOf()
    })

    it('revokes the token if a client of the chain changes or is deleted', async () => {
      const chain = async (): Promise<readonly [string, string]> => {
        const { access_token: first } = tokensOf(await exchange({ audience: 'stock', subject_token: await tokenOf() }))
        const second = await exchange({ subject_token: first, audience: 'archive' }, ['stock', 'secret'])
        return [first, tokensOf(second).access_token]
      }
      const alive = (tokens: readonly string[]) => Promise.all(tokens.map(token => isAlive(server, token)))
      for (const id of ['front', 'cloud']) {
        const tokens = await chain()
        assert.deepEqual(await alive(tokens), [true, true])
        await changeClient(server, id, { tokenSalt: 'another' })
        assert.deepEqual(await alive(tokens), [false, false], id)
      }
      const tokens = await chain()
      const bearer = await own('admin')
      assert.equal((await server.send('/oauth/clients/front', { method: 'DELETE', bearer })).status, 200)
      assert.deepEqual(await alive(tokens), [false, false])
      const front = bootstrap.clients.find(({ client_id: id }) => id === 'front')
      assert.equal((await sendJson(server, 'POST', '/oauth/clients', front, { bearer })).status, 201)
      assert.deepEqual(await alive(tokens), [false, false])
      subject = await tokenOf()
    })

    describe('after the first token lost a scope', () => {
      const SCOPES = ['openid', 'cloud.read', 'cloud.write']
      const membership = async () => {
        const [group = assert.fail()] = await server.store.groups.findByNames('svc', ['cloud.write'])
        return { groupId: group.id, memberId: (await userNamed(server, 'marissa')).id }
      }
      before(async () => {
        const member = { ...(await membership()), memberType: 'USER', origin: 'svc' } as const
        await server.store.groups.addMember('svc', member)
      })
      after(async () => {
        const { groupId, memberId } = await membership()
        await server.store.groups.removeMember('svc', groupId, memberId)
        subject = await tokenOf()
      })
      const decide = async (status: 'APPROVED' | 'DENIED', scopes: readonly string[]): Promise<void> => {
        const { id: userId } = await userNamed(server, 'marissa')
        const now = server.clock.now()
        const expiresAt = new Date(now.getTime() + 86_400_000)
        const decided = { zoneId: 'svc', userId, clientId: 'front', status, expiresAt, updatedAt: now }
        await server.store.approvals.save(
          'svc',
          scopes.map(scope => ({ ...decided, scope })),
        )
      }
      /** The token of the code flow, and those of two consecutive exchanges. */
      async function chain(): Promise<readonly [first: string, second: string, third: string]> {
        await decide('APPROVED', SCOPES)
        const redirectUri = 'https://front.example/cb'
        const code = await insertCode(server, { clientId: 'front', redirectUri, scopes: SCOPES })
        const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
        const { access_token: first } = tokensOf(await server.token(form, { basic: ['front', 'secret'] }))
        const { access_token: second } = tokensOf(await exchange({ audience: 'stock', subject_token: first }))
        return [first, second, tokensOf(await again(second)).access_token]
      }
      const again = (token: string): Promise<TestAnswer> =>
        exchange({ subject_token: token, audience: 'archive' }, ['stock', 'secret'])

      const withdrawals: readonly {
        name: string
        withdraw: () => Promise<unknown>
        restore: () => Promise<unknown>
      }[] = [
        {
          name: 'the approval of a scope',
          withdraw: () => decide('DENIED', ['cloud.write']),
          restore: () => decide('APPROVED', ['cloud.write']),
        },
        {
          name: 'an approval that is removed',
          async withdraw() {
            const { id: userId } = await userNamed(server, 'marissa')
            await server.store.approvals.replace('svc', { userId, clientId: 'front' }, [])
            await decide('APPROVED', ['openid', 'cloud.read'])
          },
          restore: () => decide('APPROVED', ['cloud.write']),
        },
        {
          name: 'a scope of its client',
          withdraw: () => changeClient(server, 'front', { scope: ['openid', 'cloud.read'] }),
          restore: () => changeClient(server, 'front', { scope: SCOPES }),
        },
      ]
      for (const { name, withdraw, restore } of withdrawals) {
        it(`invalidates all tokens of the chain: ${name}`, async () => {
          const tokens = await chain()
          const alive = () => Promise.all(tokens.map(token => isAlive(server, token)))
          assert.deepEqual(await alive(), [true, true, true])
          await withdraw()
          assert.deepEqual(await alive(), [false, false, false])
          assert.deepEqual((await again(tokens[1])).json()['error'], 'invalid_request')
          await restore()
          assert.equal((await again(tokens[1])).status, 200)
        })
      }

      it('keeps tokens without that scope', async () => {
        const [first] = await chain()
        const form = { audience: 'stock', subject_token: first, scope: 'cloud.read' }
        const { access_token: second } = tokensOf(await exchange(form))
        await decide('DENIED', ['cloud.write'])
        assert.deepEqual([await isAlive(server, first), await isAlive(server, second)], [false, true])
        assert.equal((await again(second)).status, 200)
      })

      it('requires no approval after the password grant', async () => {
        const { access_token: second } = tokensOf(
          await exchange({ audience: 'stock', subject_token: await tokenOf('cloud.read cloud.write') }),
        )
        await decide('DENIED', SCOPES)
        assert.equal((await again(second)).status, 200)
        assert.equal(decodeJwt(second)['approved_client'], undefined)
      })
    })

    it('refuses scopes that the client lost', async () => {
      await changeClient(server, 'cloud', { scope: ['cloud.write'] })
      assert.equal((await exchange({ audience: 'stock' })).json()['error'], 'invalid_scope')
      await changeClient(server, 'cloud', { scope: ['cloud.read', 'cloud.write'] })
      assert.equal((await exchange({ audience: 'stock' })).status, 200)
    })

    it('requires the groups and provider of the client', async () => {
      const errorOf = async (): Promise<unknown> => (await exchange({ audience: 'stock' })).json()['error']
      const client = await clientNamed(server, 'cloud')
      await changeClient(server, 'cloud', { requiredUserGroups: ['cloud.admin'] })
      assert.equal(await errorOf(), 'invalid_scope')
      await server.store.clients.update('svc', client)
      const { providers } = server.store
      const provider = (await providers.findByOrigin('svc', 'svc')) ?? assert.fail()
      await providers.update('svc', { ...provider, active: false })
      assert.match(String(await errorOf()), /^(?:invalid_grant|unauthorized)$/)
      await providers.update('svc', provider)
      assert.equal(await errorOf(), undefined)
    })

    it('answers mfa_required if the policy requires a second factor by now', async () => {
      await setPolicy(server, { requirement: 'required' })
      const answer = await exchange({ audience: 'stock' })
      await setPolicy(server, { requirement: 'off' })
      assert.equal(answer.json()['error'], 'mfa_required', answer.text)
      assert.equal((await exchange({ audience: 'stock' })).status, 200)
    })

    it('reports no exchange that is refused because the client requires a second factor', async () => {
      const reported = (): number => server.events.filter(({ type }) => type === 'TokenExchangedEvent').length
      const count = reported()
      await setPolicy(server, { requirement: 'optional' })
      await changeClient(server, 'cloud', { secondFactor: { requirement: 'required' } })
      const answer = await exchange({ audience: 'stock' })
      await setPolicy(server, { requirement: 'off' })
      assert.equal(answer.json()['error'], 'mfa_required', answer.text)
      assert.equal(reported(), count)
      assert.equal((await exchange({ audience: 'stock' })).status, 200)
      assert.equal(reported(), count + 1)
    })

    it('returns no refreshable token', async () => {
      const { access_token: token } = tokensOf(await exchange({ audience: 'stock' }))
      assert.notEqual((await refresh(server, token, {}, ['cloud', 'secret'])).status, 200)
    })

    it('limits the length of chains', async () => {
      await changeClient(server, 'stock', { tokenExchange: [rule('stock', { subjects: ['cloud', 'stock'] })] as never })
      let { access_token: token } = tokensOf(await exchange({ audience: 'stock' }))
      const lengths: number[] = []
      for (let count = 0; count < 6; count += 1) {
        const answer = await exchange({ subject_token: token, audience: 'stock' }, ['stock', 'secret'])
        lengths.push(answer.status)
        if (answer.status !== 200) break
        token = tokensOf(answer).access_token
      }
      assert.deepEqual(lengths, [200, 200, 200, 200, 400])
    })

    it('can be configured only by administrators', async () => {
      const record = {
        ...service('new'),
        tokenExchange: [rule('stock')],
        authorities: ['svc.none'],
        scope: ['cloud.read'],
      }
      const byWriter = await sendJson(server, 'POST', '/oauth/clients', record, { bearer: await own('writer') })
      assert.equal(byWriter.status, 400, byWriter.text)
      assert.match(byWriter.text, /tokenExchange is not allowed for non-admin caller/)
      const bearer = await own('admin')
      for (const wrong of [
        {},
        'all',
        [{}],
        [rule('')],
        [rule('x', { subjects: [] })],
        [rule('x', { scopes: 'all' })],
        [rule('x', { mode: 'both' })],
        [rule('x', { other: true })],
      ]) {
        const answer = await sendJson(server, 'POST', '/oauth/clients', { ...record, tokenExchange: wrong }, { bearer })
        assert.equal(answer.status, 400, JSON.stringify(wrong))
      }
      assert.equal((await sendJson(server, 'POST', '/oauth/clients', record, { bearer })).status, 201)
    })
  })
}

describe('Token exchange disabled in the zone', () => {
  it('answers unsupported_grant_type', async () => {
    const server = await startServer({ config: { bootstrap, zone_config: { protocols: { tokenExchange: false } } } })
    const form = { grant_type: GRANT, subject_token: 'x', subject_token_type: ACCESS_TOKEN }
    const answer = await server.token(form, { basic: ['cloud', 'secret'] })
    assert.equal(answer.json()['error'], 'unsupported_grant_type')
    const metadata = (await server.send('/.well-known/openid-configuration')).json<{
      grant_types_supported: string[]
    }>()
    assert.ok(!metadata.grant_types_supported.includes(GRANT))
    await server.stop()
  })
})
