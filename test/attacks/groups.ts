import assert from 'node:assert/strict'
import { createTestClock } from '../support/clock.ts'
import { HOST_OF_Z1, startGroupServer, TO_Z1 } from '../support/groups.ts'
import type { GroupCallerName, GroupServer } from '../support/groups.ts'
import { MODES } from '../support/oauth.ts'
import { oidc, providerApi, providerBootstrap, tokenOf } from '../support/provider-api.ts'
import type { Members, ProviderAnswer } from '../support/provider-api.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** Runs the attack, and asserts that the administrators are the same before and after. */
const withGroups =
  (attempt: (api: GroupServer) => Promise<void>, mode: (typeof MODES)[number] = 'uaa'): (() => Promise<void>) =>
  async () => {
    const api = await startGroupServer(mode)
    const { groups } = api.server.store
    if (!(await groups.findByName('svc', 'svc.admin'))) await api.make('svc.admin')
    const administrators = async () =>
      JSON.stringify(await groups.listMembers('svc', await api.groupId('svc.admin'), { count: 1000 }))
    const before = await administrators()
    await attempt(api)
    assert.equal(await administrators(), before)
    for (const userName of ['gu1', 'gu2', 'marissa']) {
      const names = await groups.namesOfUser('svc', await api.userId(userName))
      assert.ok(!names.some(name => /admin|scim\.write|^zones\./.test(name)), `${userName}: ${names.join(' ')}`)
    }
    await api.stop()
  }

const assertForbidden = (answer: { status: number; text: string; json: () => Record<string, unknown> }, what = '') => {
  assert.equal(answer.status, 403, `${what} ${answer.text}`)
  assert.equal(answer.json()['error'], 'insufficient_scope')
}

/** Privilege escalation through groups, whose members and names determine scopes. */
export const groupAttacks: readonly Attack[] = [
  ...MODES.map(
    (mode): Attack => ({
      attack: `adds a user to groups of administrators with scim.write or groups.update alone (${mode})`,
      outcome: 'is refused at every endpoint, and no user becomes an administrator',
      attempt: withGroups(async api => {
        const gu1 = await api.userId('gu1')
        const others = ['tokens.list', 'tokens.revoke', 'clients.trust', 'svc.account_status.write']
        for (const name of ['svc.admin', 'scim.write', 'groups.update', 'zones.z1.admin', 'clients.admin', ...others]) {
          const id = (await api.server.store.groups.findByName('svc', name))?.id ?? (await api.make(name))
          for (const by of ['writer', 'updater'] as const) {
            if (by === 'writer' && name === 'scim.write') continue // its own scope
            if (by === 'updater' && name === 'groups.update') continue
            const member = { value: gu1 }
            const request = { by, ifMatch: '*' }
            const path = `/Groups/${id}`
            assertForbidden(await api.send('POST', `${path}/members`, member, request), name)
            assertForbidden(await api.send('PUT', path, { displayName: name, members: [member] }, request), name)
            assertForbidden(await api.send('PATCH', path, { members: [member] }, request), name)
            if (by === 'updater') continue
            const mapping = { groupId: id, externalGroup: 'everybody' }
            assertForbidden(await api.send('POST', '/Groups/External', mapping, request), name)
            assertForbidden(
              await api.send(
                'POST',
                '/Groups/External',
                { ...mapping, groupId: undefined, displayName: name.toUpperCase() },
                request,
              ),
            )
          }
        }
        const { totalResults } = (await api.send('GET', '/Groups/External')).json()
        assert.equal(totalResults, 0)
      }, mode),
    }),
  ),
  {
    attack: 'nests a group of their own in svc.admin, or in a group nested in it',
    outcome: 'is refused, like adding members to a group that is nested in it',
    attempt: withGroups(async api => {
      const admin = await api.groupId('svc.admin')
      const own = await api.make('team', [{ value: await api.userId('gu1') }], { by: 'writer' })
      const between = await api.make('between')
      const nested = await api.send('POST', `/Groups/${admin}/members`, { value: between, type: 'GROUP' })
      assert.equal(nested.status, 201, nested.text)
      for (const outer of [admin, between]) {
        const member = { value: own, type: 'GROUP' }
        assertForbidden(await api.send('POST', `/Groups/${outer}/members`, member, { by: 'writer' }))
        const request = { by: 'updater', ifMatch: '*' } as const
        assertForbidden(await api.send('PATCH', `/Groups/${outer}`, { members: [member] }, request))
      }
      const user = { value: await api.userId('gu2') }
      assertForbidden(await api.send('POST', `/Groups/${between}/members`, user, { by: 'writer' }))
      const same = { displayName: 'between', description: 'harmless', members: [] }
      const described = await api.send('PUT', `/Groups/${between}`, same, { by: 'writer', ifMatch: '*' })
      assert.equal(described.status, 200, described.text)
      await api.send('DELETE', `/Groups/${admin}/members/${between}`)
    }),
  },
  {
    attack: 'creates a group named like an administrative scope, or renames a group to one',
    outcome: 'is refused, regardless of case and blanks',
    attempt: withGroups(async api => {
      const gu1 = await api.userId('gu1')
      const own = await api.make('team', [{ value: gu1 }], { by: 'writer' })
      await api.send('DELETE', `/Groups/${await api.groupId('scim.read', 'svc').catch(() => 'none')}`)
      const names = [
        'zones.x.admin',
        'zones.svc.admin',
        'Zones.X.Admin',
        'team zones.x.admin',
        'SCIM.read',
        'clients.secret',
        'team\nscim.read',
        'scim.*',
        '*.*',
      ]
      for (const displayName of names) {
        for (const by of ['writer', 'updater', 'zone-admin'] as const) {
          if (by === 'zone-admin' && displayName === 'zones.svc.admin') continue // its own scope
          const body = { displayName, members: [{ value: gu1 }] }
          assertForbidden(await api.send('POST', '/Groups', body, { by }), displayName)
          assertForbidden(await api.send('PUT', `/Groups/${own}`, body, { by, ifMatch: '*' }), displayName)
          assertForbidden(await api.send('PATCH', `/Groups/${own}`, { displayName }, { by, ifMatch: '*' }), displayName)
        }
      }
      const admin = await api.groupId('svc.admin')
      const hidden = await api.send('PATCH', `/Groups/${admin}`, { displayName: 'x' }, { by: 'writer', ifMatch: '*' })
      assertForbidden(hidden)
    }),
  },
  {
    attack: 'grants an administrative scope with a token that has it',
    outcome: 'grants that scope and no other',
    attempt: withGroups(async api => {
      const gu3 = await api.userId('gu3')
      const by: GroupCallerName = 'writer-and-reader'
      const own = await api.make('clients.read', [{ value: gu3 }], { by })
      assert.equal((await api.send('GET', `/Groups/${own}/members`)).json<readonly unknown[]>().length, 1)
      assertForbidden(await api.send('POST', '/Groups', { displayName: 'clients.write' }, { by }))
    }),
  },
  {
    attack: 'as administrator of another zone, addresses groups and users of the default zone by id',
    outcome: 'they are not found, and appointing administrators of the own zone requires all its rights',
    attempt: withGroups(async api => {
      const { store } = api.server
      const admin = await api.groupId('svc.admin')
      const gu1 = await api.userId('gu1')
      const theirs = await api.userId('theirs', 'z1')
      const native = { bearer: await api.tokenOf('native', HOST_OF_Z1), host: HOST_OF_Z1, ifMatch: '*' }
      const visiting = { by: 'z1-admin', headers: TO_Z1, ifMatch: '*' } as const
      for (const request of [native, visiting]) {
        for (const [method, path, body] of [
          ['GET', `/Groups/${admin}`, undefined],
          ['PUT', `/Groups/${admin}`, { displayName: 'x', members: [{ value: theirs }] }],
          ['PATCH', `/Groups/${admin}`, { members: [{ value: theirs }] }],
          ['DELETE', `/Groups/${admin}`, undefined],
          ['POST', `/Groups/${admin}/members`, { value: theirs }],
          ['POST', '/Groups/External', { groupId: admin, externalGroup: 'x' }],
        ] as const) {
          assert.equal((await api.send(method, path, body, request)).status, 404, `${method} ${path}`)
        }
        const foreign = await api.send('POST', '/Groups', { displayName: 'x', members: [{ value: gu1 }] }, request)
        assert.equal(foreign.status, 400, foreign.text)
      }
      const own = (await store.groups.findByName('z1', 'svc.admin'))?.id ?? (await api.make('svc.admin', [], visiting))
      const partial = { by: 'z1-writer', headers: TO_Z1 } as const
      assertForbidden(await api.send('POST', `/Groups/${own}/members`, { value: theirs }, partial))
      const writer = { bearer: await api.tokenOf('writer', HOST_OF_Z1), host: HOST_OF_Z1 }
      assertForbidden(await api.send('POST', `/Groups/${own}/members`, { value: theirs }, writer))
      const full = await api.send('POST', `/Groups/${own}/members`, { value: theirs }, visiting)
      assert.equal(full.status, 201, full.text)
      assert.equal(await store.groups.findMember('svc', admin, theirs), undefined)
    }),
  },
  {
    attack: 'grants more than zone rights with scim.zones by a group name',
    outcome: 'is refused except for groups of zone rights',
    attempt: withGroups(async api => {
      const members = [{ value: await api.userId('gu1') }]
      for (const displayName of [
        'svc.admin',
        'zones.a.b.admin',
        'zones.*.admin\n',
        'zones.x.admin svc.admin',
        'scim.zones',
      ]) {
        const answer = await api.send('POST', '/Groups/zones', { displayName, members }, { by: 'zoner' })
        assert.equal(answer.status, 400, displayName)
      }
      for (const displayName of ['zones.svc.admin', 'zones.svc.clients.write']) {
        assertForbidden(await api.send('POST', '/Groups/zones', { displayName, members }, { by: 'zoner' }), displayName)
      }
      const nested = [{ value: await api.groupId('svc.admin'), type: 'GROUP' }]
      const fine = await api.send(
        'POST',
        '/Groups/zones',
        { displayName: 'zones.x.read', members: nested },
        { by: 'zoner' },
      )
      assert.equal(fine.status, 201, fine.text)
      const group = String(fine.json()['id'])
      const admin = await api.groupId('svc.admin')
      await api.send('POST', `/Groups/${admin}/members`, { value: group, type: 'GROUP' })
      const into = { displayName: 'zones.y.read', members }
      await api.make('zones.y.read')
      await api.send('POST', `/Groups/${admin}/members`, { value: await api.groupId('zones.y.read'), type: 'GROUP' })
      assertForbidden(await api.send('POST', '/Groups/zones', into, { by: 'zoner' }))
      await api.send('DELETE', `/Groups/${admin}/members/${await api.groupId('zones.y.read')}`)
    }),
  },
  {
    attack:
      'renames a group that is nested in svc.admin with scim.write or groups.update, to a name that a provider gives',
    outcome: 'is refused, and the group keeps its name',
    attempt: withGroups(async api => {
      const id = await api.make('inner')
      await api.send('POST', `/Groups/${await api.groupId('svc.admin')}/members`, { value: id, type: 'GROUP' })
      for (const by of ['writer', 'updater'] as const) {
        for (const displayName of ['everybody', 'Inner']) {
          const request = { by, ifMatch: '*' }
          assertForbidden(await api.send('PUT', `/Groups/${id}`, { displayName }, request), displayName)
          assertForbidden(await api.send('PATCH', `/Groups/${id}`, { displayName }, request), displayName)
        }
        const described = { displayName: 'inner', description: `by ${by}` }
        assert.equal((await api.send('PUT', `/Groups/${id}`, described, { by, ifMatch: '*' })).status, 200)
      }
      await api.send('DELETE', `/Groups/${await api.groupId('svc.admin')}/members/${id}`)
    }),
  },
  {
    attack: 'creates cycles of two and three groups, sequentially and concurrently',
    outcome: 'the last membership is refused, and no group contains itself',
    attempt: withGroups(async api => {
      const ids = [await api.make('a'), await api.make('b'), await api.make('c')]
      const [a = '', b = '', c = ''] = ids
      const nest = (inner: string, outer: string) =>
        api.send('POST', `/Groups/${outer}/members`, { value: inner, type: 'GROUP' })
      assert.equal((await nest(a, b)).status, 201)
      assert.equal((await nest(b, a)).status, 400)
      assert.equal((await nest(b, c)).status, 201)
      assert.equal((await nest(c, a)).status, 400)
      const whole = { displayName: 'a', members: [{ value: c, type: 'GROUP' }] }
      assert.equal((await api.send('PUT', `/Groups/${a}`, whole, { ifMatch: '*' })).status, 400)
      for (const id of ids)
        await api.send('PATCH', `/Groups/${id}`, { meta: { attributes: ['members'] } }, { ifMatch: '*' })
      const links = ids.flatMap(inner => ids.map(outer => nest(inner, outer)))
      const done = (await Promise.all(links)).filter(({ status }) => status === 201)
      assert.equal(done.length, 3)
      for (const id of ids) {
        const outer = await api.server.store.groups.listOuter('svc', id)
        assert.ok(!outer.some(each => each.id === id))
      }
    }),
  },
  {
    attack: 'changes a group with an old version, or twice concurrently with the same version',
    outcome: 'one change is made, and all others are refused',
    attempt: withGroups(async api => {
      const id = await api.make('contended')
      const done = await Promise.all(
        ['a', 'b', 'c', 'd'].map(description =>
          api.send('PUT', `/Groups/${id}`, { displayName: 'contended', description }, { ifMatch: '0' }),
        ),
      )
      assert.equal(done.filter(({ status }) => status === 200).length, 1)
      assert.equal(done.filter(({ status }) => status === 409).length, 3)
      assert.equal((await api.send('DELETE', `/Groups/${id}`, undefined, { ifMatch: '0' })).status, 409)
      const any = await Promise.all(
        ['e', 'f', 'g'].map(description => api.send('PATCH', `/Groups/${id}`, { description }, { ifMatch: '*' })),
      )
      assert.deepEqual(
        any.map(({ status }) => status),
        [200, 200, 200],
      )
      assert.equal((await api.send('GET', `/Groups/${id}`)).headers['etag'], '"4"')
    }),
  },
  {
    attack: 'lists an administrative group in externalGroupsWhitelist with idps.write alone, to let a provider name it',
    outcome: 'is refused with 403 in both modes unless the caller has the scope or the list had it before',
    async attempt() {
      for (const mode of MODES) {
        const server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
        const api = providerApi(() => server)
        const listing = (...names: readonly string[]) =>
          oidc('corp', { groupMappingMode: 'AS_SCOPES', externalGroupsWhitelist: ['app.*', ...names] })
        for (const name of ['svc.admin', 'SCIM.write', 'zones.z1.admin', 'app.x svc.admin']) {
          const create = { as: 'writer', method: 'POST', json: listing(name) } as const
          assertForbidden(await api.call(create), name)
          assertForbidden(await api.call({ ...create, host: HOST_OF_Z1 }), name)
        }
        const made = await api.create(listing('svc.admin'))
        const path = `/${made.id}`
        const change = { as: 'writer', method: 'PUT', path } as const
        assertForbidden(await api.call({ ...change, json: listing('svc.admin', 'scim.write') }))
        assert.equal((await api.call({ ...change, json: listing('svc.admin', 'idps.write') })).status, 200)
        assert.deepEqual((await api.read(made.id)).config['externalGroupsWhitelist'], [
          'app.*',
          'svc.admin',
          'idps.write',
        ])
        await server.stop()
      }
    },
  },
  {
    attack: 'lists a group nested in an administrative one with idps.write alone, or takes over its membership',
    outcome: 'is refused with 403 in both modes, like the administrative group itself',
    async attempt() {
      for (const mode of MODES) {
        const server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
        const api = providerApi(() => server)
        const bearer = await tokenOf(server, 'admin')
        const post = async (path: string, json: Members): Promise<string> => {
          const headers = { 'content-type': 'application/json' }
          const answer = await server.send(path, { method: 'POST', body: JSON.stringify(json), headers, bearer })
          assert.equal(answer.status, 201, answer.text)
          return String(answer.json()['id'])
        }
        const admin = await post('/Groups', { displayName: 'svc.admin' })
        const inner = await post('/Groups', { displayName: 'staff.all' })
        const another = await post('/Groups', { displayName: 'staff,all' })
        const members = [inner, another].map(value => ({ value, type: 'GROUP' }))
        const middle = await post('/Groups', { displayName: 'staff', members })
        const listing = (...names: readonly string[]) =>
          oidc('corp', { groupMappingMode: 'AS_SCOPES', externalGroupsWhitelist: names })
        const harmless = { as: 'writer', method: 'POST', json: listing('staff') }
        const made = (await api.call(harmless)).json<ProviderAnswer>()
        await post(`/Groups/${admin}/members`, { value: middle, type: 'GROUP' })
        const change = { as: 'writer', method: 'PUT', path: `/${made.id}` } as const
        for (const name of ['staff.all', 'STAFF.all', 'staff,all']) {
          assertForbidden(await api.call({ ...change, json: listing('staff', name) }), name)
          const other = oidc('other', { externalGroupsWhitelist: [name] })
          assertForbidden(await api.call({ as: 'writer', method: 'POST', json: other }), name)
        }
        const evil = oidc('corp', {
          groupMappingMode: 'AS_SCOPES',
          externalGroupsWhitelist: ['staff'],
          issuer: 'https://evil.example',
        })
        assertForbidden(await api.call({ ...change, json: evil }))
        assert.equal((await api.call({ ...change, json: { ...listing('staff'), name: 'New' } })).status, 200)
        assert.equal(
          (await api.call({ method: 'PUT', path: change.path, json: listing('staff', 'staff.all') })).status,
          200,
        )
        assert.deepEqual(server.faults, [])
        await server.stop()
      }
    },
  },
  {
    attack: 'disables the lockout with idps.write alone, to guess the second factor of an administrator',
    outcome: 'is refused with 403 for providers of administrators; stricter policies are accepted',
    async attempt() {
      const boss = { userName: 'boss', password: 'pw', emails: [{ value: 'b@example.org' }], groups: ['svc.admin'] }
      const bootstrap = { ...providerBootstrap, users: [...providerBootstrap.users, boss] }
      // The stricter default of the server applies to zones without a policy of their own.
      const authentication = { policy: { global: { lockoutAfterFailures: 50 } } }
      const server = await startServer({ config: { bootstrap, authentication } })
      const api = providerApi(() => server)
      const { id = '' } = (await server.store.providers.findByOrigin('svc', 'svc')) ?? {}
      const set = async (config: Members, as = 'writer'): Promise<number> => {
        const json = { type: 'svc', originKey: 'svc', name: 'svc', active: true, config }
        const answer = await api.call({ as, method: 'PUT', path: `/${id}`, json })
        if (answer.status === 403) assertForbidden(answer)
        return answer.status
      }
      const usual = { lockoutAfterFailures: 5, countFailuresWithin: 1200, lockoutPeriodSeconds: 300 }
      const strict = { lockoutAfterFailures: 3, countFailuresWithin: 3600, lockoutPeriodSeconds: 3600 }
      const weaker = [{ lockoutAfterFailures: 1e9 }, { countFailuresWithin: 1 }, { lockoutPeriodSeconds: 0 }]
      for (const policy of weaker) assert.equal(await set({ lockoutPolicy: { ...usual, ...policy } }), 403)
      assert.equal(await set({ lockoutPolicy: strict }), 200)
      for (const config of [{ lockoutPolicy: usual }, {}]) assert.equal(await set(config), 403)
      assert.equal(await set({ lockoutPolicy: strict, emailDomain: ['here.example'] }), 200)
      assert.equal(await set({ lockoutPolicy: usual }, 'admin'), 200)
      assert.equal(await set({}), 403)
      await server.stop()
    },
  },
  {
    attack: 'enables, with idps.write alone, a provider of administrators that was disabled',
    outcome: 'is refused with 403 in both modes; disabling it and enabling others is accepted',
    async attempt() {
      for (const mode of MODES) {
        const account = {
          userName: 'boss',
          origin: 'has',
          emails: [{ value: 'boss@example.org' }],
          groups: ['svc.admin'],
        }
        const bootstrap = { ...providerBootstrap, users: [...providerBootstrap.users, account] }
        const server = await startServer({ mode, config: { bootstrap } })
        const api = providerApi(() => server)
        const [has, other] = [await api.create(oidc('has')), await api.create(oidc('other'))]
        const set = (origin: string, id: string, active: boolean) =>
          api.call({ as: 'writer', method: 'PUT', path: `/${id}`, json: { ...oidc(origin), active } })
        assert.equal((await set('has', has.id, false)).status, 200)
        assertForbidden(await set('has', has.id, true))
        assert.equal((await set('has', has.id, false)).status, 200)
        for (const active of [false, true]) assert.equal((await set('other', other.id, active)).status, 200)
        const byAdministrator = await api.call({ method: 'PUT', path: `/${has.id}`, json: oidc('has') })
        assert.equal(byAdministrator.status, 200)
        await server.stop()
      }
    },
  },
  {
    attack: 'changes the keys of the provider of administrators with idps.write alone, to sign in as one of them',
    outcome: 'is refused with 403 in both modes; changing names, links and other providers is accepted',
    async attempt() {
      for (const mode of MODES) {
        const clock = createTestClock()
        const to = { entityId: 'latchkey', recipient: 'http://localhost:8080/saml/SSO/alias/latchkey' }
        const [good, evil] = [samlTestKey('ec'), samlTestKey('ec')]
        const record = (originKey: string, config: Members = {}, key = good): Members => {
          const idp = createSamlIdp({ clock, to, entityId: `https://${originKey}.example`, key })
          const type = 'saml'
          return {
            type,
            originKey,
            name: originKey,
            active: true,
            config: { metaDataLocation: idp.metadata(), ...config },
          }
        }
        const account = (origin: string) => ({
          userName: `boss of ${origin}`,
          origin,
          emails: [{ value: 'boss@example.org' }],
          groups: ['svc.admin'],
        })
        const listing = { groupMappingMode: 'AS_SCOPES', externalGroupsWhitelist: ['svc.admin'] }
        const bootstrap = { ...providerBootstrap, users: [...providerBootstrap.users, account('has'), account('left')] }
        const server = await startServer({ mode, clock, config: { bootstrap } })
        const api = providerApi(() => server)
        const write = (method: string, path: string, json: Members) => api.call({ as: 'writer', method, path, json })
        const { groups } = server.store
        const admin = await groups.findByName('svc', 'svc.admin')
        await groups.addExternal('svc', { groupId: admin?.id ?? '', origin: 'maps', externalGroup: 'chiefs' })
        for (const [origin, config] of [
          ['has', {}],
          ['maps', {}],
          ['lists', listing],
        ] as const) {
          const made = await api.create(record(origin, config))
          const path = `/${made.id}`
          const mapped = { ...config, attributeMappings: { external_groups: 'anything' } }
          for (const json of [record(origin, config, evil), record(origin, mapped)]) {
            assertForbidden(await write('PUT', path, json), origin)
            assert.deepEqual((await api.read(made.id)).config, made.config)
          }
          for (const settings of [made.config, config]) {
            const json = { ...record(origin, { ...settings, linkText: 'New' }), name: 'New' }
            assert.equal((await write('PUT', path, json)).status, 200, origin)
          }
          const byAdministrator = await api.call({ method: 'PUT', path, json: record(origin, config, evil) })
          assert.equal(byAdministrator.status, 200)
        }
        const shared = (tokenKey: string) =>
          oidc('shares', { tokenKey, groupMappingMode: 'AS_SCOPES', externalGroupsWhitelist: ['svc.admin'] })
        const sharing = `/${(await api.create(shared('a shared secret of thirty-two characters'))).id}`
        assertForbidden(await write('PUT', sharing, shared('another secret of thirty-two characters')))
        assertForbidden(await write('POST', '', record('left')), 'an origin that has accounts before it has a provider')
        const other = (await write('POST', '', record('other'))).json<ProviderAnswer>()
        assert.equal((await write('PUT', `/${other.id}`, record('other', {}, evil))).status, 200)
        assert.deepEqual(server.faults, [])
        await server.stop()
      }
    },
  },
]
