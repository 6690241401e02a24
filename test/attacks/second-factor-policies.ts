import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authorize, authorizeBootstrap, AUTO_REQUEST, signedIn } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { FACTOR_PAGE, guarded, isIn, leadsTo } from '../support/guarded.ts'
import { APP, changeClient, MODES, userNamed } from '../support/oauth.ts'
import { enrolApp, giveFactor, prove, setPolicy } from '../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'
import type { Attack } from './attack.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const CALL = ['call', 'call-secret'] as const
const CALL_REQUEST = { ...AUTO_REQUEST, client_id: 'call', redirect_uri: 'https://call.example/cb' }
const JSON_ONLY = { headers: { accept: 'application/json' } }

/** Clients without a browser, and administrators with partial rights. */
const bootstrap = {
  clients: [
    ...authorizeBootstrap.clients,
    {
      client_id: 'call',
      client_secret: 'call-secret',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'password', 'user_token', JWT_BEARER],
      scope: ['openid', 'svc.user', 'cloud.read'],
      redirect_uri: ['https://call.example/cb'],
      autoapprove: true,
    },
    caller('root', 'svc.admin'),
    caller('registrar', 'scim.write', 'scim.create', 'password.write', 'svc.account_status.write'),
    caller('admin-of-z1', 'zones.z1.admin'),
    caller('clerk', 'clients.write', 'idps.write', 'groups.update', 'scim.read', 'zones.z1.scim.write'),
  ],
}

const errorOf = (answer: TestAnswer): unknown => answer.json()['error']

/** Adds marissa to a nested group; returns the name of the outer one. */
async function nest(server: TestServer): Promise<string> {
  const bearer = await tokenOf(server, 'root')
  const { id: value } = await userNamed(server, 'marissa')
  const post = async (displayName: string, member: object): Promise<string> => {
    const answer = await sendJson(server, 'POST', '/Groups', { displayName, members: [member] }, { bearer })
    assert.equal(answer.status, 201, answer.text)
    return answer.json<{ id: string }>().id
  }
  const inner = await post('ops.inner', { value, type: 'USER', origin: 'svc' })
  await post('Ops.Outer', { value: inner, type: 'GROUP', origin: 'svc' })
  return 'ops.outer'
}

/** Attacks on second-factor policies by clients, providers and administrators. */
export const secondFactorPolicyAttacks: readonly Attack[] = [
  {
    attack: 'gets tokens with the password alone, or with tokens and codes from before the policy',
    outcome: 'mfa_required, or redirect to the second factor',
    attempt: () =>
      guarded(async ({ server }) => {
        const sam = { username: 'sam', password: 'dingo' }
        await setPolicy(server, { requirement: 'off' })
        const before = await signedIn(server, 'sam', 'dingo')
        const passcode = JSON.parse((await before.send('/passcode', JSON_ONLY)).text) as string
        const early = (await server.token({ grant_type: 'password', ...sam }, { basic: CALL })).json<{
          access_token: string
          id_token: string
        }>()
        await setPolicy(server, { requirement: 'required' })
        const credentials = { ...AUTO_REQUEST, client_id: 'hybrid', response_type: 'token', source: 'credentials' }
        const answers = [
          await server.token({ grant_type: 'password', ...sam }, { basic: APP }),
          await server.token({ grant_type: 'password', ...sam, acr_values: '2', amr: 'mfa' }, { basic: APP }),
          await server.token({ grant_type: 'password', passcode }, { basic: APP, ...JSON_ONLY }),
          await server.send('/authenticate', { form: sam }),
          await server.token({ grant_type: JWT_BEARER, assertion: early.access_token }, { basic: CALL }),
          await server.token({ grant_type: JWT_BEARER, assertion: early.id_token }, { basic: CALL }),
          await server.token({ grant_type: 'user_token', client_id: 'call' }, { bearer: early.access_token }),
        ]
        assert.deepEqual(
          answers.map(errorOf),
          answers.map(() => 'mfa_required'),
        )
        const typed = await server.send('/oauth/authorize', { form: { ...credentials, ...sam }, ...JSON_ONLY })
        assert.doesNotMatch(`${String(typed.headers['location'])}${typed.text}`, /access_token/)
        const call = await server.send('/oauth/authorize', { query: CALL_REQUEST, bearer: early.access_token })
        assert.doesNotMatch(`${String(call.headers['location'])}${call.text}`, /[?&]code=/)
        const { code = '' } = (await server.send('/autologin', { form: sam, basic: ['auto', 'auto-secret'] })).json<{
          code?: string
        }>()
        const browser = server.browser()
        const headers = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
        await browser.send('/autologin', { query: { code, client_id: 'auto' }, headers })
        assert.equal(await leadsTo(browser), FACTOR_PAGE)
        assert.equal(await leadsTo(before), FACTOR_PAGE, 'a session from before')
      }, bootstrap),
  },
  {
    attack: 'signs in at a provider that claims acr 2, phr or phrh, or amr mfa',
    outcome: 'it counts as one factor unless the record of the provider maps the claims',
    attempt: async () => {
      for (const mode of MODES) {
        const clock = createTestClock()
        const upstream = await startUpstream(clock)
        const identity_providers = [upstreamRecord(upstream, 'corp', { acrMapping: { gold: '2' } })]
        const config = { bootstrap: { ...authorizeBootstrap, identity_providers } }
        const server = await startServer({ mode, clock, config })
        try {
          await setPolicy(server, { requirement: 'required' })
          const from = async (claims: Readonly<Record<string, unknown>>): Promise<Browser> => {
            const browser = server.browser()
            await signInUpstream(browser, upstream, {
              origin: 'corp',
              claims: { amr: ['mfa', 'hwk', 'otp'], ...claims },
            })
            return browser
          }
          for (const acr of [
            '2',
            'phr',
            'phrh',
            ' 2',
            ['2'],
            { values: ['2', 'phr'] },
            'GOLD',
            '__proto__',
            'toString',
          ]) {
            assert.equal(await leadsTo(await from({ acr })), FACTOR_PAGE, JSON.stringify(acr))
          }
          assert.ok(await isIn(await from({ acr: 'gold' })), 'what the record maps')
        } finally {
          await server.stop()
          await upstream.stop()
        }
      }
    },
  },
  {
    attack: 'uses a client with a weaker policy than the zone',
    outcome: 'the policy of the zone applies',
    attempt: () =>
      guarded(async ({ server }) => {
        const bearer = await tokenOf(server, 'root')
        const off = { client_id: 'auto', secondFactor: { requirement: 'off' } }
        assert.equal((await sendJson(server, 'PUT', '/oauth/clients/auto', off, { bearer })).status, 400)
        const browser = await signedIn(server)
        for (const secondFactor of [
          undefined,
          { requirement: 'optional' },
          { requirement: 'groups', groups: ['nobody'] },
          { requirement: 'optional', methods: ['totp'] },
        ] as const) {
          if (secondFactor) await changeClient(server, 'auto', { secondFactor })
          for (const acr of [undefined, '1', '', '0', 'urn:other']) {
            const answer = await authorize(browser, { ...AUTO_REQUEST, acr_values: acr })
            assert.equal(answer.headers['location'], FACTOR_PAGE, `${secondFactor?.requirement} ${String(acr)}`)
          }
        }
      }, bootstrap),
  },
  {
    attack: 'uses a one-time password or a recovery code with a client that requires passkeys',
    outcome: 'a passkey is required',
    attempt: () =>
      guarded(async ({ server, app, codes: [code = ''] }) => {
        await changeClient(server, 'auto', { secondFactor: { requirement: 'required', methods: ['passkey'] } })
        const browser = await signedIn(server)
        await prove(browser, { code: app.code(server) })
        const other = await signedIn(server)
        await prove(other, { code, way: 'recovery' })
        for (const each of [browser, other]) {
          assert.ok(await isIn(each))
          assert.equal((await authorize(each, AUTO_REQUEST)).headers['location'], FACTOR_PAGE)
          const silent = await authorize(each, { ...AUTO_REQUEST, prompt: 'none' })
          assert.doesNotMatch(String(silent.headers['location']), /[?&]code=/)
        }
      }),
  },
  {
    attack: 'is in a group of the policy by nesting or default groups, or joins it during a session',
    outcome: 'the policy applies from the next request',
    attempt: () =>
      guarded(async ({ server }) => {
        const { id } = await userNamed(server, 'marissa')
        await server.store.factors.reset('svc', id)
        const groups = ['ops.outer']
        await setPolicy(server, { requirement: 'groups', groups })
        const marissa = await signedIn(server)
        const joel = await signedIn(server, 'joel', 'wombat')
        assert.ok((await isIn(marissa)) && (await isIn(joel)))
        assert.equal(await nest(server), groups[0])
        assert.equal(await leadsTo(marissa), FACTOR_PAGE, 'by a group in the group, regardless of its case')
        const grant = { grant_type: 'password', username: 'marissa', password: 'koala' }
        assert.equal(errorOf(await server.token(grant, { basic: APP })), 'mfa_required')
        assert.ok(await isIn(joel))
        const zone = await server.store.zones.find('svc')
        assert.ok(zone)
        const userConfig = { ...zone.config.userConfig, defaultGroups: ['openid', 'Ops.Outer'] }
        await server.store.zones.update({ ...zone, config: { ...zone.config, userConfig } })
        assert.equal(await leadsTo(joel), FACTOR_PAGE, 'by the default groups')
      }, bootstrap),
  },
  {
    attack: 'removes or replaces a user’s factors with rights of another zone or scim.write',
    outcome: 'refused, and the factors are kept',
    attempt: () =>
      guarded(async ({ server, owner }) => {
        const before = await userNamed(server, 'marissa')
        const path = `/Users/${before.id}`
        const body = {
          userName: 'marissa',
          emails: [{ value: 'marissa@example.org' }],
          name: { givenName: 'M', familyName: 'B' },
          factors: { methods: [], revision: 9 },
          mfa: null,
          secondFactor: { requirement: 'off' },
        }
        for (const who of ['registrar', 'admin-of-z1', 'clerk']) {
          const bearer = await tokenOf(server, who)
          for (const zone of [undefined, 'z1', 'svc']) {
            const headers = { 'if-match': '*', ...(zone !== undefined && { 'x-identity-zone-id': zone }) }
            const send = (method: string, below: string, json?: unknown) =>
              sendJson(server, method, path + below, json, { bearer, headers })
            for (const below of ['/mfa', '/mfa/totp', '/mfa/recovery-codes', '/mfa/bypass', '/mfa/passkeys/x']) {
              assert.ok((await send('DELETE', below)).status >= 400, `${who} ${below}`)
            }
            assert.ok((await send('POST', '/mfa/bypass', {})).status >= 400, who)
            await send('PUT', '', body)
            await send('PATCH', '', { ...body, meta: { attributes: ['factors', 'mfa'] } })
            await send('PUT', '/password', { password: 'a sea of green glass' })
            await send('PATCH', '/status', { locked: false })
          }
        }
        const { factors, passwordRevision } = await userNamed(server, 'marissa')
        assert.deepEqual(factors, before.factors)
        assert.notEqual(passwordRevision, before.passwordRevision, 'the password is what the right is for')
        const token = await tokenOf(server, 'root')
        const shown = await server.send(path, { bearer: token })
        assert.doesNotMatch(shown.text, /factors|totp|revision/)
        assert.equal(await isIn(owner), false, 'sessions ended with the password')
        const thief = await signedIn(server, 'marissa', 'a sea of green glass')
        assert.equal(await leadsTo(thief), FACTOR_PAGE)
      }, bootstrap),
  },
  {
    attack: 'writes an account that was read before it had a factor, or restarts the server with its configuration',
    outcome: 'the factor is kept',
    attempt: async () => {
      for (const mode of MODES) {
        const folder = await mkdtemp(join(tmpdir(), 'latchkey-factor-'))
        const options = {
          mode,
          database: `sqlite:${join(folder, 'one.db')}`,
          config: { bootstrap: authorizeBootstrap },
        }
        const first = await startServer(options)
        await setPolicy(first, { requirement: 'optional' })
        const before = await userNamed(first, 'marissa')
        const browser = await signedIn(first)
        await authorize(browser, { ...AUTO_REQUEST, acr_values: '2' })
        await enrolApp(first, browser)
        const { factors } = await userNamed(first, 'marissa')
        assert.deepEqual(factors?.methods, ['totp'])
        await first.store.users.update('svc', { ...before, email: 'old@example.org' })
        await first.store.users.updateProfile('svc', { ...before, givenName: 'Old' })
        await first.stop()
        const users = authorizeBootstrap.users.map(user => ({ ...user, emails: [{ value: 'new@example.org' }] }))
        const second = await startServer({ ...options, config: { bootstrap: { ...authorizeBootstrap, users } } })
        try {
          await setPolicy(second, { requirement: 'optional' })
          const after = await userNamed(second, 'marissa')
          assert.deepEqual([after.email, after.factors], ['new@example.org', factors])
          assert.equal(await leadsTo(await signedIn(second)), FACTOR_PAGE)
        } finally {
          await second.stop()
          await rm(folder, { recursive: true })
        }
      }
    },
  },
  {
    attack: 'changes an account that has an alias in another zone',
    outcome: 'both keep their own factors',
    attempt: () =>
      guarded(
        async ({ server }) => {
          const { providers, users, factors } = server.store
          const internal = await providers.findByOrigin('svc', 'svc')
          assert.ok(internal)
          const corp = { ...internal, type: 'oidc1.0', originKey: 'corp', config: {} }
          await providers.insert('svc', { ...corp, zoneId: 'svc', id: 'here', aliasId: 'there', aliasZoneId: 'z1' })
          await providers.insert('z1', { ...corp, zoneId: 'z1', id: 'there', aliasId: 'here', aliasZoneId: 'svc' })
          const bearer = await tokenOf(server, 'root')
          const emails = [{ value: 'pat@example.org' }]
          const body = { userName: 'pat', emails, origin: 'corp', externalId: 'pat', aliasZid: 'z1' }
          const made = await sendJson(server, 'POST', '/Users', body, { bearer })
          assert.equal(made.status, 201, made.text)
          const { id, aliasId } = made.json<{ id: string; aliasId: string }>()
          const methods = async () =>
            [await users.find('svc', id), await users.find('z1', aliasId)].map(user => user?.factors?.methods ?? [])
          await giveFactor(server, id)
          assert.deepEqual(await methods(), [['totp'], []])
          const change = async (name: string) => {
            const renamed = { ...body, aliasId, name: { givenName: name, familyName: 'B' } }
            const headers = { 'if-match': '*' }
            const answer = await sendJson(server, 'PUT', `/Users/${id}`, renamed, { bearer, headers })
            assert.equal(answer.status, 200, answer.text)
          }
          await change('One')
          assert.deepEqual(await methods(), [['totp'], []])
          const totp = { sealedSecret: '', createdAt: server.clock.now(), lastStep: 0 }
          await factors.setTotp('z1', aliasId, totp)
          await factors.reset('svc', id)
          await change('Two')
          assert.deepEqual(await methods(), [[], ['totp']])
        },
        bootstrap,
        { config: { login: { aliasEntitiesEnabled: true } } },
      ),
  },
  {
    attack:
      'weakens the policy of the default zone as administrator of another one, or by an update without the setting',
    outcome: 'refused, and kept by an update without it',
    attempt: () =>
      guarded(async ({ server }) => {
        const policyOf = async (id: string) => (await server.store.zones.find(id))?.config.secondFactor
        const before = await policyOf('svc')
        const record = { id: 'svc', subdomain: '', name: 'svc', config: { secondFactor: { requirement: 'off' } } }
        for (const who of ['admin-of-z1', 'clerk', 'registrar']) {
          const bearer = await tokenOf(server, who)
          const answer = await sendJson(server, 'PUT', '/identity-zones/svc', record, { bearer })
          assert.ok(answer.status >= 400, `${who} ${answer.status}`)
        }
        assert.deepEqual(await policyOf('svc'), before)
        const bearer = await tokenOf(server, 'root')
        const z1 = { id: 'z1', subdomain: 'z1', name: 'Zone one' }
        const put = async (config: object) =>
          sendJson(server, 'PUT', '/identity-zones/z1', { ...z1, config }, { bearer })
        assert.equal((await put({ secondFactor: { requirement: 'required' } })).status, 200)
        assert.equal((await put({ tokenPolicy: {} })).status, 200)
        assert.deepEqual(await policyOf('z1'), { requirement: 'required' })
      }, bootstrap),
  },
]
