import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { assertInvalid, assertNotFound, changeConcurrently, startClientServer } from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { clientNamed, MODES } from '../../support/oauth.ts'
import type { TestAnswer } from '../../support/server.ts'

type Members = Readonly<Record<string, unknown>>

const job = (id: string, members: Members = {}): Members => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  ...members,
})

const TX = '/oauth/clients/tx'
const ENDPOINTS = [
  { method: 'POST', path: TX, id: 'client_id' },
  { method: 'PUT', path: TX, id: 'client_id' },
  { method: 'POST', path: `${TX}/modify`, id: 'client_id' },
  { method: 'POST', path: `${TX}/secret`, id: 'clientId' },
  { method: 'POST', path: `${TX}/delete`, id: 'client_id' },
] as const

for (const mode of MODES) {
  describe(`Client batches in ${mode}`, () => {
    let api: ClientServer
    before(async () => {
      api = await startClientServer(mode, { config: { zone_config: { clientSecretPolicy: { minLength: 4 } } } })
    })
    after(() => api.stop())

    const post = (path: string, body: unknown) => api.send('POST', path, body)
    const listOf = (answer: TestAnswer): readonly Members[] => answer.json<readonly Members[]>()
    const works = async (id: string, secret: string) =>
      (await api.server.token({ grant_type: 'client_credentials' }, { basic: [id, secret] })).status === 200
    /** The stored clients, for comparison after an error. */
    const state = async () => {
      const ids = ['a', 'b', 'c', 'd']
      return Promise.all(ids.map(id => api.server.store.clients.findForChange('svc', id)))
    }
    async function approve(clientId: string): Promise<void> {
      const now = api.server.clock.now()
      const approval = { zoneId: 'svc', userId: 'u', clientId, scope: 's', status: 'APPROVED', updatedAt: now } as const
      await api.server.store.approvals.save('svc', [{ ...approval, expiresAt: new Date(now.getTime() + 60_000) }])
    }
    const isApproved = async (clientId: string) =>
      (await api.server.store.approvals.list('svc', 'u', clientId, api.server.clock.now())).length > 0

    beforeEach(async () => {
      for (const id of ['a', 'b', 'c', 'd', 'e']) await api.send('DELETE', `/oauth/clients/${id}`)
      const answer = await post(TX, [job('a', { scope: ['s'], note: 1, name: 'A' }), job('b', { scope: ['s'] })])
      assert.equal(answer.status, 201, answer.text)
      await approve('a')
      await approve('b')
    })

    describe('POST /oauth/clients/tx', () => {
      // Covers POST /oauth/clients/tx: array
      it('creates all clients', async () => {
        const answer = await post(TX, [job('c'), job('d', { scope: 'x y', name: 'D' })])
        assert.equal(answer.status, 201, answer.text)
        assert.deepEqual(
          listOf(answer).map(({ client_id, scope, name }) => [client_id, scope, name]),
          [
            ['c', ['svc.none'], undefined],
            ['d', ['x', 'y'], 'D'],
          ],
        )
        for (const record of listOf(answer)) {
          const { lastModified: _, ...rest } = record
          assert.deepEqual(await api.read(String(record['client_id'])), rest)
        }
        assert.deepEqual([await works('c', 'c-secret'), await works('d', 'd-secret')], [true, true])
      })

      // Covers POST /oauth/clients/tx: error: any invalid
      it('creates none if one is invalid', async () => {
        assertInvalid(
          await post(TX, [job('c'), job('d', { client_secret: '' })]),
          'Client secret is required for client_credentials grant type',
        )
        assertInvalid(
          await post(TX, [job('c'), job('d', { client_secret: 'abc' })]),
          'Client Secret must be at least 4 characters in length.',
        )
        assertInvalid(
          await post(TX, [job('c'), job('d', { secondary_client_secret: 'abcd' })]),
          'secondary_client_secret is not allowed here',
        )
        assert.deepEqual((await state()).slice(2), [undefined, undefined])
      })

      // Covers POST /oauth/clients/tx: error: any duplicate
      it('creates none if one exists or is repeated', async () => {
        assertInvalid(await post(TX, [job('c'), job('a'), job('d')]), 'Client already exists: a', 409)
        assertInvalid(await post(TX, [job('c'), job('d'), job('c')]), 'Client already exists: c', 409)
        assert.deepEqual((await state()).slice(2), [undefined, undefined])
      })

      // Covers POST /oauth/clients/tx: error: empty
      it('answers 404 to an empty batch', async () => {
        for (const body of ['[]', 'null']) assertNotFound(await post(TX, body), mode)
      })

      it('accepts at most 1000 clients', async () => {
        const many = (count: number) =>
          Array.from({ length: count }, (_, index) => ({
            client_id: `many-${index}`,
            authorized_grant_types: ['password'],
          }))
        for (const { method, path } of ENDPOINTS) {
          const answer = await api.send(
            method,
            path,
            many(1001).map(each => ({ ...each, action: 'add' })),
          )
          if (!path.endsWith('secret')) assertInvalid(answer, 'At most 1000 clients can be changed at once.')
          else assert.equal(answer.status, 400)
        }
        assert.equal((await post(TX, many(1000))).status, 201)
        const answer = await post(`${TX}/delete`, many(1000))
        assert.deepEqual([answer.status, listOf(answer).length], [200, 1000])
        assert.equal(await api.read('many-999'), undefined)
      })

      it('creates exactly one of two concurrent batches', async () => {
        const answers = await Promise.all([post(TX, [job('c'), job('d')]), post(TX, [job('d'), job('c'), job('e')])])
        const [winner, loser] = answers.toSorted((left, right) => left.status - right.status)
        assert.ok(winner && loser)
        assert.equal(winner.status, 201)
        assertInvalid(loser, /^Client already exists: [cd]$/, 409)
        assert.equal((await api.read('e')) !== undefined, listOf(winner).length === 3)
      })
    })

    describe('PUT /oauth/clients/tx', () => {
      // Covers PUT /oauth/clients/tx: array
      it('merges changes into all clients, like a single PUT', async () => {
        const answer = await api.send('PUT', TX, [
          { client_id: 'a', scope: ['t'], note: null },
          { client_id: 'b', name: 'B' },
        ])
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(
          listOf(answer).map(({ client_id, scope, name, note }) => [client_id, scope, name, note]),
          [
            ['a', ['t'], 'A', undefined],
            ['b', ['s'], 'B', undefined],
          ],
        )
        for (const { lastModified: _, ...record } of listOf(answer)) {
          assert.deepEqual(await api.read(String(record['client_id'])), record)
        }
        assert.equal(await works('a', 'a-secret'), true)
      })

      // Covers PUT /oauth/clients/tx: error: unknown
      it('changes none if one is invalid, unknown or repeated', async () => {
        const before = await state()
        const first = { client_id: 'a', name: 'X' }
        assertInvalid(
          await api.send('PUT', TX, [first, { client_id: 'b', scope: 5 }]),
          'scope must be a list of strings',
        )
        assertNotFound(await api.send('PUT', TX, [first, { client_id: 'nobody' }]), mode)
        assertInvalid(await api.send('PUT', TX, [first, first]), 'Client is named twice: a')
        assertInvalid(await api.send('PUT', TX, [first, {}]), 'A client_id must be provided.')
        assert.deepEqual(await state(), before)
      })

      // Covers PUT /oauth/clients/tx: error: empty
      it('refuses an empty batch', async () => {
        for (const body of ['[]', 'null']) {
          assertInvalid(await api.send('PUT', TX, body), 'No clients specified for update.')
        }
      })

      it('changes none after a concurrent change of one', async () => {
        changeConcurrently(api.server, client => api.server.store.clients.update('svc', { ...client, name: 'Other' }))
        const answer = await api.send('PUT', TX, [
          { client_id: 'a', name: 'Mine' },
          { client_id: 'b', name: 'Mine' },
        ])
        assertInvalid(answer, 'The client a was changed concurrently', 409)
        const names = (await state()).slice(0, 2).map(stored => stored?.client.name)
        assert.deepEqual(names, ['Other', undefined])
      })

      it('does not mix concurrent batches', async () => {
        const change = (name: string, ...ids: readonly string[]) =>
          api.send(
            'PUT',
            TX,
            ids.map(id => ({ client_id: id, name })),
          )
        const answers = await Promise.all([change('one', 'a', 'b'), change('two', 'b', 'a')])
        assert.ok(answers.every(({ status }) => status === 200 || status === 409))
        const [a, b] = await state()
        assert.ok(a && b)
        assert.equal(a.client.name, b.client.name)
        assert.equal(a.revision, answers.filter(({ status }) => status === 200).length)
      })
    })

    describe('POST /oauth/clients/tx/modify', () => {
      const modify = (...entries: readonly Members[]) => post(`${TX}/modify`, entries)

      // Covers Client record: action
      // Covers POST /oauth/clients/tx/modify: action=add; action=update; action=secret; action=delete
      it('performs each action, and returns the result', async () => {
        assert.equal((await post(TX, [job('d', { scope: ['s'] })])).status, 201)
        await approve('d')
        const eventsBefore = api.server.events.length
        const answer = await modify(
          { ...job('c'), action: 'add' },
          { client_id: 'a', authorized_grant_types: ['password'], action: 'update' },
          { client_id: 'b', client_secret: 'newer', oldSecret: 'b-secret', extra: 1, action: 'secret' },
          { client_id: 'd', action: 'delete' },
        )
        assert.equal(answer.status, 200, answer.text)
        const [added, updated, secret, deleted] = listOf(answer)
        assert.deepEqual([added?.['client_id'], added?.['action']], ['c', 'add'])
        // The record before the change.
        assert.deepEqual(
          [updated?.['name'], updated?.['authorized_grant_types'], updated?.['action']],
          ['A', ['client_credentials'], 'update'],
        )
        assert.deepEqual(secret, { client_id: 'b', extra: 1, action: 'secret', approvals_deleted: true })
        assert.deepEqual(
          [deleted?.['client_id'], deleted?.['action'], deleted?.['approvals_deleted']],
          ['d', 'delete', true],
        )
        const changed = await api.read('a')
        // A full replacement: omitted members are reset.
        assert.deepEqual(changed, {
          client_id: 'a',
          scope: ['svc.none'],
          resource_ids: ['none'],
          authorized_grant_types: ['password', 'refresh_token'],
          autoapprove: [],
          authorities: ['svc.none'],
          required_user_groups: [],
        })
        assert.equal((await clientNamed(api.server, 'a')).secrets.length, 1)
        assert.deepEqual([await works('b', 'b-secret'), await works('b', 'newer')], [false, true])
        assert.deepEqual(await Promise.all(['a', 'b', 'd'].map(isApproved)), [true, false, false])
        assert.equal(await api.read('d'), undefined)
        assert.doesNotMatch(answer.text, /newer|-secret/)
        const types = api.server.events
          .slice(eventsBefore)
          .map(({ type, principal }) => `${principal} ${type}`)
          .slice(0, 6)
        assert.deepEqual(types, [
          'c ClientCreateSuccess',
          'a ClientUpdateSuccess',
          'b SecretChangeSuccess',
          'b ClientApprovalsDeleted',
          'd ClientDeleteSuccess',
          'd ClientApprovalsDeleted',
        ])
      })

      it('keeps a secret that is already valid, and the approvals', async () => {
        const { secrets } = await clientNamed(api.server, 'b')
        const grant = { authorized_grant_types: ['client_credentials'] }
        const answer = await modify(
          { client_id: 'b', client_secret: 'b-secret', action: 'secret' },
          { client_id: 'a', client_secret: 'a-secret', ...grant, name: 'New', action: 'update,secret' },
        )
        assert.deepEqual(
          listOf(answer).map(({ approvals_deleted, name }) => [approvals_deleted, name]),
          [
            [false, undefined],
            [false, 'A'],
          ],
        )
        assert.deepEqual((await clientNamed(api.server, 'b')).secrets, secrets)
        assert.equal((await clientNamed(api.server, 'a')).name, 'New')
        assert.deepEqual(await Promise.all(['a', 'b'].map(isApproved)), [true, true])
      })

      // Covers POST /oauth/clients/tx/modify: action=update,secret
      it('sets a secret and replaces the record in one action', async () => {
        const grant = { authorized_grant_types: ['client_credentials'] }
        const [answer] = listOf(
          await modify({ client_id: 'a', client_secret: 'newer', ...grant, action: 'update,secret' }),
        )
        assert.deepEqual(
          [answer?.['name'], answer?.['approvals_deleted'], answer?.['action']],
          ['A', true, 'update,secret'],
        )
        assert.equal((await clientNamed(api.server, 'a')).name, undefined)
        assert.deepEqual([await works('a', 'a-secret'), await works('a', 'newer')], [false, true])
        assert.equal(await isApproved('a'), false)
      })

      it('does not make revoked tokens valid again', async () => {
        await api.server.store.clients.setTokenSalt('svc', 'a', 'revoked')
        const grant = { authorized_grant_types: ['client_credentials'] }
        assert.equal((await modify({ client_id: 'a', ...grant, action: 'update' })).status, 200)
        assert.equal((await clientNamed(api.server, 'a')).tokenSalt, 'revoked')
      })

      it('does not apply the policy to a secret', async () => {
        assert.equal((await modify({ client_id: 'a', client_secret: 'x', action: 'secret' })).status, 200)
        assert.equal(await works('a', 'x'), true)
      })

      const good = { ...job('c'), action: 'add' }
      for (const [name, entry, description, status] of [
        // Covers POST /oauth/clients/tx/modify: error: unknown action
        ['an unknown action', { client_id: 'a', action: 'Add' }, 'Invalid action.', 400],
        ['no action', { client_id: 'a' }, 'Invalid action.', 400],
        ['an action that is not a string', { client_id: 'a', action: ['add'] }, 'Invalid action.', 400],
        ['an existing client', { ...job('a'), action: 'add' }, 'Client already exists: a', 409],
        ['a repeated client', { ...job('c'), action: 'add' }, 'Client already exists: c', 409],
        ['no id', { action: 'delete' }, 'A client_id must be provided.', 400],
        ['no secret', { client_id: 'a', action: 'secret' }, 'A new secret must be provided.', 400],
        [
          'a secret that is null',
          { client_id: 'a', client_secret: null, action: 'secret' },
          'A new secret must be provided.',
          400,
        ],
        [
          'a secret that is not a string',
          { client_id: 'a', client_secret: 5, action: 'secret' },
          'client_secret must be a string',
          400,
        ],
        [
          'a second secret',
          { client_id: 'a', client_secret: 'x', secondary_client_secret: 'y', action: 'secret' },
          'secondary_client_secret is not allowed here',
          400,
        ],
        ['a record without grants', { client_id: 'a', action: 'update' }, /^An authorized grant type must be/, 400],
        [
          'a bad record with a secret',
          { client_id: 'a', client_secret: 'x', action: 'update,secret' },
          /^An authorized/,
          400,
        ],
      ] as const) {
        it(`changes nothing for ${name}`, async () => {
          const before = await state()
          assertInvalid(await modify(good, entry), description, status)
          assert.deepEqual(await state(), before)
        })
      }

      it('changes nothing for an unknown client', async () => {
        const before = await state()
        for (const action of ['update', 'update,secret', 'secret', 'delete']) {
          assertNotFound(await modify(good, { ...job('nobody'), action }), mode)
        }
        assert.deepEqual(await state(), before)
      })

      it('does nothing for an empty batch', async () => {
        const answer = await modify()
        assert.deepEqual([answer.status, answer.json()], [200, []])
      })
    })

    describe('POST /oauth/clients/tx/secret', () => {
      const change = (...entries: readonly Members[]) => post(`${TX}/secret`, entries)

      // Covers POST /oauth/clients/tx/secret: clientId; oldSecret; secret; response: approvals_deleted
      it('replaces secrets, and deletes approvals unless the old secret is sent', async () => {
        await post(TX, [job('c', { scope: ['s'] })])
        await approve('c')
        const answer = await change(
          { clientId: 'a', oldSecret: 'a-secret', secret: 'a-new', changeMode: 'ADD' },
          { clientId: 'b', oldSecret: 'wrong', secret: 'b-new' },
          { clientId: 'c', secret: 'c-new' },
        )
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(
          listOf(answer).map(({ client_id, approvals_deleted, scope }) => [client_id, approvals_deleted, scope]),
          [
            ['a', false, ['s']],
            ['b', true, ['s']],
            ['c', true, ['s']],
          ],
        )
        assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(isApproved)), [true, false, false])
        for (const id of ['a', 'b', 'c']) {
          assert.deepEqual([await works(id, `${id}-secret`), await works(id, `${id}-new`)], [false, true])
        }
        assert.doesNotMatch(answer.text, /-new|-secret/)
      })

      it('removes secrets on null', async () => {
        assert.equal((await change({ clientId: 'a', secret: null })).status, 200)
        assert.deepEqual((await clientNamed(api.server, 'a')).secrets, [])
      })

      // Covers POST /oauth/clients/tx/secret: error: policy; unknown
      it('changes none if one is invalid or unknown, and records the failures', async () => {
        const before = await state()
        const first = { clientId: 'a', secret: 'a-new' }
        for (const [entry, description] of [
          [{ clientId: 'b', secret: 'abc' }, 'Client Secret must be at least 4 characters in length.'],
          [{ clientId: 'b' }, 'A new secret must be provided.'],
          [{ clientId: 'b', secret: 5 }, 'secret must be a string'],
          [{ clientId: 'b', secret: 'b-new', oldSecret: [] }, 'oldSecret must be a string'],
        ] as const) {
          assertInvalid(await change(first, entry), description)
          const events = api.server.events.slice(-2).map(({ type, principal }) => `${principal} ${type}`)
          assert.deepEqual(events, ['a SecretChangeFailure', 'b SecretChangeFailure'])
        }
        assertInvalid(await change(first, { secret: 'b-new' }), 'A clientId must be provided.')
        assertInvalid(await change(first, first), 'Client is named twice: a')
        assertNotFound(await change(first, { clientId: 'nobody', secret: 'b-new' }), mode)
        assert.deepEqual(await state(), before)
        assert.deepEqual(await Promise.all(['a', 'b'].map(isApproved)), [true, true])
      })
    })

    it('answer 405 with Allow to other methods', async () => {
      for (const method of ['GET', 'HEAD', 'DELETE', 'PATCH']) {
        const { status, headers } = await api.send(method, TX)
        assert.equal(status, 405, method)
        assert.deepEqual(String(headers['allow']).split(', ').toSorted(), ['POST', 'PUT'], method)
      }
    })

    describe('POST /oauth/clients/tx/delete', () => {
      // Covers Client record: approvals_deleted
      // Covers POST /oauth/clients/tx/delete: array; response: approvals_deleted
      it('deletes all clients with their approvals', async () => {
        const answer = await post(`${TX}/delete`, [{ client_id: 'a' }, { client_id: 'b', name: 'ignored' }])
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(
          listOf(answer).map(({ client_id, approvals_deleted, scope }) => [client_id, approvals_deleted, scope]),
          [
            ['a', true, ['s']],
            ['b', true, ['s']],
          ],
        )
        assert.deepEqual((await state()).slice(0, 2), [undefined, undefined])
        assert.deepEqual(await Promise.all(['a', 'b'].map(isApproved)), [false, false])
      })

      // Covers POST /oauth/clients/tx/delete: error: unknown
      it('deletes none if one is unknown or repeated', async () => {
        const before = await state()
        assertNotFound(await post(`${TX}/delete`, [{ client_id: 'a' }, { client_id: 'nobody' }]), mode)
        assertInvalid(await post(`${TX}/delete`, [{ client_id: 'a' }, { client_id: 'a' }]), 'Client is named twice: a')
        assert.deepEqual(await state(), before)
        assert.equal(await isApproved('a'), true)
      })

      it('deletes none after a concurrent change of one', async () => {
        changeConcurrently(api.server, client => api.server.store.clients.update('svc', { ...client, name: 'Other' }))
        const answer = await post(`${TX}/delete`, [{ client_id: 'a' }, { client_id: 'b' }])
        assertInvalid(answer, 'The client a was changed concurrently', 409)
        assert.ok((await state()).slice(0, 2).every(stored => stored))
        assert.deepEqual(await Promise.all(['a', 'b'].map(isApproved)), [true, true])
      })

      it('does nothing for an empty batch', async () => {
        const answer = await post(`${TX}/delete`, [])
        assert.deepEqual([answer.status, answer.json()], [200, []])
      })
    })

    for (const { method, path, id } of ENDPOINTS) {
      it(`reject a body of ${method} ${path} that is not a list of objects`, async () => {
        const before = await state()
        for (const body of ['', '{}', '5', '"x"', '[5]', '[null]', '[[]]', '[{"__proto__":{}}]', '[']) {
          const answer = await api.send(method, path, body)
          assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'], body)
        }
        for (const value of [5, true, [], {}, '', null]) {
          const entry = { ...job('x'), secret: 'long enough', action: 'add', [id]: value }
          assertInvalid(await api.send(method, path, [entry]), /(?:must be a string|must be provided\.)$/)
        }
        assert.deepEqual(await state(), before)
      })

      it(`accept 100 kB, but not 1 MB, for ${method} ${path}`, async () => {
        const entry = { ...job('nobody'), [id]: 'nobody', secret: 'long enough', action: 'delete' }
        const answer = await api.send(method, path, [{ ...entry, note: 'x'.repeat(100_000) }])
        assert.notEqual(answer.status, 413)
        await api.send('DELETE', '/oauth/clients/nobody')
        const tooMuch = await api.send(method, path, [{ ...entry, note: 'x'.repeat(1024 * 1024) }])
        assert.equal(tooMuch.status, 413)
      })
    }
  })
}
