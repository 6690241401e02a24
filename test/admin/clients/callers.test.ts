// Authorization of the client endpoints, and limits for callers that are not administrators.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertInvalid, CALLERS, HOST_OF_Z1, startClientServer, TO_Z1 } from '../../support/clients.ts'
import type { Caller, ClientServer } from '../../support/clients.ts'
import { keysConfig } from '../../support/keys.ts'
import { MODES, tokensOf } from '../../support/oauth.ts'

type Group = 'read' | 'write' | 'batch' | 'secret' | 'any'

const ADMINS: readonly Caller[] = ['root', 'clients-admin', 'zone-admin']
/** Allowed callers without a zone header. */
const MAY: Readonly<Record<Group, readonly Caller[]>> = {
  read: [...ADMINS, 'reader'],
  write: [...ADMINS, 'writer'],
  batch: ADMINS,
  secret: [...ADMINS, 'changer'],
  any: Object.keys(CALLERS) as readonly Caller[], // its own keys
}
/** Allowed callers in the zone z1, and the scopes that errors name. */
const MAY_IN_Z1: Readonly<Record<Group, readonly Caller[]>> = {
  read: ['root', 'z1-admin', 'z1-clients', 'z1-reader'],
  write: ['root', 'z1-admin', 'z1-clients', 'z1-writer'],
  batch: ['root', 'z1-admin', 'z1-clients'],
  secret: ['root', 'z1-admin', 'z1-clients'],
  any: ['root', 'z1-admin', 'z1-clients', 'z1-reader', 'z1-writer'],
}
const WANTED: Readonly<Record<Group, string>> = {
  read: 'svc.admin clients.read clients.admin zones.svc.admin',
  write: 'svc.admin clients.write clients.admin zones.svc.admin',
  batch: 'svc.admin clients.admin zones.svc.admin',
  secret: 'svc.admin clients.secret clients.admin zones.svc.admin',
  any: '',
}

/** Each endpoint with a body that changes nothing: the client is unknown or invalid. */
const endpoints: readonly { method: string; path: string; group: Group; body?: unknown; status: number }[] = [
  { method: 'GET', path: '/oauth/clients/nobody', group: 'read', status: 404 },
  { method: 'GET', path: '/oauth/clients/restricted', group: 'read', status: 200 },
  { method: 'POST', path: '/oauth/clients', group: 'write', body: {}, status: 400 },
  { method: 'PUT', path: '/oauth/clients/nobody', group: 'write', body: { client_id: 'nobody' }, status: 404 },
  { method: 'DELETE', path: '/oauth/clients/nobody', group: 'write', status: 404 },
  { method: 'POST', path: '/oauth/clients/restricted', group: 'write', body: {}, status: 400 },
  {
    method: 'PUT',
    path: '/oauth/clients/restricted/nobody',
    group: 'write',
    body: { client_id: 'nobody' },
    status: 404,
  },
  { method: 'POST', path: '/oauth/clients/tx', group: 'batch', body: [], status: 404 },
  { method: 'PUT', path: '/oauth/clients/tx', group: 'batch', body: [], status: 400 },
  { method: 'GET', path: '/oauth/clients/tx', group: 'batch', status: 405 },
  { method: 'DELETE', path: '/oauth/clients/tx', group: 'batch', status: 405 },
  { method: 'POST', path: '/oauth/clients/tx/modify', group: 'batch', body: [], status: 200 },
  { method: 'POST', path: '/oauth/clients/tx/secret', group: 'batch', body: [], status: 200 },
  { method: 'POST', path: '/oauth/clients/tx/delete', group: 'batch', body: [], status: 200 },
  { method: 'GET', path: '/oauth/clients/meta', group: 'any', status: 200 },
  { method: 'GET', path: '/oauth/clients/nobody/meta', group: 'any', status: 404 },
  { method: 'PUT', path: '/oauth/clients/nobody/meta', group: 'write', body: {}, status: 404 },
  { method: 'GET', path: '/oauth/clients/nobody/profile', group: 'read', status: 404 },
  { method: 'PUT', path: '/oauth/clients/nobody/secret', group: 'secret', body: { secret: 'x' }, status: 404 },
]

for (const mode of MODES) {
  describe(`Callers of the client API in ${mode}`, () => {
    let api: ClientServer
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())

    for (const { method, path, group, body, status } of endpoints) {
      // Covers unsafe behaviour: batch client endpoints need authorization
      it(`need a right for ${method} ${path}`, async () => {
        for (const by of MAY.any) {
          const answer = await api.send(method, path, body, { by })
          // A client that may change only itself gets this for any other client.
          const expected = group === 'secret' && by === 'changer' ? 400 : MAY[group].includes(by) ? status : 403
          assert.equal(answer.status, expected, `${by}: ${answer.text}`)
          if (expected !== 403) continue
          const { error, scope } = answer.json()
          assert.deepEqual([error, scope], ['insufficient_scope', WANTED[group]])
          assert.match(
            String(answer.headers['www-authenticate']),
            mode === 'uaa'
              ? /^Bearer error="insufficient_scope"/
              : /^Bearer realm="SVC\/oauth", error="insufficient_scope"/,
          )
        }
      })

      it(`need a right in the zone of the header for ${method} ${path}`, async () => {
        for (const by of MAY.any) {
          const answer = await api.send(method, path, body, { by, headers: TO_Z1 })
          assert.equal(answer.status, MAY_IN_Z1[group].includes(by) ? status : 403, `${by}: ${answer.text}`)
        }
      })

      it(`need a valid token of the zone for ${method} ${path}`, async () => {
        const sent = { method, ...(body !== undefined && { body: JSON.stringify(body) }) }
        const headers: Readonly<Record<string, string>> =
          body === undefined ? {} : { 'content-type': 'application/json' }
        const anonymous = await api.server.send(path, { ...sent, headers })
        assert.equal(anonymous.status, 401)
        assert.equal(anonymous.json()['error'], 'unauthorized')
        assert.match(String(anonymous.headers['www-authenticate']), /^Bearer realm="SVC\/oauth"/)
        const switched = await api.server.send(path, { ...sent, headers: { ...headers, ...TO_Z1 } })
        assert.ok([401, 403].includes(switched.status))
        const basic = await api.server.send(path, { ...sent, headers, basic: ['root', 'root-secret'] })
        assert.equal(basic.status, 401)
        for (const bearer of ['nonsense', await api.tokenOf('native', HOST_OF_Z1)]) {
          assert.equal((await api.send(method, path, body, { bearer })).status, 401)
        }
        assert.equal((await api.send(method, path, body, { host: HOST_OF_Z1 })).status, 401)
      })

      it(`have rights in the default zone only by its own tokens for ${method} ${path}`, async () => {
        const bearer = await api.tokenOf('pretender', HOST_OF_Z1)
        const answer = await api.send(method, path, body, { bearer, host: HOST_OF_Z1 })
        assert.equal(answer.status, group === 'any' ? status : 403, answer.text)
        const native = await api.tokenOf('native', HOST_OF_Z1)
        assert.equal((await api.send(method, path, body, { bearer: native, host: HOST_OF_Z1 })).status, status)
      })
    }

    it('may read the profile report of any client with clients.read', async () => {
      for (const path of ['/oauth/clients/root', '/oauth/clients/root/profile']) {
        assert.equal((await api.send('GET', path, undefined, { by: 'reader' })).status, 200)
        assert.equal((await api.send('GET', path, undefined, { by: 'writer' })).status, 403)
      }
    })

    it('change only the zone of the header', async () => {
      const body = { client_id: 'made-in-z1', authorized_grant_types: ['password'] }
      assert.equal((await api.send('POST', '/oauth/clients', body, { by: 'z1-admin', headers: TO_Z1 })).status, 201)
      assert.equal(await api.read('made-in-z1'), undefined)
      assert.equal((await api.read('made-in-z1', { headers: TO_Z1 }))?.['client_id'], 'made-in-z1')
    })

    describe('without administrator rights', () => {
      let count = 0
      const create = (members: object, request: Parameters<ClientServer['send']>[3] = { by: 'writer' }) => {
        count += 1
        const base = {
          client_id: `limited-${count}`,
          authorized_grant_types: ['client_credentials'],
          client_secret: 's',
        }
        return api.send('POST', '/oauth/clients', { ...base, ...members }, request)
      }
      const web = { authorized_grant_types: ['authorization_code'], redirect_uri: ['https://a.example/'] }

      for (const members of [
        {},
        { scope: ['writer.read', 'writer.a.b'] },
        { scope: ['shop.read', 'svc.none'] },
        { authorities: ['svc.none', 'svc.resource'] },
        { ...web, authorities: ['svc.none'] },
        { ...web, authorized_grant_types: ['implicit'], client_secret: null },
      ]) {
        it(`may write ${JSON.stringify(members)}`, async () => {
          const answer = await create(members)
          assert.equal(answer.status, 201, answer.text)
        })
      }

      const allowed = 'Must have prefix in [writer.] or be one of: [shop.read]'
      for (const [members, description] of [
        [
          { authorized_grant_types: ['password', 'client_credentials'] },
          // Covers Client validation: error: password grant for a non-admin
          'password is not an allowed grant type for non-admin caller.',
        ],
        [
          { ...web, authorized_grant_types: ['implicit', 'authorization_code'], client_secret: null },
          // Covers Client validation: error: implicit with `authorization_code` for a non-admin
          'Not allowed: implicit grant type is not allowed together with authorization_code',
        ],
        // Covers Client validation: error: scope for a non-admin
        [{ scope: ['openid'] }, `openid is not an allowed scope for caller=writer. ${allowed}`],
        [{ scope: ['writer'] }, `writer is not an allowed scope for caller=writer. ${allowed}`],
        [{ scope: ['shop.*'] }, `shop.* is not an allowed scope for caller=writer. ${allowed}`],
        [{ scope: 'writer.read clients.admin' }, `clients.admin is not an allowed scope for caller=writer. ${allowed}`],
        [
          { authorities: ['svc.resource', 'clients.read'] },
          // Covers Client validation: error: authority for a non-admin
          'clients.read is not an allowed authority for caller=writer. Must be one of: [svc.none, svc.resource]',
        ],
        [
          { ...web, authorities: ['svc.resource'] },
          'svc.resource is not an allowed authority for caller=writer. Must be one of: [svc.none]',
        ],
        [
          { authorities: ['svc.none clients.admin'] },
          'clients.admin is not an allowed authority for caller=writer. Must be one of: [svc.none, svc.resource]',
        ],
      ] as const) {
        it(`may not write ${JSON.stringify(members)}`, async () => {
          assertInvalid(await create(members), description)
          assertInvalid(await create(members, { bearer: await api.tokenOf('writer') }), description)
        })
      }

      it('may not change a client with scopes or authorities that they could not give', async () => {
        await create({ client_id: 'powerful', authorities: ['clients.admin'] }, {})
        await create({ client_id: 'busy', scope: ['cloud.read'], redirect_uri: ['https://busy.example/'] }, {})
        for (const id of ['powerful', 'busy']) {
          for (const members of [{ name: 'x' }, { authorities: ['svc.none'], scope: ['svc.none'] }]) {
            for (const path of [`/oauth/clients/${id}`, `/oauth/clients/restricted/${id}`]) {
              const answer = await api.send('PUT', path, { client_id: id, ...members }, { by: 'writer' })
              assert.equal(answer.status, 403, answer.text)
              const { error, scope } = answer.json()
              assert.deepEqual([error, scope], ['insufficient_scope', 'svc.admin clients.admin zones.svc.admin'])
            }
          }
          assert.equal((await api.send('PUT', `/oauth/clients/${id}/meta`, {}, { by: 'writer' })).status, 403)
          assert.equal((await api.send('DELETE', `/oauth/clients/${id}`, undefined, { by: 'writer' })).status, 403)
        }
      })

      it('may change and delete clients that they could have created', async () => {
        for (const by of ['root', 'writer'] as const) {
          const body = {
            client_id: `plain-of-${by}`,
            scope: ['writer.read', 'shop.read'],
            authorities: ['svc.resource'],
          }
          assert.equal((await create(body, { by })).status, 201)
          const path = `/oauth/clients/${body.client_id}`
          const changed = await api.send('PUT', path, { client_id: body.client_id, name: 'Plain' }, { by: 'writer' })
          assert.equal(changed.status, 200, changed.text)
          const described = await api.send('PUT', `${path}/meta`, { showOnHomePage: true }, { by: 'writer' })
          assert.equal(described.status, 200, described.text)
          assert.equal((await api.send('DELETE', path, undefined, { by: 'writer' })).status, 200)
        }
      })

      it('may delete a client with the same rights as their token', async () => {
        await create({ client_id: 'equal', authorities: ['clients.write'] }, {})
        assert.equal((await api.send('DELETE', '/oauth/clients/equal', undefined, { by: 'writer' })).status, 200)
      })

      it('may not give scopes in another zone', async () => {
        const request = { by: 'z1-writer', headers: TO_Z1 } as const
        for (const scope of ['z1-writer.read', 'taken.scope', 'openid']) {
          const answer = await create({ client_id: 'limited', scope: [scope] }, request)
          assertInvalid(answer, 'No scopes alllowed for null caller and client_id=limited.')
        }
        assert.equal((await create({ client_id: 'limited' }, request)).status, 201)
        const { createdBy } = (await api.server.store.clients.findMetadata('z1', 'limited')) ?? {}
        assert.equal(createdBy, undefined)
      })

      it('may be users, with the rights of their token', async () => {
        const bearer = await api.userToken()
        assert.equal((await create({ scope: ['web.read', 'clients.write'] }, { bearer })).status, 201)
        // A scope of the client, but not of this user.
        assertInvalid(await create({ scope: ['clients.admin'] }, { bearer }), /^clients\.admin is not an allowed scope/)
        assertInvalid(
          await create({ scope: ['cloud.read'] }, { bearer }),
          /^cloud\.read is not an allowed scope for caller=web/,
        )
      })
    })

    it('pass their createdBy on to clients they create', async () => {
      const body = {
        client_id: 'child',
        authorized_grant_types: ['client_credentials'],
        client_secret: 'child-secret',
        authorities: ['clients.write'],
      }
      const user = await api.server.store.users.findByName('svc', 'svc', 'marissa')
      const parent = { ...body, client_id: 'parent', client_secret: 'parent-secret', authorities: ['svc.resource'] }
      assert.equal((await api.send('POST', '/oauth/clients', parent, { bearer: await api.userToken() })).status, 201)
      const powerful = { client_id: 'parent', authorities: ['clients.admin'] }
      assert.equal((await api.send('PUT', '/oauth/clients/parent', powerful)).status, 200)
      const bearer = await api.tokenOf('parent')
      assert.equal((await api.send('POST', '/oauth/clients', body, { bearer })).status, 201)
      assert.equal((await api.server.store.clients.findMetadata('svc', 'child'))?.createdBy, user?.id)
    })

    it('may not give svc.resource in uaa if the zone has a shared secret', async () => {
      const sharing = await startClientServer(mode, { config: keysConfig('HS256') })
      const body = {
        client_id: 'sharing',
        authorized_grant_types: ['client_credentials'],
        client_secret: 'sharing-secret',
        authorities: ['svc.resource'],
      }
      const answer = await sharing.send('POST', '/oauth/clients', body, { by: 'writer' })
      if (mode === 'standard') assert.equal(answer.status, 201)
      else assertInvalid(answer, /^svc\.resource is not an allowed authority .* the zone has a shared secret/)
      const given = await sharing.send('POST', '/oauth/clients', { ...body, client_id: 'given' })
      assert.equal(given.status, 201)
      await sharing.stop()
    })

    it('lose their rights if their client is deleted', async () => {
      const body = {
        client_id: 'brief',
        authorized_grant_types: ['client_credentials'],
        client_secret: 'brief-secret',
        authorities: ['clients.admin'],
      }
      assert.equal((await api.send('POST', '/oauth/clients', body)).status, 201)
      const { access_token: bearer } = tokensOf(
        await api.server.token({ grant_type: 'client_credentials' }, { basic: ['brief', 'brief-secret'] }),
      )
      assert.equal((await api.send('DELETE', '/oauth/clients/brief', undefined, { bearer })).status, 200)
      assert.equal((await api.send('GET', '/oauth/clients/app', undefined, { bearer })).status, 401)
    })
  })
}
