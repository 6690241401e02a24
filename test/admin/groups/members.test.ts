// `/Groups/{id}/members` and below.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertRefused, HOST_OF_Z1, startGroupServer, TO_Z1 } from '../../support/groups.ts'
import type { GroupServer } from '../../support/groups.ts'
import { MODES } from '../../support/oauth.ts'

for (const mode of MODES) {
  describe(`Group members (${mode})`, () => {
    let api: GroupServer
    let gu1 = ''
    let gu2 = ''
    let group = ''
    let nested = ''
    before(async () => {
      api = await startGroupServer(mode)
      gu1 = await api.userId('gu1')
      gu2 = await api.userId('gu2')
      group = await api.make('m.group')
      nested = await api.make('m.nested')
    })
    after(() => api.stop())

    const post = (body: unknown, to = group) => api.send('POST', `/Groups/${to}/members`, body)

    // Covers GET /Groups/{id}: header: ETag
    // Covers GET /Groups/{id}/members/{memberId}: response: member
    // Covers POST /Groups/{id}/members: value; type; origin
    // Covers DELETE /Groups/{id}/members/{memberId}: response: removed member
    it('are added, read and removed without a new version of the group', async () => {
      const added = await post({ origin: 'svc', type: 'USER', value: gu1 })
      assert.deepEqual([added.status, added.json()], [201, { origin: 'svc', type: 'USER', value: gu1 }])
      const short = await post({ value: gu2, unknown: 1 })
      assert.deepEqual([short.status, short.json()], [201, { origin: 'svc', type: 'USER', value: gu2 }])
      const inner = await post({ type: 'GROUP', value: nested, origin: 'ldap' })
      assert.deepEqual([inner.status, inner.json()], [201, { origin: 'ldap', type: 'GROUP', value: nested }])
      const path = `/Groups/${group}/members`
      for (const want of [added, short, inner].map(answer => answer.json())) {
        for (const method of ['GET', 'PUT']) {
          const found = await api.send(method, `${path}/${String(want['value'])}`, method === 'PUT' ? {} : undefined)
          assert.deepEqual([found.status, found.json()], [200, want])
        }
      }
      const all = (await api.send('GET', path)).json<readonly { value: string }[]>()
      assert.deepEqual(all.map(({ value }) => value).toSorted(), [gu1, gu2, nested].toSorted())
      const removed = await api.send('DELETE', `${path}/${gu2}`)
      assert.deepEqual([removed.status, removed.json()], [200, short.json()])
      assert.equal((await api.send('GET', `/Groups/${group}`)).headers['etag'], '"0"')
    })

    it('default to users if the type is null, as sent by cf-java-client', async () => {
      const id = await api.make('m.untyped', [{ value: gu1, type: null }])
      const added = await post({ value: gu2, type: null }, id)
      assert.deepEqual([added.status, added.json()], [201, { value: gu2, type: 'USER', origin: 'svc' }])
      const found = (await api.send('GET', `/Groups/${id}/members/${gu1}`)).json<{ type: string }>()
      assert.equal(found.type, 'USER')
    })

    // Covers Group resource: members[].entity
    // Covers GET /Groups/{id}/members: returnEntities; filter
    it('are listed with their entities', async () => {
      const id = await api.make('m.records', [{ value: gu1 }, { value: nested, type: 'GROUP' }])
      const answer = await api.send('GET', `/Groups/${id}/members?returnEntities=true&filter=ignored`)
      const found = answer.json<readonly { type: string; entity: Record<string, unknown> }[]>()
      const userEntity = found.find(({ type }) => type === 'USER')?.entity
      assert.deepEqual([userEntity?.['id'], userEntity?.['userName']], [gu1, 'gu1'])
      assert.equal(userEntity?.['groups'], undefined)
      const groupEntity = found.find(({ type }) => type === 'GROUP')?.entity
      const { members: _, ...want } = (await api.send('GET', `/Groups/${nested}`)).json()
      assert.deepEqual(groupEntity, want)
      assert.deepEqual((await api.send('GET', `/Groups/${nested}/members`)).json(), [])
    })

    // Covers SCIM errors: error: member_already_exists
    // Covers POST /Groups/{id}/members: error: not found; already a member; empty member
    it('are rejected if invalid, unknown or existing', async () => {
      const id = await api.make('m.refused', [{ value: gu1 }])
      const rows: readonly (readonly [to: string, body: unknown, want: string, description?: string])[] = [
        [id, { value: gu1 }, '409 member_already_exists', `${gu1} is already part of the group: ${id}`],
        [id, { value: 'none' }, '404 scim_resource_not_found', 'User none does not exist'],
        [id, { value: 'none', type: 'GROUP' }, '404 scim_resource_not_found', 'Group none does not exist'],
        [id, { value: gu2, type: 'GROUP' }, '404 scim_resource_not_found', `Group ${gu2} does not exist`],
        [id, { value: nested }, '404 scim_resource_not_found', `User ${nested} does not exist`],
        [id, { value: await api.userId('theirs', 'z1') }, '404 scim_resource_not_found'],
        [id, { value: gu2, type: 'X' }, '400 scim', 'The type of a member must be USER or GROUP'],
        [id, { value: gu2, type: 'user' }, '400 scim'],
        [id, { value: 7 }, '400 scim'],
        [id, { value: 'x\0' }, '404 scim_resource_not_found'],
        // Covers group rules: member inside itself
        [id, { value: id, type: 'GROUP' }, '400 invalid_scim_resource', 'trying to nest group within itself, aborting'],
        ...[{ type: 'USER' }, { value: '' }, { value: null }, { value: gu2, origin: '' }].map(
          body =>
            [
              id,
              body,
              '400 invalid_scim_resource',
              'group-id, member-id, origin and member-type must be non-empty',
            ] as const,
        ),
        ['none', { value: gu1 }, '404 scim_resource_not_found', 'Group none does not exist'],
        [
          await api.groupId('openid'),
          { value: gu1 },
          '409 member_already_exists',
          'Trying to add member to default group',
        ],
      ]
      for (const [to, body, want, description] of rows) assertRefused(await post(body, to), want, description)
      const members = (await api.send('GET', `/Groups/${id}/members`)).json<readonly { value: string }[]>()
      assert.deepEqual(
        members.map(({ value }) => value),
        [gu1],
      )
    })

    // Covers SCIM errors: error: member_not_found
    // Covers GET /Groups/{id}/members: error: not found
    // Covers GET /Groups/{id}/members/{memberId}: error: member_not_found
    // Covers DELETE /Groups/{id}/members/{memberId}: error: member_not_found
    // Covers PUT /Groups/{id}/members/{memberId}: error: member_not_found
    it('answer 404 if unknown', async () => {
      const other = await api.make('m.other')
      for (const [id, memberId] of [
        [other, gu1],
        [group, 'none'],
        ['none', gu1],
        [await api.groupId('openid'), gu1],
      ] as const) {
        const reported = `Member ${memberId} does not exist in group ${id}`
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const answer = await api.send(method, `/Groups/${id}/members/${memberId}`, method === 'PUT' ? {} : undefined)
          assertRefused(answer, '404 member_not_found', reported)
        }
      }
      const unknown = await api.send('GET', '/Groups/none/members')
      assertRefused(unknown, '404 scim_resource_not_found', 'Group none does not exist')
    })

    it('are not accessible from another zone', async () => {
      const path = `/Groups/${group}/members`
      const before = (await api.send('GET', path)).text
      for (const request of [
        { headers: TO_Z1 },
        { bearer: await api.tokenOf('native', HOST_OF_Z1), host: HOST_OF_Z1 },
      ]) {
        assert.equal((await api.send('GET', path, undefined, request)).status, 404)
        assert.equal((await api.send('GET', `${path}/${gu1}`, undefined, request)).status, 404)
        assert.equal((await api.send('DELETE', `${path}/${gu1}`, undefined, request)).status, 404)
        assert.equal((await api.send('POST', path, { value: gu2 }, request)).status, 404)
      }
      assert.equal((await api.send('GET', path)).text, before)
    })

    it('are returned completely if there are thousands', async () => {
      const id = await api.make('m.huge')
      const { store } = api.server
      const ids = Array.from({ length: 2500 }, (_, n) => `huge-${String(n).padStart(4, '0')}`)
      await Promise.all(
        ids.map(memberId =>
          store.groups.addMember('svc', { groupId: id, memberId, memberType: 'USER', origin: 'svc' }),
        ),
      )
      const values = (members: readonly { value: string }[]) => members.map(({ value }) => value)
      assert.deepEqual(values((await api.send('GET', `/Groups/${id}/members`)).json()), ids)
      assert.deepEqual(values((await api.send('GET', `/Groups/${id}/members?returnEntities=true`)).json()), ids)
      const whole = (await api.send('GET', `/Groups/${id}`)).json<{ members: { value: string }[]; schemas: unknown }>()
      assert.deepEqual(values(whole.members), ids)
      const filter = 'displayName sw "m."'
      const query = { filter, attributes: 'displayName,members,id' }
      const listed = (await api.send('GET', '/Groups', undefined, { query })).json<{
        resources: { displayName: string; members: { value: string }[] }[]
      }>().resources
      assert.ok(listed.length > 3)
      for (const { displayName, members } of listed) {
        const group = await api.groupId(displayName)
        assert.deepEqual(members, (await api.send('GET', `/Groups/${group}/members`)).json(), displayName)
      }
      const gone = (await api.send('DELETE', `/Groups/${id}`)).json<{ members: { value: string }[] }>()
      assert.deepEqual(values(gone.members), ids)
    })
  })
}
