import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Z1_HOST } from '../../support/authorize.ts'
import { MODES, isAlive, passwordTokens, tokensOf, userNamed } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const SCOPES = ['openid', 'cloud.read', 'cloud.write', 'oauth.approvals']
const CLIENT = ['approvals_client', 'secret'] as const
const UNTIL = '2035-01-01T00:00:00.000Z'

const clientNamed = (client_id: string, given: object = {}) => ({
  client_id,
  client_secret: 'secret',
  authorized_grant_types: ['authorization_code', 'password', 'refresh_token', 'client_credentials'],
  redirect_uri: ['https://app.example/cb'],
  scope: SCOPES,
  authorities: ['oauth.approvals'],
  ...given,
})

const user = (userName: string) => ({
  userName,
  password: 'koala',
  emails: [{ value: `${userName}@example.org` }],
  groups: ['cloud.read', 'cloud.write', 'oauth.approvals'],
})

const clients = [
  clientNamed(CLIENT[0]),
  clientNamed('app', { autoapprove: ['openid'] }),
  clientNamed('dashboard', { scope: ['dashboard.user', 'openid'] }),
  {
    client_id: 'resource',
    client_secret: 'resource-secret',
    authorized_grant_types: ['client_credentials'],
    authorities: ['svc.resource'],
  },
]

const config = {
  bootstrap: {
    groups: ['cloud.read', 'cloud.write', 'oauth.approvals', 'dashboard.user'].map(displayName => ({ displayName })),
    clients,
    users: [user('marissa'), user('joel')],
    identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: { clients: [clientNamed('elsewhere')] } }],
  },
}

const row = (scope: string, given: object = {}) => ({
  clientId: 'app',
  scope,
  status: 'APPROVED',
  expiresAt: UNTIL,
  ...given,
})

for (const mode of MODES) {
  describe(`/approvals in ${mode}`, () => {
    let server: TestServer
    let token: string
    let id: string
    before(async () => {
      server = await startServer({ mode, config })
      token = (await passwordTokens(server, { scope: SCOPES.join(' ') }, CLIENT)).access_token
      id = (await userNamed(server, 'marissa')).id
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    beforeEach(async () => {
      await server.store.approvals.replace('svc', { userId: id }, [])
    })

    const send = (method: string, path = '/approvals', body?: unknown, more: TestRequest = {}): Promise<TestAnswer> =>
      server.send(path, {
        method,
        bearer: token,
        ...(body !== undefined && {
          body: typeof body === 'string' ? body : JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
        ...more,
      })
    const put = (body: unknown, path = '/approvals/app') => send('PUT', path, body)
    const listed = async (): Promise<readonly string[]> =>
      (await send('GET')).json<readonly Record<string, string>[]>().map(each => `${each['clientId']} ${each['scope']}`)
    const stored = async (): Promise<readonly string[]> =>
      (await server.store.approvals.listAllOfUser('svc', id)).map(
        ({ clientId, scope, status }) => `${clientId} ${scope} ${status}`,
      )
    const modified = () => server.events.filter(({ type }) => type === 'ApprovalModifiedEvent')

    describe('PUT', () => {
      // Covers Approval resource: userId; scope; status
      it('stores the approvals of a client and returns them sorted', async () => {
        const answer = await put([row('cloud.write', { status: 'DENIED' }), row('openid'), row('cloud.read')])
        assert.equal(answer.status, 200)
        const lastUpdatedAt = server.clock.now().toISOString()
        const shown = (scope: string, status = 'APPROVED') => ({
          userId: id,
          clientId: 'app',
          scope,
          status,
          lastUpdatedAt,
          expiresAt: UNTIL,
        })
        assert.deepEqual(answer.json(), [shown('cloud.read'), shown('cloud.write', 'DENIED'), shown('openid')])
        assert.deepEqual(Object.keys(answer.json<object[]>()[0] ?? {}), Object.keys(shown('')))
      })

      // Covers PUT /approvals: array
      // Covers PUT /approvals/{clientId}: array
      it('replaces only the approvals of the client in the path, or all without one', async () => {
        await put([row('cloud.read'), row('dashboard.user', { clientId: 'dashboard' })], '/approvals')
        await put([row('cloud.write')])
        assert.deepEqual(await stored(), ['app cloud.write APPROVED', 'dashboard dashboard.user APPROVED'])
        assert.deepEqual((await put([], '/approvals/app')).json(), [])
        assert.deepEqual(await stored(), ['dashboard dashboard.user APPROVED'])
        await put([row('cloud.read')], '/approvals')
        assert.deepEqual(await stored(), ['app cloud.read APPROVED'])
      })

      // Covers Approval resource: clientId; expiresAt
      it('takes the client from the path, and expires after 30 minutes by default', async () => {
        const [answer] = (await put([{ scope: 'cloud.read', status: 'APPROVED' }])).json<Record<string, string>[]>()
        const inHalfAnHour = new Date(server.clock.now().getTime() + 1_800_000).toISOString()
        assert.deepEqual([answer?.['clientId'], answer?.['expiresAt']], ['app', inHalfAnHour])
      })

      it('accepts dates in milliseconds, member names in any case and unknown members; the last duplicate wins', async () => {
        const later = { CLIENTID: 'app', Scope: 'cloud.read', status: 'DENIED', expiresat: Date.parse(UNTIL), foo: 1 }
        const [answer, ...others] = (await put([row('cloud.read'), later])).json<Record<string, string>[]>()
        assert.deepEqual([answer?.['status'], answer?.['expiresAt'], others], ['DENIED', UNTIL, []])
      })

      // Covers Approval resource: lastUpdatedAt
      it('stores a given lastUpdatedAt, and an expiry in the past, which makes the approval ineffective', async () => {
        const past = '2001-01-01T00:00:00.000Z'
        const answer = await put([row('cloud.read', { expiresAt: past, lastUpdatedAt: past, userId: id })])
        const [shown] = answer.json<Record<string, string>[]>()
        assert.deepEqual([shown?.['lastUpdatedAt'], shown?.['expiresAt']], [past, past])
        assert.deepEqual(await listed(), ['app cloud.read'])
        assert.deepEqual(await server.store.approvals.list('svc', id, 'app', server.clock.now()), [])
      })

      it('changes an approval of a scope that the client no longer has', async () => {
        const now = server.clock.now()
        const lost = { zoneId: 'svc', userId: id, clientId: 'app', scope: 'lost', status: 'APPROVED' } as const
        await server.store.approvals.save('svc', [{ ...lost, updatedAt: now, expiresAt: new Date(UNTIL) }])
        assert.equal((await put([row('lost', { status: 'DENIED' })])).status, 200)
        assert.deepEqual(await stored(), ['app lost DENIED'])
      })

      it('records the change and the calling client in the audit log', async () => {
        const events = modified().length
        await put([row('cloud.read'), row('cloud.write', { status: 'DENIED' })])
        const [event, ...others] = modified().slice(events)
        assert.equal(others.length, 0)
        assert.deepEqual(
          [event?.principal, event?.clientId, event?.data],
          [id, 'app', 'cloud.read APPROVED, cloud.write DENIED; by client approvals_client'],
        )
      })
    })

    // Covers compatibility: metadata: M11 errors of approvals
    describe('PUT is rejected without a change', () => {
      const huge = Array.from({ length: 1001 }, (_, index) => row(`cloud.s${index}`))
      const refusals: readonly { name: string; body: unknown; path?: string; want?: string }[] = [
        // Covers PUT /approvals: error: another user
        { name: 'for another user', body: [row('cloud.read', { userId: 'someone-else' })], want: '401 uaa' },
        // Covers PUT /approvals/{clientId}: error: unknown client
        { name: 'for an unknown client in the path', body: [], path: '/approvals/none', want: '404 uaa' },
        // Covers PUT /approvals: error: unknown client
        {
          name: 'for an unknown client in the body',
          body: [row('openid', { clientId: 'none' })],
          path: '/approvals',
          want: '404 uaa',
        },
        {
          name: 'for a client of another zone',
          body: [row('openid', { clientId: 'elsewhere' })],
          path: '/approvals',
          want: '404 uaa',
        },
        { name: 'for a client that differs from the path', body: [row('openid', { clientId: 'dashboard' })] },
        { name: 'without a client', body: [{ scope: 'openid', status: 'APPROVED' }], path: '/approvals' },
        { name: 'for a scope that the client does not have', body: [row('nonsense.scope')] },
        { name: 'for a wildcard', body: [row('cloud.*')] },
        {
          name: 'for one invalid entry of several',
          body: [row('cloud.read'), row('cloud.write', { status: 'MAYBE' })],
        },
        { name: 'without a status', body: [{ clientId: 'app', scope: 'cloud.read' }] },
        { name: 'without a scope', body: [{ clientId: 'app', status: 'APPROVED' }] },
        { name: 'for an empty scope', body: [row('')] },
        { name: 'for a scope with NUL', body: [row('cloud.\0')] },
        { name: 'for a scope with a lone surrogate', body: [row('cloud.\ud800')] },
        { name: 'for a scope that is not a string', body: [{ ...row(''), scope: ['cloud.read'] }] },
        { name: 'for a malformed expiry', body: [row('cloud.read', { expiresAt: 'tomorrow' })] },
        { name: 'for February 30', body: [row('cloud.read', { expiresAt: '2030-02-30T00:00:00.000Z' })] },
        { name: 'for the year 9999999', body: [row('cloud.read', { expiresAt: '+9999999-01-01T00:00:00.000Z' })] },
        { name: 'for an expiry of 1e300 milliseconds', body: [row('cloud.read', { expiresAt: 1e300 })] },
        { name: 'for an expiry before 1970', body: [row('cloud.read', { expiresAt: -1 })] },
        { name: 'for a fraction of a millisecond', body: [row('cloud.read', { expiresAt: 1.5 })] },
        { name: 'for an object', body: row('openid') },
        { name: 'for null', body: 'null', path: '/approvals' },
        { name: 'for a list of null', body: [null] },
        // Covers PUT /approvals: error: unreadable body
        { name: 'for bad JSON', body: '{bad', path: '/approvals' },
        { name: 'for __proto__', body: '[{"__proto__": {"scope": "openid"}}]', path: '/approvals' },
        { name: 'for a huge list', body: huge, path: '/approvals' },
      ]
      for (const { name, body, path, want = '400 uaa' } of refusals) {
        it(name, async () => {
          await put([row('cloud.read'), row('dashboard.user', { clientId: 'dashboard' })], '/approvals')
          const before = await stored()
          const events = modified().length
          const answer = await put(body, path)
          const { error, error_description: description, message } = answer.json()
          assert.equal(`${answer.status} ${String(error)}`, want, answer.text)
          assert.equal(message, description)
          if (mode === 'uaa' && want.startsWith('400')) assert.equal(message, "Error accessing user's approvals")
          assert.deepEqual(await stored(), before)
          assert.equal(modified().length, events)
        })
      }

      it('for a form', async () => {
        await put([row('cloud.read')])
        const answer = await send('PUT', '/approvals', undefined, { form: { a: 'b' } })
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'uaa'])
        assert.deepEqual(await stored(), ['app cloud.read APPROVED'])
      })
    })

    describe('GET', () => {
      // Covers GET /approvals: startIndex; count
      it('omits auto-approved scopes, and paginates', async () => {
        await put([row('openid'), row('cloud.read'), row('cloud.write')])
        assert.deepEqual(await listed(), ['app cloud.read', 'app cloud.write'])
        const scopes = async (query: string) =>
          (await send('GET', `/approvals?${query}`)).json<Record<string, string>[]>().map(each => each['scope'])
        assert.deepEqual(await scopes('startIndex=2&count=1'), ['cloud.write'])
        assert.deepEqual(await scopes('startIndex=0'), ['cloud.read', 'cloud.write'])
        assert.deepEqual(await scopes('startIndex=3'), [])
        assert.deepEqual(await scopes('count=0'), [])
        assert.deepEqual(await scopes('filter=nonsense'), ['cloud.read', 'cloud.write'])
      })

      for (const query of ['startIndex=x', 'count=-1', 'count=1e9', 'startIndex=99999999999']) {
        it(`refuses ${query}`, async () => {
          const answer = await send('GET', `/approvals?${query}`)
          assert.deepEqual([answer.status, answer.json()['error']], [400, 'uaa'])
        })
      }

      it('does not return approvals of other users', async () => {
        await put([row('cloud.read')])
        const joel = await passwordTokens(server, { username: 'joel', scope: 'oauth.approvals' }, CLIENT)
        assert.deepEqual((await send('GET', '/approvals', undefined, { bearer: joel.access_token })).json(), [])
      })
    })

    describe('DELETE', () => {
      // Covers DELETE /approvals: clientId; response: status; message
      it('revokes the approvals of the client, and is idempotent', async () => {
        await put([row('cloud.read'), row('dashboard.user', { clientId: 'dashboard' })], '/approvals')
        const events = modified().length
        for (const _ of [1, 2]) {
          const answer = await send('DELETE', '/approvals?clientId=app')
          assert.equal(answer.status, 200)
          const message = `Approvals of user ${id} and client app revoked`
          assert.deepEqual(answer.json(), { status: 'ok', message })
        }
        assert.deepEqual(await stored(), ['dashboard dashboard.user APPROVED'])
        const data = modified().map(event => event.data)
        assert.deepEqual(data.slice(events), ['all revoked; by client approvals_client'])
      })

      for (const { query, want } of [
        // Covers DELETE /approvals: error: unknown client
        { query: '?clientId=none', want: 404 },
        { query: '?clientId=elsewhere', want: 404 },
        { query: '?clientId=', want: 400 },
        // Covers DELETE /approvals: error: clientId missing
        { query: '', want: 400 },
      ]) {
        it(`rejects ${query || 'a missing clientId'}`, async () => {
          await put([row('cloud.read')])
          const answer = await send('DELETE', `/approvals${query}`)
          assert.deepEqual([answer.status, answer.json()['error']], [want, 'uaa'])
          assert.deepEqual(await stored(), ['app cloud.read APPROVED'])
        })
      }
    })

    describe('tokens', () => {
      const tokensOfApp = () => passwordTokens(server, { token_format: 'opaque' }, ['app', 'secret'])

      it('are revoked with the last approval of the client, by any request', async () => {
        for (const end of [
          () => send('DELETE', '/approvals?clientId=app'),
          () => put([]),
          () => put([row('cloud.read', { status: 'DENIED' })]),
          () => put([row('dashboard.user', { clientId: 'dashboard' })], '/approvals'),
        ]) {
          await put([row('cloud.read'), row('cloud.write')])
          const tokens = await tokensOfApp()
          await put([row('cloud.read'), row('cloud.write', { status: 'DENIED' })])
          assert.equal(await isAlive(server, tokens.access_token), true)
          await end()
          assert.equal(await isAlive(server, tokens.access_token), false)
          const left = await server.store.tokens.listOfUser('svc', id, server.clock.now())
          assert.deepEqual(
            left.filter(({ clientId }) => clientId === 'app'),
            [],
          )
        }
      })

      it('of other users, and of clients without approvals, are kept', async () => {
        await put([row('cloud.read')])
        const joel = await passwordTokens(server, { username: 'joel', token_format: 'opaque' }, ['app', 'secret'])
        const other = await passwordTokens(server, { token_format: 'opaque' }, ['dashboard', 'secret'])
        await send('DELETE', '/approvals?clientId=app')
        await send('DELETE', '/approvals?clientId=dashboard')
        for (const tokens of [joel, other]) assert.equal(await isAlive(server, tokens.access_token), true)
      })
    })

    describe('access', () => {
      const tokenFor = async (scope: string) => (await passwordTokens(server, { scope }, CLIENT)).access_token
      const methods = ['GET', 'PUT', 'DELETE']
      const callers: readonly { name: string; bearer: () => Promise<string | undefined>; want: string }[] = [
        { name: 'requests without a token', bearer: async () => undefined, want: '401 unauthorized' },
        { name: 'a token without the scope', bearer: () => tokenFor('openid'), want: '403 access_denied' },
        // Covers PUT /approvals: error: token without user
        {
          name: 'a token without a user',
          bearer: async () =>
            tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: CLIENT })).access_token,
          want: '403 uaa',
        },
      ]
      for (const { name, bearer, want } of callers) {
        it(`is denied to ${name}`, async () => {
          const value = await bearer()
          for (const method of methods) {
            const answer = await server.send('/approvals?clientId=app', {
              method,
              ...(value !== undefined && { bearer: value }),
              ...(method === 'PUT' && { body: '[]', headers: { 'content-type': 'application/json' } }),
            })
            assert.equal(`${answer.status} ${String(answer.json()['error'])}`, want, method)
          }
        })
      }

      it('is denied in another zone, by host and by header', async () => {
        assert.equal((await server.send('/approvals', { bearer: token, host: Z1_HOST })).status, 401)
        const headers = { 'x-identity-zone-id': 'z1' }
        assert.equal((await server.send('/approvals', { bearer: token, headers })).status, 403)
      })

      it('answers 405 to other methods', async () => {
        const cases = [
          { method: 'POST', path: '/approvals', allow: ['DELETE', 'GET', 'HEAD', 'PUT'] },
          { method: 'GET', path: '/approvals/app', allow: ['PUT'] },
          { method: 'DELETE', path: '/approvals/app', allow: ['PUT'] },
        ]
        for (const { method, path, allow } of cases) {
          const answer = await send(method, path)
          assert.equal(answer.status, 405)
          assert.deepEqual(String(answer.headers['allow']).split(', ').toSorted(), allow)
        }
      })
    })
  })
}
