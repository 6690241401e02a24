import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import { IN_Z1, assertRefused, newUserBody, startUserServer } from '../../support/users.ts'
import type { UserAnswer, UserApi } from '../../support/users.ts'

const ANY = { headers: { 'if-match': '*' } }
const IN_Z1_ANY = { headers: { ...IN_Z1.headers, ...ANY.headers } }
const INVALID = { status: 400, error: 'scim', message: "The fields 'aliasId' and/or 'aliasZid' are invalid." }
const INVALID_NEW = { status: 400, error: 'scim', message: 'Alias ID and/or alias ZID are invalid.' }

/** A user with an alias, as in responses. */
type Aliased = UserAnswer & { readonly aliasId?: string; readonly aliasZid?: string }

/** Adds `corp` to both zones, each the alias of the other, and `alone` without an alias. */
async function addProviders({ server }: UserApi): Promise<void> {
  const { providers } = server.store
  const internal = await providers.findByOrigin('svc', 'svc')
  assert.ok(internal)
  const base = { ...internal, type: 'oidc1.0', config: {} }
  const corp = { ...base, originKey: 'corp' }
  await providers.insert('svc', { ...corp, zoneId: 'svc', id: 'here', aliasId: 'there', aliasZoneId: 'z1' })
  await providers.insert('z1', { ...corp, zoneId: 'z1', id: 'there', aliasId: 'here', aliasZoneId: 'svc' })
  await providers.insert('svc', { ...base, zoneId: 'svc', id: 'alone', originKey: 'alone' })
  await providers.insert('z1', { ...base, zoneId: 'z1', id: 'alone-too', originKey: 'alone' })
}

for (const mode of MODES) {
  describe(`Alias users (${mode})`, () => {
    let api: UserApi
    let count = 0
    before(async () => {
      api = await startUserServer(mode, { config: { login: { aliasEntitiesEnabled: true } } })
      await addProviders(api)
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })
    const create = async (more: object = {}): Promise<Aliased> =>
      api.create(`alias${(count += 1)}`, { origin: 'corp', aliasZid: 'z1', externalId: `ext${count}`, ...more })
    const copyOf = async ({ aliasId }: Aliased): Promise<Aliased> => api.read(aliasId ?? '', IN_Z1)
    const bodyOf = ({ userName, name, emails, externalId, origin, aliasId, aliasZid }: Aliased, more: object = {}) => ({
      userName,
      name,
      emails,
      externalId,
      origin,
      aliasId,
      aliasZid,
      ...more,
    })

    // Covers User resource: aliasId; aliasZid
    // Covers alias users: create by POST
    it('are created with the user, as copies that reference each other', async () => {
      const user = await create({ phoneNumbers: [{ value: '1' }], active: false, verified: false })
      assert.deepEqual([user.aliasZid, user.meta.version], ['z1', 1])
      const copy = await copyOf(user)
      assert.deepEqual([copy.aliasId, copy.aliasZid, copy.zoneId, copy.meta.version], [user.id, 'svc', 'z1', 0])
      for (const member of [
        'externalId',
        'origin',
        'userName',
        'name',
        'emails',
        'phoneNumbers',
        'active',
        'verified',
      ] as const) {
        assert.deepEqual(copy[member], user[member], member)
      }
      const made = api.server.events.filter(({ type }) => type === 'UserCreatedEvent').slice(-2)
      assert.deepEqual(made.map(({ zoneId }) => zoneId).toSorted(), ['svc', 'z1'])
    })

    // Covers PATCH /Users/{id}: aliasZid
    // Covers alias users: create by PUT or PATCH
    it('are created for existing users', async () => {
      const user = await create({ aliasZid: undefined })
      const answer = await api.send('PATCH', `/Users/${user.id}`, { aliasZid: 'z1' }, ANY)
      assert.equal(answer.status, 200, answer.text)
      const after = answer.json<Aliased & Record<string, unknown>>()
      assert.deepEqual([user.meta.version, after.meta.version, answer.headers['etag']], [0, 2, '"2"'])
      const copy = await copyOf(after)
      assert.deepEqual([copy.aliasId, copy.meta.version], [user.id, 0])
    })

    // Covers alias users: changes are copied
    it('are updated with the original, in both directions', async () => {
      const user = await create()
      const put = await api.send('PUT', `/Users/${user.id}`, bodyOf(user, { name: { givenName: 'New' } }), ANY)
      assert.equal(put.status, 200, put.text)
      const copy = await copyOf(user)
      assert.deepEqual([copy.name, copy.meta.version], [{ givenName: 'New' }, 1])
      const back = await api.send(
        'PATCH',
        `/Users/${copy.id}`,
        { userName: `${user.userName}-x`, active: false },
        IN_Z1_ANY,
      )
      assert.equal(back.status, 200, back.text)
      const { userName, active } = await api.read(user.id)
      assert.deepEqual([userName, active], [`${user.userName}-x`, false])
    })

    // Covers alias users: dangling alias is renewed
    it('are recreated if missing', async () => {
      const user = await create()
      await api.server.store.users.delete('z1', user.aliasId ?? '')
      const answer = await api.send('PATCH', `/Users/${user.id}`, {}, ANY)
      const after = answer.json<Aliased & Record<string, unknown>>()
      assert.notEqual(after.aliasId, user.aliasId)
      assert.equal(after.meta.version, user.meta.version + 2)
      assert.equal((await copyOf(after)).aliasId, user.id)
    })

    it('are not created beyond the maximum number of users of their zone', async () => {
      const { zones, users } = api.server.store
      const zone = await zones.find('z1')
      assert.ok(zone)
      const user = await create({ aliasZid: undefined })
      const maxUsers = await users.count('z1')
      await zones.update({ ...zone, config: { ...zone.config, userConfig: { maxUsers } } })
      const refusal = {
        status: 400,
        error: 'invalid_scim_resource',
        message: `The maximum allowed numbers of users: ${maxUsers} is reached already in Identity Zone z1`,
      }
      const body = newUserBody('beyond', { origin: 'corp', aliasZid: 'z1' })
      assertRefused(await api.send('POST', '/Users', body), refusal)
      assertRefused(await api.send('PATCH', `/Users/${user.id}`, { aliasZid: 'z1' }, ANY), refusal)
      await zones.update(zone)
      assert.equal((await api.send('PATCH', `/Users/${user.id}`, { aliasZid: 'z1' }, ANY)).status, 200)
    })

    it('lose their sessions, like the original, if externalId changes', async () => {
      const user = await create()
      const { users } = api.server.store
      const revisions = async (): Promise<readonly unknown[]> => [
        (await users.find('svc', user.id))?.passwordRevision,
        (await users.find('z1', user.aliasId ?? ''))?.passwordRevision,
      ]
      const [here, there] = await revisions()
      const named = bodyOf(user, { name: { givenName: 'Zoe' } })
      assert.equal((await api.send('PUT', `/Users/${user.id}`, named, ANY)).status, 200)
      assert.deepEqual(await revisions(), [here, there])
      const other = bodyOf(user, { externalId: `${user.externalId}-other` })
      assert.equal((await api.send('PUT', `/Users/${user.id}`, other, ANY)).status, 200)
      const after = await revisions()
      assert.notEqual(after[0], here)
      assert.notEqual(after[1], there)
    })

    // The caller has `scim.write` in the default zone only.
    for (const right of ['svc.admin', 'scim.write']) {
      it(`keep email, userName and externalId if they have ${right} and the caller does not`, async () => {
        const user = await create()
        const { store } = api.server
        const group = { displayName: right, members: [{ value: user.aliasId, origin: 'corp' }] }
        await api.send('POST', '/Groups', { displayName: right }, IN_Z1) // unless it exists
        const { id } = (await store.groups.findByName('z1', right)) ?? {}
        const added = await api.send('PUT', `/Groups/${id}`, group, IN_Z1_ANY)
        assert.equal(added.status, 200, added.text)
        for (const more of [{ externalId: 'mine' }, { emails: [{ value: 'mine@x.example' }] }, { userName: 'mine' }]) {
          const answer = await api.send('PUT', `/Users/${user.id}`, bodyOf(user, more), { ...ANY, by: 'writer' })
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 insufficient_scope')
        }
        assert.equal((await copyOf(user)).externalId, user.externalId)
        assert.equal((await api.read(user.id)).externalId, user.externalId)
        const named = bodyOf(user, { name: { givenName: 'Zoe' } })
        assert.equal((await api.send('PUT', `/Users/${user.id}`, named, { ...ANY, by: 'writer' })).status, 200)
      })
    }

    it('are not verified by a caller with fewer rights', async () => {
      const user = await create({ verified: false })
      const { store } = api.server
      await api.send('POST', '/Groups', { displayName: 'svc.admin' }, IN_Z1) // unless it exists
      const { id } = (await store.groups.findByName('z1', 'svc.admin')) ?? {}
      const group = { displayName: 'svc.admin', members: [{ value: user.aliasId, origin: 'corp' }] }
      assert.equal((await api.send('PUT', `/Groups/${id}`, group, IN_Z1_ANY)).status, 200)
      await store.users.verify('svc', user.id) // like GET /Users/{id}/verify, which does not change the alias
      const answer = await api.send('PATCH', `/Users/${user.id}`, {}, { ...ANY, by: 'writer' })
      assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 insufficient_scope')
      assert.equal((await copyOf(user)).verified, false)
      assert.equal((await api.send('PATCH', `/Users/${user.id}`, {}, ANY)).status, 200)
      assert.equal((await copyOf(user)).verified, true)
    })

    // Covers alias users: delete removes both
    it('are deleted with the original', async () => {
      const user = await create()
      assert.equal((await api.send('DELETE', `/Users/${user.id}`)).status, 200)
      assert.equal(await api.server.store.users.find('z1', user.aliasId ?? ''), undefined)
      const lost = await create()
      await api.server.store.users.delete('z1', lost.aliasId ?? '')
      assert.equal((await api.send('DELETE', `/Users/${lost.id}`)).status, 200)
    })

    // Covers POST /Users: error: alias fields
    it('are rejected for other zones and for origins without an alias provider', async () => {
      for (const more of [
        { aliasZid: 'nowhere' },
        { aliasZid: 'svc' },
        { aliasZid: 'z2' },
        { aliasId: 'x' },
        { aliasId: 'x', aliasZid: undefined },
        { origin: 'alone' },
        { origin: 'svc' },
      ]) {
        const body = newUserBody('refused', { origin: 'corp', aliasZid: 'z1', ...more })
        assertRefused(await api.send('POST', '/Users', body), INVALID_NEW)
      }
    })

    // Covers PUT /Users/{id}: error: alias fields
    // Covers PATCH /Users/{id}: aliasId
    // Covers alias users: changed alias fields are refused
    it('cannot be moved, or removed by a PUT', async () => {
      const user = await create()
      for (const more of [
        { aliasId: 'x' },
        { aliasZid: 'z2' },
        { aliasId: null },
        { aliasZid: null },
        { aliasId: null, aliasZid: null },
      ]) {
        assertRefused(await api.send('PUT', `/Users/${user.id}`, bodyOf(user, more), ANY), INVALID)
      }
      assertRefused(await api.send('PATCH', `/Users/${user.id}`, { aliasId: 'x' }, ANY), INVALID)
      const plain = await create({ aliasZid: undefined })
      assertRefused(await api.send('PATCH', `/Users/${plain.id}`, { aliasId: 'x', aliasZid: 'z1' }, ANY), INVALID)
    })

    // Covers POST /Users: error: alias creation
    // Covers PUT /Users/{id}: error: alias failure
    // Covers alias users: name taken in the alias zone
    it('are rejected, without a change, if the name is taken in the other zone', async () => {
      const taken = { status: 409, error: 'scim', message: /^Could not create alias for user\. A user with the same/ }
      await api.create('known', { origin: 'corp' }, IN_Z1)
      assertRefused(await api.send('POST', '/Users', newUserBody('KNOWN', { origin: 'corp', aliasZid: 'z1' })), taken)
      assert.equal(await api.server.store.users.findByName('svc', 'corp', 'known'), undefined)
      const user = await create()
      assertRefused(await api.send('PATCH', `/Users/${user.id}`, { userName: 'known' }, ANY), taken)
      assert.deepEqual(await api.read(user.id), user)
    })

    it('are updated and deleted with the original by SCIM 2.0', async () => {
      const scim = (method: string, id: string, request: object, body?: unknown) =>
        api.send(method, `/scim/v2/Users/${id}`, body, request)
      const rename = (givenName: string) => ({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: [{ op: 'replace', path: 'name.givenName', value: givenName }],
      })
      const user = await create()
      const id = user.aliasId ?? ''
      for (const [at, request] of [
        [user.id, {}],
        [id, IN_Z1],
      ] as const) {
        const answer = await scim('PATCH', at, request, rename(`New ${at}`))
        assert.equal(answer.status, 200, answer.text)
        assert.equal((await copyOf(user)).name.givenName, `New ${at}`)
      }
      const byZone = { by: 'admin-of-z1', ...IN_Z1 } as const
      assert.equal((await scim('PATCH', id, byZone, rename('Other'))).status, 400)
      assert.equal((await scim('DELETE', id, byZone)).status, 400)
      const gone = await scim('DELETE', id, IN_Z1)
      assert.equal(gone.status, 204, gone.text)
      assert.equal(await api.server.store.users.find('svc', user.id), undefined)
    })

    it('cannot be created, changed or deleted by an administrator of only the other zone', async () => {
      const byZone = { by: 'admin-of-z1', ...IN_Z1_ANY } as const
      const body = newUserBody('from-z1', { origin: 'corp', aliasZid: 'svc' })
      assertRefused(await api.send('POST', '/Users', body, byZone), INVALID_NEW)
      const user = await create()
      const path = `/Users/${user.aliasId}`
      assertRefused(await api.send('PATCH', path, { active: false }, byZone), INVALID)
      const answer = await api.send('DELETE', path, undefined, byZone)
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'unknown_error'])
      assert.equal((await api.read(user.id)).active, true)
      assert.equal((await api.send('POST', '/Users', body, { ...IN_Z1_ANY })).status, 201)
    })
  })

  // Covers DELETE /Users/{id}: error: alias while disabled
  // Covers alias users: feature off; login.aliasEntitiesEnabled
  it(`Alias users cannot be created, changed or deleted if aliases are disabled (${mode})`, async () => {
    const api = await startUserServer(mode)
    await addProviders(api)
    const plain = await api.create('plain', { origin: 'corp' })
    const { store } = api.server
    const user = await store.users.find('svc', plain.id)
    assert.ok(user)
    await store.users.update('svc', { ...user, aliasId: 'there', aliasZoneId: 'z1' })
    assertRefused(await api.send('PATCH', `/Users/${plain.id}`, { active: true }, ANY), INVALID)
    assertRefused(await api.send('POST', '/Users', newUserBody('x', { origin: 'corp', aliasZid: 'z1' })), INVALID_NEW)
    const answer = await api.send('DELETE', `/Users/${plain.id}`)
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.json(), {
      error: 'unknown_error',
      error_description: 'Could not delete user with alias since alias entities are disabled.',
    })
    await api.stop()
  })
}
