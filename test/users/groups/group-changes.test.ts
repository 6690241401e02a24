import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { createRandom } from '../../../src/base/random.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { createGroups } from '../../../src/users/groups/groups.ts'
import { group, user, zone } from '../../store/records.ts'

const groupsOf = (store: Store) =>
  createGroups({
    store,
    clock: systemClock,
    random: createRandom(),
    service: serviceNamed('svc'),
    behaviour: behaviourOf('standard'),
    audit: () => {},
  })

describe('Changes of a group', () => {
  /** The members of an administrative group that this caller replaced by those it had, while one was removed. */
  async function afterReplacement(scope: string): Promise<readonly string[]> {
    const store = await openStore('sqlite::memory:', { clock: systemClock })
    const z = zone()
    for (const id of ['u1', 'u2']) await store.users.insert(z.id, user({ id, userName: id }))
    await store.groups.insert(z.id, group({ id: 'g', displayName: 'svc.admin' }))
    const members = ['u1', 'u2'].map(memberId => ({ memberId, memberType: 'USER', origin: 'svc' }) as const)
    await store.groups.insertMembers(z.id, 'g', members)
    const change: typeof store.groups.change = async (...args) => {
      await store.groups.removeMember(z.id, 'g', 'u2')
      await store.groups.change(...args)
    }
    const groups = groupsOf({ ...store, groups: { ...store.groups, change } })
    const by = { scopes: [scope], ofDefaultZone: true, clientId: 'caller', remoteAddress: '127.0.0.1' }
    const wanted = { displayName: 'svc.admin', members: { remove: 'others', add: members } } as const
    await groups.change(z, 'g', () => wanted, { by })
    const left = await store.groups.listMembers(z.id, 'g', { count: 10 })
    await store.close()
    return left.map(({ memberId }) => memberId)
  }

  it('do not bring a member back who was removed meanwhile, unless the caller may add members', async () => {
    assert.deepEqual(await afterReplacement('scim.write'), ['u1'])
    assert.deepEqual(await afterReplacement('svc.admin'), ['u1', 'u2'])
  })
})

describe('Mappings of groups of providers', () => {
  it('are refused with 404 for a group that was deleted meanwhile', async () => {
    const store = await openStore('sqlite::memory:', { clock: systemClock })
    const z = zone()
    const deleted = group({ id: 'g', displayName: 'team' })
    const groups = groupsOf(store)
    const by = { scopes: ['svc.admin'], ofDefaultZone: true, clientId: 'caller', remoteAddress: '127.0.0.1' }
    await assert.rejects(groups.map(z, deleted, { externalGroup: 'cn=team', origin: 'ldap' }, by), {
      status: 404,
      message: 'Group g does not exist',
    })
    await store.close()
  })
})
