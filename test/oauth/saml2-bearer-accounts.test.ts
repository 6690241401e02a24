// Accounts of SAML assertions at the token endpoint: mapped attributes, claims of the tokens,
// and audit events.
import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { decodeJwt } from 'jose'
import type { User } from '../../src/model/users/user.ts'
import { MODES, refresh, refused, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { CARRIER, present, presentFrom, samlWorld } from '../support/saml/saml-bearer.ts'
import { base64Of, SAML } from '../support/saml/saml-xml.ts'

const world = samlWorld()
const { clock, bootstrap, corp, closed, mapped, rival } = world
const attribute = (name: string, ...values: readonly string[]) => ({ name, values })
const unauthorized = { standard: '400 invalid_grant', uaa: '401 unauthorized' } as const

for (const mode of MODES) {
  describe(`Account of a SAML assertion in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, clock, config: { bootstrap } })))
    after(() => server.stop())
    const account = (origin: string, userName: string): Promise<User | undefined> =>
      server.store.users.findByName('svc', origin, userName)

    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: shadow user
    it('is created with mapped names, email address and groups', async () => {
      const attributes = [
        attribute('first', 'Ada'),
        attribute('last', 'Lovelace'),
        attribute('mail', 'ada@mapped.example'),
        attribute('dep', 'engines', 'notes'),
        attribute('groups', 'team.lead', 'cloud.read'),
        attribute('unmapped', 'x'),
      ]
      const { scope } = tokensOf(await presentFrom(server, mapped, { parts: { nameId: 'ada', attributes } }))
      const user = await account('mapped', 'ada')
      assert.deepEqual(
        [user?.externalId, user?.givenName, user?.familyName, user?.email, user?.active, user?.verified],
        ['ada', 'Ada', 'Lovelace', 'ada@mapped.example', true, false],
      )
      assert.equal(user?.passwordHash, undefined)
      assert.ok(scope.split(' ').includes('cloud.read'), scope)
    })

    it('is updated by the next assertion, including groups', async () => {
      const send = async (name: string, ...groups: readonly string[]): Promise<Record<string, unknown>> => {
        const attributes = [attribute('first', name), attribute('groups', ...groups)]
        const answer = await presentFrom(server, mapped, { parts: { nameId: 'joan', attributes } })
        const { access_token: token, scope } = tokensOf(answer)
        return { id: decodeJwt(token)['user_id'], scope }
      }
      const first = await send('Joan', 'cloud.read')
      assert.match(String(first['scope']), /cloud\.read/)
      const second = await send('Joanna')
      assert.equal(second['id'], first['id'])
      assert.doesNotMatch(String(second['scope']), /cloud\.read/)
      assert.equal((await account('mapped', 'joan'))?.givenName, 'Joanna')
    })

    it('is separate from accounts of other providers with the same name and address', async () => {
      const parts = { nameId: 'marissa@example.org', format: SAML.emailName }
      const ids = []
      for (const idp of [corp, rival]) {
        const claims = decodeJwt<Record<string, unknown>>(
          tokensOf(await presentFrom(server, idp, { parts })).access_token,
        )
        ids.push(claims['user_id'])
      }
      const internal = await account('svc', 'marissa')
      assert.equal(new Set([...ids, internal?.id]).size, 3)
    })

    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: error: no user resulted
    it('must exist without addShadowUserOnLogin', async () => {
      const { access_token: token } = tokensOf(await presentFrom(server, closed, { parts: { nameId: 'known' } }))
      assert.equal(decodeJwt(token)['user_id'], (await account('closed', 'known'))?.id)
      await refused(server, mode, () => presentFrom(server, closed, { parts: { nameId: 'nobody' } }), {
        want: unauthorized,
        description: 'SAML user does not exist. You can correct this by creating a shadow user for the SAML user.',
      })
      assert.equal(await account('closed', 'nobody'), undefined)
    })

    it('must be active', async () => {
      await refused(server, mode, () => presentFrom(server, corp, { parts: { nameId: 'left' } }), {
        want: unauthorized,
      })
      assert.equal((await account('corp', 'left'))?.lastLogonAt, undefined)
    })

    describe('when the provider changes during the sign-in', () => {
      /** Sends an assertion of a provider whose record changes before its nth comparison. */
      async function sendWhileChanged(comparison: number, nameId: string): Promise<void> {
        const { providers } = server.store
        const find = providers.findStored.bind(providers)
        let count = 0
        const changing = mock.method(providers, 'findStored', async (...of: Parameters<typeof find>) => {
          const found = await find(...of)
          count += 1
          return found && count >= comparison ? { ...found, version: found.version + 1 } : found
        })
        const parts = { nameId, attributes: [attribute('first', 'Eve'), attribute('groups', 'cloud.read')] }
        await refused(server, mode, () => presentFrom(server, mapped, { parts }), {
          want: unauthorized,
          description: 'The record of the provider was changed or deleted during the sign-in.',
        })
        changing.mock.restore()
        assert.ok(count >= comparison)
      }

      for (const comparison of [1, 2]) {
        it(`is not created, as of comparison ${comparison}`, async () => {
          await sendWhileChanged(comparison, `racing-${comparison}`)
          assert.equal(await account('mapped', `racing-${comparison}`), undefined)
        })

        it(`is kept, as of comparison ${comparison}`, async () => {
          const nameId = `raced-${comparison}`
          const parts = { nameId, attributes: [attribute('first', 'Ada')] }
          tokensOf(await presentFrom(server, mapped, { parts }))
          const before = (await account('mapped', nameId)) ?? assert.fail()
          await sendWhileChanged(comparison, nameId)
          const user = await account('mapped', nameId)
          assert.equal(user?.id, before.id)
          if (comparison === 1) assert.deepEqual(user, before)
        })
      }
    })

    it('must have the required groups of the client', async () => {
      await refused(server, mode, () => presentFrom(server, corp, { basic: ['strict', 'secret'] }), {
        want: '400 invalid_scope',
        description: "User does not meet the client's required group criteria.",
      })
    })

    it('determines the claims of the tokens, with auth_time of the provider', async () => {
      const authnInstant = new Date(clock.now().getTime() - 60_000)
      const parts = { nameId: 'grace', authnInstant, authnContext: SAML.password }
      const tokens = tokensOf(await presentFrom(server, corp, { parts }))
      const claims = decodeJwt<Record<string, unknown>>(tokens.access_token)
      const user = await account('corp', 'grace')
      assert.deepEqual(
        [claims['sub'], claims['user_id'], claims['user_name'], claims['origin'], claims['auth_time']],
        [user?.id, user?.id, 'grace', 'corp', authnInstant.getTime() / 1000],
      )
      const again = decodeJwt<Record<string, unknown>>(
        tokensOf(await refresh(server, tokens.refresh_token, {}, CARRIER)).access_token,
      )
      assert.equal(again['auth_time'], claims['auth_time'])
    })

    it('has no auth_time without AuthnInstant', async () => {
      const parts = { nameId: 'quiet', authnInstant: null }
      const { access_token: token } = tokensOf(await presentFrom(server, corp, { parts }))
      assert.equal(decodeJwt(token)['auth_time'], undefined)
    })

    it('keeps the times of the last and the previous logon', async () => {
      tokensOf(await presentFrom(server, corp, { parts: { nameId: 'often' } }))
      const before = clock.now()
      assert.deepEqual((await account('corp', 'often'))?.lastLogonAt, before)
      clock.advance(100)
      tokensOf(await presentFrom(server, corp, { parts: { nameId: 'often' } }))
      const user = await account('corp', 'often')
      assert.deepEqual([user?.lastLogonAt, user?.previousLogonAt], [clock.now(), before])
    })

    it('is refused with an assertion from before a SAML logout', async () => {
      const early = [corp.signedAssertion({ nameId: 'gone' }), corp.signedAssertion({ nameId: 'stays' })] as const
      clock.advance(1)
      const path = '/saml/SingleLogout/alias/latchkey'
      const destination = `http://localhost:8080${path}`
      const logout = corp.sign(corp.logoutRequest({ nameId: 'gone', sessionIndexes: [], destination }))
      assert.equal((await server.send(path, { form: { SAMLRequest: base64Of(logout) } })).status, 200)
      clock.advance(240)
      await refused(server, mode, () => present(server, early[0]), { want: unauthorized })
      tokensOf(await present(server, early[1]))
      tokensOf(await presentFrom(server, corp, { parts: { nameId: 'gone' } }))
    })

    it('is recorded in the audit trail, as is the reason of a refusal without the assertion', async () => {
      const from = server.events.length
      tokensOf(await presentFrom(server, corp, { parts: { nameId: 'trail' } }))
      const { id } = (await account('corp', 'trail')) ?? {}
      const bad = corp.signedAssertion({ nameId: 'trail', audiences: ['other'] })
      await present(server, bad)
      const reported = server.events
        .slice(from)
        .map(({ type, principal, clientId, data }) => [type, principal === id ? 'user' : principal, clientId, data])
        .filter(([type]) => type !== 'UserCreatedEvent')
      assert.deepEqual(reported.slice(0, 3), [
        ['ClientAuthenticationSuccess', 'carrier', undefined, undefined],
        ['IdentityProviderAuthenticationSuccess', 'user', 'carrier', undefined],
        ['UserAuthenticationSuccess', 'user', 'carrier', undefined],
      ])
      assert.equal(reported[3]?.[0], 'TokenIssuedEvent')
      assert.deepEqual(reported[4], ['ClientAuthenticationSuccess', 'carrier', undefined, undefined])
      assert.deepEqual(
        [reported[5]?.[0], reported[5]?.[3], reported.length],
        ['IdentityProviderAuthenticationFailure', 'audience', 6],
      )
      assert.ok(
        !JSON.stringify([server.events, server.refusals]).includes(Buffer.from(bad).toString('base64url', 0, 60)),
      )
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}
