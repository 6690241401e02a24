import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { openProviderSecrets } from '../../../src/providers/provider-secrets.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import type { Members, ProviderAnswer, ProviderCall } from '../../support/provider-api.ts'
import {
  HOST_OF_Z1,
  ldap,
  oidc,
  providerApi,
  providerBootstrap,
  saml,
  SECRET_MARK,
} from '../../support/provider-api.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const vault = createVault(Buffer.alloc(32, 7), createRandom())
const Z1 = { headers: { 'x-identity-zone-id': 'z1' } }
const zones = providerBootstrap.identity_zones
const bootstrap = {
  ...providerBootstrap,
  identity_zones: [
    ...zones.map(zone =>
      'bootstrap' in zone
        ? { ...zone, bootstrap: { ...zone.bootstrap, groups: [{ displayName: 'idps.write' }] } }
        : zone,
    ),
    { id: 'z3', subdomain: 'z3', name: 'Zone 3' },
  ],
}

for (const mode of MODES) {
  describe(`copies of providers in another zone, in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      const login = { aliasEntitiesEnabled: true }
      server = await startServer({ mode, config: { bootstrap, login } })
    })
    beforeEach(async () => {
      for (const zone of ['svc', 'z1']) {
        for (const { provider, revision } of await server.store.providers.list(zone)) {
          if (provider.originKey !== 'svc') {
            await server.store.providers.apply(zone, { kind: 'delete', provider, revision })
          }
        }
      }
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      api.assertNoSecrets()
      await server.stop()
    })
    const aliased = (json: Members, aliasZid = 'z1'): Members => ({ ...json, aliasZid })
    const put = (json: ProviderAnswer | Members, change: Members = {}, call: ProviderCall = {}) =>
      api.call({ method: 'PUT', path: `/${String(Reflect.get(json, 'id'))}`, json: { ...json, ...change }, ...call })
    const created = () => server.events.filter(({ type }) => type === 'IdentityProviderCreatedEvent')

    for (const make of [oidc, saml]) {
      // Covers configuration file: login.aliasEntitiesEnabled
      // Covers Identity provider record: aliasId; aliasZid
      // Covers alias providers: create
      it(`are made with their record of type ${String(make('x')['type'])}, like it, and reported`, async () => {
        const events = created().length
        const record = await api.create(aliased(make('corp')))
        assert.equal(record.aliasZid, 'z1')
        const copy = await api.read(String(record.aliasId), Z1)
        const { id, identityZoneId, aliasId, aliasZid, config, ...same } = copy
        const { id: _, identityZoneId: __, aliasId: ___, aliasZid: ____, config: original, ...expected } = record
        assert.deepEqual(same, expected)
        assert.deepEqual({ ...config, zoneId: undefined }, { ...original, zoneId: undefined })
        assert.deepEqual([id, identityZoneId, aliasId, aliasZid], [record.aliasId, 'z1', record.id, 'svc'])
        assert.deepEqual(
          created()
            .slice(events)
            .map(({ zoneId, principal }) => [zoneId, principal]),
          [
            ['svc', record.id],
            ['z1', id],
          ],
        )
      })
    }

    it('have the secret too, sealed for where they are', async () => {
      await api.create(aliased(oidc('corp')))
      const copy = await server.store.providers.findByOrigin('z1', 'corp')
      assert.ok(copy)
      assert.equal(openProviderSecrets(copy, vault).config['relyingPartySecret'], `${SECRET_MARK} of corp`)
    })

    it('can be made later, and from the other zone', async () => {
      const record = await api.create(oidc('corp'))
      const later = (await put(record, { aliasZid: 'z1' })).json<ProviderAnswer>()
      assert.equal((await api.read(String(later.aliasId), Z1)).aliasId, record.id)
      const there = await api.create(aliased(oidc('bank'), 'svc'), Z1)
      assert.equal((await api.read(String(there.aliasId))).aliasZid, 'z1')
    })

    // Covers alias providers: update
    it('change with their record, and it with them, secrets included', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const changed = await put(record, { name: 'Renamed', active: false })
      assert.equal(changed.status, 200, changed.text)
      const copy = await api.read(String(record.aliasId), Z1)
      assert.deepEqual([copy.name, copy.active, copy.version], ['Renamed', false, 1])
      const config = { ...copy.config, relyingPartySecret: `${SECRET_MARK} 2`, linkText: 'Back' }
      assert.equal((await put(copy, { config, active: true }, Z1)).status, 200)
      const back = await api.read(record.id)
      assert.deepEqual([back.active, back.config['linkText'], back.version], [true, 'Back', 2])
      const stored = await server.store.providers.findByOrigin('svc', 'corp')
      assert.ok(stored)
      assert.equal(openProviderSecrets(stored, vault).config['relyingPartySecret'], `${SECRET_MARK} 2`)
    })

    it('are made again where they were lost', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const copy = await server.store.providers.findForChange('z1', String(record.aliasId))
      assert.ok(copy)
      await server.store.providers.apply('z1', { kind: 'delete', ...copy })
      await addChief('corp')
      assert.equal((await put(record, { name: 'Renamed' }, { as: 'writer' })).status, 403, 'who may not make one')
      const changed = await put(record, { name: 'Renamed' })
      assert.equal(changed.status, 200, changed.text)
      const { aliasId } = changed.json<ProviderAnswer>()
      assert.notEqual(aliasId, record.aliasId)
      const made = await api.read(String(aliasId), Z1)
      assert.deepEqual([made.name, made.aliasId, made.aliasZid], ['Renamed', record.id, 'svc'])
    })

    // Covers alias providers: delete
    it('go with their record, and the accounts of both', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const { passwordHash: _, ...model } = await userNamed(server, 'marissa')
      for (const zoneId of ['svc', 'z1']) {
        await server.store.users.insert(zoneId, {
          ...model,
          zoneId,
          id: `ann-${zoneId}`,
          userName: 'ann',
          origin: 'corp',
        })
      }
      assert.equal((await api.call({ method: 'DELETE', path: `/${String(record.aliasId)}`, ...Z1 })).status, 200)
      assert.equal((await api.call({ path: `/${record.id}` })).status, 404)
      for (const zoneId of ['svc', 'z1']) {
        assert.equal(await server.store.users.findByName(zoneId, 'corp', 'ann'), undefined, zoneId)
        assert.equal(await server.store.providers.findByOrigin(zoneId, 'corp'), undefined, zoneId)
      }
    })

    const refused: readonly { name: string; json: Members; call?: ProviderCall }[] = [
      // Covers alias providers: error: rule violated
      { name: 'in a zone that does not exist', json: aliased(oidc('corp'), 'nowhere') },
      { name: 'in a zone that is not active', json: aliased(oidc('corp'), 'z2') },
      { name: 'in the same zone', json: aliased(oidc('corp'), 'svc') },
      { name: 'in the same other zone', json: aliased(oidc('corp'), 'z1'), call: Z1 },
      { name: 'between two other zones', json: aliased(oidc('corp'), 'z3'), call: Z1 },
      { name: 'of a directory', json: aliased(ldap()) },
      { name: 'of an unknown type', json: aliased({ type: 'x', originKey: 'x', name: 'x' }) },
      { name: 'with an id that was made up', json: { ...aliased(oidc('corp')), aliasId: 'mine' } },
      { name: 'with an id and no zone', json: { ...oidc('corp'), aliasId: 'mine' } },
      // A right to add providers to the default zone is a right to decide who its users are.
      {
        name: 'of an administrator of the other zone only',
        json: aliased(oidc('corp'), 'svc'),
        call: { ...Z1, as: 'z1-admin' },
      },
      { name: 'of the other zone’s own administrator', json: aliased(oidc('corp'), 'svc'), call: { host: HOST_OF_Z1 } },
    ]
    for (const { name, json, call = {} } of refused) {
      it(`are refused ${name}, and nothing is made`, async () => {
        const answer = await api.call({ method: 'POST', json, ...call })
        assert.equal(answer.status, 422, answer.text)
        assert.equal(answer.json()['originKey'], json['originKey'])
        for (const zone of ['svc', 'z1']) assert.equal((await server.store.providers.list(zone)).length, 1, zone)
      })
    }

    // Covers alias providers: error: origin taken in the alias zone
    it('are refused where the origin, or the issuer, is taken', async () => {
      await api.create(oidc('corp'), Z1)
      assert.equal((await api.call({ method: 'POST', json: aliased(oidc('corp')) })).status, 409)
      const twin = aliased(oidc('other', { issuer: 'https://corp.example' }))
      assert.equal((await api.call({ method: 'POST', json: twin })).status, 409)
      assert.equal((await server.store.providers.list('svc')).length, 1)
    })

    it('stay where they are', async () => {
      const record = await api.create(aliased(oidc('corp')))
      for (const change of [
        { aliasId: null },
        { aliasZid: null },
        { aliasId: null, aliasZid: null },
        { aliasId: 'another' },
        { aliasZid: 'z3' },
      ]) {
        assert.equal((await put(record, { ...change, name: 'No' })).status, 422, JSON.stringify(change))
      }
      const keystone = { type: 'keystone', config: {} }
      assert.equal((await put(record, keystone)).status, 422)
      assert.equal((await api.read(record.id)).name, record.name)
    })

    it('are changed and deleted from the other zone by the administrator of the server only', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const copy = await api.read(String(record.aliasId), Z1)
      for (const call of [{ ...Z1, as: 'z1-admin' }, { ...Z1, as: 'z1-writer' }, { host: HOST_OF_Z1 }]) {
        assert.equal((await put(copy, { name: 'No' }, call)).status, 422)
        const answer = await api.call({ method: 'DELETE', path: `/${copy.id}`, ...call })
        assert.deepEqual([answer.status, answer.text], [422, ''])
      }
      assert.equal((await api.read(record.id)).name, record.name)
    })

    /** An account of the origin in the other zone, which may change providers there. */
    async function addChief(origin: string): Promise<void> {
      const { store } = server
      const { passwordHash: _, ...model } = await userNamed(server, 'marissa')
      const id = `chief-${origin}`
      await store.users.insert('z1', { ...model, zoneId: 'z1', id, userName: id, origin })
      const { id: groupId } = (await store.groups.findByName('z1', 'idps.write')) ?? {}
      assert.ok(groupId)
      await store.groups.insertMember('z1', { groupId, memberId: id, memberType: 'USER', origin: 'svc' })
    }

    it('keep what they trust where their users administer the other zone and the caller does not', async () => {
      await addChief('corp')
      const record = await api.create(aliased(oidc('corp')))
      const config = { ...record.config, tokenKeyUrl: 'https://evil.example/keys' }
      for (const as of ['writer', 'zone-admin']) {
        const answer = await put(record, { config }, { as })
        assert.deepEqual([answer.status, answer.json()['error']], [403, 'insufficient_scope'], as)
      }
      assert.equal((await put(record, { name: 'Renamed' }, { as: 'writer' })).status, 200)
      const plain = await api.read(record.id)
      assert.equal((await put(plain, { config })).status, 200)
    })

    it('are not made for an origin whose users administer the other zone, by who does not', async () => {
      await addChief('partner')
      const answer = await api.call({ method: 'POST', json: aliased(oidc('partner')), as: 'writer' })
      assert.deepEqual([answer.status, answer.json()['error']], [403, 'insufficient_scope'])
      const record = await api.create(oidc('partner'))
      assert.equal((await put(record, { aliasZid: 'z1' }, { as: 'writer' })).status, 403)
      assert.equal((await put(record, { aliasZid: 'z1' })).status, 200)
    })

    it('of which one was changed meanwhile lose nothing', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const stored = await server.store.providers.findForChange('svc', record.id)
      const copy = await server.store.providers.findForChange('z1', String(record.aliasId))
      assert.ok(stored && copy)
      await server.store.providers.update('z1', copy.provider)
      const change = { kind: 'update', ...stored, provider: { ...stored.provider, name: 'Half' } } as const
      await assert.rejects(server.store.providers.apply('svc', change, { kind: 'update', ...copy }), {
        name: 'ChangedMeanwhile',
      })
      assert.equal((await api.read(record.id)).name, record.name)
    })
  })

  describe(`a provider with a copy while there may be none, in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(() => server.stop())

    // Covers DELETE /identity-providers/{id}: error: alias while disabled
    it('is neither changed nor deleted, and no copy is made', async () => {
      const record = await api.create(oidc('corp'))
      const stored = await server.store.providers.findForChange('svc', record.id)
      assert.ok(stored)
      await server.store.providers.update('svc', { ...stored.provider, aliasId: 'there', aliasZoneId: 'z1' })
      const before = await api.read(record.id)
      assert.deepEqual([before.aliasId, before.aliasZid], ['there', 'z1'])
      const put = await api.call({ method: 'PUT', path: `/${record.id}`, json: before })
      assert.equal(put.status, 422)
      assert.equal(put.json()['id'], record.id)
      const deletion = await api.call({ method: 'DELETE', path: `/${record.id}` })
      assert.deepEqual([deletion.status, deletion.text], [422, ''])
      assert.deepEqual(await api.read(record.id), before)
      assert.equal((await api.call({ method: 'POST', json: { ...oidc('new'), aliasZid: 'z1' } })).status, 422)
    })
  })
}
