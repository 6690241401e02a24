// `/Groups/zones`: groups of the default zone that give rights in other zones.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertRefused, HOST_OF_Z1, startGroupServer, TO_Z1 } from '../../support/groups.ts'
import type { GroupRequest, GroupServer } from '../../support/groups.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer } from '../../support/server.ts'

for (const mode of MODES) {
  describe(`Zone groups (${mode})`, () => {
    let api: GroupServer
    let gu1 = ''
    let gu2 = ''
    before(async () => {
      api = await startGroupServer(mode)
      gu1 = await api.userId('gu1')
      gu2 = await api.userId('gu2')
    })
    after(() => api.stop())

    const give = (displayName: string, members: unknown, request: GroupRequest = {}) =>
      api.send('POST', '/Groups/zones', { displayName, members }, { by: 'zoner', ...request })
    const take = (path: string, request: GroupRequest = {}) =>
      api.send('DELETE', `/Groups/zones/${path}`, undefined, { by: 'zoner', ...request })
    const membersIn = (answer: TestAnswer) =>
      answer.json<{ members: { value: string }[] }>().members.map(({ value }) => value)

    // Covers group rules: `zones.<id>.*` groups
    // Covers POST /Groups/zones: displayName; members
    it('are created with their first member, and extended by others', async () => {
      const first = await give('zones.gz.admin', [{ value: gu1, type: 'USER', origin: 'svc' }])
      assert.deepEqual([first.status, first.headers['etag'], membersIn(first)], [201, '"0"', [gu1]], first.text)
      assert.equal(first.json()['zoneId'], 'svc')
      const same = await give('zones.gz.admin', [{ value: gu1 }])
      assert.deepEqual([same.status, same.headers['etag'], membersIn(same)], [201, '"1"', [gu1]])
      const more = await give('zones.gz.admin', [{ value: gu2 }], { by: 'root' })
      assert.deepEqual([more.status, membersIn(more).toSorted()], [201, [gu1, gu2].toSorted()])
      assert.ok((await api.scopesOf('gu1')).includes('zones.gz.admin'))
    })

    it('have case-sensitive names, like zone ids', async () => {
      const group = await give('zones.case.admin', [{ value: gu1 }])
      assert.equal(group.status, 201)
      const refused = '409 scim_resource_already_exists'
      const message = 'A group with displayName: zones.CASE.admin already exists.'
      for (const by of ['zoner', 'root'] as const)
        assertRefused(await give('zones.CASE.admin', [{ value: gu2 }], { by }), refused, message)
      const absent = 'Group not found:zones.CASE.admin'
      assertRefused(await take(`${gu1}/CASE`), '404 scim', absent)
      assert.deepEqual(membersIn(await give('zones.case.admin', [{ value: gu1 }])), [gu1])
      assert.equal((await give('zones.SVC.admin', [{ value: gu1 }])).status, 403)
    })

    // Covers POST /Groups/zones: error: group name
    it('exist for certain rights only', async () => {
      const rows: readonly [name: string, status: number][] = [
        ['zones.gz.read', 201],
        ['zones.gz.clients.admin', 201],
        ['zones.gz.clients.read', 201],
        ['zones.gz.clients.write', 201],
        ['zones.gz.scim.read', 201],
        ['zones.gz.scim.write', 201],
        ['zones.gz.scim.create', 201],
        ['zones.gz.idps.read', 201],
        ['zones.nozone.admin', 201],
        ['zones.gz.idps.write', 400],
        ['zones.gz.nonsense', 400],
        ['zones.a.b.admin', 400],
        ['zones.gz.admin\n', 400],
        ['x zones.gz.admin', 400],
        ['svc.admin', 400],
        ['cool.group', 400],
      ]
      for (const [name, status] of rows) {
        const answer = await give(name, [{ value: gu1 }])
        if (status === 400) assertRefused(answer, '400 scim', 'Invalid group name.')
        else assert.equal(answer.status, status, `${name}: ${answer.text}`)
      }
    })

    // Covers POST /Groups/zones: error: no members
    it('reject empty lists and unknown members', async () => {
      const reported = 'Invalid group members, you have to add at least one member.'
      assertRefused(await give('zones.gz.admin', []), '400 scim', reported)
      assertRefused(await give('zones.gz.admin', null), '400 scim', reported)
      assertRefused(await give('zones.gz.admin', [{ value: 'none' }]), '400 scim', 'User none does not exist')
      assert.equal((await give('zones.fresh.admin', [{ value: 'none' }])).status, 400)
      assert.equal(await api.server.store.groups.findByName('svc', 'zones.fresh.admin'), undefined)
    })

    // Covers DELETE /Groups/zones/{userId}/{zoneId}: response: group; error: not an admin
    // Covers DELETE /Groups/zones/{userId}/{zoneId}/{scope}: response: group; error: group name; group not found
    it('lose a member by user and zone, for the admin right or a given one', async () => {
      const admin = await take(`${gu1}/gz`)
      assert.deepEqual([admin.status, membersIn(admin)], [200, [gu2]], admin.text)
      assert.match(String(admin.headers['etag']), /^"\d+"$/)
      assertRefused(await take(`${gu1}/gz`), '404 scim', 'User is not a zone admin.')
      const clients = await take(`${gu1}/gz/clients.read`)
      assert.deepEqual([clients.status, membersIn(clients)], [200, []])
      assert.equal((await take(`${gu1}/nozone`)).status, 200)
      assertRefused(await take('none/gz'), '404 scim', 'User is not a zone admin.')
      assertRefused(await take(`${gu1}/unknown`), '404 scim', 'Group not found:zones.unknown.admin')
      assertRefused(await take(`${gu1}/gz/nonsense`), '400 scim', 'Invalid group name.')
      assert.equal((await take(`${gu1}/gz/clients/read`)).status, mode === 'standard' ? 404 : 302)
    })

    it('require scim.zones in the default zone', async () => {
      for (const by of ['writer', 'zone-admin', 'stranger', 'z1-admin'] as const) {
        for (const answer of [
          await give('zones.gz.admin', [{ value: gu1 }], { by }),
          await take(`${gu2}/gz`, { by }),
        ]) {
          const { error, scope } = answer.json()
          assert.deepEqual([answer.status, error, scope], [403, 'insufficient_scope', 'svc.admin scim.zones'])
        }
      }
      for (const [id, host] of [
        ['native', HOST_OF_Z1],
        ['pretender', HOST_OF_Z1],
      ] as const) {
        const request = { bearer: await api.tokenOf(id, host), host }
        assert.equal((await give('zones.z1.admin', [{ value: gu1 }], request)).status, 403)
      }
      const elsewhere = await give('zones.z1.admin', [{ value: gu1 }], { by: 'root', headers: TO_Z1 })
      assert.equal(elsewhere.status, 403)
      assert.equal(await api.server.store.groups.findByName('svc', 'zones.z1.admin'), undefined)
    })

    it('are deleted with the zone', async () => {
      await give('zones.z1.admin', [{ value: gu1 }])
      const outer = await api.make('orders.of-z1', [{ value: await api.groupId('zones.z1.admin'), type: 'GROUP' }])
      assert.ok((await api.scopesOf('gu1')).includes('orders.of-z1'))
      const bearer = await api.tokenOf('root')
      assert.equal((await api.server.send('/identity-zones/z1', { method: 'DELETE', bearer })).status, 200)
      assert.equal(await api.server.store.groups.findByName('svc', 'zones.z1.admin'), undefined)
      assert.deepEqual((await api.send('GET', `/Groups/${outer}/members`)).json(), [])
      assert.ok(!(await api.scopesOf('gu1')).includes('orders.of-z1'))
    })
  })
}
