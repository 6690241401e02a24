import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { createRandom } from '../../../src/base/random.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import { isAdministrative } from '../../../src/model/tokens/restricted-scopes.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { openStore } from '../../../src/store/open.ts'
import { createGroupsShown } from '../../../src/users/groups/default-groups.ts'
import { group, user, zone } from '../../store/records.ts'

const service = serviceNamed('svc')

describe('`createGroupsShown`', () => {
  const groupsShown = async (mode: CompatibilityMode, asked: readonly string[]) => {
    const store = await openStore('sqlite::memory:', { clock: systemClock })
    const z = zone({ config: { userConfig: { defaultGroups: ['openid', 'Team'] } } })
    for (const id of ['u1', 'u2']) await store.users.insert(z.id, user({ id, userName: id }))
    for (const displayName of ['inner', 'outer', 'team']) {
      await store.groups.insert(z.id, group({ id: displayName, displayName }))
    }
    const member = { memberId: 'u1', memberType: 'USER', origin: 'svc' } as const
    await store.groups.insertMember(z.id, { ...member, groupId: 'inner' })
    await store.groups.insertMember(z.id, { ...member, memberType: 'GROUP', memberId: 'inner', groupId: 'outer' })
    await store.groups.insertMember(z.id, { ...member, memberType: 'GROUP', memberId: 'inner', groupId: 'team' })
    const show = createGroupsShown({
      store,
      service,
      clock: systemClock,
      random: createRandom(),
      behaviour: behaviourOf(mode),
    })
    const found = await show(z, asked)
    assert.deepEqual([...(await show(z, asked))], [...found], 'missing groups are created once')
    for (const each of [...found.values()].flat()) {
      assert.equal((await store.groups.find(z.id, each.value))?.displayName, each.display)
    }
    await store.close()
    return [...found].map(([id, shown]) => [id, shown.map(({ display, type }) => `${display} ${type}`).toSorted()])
  }

  it('returns direct, inherited and default groups, and creates missing ones', async () => {
    assert.deepEqual(await groupsShown('uaa', ['u1', 'u2', 'nobody']), [
      ['u1', ['inner DIRECT', 'openid DIRECT', 'outer INDIRECT', 'team DIRECT']],
      ['u2', ['openid DIRECT', 'team DIRECT']],
      ['nobody', ['openid DIRECT', 'team DIRECT']],
    ])
  })

  it('adds email, phone and address to the default groups (A7)', async () => {
    assert.deepEqual(await groupsShown('standard', ['u2']), [
      ['u2', ['address DIRECT', 'email DIRECT', 'openid DIRECT', 'phone DIRECT', 'team DIRECT']],
    ])
  })

  it('returns an empty map for no users', async () => assert.deepEqual(await groupsShown('standard', []), []))
})

describe('`isAdministrative`', () => {
  const rows: readonly [name: string, administrative: boolean][] = [
    ['svc.admin', true],
    ['SVC.Admin', true],
    ['scim.write', true],
    ['groups.update', true],
    ['zones.read', true],
    ['zones.x.admin', true],
    ['zones.x.y.z', true],
    ['Zones.x.nonsense', true],
    ['harmless svc.admin', true],
    ['harmless\tsvc.admin', true],
    ['harmless,svc.admin', true],
    ['*', false],
    ['*.*', true],
    ['svc.*', true],
    ['uaa.admin', false],
    ['svc.user', false],
    ['zonesx.admin', false],
    ['my.scim.write', false],
    ['orders.read', false],
  ]
  for (const [name, want] of rows) {
    it(`returns ${want} for ${JSON.stringify(name)}`, () => assert.equal(isAdministrative(name, service), want))
  }
})
