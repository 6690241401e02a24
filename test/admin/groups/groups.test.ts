// `/Groups` and `/Groups/{id}` like UAA, with each error.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertRefused, HOST_OF_Z1, startGroupServer, TO_Z1 } from '../../support/groups.ts'
import type { GroupRequest, GroupServer } from '../../support/groups.ts'
import { MODES } from '../../support/oauth.ts'

const USER = { origin: 'svc', type: 'USER' } as const

for (const mode of MODES) {
  describe(`/Groups (${mode})`, () => {
    let api: GroupServer
    let gu1 = ''
    let gu2 = ''
    let gu3 = ''
    before(async () => {
      api = await startGroupServer(mode)
      gu1 = await api.userId('gu1')
      gu2 = await api.userId('gu2')
      gu3 = await api.userId('gu3')
    })
    after(() => api.stop())

    const post = (body: unknown, request?: GroupRequest) => api.send('POST', '/Groups', body, request)

    describe('POST', () => {
      // Covers Group resource: id; displayName; description; zoneId; meta; schemas
      // Covers GET /Groups/{id}: id
      // Covers POST /Groups: displayName; description
      it('creates a group without members', async () => {
        const answer = await post({ displayName: 'cool.group', description: 'the cool ones' })
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.headers['etag'], '"0"')
        assert.match(String(answer.headers['content-type']), /^application\/json\b/)
        const { id, meta } = answer.json<{ id: string; meta: Record<string, unknown> }>()
        assert.deepEqual(answer.json(), {
          id,
          meta: { version: 0, created: meta['created'], lastModified: meta['created'] },
          displayName: 'cool.group',
          zoneId: 'svc',
          description: 'the cool ones',
          members: [],
          schemas: ['urn:scim:schemas:core:1.0'],
        })
        assert.deepEqual((await api.send('GET', `/Groups/${id}`)).json(), answer.json())
      })

      // Covers Group resource: members; members[].value; members[].type; members[].origin
      // Covers POST /Groups: members
      it('creates a group with users and groups; type and origin are optional', async () => {
        const inner = await api.make('m.group', [{ value: gu1 }, { value: gu2, type: 'USER', origin: 'ldap' }])
        const answer = await api.send('GET', `/Groups/${inner}`)
        const members = answer.json<{ members: { value: string }[] }>().members
        const want = [
          { ...USER, value: gu1 },
          { origin: 'ldap', type: 'USER', value: gu2 },
        ]
        assert.deepEqual(
          members.toSorted((a, b) => (a.value < b.value ? -1 : 1)),
          want.toSorted((a, b) => (a.value < b.value ? -1 : 1)),
        )
        const outer = await post({ displayName: 'outer.group', members: [{ value: inner, type: 'GROUP' }] })
        assert.deepEqual(outer.json()['members'], [{ origin: 'svc', type: 'GROUP', value: inner }])
      })

      // Like cf-uaac for `uaac member add` and `uaac member delete`.
      it('accepts a bare user id as a member', async () => {
        const group = await post({ displayName: 'bare.ids', members: [gu1] })
        assert.equal(group.status, 201, group.text)
        assert.deepEqual(group.json()['members'], [{ origin: 'svc', type: 'USER', value: gu1 }])
      })

      it('ignores id, zoneId and unknown members, and accepts a version', async () => {
        const answer = await post({
          id: 'own-id',
          displayName: 'own.id',
          zoneId: 'other',
          foo: 1,
          authorities: ['x'],
          meta: { version: 7 },
          members: null,
          description: null,
        })
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.headers['etag'], '"7"')
        assert.notEqual(answer.json()['id'], 'own-id')
        assert.equal(answer.json()['zoneId'], 'svc')
      })

      it('accepts a name with a space', async () => {
        assert.equal((await post({ displayName: 'with blank' })).status, 201)
      })

      const refusals: readonly { name: string; body: unknown; want: string; description?: string }[] = [
        // Covers POST /Groups: error: already exists
        {
          name: 'a name that is taken',
          body: { displayName: 'cool.group' },
          want: '409 scim_resource_already_exists',
          description: 'A group with displayName: cool.group already exists.',
        },
        {
          name: 'a taken name in another case',
          body: { displayName: 'Cool.Group' },
          want: '409 scim_resource_already_exists',
        },
        // Covers POST /Groups: error: no displayName
        {
          name: 'no name',
          body: { description: 'x' },
          want: '400 scim',
          description: 'A displayName must be provided.',
        },
        { name: 'an empty name', body: { displayName: '' }, want: '400 scim' },
        { name: 'a blank name', body: { displayName: ' \t' }, want: '400 scim' },
        { name: 'a name that is not a string', body: { displayName: ['x'] }, want: '400 scim' },
        { name: 'a name with a NUL character', body: { displayName: 'a\0b' }, want: '400 scim' },
        { name: 'a name that is too long', body: { displayName: 'x'.repeat(256) }, want: '400 scim' },
        {
          name: 'a description that is too long',
          body: { displayName: 'x', description: 'x'.repeat(256) },
          want: '400 scim',
        },
        // Covers POST /Groups: error: invalid member
        {
          name: 'an unknown member',
          body: { displayName: 'bad.member', members: [{ value: 'no-such' }] },
          want: '400 invalid_scim_resource',
          description: 'Invalid group member: no-such',
        },
        {
          name: 'a member without value',
          body: { displayName: 'bad.member', members: [{}] },
          want: '400 invalid_scim_resource',
          description: 'Invalid group member: ',
        },
        {
          name: 'an unknown type',
          body: { displayName: 'bad.member', members: [{ value: 'x', type: 'ROBOT' }] },
          want: '400 scim',
          description: 'The type of a member must be USER or GROUP',
        },
        {
          name: 'an origin that is null',
          body: { displayName: 'b', members: [{ value: 'x', origin: null }] },
          want: '400 scim',
          description: 'The origin of a member must be a string',
        },
        {
          name: 'an origin that is too long',
          body: { displayName: 'b', members: [{ value: 'x', origin: 'x'.repeat(37) }] },
          want: '400 scim',
        },
        {
          name: 'an origin with a NUL character',
          body: { displayName: 'b', members: [{ value: 'x', origin: '\0' }] },
          want: '400 scim',
        },
        {
          name: 'an invalid id',
          body: { displayName: 'b', members: [{ value: 'x'.repeat(256) }] },
          want: '400 scim',
        },
        {
          name: 'an id with a NUL character',
          body: { displayName: 'b', members: [{ value: '\0' }] },
          want: '400 invalid_scim_resource',
        },
        { name: 'members that are not a list', body: { displayName: 'b', members: {} }, want: '400 scim' },
        { name: 'a member that is a number', body: { displayName: 'b', members: [1] }, want: '400 scim' },
        {
          name: 'an unknown bare id',
          body: { displayName: 'b', members: ['x'] },
          want: '400 invalid_scim_resource',
        },
        { name: 'an invalid bare id', body: { displayName: 'b', members: ['x'.repeat(256)] }, want: '400 scim' },
        {
          name: 'an unknown schema',
          body: { displayName: 'b', schemas: ['urn:x'] },
          want: '400 scim',
          description: "Only schema 'urn:scim:schemas:core:1.0' is currently supported",
        },
        { name: 'a meta that is not an object', body: { displayName: 'b', meta: 'x' }, want: '400 scim' },
        { name: 'an invalid version', body: { displayName: 'b', meta: { version: -1 } }, want: '400 scim' },
        {
          name: 'members of a default group',
          body: { displayName: 'openid', members: [{ value: 'x' }] },
          want: '409 scim_resource_already_exists',
        },
        { name: 'a list', body: [], want: '400 scim' },
        { name: 'invalid JSON', body: '{bad', want: '400 scim' },
        { name: 'an empty body', body: '', want: '400 scim' },
      ]
      for (const { name, body, want, description } of refusals) {
        it(`refuses ${name}`, async () => {
          const before = (await api.send('GET', '/Groups?count=0')).json()['totalResults']
          assertRefused(await post(body), want, description)
          assert.equal((await api.send('GET', '/Groups?count=0')).json()['totalResults'], before)
        })
      }

      it('rejects members of the wrong type, repeated members and members of another zone', async () => {
        const group = await api.make('confused')
        for (const [members, odd] of [
          [[{ value: group, type: 'USER' }], group],
          [[{ value: gu1, type: 'GROUP' }], gu1],
          [[{ value: gu1 }, { value: gu1 }], gu1],
          [[{ value: await api.userId('theirs', 'z1') }], await api.userId('theirs', 'z1')],
        ] as const) {
          const answer = await post({ displayName: 'confusing', members })
          assertRefused(answer, '400 invalid_scim_resource', `Invalid group member: ${odd}`)
        }
        assert.equal(await api.server.store.groups.findByName('svc', 'confusing'), undefined)
      })

      it('refuses another content type', async () => {
        const answer = await api.send('POST', '/Groups', undefined, { form: { displayName: 'x' } })
        const reported = "Content type 'application/x-www-form-urlencoded' not supported"
        assertRefused(answer, '400 scim', reported)
      })

      it('rejects more than 10,000 members and a body that is too large', async () => {
        const members = Array.from({ length: 10_001 }, (_, n) => ({ value: `u${n}` }))
        assertRefused(await post({ displayName: 'many', members }), '400 scim')
        assert.equal((await post({ displayName: 'x', description: 'x'.repeat(3_000_000) })).status, 413)
      })
    })

    describe('GET', () => {
      // Covers GET /Groups/{id}: error: not found
      it('answers 404 for an unknown id', async () => {
        assertRefused(await api.send('GET', '/Groups/none'), '404 scim_resource_not_found', 'Group none does not exist')
      })

      const list = async (query: Readonly<Record<string, string>>) => {
        const answer = await api.send('GET', '/Groups', undefined, { query })
        assert.equal(answer.status, 200, answer.text)
        return answer.json<{ resources: Record<string, unknown>[]; totalResults: number; itemsPerPage: number }>()
      }

      it('lists groups with their members', async () => {
        const listed = await list({ filter: 'displayName eq "outer.group" or displayName eq "M.GROUP"' })
        for (const each of listed.resources) {
          assert.deepEqual(each, (await api.send('GET', `/Groups/${String(each['id'])}`)).json())
        }
        assert.equal(listed.resources.length, 2)
        assert.deepEqual(
          { ...listed, resources: [] },
          {
            resources: [],
            startIndex: 1,
            itemsPerPage: 100,
            totalResults: 2,
            schemas: ['urn:scim:schemas:core:1.0'],
          },
        )
      })

      // Covers GET /Groups: attributes
      it('returns exactly the requested attributes', async () => {
        const filter = 'displayName eq "m.group"'
        const of = async (attributes: string) => (await list({ filter, attributes })).resources
        const id = await api.groupId('m.group')
        assert.deepEqual(await of('id,displayName,description,members.value,meta.version'), [
          { id: id, displayName: 'm.group', description: null, 'members.value': null, 'meta.version': 0 },
        ])
        assert.deepEqual(Object.keys((await of('schemas,members,id'))[0] ?? {}), ['schemas', 'members', 'id'])
        assert.equal(Object((await of('members'))[0]?.['members']).length, 2)
        assert.deepEqual(await of('nonsense'), [{ nonsense: null }])
      })

      // Covers SCIM filter: filterable attributes of groups
      // Covers GET /Groups: filter; sortBy; sortOrder; startIndex; count
      it('filters, sorts and paginates', async () => {
        const names = async (query: Readonly<Record<string, string>>) =>
          (await list({ attributes: 'displayName', ...query })).resources.map(each => each['displayName'])
        assert.deepEqual(await names({ filter: 'displayName co "group"', sortBy: 'displayName' }), [
          'cool.group',
          ...(await api.server.store.groups.findByNames('svc', ['groups.update'])).map(each => each.displayName),
          'm.group',
          'outer.group',
        ])
        assert.deepEqual(await names({ filter: 'description eq "the cool ones"' }), ['cool.group'])
        assert.deepEqual(await names({ filter: "displayName sw 'm.'" }), ['m.group'])
        const page = { filter: 'displayName sw "m." or displayName sw "cool"', sortBy: 'displayName' }
        assert.deepEqual(await names({ ...page, sortOrder: 'descending' }), ['m.group', 'cool.group'])
        assert.deepEqual(await names({ ...page, sortOrder: 'Ascending' }), ['cool.group', 'm.group'])
        assert.deepEqual(await names({ ...page, startIndex: '2', count: '1' }), ['m.group'])
        assert.deepEqual(await names({ startIndex: '999' }), [])
        const none = await list({ count: '0' })
        assert.deepEqual([none.resources, none.itemsPerPage], [[], 0])
        assert.ok(none.totalResults > 4)
        assert.equal((await list({ count: '9999' })).itemsPerPage, 500)
      })

      for (const [query, description] of [
        ['filter=members.value+eq+%22x%22', 'Invalid filter expression: [members.value eq &quot;x&quot;]'],
        ['filter=displayName+eq', 'Invalid filter expression: [displayName eq]'],
        ['filter=displayName+ne+%22x%22', 'Invalid filter expression: [displayName ne &quot;x&quot;]'],
        ['filter=zoneId+eq+%22x%22', undefined],
        ['filter=not+displayName+sw+%22a%22', undefined],
        ['sortBy=nonsense', 'Invalid filter expression: [id pr]'],
        ['count=-1', undefined],
        ['count=many', undefined],
        ['startIndex=0', undefined],
        ['attributes=a..b', undefined],
      ] as const) {
        it(`rejects ${query}`, async () => {
          assertRefused(await api.send('GET', `/Groups?${query}`), '400 scim', description)
        })
      }
    })

    describe('PUT', () => {
      // Covers PUT /Groups/{id}: body; If-Match
      it('replaces name, description and all members', async () => {
        const id = await api.make('to.put', [{ value: gu1 }])
        const put = (ifMatch: string, body: unknown) => api.send('PUT', `/Groups/${id}`, body, { ifMatch })
        const full = await put('0', { displayName: 'to.put', description: 'd2', members: [{ value: gu2 }] })
        assert.equal(full.status, 200, full.text)
        assert.equal(full.headers['etag'], '"1"')
        assert.deepEqual(full.json()['members'], [{ ...USER, value: gu2 }])
        assert.equal(full.json()['description'], 'd2')
        const kept = await put('"1"', {
          displayName: 'to.put',
          members: [{ value: gu2, origin: 'ldap' }, { value: gu3 }],
        })
        assert.equal(kept.headers['etag'], '"2"')
        const origins = kept.json<{ members: { origin: string }[] }>().members.map(({ origin }) => origin)
        assert.deepEqual(origins, ['svc', 'svc'], 'the origin of a member is kept')
        const bare = await put('*', { displayName: 'put.renamed' })
        const { members, description, displayName } = bare.json()
        assert.deepEqual(
          { members, description, displayName },
          {
            members: [],
            description: undefined,
            displayName: 'put.renamed',
          },
        )
        assert.deepEqual((await api.send('GET', `/Groups/${id}`)).json(), bare.json())
      })

      // Covers PUT /Groups/{id}: error: not found
      it('rejects invalid requests without a change', async () => {
        const id = await api.make('not.put', [{ value: gu1 }])
        await api.make('put.taken')
        const before = (await api.send('GET', `/Groups/${id}`)).json()
        const rows: readonly [ifMatch: string | undefined, body: unknown, want: string, description?: string][] = [
          // Covers PUT /Groups/{id}: error: no If-Match
          [undefined, { displayName: 'not.put' }, '400 scim', 'Missing If-Match for PUT'],
          ['abc', { displayName: 'x' }, '400 scim', 'Invalid version match header (should be a version number): abc'],
          // Covers PUT /Groups/{id}: error: stale version
          ['1', { displayName: 'not.put' }, '409 scim'],
          [
            '*',
            { displayName: 'put.taken' },
            '400 invalid_scim_resource',
            // Covers PUT /Groups/{id}: error: name taken
            'A group with displayName: put.taken already exists',
          ],
          ['*', { description: 'x' }, '400 scim', 'A displayName must be provided.'],
          // Covers PUT /Groups/{id}: error: unknown member
          ['*', { displayName: 'not.put', members: [{ value: 'none' }] }, '400 scim', 'User none does not exist'],
          [
            '*',
            { displayName: 'x', members: [{ value: 'none', type: 'GROUP' }] },
            '400 scim',
            'Group none does not exist',
          ],
          [
            '*',
            { displayName: 'x', members: [{ value: gu1, type: 'GROUP' }] },
            '400 scim',
            `Group ${gu1} does not exist`,
          ],
          ['*', { displayName: 'x', members: [{ value: gu2 }, { value: gu2 }] }, '400 invalid_scim_resource'],
          [
            '*',
            { displayName: 'not.put', members: [{ value: id, type: 'GROUP' }] },
            '400 invalid_scim_resource',
            // Covers PUT /Groups/{id}: error: member inside itself
            'trying to nest group within itself, aborting',
          ],
        ]
        for (const [ifMatch, body, want, description] of rows) {
          const request = ifMatch === undefined ? {} : { ifMatch }
          assertRefused(await api.send('PUT', `/Groups/${id}`, body, request), want, description)
        }
        assert.deepEqual((await api.send('GET', `/Groups/${id}`)).json(), before)
        const missing = await api.send('PUT', '/Groups/none', { displayName: 'zz' }, { ifMatch: '*' })
        assertRefused(missing, '404 scim_resource_not_found', 'Group none does not exist')
      })

      // Covers PUT /Groups/{id}: error: default group
      it('rejects members of a default group', async () => {
        const id = await api.groupId('openid')
        const body = { displayName: 'openid', members: [{ value: gu1 }] }
        const answer = await api.send('PUT', `/Groups/${id}`, body, { ifMatch: '*' })
        assertRefused(answer, '409 member_already_exists', 'Trying to add member to default group')
      })
    })

    describe('PATCH', () => {
      // Covers Group resource: members[].operation
      // Covers PATCH /Groups/{id}: If-Match; meta.attributes; members; displayName; description
      it('changes the given members, and adds and removes group members', async () => {
        const id = await api.make('to.patch', [{ value: gu1 }])
        const patch = async (body: unknown) => {
          const answer = await api.send('PATCH', `/Groups/${id}`, body, { ifMatch: '*' })
          assert.equal(answer.status, 200, answer.text)
          const json = answer.json<{ members: { value: string }[]; description?: string; displayName: string }>()
          assert.deepEqual((await api.send('GET', `/Groups/${id}`)).json(), json)
          return [json.displayName, json.description, json.members.map(({ value }) => value).toSorted()]
        }
        const both = [gu1, gu3].toSorted()
        assert.deepEqual(await patch({ description: 'patched' }), ['to.patch', 'patched', [gu1]])
        assert.deepEqual(await patch({ members: [{ value: gu3 }] }), ['to.patch', 'patched', both])
        assert.deepEqual(await patch({ members: [{ value: gu3 }] }), ['to.patch', 'patched', both])
        const swap = [{ value: gu3, operation: 'DELETE' }, { value: gu2 }, { value: 'none', operation: 'delete' }]
        assert.deepEqual(await patch({ members: swap }), ['to.patch', 'patched', [gu1, gu2].toSorted()])
        assert.deepEqual(await patch({ meta: { attributes: ['members'] }, members: [{ value: gu2 }] }), [
          'to.patch',
          'patched',
          [gu2],
        ])
        assert.deepEqual(await patch({ meta: { attributes: ['members', 'description'] } }), ['to.patch', undefined, []])
        assert.deepEqual(await patch({ displayName: 'patched.name', meta: { attributes: ['displayName'] } }), [
          'patched.name',
          undefined,
          [],
        ])
        assert.deepEqual(await patch({}), ['patched.name', undefined, []])
        const { version } = (await api.send('GET', `/Groups/${id}`)).json<{ meta: { version: number } }>().meta
        assert.equal(version, 8)
      })

      it('rejects invalid requests without a change', async () => {
        const id = await api.make('not.patched', [{ value: gu1 }])
        const before = (await api.send('GET', `/Groups/${id}`)).json()
        const rows: readonly [ifMatch: string | undefined, body: unknown, want: string, description?: string][] = [
          [undefined, {}, '400 scim', 'Missing If-Match for PATCH'],
          ['7', {}, '409 scim'],
          [
            '*',
            { meta: { attributes: ['nonsense'] } },
            '400 scim',
            // Covers PATCH /Groups/{id}: error: attribute cannot be removed
            'Attribute nonsense cannot be removed using "Meta.attributes"',
          ],
          // Covers PATCH /Groups/{id}: error: zoneId or id
          ['*', { meta: { attributes: ['zoneId'] } }, '400 scim', 'Cannot delete or change ZoneId'],
          ['*', { meta: { attributes: ['id'] } }, '400 scim', 'Cannot delete or change ID'],
          ['*', { meta: { attributes: ['displayName'] } }, '400 scim', 'A displayName must be provided.'],
          ['*', { meta: { attributes: [1] } }, '400 scim'],
          ['*', { meta: { attributes: 'members' } }, '400 scim'],
          ['*', { members: [{ value: 'none' }] }, '400 scim', 'User none does not exist'],
          ['*', { members: [{ value: gu2 }, { value: gu2, operation: 'delete' }] }, '400 invalid_scim_resource'],
          ['*', { displayName: 'x', members: [{ value: id, type: 'GROUP' }] }, '400 invalid_scim_resource'],
        ]
        for (const [ifMatch, body, want, description] of rows) {
          const request = ifMatch === undefined ? {} : { ifMatch }
          assertRefused(await api.send('PATCH', `/Groups/${id}`, body, request), want, description)
        }
        assert.deepEqual((await api.send('GET', `/Groups/${id}`)).json(), before)
        const missing = await api.send('PATCH', '/Groups/none', {}, { ifMatch: '0' })
        assertRefused(missing, '404 scim_resource_not_found', 'Group none does not exist')
      })
    })

    describe('DELETE', () => {
      // Covers DELETE /Groups/{id}: If-Match; response: deleted group; error: not found; stale version
      it('deletes the group, and returns it with its members', async () => {
        const inner = await api.make('deleted.inner')
        const id = await api.make('deleted', [{ value: gu1 }, { value: inner, type: 'GROUP' }])
        await api.send('POST', '/Groups/External', { groupId: id, externalGroup: 'x' })
        const before = (await api.send('GET', `/Groups/${id}`)).json()
        const stale = await api.send('DELETE', `/Groups/${id}`, undefined, { ifMatch: '77' })
        assertRefused(stale, '409 scim', `error deleting group: ${id}`)
        const answer = await api.send('DELETE', `/Groups/${id}`)
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.headers['etag'], '"0"')
        assert.deepEqual(answer.json(), before)
        const again = await api.send('DELETE', `/Groups/${id}`)
        assertRefused(again, '404 scim_resource_not_found', `Group ${id} does not exist`)
        assert.equal((await api.send('GET', `/Groups/${inner}`)).status, 200)
      })

      it('deletes a default group', async () => {
        const id = await api.groupId('roles')
        assert.equal((await api.send('DELETE', `/Groups/${id}`, undefined, { ifMatch: '0' })).status, 200)
      })
    })

    it('answers 405 to other methods', async () => {
      const answer = await api.send('POST', `/Groups/${await api.groupId('cool.group')}`, {})
      assert.equal(answer.status, 405)
      assert.equal(answer.headers['allow'], 'GET, HEAD, PUT, PATCH, DELETE')
    })

    it('lists only methods in Allow that some caller may use', async () => {
      for (const [path, allow] of [
        ['/Users', 'GET, HEAD, POST'],
        ['/Users/x/password', 'PUT'],
        ['/scim/v2/Groups', 'GET, HEAD, POST'],
      ] as const) {
        const answer = await api.send('OPTIONS', path)
        assert.deepEqual([answer.status, answer.headers['allow']], [405, allow], path)
      }
    })

    // Covers audit trail: GroupCreatedEvent; GroupModifiedEvent; GroupDeletedEvent
    it('records each change with its caller in the audit log', async () => {
      const from = api.server.events.length
      const id = await api.make('audited', [{ value: gu1 }], { by: 'writer' })
      await api.send('PATCH', `/Groups/${id}`, { members: [{ value: gu2 }] }, { by: 'updater', ifMatch: '*' })
      await api.send('DELETE', `/Groups/${id}/members/${gu1}`)
      await api.send('DELETE', `/Groups/${id}`, undefined, { by: 'zone-admin' })
      const groupEvents = api.server.events.slice(from).filter(({ type }) => type.startsWith('Group'))
      assert.deepEqual(
        groupEvents.map(({ type, principal, clientId, data, zoneId }) => ({ type, principal, clientId, data, zoneId })),
        [
          ['GroupCreatedEvent', 'writer', `["group_name=audited","added=${gu1}"]`],
          ['GroupModifiedEvent', 'updater', `["group_name=audited","added=${gu2}"]`],
          ['GroupModifiedEvent', 'root', `["group_name=audited","removed=${gu1}"]`],
          ['GroupDeletedEvent', 'zone-admin', '["group_name=audited"]'],
        ].map(([type, clientId, data]) => ({ type, principal: id, clientId, data, zoneId: 'svc' })),
      )
    })

    describe('another zone', () => {
      it('has separate groups, for its administrators and those of the default zone', async () => {
        const mine = await api.groupId('cool.group')
        for (const by of ['root', 'z1-admin', 'z1-writer'] as const) {
          const made = await post({ displayName: `by.${by}` }, { by, headers: TO_Z1 })
          assert.equal(made.status, 201, made.text)
          assert.equal(made.json()['zoneId'], 'z1')
        }
        assertRefused(
          await api.send('GET', `/Groups/${mine}`, undefined, { headers: TO_Z1 }),
          '404 scim_resource_not_found',
        )
        const { resources } = (
          await api.send('GET', '/Groups?count=500&attributes=displayName', undefined, {
            by: 'z1-reader',
            headers: TO_Z1,
          })
        ).json<{ resources: { displayName: string }[] }>()
        assert.ok(resources.some(({ displayName }) => displayName === 'by.z1-admin'))
        assert.ok(!resources.some(({ displayName }) => displayName === 'cool.group'))
        const native = { bearer: await api.tokenOf('native', HOST_OF_Z1), host: HOST_OF_Z1 }
        assert.equal((await post({ displayName: 'by.native' }, native)).status, 201)
      })

      // Covers group rules: allowed groups
      // Covers POST /Groups: error: not allowed
      it('accepts only allowed and default groups', async () => {
        const { zones } = api.server.store
        const zone = await zones.find('z1')
        assert.ok(zone)
        const userConfig = { defaultGroups: ['everybody'], allowedGroups: ['sales'] }
        await zones.update({ ...zone, config: { ...zone.config, userConfig } })
        for (const displayName of ['sales', 'everybody']) {
          assert.equal((await post({ displayName }, { headers: TO_Z1 })).status, 201)
        }
        const reported = 'The group with displayName: marketing is not allowed in Identity Zone z1'
        const refused = await post({ displayName: 'marketing' }, { headers: TO_Z1 })
        assertRefused(refused, '400 invalid_scim_resource', reported)
        const id = await api.groupId('sales', 'z1')
        const renamed = await api.send(
          'PUT',
          `/Groups/${id}`,
          { displayName: 'marketing' },
          { headers: TO_Z1, ifMatch: '*' },
        )
        assertRefused(renamed, '400 invalid_scim_resource', reported)
        await zones.update(zone)
      })
    })

    it('applies membership, direct or indirect, to the next token', async () => {
      const outer = await api.make('orders.outer')
      const inner = await api.make('orders.inner', [{ value: gu1 }])
      const orders = async () => (await api.scopesOf('gu1')).filter(scope => scope.startsWith('orders.'))
      assert.deepEqual(await orders(), ['orders.inner'])
      await api.send('POST', `/Groups/${outer}/members`, { value: inner, type: 'GROUP' })
      assert.deepEqual(await orders(), ['orders.inner', 'orders.outer'])
      await api.send('DELETE', `/Groups/${outer}/members/${inner}`)
      assert.deepEqual(await orders(), ['orders.inner'])
      await api.send('DELETE', `/Groups/${inner}`)
      assert.deepEqual(await orders(), [])
    })
  })
}
