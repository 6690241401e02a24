// `/Groups/External` and below.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertRefused, startGroupServer, TO_Z1 } from '../../support/groups.ts'
import type { GroupServer } from '../../support/groups.ts'
import { MODES } from '../../support/oauth.ts'

const SCHEMAS = ['urn:scim:schemas:core:1.0']

for (const mode of MODES) {
  describe(`External group mappings (${mode})`, () => {
    let api: GroupServer
    let id = ''
    before(async () => {
      api = await startGroupServer(mode)
      id = await api.make('cool.renamed')
      await api.make('m.group')
    })
    after(() => api.stop())

    const post = (body: unknown) => api.send('POST', '/Groups/External', body)
    const remove = (path: string) => api.send('DELETE', `/Groups/External/${path}`)

    // Covers POST /Groups/External: groupId; displayName; externalGroup; origin
    it('are created once, by group id or name', async () => {
      const first = await post({ groupId: id, externalGroup: ' cn=One,ou=Groups' })
      assert.equal(first.status, 201, first.text)
      const { meta } = first.json<{ meta: { created: string } }>()
      assert.deepEqual(first.json(), {
        meta: { version: 0, created: meta.created, lastModified: meta.created },
        groupId: id,
        externalGroup: 'cn=one,ou=groups',
        displayName: 'cool.renamed',
        origin: 'ldap',
        schemas: SCHEMAS,
      })
      api.server.clock.advance(50)
      for (const externalGroup of ['cn=One,ou=Groups', 'CN=ONE,ou=Groups']) {
        assert.deepEqual((await post({ groupId: id, displayName: 'none', externalGroup })).json(), first.json())
      }
      const named = await post({ displayName: 'M.Group', externalGroup: 'saml-role', origin: 'my-saml' })
      const { displayName, origin, externalGroup } = named.json()
      assert.deepEqual(
        { displayName, origin, externalGroup },
        {
          displayName: 'm.group',
          origin: 'my-saml',
          externalGroup: 'saml-role',
        },
      )
    })

    const refusals: readonly (readonly [body: () => object, want: string, description?: string])[] = [
      [() => ({ groupId: 'none', externalGroup: 'x' }), '404 scim', 'Group none does not exist'],
      [() => ({ displayName: 'none', externalGroup: 'x' }), '404 scim', 'Group not found:none'],
      // Covers POST /Groups/External: error: group not found
      [() => ({ externalGroup: 'x' }), '404 scim', 'Group not found, not name provided'],
      ...[undefined, '', '  '].map(
        externalGroup =>
          [
            () => ({ groupId: id, externalGroup }),
            '412 scim_resource_constraint_failed',
            // Covers SCIM errors: error: scim_resource_constraint_failed
            // Covers POST /Groups/External: error: empty externalGroup
            'external group must not be null when mapping an external group',
          ] as const,
      ),
      [() => ({ groupId: id, externalGroup: 'x'.repeat(256) }), '400 scim'],
      [() => ({ groupId: id, externalGroup: 'x', origin: 'x'.repeat(37) }), '400 scim'],
      [() => ({ groupId: id, externalGroup: 'a\0' }), '400 scim', 'externalGroup must be a string'],
      [() => ({ groupId: 7, externalGroup: 'a' }), '400 scim', 'groupId must be a string'],
    ]
    for (const [body, want, description] of refusals) {
      it(`are rejected: ${JSON.stringify(body())}`, async () => {
        assertRefused(await post(body()), want, description)
      })
    }

    for (const path of ['', '/list']) {
      const list = async (query: string) => {
        const answer = await api.send('GET', `/Groups/External${path}?${query}`)
        assert.equal(answer.status, 200, answer.text)
        return answer.json<{ resources: Record<string, unknown>[]; totalResults: number; itemsPerPage: number }>()
      }

      // Covers GET /Groups/External: startIndex; count; origin; externalGroup; filter; response: groupId; displayName
      // Covers GET /Groups/External: response: externalGroup; origin
      // Covers GET /Groups/External/list: startIndex; count; filter
      it(`are listed at /Groups/External${path}`, async () => {
        const m = await api.groupId('m.group')
        const one = { groupId: id, displayName: 'cool.renamed', externalGroup: 'cn=one,ou=groups', origin: 'ldap' }
        const two = { groupId: m, displayName: 'm.group', externalGroup: 'saml-role', origin: 'my-saml' }
        const rest = { startIndex: 1, totalResults: 2, schemas: SCHEMAS }
        assert.deepEqual(await list(''), { ...rest, resources: [one, two], itemsPerPage: 2 })
        assert.deepEqual(await list('startIndex=-3'), { ...rest, resources: [one, two], itemsPerPage: 2 })
        assert.deepEqual(await list('startIndex=2&count=1'), {
          ...rest,
          startIndex: 2,
          resources: [two],
          itemsPerPage: 1,
        })
        const filtered = { ...rest, totalResults: 1, itemsPerPage: 1, resources: [two] }
        assert.deepEqual(await list('filter=externalGroup+eq+%22saml-role%22'), filtered)
        assert.deepEqual(await list('filter=origin+eq+%22my-saml%22+and+externalgroup+eq+%22saml-role%22'), filtered)
        if (path === '') {
          assert.deepEqual(await list('origin=my-saml'), filtered)
          assert.deepEqual(await list('externalGroup=saml-role'), filtered)
          assert.equal((await list('externalGroup=SAML-role')).totalResults, 0)
        }
      })

      const unsupported = 'Filter not supported, please use origin and externalGroup parameters'
      for (const [query, description] of [
        // Covers GET /Groups/External: error: filter not supported
        ['filter=displayName+eq+%22m.group%22', unsupported],
        ['filter=x+y', unsupported],
        ['filter=origin+eq+1', unsupported],
        ['filter=origin+sw+%22a%22', unsupported],
        ['filter=origin+eq+%22a%22+or+origin+eq+%22b%22', unsupported],
        ['filter=origin+eq+%22a%22+and+origin+eq+%22b%22', unsupported],
        ['count=x', 'The parameter count must be a whole number'],
        ['startIndex=1e3', 'The parameter startIndex must be a whole number'],
      ] as const) {
        it(`are rejected at /Groups/External${path}?${query}`, async () => {
          assertRefused(await api.send('GET', `/Groups/External${path}?${query}`), '400 scim', description)
        })
      }
    }

    // Covers GET /Groups/External: error: filter with origin
    it('cannot be listed by both filter and origin', async () => {
      const reported =
        'Deprecated filter parameter may not be used in conjunction with origin or externalGroup parameters'
      const answer = await api.send('GET', '/Groups/External?filter=origin+eq+%22x%22&origin=x')
      assertRefused(answer, '400 scim', reported)
    })

    // Covers DELETE /Groups/External/groupId/{groupId}/externalGroup/{externalGroup}/origin/{origin}: response: removed mapping
    // Covers DELETE /Groups/External/displayName/{displayName}/externalGroup/{externalGroup}/origin/{origin}: response: removed mapping
    // Covers DELETE /Groups/External/groupId/{groupId}/externalGroup/{externalGroup}: response: removed mapping
    // Covers DELETE /Groups/External/displayName/{displayName}/externalGroup/{externalGroup}: response: removed mapping
    // Covers DELETE /Groups/External/id/{groupId}/{externalGroup}: response: removed mapping
    // Covers DELETE /Groups/External/{displayName}/{externalGroup}: response: removed mapping
    it('can be deleted by six paths', async () => {
      const long = `cn=${'x'.repeat(200)}/y,ou=groups`
      for (const externalGroup of ['ext0', 'ext1', 'ext2', 'ext3', long]) {
        await post({ groupId: id, externalGroup })
      }
      for (const [path, externalGroup] of [
        [`groupId/${id}/externalGroup/cn%3DOne%2Cou%3DGroups/origin/ldap`, 'cn=one,ou=groups'],
        ['displayName/m.group/externalGroup/saml-role/origin/my-saml', 'saml-role'],
        [`groupId/${id}/externalGroup/ext0`, 'ext0'],
        ['displayName/cool.renamed/externalGroup/EXT1', 'ext1'],
        [`id/${id}/ext2`, 'ext2'],
        ['cool.renamed/ext3', 'ext3'],
        [`groupId/${id}/externalGroup/${encodeURIComponent(long)}`, long],
      ] as const) {
        const answer = await remove(path)
        assert.deepEqual([answer.status, answer.json()['externalGroup']], [200, externalGroup], answer.text)
        assert.deepEqual(answer.json()['schemas'], SCHEMAS)
        assert.equal((await remove(path)).status, 404)
      }
      assert.equal((await api.send('GET', '/Groups/External')).json()['totalResults'], 0)
    })

    // Covers DELETE /Groups/External/groupId/{groupId}/externalGroup/{externalGroup}/origin/{origin}: error: not found
    it('answer 404 for a deletion of unknown mappings', async () => {
      await post({ groupId: id, externalGroup: 'kept' })
      const missing = `The mapping between groupId ${id} and external group`
      for (const [path, description] of [
        [`groupId/${id}/externalGroup/None/origin/ldap`, `${missing} None does not exist`],
        [`groupId/${id}/externalGroup/kept/origin/other`, `${missing} kept does not exist`],
        ['displayName/none/externalGroup/kept/origin/ldap', 'Group not found:none'],
        ['groupId/none/externalGroup/kept', 'Group none does not exist'],
        ['id/none/kept', 'Group none does not exist'],
      ] as const) {
        assertRefused(await remove(path), '404 scim', description)
      }
      const elsewhere = { headers: TO_Z1 }
      const answer = await api.send('DELETE', `/Groups/External/id/${id}/kept`, undefined, elsewhere)
      assertRefused(answer, '404 scim', `Group ${id} does not exist`)
      assert.equal((await api.send('GET', '/Groups/External', undefined, elsewhere)).json()['totalResults'], 0)
      assert.equal((await remove(`id/${id}/kept`)).status, 200)
    })
  })
}
