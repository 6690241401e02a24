// Refusals in the audit trail: what is recorded of them, and how they are explained later.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { authorize, signedIn } from '../../support/authorize.ts'
import { eventsOf } from '../../support/audit.ts'
import { dpopKey, provenToken } from '../../support/dpop.ts'
import { asking, explainConfig, explained, GRANTS, rulesOf } from '../../support/explain.ts'
import { changeClient, changeUser, MODES, passwordTokens, refresh, userNamed } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const basicOf = (id: string) => [id, `${id}-secret`] as const

for (const mode of MODES) {
  describe(`Explanation of a refusal in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: explainConfig() })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const refusals = () => eventsOf(server, { type: 'TokenRefusedEvent' }, { id: 'root' })
    const newest = async (): Promise<number> => (await refusals())[0]?.number ?? 0

    // Covers POST /explain: event
    it('reports the request, the rule that refused it, and the current decision', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'cloud.write' }
      const answer = await server.token(form, { basic: basicOf('app') })
      const event = await newest()
      const reported = await explained(server, { event })
      const { id } = await userNamed(server, 'marissa')
      const { recorded } = reported
      assert.deepEqual([recorded?.type, recorded?.principal, recorded?.client_id], ['TokenRefusedEvent', id, 'app'])
      assert.deepEqual(
        [recorded?.refusal?.['error'], recorded?.refusal?.['rule'], recorded?.refusal?.['scope']],
        [answer.json()['error'], 'no-scope-left', 'cloud.write'],
      )
      assert.equal(reported.decision, 'refused')
      assert.deepEqual(rulesOf(reported, 'cloud.write'), ['user-group'])
      const group = await server.store.groups.findByName('svc', 'cloud.write')
      const of = { groupId: group?.id ?? '', memberId: id, memberType: 'USER', origin: 'svc' } as const
      await server.store.groups.insertMember('svc', of)
      assert.equal((await explained(server, { event })).decision, 'granted')
      await server.store.groups.removeMember('svc', of.groupId, id)
    })

    it('reports a refused authorization request and its user', async () => {
      const browser = await signedIn(server)
      const query = {
        response_type: 'code',
        client_id: 'closed',
        redirect_uri: 'https://app.example/cb',
        scope: 'openid',
      }
      await authorize(browser, query)
      const reported = await explained(server, { event: await newest() })
      assert.equal(reported.recorded?.refusal?.['endpoint'], '/oauth/authorize')
      assert.deepEqual(
        [reported.request['grant_type'], reported.request['username']],
        ['authorization_code', 'marissa'],
      )
      assert.deepEqual(
        reported.refusals.map(({ rule }) => rule),
        ['required-group'],
      )
    })

    it('reports a refused request object with the internal reason', async () => {
      const browser = await signedIn(server)
      const header = Buffer.from('{"alg":"ES256","typ":"oauth-authz-req+jwt"}').toString('base64url')
      const query = { client_id: 'wild', response_type: 'code', redirect_uri: 'https://app.example/cb' }
      const answer = await authorize(browser, { ...query, request: `${header}.e30.AAAA` })
      assert.equal(answer.location().searchParams.get('error'), 'invalid_request_object')
      const { recorded } = await explained(server, { event: await newest() })
      assert.deepEqual([recorded?.client_id, recorded?.refusal?.['error']], ['wild', 'invalid_request_object'])
      assert.equal(recorded?.refusal?.['detail'], 'there are no keys')
    })

    it('reports a refusal on a page if the client is known', async () => {
      const browser = await signedIn(server)
      const query = { client_id: 'wild', response_type: 'code', redirect_uri: 'https://elsewhere.example/' }
      assert.equal((await authorize(browser, query)).status, 400)
      const mismatch = (await explained(server, { event: await newest() })).recorded
      assert.equal(mismatch?.client_id, 'wild')
      assert.match(
        String(mismatch?.refusal?.['description']),
        /^Invalid redirect https:\/\/elsewhere\.example\/ did not/,
      )
      // In `uaa` this one is on a page, too (row R2).
      await authorize(browser, { ...query, redirect_uri: 'https://app.example/cb', max_age: 'x' })
      const { recorded } = await explained(server, { event: await newest() })
      assert.equal(recorded?.refusal?.['error'], 'invalid_request')
      assert.match(String(recorded?.refusal?.['description']), /max_age/)
    })

    const elsewhere: readonly [path: string, id: string, form: Record<string, string>, error: string][] = [
      ['/oauth/par', 'wild', { response_type: 'code', scope: 'unknown' }, 'invalid_scope'],
      ['/oauth/device_authorization', 'cloud', { scope: 'unknown' }, 'invalid_scope'],
    ]
    for (const [path, id, form, error] of elsewhere) {
      it(`reports a refusal at ${path}`, async () => {
        const redirecting = path === '/oauth/par' && { redirect_uri: 'https://app.example/cb' }
        const answer = await server.send(path, { form: { ...redirecting, ...form }, basic: basicOf(id) })
        assert.equal(answer.json()['error'], error, answer.text)
        const { recorded } = await explained(server, { event: await newest() })
        const { endpoint, scope, error: recordedError } = recorded?.refusal ?? {}
        assert.deepEqual([recorded?.client_id, endpoint, scope, recordedError], [id, path, 'unknown', error])
      })
    }

    it('reports the rule of a client that may not use the device grant, as the token endpoint does', async () => {
      const asPolling = { grant_type: GRANTS.device, device_code: 'none' }
      for (const [path, form] of [
        ['/oauth/token', asPolling],
        ['/oauth/device_authorization', {}],
      ] as const) {
        const answer = await server.send(path, { form, basic: basicOf('wild') })
        assert.match(String(answer.json()['error_description']), /Unauthorized grant type/, path)
        const { recorded } = await explained(server, { event: await newest() })
        assert.deepEqual([recorded?.refusal?.['endpoint'], recorded?.refusal?.['rule']], [path, 'client-grant-type'])
      }
    })

    it('records a refusal after sign-in once', async () => {
      const client = await server.store.clients.find('svc', 'wild')
      assert.ok(client)
      const registration = { at: new Date(0), grantTypes: ['authorization_code'], responseTypes: ['code'] } as const
      await server.store.clients.insert('svc', { ...client, clientId: 'registered', registration })
      const query = { response_type: 'code', client_id: 'registered', scope: 'unknown' }
      const before = (await refusals()).length
      const asked = { ...query, redirect_uri: 'https://app.example/cb' }
      const deferred = await authorize(server.browser(), asked)
      assert.equal(deferred.location().pathname, '/login')
      assert.equal((await refusals()).length, before)
      const refused = await authorize(await signedIn(server), asked)
      assert.equal(refused.location().searchParams.get('error'), 'invalid_scope')
      assert.equal((await refusals()).length, before + 1)
    })

    it('records a refused sign-in with credentials at the authorization endpoint as at the token endpoint', async () => {
      const client = await server.store.clients.find('svc', 'wild')
      assert.ok(client)
      const authorizedGrantTypes = ['implicit', 'password']
      await server.store.clients.insert('svc', { ...client, clientId: 'direct', authorizedGrantTypes })
      const signIn = (password: string) => {
        const asked = { response_type: 'token', client_id: 'direct', redirect_uri: 'https://app.example/cb' }
        const form = { ...asked, source: 'credentials', username: 'marissa', password }
        return server.send('/oauth/authorize', { form, headers: { accept: 'application/json' } })
      }
      const before = (await refusals()).length
      assert.equal((await signIn('wombat')).status, 401)
      assert.equal((await refusals()).length, before, 'the sign-in has an event of its own')
      await changeUser(server, 'marissa', { verified: false })
      assert.equal((await signIn('koala')).status, 401)
      await changeUser(server, 'marissa', { verified: true })
      const { recorded } = await explained(server, { event: await newest() })
      const { id } = await userNamed(server, 'marissa')
      assert.deepEqual(
        [recorded?.client_id, recorded?.principal, recorded?.refusal?.['rule']],
        ['direct', id, 'account-not-verified'],
      )
    })

    const ofUser: readonly [grant: string, send: () => Promise<unknown>][] = [
      [
        'a passcode',
        async () => {
          const browser = await signedIn(server)
          const answer = await browser.send('/passcode', { headers: { accept: 'application/json' } })
          const form = { grant_type: 'password', passcode: answer.json<string>() }
          return server.token(form, { basic: basicOf('foreign') })
        },
      ],
      [
        'user_token',
        async () => {
          const { access_token: bearer } = await passwordTokens(server, {}, basicOf('front'))
          return server.token({ grant_type: 'user_token', client_id: 'foreign' }, { bearer })
        },
      ],
      [
        'a token of the zone as an assertion',
        async () => {
          const { access_token: assertion } = await passwordTokens(server, {}, basicOf('front'))
          return server.token({ grant_type: GRANTS.jwtBearer, assertion }, { basic: basicOf('foreign') })
        },
      ],
      [
        'an exchange',
        async () => {
          const { access_token } = await passwordTokens(server, {}, basicOf('front'))
          const subject_token_type = 'urn:ietf:params:oauth:token-type:access_token'
          const form = {
            grant_type: GRANTS.exchange,
            subject_token: access_token,
            subject_token_type,
            audience: 'stock',
          }
          await changeClient(server, 'cloud', { allowedProviders: ['ldap'] })
          const answer = await server.token(form, { basic: basicOf('cloud') })
          await changeClient(server, 'cloud', { allowedProviders: ['svc'] })
          return answer
        },
      ],
    ]
    for (const [grant, send] of ofUser) {
      it(`names the user of a refusal of ${grant}`, async () => {
        const before = await newest()
        await send()
        const event = await newest()
        assert.notEqual(event, before)
        const { recorded } = await explained(server, { event })
        assert.equal(recorded?.refusal?.['rule'], 'provider-not-allowed')
        assert.equal(recorded?.principal, (await userNamed(server, 'marissa')).id)
      })
    }

    // Covers audit trail: TokenRefusedEvent
    it('records neither secrets of a refused request nor pending device requests', async () => {
      const { refresh_token } = await passwordTokens(server, {}, basicOf('wild'))
      await refresh(server, refresh_token, { scope: 'jobs.run' }, basicOf('wild'))
      const form = { grant_type: 'password', username: 'koala1', password: 'wombat7' }
      await server.token(form, { basic: basicOf('app') })
      const begun = await server.send('/oauth/device_authorization', { basic: basicOf('cloud'), form: {} })
      const before = (await refusals()).length
      const device = begun.json<{ device_code: string }>().device_code
      await server.token({ grant_type: GRANTS.device, device_code: device }, { basic: basicOf('cloud') })
      const all = await refusals()
      assert.equal(all.length, before)
      const text = JSON.stringify(all)
      for (const secret of [refresh_token, 'wombat7', 'koala1', device, 'app-secret']) assert.ok(!text.includes(secret))
      assert.ok(!server.events.some(({ type }) => type === 'TokenRefusedEvent'), 'refusals are not logged as events')
    })

    it('records no use_dpop_nonce (RFC 9449 §8)', async () => {
      const before = (await refusals()).length
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const answer = await provenToken(server, await dpopKey(), form, { basic: basicOf('wild') }, { nonce: undefined })
      assert.equal(answer.json()['error'], 'use_dpop_nonce')
      assert.equal((await refusals()).length, before)
    })

    it('truncates long parameters', async () => {
      const long = '\u0001'.repeat(400)
      const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope: long, resource: long }
      await server.token({ ...form, audience: '"'.repeat(400), acr_values: long }, { basic: basicOf('app') })
      const event = await newest()
      const { recorded } = await explained(server, { event })
      assert.equal(recorded?.refusal?.['grant_type'], 'password')
      assert.equal(recorded.refusal['scope'], '\u0001'.repeat(55))
    })

    it('lists what cannot be checked for a recorded event', async () => {
      const { refresh_token } = await passwordTokens(server, {}, basicOf('wild'))
      await refresh(server, refresh_token, { scope: 'jobs.run' }, basicOf('wild'))
      const refused = await explained(server, { event: await newest() })
      assert.match(refused.not_checked.join(), /refresh_token.*not stored/)
      assert.equal(refused.recorded?.refusal?.['rule'], 'requested-scope')
      const [issued] = await eventsOf(server, { type: 'TokenIssuedEvent' }, { id: 'root' })
      const other = await explained(server, { event: issued?.number ?? 0 })
      assert.match(other.not_checked.join(), /TokenIssuedEvent does not have the request/)
      assert.equal(other.decision, 'granted', 'the event is not a refusal')
    })

    it('answers 404 with the reason for unknown events', async () => {
      const cases: [object, RegExp][] = [
        [{ event: 999_999 }, /no event 999999/],
        [{ request_id: 'abc' }, /log\.requests/],
      ]
      for (const [question, description] of cases) {
        const answer = await asking(server, question)
        assert.deepEqual([answer.status, answer.json()['error']], [404, 'not_found'])
        assert.match(String(answer.json()['error_description']), description)
      }
    })

    it('hides events from administrators of other zones', async () => {
      const own = await explained(server, { event: await newest() })
      assert.ok(own.recorded)
      const options = { id: 'z1-admin', headers: { 'x-identity-zone-id': 'z1' } }
      const answer = await asking(server, { event: own.recorded.number }, options)
      assert.ok(!answer.text.includes('TokenRefusedEvent'), answer.text)
    })
  })
}

describe('Explanation of a refusal', () => {
  it('answers 404 if the audit trail is not stored', async () => {
    const server = await startServer({ config: explainConfig({ audit: { enabled: false } }) })
    const answer = await asking(server, { event: 1 })
    assert.equal(answer.status, 404)
    assert.match(String(answer.json()['error_description']), /audit\.enabled/)
    await server.stop()
  })
})
