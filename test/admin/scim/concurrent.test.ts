import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import type { TestDatabase } from '../../support/databases.ts'
import type { TestAnswer } from '../../support/server.ts'
import type { Resource, ScimServer } from './support.ts'
import { GROUP_SCHEMA, patchOf, startScimServer } from './support.ts'

const CHANGES = 40

for (const kind of DATABASE_KINDS) {
  describe(`Concurrent SCIM changes of one resource on ${kind}`, () => {
    let scim: ScimServer
    let database: TestDatabase
    before(async () => {
      database = await freshDatabase(kind)
      scim = await startScimServer('standard', { database: database.url })
    })
    after(async () => {
      assert.deepEqual(scim.server.faults, [])
      await scim.stop()
      await database.drop()
    })

    const together = (send: (place: number) => Promise<TestAnswer>): Promise<readonly TestAnswer[]> =>
      Promise.all(Array.from({ length: CHANGES }, (_, place) => send(place)))
    const countsOf = (answers: readonly TestAnswer[]): Readonly<Record<string, number>> =>
      Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, all]) => [status, all.length]))
    const read = async (path: string) =>
      (await scim.send('GET', path)).json<Resource & { readonly members: []; readonly phoneNumbers: [] }>()
    const newGroup = async (displayName: string): Promise<string> => {
      const answer = await scim.send('POST', '/Groups', { body: { schemas: [GROUP_SCHEMA], displayName } })
      return answer.json<Resource>().id
    }

    // Covers /scim/v2/Groups/{id}: rule: concurrent changes
    it('are all applied to a group', async () => {
      const id = await newGroup('crew')
      const users = await Promise.all(Array.from({ length: CHANGES }, () => scim.createUser()))
      const answers = await together(place =>
        scim.send('PATCH', `/Groups/${id}`, {
          body: patchOf({ op: 'add', path: 'members', value: [{ value: users[place]?.id }] }),
        }),
      )
      assert.deepEqual(countsOf(answers), { 204: CHANGES })
      assert.equal((await read(`/Groups/${id}`)).members.length, CHANGES)
      assert.equal(new Set(answers.map(({ headers }) => headers['etag'])).size, CHANGES)
    })

    // Covers /scim/v2/Users/{id}: rule: concurrent changes
    it('are all applied to a user', async () => {
      const { id } = await scim.createUser()
      const answers = await together(place =>
        scim.send('PATCH', `/Users/${id}`, {
          body: patchOf({ op: 'add', path: 'phoneNumbers', value: [{ value: `+${place}` }] }),
        }),
      )
      assert.deepEqual(countsOf(answers), { 200: CHANGES })
      assert.equal((await read(`/Users/${id}`)).phoneNumbers.length, CHANGES)
    })

    it('do not let the owner starve an administrator', async () => {
      const password = 'correct horse 1'
      const user = await scim.createUser({ userName: 'busy@example.org', password })
      const bearer = await scim.userToken('busy@example.org', password)
      let ended = 0
      const own = Array.from({ length: 300 }, async (_, place) => {
        const body = patchOf({ op: 'add', path: 'displayName', value: `n${place}` })
        await scim.send('PATCH', '/Me', { bearer, body })
        ended += 1
      })
      const body = patchOf({ op: 'add', path: 'title', value: 'guest' })
      const answer = await scim.send('PATCH', `/Users/${user.id}`, { body })
      const earlier = ended
      await Promise.all(own)
      assert.equal(answer.status, 200, answer.text)
      assert.ok(earlier < 150, `${earlier} of 300 came first`)
    })

    it('succeed once if all have the same If-Match', async () => {
      const id = await newGroup('watch')
      const headers = { 'if-match': 'W/"0"' }
      const answers = await together(place =>
        scim.send('PATCH', `/Groups/${id}`, {
          body: patchOf({ op: 'replace', path: 'externalId', value: `e${place}` }),
          headers,
        }),
      )
      assert.deepEqual(countsOf(answers), { 204: 1, 412: CHANGES - 1 })
      assert.equal((await read(`/Groups/${id}`)).meta.version, 'W/"1"')
    })

    for (const [condition, status] of [
      ['W/"0"', 412],
      ['*', 204],
    ] as const) {
      it(`answer ${status} to a DELETE with If-Match: ${condition} that was overtaken`, async () => {
        const { id } = await scim.createUser({
          userName: `overtaken-${status}@example.org`,
          password: 'correct horse 1',
        })
        const { users } = scim.server.store
        const remove = users.delete.bind(users)
        Object.assign(users, {
          async delete(...args: Parameters<typeof remove>) {
            Object.assign(users, { delete: remove })
            await scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'add', path: 'title', value: 'guest' }) })
            return remove(...args)
          },
        })
        const answer = await scim.send('DELETE', `/Users/${id}`, { headers: { 'if-match': condition } })
        assert.equal(answer.status, status, answer.text)
      })
    }

    it('are all applied by PATCH /Groups/{id} with If-Match: *', async () => {
      const id = await newGroup('deck')
      const bearer = await scim.tokenOf('writer')
      const answers = await together(place =>
        scim.server.send(`/Groups/${id}`, {
          method: 'PATCH',
          bearer,
          headers: { 'if-match': '*', 'content-type': 'application/json' },
          body: JSON.stringify({ description: `d${place}` }),
        }),
      )
      assert.deepEqual(countsOf(answers), { 200: CHANGES })
      assert.equal((await read(`/Groups/${id}`)).meta.version, `W/"${CHANGES}"`)
    })
  })
}
