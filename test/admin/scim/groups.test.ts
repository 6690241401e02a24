import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { Resource, ScimServer } from './support.ts'
import { GROUP_SCHEMA, patchOf, startScimServer, TO_Z1 } from './support.ts'

const OWN_GROUP = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0:Group'

interface GroupResource extends Resource {
  readonly displayName: string
  readonly members?: readonly { readonly value: string; readonly type: string; readonly $ref: string }[]
}

for (const mode of MODES) {
  describe(`SCIM groups in ${mode}`, () => {
    let scim: ScimServer
    let ids: readonly string[]
    let count = 0
    before(async () => {
      scim = await startScimServer(mode)
      const users = []
      for (let n = 0; n < 4; n += 1) users.push(await scim.createUser())
      ids = users.map(({ id }) => id)
    })
    after(async () => {
      assert.deepEqual(scim.server.faults, [])
      await scim.stop()
    })

    async function createGroup(members: readonly string[] = [], more: object = {}): Promise<GroupResource> {
      count += 1
      const body = {
        schemas: [GROUP_SCHEMA],
        displayName: `tour${count}`,
        members: members.map(value => ({ value })),
        ...more,
      }
      const answer = await scim.send('POST', '/Groups', { body })
      assert.equal(answer.status, 201, answer.text)
      return answer.json<GroupResource>()
    }
    async function membersOf(id: string): Promise<readonly string[]> {
      const { members = [] } = (await scim.send('GET', `/Groups/${id}`)).json<GroupResource>()
      return members.map(({ value }) => value).toSorted()
    }
    const sorted = (...places: readonly number[]): readonly string[] => places.map(place => ids[place] ?? '').toSorted()

    // Covers /scim/v2/Groups: rule: RFC 7643 §4.2, attributes
    it('have name, external id, description and members', async () => {
      const inner = await createGroup()
      const made = await createGroup([ids[0] ?? '', inner.id], {
        externalId: 'E-1',
        [OWN_GROUP]: { description: 'Tours' },
      })
      const read = (await scim.send('GET', `/Groups/${made.id}`)).json<GroupResource>()
      assert.deepEqual([read['externalId'], read[OWN_GROUP]], ['E-1', { description: 'Tours' }])
      assert.deepEqual(
        (read.members ?? []).toSorted((a, b) => (a.type < b.type ? -1 : 1)),
        [
          { value: inner.id, $ref: `http://localhost:8080/scim/v2/Groups/${inner.id}`, type: 'Group' },
          { value: ids[0], $ref: `http://localhost:8080/scim/v2/Users/${ids[0]}`, type: 'User' },
        ],
      )
      const found = await scim.send('GET', '/Groups', { query: { filter: 'externalId eq "E-1"' } })
      assert.deepEqual(
        found.json<{ Resources: readonly Resource[] }>().Resources.map(({ id }) => id),
        [made.id],
      )
      const user = (await scim.send('GET', `/Users/${ids[0]}`)).json<{
        groups: readonly { value: string; type: string }[]
      }>()
      assert.equal(user.groups.find(({ value }) => value === made.id)?.type, 'direct')
    })

    // Covers /scim/v2/Groups/{id}: rule: RFC 7643 §4.2, members
    it('are replaced by PUT with their members', async () => {
      const { id } = await createGroup([ids[0] ?? '', ids[1] ?? ''])
      const body = { schemas: [GROUP_SCHEMA], displayName: 'replaced', members: [{ value: ids[1] }, { value: ids[2] }] }
      const answer = await scim.send('PUT', `/Groups/${id}`, { body })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers['etag'], 'W/"1"')
      assert.deepEqual(await membersOf(id), sorted(1, 2))
      await scim.send('DELETE', `/Groups/${id}`)
    })

    const patches: readonly {
      name: string
      operations: (u: readonly string[]) => readonly unknown[]
      want: readonly number[]
    }[] = [
      {
        name: 'add a member',
        operations: u => [{ op: 'add', path: 'members', value: [{ value: u[2] }] }],
        want: [0, 1, 2],
      },
      {
        name: 'add a member without a path',
        operations: u => [{ op: 'add', value: { members: [{ value: u[2], display: 'x' }] } }],
        want: [0, 1, 2],
      },
      { name: 'remove a member', operations: u => [{ op: 'remove', path: `members[value eq "${u[0]}"]` }], want: [1] },
      {
        name: 'remove several members',
        operations: u => [{ op: 'remove', path: `members[value eq "${u[0]}" or value eq "${u[1]}"]` }],
        want: [],
      },
      {
        name: 'remove listed members',
        operations: u => [{ op: 'Remove', path: 'members', value: [{ value: u[0] }] }],
        want: [1],
      },
      {
        name: 'remove members by type',
        operations: () => [{ op: 'remove', path: 'members[type eq "User"]' }],
        want: [],
      },
      { name: 'remove all members', operations: () => [{ op: 'remove', path: 'members' }], want: [] },
      {
        name: 'replace all members',
        operations: u => [{ op: 'replace', path: 'members', value: [{ value: u[3] }] }],
        want: [3],
      },
      {
        name: 'replace all members and add one',
        operations: u => [
          { op: 'replace', path: 'members', value: [{ value: u[3] }] },
          { op: 'add', path: 'members', value: [{ value: u[0] }] },
          { op: 'remove', path: `members[value eq "${u[3]}"]` },
        ],
        want: [0],
      },
      {
        name: 'remove a member and add it again',
        operations: u => [
          { op: 'remove', path: `members[value eq "${u[0]}"]` },
          { op: 'add', path: 'members', value: [{ value: u[0] }] },
        ],
        want: [0, 1],
      },
      {
        name: 'ignore the removal of a non-member',
        operations: u => [{ op: 'remove', path: `members[value eq "${u[3]}"]` }],
        want: [0, 1],
      },
    ]
    for (const { name, operations, want } of patches) {
      it(`${name} by PATCH`, async () => {
        const { id } = await createGroup([ids[0] ?? '', ids[1] ?? ''])
        const answer = await scim.send('PATCH', `/Groups/${id}`, { body: patchOf(...operations(ids)) })
        assert.deepEqual([answer.status, answer.text], [204, ''])
        assert.deepEqual(await membersOf(id), sorted(...want))
      })
    }

    it('are renamed as by Okta, and returned if attributes are requested', async () => {
      const { id } = await createGroup([ids[0] ?? ''])
      const body = patchOf({ op: 'replace', value: { id, displayName: `renamed-${mode}` } })
      const answer = await scim.send('PATCH', `/Groups/${id}?attributes=displayName`, { body })
      assert.deepEqual(
        [answer.status, answer.json()['displayName'], answer.json()['members']],
        [200, `renamed-${mode}`, undefined],
      )
      assert.deepEqual(await membersOf(id), sorted(0))
    })

    it('take members that are named by their addresses only', async () => {
      const references = (...places: readonly number[]) =>
        places.map(place => ({ $ref: `http://localhost:8080/scim/v2/Users/${ids[place]}` }))
      const { id, displayName } = await createGroup([], { members: references(0, 1) })
      assert.deepEqual(await membersOf(id), sorted(0, 1))
      const path = `/Groups/${id}`
      const body = { schemas: [GROUP_SCHEMA], displayName, members: references(1, 2) }
      assert.equal((await scim.send('PUT', path, { body })).status, 200)
      assert.deepEqual(await membersOf(id), sorted(1, 2))
      const added = patchOf({ op: 'add', path: 'members', value: references(2, 3, 0) })
      assert.equal((await scim.send('PATCH', path, { body: added })).status, 204)
      assert.deepEqual(await membersOf(id), sorted(0, 1, 2, 3))
      const removed = patchOf(
        { op: 'add', path: 'members', value: references(0) },
        { op: 'remove', path: `members[value eq "${ids[0]}"]` },
      )
      assert.equal((await scim.send('PATCH', path, { body: removed })).status, 204)
      assert.deepEqual(await membersOf(id), sorted(1, 2, 3))
      const known = patchOf({ op: 'add', path: 'members', value: references(1) })
      const { version } = (await scim.send('GET', path)).json<GroupResource>().meta
      assert.equal((await scim.send('PATCH', path, { body: known })).headers['etag'], version)
    })

    it('return member names, or no members, if requested', async () => {
      const { id } = await createGroup([ids[0] ?? ''])
      const shown = (await scim.send('GET', `/Groups/${id}?attributes=members.display`)).json<GroupResource>()
      assert.match(JSON.stringify(shown.members), /^\[\{"display":"user\d+@example.org"\}\]$/)
      const query = { attributes: 'members.display', filter: `id eq "${id}"` }
      const named = (await scim.send('GET', '/Groups', { query })).json<{ Resources: readonly GroupResource[] }>()
      assert.deepEqual(named.Resources[0]?.members, shown.members)
      const list = await scim.send('GET', '/Groups', {
        query: { excludedAttributes: 'members', filter: `id eq "${id}"` },
      })
      assert.equal(list.json<{ Resources: readonly GroupResource[] }>().Resources[0]?.members, undefined)
    })

    it('support more than 1000 members', async () => {
      const { id } = await createGroup()
      const { store } = scim.server
      const template = await store.users.find('svc', ids[0] ?? '')
      assert.ok(template)
      const many = Array.from({ length: 1201 }, (_, n) => `member-${String(n).padStart(5, '0')}`)
      await Promise.all(
        many.map(async userId => {
          await store.users.insert('svc', { ...template, id: userId, userName: userId })
          await store.groups.addMember('svc', { groupId: id, memberId: userId, memberType: 'USER', origin: 'svc' })
        }),
      )
      assert.deepEqual(await membersOf(id), many)
      const answer = await scim.send('PATCH', `/Groups/${id}`, {
        body: patchOf({ op: 'add', path: 'members', value: [{ value: ids[0] }] }),
      })
      assert.equal(answer.status, 204)
      assert.equal((await membersOf(id)).length, 1202)
      await scim.send('DELETE', `/Groups/${id}`)
      for (const userId of many) await store.users.delete('svc', userId)
    })

    const refusals: readonly { name: string; operation: unknown; status?: number; scimType?: string }[] = [
      {
        name: 'an unknown member',
        operation: { op: 'add', path: 'members', value: [{ value: 'nobody' }] },
        scimType: 'invalidValue',
      },
      {
        name: 'a member of another type',
        operation: { op: 'add', path: 'members', value: [{ value: 'x', type: 'Robot' }] },
        scimType: 'invalidValue',
      },
      {
        name: 'a member without an id',
        operation: { op: 'add', path: 'members', value: [{ type: 'User' }] },
        scimType: 'invalidValue',
      },
      { name: 'the removal of displayName', operation: { op: 'remove', path: 'displayName' }, scimType: 'mutability' },
      { name: 'another id', operation: { op: 'replace', path: 'id', value: 'x' }, scimType: 'mutability' },
      { name: 'an unknown attribute', operation: { op: 'add', path: 'owner', value: 'x' }, scimType: 'invalidPath' },
      {
        name: 'a removal by the name of a member, which is not stored with it',
        operation: { op: 'remove', path: 'members[display sw "user"]' },
        scimType: 'invalidFilter',
      },
    ]
    for (const { name, operation, status = 400, scimType } of refusals) {
      it(`reject ${name} atomically`, async () => {
        const { id } = await createGroup([ids[0] ?? ''])
        const body = patchOf({ op: 'add', path: 'members', value: [{ value: ids[1] }] }, operation)
        const answer = await scim.send('PATCH', `/Groups/${id}`, { body })
        assert.deepEqual([answer.status, answer.json()['scimType']], [status, scimType], answer.text)
        assert.deepEqual(await membersOf(id), sorted(0))
      })
    }

    it('reject circular membership', async () => {
      const inner = await createGroup()
      const outer = await createGroup([inner.id])
      const body = patchOf({ op: 'add', path: 'members', value: [{ value: outer.id }] })
      const answer = await scim.send('PATCH', `/Groups/${inner.id}`, { body })
      assert.deepEqual([answer.status, answer.json()['scimType']], [400, 'invalidValue'], answer.text)
    })

    it('reject a taken name and a stale If-Match', async () => {
      const { id, displayName } = await createGroup()
      const body = { schemas: [GROUP_SCHEMA], displayName: displayName.toUpperCase() }
      const taken = await scim.send('POST', '/Groups', { body })
      assert.deepEqual([taken.status, taken.json()['scimType']], [409, 'uniqueness'])
      const { id: second } = await createGroup()
      const rename = patchOf({ op: 'replace', path: 'displayName', value: displayName })
      for (const renamed of [
        await scim.send('PUT', `/Groups/${second}`, { body }),
        await scim.send('PATCH', `/Groups/${second}`, { body: rename }),
      ]) {
        assert.deepEqual([renamed.status, renamed.json()['scimType']], [409, 'uniqueness'], renamed.text)
      }
      const other = { schemas: [GROUP_SCHEMA], displayName: `${displayName}.other` }
      assert.equal(
        (await scim.send('PUT', `/Groups/${id}`, { body: other, headers: { 'if-match': 'W/"4"' } })).status,
        412,
      )
      assert.equal((await scim.send('DELETE', `/Groups/${id}`, { headers: { 'if-match': 'W/"4"' } })).status, 412)
      assert.equal(
        (await scim.send('PUT', `/Groups/${id}`, { body: other, headers: { 'if-match': 'W/"0"' } })).status,
        200,
      )
      assert.equal((await scim.send('DELETE', `/Groups/${id}`, { headers: { 'if-match': 'W/"1"' } })).status, 204)
      assert.equal((await scim.send('GET', `/Groups/${id}`)).status, 404)
    })

    it('keep all concurrently added members', async () => {
      const { id } = await createGroup()
      await Promise.all(
        ids.map(value =>
          scim.send('PATCH', `/Groups/${id}`, { body: patchOf({ op: 'add', path: 'members', value: [{ value }] }) }),
        ),
      )
      assert.deepEqual(await membersOf(id), ids.toSorted())
    })

    it('require scim.write or scim.read in their zone', async () => {
      const { id } = await createGroup()
      const body = { schemas: [GROUP_SCHEMA], displayName: 'denied' }
      for (const by of ['reader', 'creator', 'stranger', 'z1-admin'] as const) {
        assert.equal((await scim.send('POST', '/Groups', { by, body })).status, 403, by)
        assert.equal((await scim.send('DELETE', `/Groups/${id}`, { by })).status, 403, by)
      }
      assert.equal((await scim.send('GET', `/Groups/${id}`, { by: 'z1-admin', headers: TO_Z1 })).status, 404)
      assert.equal((await scim.send('GET', `/Groups/${id}`, { by: 'reader' })).status, 200)
    })
  })
}
