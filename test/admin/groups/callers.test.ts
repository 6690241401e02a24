// Authorization of the endpoints below `/Groups` (§0.1).
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HOST_OF_Z1, startGroupServer, TO_Z1 } from '../../support/groups.ts'
import type { GroupCallerName, GroupServer } from '../../support/groups.ts'
import { MODES } from '../../support/oauth.ts'

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly scopes: readonly string[]
  readonly callers: readonly GroupCallerName[]
}

const READ = { scopes: ['scim.read'], callers: ['root', 'reader', 'zone-admin'] } as const
const CHANGE = {
  scopes: ['scim.write', 'groups.update'],
  callers: ['root', 'writer', 'updater', 'zone-admin'],
} as const
const WRITE = { scopes: ['scim.write'], callers: ['root', 'writer', 'zone-admin'] } as const
const ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: '/Groups', ...READ },
  { method: 'GET', path: '/Groups/none', ...READ },
  { method: 'GET', path: '/Groups/none/members', ...READ },
  { method: 'GET', path: '/Groups/none/members/none', ...READ },
  { method: 'GET', path: '/Groups/External', ...READ },
  { method: 'GET', path: '/Groups/External/list', ...READ },
  { method: 'POST', path: '/Groups', body: {}, ...CHANGE },
  { method: 'PUT', path: '/Groups/none', body: {}, ...CHANGE },
  { method: 'PATCH', path: '/Groups/none', body: {}, ...CHANGE },
  { method: 'POST', path: '/Groups/none/members', body: {}, ...CHANGE },
  // Covers PUT /Groups/{id}/members/{memberId}: rule: rights
  { method: 'PUT', path: '/Groups/none/members/none', body: {}, ...CHANGE },
  { method: 'POST', path: '/Groups/External', body: {}, ...WRITE },
  { method: 'DELETE', path: '/Groups/none', ...WRITE },
  { method: 'DELETE', path: '/Groups/none/members/none', ...WRITE },
  { method: 'DELETE', path: '/Groups/External/id/none/x', ...WRITE },
  { method: 'DELETE', path: '/Groups/External/none/x', ...WRITE },
  { method: 'DELETE', path: '/Groups/External/groupId/none/externalGroup/x', ...WRITE },
  { method: 'DELETE', path: '/Groups/External/groupId/none/externalGroup/x/origin/ldap', ...WRITE },
  { method: 'DELETE', path: '/Groups/External/displayName/none/externalGroup/x', ...WRITE },
  { method: 'DELETE', path: '/Groups/External/displayName/none/externalGroup/x/origin/ldap', ...WRITE },
]
const ALL_CALLERS: readonly GroupCallerName[] = [
  'root',
  'reader',
  'writer',
  'updater',
  'zone-admin',
  'zoner',
  'stranger',
  'z1-admin',
]

for (const mode of MODES) {
  describe(`Callers of /Groups (${mode})`, () => {
    let api: GroupServer
    before(async () => {
      api = await startGroupServer(mode)
    })
    after(() => api.stop())

    it('name the scope that grants an administrative group in the challenge (M12)', async () => {
      const answer = await api.send('POST', '/Groups', { displayName: 'svc.admin' }, { by: 'writer' })
      const challenge = String(answer.headers['www-authenticate'])
      assert.equal(answer.status, 403, answer.text)
      const start = mode === 'uaa' ? 'Bearer ' : 'Bearer realm="SVC/oauth", '
      assert.ok(challenge.startsWith(`${start}error="insufficient_scope", error_description="Only callers`), challenge)
      assert.match(challenge, /, scope="svc\.admin"/)
    })

    for (const { method, path, body, scopes, callers } of ENDPOINTS) {
      it(`need ${scopes.join(' or ')}, or an administrator's scope, for ${method} ${path}`, async () => {
        for (const by of ALL_CALLERS) {
          const answer = await api.send(method, path, body, { by })
          if (callers.includes(by)) assert.notEqual(answer.status, 403, `${by}: ${answer.text}`)
          else {
            const want = ['svc.admin', ...scopes, 'zones.svc.admin'].join(' ')
            assert.equal(answer.status, 403, `${by}: ${answer.text}`)
            assert.deepEqual(answer.json(), {
              error: 'insufficient_scope',
              error_description: 'Insufficient scope for this resource',
              scope: want,
            })
            assert.match(String(answer.headers['www-authenticate']), /^Bearer /)
          }
        }
        const anonymous = await api.server.send(path, {
          method,
          ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        })
        const reported = 'Full authentication is required to access this resource'
        assert.equal(anonymous.status, 401)
        assert.deepEqual(anonymous.json(), { error: 'unauthorized', error_description: reported })
        const foreign = await api.send(method, path, body, { bearer: await api.tokenOf('native', HOST_OF_Z1) })
        assert.equal(foreign.status, 401)
      })

      it(`need a right in the zone of the header for ${method} ${path}`, async () => {
        const allowed: Readonly<Record<string, boolean>> = {
          root: true,
          'z1-admin': true,
          'z1-reader': scopes.includes('scim.read'),
          'z1-writer': scopes.includes('scim.write'),
          writer: false,
          'zone-admin': false,
        }
        for (const [by, isAllowed] of Object.entries(allowed)) {
          const request = { by: by as GroupCallerName, headers: TO_Z1 } // the keys above are names of callers
          const answer = await api.send(method, path, body, request)
          assert.equal(answer.status !== 403, isAllowed, `${by}: ${answer.status} ${answer.text}`)
        }
        const pretender = { bearer: await api.tokenOf('pretender', HOST_OF_Z1), host: HOST_OF_Z1 }
        assert.equal((await api.send(method, path, body, pretender)).status, 403)
      })
    }
  })
}
