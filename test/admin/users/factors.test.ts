import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { User } from '../../../src/model/users/user.ts'
import { MODES, tokensOf, userNamed } from '../../support/oauth.ts'
import { enrolApp, giveFactor, prove, setPolicy } from '../../support/second-factor.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import { caller, HOST_OF_Z1, sendJson, tokenOf } from '../../support/zones.ts'

const callers = [
  caller('root', 'svc.admin'),
  caller('reader', 'scim.read'),
  caller('writer', 'scim.write', 'scim.create', 'password.write', 'clients.admin', 'svc.account_status.write'),
  caller('admin-here', 'zones.svc.admin'),
  caller('admin-of-z1', 'zones.z1.admin'),
  caller('writer-of-z1', 'zones.z1.scim.write'),
  caller('reader-of-z1', 'zones.z1.scim.read'),
]
const manager = {
  client_id: 'manager',
  client_secret: 'manager-secret',
  authorized_grant_types: ['password'],
  scope: ['svc.admin', 'zones.svc.admin', 'scim.read'],
}
const [marissa] = defaultBootstrap.users
const account = (userName: string, ...groups: readonly string[]) => ({
  userName,
  password: 'koala',
  emails: [{ value: `${userName}@example.org` }],
  groups,
})
const config = {
  bootstrap: {
    ...defaultBootstrap,
    groups: [...defaultBootstrap.groups, { displayName: 'svc.admin' }, { displayName: 'zones.svc.admin' }],
    clients: [...defaultBootstrap.clients, ...callers, manager],
    users: [...defaultBootstrap.users, account('boss', 'svc.admin'), account('deputy', 'zones.svc.admin')],
    identity_zones: [
      {
        id: 'z1',
        subdomain: 'one',
        name: 'Zone 1',
        bootstrap: {
          clients: [...callers, manager],
          users: [{ ...marissa, groups: [] }, account('boss', 'svc.admin')],
        },
      },
    ],
  },
}

/** Method and path below `/mfa` of every write operation. */
const CHANGES = [
  ['DELETE', ''],
  ['DELETE', '/passkeys/some'],
  ['DELETE', '/totp'],
  ['DELETE', '/recovery-codes'],
  ['POST', '/bypass'],
  ['DELETE', '/bypass'],
] as const

for (const mode of MODES) {
  describe(`/Users/{id}/mfa in ${mode}`, () => {
    let server: TestServer
    let user: User
    before(async () => {
      server = await startServer({ mode, config })
      await setPolicy(server, { requirement: 'optional' })
      user = await userNamed(server, 'marissa')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    interface Given {
      readonly of?: string
      readonly zone?: string
      readonly host?: string
      readonly body?: unknown
      readonly bearer?: string
    }
    const ask = async (method: string, path: string, as: string, given: Given = {}): Promise<TestAnswer> => {
      const { of = user.id, zone, host, body = method === 'POST' ? {} : undefined } = given
      return sendJson(server, method, `/Users/${encodeURIComponent(of)}/mfa${path}`, body, {
        bearer: given.bearer ?? (await tokenOf(server, as, host)),
        ...(host !== undefined && { host }),
        ...(zone !== undefined && { headers: { 'x-identity-zone-id': zone } }),
      })
    }
    const bootstrapped = async (userName: string, zoneId = 'svc') => (await userNamed(server, userName, zoneId)).id
    const userToken = async (userName: string, host?: string): Promise<string> => {
      const form = { grant_type: 'password', username: userName, password: 'koala' }
      const request = { basic: ['manager', 'manager-secret'] as const, ...(host !== undefined && { host }) }
      return tokensOf(await server.token(form, request)).access_token
    }
    /** MFA events since the last call. */
    let reported = 0
    const events = (): readonly string[] => {
      const all = server.events.filter(({ type }) => type.startsWith('MfaFactor'))
      const fresh = all.slice(reported)
      reported = all.length
      return fresh.map(({ type, data, clientId, byOther }) => [type, data, clientId, byOther].join(' '))
    }
    const methods = async () => (await server.store.users.find('svc', user.id))?.factors?.methods ?? []

    // Covers GET /Users/{id}/mfa: rule: no secret in the answer
    it('lists factors without secrets', async () => {
      assert.deepEqual((await ask('GET', '', 'reader')).json(), {
        required: false,
        methods: [],
        passkeys: [],
        recovery_codes: { left: 0 },
      })
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      await giveFactor(server, user.id, 'passkey')
      await giveFactor(server, user.id, 'totp')
      const created_at = server.clock.now().toISOString()
      await server.store.factors.setCodes('svc', user.id, {
        kind: 'recovery',
        digests: ['digest-one', 'digest-two'],
        createdAt: server.clock.now(),
      })
      const answer = await ask('GET', '', 'reader')
      const [passkey] = await server.store.factors.passkeysOf('svc', user.id)
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.deepEqual(answer.json(), {
        required: true,
        methods: ['passkey', 'totp'],
        passkeys: [{ id: passkey?.id, name: 'Key', created_at, backed_up: false, attested: false }],
        totp: { created_at },
        recovery_codes: { left: 2, created_at },
      })
      for (const secret of ['digest-one', 'public', 'secret', 'credential']) assert.ok(!answer.text.includes(secret))
    })

    // Covers DELETE /Users/{id}/mfa/passkeys/{passkey}: passkey
    // Covers DELETE /Users/{id}/mfa/totp: rule: audit trail
    // Covers DELETE /Users/{id}/mfa/recovery-codes: rule: audit trail
    it('removes single factors and records who removed them', async () => {
      events()
      const [passkey] = await server.store.factors.passkeysOf('svc', user.id)
      const removals = [
        [`/passkeys/${passkey?.id}`, 'MfaFactorRemovedEvent passkey root true', ['totp']],
        ['/recovery-codes', 'MfaFactorRemovedEvent recovery codes root true', ['totp']],
        ['/totp', 'MfaFactorRemovedEvent totp root true', []],
      ] as const
      for (const [path, event, left] of removals) {
        const answer = await ask('DELETE', path, 'root')
        assert.deepEqual([answer.status, answer.text], [204, ''])
        assert.deepEqual(events(), [event])
        assert.deepEqual(await methods(), left)
        assert.equal((await ask('DELETE', path, 'root')).status, 404, 'already removed')
        assert.deepEqual(events(), [])
      }
    })

    // Covers DELETE /Users/{id}/mfa: rule: removes every factor
    it('removes all factors at once, and is idempotent', async () => {
      for (const method of ['passkey', 'totp'] as const) await giveFactor(server, user.id, method)
      await ask('POST', '/bypass', 'root')
      events()
      await server.mails()
      for (const expected of [['MfaFactorRemovedEvent all admin-here true'], []]) {
        assert.equal((await ask('DELETE', '', 'admin-here')).status, 204)
        assert.deepEqual(events(), expected)
        const { passkeys, methods: named, totp, bypass } = (await ask('GET', '', 'root')).json()
        assert.deepEqual([passkeys, named, totp, bypass], [[], [], undefined, undefined])
      }
    })

    it('notifies the user by email, without the code', async () => {
      const before = (await server.mails()).length
      const { code } = (await ask('POST', '/bypass', 'root')).json<{ code: string }>()
      await ask('DELETE', '', 'root')
      const after = await server.mails()
      const mails = after.slice(0, after.length - before)
      assert.deepEqual(
        mails.map(({ to }) => to),
        ['marissa@example.org', 'marissa@example.org'],
      )
      assert.ok(!JSON.stringify(mails).includes(code))
    })

    it('lets the user set up a new factor after a reset', async () => {
      await setPolicy(server, { requirement: 'required' })
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const { codes } = await enrolApp(server, browser)
      assert.equal((await ask('DELETE', '', 'root')).status, 204)
      const again = server.browser()
      await again.signIn('marissa', 'koala')
      assert.equal(
        (await prove(again, { way: 'recovery', code: codes[0] ?? '' })).status,
        422,
        'the reset removed the recovery codes',
      )
      assert.equal((await enrolApp(server, again)).codes.length, 10)
      await ask('DELETE', '', 'root')
      await setPolicy(server, { requirement: 'optional' })
    })

    // Covers POST /Users/{id}/mfa/bypass: rule: stands in for a factor once
    // Covers DELETE /Users/{id}/mfa/bypass: rule: takes the code back
    it('issues a single-use bypass code that expires and can be revoked', async () => {
      await giveFactor(server, user.id)
      events()
      const given = await ask('POST', '/bypass', 'admin-here', { body: { expires_in: 60 } })
      assert.equal(given.status, 201)
      assert.equal(given.headers['cache-control'], 'no-store')
      const { code, expires_at, ...rest } = given.json<{ code: string; expires_at: string }>()
      assert.deepEqual(rest, {})
      assert.equal(expires_at, new Date(server.clock.now().getTime() + 60_000).toISOString())
      assert.deepEqual(events(), ['MfaFactorAddedEvent bypass admin-here true'])
      assert.ok(!JSON.stringify(server.events).includes(code))
      assert.deepEqual((await ask('GET', '', 'reader')).json()['bypass'], { expires_at })

      const enter = async (entered: string): Promise<number> => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        return (await prove(browser, { way: 'recovery', code: entered })).status
      }
      assert.equal(await enter(code), 302)
      assert.equal(await enter(code), 422, 'already used')
      assert.equal((await ask('DELETE', '/bypass', 'root')).status, 404)
      const codeOf = async (body: object) =>
        (await ask('POST', '/bypass', 'root', { body })).json<{ code: string }>().code
      const [first, second] = [await codeOf({}), await codeOf({})]
      assert.equal(await enter(first), 422, 'replaced by the next code')
      assert.equal((await ask('DELETE', '/bypass', 'root')).status, 204)
      assert.equal(await enter(second), 422, 'revoked')
      const late = await codeOf({ expires_in: 60 })
      server.clock.advance(61)
      assert.equal(await enter(late), 422, 'expired')
      assert.equal((await ask('GET', '', 'reader')).json()['bypass'], undefined)
      server.clock.advance(3600)
      await ask('DELETE', '', 'root')
    })

    for (const body of [
      { expires_in: 0 },
      { expires_in: -1 },
      { expires_in: 59 },
      { expires_in: 604_801 },
      { expires_in: 5 * 365 * 86_400 },
      { expires_in: 1e300 },
      { expires_in: 60.5 },
      { expires_in: '3600' },
      { expires_in: null },
      { expires_in: [3600] },
      { expiresIn: 60 },
      { expires_in: 60, code: '0000-0000-0000' },
    ]) {
      it(`rejects a bypass request with ${JSON.stringify(body)}`, async () => {
        const answer = await ask('POST', '/bypass', 'root', { body })
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'scim'])
        assert.equal((await ask('GET', '', 'root')).json()['bypass'], undefined)
      })
    }

    // Covers POST /Users/{id}/mfa/bypass: error: bad request
    it('rejects a bypass request whose body is not an object', async () => {
      for (const body of ['', '[]', '"60"', '{', 'null']) {
        assert.equal((await ask('POST', '/bypass', 'root', { body })).status, 400, body)
      }
    })

    it('rejects a bypass request if the policy does not apply to the user', async () => {
      for (const policy of [{ requirement: 'off' }, { requirement: 'required', origins: ['ldap'] }] as const) {
        await setPolicy(server, policy)
        assert.equal((await ask('POST', '/bypass', 'root')).status, 400)
        assert.equal((await ask('GET', '', 'root')).json()['required'], false)
      }
      await setPolicy(server, { requirement: 'optional' })
    })

    it('reports required for members of a policy group, until the group is deleted', async () => {
      const isAsked = async (): Promise<unknown> => (await ask('GET', '', 'reader')).json()['required']
      await setPolicy(server, { requirement: 'groups', groups: ['CLOUD.read'] })
      assert.equal(await isAsked(), true)
      assert.equal((await ask('GET', '', 'reader', { of: await bootstrapped('joel') })).json()['required'], false)
      const group = await server.store.groups.findByName('svc', 'cloud.read')
      assert.ok(group)
      await server.store.groups.delete('svc', group.id, group.version)
      assert.equal(await isAsked(), false, 'the group was deleted')
      await setPolicy(server, { requirement: 'optional' })
    })

    it('requires an administrator, or scim.read to read', async () => {
      await giveFactor(server, user.id)
      const { access_token: own } = tokensOf(
        await server.token(
          { grant_type: 'password', username: 'joel', password: 'wombat' },
          { basic: ['app', 'app-secret'] },
        ),
      )
      for (const [method, path] of [['GET', ''] as const, ...CHANGES]) {
        const where = `${method} ${path}`
        const anonymous = await sendJson(server, method, `/Users/${user.id}/mfa${path}`, {})
        assert.equal(anonymous.status, 401, where)
        const joel = await bootstrapped('joel')
        assert.equal((await ask(method, path, 'joel', { of: joel, bearer: own })).status, 403, `${where} for oneself`)
        for (const as of ['writer', 'admin-of-z1', 'writer-of-z1', 'reader-of-z1']) {
          assert.equal((await ask(method, path, as)).json()['error'], 'insufficient_scope', `${where} by ${as}`)
        }
        if (method !== 'GET') assert.equal((await ask(method, path, 'reader')).status, 403, where)
      }
      assert.deepEqual(await methods(), ['totp'])
      for (const [method, path] of [['PUT', ''] as const, ['PATCH', '/totp'] as const, ['GET', '/bypass'] as const]) {
        assert.equal((await ask(method, path, 'root')).status, 403, 'unknown routes below /Users are denied')
      }
    })

    it('rejects administrators who change their own factors or those of a more privileged user', async () => {
      const [boss, deputy] = [await bootstrapped('boss'), await bootstrapped('deputy')]
      const [asBoss, asDeputy] = [await userToken('boss'), await userToken('deputy')]
      await giveFactor(server, boss)
      const refusals = [
        { bearer: asBoss, of: boss, error: 'invalid_self_edit' },
        { bearer: asDeputy, of: deputy, error: 'invalid_self_edit' },
        { bearer: asDeputy, of: boss, error: 'insufficient_scope' },
        { bearer: await tokenOf(server, 'admin-here'), of: boss, error: 'insufficient_scope' },
      ]
      for (const [method, path] of CHANGES) {
        for (const { bearer, of, error } of refusals) {
          const answer = await ask(method, path, '', { bearer, of })
          assert.deepEqual([answer.status, answer.json()['error']], [403, error], `${method} ${path}`)
        }
      }
      assert.deepEqual((await server.store.users.find('svc', boss))?.factors?.methods, ['totp'])
      assert.equal((await ask('GET', '', '', { bearer: asBoss, of: boss })).status, 200)
      assert.equal((await ask('DELETE', '', '', { bearer: asBoss, of: deputy })).status, 204)
      assert.equal((await ask('DELETE', '', 'root', { of: boss })).status, 204, 'a client without a user')
    })

    it('answers 404 for unknown ids and users of other zones', async () => {
      const theirs = await bootstrapped('marissa', 'z1')
      const before = await methods()
      for (const [method, path] of [['GET', ''] as const, ...CHANGES]) {
        const where = `${method} ${path}`
        for (const unknown of ['nobody', '\0', '\ud83d\udd11', 'x'.repeat(200)]) {
          const { status } = await ask(method, path, 'root', { of: unknown })
          assert.ok([404, 414].includes(status), where)
        }
        assert.equal((await ask(method, path, 'root', { of: theirs })).status, 404, where)
        const inZ1 = { zone: 'z1' }
        assert.equal((await ask(method, path, 'admin-of-z1', inZ1)).status, 404, 'a user of the default zone')
        assert.equal(
          (await ask(method, path, 'root', { host: HOST_OF_Z1 })).status,
          404,
          'the same, with an administrator of z1',
        )
        const fromThere = await tokenOf(server, 'root', HOST_OF_Z1)
        assert.equal(
          (await ask(method, path, '', { bearer: fromThere })).status,
          401,
          'a token of z1 in the default zone',
        )
      }
      assert.deepEqual(await methods(), before)
    })

    it('deletes factors with their user, provider or zone', async () => {
      const { factors, users } = server.store
      const bearer = await tokenOf(server, 'root')
      const call = async (method: string, path: string, body?: object): Promise<TestAnswer> => {
        const answer = await sendJson(server, method, path, body, { bearer, headers: { 'if-match': '*' } })
        assert.ok(answer.status < 300, answer.text)
        return answer
      }
      const made = async (zoneId: string, origin = 'svc'): Promise<string> => {
        const known = await userNamed(server, 'marissa')
        const { factors: _, passwordHash: __, ...copied } = known
        const id = `gone-${zoneId}-${origin}`
        await users.insert(zoneId, { ...copied, zoneId, id, userName: id, origin })
        const createdAt = server.clock.now()
        await factors.setTotp(zoneId, id, { sealedSecret: 's', createdAt, lastStep: 0 })
        await factors.setCodes(zoneId, id, { kind: 'bypass', digests: ['d'], createdAt, expiresAt: new Date(8e12) })
        const key = {
          id,
          userId: id,
          credentialId: id,
          publicKey: '',
          counter: 0,
          transports: [],
          aaguid: '',
          name: 'Key',
        }
        await factors.addPasskey(
          zoneId,
          { ...key, isBackedUp: false, isAttested: false, hasVerifiedUser: true, createdAt },
          1,
        )
        return id
      }
      const left = async (zoneId: string, id: string) => [
        await factors.passkeysOf(zoneId, id),
        await factors.totpOf(zoneId, id),
        await factors.codesLeft(zoneId, id, server.clock.now()),
      ]
      const nothing = [[], undefined, { recovery: 0 }]

      const owner = await made('svc')
      assert.notDeepEqual(await left('svc', owner), nothing)
      await call('DELETE', `/Users/${owner}`)
      assert.deepEqual(await left('svc', owner), nothing)

      const config = {
        baseUrl: 'ldap://directory.example',
        ldapProfileFile: 'ldap/ldap-simple-bind.xml',
        ldapGroupFile: 'ldap/ldap-groups-null.xml',
      }
      const provider = await call('POST', '/identity-providers', {
        type: 'ldap',
        originKey: 'ldap',
        name: 'Directory',
        config,
      })
      const member = await made('svc', 'ldap')
      await call('DELETE', `/identity-providers/${String(provider.json()['id'])}`)
      assert.deepEqual(await left('svc', member), nothing)

      await call('POST', '/identity-zones', { id: 'gone', subdomain: 'gone', name: 'Gone' })
      const theirs = await made('gone')
      await call('DELETE', '/identity-zones/gone')
      assert.deepEqual(await left('gone', theirs), nothing)
    })

    it('lets zone administrators manage users of their zone', async () => {
      const theirs = await bootstrapped('marissa', 'z1')
      const zone = await server.store.zones.find('z1')
      assert.ok(zone)
      await server.store.zones.update({ ...zone, config: { secondFactor: { requirement: 'optional' } } })
      for (const given of [{ zone: 'z1' }, { host: HOST_OF_Z1 }]) {
        const as = 'host' in given ? 'root' : 'admin-of-z1'
        assert.equal((await ask('POST', '/bypass', as, { ...given, of: theirs })).status, 201)
        assert.equal((await ask('DELETE', '', as, { ...given, of: theirs })).status, 204)
      }
      assert.equal((await ask('GET', '', 'reader-of-z1', { zone: 'z1', of: theirs })).status, 200)
      assert.equal((await ask('DELETE', '', 'writer-of-z1', { zone: 'z1', of: theirs })).status, 403)
      const boss = await bootstrapped('boss', 'z1')
      const asBoss = await userToken('boss', HOST_OF_Z1)
      assert.equal((await ask('DELETE', '', '', { bearer: asBoss, host: HOST_OF_Z1, of: boss })).status, 403)
      assert.equal((await ask('DELETE', '', '', { bearer: asBoss, host: HOST_OF_Z1, of: theirs })).status, 204)
    })
  })
}
