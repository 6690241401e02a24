// Requests of provisioning services in their order and form, from the connection test to the deletion of a user.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Resource, ScimServer } from './support.ts'
import { ENTERPRISE, GROUP_SCHEMA, OWN, PATCH_SCHEMA, startScimServer, USER_SCHEMA } from './support.ts'

const SCIM_UTF8 = { 'content-type': 'application/scim+json; charset=utf-8', accept: 'application/scim+json' }
const MICROSOFT = 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0'

interface Found {
  readonly totalResults: number
  readonly Resources: readonly Resource[]
}

async function run(steps: (scim: ScimServer) => Promise<void>): Promise<void> {
  const scim = await startScimServer()
  await steps(scim)
  assert.deepEqual(scim.server.faults, [])
  await scim.stop()
}

describe('Provisioning by Entra ID', () => {
  // Covers later standards: SCIM 2.0
  it('searches, creates, changes, disables and deletes a user with a group', () =>
    run(async scim => {
      const send = (method: string, path: string, body?: unknown) =>
        scim.send(method, path, { body, headers: SCIM_UTF8 })
      const find = async (path: string) => (await send('GET', path)).json<Found>()
      const random = await find('/Users?filter=userName+eq+%220b1c5b5c-5f5c-4d5e-8f4e-3f1e0d5a7f1a%22')
      assert.deepEqual([random.totalResults, random.Resources], [0, []])
      const byName = '/Users?filter=userName+eq+%22adele%40example.org%22'
      assert.equal((await find(byName)).totalResults, 0)
      const made = await send('POST', '/Users', {
        schemas: [USER_SCHEMA, ENTERPRISE],
        externalId: 'adele',
        userName: 'adele@example.org',
        active: true,
        displayName: 'Adele Vance',
        emails: [{ primary: true, type: 'work', value: 'adele@example.org' }],
        meta: { resourceType: 'User' },
        name: { formatted: 'Adele Vance', familyName: 'Vance', givenName: 'Adele' },
        title: 'Retail Manager',
        [ENTERPRISE]: { department: 'Retail', employeeNumber: '7' },
      })
      assert.equal(made.status, 201, made.text)
      const { id } = made.json<Resource>()
      assert.equal((await find(byName)).Resources[0]?.id, id)
      const changed = await send('PATCH', `/Users/${id}`, {
        schemas: [PATCH_SCHEMA],
        Operations: [
          { op: 'Replace', path: 'emails[type eq "work"].value', value: 'adele.vance@example.org' },
          { op: 'Replace', path: 'name.familyName', value: 'Vance-Smith' },
          { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555 0100' },
          { op: 'Add', path: 'addresses[type eq "work"].streetAddress', value: '1 Way' },
          { op: 'Add', path: `${ENTERPRISE}:manager`, value: id },
          { op: 'Remove', path: 'title' },
        ],
      })
      assert.equal(changed.status, 200, changed.text)
      const user = changed.json()
      assert.deepEqual(user['emails'], [{ value: 'adele.vance@example.org', type: 'work', primary: true }])
      assert.deepEqual(user['phoneNumbers'], [{ type: 'mobile', value: '+1 555 0100' }])
      assert.equal(user['title'], undefined)
      const group = await send('POST', '/Groups', {
        schemas: [GROUP_SCHEMA, `${MICROSOFT}/Group`],
        externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
        displayName: 'tours.guides',
        meta: { resourceType: 'Group' },
      })
      assert.equal(group.status, 201, group.text)
      const groupId = group.json<Resource>().id
      const byDisplayName = '/Groups?excludedAttributes=members&filter=displayName+eq+%22tours.guides%22'
      assert.equal((await find(byDisplayName)).Resources[0]?.id, groupId)
      const members = (op: string) => ({
        schemas: [PATCH_SCHEMA],
        Operations: [{ op, path: 'members', value: [{ $ref: null, value: id }] }],
      })
      assert.equal((await send('PATCH', `/Groups/${groupId}`, members('Add'))).status, 204)
      const isMember = `/Groups?excludedAttributes=members&filter=id+eq+%22${groupId}%22+and+members+eq+%22${id}%22`
      assert.equal((await find(isMember)).totalResults, 1)
      assert.equal((await send('PATCH', `/Groups/${groupId}`, members('Remove'))).status, 204)
      assert.equal((await find(isMember)).totalResults, 0)
      const disable = { schemas: [PATCH_SCHEMA], Operations: [{ op: 'Replace', path: 'active', value: 'False' }] }
      assert.equal((await send('PATCH', `/Users/${id}`, disable)).json()['active'], false)
      assert.equal((await send('DELETE', `/Users/${id}`)).status, 204)
      assert.equal((await send('GET', `/Users/${id}`)).status, 404)
      assert.equal((await send('DELETE', `/Groups/${groupId}`)).status, 204)
    }))
})

describe('Provisioning by Okta', () => {
  it('lists, creates, replaces, deactivates and reactivates users, and pushes groups', () =>
    run(async scim => {
      const send = (method: string, path: string, body?: unknown) =>
        scim.send(method, path, { body, headers: SCIM_UTF8 })
      const page = (await send('GET', '/Users?startIndex=1&count=2')).json<
        Found & { startIndex: number; itemsPerPage: number }
      >()
      assert.deepEqual([page.startIndex, page.itemsPerPage, page.totalResults], [1, 2, 2])
      const found = (
        await send('GET', '/Users?filter=userName%20eq%20%22isaac@example.org%22&startIndex=1&count=100')
      ).json<Found>()
      assert.equal(found.totalResults, 0)
      const made = await send('POST', '/Users', {
        schemas: [USER_SCHEMA],
        userName: 'isaac@example.org',
        name: { givenName: 'Isaac', familyName: 'Brock' },
        emails: [{ primary: true, value: 'isaac@example.org', type: 'work' }],
        displayName: 'Isaac Brock',
        locale: 'en-US',
        externalId: '00ujl29u0le5T6Aj10h7',
        groups: [],
        password: '1mz050nq-Long-Enough',
        active: true,
      })
      assert.equal(made.status, 201, made.text)
      const { id, ...created } = made.json<Resource>()
      const put = await send('PUT', `/Users/${id}`, {
        id,
        ...created,
        name: { givenName: 'Another', familyName: 'User' },
      })
      assert.equal(put.status, 200, put.text)
      assert.deepEqual(put.json()['name'], { givenName: 'Another', familyName: 'User' })
      assert.deepEqual(put.json()[OWN], created[OWN])
      const active = (value: boolean) => ({
        schemas: [PATCH_SCHEMA],
        Operations: [{ op: 'replace', value: { active: value } }],
      })
      assert.equal((await send('PATCH', `/Users/${id}`, active(false))).json()['active'], false)
      assert.equal((await send('PATCH', `/Users/${id}`, active(true))).json()['active'], true)
      const group = await send('POST', '/Groups', { schemas: [GROUP_SCHEMA], displayName: 'push.me', members: [] })
      const groupId = group.json<Resource>().id
      const operations = [
        { op: 'replace', value: { id: groupId, displayName: 'push.me.again' } },
        { op: 'add', path: 'members', value: [{ value: id, display: 'isaac@example.org' }] },
      ]
      assert.equal(
        (await send('PATCH', `/Groups/${groupId}`, { schemas: [PATCH_SCHEMA], Operations: operations })).status,
        204,
      )
      const { displayName, members } = (await send('GET', `/Groups/${groupId}`)).json<
        Record<string, readonly { value: string }[]>
      >()
      assert.deepEqual([displayName, members?.map(({ value }) => value)], ['push.me.again', [id]])
      const away = { op: 'remove', path: `members[value eq "${id}"]` }
      for (const _ of ['once', 'and once more']) {
        assert.equal(
          (await send('PATCH', `/Groups/${groupId}`, { schemas: [PATCH_SCHEMA], Operations: [away] })).status,
          204,
        )
      }
      const password = {
        schemas: [PATCH_SCHEMA],
        Operations: [{ op: 'replace', value: { password: 'Another-0ne-Long' } }],
      }
      assert.equal((await send('PATCH', `/Users/${id}`, password)).status, 200)
      assert.notEqual(await scim.userToken('isaac@example.org', 'Another-0ne-Long'), 'undefined')
    }))
})
