import assert from 'node:assert/strict'
import { authorizeBootstrap, signedIn, Z1_HOST } from '../support/authorize.ts'
import { userNamed } from '../support/oauth.ts'
import { createTestClock } from '../support/clock.ts'
import { freshDatabase } from '../support/databases.ts'
import type { Credential } from '../support/authenticator.ts'
import { givePasskey, signInWithPasskey } from '../support/passkeys.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** Runs the attempt against a server with a second zone. */
async function onServer(attempt: (server: TestServer) => Promise<void>): Promise<void> {
  const writer = {
    client_id: 'people-writer',
    client_secret: 'people-secret',
    authorized_grant_types: ['client_credentials'],
    authorities: ['scim.write'],
  }
  const clients = [...authorizeBootstrap.clients, writer]
  const server = await startServer({ config: { bootstrap: { ...authorizeBootstrap, clients } } })
  try {
    await attempt(server)
  } finally {
    await server.stop()
  }
}

const post = (browser: Browser, path: string, form: Readonly<Record<string, string>>): Promise<TestAnswer> =>
  browser.send(path, { form: { 'X-Svc-Csrf': browser.csrf, ...form } })

/** The session handles on a page. */
const handlesOn = (page: string): readonly string[] =>
  [...page.matchAll(/name="session" value="([^"]+)"/g)].map(([, handle = '']) => handle)

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

/** Attacks on the profile and sessions of other users. */
export const accountAttacks: readonly Attack[] = [
  {
    attack: 'creates an account with a passkey before the configuration makes it an administrator',
    outcome: 'the passkey is removed when the configuration adopts the account, and later ones are kept',
    async attempt() {
      const database = await freshDatabase('sqlite')
      const boss = { userName: 'boss', emails: [{ value: 'boss@example.org' }], groups: ['svc.admin'] }
      const clock = createTestClock()
      /** Runs the attempt with the user in the configuration, or without. */
      const during = async (
        more: object | undefined,
        attempt: (server: TestServer) => Promise<void>,
      ): Promise<void> => {
        const users = [...defaultBootstrap.users, ...(more ? [{ ...boss, ...more }] : [])]
        const config = { bootstrap: { ...defaultBootstrap, users } }
        const server = await startServer({ database: database.url, clock, config })
        await attempt(server)
        await server.stop()
      }
      /** An account of the name with a password and a passkey of the attacker. */
      const prepare = async (server: TestServer): Promise<Credential> => {
        const other = await userNamed(server, 'marissa')
        await server.store.users.insert('svc', { ...other, id: `boss-${clock.now().getTime()}`, userName: 'boss' })
        return givePasskey(server, await userNamed(server, 'boss'))
      }
      const entersBy = async (server: TestServer, credential: Credential): Promise<boolean> => {
        const browser = server.browser()
        await signInWithPasskey(server, browser, { credential })
        return isSignedIn(browser)
      }
      const [first, second, third] = ['of the boss, 1', 'of the boss, 2', 'of the boss, 3'].map(password => ({
        password,
      }))
      const known: { evil?: Credential; own?: Credential } = {}
      await during(undefined, async server => void (known.evil = await prepare(server)))
      await during(first, async server => {
        assert.equal(await entersBy(server, known.evil ?? assert.fail()), false)
        known.own = await givePasskey(server, await userNamed(server, 'boss'))
      })
      await during(second, async server => {
        assert.equal(await entersBy(server, known.own ?? assert.fail()), true)
        await server.store.users.delete('svc', (await userNamed(server, 'boss')).id)
        clock.advance(1)
        known.evil = await prepare(server)
      })
      await during(third, async server => assert.equal(await entersBy(server, known.evil ?? assert.fail()), false))
      await database.drop()
    },
  },
  {
    attack: 'ends the session of another user, or of the same name in another zone, by its handle',
    outcome: 'handles are looked up among the sessions of the caller',
    attempt: () =>
      onServer(async server => {
        const [here, there] = [await signedIn(server), await signedIn(server)]
        const [handle = ''] = handlesOn((await here.send('/profile')).text)
        assert.notEqual(handle, '')
        const strangers = [
          await signedIn(server, 'joel', 'wombat'),
          await signedIn(server, 'marissa', 'z1-koala', Z1_HOST),
        ]
        for (const stranger of strangers) {
          const answer = await post(stranger, '/profile/sessions', { session: handle })
          assert.match(String(answer.headers['location']), /error_message_code=session\.unknown$/)
          await post(stranger, '/profile/sessions', { others: 'true' })
        }
        assert.ok((await isSignedIn(here)) && (await isSignedIn(there)))
      }),
  },
  {
    attack: 'posts a new name from a signed-in browser without a valid anti-forgery value',
    outcome: 'refused, and nothing is changed',
    attempt: () =>
      onServer(async server => {
        const victim = await signedIn(server)
        const attacker = await signedIn(server, 'joel', 'wombat')
        for (const path of ['/profile', '/profile/details', '/profile/sessions']) {
          for (const csrf of ['', attacker.csrf]) {
            const form = { givenName: 'Eve', others: 'true', 'X-Svc-Csrf': csrf }
            assert.equal((await victim.send(path, { form, headers: { origin: 'https://evil.example' } })).status, 403)
          }
        }
        assert.equal((await userNamed(server, 'marissa')).givenName, 'Marissa')
      }),
  },
  {
    attack: 'puts markup into names, user agents and messages of the profile',
    outcome: 'it is escaped',
    attempt: () =>
      onServer(async server => {
        const markup = `"><script>alert(1)</script><img src=x onerror='alert(1)'>`
        const victim = await signedIn(server)
        await post(victim, '/profile/details', { givenName: markup, familyName: markup, displayName: markup })
        const form = { grant_type: 'password', username: 'marissa', password: 'wrong' }
        const headers = { 'user-agent': `${markup} Firefox/1`, 'x-forwarded-for': markup }
        await server.token(form, { basic: ['app', 'app-secret'], headers })
        const page = (await victim.send(`/profile?error_message_code=${encodeURIComponent(markup)}`)).text
        assert.match(page, /value="&quot;&gt;&lt;script&gt;/)
        assert.doesNotMatch(page, /<script>|<img src=x/)
      }),
  },
  {
    attack: 'posts a huge name, another user id or rights with the profile form',
    outcome: 'the name is refused, and the rest is ignored',
    attempt: () =>
      onServer(async server => {
        const joel = await signedIn(server, 'joel', 'wombat')
        const { id } = await userNamed(server, 'marissa')
        const huge = await post(joel, '/profile/details', { givenName: 'x'.repeat(3000) })
        assert.match(String(huge.headers['location']), /details\.invalid$/)
        assert.ok((await post(joel, '/profile/details', { givenName: 'x'.repeat(3_000_000) })).status >= 400)
        const form = {
          id,
          userName: 'root',
          email: 'marissa@example.org',
          verified: 'true',
          groups: 'svc.admin',
          givenName: 'Joel',
        }
        await post(joel, '/profile/details', form)
        const [marissa, changed] = [await userNamed(server, 'marissa'), await userNamed(server, 'joel')]
        assert.equal(marissa.givenName, 'Marissa')
        assert.deepEqual([changed.givenName, changed.email], ['Joel', 'joel@example.org'])
      }),
  },
  {
    attack: 'fails to sign in a hundred times, to push out the events that the owner should see',
    outcome: 'failed sign-ins are limited separately, and displace only each other',
    attempt: () =>
      onServer(async server => {
        const victim = await signedIn(server)
        await post(victim, '/profile/details', { givenName: 'Ann' })
        for (let each = 0; each < 100; each += 1) {
          const form = { grant_type: 'password', username: 'marissa', password: `guess ${each}` }
          await server.token(form, { basic: ['app', 'app-secret'] })
        }
        const page = (await victim.send('/profile')).text
        assert.ok((page.match(/<li class="sign-in-failed">/g)?.length ?? 0) <= 10)
        assert.equal(page.match(/<li class="details-changed">/g)?.length, 1)
        assert.equal(page.match(/<li class="signed-in">/g)?.length, 1)
      }),
  },
  {
    attack: 'reads the address of the administrator who changed the account',
    outcome: 'the profile shows only that another user changed it',
    attempt: () =>
      onServer(async server => {
        const { id } = await userNamed(server, 'marissa')
        const basic = ['people-writer', 'people-secret'] as const
        const token = (await server.token({ grant_type: 'client_credentials' }, { basic })).json<{
          access_token: string
        }>()
        const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/1' }
        const ended = { method: 'DELETE', bearer: token.access_token, headers }
        assert.equal((await server.send(`/Users/${id}/sessions`, ended)).status, 204)
        const page = (await (await signedIn(server)).send('/profile')).text
        const [, event = ''] = /<li class="sessions-ended">(.*?)<\/li>/s.exec(page) ?? []
        assert.match(event, /<p>by an administrator or an application<\/p>/)
        assert.doesNotMatch(event, /127\.0\.0\.1|Firefox|people-writer/)
      }),
  },
  {
    attack:
      'uses the open session of a victim, and guesses the password by changing it, many times at the same instant',
    outcome: 'the guesses are serialized, and the sixth is locked out',
    attempt: () =>
      onServer(async server => {
        const browser = await signedIn(server)
        await browser.send('/change_password')
        const chosen = { new_password: 'a sea of green glass', confirm_password: 'a sea of green glass' }
        const guesses = ['1', '2', '3', '4', '5', '6', 'koala']
        const answers = await Promise.all(
          guesses.map(guess => post(browser, '/change_password.do', { current_password: guess, ...chosen })),
        )
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([422]))
        const { length } = server.events.filter(({ type }) => type === 'PasswordChangeSuccess')
        assert.equal(length, 0)
      }),
  },
]
