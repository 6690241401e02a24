import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap, withServer } from '../support/server.ts'
import { linkTo, signUpWith } from '../support/self-service.ts'
import { APP, changeUser, isAlive, MODES, passwordTokens, refresh, tokensOf, userNamed } from '../support/oauth.ts'

const policy = (lockoutPolicy: object) => ({
  bootstrap: {
    ...defaultBootstrap,
    identity_providers: [{ originKey: 'svc', type: 'svc', name: 'svc', config: { lockoutPolicy } }],
  },
})

const LOCKED = 'Your account has been locked because of too many failed attempts to login.'
const BAD = 'Bad credentials'

const attempt = (server: TestServer, password: string, username = 'marissa'): Promise<TestAnswer> =>
  server.token({ grant_type: 'password', username, password }, { basic: APP })
const reported = (answer: TestAnswer): unknown =>
  answer.status === 200 ? 'tokens' : answer.json()['error_description']

/** The results of sequential sign-ins with wrong passwords. */
async function guess(server: TestServer, times: number, username = 'marissa'): Promise<readonly unknown[]> {
  const answers: unknown[] = []
  for (let index = 0; index < times; index += 1)
    answers.push(reported(await attempt(server, `wrong-${index}`, username)))
  return answers
}

const UAA = { mode: 'uaa' } as const // it reveals that an account is locked (C12)

describe('Account lockout', () => {
  // Covers POST /oauth/token grant_type=password: error: locked out
  it('locks after the fifth failure, for the correct password too', () =>
    withServer(UAA, async server => {
      assert.deepEqual(
        await guess(server, 5),
        Array.from({ length: 5 }, () => BAD),
      )
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
    }))

  it('does not lock after the fourth failure', () =>
    withServer(UAA, async server => {
      await guess(server, 4)
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  // Covers lockout: lockoutPeriodSeconds
  it('ends five minutes after the last counted failure', () =>
    withServer(UAA, async server => {
      await guess(server, 5)
      server.clock.advance(299)
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
      server.clock.advance(1)
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  // Covers lockout: refused attempts do not prolong
  it('is not extended by attempts during the lock', () =>
    withServer(UAA, async server => {
      await guess(server, 5)
      server.clock.advance(200)
      assert.deepEqual(await guess(server, 3), [LOCKED, LOCKED, LOCKED])
      server.clock.advance(100)
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  it('locks again after one more failure while the old ones count', () =>
    withServer(UAA, async server => {
      await guess(server, 5)
      server.clock.advance(300)
      assert.deepEqual(await guess(server, 2), [BAD, LOCKED])
    }))

  // Covers lockout: countFailuresWithin
  it('ignores failures older than twenty minutes', () =>
    withServer(UAA, async server => {
      await guess(server, 4)
      server.clock.advance(1200)
      assert.deepEqual(await guess(server, 4), [BAD, BAD, BAD, BAD])
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  // Covers lockout: success clears
  it('resets the count on a successful sign-in', () =>
    withServer(UAA, async server => {
      await guess(server, 4)
      await passwordTokens(server)
      assert.deepEqual(await guess(server, 5), [BAD, BAD, BAD, BAD, BAD])
    }))

  it('does not affect other accounts', () =>
    withServer(UAA, async server => {
      await guess(server, 6)
      assert.equal(reported(await attempt(server, 'wombat', 'joel')), 'tokens')
    }))

  it('counts user names case-insensitively', () =>
    withServer(UAA, async server => {
      for (const name of ['marissa', 'Marissa', 'MARISSA', 'mArissa', 'maRissa']) await guess(server, 1, name)
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
    }))

  // Covers configuration file: bootstrap.identity_providers[]: config.lockoutPolicy
  // Covers lockout: lockoutAfterFailures
  // Covers config of type uaa: lockoutPolicy.lockoutAfterFailures; lockoutPolicy.lockoutPeriodSeconds
  it('uses the lockout policy of the provider', () =>
    withServer(
      { ...UAA, config: policy({ lockoutAfterFailures: 2, countFailuresWithin: 60, lockoutPeriodSeconds: 30 }) },
      async server => {
        assert.deepEqual(await guess(server, 3), [BAD, BAD, LOCKED])
        server.clock.advance(30)
        assert.equal(reported(await attempt(server, 'koala')), 'tokens')
      },
    ))

  // Covers config of type uaa: lockoutPolicy.countFailuresWithin
  it('counts failures only within countFailuresWithin', () =>
    withServer(
      { ...UAA, config: policy({ lockoutAfterFailures: 2, countFailuresWithin: 60, lockoutPeriodSeconds: 30 }) },
      async server => {
        await guess(server, 1)
        server.clock.advance(61)
        assert.deepEqual(await guess(server, 3), [BAD, BAD, LOCKED])
      },
    ))

  it('shares the count between the sign-in page and the token endpoint', () =>
    withServer(UAA, async server => {
      await guess(server, 3)
      const browser = server.browser()
      for (const password of ['a', 'b']) await browser.signIn('marissa', password)
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
    }))

  for (const count of [20, 60]) {
    it(`checks only five of ${count} concurrent guesses`, () =>
      withServer(UAA, async server => {
        const answers = await Promise.all(
          Array.from({ length: count }, (_, index) => attempt(server, `wrong-${index}`)),
        )
        assert.equal(answers.filter(answer => reported(answer) === BAD).length, 5)
        assert.equal(answers.filter(answer => reported(answer) === LOCKED).length, count - 5)
      }))
  }

  // Covers audit trail: UserAuthenticationFailure
  it('audits each counted failure once, without the password', () =>
    withServer(UAA, async server => {
      await guess(server, 7)
      const failures = server.events.filter(({ type }) => type === 'UserAuthenticationFailure')
      const { id } = await userNamed(server, 'marissa')
      assert.deepEqual(
        failures.map(({ principal }) => principal),
        Array.from({ length: 5 }, () => id),
      )
      assert.doesNotMatch(JSON.stringify(server.events), /wrong-/)
    }))
})

describe('Unknown users', () => {
  for (const mode of MODES) {
    it(`get the same response as a wrong password in ${mode}`, async () => {
      const server = await startServer({ mode })
      try {
        const answers = await Promise.all([attempt(server, 'wrong'), attempt(server, 'wrong', 'nobody')])
        const [known, unknown] = answers.map(({ status, text, headers }) => ({
          status,
          text,
          headers: { ...headers, date: undefined },
        }))
        assert.deepEqual(unknown, known)
      } finally {
        await server.stop()
      }
    })
  }

  // Covers audit trail: UserNotFound
  it('are audited by a hash of the name, which may be a mistyped password', () =>
    withServer(UAA, async server => {
      await attempt(server, 'x', 'my-secret-password')
      const event = server.events.find(({ type }) => type === 'UserNotFound')
      assert.match(String(event?.principal), /^[A-Za-z0-9+/]{27}=$/)
      assert.doesNotMatch(JSON.stringify(server.events), /my-secret-password/)
    }))

  it('are never locked', () =>
    withServer(UAA, async server => {
      assert.deepEqual(new Set(await guess(server, 8, 'nobody')), new Set([BAD]))
    }))
})

describe('bcrypt password hashes', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server.stop())

  for (const prefix of ['', '{bcrypt}']) {
    // Covers password hashes: bcrypt accepted; bcrypt renewed at login
    it(`${prefix === '' ? 'without a prefix' : `with ${prefix}`} are replaced by argon2id on sign-in, and tokens stay valid`, async () => {
      const { hash } = await import('@node-rs/bcrypt')
      await changeUser(server, 'marissa', {
        passwordHash: `${prefix}${await hash('imported', 4)}`,
        passwordRevision: `imported ${prefix}`,
      })
      const first = await passwordTokens(server, { password: 'imported' })
      const renewed = await userNamed(server, 'marissa')
      assert.match(String(renewed.passwordHash), /^\$argon2id\$v=19\$/)
      assert.equal(renewed.passwordRevision, `imported ${prefix}`)
      const second = await passwordTokens(server, { password: 'imported' })
      assert.equal(decodeJwt(second.access_token)['rev_sig'], decodeJwt(first.access_token)['rev_sig'])
      assert.ok(await isAlive(server, first.access_token))
      tokensOf(await refresh(server, first.refresh_token))
    })
  }

  it('are kept after a wrong password', async () => {
    const { hash } = await import('@node-rs/bcrypt')
    const imported = await hash('imported', 4)
    await changeUser(server, 'joel', { passwordHash: imported })
    await attempt(server, 'wrong', 'joel')
    assert.equal((await userNamed(server, 'joel')).passwordHash, imported)
  })

  it('are refused like a wrong password if malformed', async () => {
    for (const passwordHash of ['', 'koala', '{noop}koala', '$2a$04$short']) {
      await changeUser(server, 'joel', { passwordHash })
      assert.equal(reported(await attempt(server, 'koala', 'joel')), BAD, passwordHash)
      await server.store.events.clearFailures('svc', (await userNamed(server, 'joel')).id)
    }
  })
})

describe('A correct password after a wrong one', () => {
  it('does not clear failures while a password change is pending', () =>
    withServer(UAA, async server => {
      const { id } = await userNamed(server, 'joel')
      const failures = () => server.store.events.failures('svc', id, new Date(0))
      await attempt(server, 'wrong', 'joel')
      await changeUser(server, 'joel', { passwordChangeRequired: true })
      await attempt(server, 'wombat', 'joel')
      assert.equal((await failures()).length, 1)
      await changeUser(server, 'joel', { passwordChangeRequired: false })
      assert.ok(tokensOf(await attempt(server, 'wombat', 'joel')))
      assert.deepEqual(await failures(), [])
    }))
})

describe('Sign-in', () => {
  it('stores the times of the last and the previous sign-in', () =>
    withServer(UAA, async server => {
      await passwordTokens(server)
      const first = server.clock.now()
      server.clock.advance(60)
      await passwordTokens(server)
      const { lastLogonAt, previousLogonAt } = await userNamed(server, 'marissa')
      assert.deepEqual([lastLogonAt, previousLogonAt], [server.clock.now(), first])
    }))

  // Covers audit trail: UserAuthenticationSuccess; IdentityProviderAuthenticationSuccess
  it('audits success with user, origin and remote address', () =>
    withServer(UAA, async server => {
      await passwordTokens(server)
      const { id } = await userNamed(server, 'marissa')
      assert.deepEqual(
        server.events
          .filter(({ principal }) => principal === id)
          .map(({ type, origin, remoteAddress }) => [type, origin, remoteAddress]),
        [
          ['IdentityProviderAuthenticationSuccess', 'svc', '127.0.0.1'],
          ['UserAuthenticationSuccess', 'svc', '127.0.0.1'],
          ['TokenIssuedEvent', undefined, '127.0.0.1'],
        ],
      )
    }))

  // Covers audit trail: TokenIssuedEvent
  // Covers audit line: data
  it('audits issued tokens with client and scopes', () =>
    withServer(UAA, async server => {
      const { scope } = await passwordTokens(server)
      const event = server.events.find(({ type }) => type === 'TokenIssuedEvent')
      assert.deepEqual([event?.clientId, event?.data], ['app', JSON.stringify(scope.split(' '))])
    }))

  // Covers audit line: clientId; authenticationType
  it('audits success and failure with client and provider type', () =>
    withServer(UAA, async server => {
      const reported = (from: number) =>
        server.events
          .slice(from)
          .filter(({ origin }) => origin !== undefined)
          .map(({ type, clientId, authenticationType }) => [type, clientId, authenticationType])
      await passwordTokens(server)
      assert.deepEqual(reported(0), [
        ['IdentityProviderAuthenticationSuccess', 'app', 'svc'],
        ['UserAuthenticationSuccess', 'app', 'svc'],
      ])
      const before = server.events.length
      await attempt(server, 'wrong')
      assert.deepEqual(reported(before), [
        ['IdentityProviderAuthenticationFailure', 'app', 'svc'],
        ['UserAuthenticationFailure', 'app', 'svc'],
        ['PrincipalAuthenticationFailure', 'app', 'svc'],
      ])
      const page = server.events.length
      await server.browser().signIn('marissa', 'koala')
      assert.deepEqual(reported(page), [
        ['IdentityProviderAuthenticationSuccess', undefined, 'svc'],
        ['UserAuthenticationSuccess', undefined, 'svc'],
      ])
    }))

  // Covers audit trail: IdentityProviderAuthenticationFailure; PrincipalAuthenticationFailure
  // Covers audit line: identityZoneId
  it('audits failure for provider, user and principal', () =>
    withServer(UAA, async server => {
      await attempt(server, 'wrong')
      const { id } = await userNamed(server, 'marissa')
      assert.deepEqual(
        server.events
          .filter(({ origin }) => origin === 'svc')
          .map(({ type, principal, zoneId, remoteAddress }) => [type, principal, zoneId, remoteAddress]),
        [
          ['IdentityProviderAuthenticationFailure', id, 'svc', '127.0.0.1'],
          ['UserAuthenticationFailure', id, 'svc', '127.0.0.1'],
          ['PrincipalAuthenticationFailure', id, 'svc', '127.0.0.1'],
        ],
      )
    }))

  it('audits failure of a user without a password', () =>
    withServer({}, async server => {
      const name = 'new@shop.example'
      await signUpWith(server.browser(), name)
      await linkTo(server, name)
      const { id } = await userNamed(server, name)
      const before = server.events.length
      await attempt(server, 'wrong', name)
      assert.deepEqual(
        server.events.slice(before).flatMap(({ type, principal }) => (principal === id ? [type] : [])),
        ['IdentityProviderAuthenticationFailure', 'UserAuthenticationFailure', 'PrincipalAuthenticationFailure'],
      )
    }))

  // Covers audit trail: UnverifiedUserAuthentication
  it('audits an unverified account as UnverifiedUserAuthentication', () =>
    withServer(UAA, async server => {
      await changeUser(server, 'marissa', { verified: false })
      await attempt(server, 'koala')
      const { id } = await userNamed(server, 'marissa')
      const events = server.events.filter(({ principal }) => principal === id)
      assert.deepEqual(
        events.map(({ type }) => type),
        ['UnverifiedUserAuthentication'],
      )
    }))
})
