// Compares explanations of tokens with introspection.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { generateKeyPair, SignJWT } from 'jose'
import type { Explanation } from '../../../src/oauth/explain/explanation.ts'
import { explainConfig, explained, GRANTS, rulesOf } from '../../support/explain.ts'
import {
  approve,
  changeClient,
  changeUser,
  exchange,
  insertCode,
  isAlive,
  MODES,
  passwordTokens,
  tokensOf,
  userNamed,
} from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const WILD = ['wild', 'wild-secret'] as const
const APP = ['app', 'app-secret'] as const

for (const mode of MODES) {
  describe(`Explanation of a token in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: explainConfig() })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const reported = async (token: string, options?: Parameters<typeof explained>[2]): Promise<Explanation> => {
      const explanation = await explained(server, { token }, options)
      assert.ok(!JSON.stringify(explanation).includes(token), 'the explanation contains the token')
      const logs = JSON.stringify([server.lines, server.refusals, server.events])
      assert.ok(!logs.includes(token), 'the log contains the token')
      return explanation
    }
    const refusalsOf = ({ refusals }: Explanation): readonly string[] => refusals.map(({ rule }) => rule)
    /** Expects the decision `invalid` by this rule. */
    const invalid = async (token: string, rule: string): Promise<Explanation> => {
      const explanation = await reported(token)
      assert.deepEqual(
        [explanation.decision, refusalsOf(explanation)],
        ['invalid', [rule]],
        JSON.stringify(explanation),
      )
      return explanation
    }

    // Covers POST /explain: token
    it('explains access, refresh and ID tokens: kind, scopes, and the source of each claim', async () => {
      const { access_token, refresh_token, id_token } = await passwordTokens(
        server,
        { scope: 'openid cloud.read' },
        WILD,
      )
      const access = await reported(access_token)
      assert.deepEqual(
        [access.decision, access.request['token'], access.request['format']],
        ['valid', 'access_token', 'jwt'],
      )
      assert.deepEqual(rulesOf(access, 'cloud.read'), ['user-group', 'client-scope'])
      const profile = access.scopes.find(({ scope }) => scope === 'profile')
      assert.deepEqual([profile?.outcome, profile?.today], ['absent', 'granted'])
      assert.equal(access.today?.decision, 'granted')
      const email = access.claims.find(({ claim }) => claim === 'email')
      assert.deepEqual([email?.value, email?.because[0]?.rule], ['marissa@example.org', 'account'])
      assert.ok(access.claims.every(({ claim, value }) => !['jti', 'rev_sig'].includes(claim) || value === undefined))
      const refresh = await reported(refresh_token)
      assert.deepEqual(
        [refresh.decision, refresh.request['token'], refresh.request['stored']],
        ['valid', 'refresh_token', true],
      )
      assert.deepEqual(
        [refresh.today?.decision, refresh.scopes.map(({ scope }) => scope).toSorted()],
        ['granted', ['cloud.read', 'openid']],
      )
      const id = await reported(id_token)
      assert.deepEqual([id.decision, id.request['token'], id.scopes], ['valid', 'id_token', []])
      assert.ok(id.claims.some(({ claim }) => claim === 'at_hash') || mode === 'uaa')
    })

    it('finds a token by its value or id', async () => {
      const opaque = await passwordTokens(server, { token_format: 'opaque' }, WILD)
      const byValue = await reported(opaque.access_token)
      assert.deepEqual([byValue.decision, byValue.request['format']], ['valid', 'opaque'])
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const tokenPolicy = { ...zone.config.tokenPolicy, jwtRevocable: true }
      await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy } })
      const { jti, access_token } = await passwordTokens(server, {}, WILD)
      await server.store.zones.update({ ...zone, version: zone.version + 1 })
      const byId = await reported(jti)
      assert.deepEqual([byId.decision, byId.request['format'], byId.request['stored']], ['valid', 'jwt', true])
      assert.equal(byId.scopes.length, (await reported(access_token)).scopes.length)
      const bearer = tokensOf(
        await server.token({ grant_type: 'client_credentials' }, { basic: ['root', 'root-secret'] }),
      ).access_token
      await server.send(`/oauth/token/revoke/${jti}`, { method: 'DELETE', bearer })
      await invalid(access_token, 'token-unknown')
    })

    it('compares the scopes with those of a new token', async () => {
      const { access_token, refresh_token } = await passwordTokens(server, {}, WILD)
      const marissa = await userNamed(server, 'marissa')
      const group = await server.store.groups.findByName('svc', 'cloud.write')
      const of = { groupId: group?.id ?? '', memberId: marissa.id, memberType: 'USER', origin: 'svc' } as const
      await server.store.groups.insertMember('svc', of)
      const more = await reported(access_token)
      const write = more.scopes.find(({ scope }) => scope === 'cloud.write')
      assert.deepEqual([more.decision, write?.outcome, write?.today], ['valid', 'absent', 'granted'])
      await server.store.groups.removeMember('svc', of.groupId, marissa.id)
      const read = await server.store.groups.findByName('svc', 'cloud.read')
      await server.store.groups.removeMember('svc', read?.id ?? '', marissa.id)
      const fewer = await invalid(access_token, 'token-scopes')
      assert.equal(fewer.scopes.find(({ scope }) => scope === 'cloud.read')?.today, 'removed')
      assert.equal(await isAlive(server, access_token), false)
      await invalid(refresh_token, 'token-scopes')
      await server.store.groups.insertMember('svc', { ...of, groupId: read?.id ?? '' })
      assert.equal((await reported(access_token)).decision, 'valid')
    })

    it('names the rule of an invalid token, and related events', async () => {
      const { access_token } = await passwordTokens(server, {}, WILD)
      await changeUser(server, 'marissa', { active: false })
      const inactive = await invalid(access_token, 'unknown-user')
      assert.deepEqual(
        inactive.today?.refusals.map(({ rule }) => rule),
        ['user-inactive'],
      )
      await changeUser(server, 'marissa', { active: true })
      await changeUser(server, 'marissa', { email: 'other@example.org' })
      const renamed = await invalid(access_token, 'token-outdated')
      assert.match(renamed.refusals[0]?.detail ?? '', /e-mail address has changed/)
      assert.equal(renamed.claims.find(({ claim }) => claim === 'email')?.today, 'other@example.org')
      await changeUser(server, 'marissa', { email: 'marissa@example.org' })
      const bearer = tokensOf(
        await server.token({ grant_type: 'client_credentials' }, { basic: ['root', 'root-secret'] }),
      ).access_token
      const { id } = await userNamed(server, 'marissa')
      await server.send(`/oauth/token/revoke/user/${id}`, { bearer })
      const revoked = await invalid(access_token, 'token-outdated')
      assert.ok(
        revoked.events?.some(({ type }) => type === 'TokenRevocationEvent'),
        JSON.stringify(revoked.events),
      )
      const later = await passwordTokens(server, {}, WILD)
      server.clock.advance(86_400)
      const expired = await invalid(later.access_token, 'token-expired')
      assert.equal(expired.today?.decision, 'granted')
      await invalid(later.id_token, 'token-expired')
      assert.equal((await reported(later.refresh_token)).decision, 'valid')
      await changeClient(server, 'wild', { tokenSalt: 'another' })
      await invalid(later.refresh_token, 'token-outdated')
    })

    it('reports an ID token that was revoked with its access token or its grant', async () => {
      const jwtBearer = (assertion: string) =>
        server.token({ grant_type: GRANTS.jwtBearer, assertion }, { basic: WILD })
      for (const name of ['access_token', 'refresh_token'] as const) {
        const tokens = await passwordTokens(server, { scope: 'openid' }, WILD)
        tokensOf(await jwtBearer(tokens.id_token))
        assert.equal((await reported(tokens.id_token)).decision, 'valid')
        await server.send('/oauth/revoke', { form: { token: tokens[name] }, basic: WILD })
        // UAA: an ID token does not name its grant.
        if (name === 'refresh_token' && mode === 'uaa') continue
        assert.notEqual((await jwtBearer(tokens.id_token)).status, 200)
        await invalid(tokens.id_token, 'token-revoked')
      }
    })

    it('reports a missing approval', async () => {
      const code = await insertCode(server, { clientId: 'app' })
      const { access_token } = tokensOf(await exchange(server, code, {}, APP))
      const missing = await invalid(access_token, 'approval-missing')
      assert.equal(await isAlive(server, access_token), false)
      assert.equal(missing.today?.decision, 'pending')
      await approve(server, ['openid', 'profile', 'cloud.read'], 'APPROVED')
      assert.equal((await reported(access_token)).decision, 'valid')
    })

    const foreign: readonly { name: string; rule: string; token: () => Promise<string> | string }[] = [
      { name: 'an unknown token', rule: 'token-unknown', token: () => 'nonsense' },
      { name: 'a malformed JWT', rule: 'token-malformed', token: () => 'a.b.c' },
      { name: 'a token that is too long', rule: 'token-too-long', token: () => 'x'.repeat(40_000) },
      {
        name: 'a JWT that is too long',
        rule: 'token-too-long',
        token: () => `${'x'.repeat(20_000)}.${'y'.repeat(20_000)}.z`,
      },
      {
        name: 'a JWT with a modified payload',
        rule: 'token-signature',
        token: async () => {
          const [head, , signature] = (await passwordTokens(server, {}, APP)).access_token.split('.')
          const claims = Buffer.from(JSON.stringify({ sub: 'root', scope: ['svc.admin'], user_name: 'secretary' }))
          return `${head}.${claims.toString('base64url')}.${signature}`
        },
      },
      {
        name: 'an unsigned JWT',
        rule: 'token-signature',
        token: async () => {
          const [head, claims] = (await passwordTokens(server, {}, APP)).access_token.split('.')
          const { kid } = JSON.parse(Buffer.from(head ?? '', 'base64url').toString('utf8')) as { kid: string }
          return `${Buffer.from(JSON.stringify({ alg: 'none', kid })).toString('base64url')}.${claims}.`
        },
      },
      {
        name: 'a JWT of another server',
        rule: 'token-key',
        token: async () =>
          new SignJWT({ user_name: 'secretary', scope: ['svc.admin'] })
            .setProtectedHeader({ alg: 'ES256', kid: 'theirs' })
            .setIssuer('http://localhost:8080')
            .sign((await generateKeyPair('ES256')).privateKey),
      },
    ]
    for (const { name, rule, token } of foreign) {
      it(`reveals nothing about ${name}`, async () => {
        const value = await token()
        const explanation = await invalid(value, rule)
        assert.deepEqual([explanation.claims, explanation.scopes, explanation.request], [[], [], {}])
        assert.ok(!JSON.stringify(explanation).includes('secretary'))
      })
    }

    // Covers POST /explain: rule: nothing is told of a token of another zone
    it('reveals a token only to administrators of its zone', async () => {
      const host = 'z3.localhost:8080'
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const theirs = tokensOf(await server.token(form, { basic: WILD, host }))
      for (const token of [theirs.access_token, theirs.refresh_token]) {
        const explanation = await reported(token)
        assert.equal(explanation.decision, 'invalid')
        assert.deepEqual([explanation.claims, explanation.request], [[], {}])
        const headers = { 'x-identity-zone-id': 'z3' }
        assert.equal((await reported(token, { headers })).decision, 'valid')
      }
      const { access_token } = await passwordTokens(server, {}, APP)
      const fromZ1 = await reported(access_token, { id: 'z1-admin', headers: { 'x-identity-zone-id': 'z1' } })
      assert.deepEqual([fromZ1.decision, fromZ1.claims], ['invalid', []])
    })
  })
}
