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

/** The outcomes of several wrong guesses, one after the other. */
async function guess(server: TestServer, times: number, username = 'marissa'): Promise<readonly unknown[]> {
  const answers: unknown[] = []
  for (let index = 0; index < times; index += 1)
    answers.push(reported(await attempt(server, `wrong-${index}`, username)))
  return answers
}

const UAA = { mode: 'uaa' } as const // which tells of a lock (C12)

describe('the lockout of an account', () => {
  // Covers POST /oauth/token grant_type=password: error: locked out
  it('comes with the fifth failure, and then refuses the right password too', () =>
    withServer(UAA, async server => {
      assert.deepEqual(
        await guess(server, 5),
        Array.from({ length: 5 }, () => BAD),
      )
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
    }))

  it('does not come with the fourth', () =>
    withServer(UAA, async server => {
      await guess(server, 4)
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  // Covers lockout: lockoutPeriodSeconds
  it('ends five minutes after the last counted failure, not before', () =>
    withServer(UAA, async server => {
      await guess(server, 5)
      server.clock.advance(299)
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
      server.clock.advance(1)
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  // Covers lockout: refused attempts do not prolong
  it('is not prolonged by attempts while it lasts', () =>
    withServer(UAA, async server => {
      await guess(server, 5)
      server.clock.advance(200)
      assert.deepEqual(await guess(server, 3), [LOCKED, LOCKED, LOCKED])
      server.clock.advance(100)
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  it('comes back with the first failure after it, while the old ones still count', () =>
    withServer(UAA, async server => {
      await guess(server, 5)
      server.clock.advance(300)
      assert.deepEqual(await guess(server, 2), [BAD, LOCKED])
    }))

  // Covers lockout: countFailuresWithin
  it('forgets failures that are twenty minutes old', () =>
    withServer(UAA, async server => {
      await guess(server, 4)
      server.clock.advance(1200)
      assert.deepEqual(await guess(server, 4), [BAD, BAD, BAD, BAD])
      assert.equal(reported(await attempt(server, 'koala')), 'tokens')
    }))

  // Covers lockout: success clears
  it('begins to count again after a success', () =>
    withServer(UAA, async server => {
      await guess(server, 4)
      await passwordTokens(server)
      assert.deepEqual(await guess(server, 5), [BAD, BAD, BAD, BAD, BAD])
    }))

  it('is of one account only', () =>
    withServer(UAA, async server => {
      await guess(server, 6)
      assert.equal(reported(await attempt(server, 'wombat', 'joel')), 'tokens')
    }))

  it('counts a name in any case as the same account', () =>
    withServer(UAA, async server => {
      for (const name of ['marissa', 'Marissa', 'MARISSA', 'mArissa', 'maRissa']) await guess(server, 1, name)
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
    }))

  // Covers configuration file: bootstrap.identity_providers[]: config.lockoutPolicy
  // Covers lockout: lockoutAfterFailures
  // Covers config of type uaa: lockoutPolicy.lockoutAfterFailures; lockoutPolicy.lockoutPeriodSeconds
  it('follows the policy of the provider', () =>
    withServer(
      { ...UAA, config: policy({ lockoutAfterFailures: 2, countFailuresWithin: 60, lockoutPeriodSeconds: 30 }) },
      async server => {
        assert.deepEqual(await guess(server, 3), [BAD, BAD, LOCKED])
        server.clock.advance(30)
        assert.equal(reported(await attempt(server, 'koala')), 'tokens')
      },
    ))

  // Covers config of type uaa: lockoutPolicy.countFailuresWithin
  it('counts failures only within the time of the policy', () =>
    withServer(
      { ...UAA, config: policy({ lockoutAfterFailures: 2, countFailuresWithin: 60, lockoutPeriodSeconds: 30 }) },
      async server => {
        await guess(server, 1)
        server.clock.advance(61)
        assert.deepEqual(await guess(server, 3), [BAD, BAD, LOCKED])
      },
    ))

  it('holds on the sign-in page as well, with the same count', () =>
    withServer(UAA, async server => {
      await guess(server, 3)
      const browser = server.browser()
      for (const password of ['a', 'b']) await browser.signIn('marissa', password)
      assert.equal(reported(await attempt(server, 'koala')), LOCKED)
    }))

  for (const count of [20, 60]) {
    it(`lets five of ${count} guesses through that are made at the same moment`, () =>
      withServer(UAA, async server => {
        const answers = await Promise.all(
          Array.from({ length: count }, (_, index) => attempt(server, `wrong-${index}`)),
        )
        assert.equal(answers.filter(answer => reported(answer) === BAD).length, 5)
        assert.equal(answers.filter(answer => reported(answer) === LOCKED).length, count - 5)
      }))
  }

  // Covers audit trail: UserAuthenticationFailure
  it('is reported once for each counted failure, and never with a password', () =>
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

describe('an unknown user', () => {
  for (const mode of MODES) {
    it(`is answered like a wrong password, byte for byte, ${mode}`, async () => {
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
  it('is recorded in the audit trail as a hash: the name may be a password in the wrong field', () =>
    withServer(UAA, async server => {
      await attempt(server, 'x', 'my-secret-password')
      const event = server.events.find(({ type }) => type === 'UserNotFound')
      assert.match(String(event?.principal), /^[A-Za-z0-9+/]{27}=$/)
      assert.doesNotMatch(JSON.stringify(server.events), /my-secret-password/)
    }))

  it('is never locked, which would reveal nothing', () =>
    withServer(UAA, async server => {
      assert.deepEqual(new Set(await guess(server, 8, 'nobody')), new Set([BAD]))
    }))
})

describe('a password hash of bcrypt', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server.stop())

  for (const prefix of ['', '{bcrypt}']) {
    // Covers password hashes: bcrypt accepted; bcrypt renewed at login
    it(`${prefix === '' ? 'without a prefix' : `with ${prefix}`} is accepted, becomes argon2id, and no token dies`, async () => {
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

  it('is left alone by a wrong password', async () => {
    const { hash } = await import('@node-rs/bcrypt')
    const imported = await hash('imported', 4)
    await changeUser(server, 'joel', { passwordHash: imported })
    await attempt(server, 'wrong', 'joel')
    assert.equal((await userNamed(server, 'joel')).passwordHash, imported)
  })

  it('that is none at all is refused like a wrong password', async () => {
    for (const passwordHash of ['', 'koala', '{noop}koala', '$2a$04$short']) {
      await changeUser(server, 'joel', { passwordHash })
      assert.equal(reported(await attempt(server, 'koala', 'joel')), BAD, passwordHash)
      await server.store.events.clearFailures('svc', (await userNamed(server, 'joel')).id)
    }
  })
})

describe('a right password after a wrong one', () => {
  it('is no failure, nor does it end the others of a user who must choose a new password', () =>
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

describe('a sign-in', () => {
  it('is remembered with its time, and the one before', () =>
    withServer(UAA, async server => {
      await passwordTokens(server)
      const first = server.clock.now()
      server.clock.advance(60)
      await passwordTokens(server)
      const { lastLogonAt, previousLogonAt } = await userNamed(server, 'marissa')
      assert.deepEqual([lastLogonAt, previousLogonAt], [server.clock.now(), first])
    }))

  // Covers audit trail: UserAuthenticationSuccess; IdentityProviderAuthenticationSuccess
  it('is reported with the user, the origin and the address', () =>
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
  it('that gives a token is reported with the client and the scopes', () =>
    withServer(UAA, async server => {
      const { scope } = await passwordTokens(server)
      const event = server.events.find(({ type }) => type === 'TokenIssuedEvent')
      assert.deepEqual([event?.clientId, event?.data], ['app', JSON.stringify(scope.split(' '))])
    }))

  // Covers audit line: clientId; authenticationType
  it('is reported with the client that wants it and the type of the provider, whether it succeeds or fails', () =>
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
  it('that fails is reported by the provider, for the user and for the name', () =>
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

  it('that fails is reported for the user also where the account has no password yet', () =>
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
  it('is reported as what it is when the account is not verified', () =>
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
