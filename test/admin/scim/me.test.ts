import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Resource, ScimServer } from './support.ts'
import { ENTERPRISE, ERROR_SCHEMA, OWN, patchOf, startScimServer, TO_Z1, USER_SCHEMA } from './support.ts'

describe('SCIM /Me', () => {
  let scim: ScimServer
  let bearer: string
  let user: Resource
  before(async () => {
    scim = await startScimServer()
    user = await scim.createUser({ userName: 'me@example.org', password: 'correct horse 1' })
    bearer = await scim.userToken('me@example.org', 'correct horse 1')
  })
  after(async () => {
    assert.deepEqual(scim.server.faults, [])
    await scim.stop()
  })

  // Covers /scim/v2/Me: rule: RFC 7644 §3.11
  it('returns the user of the token, with its location', async () => {
    const answer = await scim.send('GET', '/Me', { bearer })
    assert.deepEqual([answer.status, answer.json()['id']], [200, user.id])
    assert.equal(answer.headers['location'], user.meta.location)
    assert.deepEqual(Object.keys((await scim.send('GET', '/Me?attributes=userName', { bearer })).json()), [
      'schemas',
      'id',
      'userName',
    ])
  })

  it('lets users change their names and language', async () => {
    const operations = [
      { op: 'replace', path: 'name', value: { givenName: 'Me', familyName: 'Myself' } },
      {
        op: 'add',
        value: {
          displayName: 'Me',
          nickName: 'I',
          locale: 'de-AT',
          timezone: 'Europe/Vienna',
          preferredLanguage: 'de',
        },
      },
    ]
    const answer = await scim.send('PATCH', '/Me', { bearer, body: patchOf(...operations) })
    assert.deepEqual([answer.status, answer.headers['location']], [200, user.meta.location], answer.text)
    const current = (await scim.send('GET', '/Me', { bearer })).json()
    assert.deepEqual(current['name'], { givenName: 'Me', familyName: 'Myself' })
    const put = await scim.send('PUT', '/Me', { bearer, body: { ...current, displayName: 'Myself' } })
    assert.deepEqual([put.status, put.json()['displayName']], [200, 'Myself'])
    assert.equal(put.headers['location'], user.meta.location)
  })

  it('lets users who have a manager change their names', async () => {
    const path = `/Users/${user.id}`
    const set = { op: 'add', path: `${ENTERPRISE}:manager`, value: { value: user.id } }
    assert.equal((await scim.send('PATCH', path, { body: patchOf(set) })).status, 200)
    const answer = await scim.send('PATCH', '/Me', {
      bearer,
      body: patchOf({ op: 'replace', path: 'nickName', value: 'Led' }),
    })
    assert.deepEqual([answer.status, answer.json()['nickName']], [200, 'Led'], answer.text)
    const removal = patchOf({ op: 'remove', path: `${ENTERPRISE}:manager` })
    assert.equal((await scim.send('PATCH', '/Me', { bearer, body: removal })).status, 403)
    const another = patchOf({ op: 'add', path: `${ENTERPRISE}:manager`, value: { value: 'other' } })
    assert.equal((await scim.send('PATCH', '/Me', { bearer, body: another })).status, 403)
    assert.equal((await scim.send('PATCH', path, { body: removal })).status, 200)
  })

  const refused: readonly (readonly [name: string, operation: unknown])[] = [
    ['user name', { op: 'replace', path: 'userName', value: 'root' }],
    ['emails', { op: 'add', path: 'emails', value: [{ value: 'root@example.org', primary: true }] }],
    ['phone numbers', { op: 'add', path: 'phoneNumbers', value: [{ value: '1' }] }],
    ['password', { op: 'replace', path: 'password', value: 'correct horse 2' }],
    ['external id', { op: 'add', path: 'externalId', value: 'x' }],
    ['state', { op: 'replace', path: 'active', value: false }],
    ['verification', { op: 'replace', path: `${OWN}:verified`, value: false }],
    ['roles', { op: 'add', path: 'roles', value: [{ value: 'admin' }] }],
    ['entitlements', { op: 'add', path: 'entitlements', value: [{ value: 'all' }] }],
    ['department', { op: 'add', path: `${ENTERPRISE}:department`, value: 'Board' }],
    ['custom attributes', { op: 'add', path: `${OWN}:customAttributes`, value: [{ name: 'clearance', value: 'top' }] }],
  ]
  for (const [name, operation] of refused) {
    it(`does not let users change their ${name}`, async () => {
      const before = (await scim.send('GET', '/Me', { bearer })).json()
      const body = patchOf({ op: 'add', path: 'displayName', value: 'Somebody else' }, operation)
      const answer = await scim.send('PATCH', '/Me', { bearer, body })
      assert.equal(answer.status, 403, answer.text)
      assert.deepEqual(answer.json()['schemas'], [ERROR_SCHEMA])
      assert.deepEqual((await scim.send('GET', '/Me', { bearer })).json(), before)
    })
  }

  it('rejects a PUT that removes other attributes, and changes of groups', async () => {
    const put = await scim.send('PUT', '/Me', {
      bearer,
      body: { schemas: [USER_SCHEMA], userName: 'me@example.org', active: false },
    })
    assert.equal(put.status, 403, put.text)
    const groups = await scim.send('PATCH', '/Me', {
      bearer,
      body: patchOf({ op: 'add', path: 'groups', value: [{ value: 'x' }] }),
    })
    assert.equal(groups.json()['scimType'], 'mutability')
  })

  it('rejects clients, zone headers, POST and DELETE', async () => {
    assert.equal((await scim.send('GET', '/Me', { by: 'root' })).status, 403)
    assert.equal((await scim.send('GET', '/Me', { bearer, headers: TO_Z1 })).status, 403)
    for (const method of ['POST', 'DELETE']) {
      const answer = await scim.send(method, '/Me', { by: 'root' })
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD, PUT, PATCH'])
    }
  })

  it('rejects changes by users of other origins', async () => {
    const config = {
      bootstrap: {
        clients: [
          { client_id: 'web', client_secret: 'web-secret', authorized_grant_types: ['password'], scope: ['openid'] },
          {
            client_id: 'writer',
            client_secret: 'writer-secret',
            authorized_grant_types: ['client_credentials'],
            authorities: ['scim.write', 'scim.read'],
          },
        ],
      },
    }
    const other = await startScimServer('standard', { config })
    const { id } = await other.createUser({ userName: 'far@example.org', password: 'correct horse 1' })
    const token = await other.userToken('far@example.org', 'correct horse 1')
    const found = await other.server.store.users.find('svc', id)
    assert.ok(found)
    await other.server.store.users.update('svc', { ...found, origin: 'ldap' })
    const answer = await other.send('PATCH', '/Me', {
      bearer: token,
      body: patchOf({ op: 'add', path: 'displayName', value: 'x' }),
    })
    assert.ok([401, 403].includes(answer.status), answer.text)
    await other.stop()
  })
})
