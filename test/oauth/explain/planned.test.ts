// Compares every explanation of a planned request with the real answer of the endpoint.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { Explanation } from '../../../src/oauth/explain/explanation.ts'
import { authorize, signedIn } from '../../support/authorize.ts'
import { hiddenFields } from '../../support/forms.ts'
import {
  changeClient,
  changeUser,
  clientNamed,
  exchange,
  insertCode,
  MODES,
  passwordTokens,
  tokensOf,
  userNamed,
} from '../../support/oauth.ts'
import { asking, claimsOf, explainConfig, explained, GRANTS, rulesOf, scopesWith } from '../../support/explain.ts'
import { setPolicy } from '../../support/second-factor.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { openTables } from '../../support/tables.ts'

const PASSWORDS: Readonly<Record<string, string>> = { marissa: 'koala', joel: 'wombat', loose: 'wombat' }

/** Parameters of a token request besides client and grant type. */
type Fields = Readonly<Record<string, string>>

/** The explanation and the real answer in comparable form. */
const sidesOf = (explanation: Explanation, answer: TestAnswer) => {
  const body = answer.json<Record<string, string>>()
  const [refusal] = explanation.refusals
  if (answer.status !== 200 || refusal) {
    return [
      [refusal?.error, refusal?.description],
      [body['error'], body['error_description']],
    ] as const
  }
  const real = (name: string): readonly string[] =>
    body[name]?.includes('.') === true ? Object.keys(decodeJwt(body[name])).toSorted() : []
  const issued: string[] = explanation.tokens.flatMap(each => (each.outcome === 'issued' ? [each.token] : []))
  const isReadable = explanation.tokens.some(({ token, format }) => token === 'access_token' && format === 'jwt')
  const reported = isReadable ? claimsOf(explanation, 'access_token') : []
  return [
    {
      scopes: scopesWith(explanation),
      issued: issued.toSorted(),
      access: reported,
      id: claimsOf(explanation, 'id_token'),
    },
    {
      scopes: (body['scope'] ?? '').split(' ').filter(Boolean).toSorted(),
      issued: ['access_token', 'id_token', 'refresh_token'].filter(name => typeof body[name] === 'string'),
      access: real('access_token'),
      id: real('id_token'),
    },
  ] as const
}

for (const mode of MODES) {
  describe(`Explanation of a planned request in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: explainConfig() })
      await changeUser(server, 'gone', { active: false })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const compare = async (question: Fields, send: () => Promise<TestAnswer>): Promise<Explanation> => {
      const before = server.events.length
      const explanation = await explained(server, question)
      const events = server.events.slice(before).map(({ type }) => type)
      assert.deepEqual(
        events.filter(type => !/^Client|^TokenIssued/.test(type)),
        [],
      )
      const [reported, real] = sidesOf(explanation, await send())
      assert.deepEqual(reported, real)
      return explanation
    }
    const secretOf = (id: string) => [id, `${id}-secret`] as const

    const own: readonly { name: string; client: string; fields?: Fields }[] = [
      { name: 'all authorities', client: 'service' },
      { name: 'one authority', client: 'service', fields: { scope: 'jobs.run' } },
      { name: 'an authority outside the client', client: 'service', fields: { scope: 'jobs.run jobs.stop' } },
      { name: 'a client without authorities', client: 'machine' },
      { name: 'a client without the grant type', client: 'wild' },
      { name: 'an opaque token', client: 'service', fields: { token_format: 'opaque' } },
      { name: 'an unknown resource', client: 'service', fields: { resource: 'https://other.example/' } },
    ]
    for (const { name, client, fields = {} } of own) {
      // Covers POST /explain: `resource`, `token_format`
      it(`matches client_credentials: ${name}`, async () => {
        await compare({ client_id: client, grant_type: 'client_credentials', ...fields }, () =>
          server.token({ grant_type: 'client_credentials', ...fields }, { basic: secretOf(client) }),
        )
      })
    }

    const byPassword: readonly { name: string; client: string; user?: string; fields?: Fields }[] = [
      { name: 'all scopes', client: 'app' },
      { name: 'a wildcard', client: 'wild' },
      { name: 'some scopes', client: 'app', fields: { scope: 'openid cloud.read' } },
      { name: 'scopes without openid', client: 'app', fields: { scope: 'cloud.read' } },
      { name: 'a scope that the user lacks', client: 'app', fields: { scope: 'openid cloud.write' } },
      { name: 'only a scope that the user lacks', client: 'app', fields: { scope: 'cloud.write' } },
      { name: 'a scope outside the client', client: 'app', fields: { scope: 'openid jobs.run' } },
      { name: 'OpenID scopes outside the client', client: 'auto', fields: { scope: 'openid email phone' } },
      { name: 'a user without groups', client: 'app', user: 'joel' },
      { name: 'an unknown user', client: 'app', user: 'nobody' },
      { name: 'an inactive user', client: 'app', user: 'gone' },
      { name: 'an inactive user of a client that allows only other providers', client: 'foreign', user: 'gone' },
      { name: 'an unverified user', client: 'app', user: 'loose' },
      { name: 'a client that allows only other providers', client: 'foreign' },
      { name: 'a client with required groups', client: 'closed' },
      { name: 'a client without scopes', client: 'scopeless' },
      { name: 'a client that requires a second factor', client: 'strong' },
      { name: 'minimal ID tokens', client: 'minimal' },
      { name: 'an opaque token', client: 'app', fields: { token_format: 'opaque' } },
      { name: 'a resource', client: 'meant', fields: { resource: 'https://api.example/' } },
      { name: 'a resource outside the client', client: 'meant', fields: { resource: 'https://other.example/' } },
    ]
    for (const { name, client, user = 'marissa', fields = {} } of byPassword) {
      // Covers POST /explain: `client_id`, `grant_type`, `username`, `scope`
      it(`matches the password grant: ${name}`, async () => {
        await compare({ client_id: client, grant_type: 'password', username: user, ...fields }, () =>
          server.token(
            { grant_type: 'password', username: user, password: PASSWORDS[user] ?? 'wombat', ...fields },
            { basic: secretOf(client) },
          ),
        )
      })
    }

    const ELSEWHERE = { resource: 'https://other.example/' }
    const REDIRECT = 'https://app.example/cb'
    const byCode = async (client: string, fields: Fields): Promise<TestAnswer> => {
      const browser = await signedIn(server)
      const asked = { response_type: 'code', client_id: client, redirect_uri: REDIRECT, ...fields }
      const answer = await authorize(browser, asked)
      const { searchParams } = answer.location()
      const code = searchParams.get('code')
      if (code === null) {
        const error = { error: searchParams.get('error'), error_description: searchParams.get('error_description') }
        return { ...answer, status: 400, json: () => JSON.parse(JSON.stringify(error)) }
      }
      const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT }
      return server.token(form, { basic: secretOf(client) })
    }
    const codes: readonly { name: string; client: string; fields?: Fields }[] = [
      { name: 'all scopes', client: 'wild' },
      { name: 'some scopes', client: 'wild', fields: { scope: 'openid team.all cloud.read' } },
      { name: 'a scope outside the client', client: 'wild', fields: { scope: 'openid jobs.run' } },
      {
        name: 'a scope and a resource outside the client',
        client: 'meant',
        fields: { scope: 'jobs.run', ...ELSEWHERE },
      },
      { name: 'a resource outside the client', client: 'meant', fields: ELSEWHERE },
      { name: 'a client with required groups', client: 'closed' },
      { name: 'minimal ID tokens', client: 'minimal' },
    ]
    for (const { name, client, fields = {} } of codes) {
      it(`matches authorization_code: ${name}`, async () => {
        const question = { client_id: client, grant_type: 'authorization_code', username: 'marissa', ...fields }
        const explanation = await explained(server, question)
        const [reported, real] = sidesOf(explanation, await byCode(client, fields))
        const withoutSession = (side: typeof reported) =>
          'id' in side ? { ...side, id: side.id.filter(claim => claim !== 'sid') } : side
        assert.deepEqual(withoutSession(reported), withoutSession(real))
      })
    }

    it('lists scopes pending approval and stored decisions', async () => {
      const question = { client_id: 'asking', grant_type: 'authorization_code', username: 'marissa' }
      const first = await explained(server, { ...question, scope: 'openid profile cloud.read' })
      assert.equal(first.decision, 'pending')
      assert.deepEqual(scopesWith(first), ['openid'])
      assert.deepEqual(scopesWith(first, 'undecided'), ['cloud.read', 'profile'])
      assert.deepEqual(rulesOf(first, 'openid'), ['default-group', 'client-scope', 'requested-scope', 'auto-approve'])
      assert.deepEqual(
        first.outstanding.map(({ rule }) => rule),
        ['approval-missing'],
      )
      const { id: userId, zoneId } = await userNamed(server, 'marissa')
      const now = server.clock.now()
      const expiresAt = new Date(now.getTime() + 60_000)
      const shared = { zoneId, userId, clientId: 'asking', updatedAt: now, expiresAt }
      await server.store.approvals.save('svc', [
        { ...shared, scope: 'profile', status: 'APPROVED' },
        { ...shared, scope: 'cloud.read', status: 'DENIED' },
      ])
      const later = await explained(server, { ...question, scope: 'openid profile cloud.read' })
      assert.equal(later.decision, 'granted')
      assert.deepEqual(scopesWith(later), ['openid', 'profile'])
      assert.equal(rulesOf(later, 'profile').at(-1), 'approval-given')
      assert.equal(rulesOf(later, 'cloud.read').at(-1), 'approval-denied')
      const real = (await byCode('asking', { scope: 'openid profile cloud.read' })).json<{ scope: string }>()
      assert.deepEqual(real.scope.split(' ').toSorted(), scopesWith(later))
    })

    it('reports that a self-registered client needs approval of resources each time', async () => {
      const client = await clientNamed(server, 'meant')
      const registration = { at: new Date(0), grantTypes: ['authorization_code'], responseTypes: ['code'] } as const
      const clientId = 'registered'
      await server.store.clients.insert('svc', { ...client, clientId, autoapprove: [], registration })
      const question = { client_id: clientId, grant_type: 'authorization_code', username: 'marissa', scope: 'openid' }
      const { id: userId, zoneId } = await userNamed(server, 'marissa')
      const now = server.clock.now()
      const approval = { zoneId, userId, clientId, scope: 'openid', status: 'APPROVED', updatedAt: now } as const
      await server.store.approvals.save('svc', [{ ...approval, expiresAt: new Date(now.getTime() + 60_000) }])
      assert.equal((await explained(server, question)).decision, 'granted')
      const meant = await explained(server, { ...question, resource: 'https://api.example/' })
      assert.equal(meant.decision, 'pending')
      assert.deepEqual(
        meant.outstanding.map(({ rule, detail }) => [rule, detail]),
        [['approval-missing', 'The user has to approve the resources, as at each request of such a client.']],
      )
    })

    it('matches the device grant', async () => {
      const begun = await server.send('/oauth/device_authorization', { basic: secretOf('cloud'), form: {} })
      const { device_code, user_code } = begun.json<Record<string, string>>()
      const browser = await signedIn(server)
      const page = await browser.send('/device')
      const form = { ...hiddenFields(page.text), user_code: user_code ?? '' }
      const question = await browser.send('/device', { form })
      const reported = await explained(server, { client_id: 'cloud', grant_type: GRANTS.device, username: 'marissa' })
      assert.equal(reported.decision, 'pending')
      await browser.send('/device/decision', { form: { ...hiddenFields(question.text), user_oauth_approval: 'true' } })
      server.clock.advance(5)
      const polled = { grant_type: GRANTS.device, device_code: device_code ?? '' }
      const [ours, theirs] = sidesOf(reported, await server.token(polled, { basic: secretOf('cloud') }))
      assert.deepEqual(ours, theirs)
    })

    it('matches a device that asks for a scope outside the client, whoever the user will be', async () => {
      const scope = 'openid jobs.run'
      await compare({ client_id: 'cloud', grant_type: GRANTS.device, username: 'gone', scope }, () =>
        server.send('/oauth/device_authorization', {
          form: { client_id: 'cloud', scope },
          basic: secretOf('cloud'),
        }),
      )
    })

    it('matches refresh_token: a token that a revocation has ended', async () => {
      const of = { username: 'outdated', password: 'wombat' }
      const { refresh_token } = await passwordTokens(server, of, secretOf('wild'))
      await changeUser(server, 'outdated', { salt: 'another' })
      await compare({ client_id: 'wild', grant_type: 'refresh_token', refresh_token }, () =>
        server.token({ grant_type: 'refresh_token', refresh_token }, { basic: secretOf('wild') }),
      )
    })

    const presented: readonly { name: string; fields?: Fields; change?: () => Promise<void> }[] = [
      { name: 'all scopes' },
      { name: 'fewer scopes', fields: { scope: 'openid' } },
      { name: 'a scope outside the token', fields: { scope: 'jobs.run' } },
    ]
    for (const { name, fields = {} } of presented) {
      // Covers POST /explain: refresh_token
      it(`matches refresh_token: ${name}`, async () => {
        const { refresh_token } = await passwordTokens(server, {}, secretOf('wild'))
        await compare({ client_id: 'wild', grant_type: 'refresh_token', refresh_token, ...fields }, () =>
          server.token({ grant_type: 'refresh_token', refresh_token, ...fields }, { basic: secretOf('wild') }),
        )
      })
      // Covers POST /explain: `subject_token`, `audience`
      it(`matches token exchange: ${name}`, async () => {
        const { access_token } = await passwordTokens(server, {}, secretOf('front'))
        const type = 'urn:ietf:params:oauth:token-type:access_token'
        const sent = { grant_type: GRANTS.exchange, subject_token: access_token, audience: 'stock', ...fields }
        const asked = name === 'fewer scopes' ? { ...sent, scope: 'cloud.read' } : sent
        const reported = await compare({ client_id: 'cloud', ...asked }, () =>
          server.token({ ...asked, subject_token_type: type }, { basic: secretOf('cloud') }),
        )
        if (name === 'all scopes') assert.deepEqual(rulesOf(reported, 'openid'), ['token-exchange-rule'])
      })
    }

    it('names the previous clients of an exchanged token, whose changes revoke it', async () => {
      const { access_token: subject_token } = await passwordTokens(server, {}, secretOf('front'))
      const subject_token_type = 'urn:ietf:params:oauth:token-type:access_token'
      const form = { grant_type: GRANTS.exchange, subject_token, subject_token_type, audience: 'stock' }
      const { access_token: token } = tokensOf(await server.token(form, { basic: secretOf('cloud') }))
      await changeClient(server, 'front', { tokenSalt: 'another' })
      const [refusal] = (await explained(server, { token })).refusals
      assert.equal(refusal?.rule, 'token-outdated')
      assert.match(refusal.detail ?? '', /So do those of the clients that it came through: front\.$/)
    })

    it('matches jwt-bearer and user_token', async () => {
      const { access_token } = await passwordTokens(server, {}, secretOf('front'))
      const jwt = { client_id: 'cloud', grant_type: GRANTS.jwtBearer, username: 'marissa' }
      const reported = await explained(server, jwt)
      const body = (
        await server.token({ grant_type: GRANTS.jwtBearer, assertion: access_token }, { basic: secretOf('cloud') })
      ).json<{ scope: string }>()
      assert.deepEqual(scopesWith(reported), body.scope.split(' ').toSorted())
      await compare({ client_id: 'wild', grant_type: 'user_token', username: 'marissa' }, () =>
        server.token({ grant_type: 'user_token', client_id: 'wild' }, { bearer: access_token }),
      )
    })

    it('does not check the client of the bearer token for user_token', async () => {
      const question = { client_id: 'meant', grant_type: 'user_token', username: 'marissa' }
      const of = async (more: object) => (await explained(server, { ...question, ...more })).not_checked.join(' ')
      assert.match(await of({ resource: 'https://api.example/' }), /client of that token may ask for the resource/)
      assert.doesNotMatch(await of({}), /resource/)
    })

    it('names the rule of each scope: groups, nested groups, defaults, client and request', async () => {
      const marissa = await userNamed(server, 'marissa')
      const inner = await server.store.groups.findByName('svc', 'cloud.read')
      const outer = await server.store.groups.findByName('svc', 'team.all')
      const read = { groupId: outer?.id ?? '', memberId: inner?.id ?? '', memberType: 'GROUP', origin: 'svc' } as const
      await server.store.groups.insertMember('svc', read)
      const club = await server.store.groups.findByName('svc', 'cloud.write')
      const byDirectory = { groupId: club?.id ?? '', memberId: marissa.id, memberType: 'USER', origin: 'ldap' } as const
      await server.store.groups.insertMember('svc', byDirectory)
      const mapping = { groupId: club?.id ?? '', externalGroup: 'cn=writers', origin: 'ldap' }
      await server.store.groups.addExternal('svc', mapping)
      const question = { client_id: 'wild', grant_type: 'password', username: 'marissa', scope: 'cloud.* team.all' }
      const reported = await compare(question, () =>
        server.token(
          { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'cloud.* team.all' },
          { basic: secretOf('wild') },
        ),
      )
      assert.equal(rulesOf(reported, 'cloud.read')[0], 'user-group')
      assert.equal(rulesOf(reported, 'team.all')[0], 'nested-group')
      assert.equal(rulesOf(reported, 'cloud.write')[0], 'external-group')
      assert.match(
        reported.scopes.find(({ scope }) => scope === 'cloud.write')?.because[0]?.detail ?? '',
        /ldap.*cn=writers/,
      )
      assert.deepEqual(rulesOf(reported, 'openid'), ['default-group', 'requested-scope'])
      assert.deepEqual(rulesOf(reported, 'scim.me'), ['client-scope'])
      await server.store.groups.removeMember('svc', byDirectory.groupId, marissa.id)
      await server.store.groups.removeMember('svc', read.groupId, read.memberId)
    })

    it('names the rule of an absent claim', async () => {
      const reported = await explained(server, {
        client_id: 'wild',
        grant_type: 'password',
        username: 'marissa',
        scope: 'openid',
      })
      const name = reported.claims.find(({ claim, token }) => claim === 'given_name' && token === 'id_token')
      assert.deepEqual([name?.outcome, name?.because[0]?.rule], ['absent', 'scope-of-claim'])
      const minimal = await explained(server, { client_id: 'minimal', grant_type: 'password', username: 'marissa' })
      const azp = minimal.claims.find(({ claim, token }) => claim === 'azp' && token === 'id_token')
      assert.deepEqual([azp?.outcome, azp?.because[0]?.rule], ['absent', 'id-token-minimal'])
      assert.ok(reported.claims.every(({ claim, value }) => claim !== 'rev_sig' || value === undefined))
    })

    it('accepts the maximum number of scopes, and explains the refusal of more', async () => {
      const scopes = Array.from({ length: 1000 }, (_, index) => `department.of.finance.${index}`)
      const ask = (more: readonly string[]) => {
        const scope = [...more, ...scopes].join(' ')
        return explained(server, { client_id: 'wild', grant_type: 'password', username: 'marissa', scope })
      }
      const allowed = await ask([])
      assert.notEqual(allowed.refusals[0]?.description, 'A request must not have more than 1000 scopes')
      const refused = await ask(['one.more'])
      const real = await server.token(
        { grant_type: 'password', username: 'marissa', password: 'koala', scope: ['one.more', ...scopes].join(' ') },
        { basic: ['wild', 'wild-secret'] },
      )
      assert.equal(real.json()['error'], 'invalid_scope')
      assert.equal(refused.decision, 'refused')
      assert.deepEqual(
        refused.refusals.map(({ error, description }) => [error, description]),
        [['invalid_scope', real.json()['error_description']]],
      )
      assert.deepEqual(refused.scopes, [])
    })

    it('reports authorities that a refused request does not name as not requested', async () => {
      const question = { client_id: 'service', grant_type: 'client_credentials', scope: 'jobs.stop' }
      const { decision, scopes } = await explained(server, question)
      assert.equal(decision, 'refused')
      const outcomes = new Map(scopes.map(({ scope, outcome }) => [scope, outcome]))
      assert.deepEqual([outcomes.get('jobs.stop'), outcomes.get('jobs.run')], ['removed', 'not_requested'])
    })

    // Covers POST /explain: `user_id`, `origin`
    it('names the rule of each refusal', async () => {
      const ask = (question: object) => explained(server, { grant_type: 'password', ...question })
      const rules: [object, string][] = [
        [{ client_id: 'nobody', username: 'marissa' }, 'unknown-client'],
        [{ client_id: 'app', username: 'nobody' }, 'unknown-user'],
        [{ client_id: 'app', username: 'marissa', origin: 'ldap' }, 'unknown-user'],
        [{ client_id: 'app', user_id: 'nobody' }, 'unknown-user'],
        [{ client_id: 'app' }, 'missing-parameter'],
        [{ client_id: 'service', username: 'marissa' }, mode === 'uaa' ? 'client-without-scopes' : 'client-grant-type'],
        [{ client_id: 'closed', username: 'marissa' }, 'required-group'],
        [{ client_id: 'foreign', username: 'marissa' }, 'provider-not-allowed'],
        [{ client_id: 'app', username: 'loose' }, 'account-not-verified'],
        [{ client_id: 'app', grant_type: 'refresh_token' }, 'missing-parameter'],
        [{ client_id: 'app', grant_type: 'refresh_token', refresh_token: 'x-r' }, 'token-unknown'],
        [{ client_id: 'cloud', grant_type: GRANTS.exchange, subject_token: 'x' }, 'token-unknown'],
      ]
      for (const [question, rule] of rules) {
        const { decision, refusals } = await ask(question)
        assert.deepEqual([decision, refusals.map(each => each.rule)], ['refused', [rule]], JSON.stringify(question))
      }
      await changeUser(server, 'joel', { active: false })
      const inactive = await ask({ client_id: 'app', username: 'joel' })
      assert.deepEqual(
        inactive.refusals.map(({ rule }) => rule),
        ['user-inactive'],
      )
    })

    // Covers POST /explain: acr_values
    it('reports lockout, second factor and step-up', async () => {
      const wrong = { grant_type: 'password', username: 'marissa', password: 'wrong' }
      for (let guess = 0; guess < 5; guess += 1) await server.token(wrong, { basic: secretOf('app') })
      const question = { client_id: 'wild', grant_type: 'password', username: 'marissa' }
      const locked = await compare(question, () =>
        server.token({ ...wrong, password: 'koala' }, { basic: secretOf('wild') }),
      )
      assert.deepEqual(
        locked.refusals.map(({ rule }) => rule),
        ['account-locked'],
      )
      server.clock.advance(3600)
      await setPolicy(server, { requirement: 'required' })
      const refused = await compare(question, () =>
        server.token({ ...wrong, password: 'koala' }, { basic: secretOf('wild') }),
      )
      assert.deepEqual(
        refused.refusals.map(({ rule }) => rule),
        ['second-factor'],
      )
      const pending = await explained(server, { ...question, grant_type: 'authorization_code', acr_values: 'phr' })
      assert.deepEqual(
        [pending.decision, pending.outstanding.map(({ rule }) => rule)],
        ['pending', ['second-factor', 'second-factor']],
      )
      await setPolicy(server, { requirement: 'off' })
    })

    it('leaves open whether the token or assertion that is presented shows a second factor', async () => {
      const change = { clientId: 'front', scopes: ['openid', 'svc.user'], amr: ['pwd', 'otp'], acr: ['2'] }
      const bearerOf = async (): Promise<string> =>
        tokensOf(await exchange(server, await insertCode(server, change), {}, secretOf('front'))).access_token
      for (const [requirement, client_id] of [
        ['required', 'wild'],
        ['optional', 'strong'],
      ] as const) {
        await setPolicy(server, { requirement })
        const bearer = await bearerOf()
        assert.equal((await server.token({ grant_type: 'user_token', client_id }, { bearer })).status, 200)
        for (const grant_type of ['user_token', GRANTS.jwtBearer]) {
          const planned = await explained(server, { client_id, grant_type, username: 'marissa' })
          assert.deepEqual(
            [planned.decision, planned.outstanding.map(({ rule }) => rule)],
            ['pending', ['second-factor']],
            JSON.stringify([grant_type, requirement, planned.refusals]),
          )
        }
      }
      await setPolicy(server, { requirement: 'off' })
    })

    it('reports a missing signing key for the algorithm of a client', async () => {
      const { zoneId, ...before } = await clientNamed(server, 'wild')
      await changeClient(server, 'wild', { idTokenSignedResponseAlg: 'ES384' })
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const send = () => server.token(form, { basic: secretOf('wild') })
      const faults = server.faults.length
      const { error } = (await send()).json()
      ;(server.faults as unknown[]).length = faults // the expected fault
      const reported = await explained(server, { client_id: 'wild', grant_type: 'password', username: 'marissa' })
      assert.deepEqual([reported.refusals[0]?.rule, reported.refusals[0]?.error], ['signing-key', error])
      await server.store.clients.update('svc', { zoneId, ...before })
    })

    it('respects allowedGroups of the zone', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const userConfig = { ...zone.config.userConfig, allowedGroups: ['team.all'] }
      await server.store.zones.update({ ...zone, config: { ...zone.config, userConfig } })
      const question = { client_id: 'wild', grant_type: 'password', username: 'marissa' }
      const reported = await compare(question, () =>
        server.token({ grant_type: 'password', username: 'marissa', password: 'koala' }, { basic: secretOf('wild') }),
      )
      assert.deepEqual(rulesOf(reported, 'cloud.read'), ['zone-allowed-groups'])
      await server.store.zones.update({ ...zone, version: zone.version + 1 })
    })

    // Covers POST /explain: rule: an administrator of one zone is told nothing of others
    it('requires an administrator of the zone', async () => {
      const question = { client_id: 'wild', grant_type: 'password', username: 'marissa' }
      const callers: readonly { id: string; headers?: Record<string, string>; host?: string; want: string }[] = [
        { id: 'auditor', want: '403 insufficient_scope' },
        { id: 'guest', want: '403 insufficient_scope' },
        { id: 'z1-admin', want: '403 insufficient_scope' },
        { id: 'z1-admin', headers: { 'x-identity-zone-id': 'z3' }, want: '403 access_denied' },
        { id: 'guest', headers: { 'x-identity-zone-id': 'z1' }, want: '403 insufficient_scope' },
        { id: 'root', host: 'z3.localhost:8080', want: '401 invalid_token' },
      ]
      for (const { want, ...caller } of callers) {
        const answer = await asking(server, question, caller)
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, want, JSON.stringify(caller))
        assert.ok(!answer.text.includes('marissa'))
      }
      assert.equal((await server.send('/explain', { method: 'POST', body: '{}' })).status, 401)
      const there = await explained(server, question, { headers: { 'x-identity-zone-id': 'z3' } })
      assert.equal(there.decision, 'granted')
      const z1 = await explained(server, question, { id: 'z1-admin', headers: { 'x-identity-zone-id': 'z1' } })
      assert.deepEqual(
        z1.refusals.map(({ rule }) => rule),
        ['unknown-client'],
      )
    })

    const malformed: readonly [name: string, body: unknown][] = [
      ['no member', {}],
      ['a JSON array', []],
      ['malformed JSON', '{'],
      ['both token and client', { client_id: 'app', grant_type: 'password', token: 'x' }],
      ['no grant_type', { client_id: 'app' }],
      ['an unknown grant_type', { client_id: 'app', grant_type: 'implicit' }],
      ['an unknown member', { client_id: 'app', grant_type: 'password', password: 'koala' }],
      ['a number as client_id', { client_id: 1, grant_type: 'password' }],
      ['an empty client_id', { client_id: '', grant_type: 'password' }],
      ['a client_id that is too long', { client_id: 'x'.repeat(3000), grant_type: 'password' }],
      ['user_id and username', { client_id: 'app', grant_type: 'password', user_id: '1', username: 'marissa' }],
      ['origin without a user', { client_id: 'app', grant_type: 'password', origin: 'ldap' }],
      [
        'too many resources',
        { client_id: 'app', grant_type: 'password', resource: Array.from({ length: 30 }, () => 'https://a/') },
      ],
      ['an unknown token_format', { client_id: 'app', grant_type: 'password', token_format: 'paper' }],
      ['a fractional event', { event: 1.5 }],
      ['an empty token', { token: '' }],
      ['a NUL character in client_id', { client_id: 'a\u0000b', grant_type: 'password' }],
    ]
    for (const [name, body] of malformed) {
      it(`refuses a body with ${name}`, async () => {
        const answer = await asking(server, body)
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'], answer.text)
        assert.ok(!answer.text.includes('koala'))
      })
    }

    it('answers 413 to a body that is too long', async () => {
      assert.equal((await asking(server, { token: 'x'.repeat(400_000) })).status, 413)
    })
  })
}

describe('Explanation of a planned request', () => {
  it('writes nothing to the database', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-explain-'))
    const database = `sqlite:${join(folder, 'explain.db')}`
    const server = await startServer({ database, config: explainConfig({ audit: { enabled: false } }) })
    const tables = await openTables(database)
    const bearer = (await server.token({ grant_type: 'client_credentials' }, { basic: ['root', 'root-secret'] })).json<{
      access_token: string
    }>().access_token
    await changeClient(server, 'wild', { allowPublic: true })
    const { refresh_token } = await passwordTokens(server, {}, ['wild', 'wild-secret'])
    const { access_token } = await passwordTokens(server, {}, ['front', 'front-secret'])
    const rows = async (): Promise<string> => {
      const all: unknown[] = []
      for (const table of tables.ofZones) all.push(table, await tables.run(`select * from ${table}`))
      return JSON.stringify(all)
    }
    const before = await rows()
    const user = { client_id: 'wild', username: 'marissa' }
    const questions = [
      ...['password', 'authorization_code', 'user_token', GRANTS.jwtBearer].map(grant_type => ({
        ...user,
        grant_type,
      })),
      { client_id: 'cloud', grant_type: GRANTS.device, username: 'marissa' },
      { client_id: 'wild', grant_type: 'refresh_token', refresh_token },
      { client_id: 'cloud', grant_type: GRANTS.exchange, subject_token: access_token },
      { client_id: 'service', grant_type: 'client_credentials' },
      { token: access_token },
      { token: refresh_token },
    ]
    for (const question of questions) {
      const reported = await explained(server, question, { bearer })
      assert.equal(reported.decision === 'refused', false, JSON.stringify(reported.refusals))
      assert.ok(!JSON.stringify(reported).includes(access_token) && !JSON.stringify(reported).includes(refresh_token))
    }
    assert.equal(await rows(), before)
    await tables.close()
    await server.stop()
    await rm(folder, { recursive: true })
  })
})
