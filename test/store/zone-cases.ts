// Test cases of every database for zones as the management API changes them.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AlreadyExists, ChangedMeanwhile } from '../../src/store/store.ts'
import type { ZoneContents, ZoneState } from '../../src/store/store.ts'
import type { Tables } from '../support/tables.ts'
import { openTables } from '../support/tables.ts'
import { at, client, group, key, provider, token, user, zone } from './records.ts'
import type { Lent } from './token-cases.ts'
import { groupNamesOf } from '../support/group-names.ts'

const DEFAULT = 'default-zone'

/** The initial records of a zone, with few of each. */
const contents = (zoneId: string): ZoneContents => ({
  provider: provider({ zoneId }),
  groups: [group({ zoneId }), group({ zoneId, id: 'g2', displayName: 'openid' })],
  keys: [key({ zoneId, keyId: 'k1', active: true, sealedPrivateKey: 'v1.x' }), key({ zoneId, keyId: 'k2' })],
})

/** The cases of zones, inside the suite of a database; `inTime` asks again until the answer is the expected one. */
export function zoneCases({
  store,
  open,
  newZone,
  url,
  inTime,
}: Lent & {
  url: () => string
  inTime: (expected: unknown, ask: () => Promise<unknown>) => Promise<void>
}): void {
  describe('Zone records', () => {
    let tables: Tables
    before(async () => {
      tables = await openTables(url())
    })
    after(() => tables.close())

    async function create(id = newZone()): Promise<string> {
      await store().zones.create(zone({ id, subdomain: `sub-${id}` }), contents(id))
      return id
    }

    describe('A new zone', () => {
      it('has its provider, groups and keys', async () => {
        const id = await create()
        assert.equal((await store().zones.findBySubdomain(`sub-${id}`))?.id, id)
        assert.deepEqual(await store().zones.read(id), {
          zone: zone({ id, subdomain: `sub-${id}` }),
          revision: 0,
          activeKeyId: 'k1',
        })
        assert.equal((await store().providers.findByOrigin(id, provider().originKey))?.id, provider().id)
        assert.deepEqual((await groupNamesOf(store(), id)).toSorted(), ['cloud.read', 'openid'])
        assert.deepEqual(
          (await store().keys.list(id)).map(({ keyId, active }) => [keyId, active]),
          [
            ['k1', true],
            ['k2', false],
          ],
        )
      })

      for (const { name, twin } of [
        { name: 'id', twin: (id: string) => zone({ id, subdomain: `other-${id}` }) },
        { name: 'subdomain', twin: (id: string) => zone({ id: `other-${id}`, subdomain: `sub-${id}` }) },
      ]) {
        it(`is not stored if its ${name} is taken`, async () => {
          const id = await create()
          const second = twin(id)
          const before = await tables.count(second.id)
          await assert.rejects(store().zones.create(second, contents(second.id)), AlreadyExists)
          assert.deepEqual(await tables.count(second.id), before)
          assert.equal((await store().zones.read(id))?.zone.subdomain, `sub-${id}`)
        })
      }

      it('is not stored if any of its records fails', async () => {
        const id = newZone()
        const broken = { ...contents(id), keys: [key({ zoneId: id }), key({ zoneId: id })] }
        await assert.rejects(store().zones.create(zone({ id, subdomain: id }), broken), AlreadyExists)
        assert.equal(await store().zones.read(id), undefined)
        assert.deepEqual(await tables.count(id), {})
      })

      it('has no records of an earlier zone with its id', async () => {
        const id = newZone()
        await store().clients.insert(id, client({ zoneId: id }))
        assert.notEqual(await store().clients.find(id, 'app'), undefined)
        await create(id)
        assert.equal(await store().clients.find(id, 'app'), undefined)
      })

      it('is created once by concurrent requests', async () => {
        const id = newZone()
        const outcomes = await Promise.allSettled([create(id), create(id)])
        assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      })
    })

    describe('Zone update', () => {
      it('is rejected if the zone was deleted and created again', async () => {
        const id = await create()
        const read = await store().zones.read(id)
        assert.ok(read)
        assert.equal((await store().zones.delete(id, 'svc')).outcome, 'deleted')
        await store().zones.create(zone({ id, subdomain: `sub-${id}`, createdAt: at(7) }), contents(id))
        const late = store().zones.replace({ ...read.zone, name: 'late' }, read.revision, { groups: [] })
        await assert.rejects(late, ChangedMeanwhile)
      })

      it('is accepted from one of concurrent requests', async () => {
        const id = await create()
        const read = await store().zones.read(id)
        assert.ok(read)
        const write = (name: string): Promise<void> =>
          store().zones.replace({ ...read.zone, name }, read.revision, { groups: [] })
        const outcomes = await Promise.allSettled([write('a'), write('b')])
        const lost = outcomes.find(outcome => outcome.status === 'rejected')
        assert.ok(lost?.reason instanceof ChangedMeanwhile)
        await assert.rejects(write('c'), ChangedMeanwhile)
        const now = await store().zones.read(id)
        assert.ok(now && ['a', 'b'].includes(now.zone.name))
        assert.equal(now.revision, 1)
      })

      it('is rejected after a write of the bootstrap', async () => {
        const id = await create()
        await store().zones.update(zone({ id, subdomain: `sub-${id}`, name: 'bootstrap' }))
        assert.equal((await store().zones.read(id))?.revision, 1)
        await assert.rejects(
          store().zones.replace(zone({ id, subdomain: `sub-${id}` }), 0, { groups: [] }),
          ChangedMeanwhile,
        )
      })

      it('is rejected for a deleted zone', async () => {
        const id = await create()
        await store().zones.delete(id, DEFAULT)
        await assert.rejects(store().zones.replace(zone({ id }), 0, { groups: [] }), ChangedMeanwhile)
        assert.equal(await store().zones.read(id), undefined)
      })

      it('adds missing groups and keeps existing ones', async () => {
        const id = await create()
        await store().zones.replace(zone({ id, subdomain: `sub-${id}` }), 0, {
          groups: [
            group({ zoneId: id, id: 'x', displayName: 'OpenID' }),
            group({ zoneId: id, id: 'y', displayName: 'new' }),
          ],
        })
        assert.deepEqual((await groupNamesOf(store(), id)).toSorted(), ['cloud.read', 'new', 'openid'])
      })

      it('replaces the keys, also in other processes', async () => {
        const id = await create()
        const elsewhere = await open()
        try {
          const idsThere = async (): Promise<string> => (await elsewhere.keys.list(id)).map(({ keyId }) => keyId).join()
          assert.equal(await idsThere(), 'k1,k2')
          const keys = [key({ zoneId: id, keyId: 'k3', active: true })]
          await store().zones.replace(zone({ id, subdomain: `sub-${id}` }), 0, { groups: [], keys })
          assert.deepEqual(
            (await store().keys.list(id)).map(({ keyId }) => keyId),
            ['k3'],
          )
          await inTime('k3', idsThere)
        } finally {
          await elsewhere.close()
        }
      })

      it('activates another key, or changes nothing if that cannot sign', async () => {
        const id = await create()
        const record = zone({ id, subdomain: `sub-${id}`, name: 'changed' })
        for (const activate of ['k2', 'unknown']) {
          const change = store().zones.replace(record, 0, { groups: [], keys: { activate, now: at(0) } })
          await assert.rejects(change, ChangedMeanwhile)
        }
        assert.notEqual((await store().zones.read(id))?.zone.name, 'changed')
        await store().keys.insert(id, key({ zoneId: id, keyId: 'k4', sealedPrivateKey: 'v1.y' }))
        await store().zones.replace(record, 0, { groups: [], keys: { activate: 'k4', now: at(0) } })
        assert.equal((await store().zones.read(id))?.activeKeyId, 'k4')
      })
    })

    describe('Zone deletion', () => {
      it('deletes the zone’s rows from every table with a zone', async () => {
        const [gone, kept] = [newZone(), newZone()]
        assert.ok(tables.ofZones.length >= 16, 'the tables were found')
        const inOrder = tables.ofZones.toSorted((a, b) => Number(b === 'groups') - Number(a === 'groups'))
        for (const id of [gone, kept]) {
          await store().zones.insert(zone({ id, subdomain: id }))
          for (const table of inOrder) await tables.fill(table, id, 'x')
        }
        const everywhere = Object.fromEntries(tables.ofZones.map(table => [table, 1]))
        assert.deepEqual(await tables.count(gone), everywhere)
        assert.equal((await store().zones.delete(gone, DEFAULT)).outcome, 'deleted')
        assert.deepEqual(await tables.count(gone), {})
        assert.deepEqual(await tables.count(kept), everywhere)
        assert.equal(await store().zones.read(gone), undefined)
        assert.equal((await store().zones.delete(gone, DEFAULT)).outcome, 'missing')
      })

      it('is not reverted by the bootstrap, whose other records are deleted', async () => {
        const id = await create()
        await store().bootstrap.remember(id, 'zone', id, 'digest')
        await store().bootstrap.remember(id, 'client', 'app', 'digest')
        await store().zones.delete(id, DEFAULT)
        assert.equal(await store().bootstrap.applied(id, 'zone', id), 'digest')
        assert.equal(await store().bootstrap.applied(id, 'client', 'app'), undefined)
      })

      it('evicts the zone from every cache', async () => {
        const id = await create()
        await store().clients.insert(id, client({ zoneId: id }))
        const elsewhere = await open()
        try {
          const seen = async (of: typeof elsewhere): Promise<string> =>
            JSON.stringify([
              (await of.zones.find(id))?.id,
              (await of.zones.findBySubdomain(`sub-${id}`))?.id,
              (await of.clients.find(id, 'app'))?.clientId,
              (await of.providers.listActive(id)).length,
              (await of.keys.list(id)).length,
            ])
          const all = JSON.stringify([id, id, 'app', 1, 2])
          assert.equal(await seen(store()), all)
          assert.equal(await seen(elsewhere), all)
          await store().zones.delete(id, DEFAULT)
          const nothing = JSON.stringify([null, null, null, 0, 0])
          assert.equal(await seen(store()), nothing)
          await inTime(nothing, () => seen(elsewhere))
        } finally {
          await elsewhere.close()
        }
      })

      it('deletes records that concurrent requests write after it', async () => {
        const id = await create()
        const late = (number: number) => [
          store().clients.insert(id, client({ zoneId: id, clientId: `c${number}` })),
          store().users.create(id, user({ zoneId: id, id: `u${number}`, userName: `u${number}` })),
          store().groups.insert(id, group({ zoneId: id, id: `late${number}`, displayName: `late${number}` })),
          store().tokens.insert(id, token({ zoneId: id, idDigest: `t${number}` })),
          store().keys.insert(id, key({ zoneId: id, keyId: `late${number}` })),
        ]
        const writes = Array.from({ length: 8 }, (_, number) => [
          ...late(number),
          ...(number === 3 ? [store().zones.delete(id, DEFAULT)] : []),
        ]).flat()
        await Promise.all(writes)
        await Promise.all(late(8)) // PostgreSQL may have made all of the others before
        assert.notDeepEqual(await tables.count(id), {}, 'some writes came after the deletion')
        await store().purge(at(0))
        await store().purge(at(301))
        assert.deepEqual(await tables.count(id), {})
      })

      it('does not affect a zone created again', async () => {
        const id = await create()
        await store().zones.delete(id, DEFAULT)
        await store().purge(at(0))
        await create(id)
        const created = await tables.count(id)
        await store().purge(at(301))
        assert.deepEqual(await tables.count(id), created)
      })

      it('is rejected while a provider has an alias', async () => {
        const id = await create()
        await tables.run(`update identity_providers set alias_id = 'x' where zone_id = '${id}'`)
        assert.equal((await store().zones.delete(id, DEFAULT)).outcome, 'aliased')
        assert.notEqual(await store().zones.read(id), undefined)
        assert.equal((await store().providers.listActive(id)).length, 1)
      })

      for (const id of ['one', '%', '_', 'a%', 'A', 'x-y']) {
        it(`deletes groups of the default zone for ${id} only`, async () => {
          const main = newZone()
          const gone = [`zones.${id}.admin`, `zones.${id}.clients.read`]
          const near = [
            `zones.${id}`,
            `zones.${id}x.admin`,
            `zones.x${id}.admin`,
            `zones.${id}-.admin`,
            `zones.${id}/admin`,
            `zonesx${id}.admin`,
            `xzones.${id}.admin`,
            'zones.other.admin',
            'zones.a.admin',
            'openid',
          ].filter(name => !gone.some(each => each.toLowerCase() === name.toLowerCase()))
          const other = newZone()
          for (const [index, displayName] of [...gone, ...near].entries()) {
            await store().groups.insert(main, group({ zoneId: main, id: `g${index}`, displayName }))
          }
          await store().groups.insert(other, group({ zoneId: other, id: 'g0', displayName: `zones.${id}.admin` }))
          const last = gone.length
          const member = { memberType: 'USER', origin: 'svc' } as const
          await store().groups.addMember(main, { ...member, groupId: 'g0', memberId: 'u1' })
          await store().groups.addMember(main, { ...member, groupId: `g${last}`, memberId: 'u1' })
          await store().groups.addMember(main, { ...member, groupId: `g${last}`, memberId: 'g0', memberType: 'GROUP' })
          await store().groups.addExternal(main, { groupId: 'g0', origin: 'ldap', externalGroup: 'x' })
          await store().zones.insert(zone({ id, subdomain: newZone() }))
          const deleted = await store().zones.delete(id, main)
          assert.equal(deleted.outcome, 'deleted')
          assert.deepEqual(
            deleted.outcome === 'deleted' && deleted.groups.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
            gone.map((displayName, index) => ({ id: `g${index}`, displayName, memberIds: index === 0 ? ['u1'] : [] })),
          )
          assert.deepEqual((await groupNamesOf(store(), main)).toSorted(), near.toSorted())
          const counts = await tables.count(main)
          assert.deepEqual([counts['group_members'], counts['external_groups']], [1, undefined])
          assert.deepEqual(await groupNamesOf(store(), other), [`zones.${id}.admin`])
        })

        it(`removes authorities for ${id} from clients of the default zone`, async () => {
          const [main, other] = [newZone(), newZone()]
          const gone = [`zones.${id}.admin`, `zones.${id}.clients.read`]
          const near = [`zones.${id}x.admin`, `zones.${id}`, 'zones.other.admin', 'zones.a.admin', 'clients.read']
          const scope = [`zones.${id}.admin`]
          await store().clients.insert(main, client({ clientId: 'both', scope, authorities: [...near, ...gone] }))
          await store().clients.insert(main, client({ clientId: 'near', authorities: near }))
          await store().clients.insert(other, client({ clientId: 'both', authorities: gone }))
          const before = await store().clients.findForChange(main, 'both')
          assert.ok(before && (await store().clients.find(main, 'both'))) // cached
          await store().zones.insert(zone({ id, subdomain: newZone() }))
          const deleted = await store().zones.delete(id, main)
          const clients = [{ clientId: 'both', scope, authorities: near }]
          assert.deepEqual(deleted, { outcome: 'deleted', clients, groups: [] })
          const after = await store().clients.find(main, 'both')
          assert.deepEqual([after?.authorities, after?.scope], [near, scope])
          assert.deepEqual((await store().clients.find(main, 'near'))?.authorities, near)
          assert.deepEqual((await store().clients.find(other, 'both'))?.authorities, gone)
          const late = { kind: 'update', client: before.client, revision: before.revision } as const
          await assert.rejects(store().clients.apply(main, [late]), ChangedMeanwhile)
        })
      }
    })

    it('returns group names in pages', async () => {
      const id = 'many-groups'
      await store().zones.insert(zone({ id, subdomain: id }))
      const names = Array.from({ length: 2500 }, (_, index) => `Group.${index}`)
      for (const name of names) await store().groups.insert(id, group({ zoneId: id, id: name, displayName: name }))
      const lengths: number[] = []
      for await (const page of store().zones.groupNames(id)) lengths.push(page.length)
      assert.deepEqual(lengths, [1000, 1000, 500])
      assert.deepEqual((await groupNamesOf(store(), id)).toSorted(), names.toSorted())
      await store().zones.delete(id, 'default')
    })

    describe('The list of zones', () => {
      /** All pages, zone by zone. */
      async function listed(count: number): Promise<ZoneState[]> {
        const found: ZoneState[] = []
        for (;;) {
          const page = await store().zones.list({ count, ...(found.length > 0 && { after: found.at(-1) }) })
          if (page.length === 0) return found
          assert.ok(page.length <= count)
          found.push(...page)
        }
      }

      it('has every zone, oldest first, with its active key', async () => {
        const [second, first] = [newZone(), newZone()]
        await store().zones.create(zone({ id: second, subdomain: second, createdAt: at(-10) }), contents(second))
        await store().zones.insert(zone({ id: first, subdomain: first, createdAt: at(-20) }))
        const found = (await store().zones.list({ count: 1000 })).map(({ zone: { id }, revision, activeKeyId }) => [
          id,
          revision,
          activeKeyId,
        ])
        assert.deepEqual(
          found.filter(([id]) => id === first || id === second),
          [
            [first, 0, undefined],
            [second, 0, 'k1'],
          ],
        )
      })

      it('has each zone once, with any page size and equal times', async () => {
        for (const createdAt of [at(-5), at(-5), at(-5), at(-1e9), at(1e9)]) {
          const id = newZone()
          await store().zones.insert(zone({ id, subdomain: id, createdAt }))
        }
        const whole = await store().zones.list({ count: 1000 })
        const order = whole.map(({ zone: { createdAt, id } }) => [createdAt.getTime(), id] as const)
        assert.deepEqual(
          order,
          order.toSorted(([one, id], [other, otherId]) => one - other || (id < otherId ? -1 : 1)),
        )
        for (const count of [1, 2, 3, 7]) assert.deepEqual(await listed(count), whole, `pages of ${count}`)
      })

      it('continues after a deleted zone, and includes new ones', async () => {
        const [first = '', second = '', third = ''] = [newZone(), newZone(), newZone()].toSorted()
        const add = (id: string) => store().zones.insert(zone({ id, subdomain: id, createdAt: at(2e9) }))
        await add(first)
        await add(second)
        const after = (await store().zones.list({ count: 1000 })).find(({ zone: { id } }) => id === first)
        assert.ok(after)
        await store().zones.delete(first, DEFAULT)
        await add(third)
        const rest = await store().zones.list({ count: 1000, after })
        assert.deepEqual(
          rest.map(({ zone: { id } }) => id).filter(id => [first, second, third].includes(id)),
          [second, third],
        )
        await store().zones.delete(second, DEFAULT)
        await store().zones.delete(third, DEFAULT)
      })
    })
  })
}
