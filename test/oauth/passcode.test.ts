import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { addSeconds } from '../../src/base/clock.ts'
import { createRandom } from '../../src/base/random.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { newPasscode } from '../../src/model/users/passcode.ts'
import type { User } from '../../src/model/users/user.ts'
import { digest } from '../../src/base/secrets.ts'
import { signedIn } from '../support/authorize.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import {
  APP,
  AUTO,
  changeUser,
  MODES,
  refresh,
  refused,
  SERVICE,
  tokensOf,
  userNamed,
  verified,
} from '../support/oauth.ts'
import { serve } from '../support/process.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { send as sendTo, visit } from '../support/visitor.ts'

const client = (id: string, more: object) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: ['password', 'refresh_token'],
  scope: ['openid', 'cloud.*'],
  ...more,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('foreign', { allowedproviders: ['ldap'] }),
    client('strict', { required_user_groups: ['cloud.write'] }),
    client('open', { client_secret: '' }),
  ],
  users: [
    ...defaultBootstrap.users,
    { userName: 'federated', origin: 'corp', verified: false, emails: [{ value: 'federated@corp.example' }] },
  ],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone one',
      bootstrap: {
        clients: [client('app', { client_secret: 'app-secret' })],
        users: [{ userName: 'marissa', password: 'z1-koala', emails: [{ value: 'm@z1.example' }] }],
      },
    },
  ],
}
const Z1 = 'z1.localhost:8080'

/** A passcode as the user's browser receives it. */
async function passcodeOf(server: TestServer, password = 'koala', host?: string): Promise<string> {
  const browser = await signedIn(server, 'marissa', password, host)
  const answer = await browser.send('/passcode', { headers: { accept: 'application/json' } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<string>()
}

const redeem = (
  server: TestServer,
  passcode: string,
  { form = {}, ...request }: Omit<TestRequest, 'form'> & { form?: Readonly<Record<string, string>> } = {},
): Promise<TestAnswer> => server.token({ grant_type: 'password', passcode, ...form }, { basic: APP, ...request })

/** Another character of the alphabet of passcodes. */
const next = (character: string): string => (character === '7' ? '8' : '7')

const BASIC = 'Basic realm="SVC/client", error="unauthorized", error_description='
const INVALID = {
  want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
  description: 'Invalid passcode',
} as const
const MISSING = {
  want: { standard: '400 invalid_request', uaa: '401 unauthorized' },
  description: 'Passcode information is missing.',
} as const
const GONE = {
  want: { standard: '400 invalid_grant', uaa: '401 invalid_client' },
  description: 'Invalid user.',
} as const

for (const mode of MODES) {
  describe(`grant_type=password with a passcode in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())

    // Covers POST /oauth/token grant_type=password passcode: passcode; rule: no `auth_time` and amr (uaa)
    it('returns all tokens without approval, in uaa without auth_time and amr', async () => {
      const answer = await redeem(server, await passcodeOf(server))
      const tokens = tokensOf(answer)
      const words = tokens.scope.split(' ').toSorted()
      assert.deepEqual(
        words,
        mode === 'standard' ? ['cloud.read', 'email', 'openid', 'profile'] : ['cloud.read', 'openid', 'profile'],
      )
      const { id } = await userNamed(server, 'marissa')
      for (const token of [tokens.access_token, tokens.id_token]) {
        const { payload } = await verified(server, token)
        assert.equal(payload['grant_type'], 'password')
        assert.equal(payload.sub, id)
        for (const claim of ['auth_time', 'amr']) assert.equal(claim in payload, mode === 'standard', claim)
      }
      const again = tokensOf(await refresh(server, tokens.refresh_token))
      assert.deepEqual(again.scope.split(' ').toSorted(), words)
      assert.equal('auth_time' in (await verified(server, again.id_token)).payload, mode === 'standard')
    })

    it('supports credentials in the form, a client with an empty secret, scope and token_format', async () => {
      const inForm = await server.token({
        grant_type: 'password',
        passcode: await passcodeOf(server),
        client_id: 'app',
        client_secret: 'app-secret',
      })
      tokensOf(inForm)
      const form = { scope: 'openid', token_format: 'opaque' }
      const opaque = tokensOf(await redeem(server, await passcodeOf(server), { form, basic: ['open', ''] }))
      assert.equal(opaque.scope, 'openid')
      assert.match(opaque.access_token, /^\w+$/)
    })

    it('ignores user name and password, and an empty passcode with them', async () => {
      const others = { username: 'joel', password: 'wrong' }
      const tokens = tokensOf(await redeem(server, await passcodeOf(server), { form: others }))
      assert.equal((await verified(server, tokens.access_token)).payload['user_name'], 'marissa')
      const empty = await redeem(server, '', { form: { username: 'joel', password: 'wombat' } })
      assert.equal((await verified(server, tokensOf(empty).access_token)).payload['user_name'], 'joel')
    })

    const accepts: readonly (readonly [accept: string | undefined, uaa: boolean])[] = [
      [undefined, true],
      ['', true],
      ['application/json', true],
      ['Application/JSON; charset=utf-8', true],
      ['application/json, */*;q=0.5', true],
      ['application/x-www-form-urlencoded', true],
      ['*/*', false],
      ['*/*, application/json', false],
      ['text/html, application/json', false],
      ['application/*', false],
      ['application/jsonx', false],
    ]
    for (const [accept, uaa] of accepts) {
      it(`is ${uaa ? 'accepted' : 'accepted in standard, and ignored in uaa,'} with ${accept === undefined ? 'no Accept' : `Accept: ${accept}`} (C5)`, async () => {
        const passcode = await passcodeOf(server)
        const headers: Record<string, string> = accept === undefined ? {} : { accept }
        const sending = () => redeem(server, passcode, { headers })
        if (mode === 'standard' || uaa) return void tokensOf(await sending())
        await refused(server, mode, sending, { want: '401 invalid_client', description: 'No username supplied' })
        tokensOf(await redeem(server, passcode)) // the passcode is still valid
      })
    }

    it('is accepted once', async () => {
      const passcode = await passcodeOf(server)
      tokensOf(await redeem(server, passcode))
      for (const basic of [APP, AUTO]) await refused(server, mode, () => redeem(server, passcode, { basic }), INVALID)
    })

    // Covers token lifetime: passcode
    it('is valid for five minutes', async () => {
      const young = await passcodeOf(server)
      server.clock.advance(299)
      tokensOf(await redeem(server, young))
      const old = await passcodeOf(server)
      server.clock.advance(300)
      await refused(server, mode, () => redeem(server, old), INVALID)
      await refused(server, mode, () => redeem(server, old), INVALID)
    })

    it('is invalidated by a new one', async () => {
      const browser = await signedIn(server)
      const fetchOne = async (): Promise<string> =>
        (await browser.send('/passcode', { headers: { accept: 'application/json' } })).json<string>()
      const [first, second] = [await fetchOne(), await fetchOne()]
      await refused(server, mode, () => redeem(server, first), INVALID)
      tokensOf(await redeem(server, second))
    })

    const invalid = [
      // Covers POST /oauth/token grant_type=password passcode: error: wrong, used or expired
      { name: 'an unknown passcode', passcode: 'a'.repeat(32) },
      { name: 'one character', passcode: 'x' },
      { name: 'spaces', passcode: ' '.repeat(32) },
      { name: 'SQL', passcode: "' or 1=1 --" },
      { name: 'a lone surrogate', passcode: '\ud800' },
      { name: 'non-Latin letters', passcode: 'ж'.repeat(32) },
      { name: '60,000 characters', passcode: 'p'.repeat(60_000) },
      { name: 'the digest of a passcode', passcode: digest('x') },
    ]
    for (const { name, passcode } of invalid) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => redeem(server, passcode), {
          ...INVALID,
          challenge: mode === 'uaa' ? `${BASIC}"Invalid passcode"` : null,
        })
      })
    }

    it('refuses a truncated, padded or different passcode', async () => {
      const passcode = await passcodeOf(server)
      // UAA compares case and spaces; `standard` ignores them, because users type the code.
      const nearest =
        mode === 'uaa' ? [` ${passcode}`, passcode.replace(/[a-z]/i, other)] : [passcode.replace(/^./, next)]
      for (const near of [passcode.slice(1), `${passcode}a`, ...nearest]) {
        await refused(server, mode, () => redeem(server, near), INVALID)
      }
      tokensOf(await redeem(server, passcode))
    })

    // Covers POST /oauth/token grant_type=password passcode: error: empty
    it('refuses an empty passcode (C11)', async () => {
      const challenge = mode === 'uaa' ? `${BASIC}"Passcode information is missing."` : null
      await refused(server, mode, () => redeem(server, ''), { ...MISSING, challenge })
    })

    it('refuses a repeated passcode, in uaa the first one counts (A3)', async () => {
      const passcode = await passcodeOf(server)
      const answer = await server.send('/oauth/token', {
        form: `grant_type=password&passcode=${passcode}&passcode=${'b'.repeat(32)}`,
        basic: APP,
      })
      assert.equal(answer.status, mode === 'standard' ? 400 : 200)
      if (mode === 'standard') tokensOf(await redeem(server, passcode))
    })

    it('ignores a passcode in the query', async () => {
      const passcode = await passcodeOf(server)
      const query = { grant_type: 'password', passcode }
      assert.equal((await server.send('/oauth/token', { query, method: 'POST', form: '', basic: APP })).status, 406)
      assert.equal((await server.send('/oauth/token', { query, basic: APP })).status, 405)
      tokensOf(await redeem(server, passcode))
    })

    const notConsumed: readonly { name: string; request: Parameters<typeof redeem>[2]; status: number }[] = [
      { name: 'a client that fails to authenticate', request: { basic: ['app', 'wrong'] }, status: 401 },
      { name: 'a client without the grant', request: { basic: SERVICE }, status: 400 },
      { name: 'an invalid token_format', request: { form: { token_format: 'x' } }, status: 400 },
    ]
    for (const { name, request, status } of notConsumed) {
      it(`is not consumed by ${name}`, async () => {
        const passcode = await passcodeOf(server)
        assert.equal((await redeem(server, passcode, request)).status, status)
        tokensOf(await redeem(server, passcode))
      })
    }

    const consumed = [
      {
        name: 'a client that does not allow the provider',
        request: { basic: ['foreign', 'secret'] as const },
        want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
        description: "Client is not authorized for specified user's identity provider.",
      },
      {
        name: 'a user without a required group',
        request: { basic: ['strict', 'secret'] as const },
        want: '400 invalid_scope',
        description: "User does not meet the client's required group criteria.",
      },
      {
        name: 'a scope outside the client',
        request: { form: { scope: 'jobs.run' } },
        want: '400 invalid_scope',
        description: 'jobs.run is invalid. Please use a valid scope name in the request',
      },
    ] as const
    for (const { name, request, ...refusal } of consumed) {
      it(`refuses ${name}, and consumes the passcode`, async () => {
        const passcode = await passcodeOf(server)
        await refused(server, mode, () => redeem(server, passcode, request), refusal)
        await refused(server, mode, () => redeem(server, passcode), INVALID)
      })
    }

    it('is invalid in another zone', async () => {
      const ours = await passcodeOf(server)
      await refused(server, mode, () => redeem(server, ours, { host: Z1 }), INVALID)
      const theirs = await passcodeOf(server, 'z1-koala', Z1)
      await refused(server, mode, () => redeem(server, theirs), INVALID)
      tokensOf(await redeem(server, ours))
      tokensOf(await redeem(server, theirs, { host: Z1 }))
    })

    it('is accepted for an unverified user of a provider', async () => {
      const user = await server.store.users.findByName('svc', 'corp', 'federated')
      assert.ok(user && !user.verified)
      const tokens = tokensOf(await redeem(server, await issuedTo(user)))
      assert.equal((await verified(server, tokens.access_token)).payload['user_id'], user.id)
    })

    /** A passcode as a session of the user would issue it. */
    async function issuedTo({ id: userId, passwordRevision }: Pick<User, 'id'> & Partial<User>): Promise<string> {
      const zoneId = 'svc'
      const value = newPasscode(createRandom(), behaviourOf(mode))
      const expiresAt = addSeconds(server.clock.now(), 60)
      await server.store.oneTimeCodes.save(zoneId, {
        zoneId,
        purpose: 'passcode',
        userId,
        ...(passwordRevision && { passwordRevision }),
        codeDigest: digest(value),
        expiresAt,
      })
      return value
    }

    // Covers POST /oauth/token grant_type=password passcode: error: user gone
    it('refuses a deleted user', async () => {
      const value = await issuedTo({ id: 'nobody' })
      await refused(server, mode, () => redeem(server, value), {
        ...GONE,
        challenge: mode === 'uaa' ? `${BASIC}"Bad credentials"` : null,
      })
    })

    const changes = [
      { name: 'was deactivated', change: { active: false }, back: { active: true }, ...GONE },
      {
        name: 'became unverified',
        change: { verified: false },
        back: { verified: true },
        want: { standard: '400 invalid_grant', uaa: '403 access_denied' },
        description: 'Account not verified',
      },
      {
        name: 'has a pending password change',
        change: { passwordChangeRequired: true },
        back: { passwordChangeRequired: false },
        want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
        description: 'password change required',
      },
    ] as const
    for (const { name, change, back, ...refusal } of changes) {
      it(`refuses a user who ${name}`, async () => {
        const passcode = await passcodeOf(server)
        await changeUser(server, 'marissa', change)
        await refused(server, mode, () => redeem(server, passcode), refusal)
        await changeUser(server, 'marissa', back)
        await refused(server, mode, () => redeem(server, passcode), INVALID)
      })
    }

    it('is invalidated by a password change', async () => {
      const passcode = await passcodeOf(server)
      server.clock.advance(-60) // set back, so that the change seems older than the code
      await changeUser(server, 'marissa', { passwordRevision: 'next', passwordChangedAt: server.clock.now() })
      await refused(server, mode, () => redeem(server, passcode), INVALID)
      tokensOf(await redeem(server, await passcodeOf(server)))
    })

    it('is recorded in the audit trail without its value', async () => {
      const passcode = await passcodeOf(server)
      const { id } = await userNamed(server, 'marissa')
      const from = server.events.length
      tokensOf(await redeem(server, passcode))
      await redeem(server, passcode)
      const events = server.events.slice(from).filter(({ type }) => /^(?:User|Principal)/.test(type))
      assert.deepEqual(
        events.map(({ type, principal, clientId, zoneId, data }) => [type, principal, clientId, zoneId, data]),
        [
          ['UserAuthenticationSuccess', id, 'app', 'svc', 'passcode'],
          ['PrincipalAuthenticationFailure', 'app', 'app', 'svc', 'passcode'],
        ],
      )
      assert.ok(!JSON.stringify(server.events).includes(passcode))
    })

    it('answers 429 after 100 wrong passcodes of a client, without consuming the right one', async () => {
      const passcode = await passcodeOf(server)
      server.clock.advance(60)
      for (let index = 0; index < 100; index += 1) await redeem(server, 'wrong')
      const answer = await redeem(server, passcode)
      assert.equal(answer.status, 429)
      assert.deepEqual(Object.keys(answer.json()), ['error', 'error_description'])
      assert.equal(answer.headers['retry-after'], '60')
      await refused(server, mode, () => redeem(server, 'wrong', { basic: AUTO }), INVALID)
      server.clock.advance(60)
      tokensOf(await redeem(server, passcode))
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

describe('Passcode with GET /oauth/token enabled (C5)', () => {
  it('is refused without being consumed', async () => {
    const config = { bootstrap, jwt: { token: { queryString: { enabled: true } } } }
    const server = await startServer({ mode: 'uaa', config })
    try {
      const passcode = await passcodeOf(server)
      const query = { grant_type: 'password', passcode }
      await refused(server, 'uaa', () => server.send('/oauth/token', { query, basic: APP }), {
        want: '401 unauthorized',
        description: 'Credentials must be sent by (one of methods): [POST]',
      })
      tokensOf(await redeem(server, passcode))
    } finally {
      await server.stop()
    }
  })
})

/** The same letter in the other case. */
const other = (letter: string): string =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()

for (const kind of DATABASE_KINDS) {
  describe(`Passcode on ${kind}`, () => {
    let database: TestDatabase
    before(async () => (database = await freshDatabase(kind)))
    after(() => database.drop())

    it('is accepted once by 20 concurrent requests to two servers', async () => {
      const first = await startServer({ database: database.url })
      const second = await startServer({ database: database.url, clock: first.clock })
      try {
        for (let round = 0; round < 3; round += 1) {
          const passcode = await passcodeOf(first)
          const answers = await Promise.all(
            Array.from({ length: 20 }, (_, index) => redeem(index % 2 === 0 ? first : second, passcode)),
          )
          const results = answers.map(answer => answer.json<{ error?: string }>().error ?? 'tokens').toSorted()
          assert.deepEqual(results, [...Array.from({ length: 19 }, () => 'invalid_grant'), 'tokens'])
        }
        assert.deepEqual([...first.faults, ...second.faults], [])
      } finally {
        await second.stop()
        await first.stop()
      }
    })
  })

  it(`is accepted once by requests to two processes on ${kind}`, async () => {
    const database = await freshDatabase(kind)
    const config = { database: database.url, master_key: '07'.repeat(32), bootstrap: defaultBootstrap }
    const processes = [await serve({ config }), await serve({ config })]
    try {
      const [first] = processes
      assert.ok(first)
      const visitor = visit(first.baseUrl)
      await visitor.signIn('marissa', 'koala')
      const passcode: unknown = JSON.parse(
        (await visitor.send('/passcode', { headers: { accept: 'application/json' } })).text,
      )
      assert.ok(typeof passcode === 'string')
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          sendTo(`${(processes[index % 2] ?? first).baseUrl}/oauth/token`, {
            form: { grant_type: 'password', passcode },
            basic: APP,
          }),
        ),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, ...Array.from({ length: 9 }, () => 400)],
      )
    } finally {
      for (const each of processes) await each.stop()
      await database.drop()
    }
  })
}
