import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createMemberships, matcherOf } from '../../src/identity/memberships.ts'
import type { Memberships } from '../../src/identity/memberships.ts'
import type { ExternalGroups } from '../../src/identity/source.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import type { AuditEvent } from '../../src/model/audit/event.ts'
import { serviceNamed } from '../../src/model/service.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { createTestClock } from '../support/clock.ts'
import * as records from '../store/records.ts'

const clock = createTestClock()
const TOO_MANY = 'The identity provider names too many groups.'
const ADMINISTRATIVE = ['svc.admin', 'SVC.Admin', 'scim.write', 'clients.admin', 'zones.one.admin', 'zones.read']

describe('createMemberships', () => {
  let store: Store
  let memberships: Memberships
  let zone: Zone
  let events: AuditEvent[] = []
  let count = 0
  before(async () => {
    store = await openStore('sqlite::memory:', { clock, onError: assert.ifError })
    memberships = createMemberships({
      store,
      clock,
      random: createRandom(),
      behaviour: behaviourOf('standard'),
      audit: event => void events.push(event),
      service: serviceNamed('svc'),
    })
  })
  after(() => store.close())
  beforeEach(async () => {
    count += 1
    events = []
    await useZone(`zone-${count}`)
  })

  async function useZone(id: string, config: Zone['config'] = {}): Promise<void> {
    zone = records.zone({ id, subdomain: id, config })
    await store.zones.insert(zone)
    await store.users.insert(zone.id, records.user({ zoneId: zone.id, id: 'pat', origin: 'corp', userName: 'pat' }))
  }
  const addGroup = (displayName: string) =>
    store.groups.insert(zone.id, records.group({ zoneId: zone.id, id: `id of ${displayName}`, displayName }))
  const map = async (externalGroup: string, displayName: string, origin = 'corp') => {
    const mapping = { groupId: `id of ${displayName}`, externalGroup, origin }
    await store.groups.addExternal(zone.id, mapping)
  }
  const names = () => store.groups.namesOfUser(zone.id, 'pat')

  const says = (groups: Partial<ExternalGroups>): ExternalGroups => ({ roles: [], addsMissing: true, ...groups })
  /** Signs the user in. Returns the roles, or the error description. */
  async function arrive(groups: Partial<ExternalGroups>, whitelist?: readonly string[]): Promise<unknown> {
    const provider = { originKey: 'corp', config: { ...(whitelist && { externalGroupsWhitelist: whitelist }) } }
    const resolved = await memberships.resolve(zone, provider, says(groups))
    if ('outcome' in resolved) return resolved.description
    const user = await store.users.find(zone.id, 'pat')
    assert.ok(user)
    await memberships.apply(zone, user, resolved)
    return resolved.roles
  }

  // Partly covers external groups: EXPLICITLY_MAPPED
  it('adds the user to mapped groups only, ignoring case', async () => {
    await addGroup('app.read')
    await addGroup('app.write')
    await map('cn=staff,dc=corp', 'app.read')
    await map('staff', 'app.write', 'other')
    assert.deepEqual(await arrive({ mapped: ['CN=Staff,dc=Corp', 'staff', 'app.write'] }), [])
    assert.deepEqual(await names(), ['app.read'])
  })

  const dns: readonly (readonly [mapped: string, dn: string])[] = [
    ['cn=staff,dc=corp', 'CN = Staff , DC = Corp'],
    ['cn = staff, dc = corp', 'cn=Staff,dc=Corp'],
    ['cn=a\\,b,dc=corp', 'cn=A\\2CB,dc=corp'],
    ['cn=a\\2cb,dc=corp', 'cn=A\\,B,dc=corp'],
    ['uid=1+cn=staff,dc=corp', 'cn=Staff+uid=1,dc=corp'],
    ['cn=domain  users,dc=corp', 'cn=Domain Users,dc=corp'],
    ['cn=domain users,dc=corp', 'cn=Domain\\20Users,dc=corp'],
    ['cn=\\231,dc=corp', 'cn=\\#1,dc=corp'],
    ['not a name', 'Not a Name'],
    ['cn=bad\\', 'CN=Bad\\'],
  ]
  for (const [mapped, dn] of dns) {
    it(`maps the DN ${dn} by the mapping of ${mapped}`, async () => {
      await addGroup('app.read')
      await addGroup('app.write')
      await map(mapped, 'app.read')
      await map('cn=others, dc=corp', 'app.write')
      await map(mapped, 'app.write', 'other')
      await arrive({ mapped: [dn], areDns: true })
      assert.deepEqual(await names(), ['app.read'])
      await arrive({ mapped: [dn] })
      assert.deepEqual(await names(), mapped === dn.toLowerCase() ? ['app.read'] : [])
    })
  }

  it('does not fold the Kelvin sign to k', async () => {
    await addGroup('app.read')
    await map('kiosk', 'app.read')
    await arrive({ mapped: ['\u212aiosk'] })
    assert.deepEqual(await names(), [])
    await arrive({ mapped: ['Kiosk'] })
    assert.deepEqual(await names(), ['app.read'])
  })

  // Partly covers external groups: memberships are synchronised at login
  it('replaces memberships of the provider at each sign-in, and keeps others', async () => {
    for (const name of ['a', 'b', 'c']) {
      await addGroup(name)
      await map(name, name)
    }
    const byHand = { memberId: 'pat', memberType: 'USER', origin: 'svc', groupId: 'id of a' } as const
    await store.groups.insertMember(zone.id, byHand)
    await arrive({ mapped: ['a', 'b'] })
    assert.deepEqual(await names(), ['a', 'b'])
    await arrive({ mapped: ['c'] })
    assert.deepEqual(await names(), ['a', 'c'])
    await arrive({})
    assert.deepEqual(await names(), ['a'])
    assert.deepEqual(
      events.map(({ type, principal, origin, data }) => [type, principal, origin, data]),
      [
        ['GroupModifiedEvent', 'id of b', 'corp', '["added=pat","origin=corp"]'],
        ['GroupModifiedEvent', 'id of b', 'corp', '["removed=pat","origin=corp"]'],
        ['GroupModifiedEvent', 'id of c', 'corp', '["added=pat","origin=corp"]'],
        ['GroupModifiedEvent', 'id of c', 'corp', '["removed=pat","origin=corp"]'],
      ],
    )
    events = []
    await arrive({})
    assert.deepEqual(events, [])
  })

  // Partly covers external groups: AS_SCOPES
  it('adds groups as scopes, and creates missing ones if addsMissing', async () => {
    await addGroup('App.Read')
    assert.deepEqual(await arrive({ asScopes: ['app.read', 'app.new'], addsMissing: false, roles: 'memberships' }), [
      'App.Read',
    ])
    assert.deepEqual(await names(), ['App.Read'])
    assert.deepEqual(await arrive({ asScopes: ['app.read', 'app.new', 'APP.NEW'], roles: 'memberships' }), [
      'APP.NEW',
      'App.Read',
    ])
    assert.deepEqual(await names(), ['APP.NEW', 'App.Read'])
    const created = events.filter(({ type }) => type === 'GroupCreatedEvent')
    assert.deepEqual(
      created.map(({ data }) => data),
      ['["group_name=APP.NEW"]'],
    )
  })

  // Partly covers external groups: missing groups are created
  it('creates only groups that the zone allows, and none before the sign-in succeeds', async () => {
    await useZone(`${zone.id}-closed`, { userConfig: { allowedGroups: ['app.read'] } })
    await arrive({ asScopes: ['app.read', 'app.write'] })
    assert.deepEqual(await names(), ['app.read'])
    await memberships.resolve(zone, { originKey: 'corp', config: {} }, says({ asScopes: ['app.other'] }))
    assert.equal(await store.groups.findByName(zone.id, 'app.other'), undefined)
  })

  it('ignores group names with characters that are invalid in scopes', async () => {
    for (const name of ['app.read svc.admin', 'a\tb', 'ä', 'a"b', 'a\\b', '', 'x'.repeat(256), 'a\n']) {
      assert.deepEqual(await arrive({ asScopes: [name], roles: 'memberships' }), [], JSON.stringify(name))
    }
    assert.deepEqual(await names(), [])
  })

  it('adds no memberships in default groups', async () => {
    assert.deepEqual(await arrive({ asScopes: ['openid', 'svc.user'], roles: 'memberships' }), [])
    assert.deepEqual(await names(), [])
  })

  for (const name of ADMINISTRATIVE) {
    it(`does not grant the administrative group ${name} by a wildcard`, async () => {
      await addGroup(name)
      for (const whitelist of [undefined, [], ['*'], [`${name}*`], [name.slice(0, -1)]]) {
        assert.deepEqual(await arrive({ asScopes: [name], roles: 'memberships' }, whitelist), [])
      }
      assert.deepEqual(await names(), [])
    })
  }

  it('grants an administrative group that the whitelist names exactly', async () => {
    await addGroup('svc.admin')
    assert.deepEqual(await arrive({ asScopes: ['svc.admin', 'scim.write'] }, ['svc.admin', '*']), [])
    assert.deepEqual(await names(), ['svc.admin'])
    await arrive({ asScopes: ['zones.other.admin'] }, ['zones.other.admin'])
    assert.deepEqual(await names(), [])
  })

  it('grants zones.*.admin in the default zone only', async () => {
    await useZone('svc')
    await arrive({ asScopes: ['zones.one.admin'] })
    assert.deepEqual(await names(), [])
    await arrive({ asScopes: ['zones.one.admin'] }, ['zones.one.admin'])
    assert.deepEqual(await names(), ['zones.one.admin'])
  })

  it('grants a group nested in an administrative one only if the whitelist names it', async () => {
    for (const name of ['ops', 'team', 'svc.admin']) await addGroup(name)
    for (const [inner, outer] of [
      ['ops', 'team'],
      ['team', 'svc.admin'],
    ] as const) {
      const member = { memberId: `id of ${inner}`, memberType: 'GROUP', origin: 'svc' } as const
      await store.groups.insertMember(zone.id, { ...member, groupId: `id of ${outer}` })
    }
    assert.deepEqual(await arrive({ asScopes: ['ops'], roles: 'memberships' }), [])
    assert.deepEqual(await names(), [])
    assert.deepEqual(await arrive({ asScopes: ['ops'], roles: 'memberships' }, ['ops']), ['ops'])
    assert.deepEqual(await names(), ['ops', 'svc.admin', 'team'])
  })

  it('applies the whitelist to groups and roles', async () => {
    await addGroup('app.read')
    await map('staff', 'app.read')
    const said = { mapped: ['staff'], asScopes: ['app.write', 'db.read'], roles: 'memberships' } as const
    assert.deepEqual(await arrive({ ...said, keeps: ['app.*'] }), ['app.read', 'app.write'])
    assert.deepEqual(await names(), ['app.read', 'app.write'])
    assert.deepEqual(await arrive({ ...said, keeps: ['none'] }), [])
    assert.deepEqual(await names(), [])
  })

  it('removes duplicate roles', async () => {
    assert.deepEqual(await arrive({ roles: ['b', 'a', 'b'] }), ['a', 'b'])
  })

  it('refuses too many groups or roles, and changes nothing', async () => {
    const many = Array.from({ length: 1001 }, (_, n) => `g${n}`)
    assert.equal(await arrive({ mapped: many }), TOO_MANY)
    assert.equal(await arrive({ asScopes: many }), TOO_MANY)
    assert.equal(await arrive({ roles: many }), TOO_MANY)
    assert.equal(await arrive({ roles: ['r'.repeat(65_537)] }), TOO_MANY)
    assert.deepEqual([await names(), events], [[], []])
  })
})

describe('matcherOf', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['app', 'app', true],
    ['app', 'App', false],
    ['app', 'application', false],
    ['*', '', true],
    ['*', 'a.b c', true],
    ['app.*', 'app.', true],
    ['app.*', 'app', false],
    ['*.read', 'app.read', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*b*c', 'a1b2c', true],
    ['a*b*c', 'acb', false],
    ['a*bc*c', 'abc', false],
    ['(a+)+', 'aaaa', false],
  ]
  for (const [pattern, name, want] of cases) {
    it(`${pattern} ${want ? 'matches' : 'does not match'} ${name}`, () => {
      assert.equal(matcherOf([pattern])(name), want)
    })
  }
})
