import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  assertInvalid,
  assertNotFound,
  HOST_OF_Z1,
  changeConcurrently,
  startClientServer,
  TO_Z1,
} from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { changeClient, clientNamed, isAlive, MODES, tokensOf } from '../../support/oauth.ts'

type Members = Readonly<Record<string, unknown>>

const ANOTHER = "Bad request. Not permitted to change another client's secret"
const WRONG = 'Previous secret is required and must be valid'

for (const mode of MODES) {
  describe(`PUT /oauth/clients/{client_id}/secret in ${mode}`, () => {
    let api: ClientServer
    before(async () => {
      api = await startClientServer(mode, { config: { zone_config: { clientSecretPolicy: { minLength: 4 } } } })
    })
    after(() => api.stop())
    beforeEach(async () => {
      await api.send('DELETE', '/oauth/clients/job')
      const body = {
        client_id: 'job',
        client_secret: 'first',
        authorized_grant_types: ['client_credentials'],
        authorities: ['clients.secret'],
      }
      assert.equal((await api.send('POST', '/oauth/clients', body)).status, 201)
    })
    const put = (body: unknown, request: Parameters<ClientServer['send']>[3] = {}, id = 'job') =>
      api.send('PUT', `/oauth/clients/${id}/secret`, body, request)
    const works = async (secret: string, id = 'job') =>
      (await api.server.token({ grant_type: 'client_credentials' }, { basic: [id, secret] })).status === 200
    const tokenBy = async (secret: string) =>
      tokensOf(await api.server.token({ grant_type: 'client_credentials' }, { basic: ['job', secret] })).access_token
    async function succeed(body: Members, message: string): Promise<void> {
      const answer = await put(body)
      assert.deepEqual([answer.status, answer.json()], [200, { status: 'ok', message }])
    }
    const add = (secret: string) => succeed({ changeMode: 'ADD', secret }, 'Secret is added')

    // Covers PUT /oauth/clients/{client_id}/secret: clientId; secret; changeMode=UPDATE
    it('replaces all secrets, and revokes their tokens', async () => {
      await add('later')
      const [first, later] = [await tokenBy('first'), await tokenBy('later')]
      await succeed({ clientId: 'ignored', secret: 'third' }, 'secret updated')
      assert.deepEqual([await works('first'), await works('later'), await works('third')], [false, false, true])
      assert.deepEqual([await isAlive(api.server, first), await isAlive(api.server, later)], [false, false])
    })

    it('revokes tokens even if the secret is the same', async () => {
      const token = await tokenBy('first')
      await succeed({ secret: 'first', changeMode: 'UPDATE' }, 'secret updated')
      assert.equal(await isAlive(api.server, token), false)
    })

    it('removes all secrets on null', async () => {
      await succeed({ secret: null }, 'secret updated')
      assert.deepEqual((await clientNamed(api.server, 'job')).secrets, [])
      assert.equal(await works(''), false)
    })

    it('accepts an empty secret', async () => {
      await succeed({ secret: '' }, 'secret updated')
      assert.deepEqual(
        (await clientNamed(api.server, 'job')).secrets.map(({ empty }) => empty),
        [true],
      )
      assert.equal(await works(''), true)
    })

    // Covers PUT /oauth/clients/{client_id}/secret: changeMode=ADD; changeMode=DELETE
    it('adds a second secret, and deletes the older one', async () => {
      const old = await tokenBy('first')
      await add('later')
      assert.deepEqual([await works('first'), await works('later')], [true, true])
      assert.equal(await isAlive(api.server, old), true)
      const both = await tokenBy('later')
      await succeed({ changeMode: 'DELETE' }, 'Secret is deleted')
      assert.deepEqual([await works('first'), await works('later')], [false, true])
      assert.deepEqual([await isAlive(api.server, old), await isAlive(api.server, both)], [false, true])
    })

    it('keeps everything else of the client', async () => {
      const { secrets: _, ...before } = await clientNamed(api.server, 'job')
      api.server.clock.advance(10)
      await succeed({ secret: 'other' }, 'secret updated')
      const { secrets: __, ...left } = await clientNamed(api.server, 'job')
      assert.deepEqual(left, before)
    })

    const TWO = 'client secret is either empty or client already has two secrets.'
    const ONE = 'client secret is either empty or client has only one secret.'
    // Covers PUT /oauth/clients/{client_id}/secret: error: two secrets already
    it('rejects ADD unless there is exactly one secret', async () => {
      await add('later')
      assertInvalid(await put({ changeMode: 'ADD', secret: 'third' }), TWO)
      await changeClient(api.server, 'job', { secrets: [] })
      assertInvalid(await put({ changeMode: 'ADD', secret: 'third' }), TWO)
    })

    it('adds nothing to an empty secret, by which every caller could still authenticate', async () => {
      await succeed({ secret: '' }, 'secret updated')
      assertInvalid(await put({ changeMode: 'ADD', secret: 'later' }), TWO)
      assert.equal(await works('later'), false)
    })

    // Covers PUT /oauth/clients/{client_id}/secret: error: only one secret
    it('rejects DELETE unless there are two secrets', async () => {
      assertInvalid(await put({ changeMode: 'DELETE' }), ONE)
      await changeClient(api.server, 'job', { secrets: [] })
      assertInvalid(await put({ changeMode: 'DELETE' }), ONE)
    })

    const refused: readonly { name: string; body: unknown; description: string }[] = [
      { name: 'no secret', body: {}, description: 'A new secret must be provided.' },
      { name: 'no secret to add', body: { changeMode: 'ADD' }, description: 'A new secret must be provided.' },
      {
        name: 'null to add',
        body: { changeMode: 'ADD', secret: null },
        description: 'A new secret must be provided.',
      },
      {
        name: 'a blank secret to add',
        body: { changeMode: 'ADD', secret: ' ' },
        description: 'A new secret must be provided.',
      },
      { name: 'a secret that is not a string', body: { secret: 5 }, description: 'secret must be a string' },
      { name: 'a secret that is a list', body: { secret: ['x'] }, description: 'secret must be a string' },
      {
        name: 'an old secret that is not a string',
        body: { secret: 'x', oldSecret: {} },
        description: 'oldSecret must be a string',
      },
      {
        name: 'an unknown changeMode',
        body: { secret: 'enough', changeMode: 'add' },
        description: 'changeMode must be one of: [UPDATE, ADD, DELETE]',
      },
      {
        name: 'a changeMode that is not a string',
        body: { secret: 'enough', changeMode: ['ADD'] },
        description: 'changeMode must be one of: [UPDATE, ADD, DELETE]',
      },
      // Covers PUT /oauth/clients/{client_id}/secret: error: policy
      // Covers Zone config in effect: clientSecretPolicy
      {
        name: 'a secret that violates the policy',
        body: { secret: 'abc' },
        description: 'Client Secret must be at least 4 characters in length.',
      },
      {
        name: 'a secret to add that violates the policy',
        body: { secret: 'abc', changeMode: 'ADD' },
        description: 'Client Secret must be at least 4 characters in length.',
      },
    ]
    for (const { name, body, description } of refused) {
      it(`refuses ${name}`, async () => {
        assertInvalid(await put(body), description)
        assert.equal(await works('first'), true)
        const { type, principal, clientId } = api.server.events.findLast(each => each.type.startsWith('Secret')) ?? {}
        assert.deepEqual([type, principal, clientId], ['SecretChangeFailure', 'job', 'root'])
      })
    }

    it('rejects a body that is not an object or has 100 kB', async () => {
      for (const body of ['', '[]', 'null', '5', '{"__proto__":{}}']) {
        assert.equal((await put(body)).status, 400, body)
      }
      assert.equal((await put({ secret: 'x'.repeat(100_000) })).status, 413)
    })

    // Covers PUT /oauth/clients/{client_id}/secret: error: not found
    it('answers 404 for unknown clients, without their id in the audit log', async () => {
      for (const id of ['nobody', 'JOB', 'native', 'a%00b']) {
        assertNotFound(await put({ secret: 'enough' }, {}, id), mode)
        const event = api.server.events.at(-1)
        assert.equal(event?.type, 'SecretChangeFailure')
        assert.notEqual(event.principal, decodeURIComponent(id))
      }
    })

    it('omits an unknown id from the audit log if the caller may change only itself', async () => {
      for (const [id, isThere] of [
        ['nobody', false],
        ['job', true],
      ] as const) {
        assertInvalid(await put({ secret: 'enough', oldSecret: 'x' }, { by: 'changer' }, id), ANOTHER)
        const event = api.server.events.at(-1)
        assert.deepEqual([event?.type, event?.principal === id], ['SecretChangeFailure', isThere])
      }
    })

    // Covers audit trail: SecretChangeSuccess; SecretChangeFailure
    it('is recorded in the audit log, without a secret', async () => {
      const before = api.server.events.length
      await succeed({ secret: 'very-secret' }, 'secret updated')
      await put({ secret: 'very-secret', oldSecret: 'very-secret', changeMode: 'x' })
      const events = api.server.events.slice(before)
      assert.deepEqual(
        events.map(({ type, principal, clientId }) => [type, principal, clientId]),
        [
          ['SecretChangeSuccess', 'job', 'root'],
          ['SecretChangeFailure', 'job', 'root'],
        ],
      )
      assert.doesNotMatch(JSON.stringify(events), /very-secret/)
    })

    it('answers 409 after a concurrent change', async () => {
      changeConcurrently(api.server, client => api.server.store.clients.update('svc', { ...client, name: 'Other' }))
      assertInvalid(await put({ secret: 'newer' }), 'The client job was changed concurrently', 409)
      assert.deepEqual([await works('first'), await works('newer')], [true, false])
      assert.equal((await clientNamed(api.server, 'job')).name, 'Other')
    })

    it('succeeds despite a concurrent rehash of the secret', async () => {
      changeConcurrently(api.server, async ({ secrets: [secret] }) => {
        assert.ok(secret)
        await api.server.store.clients.renewSecretHash('svc', 'job', { ...secret, hash: 'renewed' })
      })
      await succeed({ secret: 'newer' }, 'secret updated')
      assert.equal(await works('newer'), true)
    })

    it('keeps one of several concurrently set secrets', async () => {
      const names = ['one-of-three', 'two-of-three', 'all-of-three']
      const answers = await Promise.all(names.map(secret => put({ secret })))
      assert.ok(answers.every(({ status }) => status === 200 || status === 409))
      const working = await Promise.all(names.map(name => works(name)))
      assert.equal(working.filter(Boolean).length, 1)
      assert.equal(answers[working.indexOf(true)]?.status, 200)
    })

    describe('by the client itself', () => {
      const own = async () => ({ bearer: await tokenBy('first') })

      for (const [mode, message] of [
        ['UPDATE', 'secret updated'],
        ['ADD', 'Secret is added'],
      ] as const) {
        it(`allows ${mode} with the current secret`, async () => {
          const body = { changeMode: mode, secret: 'newer', oldSecret: 'first' }
          const answer = await put(body, await own())
          assert.deepEqual([answer.status, answer.json()], [200, { status: 'ok', message }])
          assert.equal(await works('newer'), true)
        })
      }

      it('allows DELETE with either secret', async () => {
        await add('later')
        const answer = await put({ changeMode: 'DELETE', oldSecret: 'later' }, await own())
        assert.equal(answer.status, 200, answer.text)
      })

      for (const oldSecret of [undefined, null, '', 'First', 'first ', 'changer-secret']) {
        // Covers PUT /oauth/clients/{client_id}/secret: oldSecret; error: previous secret
        it(`rejects ${JSON.stringify(oldSecret)} as oldSecret`, async () => {
          for (const change of [
            { secret: 'newer' },
            { changeMode: 'ADD', secret: 'newer' },
            { changeMode: 'DELETE' },
          ]) {
            assertInvalid(await put({ ...change, oldSecret }, await own()), WRONG)
          }
          assert.equal(await works('first'), true)
        })
      }

      it('checks oldSecret before changeMode', async () => {
        assertInvalid(await put({ changeMode: 'nonsense' }, await own()), WRONG)
      })

      // Covers PUT /oauth/clients/{client_id}/secret: error: another client
      it('rejects changes of another client, existing or not', async () => {
        const request = await own()
        for (const id of ['app', 'nobody', 'JOB', 'native']) {
          assertInvalid(await put({ secret: 'newer', oldSecret: 'first' }, request, id), ANOTHER)
        }
      })

      it('allows users of the client who send the current secret', async () => {
        const bearer = await api.userToken()
        assertInvalid(await put({ secret: 'newer', oldSecret: 'wrong' }, { bearer }, 'web'), WRONG)
        assertInvalid(await put({ secret: 'newer', oldSecret: 'first' }, { bearer }), ANOTHER)
        assert.equal((await put({ secret: 'newer', oldSecret: 'web-secret' }, { bearer }, 'web')).status, 200)
        const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
        assert.equal((await api.server.token(form, { basic: ['web', 'web-secret'] })).status, 401)
        assert.equal((await api.server.token(form, { basic: ['web', 'newer'] })).status, 200)
      })

      it('rate-limits wrong values of oldSecret', async () => {
        const request = await own()
        const guess = (oldSecret: string, remote = '127.0.0.1') =>
          put({ secret: 'newer', oldSecret }, { ...request, headers: { 'x-forwarded-for': remote } })
        for (let tried = 0; tried < 100; tried += 1) await guess(`guess ${tried}`, `10.0.0.${tried}`)
        const answer = await guess('first')
        assert.equal(answer.status, 429)
        assert.equal(answer.headers['retry-after'], '60')
        assert.equal(await works('first'), true)
        api.server.clock.advance(61)
        assert.equal((await guess('first')).status, 200)
      })
    })

    it('allows administrators of the zone only', async () => {
      const secret = 'newer'
      assert.equal((await put({ secret }, { by: 'clients-admin' })).status, 200)
      assert.equal((await put({ secret }, { by: 'zone-admin' })).status, 200)
      const there = { headers: TO_Z1 }
      assert.equal((await put({ secret }, { by: 'z1-admin', ...there }, 'changer')).status, 200)
      assert.equal(await works('changer-secret', 'changer'), true) // the client with the same id in the default zone
      // Rights in the default zone do not apply in z1.
      assert.equal((await put({ secret, oldSecret: secret }, { by: 'changer', ...there }, 'changer')).status, 403)
      const bearer = await api.tokenOf('native', HOST_OF_Z1)
      assert.equal((await put({ secret }, { bearer, host: HOST_OF_Z1 }, 'changer')).status, 200)
      assert.equal((await put({ secret }, { bearer }, 'changer')).status, 401)
    })
  })
}
