import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Z1_HOST } from '../../support/authorize.ts'
import { MODES } from '../../support/oauth.ts'
import {
  initialToken,
  METADATA,
  manage,
  managementPath,
  register,
  registered,
  setRegistration,
  startRegistrationServer,
} from '../../support/registration.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { sendJson, tokenOf } from '../../support/zones.ts'

const PATH = '/oauth/registration-tokens'
const DAY = 24 * 3600

for (const mode of MODES) {
  describe(`Initial access tokens in ${mode}`, () => {
    let server: TestServer
    let root: string
    before(async () => {
      server = await startRegistrationServer({ mode: 'token' }, { mode })
      root = await tokenOf(server, 'root')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers POST /oauth/registration-tokens: rule: needed where the zone says so
    it('are required in mode token', async () => {
      for (const [request, challenge] of [
        [{}, /^Bearer realm="SVC\/oauth"$/],
        [{ bearer: 'x' }, /^Bearer realm="SVC\/oauth", error="invalid_token"/],
        [{ bearer: root }, /error="invalid_token"/],
        [{ basic: ['app', 'app-secret'] as const }, /^Bearer realm="SVC\/oauth"$/],
      ] as const) {
        const answer = await register(server, METADATA, request)
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '401 invalid_token')
        assert.match(String(answer.headers['www-authenticate']), challenge)
      }
      registered(await register(server, METADATA, { bearer: await initialToken(server) }))
    })

    it('limit the number of successful registrations', async () => {
      const bearer = await initialToken(server, { max_uses: 2 })
      assert.equal((await register(server, { redirect_uris: ['x'] }, { bearer })).status, 400)
      const first = registered(await register(server, METADATA, { bearer }))
      const both = await Promise.all([1, 2, 3].map(() => register(server, METADATA, { bearer })))
      assert.deepEqual(
        both.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 401, 401],
      )
      assert.equal((await manage(server, 'GET', first)).status, 200, 'the client remains valid')
    })

    it('expire', async () => {
      const bearer = await initialToken(server, { expires_in: 60, max_uses: 5 })
      registered(await register(server, METADATA, { bearer }))
      server.clock.advance(60)
      assert.equal((await register(server, METADATA, { bearer })).status, 401)
    })

    // Covers GET /oauth/registration-tokens: rule: without the tokens themselves
    // Covers DELETE /oauth/registration-tokens/{id}: id
    it('are listed without their values, and can be deleted', async () => {
      root = await tokenOf(server, 'root')
      const created = await sendJson(server, 'POST', PATH, { label: 'for the team' }, { bearer: root })
      assert.equal(created.status, 201, created.text)
      assert.equal(created.headers['cache-control'], 'no-store')
      const { id, token, ...rest } = created.json<{
        id: string
        token: string
        created_at: number
        expires_at: number
      }>()
      assert.equal(rest.expires_at - rest.created_at, DAY)
      const list = async () => (await server.send(PATH, { bearer: root })).json<{ id: string }[]>()
      assert.deepEqual(
        (await list()).find(each => each.id === id),
        { id, ...rest },
      )
      assert.ok(!JSON.stringify(await list()).includes(token))
      const remove = () => server.send(`${PATH}/${id}`, { method: 'DELETE', bearer: root })
      assert.equal((await remove()).status, 204)
      assert.equal((await remove()).status, 404)
      assert.equal((await register(server, METADATA, { bearer: token })).status, 401)
      const types = server.events.map(({ type }) => type).filter(type => type.startsWith('RegistrationToken'))
      assert.deepEqual(types.slice(-2), ['RegistrationTokenCreatedEvent', 'RegistrationTokenDeletedEvent'])
    })

    for (const body of [{ max_uses: 0 }, { max_uses: 1.5 }, { expires_in: -1 }, { expires_in: '60' }, { label: 1 }]) {
      it(`are refused with ${JSON.stringify(body)}`, async () => {
        assert.equal((await sendJson(server, 'POST', PATH, body, { bearer: root })).status, 400)
      })
    }

    // Covers POST /oauth/registration-tokens: error: not an administrator of clients
    it('can be managed only by client administrators', async () => {
      for (const bearer of [undefined, await tokenOf(server, 'service')]) {
        for (const method of ['GET', 'POST'] as const) {
          const answer = await sendJson(server, method, PATH, method === 'POST' ? {} : undefined, {
            ...(bearer && { bearer }),
          })
          assert.ok([401, 403].includes(answer.status), answer.text)
        }
      }
    })

    it('are accepted in mode open, and validated', async () => {
      await setRegistration(server, { mode: 'open' })
      assert.equal((await register(server, METADATA, { bearer: 'wrong' })).status, 401)
      const host = { redirect_uris: ['https://app.example/second'] }
      assert.equal((await register(server, host)).status, 400)
      registered(await register(server, host, { bearer: await initialToken(server) }))
      await setRegistration(server, { mode: 'token' })
    })

    it('are refused with scheme DPoP, like registration access tokens', async () => {
      const token = await initialToken(server)
      const byDpop = (sent: string) => ({ headers: { authorization: `DPoP ${sent}` } })
      const refused = (answer: TestAnswer) => {
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '401 invalid_token')
        assert.match(String(answer.json()['error_description']), /send it by Authorization: Bearer/)
      }
      refused(await register(server, METADATA, byDpop(token)))
      await setRegistration(server, { mode: 'open' })
      refused(await register(server, METADATA, byDpop(token)))
      await setRegistration(server, { mode: 'token' })
      const client = registered(await register(server, METADATA, { bearer: token }))
      const sent = byDpop(client.registration_access_token)
      refused(await server.send(managementPath(client), sent))
      refused(await server.send(managementPath(client), { method: 'DELETE', ...sent }))
      assert.equal((await manage(server, 'GET', client)).status, 200)
    })

    it('are valid in one zone', async () => {
      await setRegistration(server, { mode: 'token' }, 'z1')
      const bearer = await initialToken(server)
      assert.equal((await register(server, METADATA, { bearer, host: Z1_HOST })).status, 401)
    })

    it('do not exceed the maximum number of clients', async () => {
      await setRegistration(server, { mode: 'token', maxClients: 0 })
      const bearer = await initialToken(server)
      const answer = await register(server, METADATA, { bearer })
      assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 access_denied')
      await setRegistration(server, { mode: 'token' })
      registered(await register(server, METADATA, { bearer }))
    })
  })
}
