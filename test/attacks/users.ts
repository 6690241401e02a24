import assert from 'node:assert/strict'
import { MODES } from '../support/oauth.ts'
import { giveFactor } from '../support/second-factor.ts'
import { IN_Z1, newUserBody, startUserServer, statusesOf } from '../support/users.ts'
import type { UserApi, UserCallerId } from '../support/users.ts'
import type { Attack } from './attack.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

const PASSWORD = 'pw-1-long-enough'
const ANY = { headers: { 'if-match': '*' } } as const

/** Runs the attack in both modes, each against its own server. */
const inBothModes = (attempt: (api: UserApi) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const api = await startUserServer(mode)
    await attempt(api)
    assert.deepEqual(api.server.faults, [])
    await api.stop()
  }
}

const grant = async (api: UserApi, username: string, password = PASSWORD): Promise<number> =>
  (await api.server.token({ grant_type: 'password', username, password }, { basic: ['portal', 'portal-secret'] }))
    .status

/** Makes the user an administrator. */
async function makeAdministrator(api: UserApi, value: string): Promise<void> {
  await api.send('POST', '/Groups', { displayName: 'svc.admin' }, { by: 'root' }) // unless it is there
  const group = await api.server.store.groups.findByName('svc', 'svc.admin')
  assert.equal((await api.send('POST', `/Groups/${group?.id}/members`, { value }, { by: 'root' })).status, 201)
}

/** Attacks by users and user administrators. */
export const userAttacks: readonly Attack[] = [
  {
    attack: 'changes more than the names of their own account with its token',
    outcome: 'is refused for every attribute and method',
    attempt: inBothModes(async api => {
      const { id, ...user } = await api.create('eve', { verified: true })
      const bearer = await api.tokenOfUser('eve')
      const before = await api.read(id)
      for (const more of [
        { userName: 'admin' },
        { emails: [{ value: 'chief@shop.example', primary: true }] },
        { active: false },
        { verified: false },
        { salt: 'x' },
        { externalId: 'cn=chief' },
        { phoneNumbers: [{ value: '1' }] },
        { origin: 'ldap' },
      ]) {
        const put = { userName: user.userName, emails: user.emails, name: user.name, ...more }
        assert.ok((await api.send('PUT', `/Users/${id}`, put, { ...ANY, bearer })).status >= 400)
        const patch = await api.send('PATCH', `/Users/${id}`, more, { ...ANY, bearer })
        const isIgnored = 'salt' in more || 'externalId' in more // no PATCH changes these
        assert.equal(patch.status >= 400, !isIgnored, patch.text)
      }
      const { meta: _, ...after } = await api.read(id)
      const { meta: _meta, ...expected } = before
      assert.deepEqual(after, expected)
    }),
  },
  {
    attack: 'sends groups, another zone, an id or a password hash in the body of a user',
    outcome: 'they are ignored',
    attempt: inBothModes(async api => {
      const user = await api.create('eve', {
        id: 'chosen',
        zoneId: 'z1',
        groups: [{ value: 'svc.admin', display: 'svc.admin', type: 'DIRECT' }],
        password: `{bcrypt}$2a$04$${'.'.repeat(53)}`,
      })
      assert.notEqual(user.id, 'chosen')
      assert.equal(user.zoneId, 'svc')
      assert.ok(!user.groups?.some(({ display }) => display === 'svc.admin'))
      const stored = await api.server.store.users.find('svc', user.id)
      assert.ok(stored?.passwordHash?.startsWith('$argon2id$'))
    }),
  },
  {
    attack: 'addresses users of another zone by id',
    outcome: 'they are not found, by path or zone header',
    attempt: inBothModes(async api => {
      const theirs = await api.create('theirs', {}, IN_Z1)
      const mine = await api.create('mine')
      const requests = (id: string) =>
        [
          ['GET', `/Users/${id}`, undefined],
          ['PUT', `/Users/${id}`, newUserBody('taken')],
          ['PATCH', `/Users/${id}`, { active: false }],
          ['GET', `/Users/${id}/verify`, undefined],
          ['PATCH', `/Users/${id}/status`, { passwordChangeRequired: true }],
          ['DELETE', `/Users/${id}`, undefined],
        ] as const
      for (const [method, path, body] of requests(theirs.id)) {
        assert.equal((await api.send(method, path, body, ANY)).status, 404, `${method} ${path}`)
      }
      const headers = { ...ANY.headers, 'x-identity-zone-id': 'z1' }
      for (const [method, path, body] of requests(mine.id)) {
        assert.equal((await api.send(method, path, body, { by: 'admin-of-z1', headers })).status, 404)
        assert.equal((await api.send(method, path, body, { by: 'admin-of-z2', headers })).status, 403)
        assert.equal((await api.send(method, path, body, { by: 'admin-of-z1', ...ANY })).status, 403)
      }
      assert.equal((await api.read(theirs.id, IN_Z1)).active, true)
      assert.equal((await api.read(mine.id)).active, true)
    }),
  },
  {
    attack: 'creates a second account with a name that differs in case, Unicode form or width, even concurrently',
    outcome: 'only one request succeeds',
    attempt: inBothModes(async api => {
      const names = ['Zoé', 'ZOÉ', 'ｚｏé', 'zoÉ']
      const answers = await Promise.all(names.map(name => api.send('POST', '/Users', newUserBody(name))))
      assert.deepEqual(statusesOf(answers), [201, 409, 409, 409])
      const other = await api.create('other')
      const renamed = { ...newUserBody('other'), userName: 'ＺＯÉ' }
      assert.equal((await api.send('PUT', `/Users/${other.id}`, renamed, ANY)).status, 400)
    }),
  },
  {
    attack: 'undoes a concurrent change with an old version',
    outcome: 'is refused, and of concurrent changes exactly one succeeds',
    attempt: inBothModes(async api => {
      const { id } = await api.create('busy')
      const with0 = { headers: { 'if-match': '"0"' } }
      const answers = await Promise.all(
        ['a', 'b', 'c', 'd'].map(givenName => api.send('PATCH', `/Users/${id}`, { name: { givenName } }, with0)),
      )
      assert.deepEqual(statusesOf(answers), [200, 409, 409, 409])
      assert.equal((await api.send('DELETE', `/Users/${id}`, undefined, with0)).status, 422)
    }),
  },
  {
    attack: 'uses tokens after the account was deactivated, deleted, or its email address or password changed',
    outcome: 'is refused immediately, even when the account is active again',
    attempt: inBothModes(async api => {
      const changes = [
        (id: string) => api.send('PATCH', `/Users/${id}`, { active: false }, ANY),
        (id: string) => api.send('PATCH', `/Users/${id}`, { emails: [{ value: 'n@x.example', primary: true }] }, ANY),
        (id: string) => api.send('PUT', `/Users/${id}/password`, { password: 'another-password' }, { by: 'setter' }),
        (id: string) => api.send('DELETE', `/Users/${id}`),
      ]
      for (const [place, change] of changes.entries()) {
        const { id, userName } = await api.create(`leaver${place}`)
        const bearer = await api.tokenOfUser(userName)
        const asUser = async () => (await api.send('GET', '/userinfo', undefined, { bearer })).status
        assert.equal(await asUser(), 200)
        assert.equal((await change(id)).status, 200)
        assert.equal(await asUser(), 401)
        await api.send('PATCH', `/Users/${id}`, { active: true }, ANY)
        assert.equal(await asUser(), 401)
      }
    }),
  },
  {
    attack: 'changes the email address of an administrator with scim.write, to reset the password',
    outcome: 'is refused by PUT and PATCH unless the caller has the rights of the account',
    attempt: inBothModes(async api => {
      const { id, ...user } = await api.create('chief')
      const { store } = api.server
      await api.send('POST', '/Groups', { displayName: 'svc.admin' }, { by: 'root' }) // unless it is there
      const admins = await store.groups.findByName('svc', 'svc.admin')
      const inner = (await api.send('POST', '/Groups', { displayName: 'chiefs', members: [{ value: id }] })).json()
      const nested = { value: inner['id'], type: 'GROUP' }
      assert.equal((await api.send('POST', `/Groups/${admins?.id}/members`, nested, { by: 'root' })).status, 201)
      const before = await store.users.find('svc', id)
      const name = { givenName: 'a', familyName: 'b' }
      const kept = { userName: user.userName, emails: user.emails, name }
      const changes = [{ emails: [{ value: 'mine@x.example', primary: true }] }, { userName: 'mine' }]
      for (const more of changes) {
        for (const request of [
          ['PUT', { ...kept, ...more }],
          ['PATCH', more],
        ] as const) {
          const answer = await api.send(request[0], `/Users/${id}`, request[1], { ...ANY, by: 'writer' })
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 insufficient_scope')
        }
      }
      const external = await api.send('PUT', `/Users/${id}`, { ...kept, externalId: 'x' }, { ...ANY, by: 'writer' })
      assert.equal(external.status, 403)
      assert.deepEqual(await store.users.find('svc', id), before)
      assert.equal((await api.send('PUT', `/Users/${id}`, kept, { ...ANY, by: 'writer' })).status, 200)
      assert.equal((await api.send('PATCH', `/Users/${id}`, changes[0], { ...ANY, by: 'root' })).status, 200)
    }),
  },
  {
    attack: 'activates or verifies an administrator with scim.write or scim.create alone',
    outcome: 'is refused by PUT, PATCH, SCIM 2.0 and both ways to verify; other accounts are accepted',
    attempt: inBothModes(async api => {
      const chief = await api.create('chief', { active: false, verified: false })
      await makeAdministrator(api, chief.id)
      const other = await api.create('other', { active: false, verified: false })
      const patch = (value: object) => ({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: [{ op: 'replace', value }],
      })
      const attempts = (id: string, name: string): readonly [UserCallerId, string, string, object?][] => [
        ['writer', 'PUT', `/Users/${id}`, newUserBody(name, { password: undefined, active: true, verified: false })],
        ['writer', 'PATCH', `/Users/${id}`, { active: true }],
        ['writer', 'PATCH', `/scim/v2/Users/${id}`, patch({ active: true })],
        ['maker', 'GET', `/Users/${id}/verify`],
        ['maker', 'GET', `/Users/${id}/verify-link?redirect_uri=https%3A%2F%2Fapp.example%2Fcb`],
        ['writer', 'PATCH', `/Users/${id}`, { verified: true }],
      ]
      for (const [by, method, path, body] of attempts(chief.id, 'chief')) {
        const answer = await api.send(method, path, body, { ...ANY, by })
        assert.equal(answer.status, 403, `${method} ${path} ${answer.text}`)
      }
      const { active, verified } = await api.read(chief.id)
      assert.deepEqual([active, verified], [false, false])
      for (const [by, method, path, body] of attempts(other.id, 'other')) {
        const answer = await api.send(method, path, body, { ...ANY, by })
        assert.ok(answer.status < 300 || answer.status === 405, `${method} ${path} ${answer.text}`)
      }
      assert.equal(
        (await api.send('PATCH', `/Users/${chief.id}`, { active: true }, { ...ANY, by: 'root' })).status,
        200,
      )
    }),
  },
  {
    attack: 'sets the password of an administrator as a user who administers the default zone alone',
    outcome: 'is refused; passwords of other users can be set',
    attempt: inBothModes(async api => {
      const { store } = api.server
      const join = async (displayName: string, value: string) => {
        await api.send('POST', '/Groups', { displayName }, { by: 'root' }) // unless it is there
        const group = await store.groups.findByName('svc', displayName)
        await api.send('POST', `/Groups/${group?.id}/members`, { value }, { by: 'root' })
      }
      const chief = await api.create('chief')
      await join('svc.admin', chief.id)
      const deputy = await api.create('deputy')
      await join('zones.svc.admin', deputy.id)
      await join('password.write', deputy.id) // everybody may have it already
      const other = await api.create('other')
      const bearer = await api.tokenOfUser('deputy')
      const set = (id: string) => api.send('PUT', `/Users/${id}/password`, { password: 'chosen-by-deputy' }, { bearer })
      const refused = await set(chief.id)
      assert.equal(`${refused.status} ${String(refused.json()['error'])}`, '403 insufficient_scope')
      assert.equal(await grant(api, 'chief'), 200)
      assert.equal((await set(other.id)).status, 200)
    }),
  },
  {
    attack: 'sets the password of an administrator as a client with password.write alone',
    outcome: 'is refused; passwords of other users can be set',
    attempt: inBothModes(async api => {
      const chief = await api.create('chief')
      await makeAdministrator(api, chief.id)
      const other = await api.create('other')
      const set = (id: string, by: UserCallerId) =>
        api.send('PUT', `/Users/${id}/password`, { password: 'chosen-by-setter' }, { by })
      const refused = await set(chief.id, 'setter')
      assert.equal(`${refused.status} ${String(refused.json()['error'])}`, '403 insufficient_scope')
      assert.equal(await grant(api, 'chief'), 200, 'the password is the old one')
      assert.equal((await set(other.id, 'setter')).status, 200)
      assert.equal((await set(chief.id, 'admin')).status, 200)
    }),
  },
  {
    attack: 'undoes a revocation with a PUT without a salt',
    outcome: 'keeps the salt, and the tokens stay revoked',
    attempt: inBothModes(async api => {
      const user = await api.create('revoked')
      const bearer = await api.tokenOfUser('revoked')
      assert.equal((await api.send('GET', `/oauth/token/revoke/user/${user.id}`)).status, 200)
      assert.equal((await api.send('PUT', `/Users/${user.id}`, newUserBody('revoked'), ANY)).status, 200)
      assert.equal((await api.send('GET', '/userinfo', undefined, { bearer })).status, 401)
    }),
  },
  {
    attack: 'restores the former salt with scim.write, to make revoked JWTs of an administrator valid',
    outcome: 'is refused; the salt of other users can be set',
    attempt: inBothModes(async api => {
      const chief = await api.create('chief', { salt: 'before' })
      await makeAdministrator(api, chief.id)
      const bearer = await api.tokenOfUser('chief')
      assert.equal((await api.send('GET', `/oauth/token/revoke/user/${chief.id}`)).status, 200)
      const put = (id: string, name: string, by: UserCallerId) =>
        api.send('PUT', `/Users/${id}`, newUserBody(name, { salt: 'before', password: undefined }), { ...ANY, by })
      const refused = await put(chief.id, 'chief', 'writer')
      assert.equal(`${refused.status} ${String(refused.json()['error'])}`, '403 insufficient_scope')
      assert.equal((await api.send('GET', '/userinfo', undefined, { bearer })).status, 401)
      assert.equal((await put(chief.id, 'chief', 'admin')).status, 200)
      const other = await api.create('other')
      assert.equal((await put(other.id, 'other', 'writer')).status, 200)
    }),
  },
  {
    attack: 'resets the failures of an administrator, to keep guessing one-time passwords',
    outcome: 'is refused; other accounts can be unlocked',
    attempt: inBothModes(async api => {
      const chief = await api.create('chief')
      await makeAdministrator(api, chief.id)
      await giveFactor(api.server, chief.id)
      const other = await api.create('other')
      for (let guess = 0; guess < 5; guess += 1) await grant(api, 'chief', 'wrong')
      const unlock = (id: string, by: UserCallerId) =>
        api.send('PATCH', `/Users/${id}/status`, { locked: false }, { by })
      for (const by of ['unlocker', 'writer'] as const) {
        const refused = await unlock(chief.id, by)
        assert.equal(`${refused.status} ${String(refused.json()['error'])}`, '403 insufficient_scope')
        assert.equal((await unlock(other.id, by)).status, 200)
      }
      assert.ok(
        !api.server.events.some(event => event.type === 'UserAccountUnlockedEvent' && event.principal === chief.id),
      )
      assert.equal((await unlock(chief.id, 'root')).status, 200)
    }),
  },
  {
    attack: 'guesses the password of an account whose token was stolen',
    outcome: 'the account is locked like by failed sign-ins',
    attempt: inBothModes(async api => {
      const { id } = await api.create('victim')
      const bearer = await api.tokenOfUser('victim')
      const set = (oldPassword: string) =>
        api.send('PUT', `/Users/${id}/password`, { password: 'chosen-by-the-thief', oldPassword }, { bearer })
      for (let guess = 0; guess < 5; guess += 1) assert.equal((await set(`guess-${guess}`)).status, 401)
      assert.equal((await set(PASSWORD)).status, 401)
      assert.equal((await set('')).status, 400, 'the old password cannot be left out')
      api.server.clock.advance(301)
      assert.equal(await grant(api, 'victim'), 200)
    }),
  },
  {
    attack: 'reads passwords, hashes or revisions from answers, errors, log or audit trail',
    outcome: 'none are included',
    attempt: inBothModes(async api => {
      const user = await api.create('secretive')
      const stored = await api.server.store.users.find('svc', user.id)
      assert.ok(stored?.passwordHash)
      const texts = [
        await api.send('GET', `/Users/${user.id}`),
        await api.send('GET', '/Users', undefined, {
          query: { attributes: 'password,passwordHash,passwordRevision,userName' },
        }),
        await api.send('GET', '/Users', undefined, { query: { filter: 'password co "argon2"' } }),
        await api.send('GET', '/Users', undefined, { query: { filter: 'password_hash sw "$"' } }),
        await api.send('GET', '/Users', undefined, { query: { sortBy: 'password_hash' } }),
        await api.send('POST', '/Users', newUserBody('secretive')),
        await api.send(
          'PUT',
          `/Users/${user.id}/password`,
          { password: PASSWORD, oldPassword: PASSWORD },
          { by: 'setter' },
        ),
        await api.send('DELETE', `/Users/${user.id}`),
      ].map(({ text }) => text)
      const { events, lines, refusals } = api.server
      const reported = JSON.stringify([texts, events, lines, refusals])
      for (const secret of [PASSWORD, stored.passwordHash, stored.passwordRevision, 'argon2id$']) {
        assert.ok(!reported.includes(secret))
      }
      const found = await api.send('GET', '/Users', undefined, { query: { filter: 'password sw "$argon"' } })
      assert.equal(found.json()['totalResults'], 0)
    }),
  },
  {
    attack: 'sends prototypes, wrong types, deep or huge bodies, bad encodings and hostile filters',
    outcome: '400 or 413 with a description, and nothing is created',
    attempt: inBothModes(async api => {
      const before = await api.server.store.users.count('svc')
      const json = { 'content-type': 'application/json' }
      for (const body of [
        '{"__proto__":{"active":true},"userName":"x"}',
        '{"constructor":{"prototype":{}}}',
        '[]',
        'null',
        '"x"',
        '{"userName":{"toString":"x"}}',
        '{"userName":"a\\u0000b"}',
        '{"userName":"\\ud800"}',
        `{"userName":${'['.repeat(10_000)}`,
        JSON.stringify(newUserBody('x', { name: { givenName: 'x'.repeat(100_000) } })),
        Buffer.from([0x7b, 0xc3, 0x28, 0x7d]),
      ]) {
        const answer = await api.send('POST', '/Users', undefined, { body, headers: json })
        assert.ok(answer.status === 400 || answer.status === 413, answer.text)
        assert.equal(answer.json()['error'], 'scim')
      }
      for (const filter of [
        `userName eq "x'; drop table users; --"`,
        'userName eq "x" or 1 eq 1',
        `${'('.repeat(10_000)}id pr${')'.repeat(10_000)}`,
        `userName eq "${'x'.repeat(100_000)}"`,
        'id pr and '.repeat(60) + 'id pr',
        'userName eq "\\u0000"',
      ]) {
        const answer = await api.send('GET', '/Users', undefined, { query: { filter } })
        assert.ok(answer.status < 500, answer.text)
      }
      assert.equal(await api.server.store.users.count('svc'), before)
    }),
  },
  {
    attack: 'sends thousands of quotes as a version or a filter',
    outcome: 'is refused with 400 immediately',
    attempt: inBothModes(async api => {
      const elapsed = cpuStopwatch()
      const headers = { 'if-match': `x${'"'.repeat(15_000)}x` }
      assert.equal((await api.send('DELETE', '/Users/none', undefined, { headers })).status, 400)
      const form = { filter: `"${'\\"'.repeat(10_000)}` }
      const answer = await api.send('POST', '/ids/Users', undefined, { by: 'finder', form })
      assert.equal(answer.status, 400, answer.text)
      assert.ok(elapsed() < 1000, `${elapsed()} ms`) // 50 ms on a quiet machine
    }),
  },
  {
    attack: 'sends an invalid content type, to fill the log with faults',
    outcome: '400 at every endpoint, and nothing is logged as a fault',
    attempt: inBothModes(async api => {
      for (const type of [';', 'x y', 'application/', 'a/b/c']) {
        for (const path of ['/Users', '/Groups', '/scim/v2/Users', '/oauth/token']) {
          const answer = await api.send('POST', path, undefined, { body: '{}', headers: { 'content-type': type } })
          assert.ok(answer.status >= 400 && answer.status < 500, `${path} ${type}: ${answer.status}`)
        }
      }
      const users = await api.send('POST', '/Users', undefined, { body: '{}', headers: { 'content-type': ';' } })
      assert.equal(`${users.status} ${String(users.json()['error'])}`, '400 scim')
    }),
  },
  {
    attack: 'creates approvals for scopes that the client does not have, or without audit',
    outcome: 'is refused, and valid approvals are audited',
    attempt: inBothModes(async api => {
      const bodyWith = (...scopes: readonly string[]) =>
        newUserBody('consenting', { approvals: scopes.map(scope => ({ clientId: 'app', scope, status: 'APPROVED' })) })
      const users = await api.server.store.users.count('svc')
      const refused = await api.send('POST', '/Users', bodyWith('openid', 'svc.admin'), { by: 'maker' })
      assert.equal(refused.status, 400, refused.text)
      assert.equal(await api.server.store.users.count('svc'), users)
      const made = await api.send('POST', '/Users', bodyWith('openid'), { by: 'maker' })
      assert.equal(made.status, 201, made.text)
      const event = api.server.events.find(({ type }) => type === 'ApprovalModifiedEvent')
      assert.equal(event?.principal, made.json()['id'])
      assert.equal(event?.data, 'openid APPROVED; by client maker')
    }),
  },
  {
    attack: 'sets the password of another user by the API without a trace',
    outcome: 'the caller is audited, even if the password is refused',
    attempt: inBothModes(async api => {
      const { id } = await api.create('reset')
      const set = (password: string) => api.send('PUT', `/Users/${id}/password`, { password }, { by: 'setter' })
      assert.equal((await set(PASSWORD)).status, 422)
      assert.equal((await set('another-password')).status, 200)
      const reported = api.server.events.filter(({ type }) => type.startsWith('PasswordChange'))
      assert.deepEqual(
        reported.map(({ type, clientId }) => `${type} ${clientId}`),
        ['PasswordChangeFailure setter', 'PasswordChangeSuccess setter'],
      )
    }),
  },
  {
    attack: 'guesses common passwords, and those derived from the account',
    outcome: 'in standard, they cannot be set, in any spelling',
    attempt: async () => {
      const api = await startUserServer('standard')
      const { id } = await api.create('eve.adams', { name: { givenName: 'Eve', familyName: 'Adams' } })
      const common = ['12345678', 'Password1!', 'P@ssw0rd2026', 'qwertyuiop', 'aaaaaaaaaaaa', 'passwordpassword']
      const own = ['eve.adams', 'AdamsEve2026!', '4d4ms!2026', 'Latchkey1', 'eve.adams@test']
      for (const password of [...common, ...own]) {
        const set = await api.send('PUT', `/Users/${id}/password`, { password })
        assert.deepEqual([set.status, set.json()['error']], [400, 'invalid_password'], password)
        const body = newUserBody('adams-eve', { password, name: { familyName: 'Adams' } })
        assert.equal((await api.send('POST', '/Users', body)).status, 400, password)
      }
      assert.equal(await grant(api, 'eve.adams'), 200)
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    },
  },
  {
    attack: 'lists the users of a zone with the scope scim.userids',
    outcome: 'the filter must name each user in every alternative',
    attempt: inBothModes(async api => {
      for (const filter of [
        'origin eq "svc"',
        'userName eq "x" or origin eq "svc"',
        'userName sw ""',
        'id pr',
        'userName eq "x" or (origin eq "svc" and origin eq "svc")',
      ]) {
        const answer = await api.send('GET', '/ids/Users', undefined, { by: 'finder', query: { filter } })
        assert.equal(answer.status, 400, filter)
      }
    }),
  },
  {
    attack: 'calls /Users with the scope of another method',
    outcome: 'is refused with the missing scopes before the body is read',
    attempt: inBothModes(async api => {
      const { id } = await api.create('target')
      const cases: readonly (readonly [UserCallerId, string, string])[] = [
        ['reader', 'POST', '/Users'],
        ['reader', 'DELETE', `/Users/${id}`],
        ['maker', 'PUT', `/Users/${id}`],
        ['maker', 'GET', '/Users'],
        ['writer', 'GET', `/Users/${id}`],
        ['unlocker', 'PATCH', `/Users/${id}`],
        ['setter', 'PATCH', `/Users/${id}/status`],
        ['finder', 'GET', '/Users'],
      ]
      for (const [by, method, path] of cases) {
        const answer = await api.send(method, path, method === 'GET' ? undefined : '{bad', { by, ...ANY })
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 insufficient_scope', `${by} ${method}`)
      }
    }),
  },
]
