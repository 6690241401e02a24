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
  describe(`Alias providers in ${mode}`, () => {
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
      it(`are created as copies of a ${String(make('x')['type'])} provider, each with an audit event`, async () => {
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

    it('include the secret, encrypted for their own zone', async () => {
      await api.create(aliased(oidc('corp')))
      const copy = await server.store.providers.findByOrigin('z1', 'corp')
      assert.ok(copy)
      assert.equal(openProviderSecrets(copy, vault).config['relyingPartySecret'], `${SECRET_MARK} of corp`)
    })

    it('can be created later, and from the other zone', async () => {
      const record = await api.create(oidc('corp'))
      const later = (await put(record, { aliasZid: 'z1' })).json<ProviderAnswer>()
      assert.equal((await api.read(String(later.aliasId), Z1)).aliasId, record.id)
      const there = await api.create(aliased(oidc('bank'), 'svc'), Z1)
      assert.equal((await api.read(String(there.aliasId))).aliasZid, 'z1')
    })

    // Covers alias providers: update
    it('are updated with the original, including secrets, in both directions', async () => {
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

    it('are recreated if missing', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const copy = await server.store.providers.findForChange('z1', String(record.aliasId))
      assert.ok(copy)
      await server.store.providers.apply('z1', { kind: 'delete', ...copy })
      await addAdministrator('corp')
      assert.equal(
        (await put(record, { name: 'Renamed' }, { as: 'writer' })).status,
        403,
        'a caller who may not create it',
      )
      const changed = await put(record, { name: 'Renamed' })
      assert.equal(changed.status, 200, changed.text)
      const { aliasId } = changed.json<ProviderAnswer>()
      assert.notEqual(aliasId, record.aliasId)
      const made = await api.read(String(aliasId), Z1)
      assert.deepEqual([made.name, made.aliasId, made.aliasZid], ['Renamed', record.id, 'svc'])
    })

    // Covers alias providers: delete
    it('are deleted with the original and the accounts of both', async () => {
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
      { name: 'in the zone of the provider', json: aliased(oidc('corp'), 'svc') },
      {
        name: 'in the zone of the provider, if it is not the default zone',
        json: aliased(oidc('corp'), 'z1'),
        call: Z1,
      },
      { name: 'between two other zones', json: aliased(oidc('corp'), 'z3'), call: Z1 },
      { name: 'of an LDAP provider', json: aliased(ldap()) },
      { name: 'of an unknown type', json: aliased({ type: 'x', originKey: 'x', name: 'x' }) },
      { name: 'with an invented aliasId', json: { ...aliased(oidc('corp')), aliasId: 'mine' } },
      { name: 'with aliasId but without aliasZid', json: { ...oidc('corp'), aliasId: 'mine' } },
      // Whoever adds providers to the default zone decides who its users are.
      {
        name: 'by an administrator of only the other zone',
        json: aliased(oidc('corp'), 'svc'),
        call: { ...Z1, as: 'z1-admin' },
      },
      {
        name: 'by an administrator inside the other zone',
        json: aliased(oidc('corp'), 'svc'),
        call: { host: HOST_OF_Z1 },
      },
    ]
    for (const { name, json, call = {} } of refused) {
      it(`are rejected ${name}`, async () => {
        const answer = await api.call({ method: 'POST', json, ...call })
        assert.equal(answer.status, 422, answer.text)
        assert.equal(answer.json()['originKey'], json['originKey'])
        for (const zone of ['svc', 'z1']) assert.equal((await server.store.providers.list(zone)).length, 1, zone)
      })
    }

    // Covers alias providers: error: origin taken in the alias zone
    it('are rejected if the origin or the issuer is taken', async () => {
      await api.create(oidc('corp'), Z1)
      assert.equal((await api.call({ method: 'POST', json: aliased(oidc('corp')) })).status, 409)
      const twin = aliased(oidc('other', { issuer: 'https://corp.example' }))
      assert.equal((await api.call({ method: 'POST', json: twin })).status, 409)
      assert.equal((await server.store.providers.list('svc')).length, 1)
    })

    it('cannot be moved, removed or given another type', async () => {
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

    it('can be changed and deleted from the other zone only by an administrator of the default zone', async () => {
      const record = await api.create(aliased(oidc('corp')))
      const copy = await api.read(String(record.aliasId), Z1)
      for (const call of [{ ...Z1, as: 'z1-admin' }, { ...Z1, as: 'z1-writer' }, { host: HOST_OF_Z1 }]) {
        assert.equal((await put(copy, { name: 'No' }, call)).status, 422)
        const answer = await api.call({ method: 'DELETE', path: `/${copy.id}`, ...call })
        assert.deepEqual([answer.status, answer.text], [422, ''])
      }
      assert.equal((await api.read(record.id)).name, record.name)
    })

    /** Adds an account of the origin to the other zone, with the right to change providers there. */
    async function addAdministrator(origin: string): Promise<void> {
      const { store } = server
      const { passwordHash: _, ...model } = await userNamed(server, 'marissa')
      const id = `chief-${origin}`
      await store.users.insert('z1', { ...model, zoneId: 'z1', id, userName: id, origin })
      const { id: groupId } = (await store.groups.findByName('z1', 'idps.write')) ?? {}
      assert.ok(groupId)
      await store.groups.insertMember('z1', { groupId, memberId: id, memberType: 'USER', origin: 'svc' })
    }

    it('keep their endpoints if their users administer the other zone and the caller does not', async () => {
      await addAdministrator('corp')
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

    it('are not created by a caller with fewer rights in the other zone than users of the origin', async () => {
      await addAdministrator('partner')
      const answer = await api.call({ method: 'POST', json: aliased(oidc('partner')), as: 'writer' })
      assert.deepEqual([answer.status, answer.json()['error']], [403, 'insufficient_scope'])
      const record = await api.create(oidc('partner'))
      assert.equal((await put(record, { aliasZid: 'z1' }, { as: 'writer' })).status, 403)
      assert.equal((await put(record, { aliasZid: 'z1' })).status, 200)
    })

    it('are not overwritten after a concurrent change', async () => {
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

  describe(`A provider with an alias while aliases are disabled in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(() => server.stop())

    // Covers DELETE /identity-providers/{id}: error: alias while disabled
    it('cannot be changed or deleted, and no alias can be created', async () => {
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
