import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import { USER_CALLERS, newUserBody, startUserServer } from '../../support/users.ts'
import type { UserApi, UserCallerId } from '../../support/users.ts'

const CALLERS = Object.keys(USER_CALLERS) as UserCallerId[] // the keys of this object
const ADMINISTRATORS: ReadonlySet<UserCallerId> = new Set(['admin', 'root', 'admin-here'])

/** Requests, the callers that may make them (§0.1), and the scopes that a refusal names. */
const ENDPOINTS: readonly {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly may: readonly UserCallerId[]
  readonly scope: string
}[] = [
  { method: 'GET', path: '/Users', may: ['reader'], scope: 'scim.read' },
  { method: 'GET', path: '/Users/{id}', may: ['reader'], scope: 'scim.read' },
  { method: 'POST', path: '/Users', body: {}, may: ['writer', 'maker'], scope: 'scim.write scim.create' },
  { method: 'PUT', path: '/Users/{id}', body: {}, may: ['writer'], scope: 'scim.write' },
  { method: 'PATCH', path: '/Users/{id}', body: {}, may: ['writer'], scope: 'scim.write' },
  { method: 'DELETE', path: '/Users/no-such-id', may: ['writer'], scope: 'scim.write' },
  {
    method: 'PATCH',
    path: '/Users/{id}/status',
    body: {},
    may: ['writer', 'unlocker'],
    scope: 'scim.write svc.account_status.write',
  },
  { method: 'GET', path: '/Users/{id}/verify', may: ['writer', 'maker'], scope: 'scim.write scim.create' },
  { method: 'GET', path: '/Users/{id}/verify-link?redirect_uri=x', may: ['maker'], scope: 'scim.create' },
]

for (const mode of MODES) {
  describe(`Authorization of /Users (${mode})`, () => {
    let api: UserApi
    let id = ''
    before(async () => {
      api = await startUserServer(mode)
      id = (await api.create('somebody')).id
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    for (const { method, path, body, may, scope } of ENDPOINTS) {
      // Covers SCIM requests: rule: `scim.read`; `scim.write`; `scim.create`
      it(`allows ${method} ${path} to ${may.join(', ')} and administrators`, async () => {
        for (const by of CALLERS) {
          const answer = await api.send(method, path.replace('{id}', id), body, { by })
          const isAllowed = may.includes(by) || ADMINISTRATORS.has(by)
          assert.equal(answer.status !== 403, isAllowed, `${by}: ${answer.text}`)
          if (isAllowed) continue
          const wanted = `svc.admin ${scope} zones.svc.admin`
          assert.deepEqual(answer.json(), {
            error: 'insufficient_scope',
            error_description: 'Insufficient scope for this resource',
            scope: wanted,
          })
          // In `standard`, resource_metadata follows (RFC 9728 §5.1).
          assert.equal(
            answer.headers['www-authenticate']?.toString().replace(/, resource_metadata="[^"]*"$/, ''),
            `Bearer ${mode === 'uaa' ? '' : 'realm="SVC/oauth", '}error="insufficient_scope", error_description="Insufficient scope for this resource", scope="${wanted}"`,
          )
        }
      })

      it(`rejects ${method} ${path} without a valid token`, async () => {
        for (const request of [{}, { basic: ['admin', 'admin-secret'] as const }]) {
          const answer = await api.send(method, path, body, { by: null, ...request })
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '401 unauthorized')
          assert.equal(answer.headers['cache-control'], 'no-store')
        }
        const bad = await api.send(method, path, body, { bearer: 'not-a-token' })
        assert.equal(`${bad.status} ${String(bad.json()['error'])}`, '401 invalid_token')
      })
    }

    it('authorizes before reading the body', async () => {
      const answer = await api.send('POST', '/Users', '{bad', { by: 'reader' })
      assert.equal(answer.status, 403)
    })

    const denied = [
      ['PUT', '/Users'],
      ['PATCH', '/Users'],
      ['DELETE', '/Users'],
      ['POST', '/Users/{id}'],
      ['GET', '/Users/{id}/status'],
      ['POST', '/Users/{id}/verify'],
      ['GET', '/Users/{id}/password'],
      ['POST', '/Users/{id}/verify-link'],
      ['GET', '/Users/{id}/nothing'],
      ['GET', '/Users/{id}/a/b'],
    ] as const
    for (const [method, path] of denied) {
      it(`denies ${method} ${path} to every caller`, async () => {
        const at = path.replace('{id}', id)
        const answer = await api.send(method, at, method === 'GET' ? undefined : {})
        assert.equal(answer.status, 403, answer.text)
        assert.deepEqual(answer.json(), { error: 'access_denied', error_description: 'Access is denied' })
        assert.equal(answer.headers['www-authenticate'], undefined)
        assert.equal((await api.send(method, at, undefined, { by: null })).status, 401)
      })
    }

    // Covers SCIM requests: rule: zone admin
    it('requires scopes for the zone of X-Identity-Zone-Id', async () => {
      const of = async (by: UserCallerId, zone: string, method = 'GET', body?: unknown) =>
        (await api.send(method, '/Users', body, { by, headers: { 'x-identity-zone-id': zone } })).status
      assert.deepEqual(
        [
          await of('admin', 'z1'),
          await of('admin-of-z1', 'z1'),
          await of('reader-of-z1', 'z1'),
          await of('admin-of-z1', 'z1', 'POST', newUserBody('made-by-zone-admin')),
        ],
        [200, 200, 200, 201],
      )
      assert.deepEqual(
        [
          await of('reader-of-z1', 'z1', 'POST', newUserBody('x')),
          await of('admin-of-z1', 'z2'),
          await of('reader', 'z1'),
          await of('writer', 'z1'),
          await of('admin', 'no-such-zone'),
        ],
        [403, 403, 403, 403, 404],
      )
    })
  })
}
