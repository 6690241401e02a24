import assert from 'node:assert/strict'
import type { LoginServerApi } from '../support/login-server.ts'
import { OTHER_HOST, startLoginServer } from '../support/login-server.ts'
import { changeUser, issuedBy, MODES, tokensOf, userNamed } from '../support/oauth.ts'
import type { TestAnswer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** Runs the attack in both modes, each against its own server. */
const inBothModes = (attempt: (api: LoginServerApi) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const api = await startLoginServer(mode)
    await attempt(api)
    assert.deepEqual(api.server.faults, [])
    await api.stop()
  }
}

type Form = Readonly<Record<string, string | undefined>>

/** The same user, asserted at each of the three endpoints. */
async function atEveryEndpoint(api: LoginServerApi, form: Form, bearer = api.token): Promise<readonly TestAnswer[]> {
  const sent = Object.entries({ source: 'login', add_new: 'true', origin: 'ext-a', username: 'erin', ...form })
  const user = Object.fromEntries(sent.filter((entry): entry is [string, string] => entry[1] !== undefined))
  return [
    await api.tokens(form, { bearer }),
    await api.authorize(form, { bearer }),
    await api.server.send('/authenticate', { form: user, bearer }),
  ]
}

const assertAllRefused = (answers: readonly TestAnswer[]): void => {
  for (const { status, text } of answers) assert.ok([400, 401, 403].includes(status), `${status} ${text}`)
}

/** Attacks by and on login servers, which assert users. */
export const externalLoginAttacks: readonly Attack[] = [
  {
    attack: 'asserts a user of this server, by name or by id',
    outcome: 'is refused at every endpoint, without a token',
    attempt: inBothModes(async api => {
      const { id } = await userNamed(api.server, 'marissa')
      const before = issuedBy(api.server)
      assertAllRefused(await atEveryEndpoint(api, { username: 'marissa', origin: 'svc' }))
      assertAllRefused(await atEveryEndpoint(api, { username: 'marissa', origin: 'svc', user_id: id }))
      assertAllRefused(await atEveryEndpoint(api, { username: undefined, origin: undefined, user_id: id }))
      const login = JSON.stringify({ username: 'marissa', origin: 'svc' })
      assertAllRefused([await api.authorize({ login })])
      assert.equal(issuedBy(api.server), before)
    }),
  },
  {
    attack: 'asserts a user of another identity provider, by name or by id',
    outcome: 'is refused at every endpoint, because only the provider can assert its users',
    attempt: inBothModes(async api => {
      const bearer = await api.tokenOf('admin')
      const made = await api.server.send('/Users', {
        body: JSON.stringify({ userName: 'boss', origin: 'corp', emails: [{ value: 'boss@corp.example' }], name: {} }),
        bearer,
        headers: { 'content-type': 'application/json' },
      })
      const user_id = String(made.json()['id'])
      assertAllRefused(await atEveryEndpoint(api, { username: 'boss', origin: 'corp' }))
      assertAllRefused(await atEveryEndpoint(api, { username: undefined, origin: undefined, user_id }))
    }),
  },
  {
    attack: 'asserts users with a token of another zone, of a user, without the right, or without a token',
    outcome: 'is refused at every endpoint, and no user is created',
    attempt: inBothModes(async api => {
      const before = await api.server.store.users.count('svc')
      for (const bearer of [
        await api.tokenOf('login', OTHER_HOST),
        await api.tokenOfUser('lena', 'koala'), // who has oauth.login
        await api.tokenOf('admin'),
        'x.y.z',
      ]) {
        assertAllRefused(await atEveryEndpoint(api, { username: 'smuggled' }, bearer))
      }
      assert.equal(await api.server.store.users.count('svc'), before)
    }),
  },
  {
    attack: 'switches a login server to another zone by a header',
    outcome: 'is refused at every endpoint',
    attempt: inBothModes(async api => {
      const headers = { accept: 'application/json', 'x-identity-zone-id': 'z1' }
      assertAllRefused([await api.tokens({}, { headers }), await api.authorize({}, { headers })])
      assert.equal(await api.server.store.users.count('z1'), 0)
    }),
  },
  {
    attack: 'gets groups, or a user name in another case, asserted by the login server',
    outcome: 'gets only default groups, and not the other account',
    attempt: inBothModes(async api => {
      tokensOf(await api.tokens({ username: 'nora' }))
      assertAllRefused(await atEveryEndpoint(api, { username: 'NORA' }))
      const form = { username: 'gus', authorities: 'cloud.read', groups: 'cloud.read', external_groups: 'cloud.read' }
      const { scope } = tokensOf(await api.tokens(form))
      assert.doesNotMatch(scope, /cloud/)
    }),
  },
  {
    attack: 'asserts a user with a lone surrogate in the name',
    outcome: 'is refused without a server error',
    attempt: inBothModes(async api => {
      const login = String.raw`{"username":"a\ud800","origin":"ext-a"}`
      assert.equal((await api.authorize({ login, username: undefined })).status, 400)
    }),
  },
  {
    attack: 'guesses passwords at /authenticate',
    outcome: 'responses do not reveal accounts or locks, and the account is locked as at sign-in',
    attempt: inBothModes(async api => {
      const send = (username: string, password: string): Promise<TestAnswer> =>
        api.server.send('/authenticate', { form: { username, password } })
      const reported = new Set<string>()
      for (let count = 1; count <= 5; count += 1) {
        for (const name of ['marissa', 'nobody']) {
          const { status, text, headers } = await send(name, `wrong ${count}`)
          const { date: _, ...others } = headers
          reported.add(JSON.stringify([status, text, others]))
        }
      }
      assert.equal(reported.size, 1)
      assert.equal((await send('marissa', 'koala')).status, 401, 'the lock counts what was tried there')
      assert.match(String((await api.server.browser().signIn('marissa', 'koala')).headers['location']), /error=/)
    }),
  },
  {
    attack: 'guesses the password of one account in many spellings of its name at the same instant',
    outcome: 'the guesses are serialized, and the sixth is locked out',
    attempt: inBothModes(async api => {
      const names = ['marissa', 'MARISSA', 'Ｍarissa', 'ｍarissa', 'mａrissa', 'marisｓa', 'marissａ']
      const answers = await Promise.all(
        names.map((username, place) =>
          api.server.send('/authenticate', { form: { username, password: place < 6 ? 'wrong' : 'koala' } }),
        ),
      )
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([401]))
    }),
  },
  {
    attack: 'uses a sign-in code twice, with another client, in another zone, after a password change or as a passcode',
    outcome: 'the code is accepted once',
    attempt: inBothModes(async api => {
      const { server } = api
      const shop = ['shop', 'shop-secret'] as const
      const codeOf = async (): Promise<string> => {
        const answer = await server.send('/autologin', {
          form: { username: 'marissa', password: 'koala' },
          basic: shop,
        })
        return String(answer.json()['code'])
      }
      const visit = async (code: string, clientId: string, host?: string): Promise<boolean> => {
        const query = { code, client_id: clientId }
        const answer = await server.send('/autologin', { query, ...(host !== undefined && { host }) })
        return answer.cookies['Current-User'] !== undefined
      }
      const once = await codeOf()
      assert.deepEqual([await visit(once, 'shop'), await visit(once, 'shop')], [true, false])
      assert.equal(await visit(await codeOf(), 'portal'), false)
      assert.equal(await visit(await codeOf(), 'shop', OTHER_HOST), false)
      const passcode = { grant_type: 'password', passcode: await codeOf() }
      assert.notEqual(
        (await server.token(passcode, { basic: shop, headers: { accept: 'application/json' } })).status,
        200,
      )
      const exchanged = {
        grant_type: 'authorization_code',
        code: await codeOf(),
        redirect_uri: 'https://shop.example/cb',
      }
      assert.notEqual((await server.token(exchanged, { basic: shop })).status, 200)
      const old = await codeOf()
      await changeUser(server, 'marissa', { passwordRevision: 'new' })
      assert.equal(await visit(old, 'shop'), false)
    }),
  },
  {
    attack: 'signs a victim in with its own account by a hidden frame or image',
    outcome: 'is refused, and the session of the victim is kept',
    attempt: inBothModes(async api => {
      const { server } = api
      const form = { username: 'joel', password: 'wombat' }
      const victim = server.browser()
      await victim.signIn('marissa', 'koala')
      for (const path of ['/autologin', '/oauth/authorize']) {
        for (const destination of ['iframe', 'image', 'script', 'empty']) {
          const answer = await server.send('/autologin', { form, basic: ['shop', 'shop-secret'] })
          const query = { code: String(answer.json()['code']), client_id: 'shop', response_type: 'code' }
          await victim.send(path, { query, headers: { 'sec-fetch-dest': destination } })
          assert.match((await victim.send('/home')).text, /marissa/)
        }
      }
    }),
  },
]
