import assert from 'node:assert/strict'
import { createTestClock } from '../support/clock.ts'
import type { Github } from '../support/github.ts'
import { githubRecord, OCTOCAT, startGithub } from '../support/github.ts'
import { MODES } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** A server whose users come from an OAuth 2.0 provider, with the origin `github` or its twin. */
interface Scene {
  readonly server: TestServer
  readonly github: Github
  /** Sends a browser to the provider; returns where it is now. */
  readonly leave: (browser: Browser, origin?: string) => Promise<URL>
  /** Signs in as the user; returns the id of the account, or undefined. */
  readonly signIn: (person: unknown, origin?: string) => Promise<string | undefined>
}

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

/** Runs the attack in both modes. */
const inBothModes = (play: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const github = await startGithub()
    const identityProviders = ['github', 'twin'].map(origin => githubRecord(github, {}, origin))
    const bootstrap = { ...defaultBootstrap, identity_providers: identityProviders }
    const server = await startServer({ mode, clock: createTestClock(), config: { bootstrap } })
    const leave: Scene['leave'] = async (browser, origin = 'github') =>
      (await browser.send(`/login/external/${origin}`)).location()
    try {
      await play({
        server,
        github,
        leave,
        async signIn(person, origin = 'github') {
          github.person = person
          const browser = server.browser()
          const query = github.agree(await leave(browser, origin))
          await browser.send(`/login/callback/${origin}`, { query })
          if (!(await isSignedIn(browser))) return undefined
          return server.events.findLast(({ type }) => type === 'UserAuthenticationSuccess')?.principal
        },
      })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
      await github.stop()
    }
  }
}

/** The victim signs in, then each attacker; asserts that none gets the account of the victim. */
const unlike = (victim: object, attackers: readonly unknown[]): (() => Promise<void>) =>
  inBothModes(async ({ signIn }) => {
    const account = await signIn(victim)
    assert.ok(account !== undefined)
    for (const attacker of attackers) assert.notEqual(await signIn(attacker), account, JSON.stringify(attacker))
    assert.equal(await signIn(victim), account)
  })

const refused = async (browser: Browser, answer: TestAnswer): Promise<void> => {
  assert.ok([302, 400, 502].includes(answer.status), answer.text)
  assert.equal(await isSignedIn(browser), false)
}

const asked = (github: Github, path: string): number => github.requests.filter(each => each.path === path).length

/** Attacks on sign-in by OAuth 2.0, which has no ID token: only the code flow and the user id identify a user. */
export const oauth2Attacks: readonly Attack[] = [
  {
    attack: 'takes the former user name of the victim at the provider',
    outcome: 'gets an account of their own with another name',
    attempt: unlike(OCTOCAT, [{ ...OCTOCAT, id: 666 }]),
  },
  {
    attack: 'has an identifier that is numerically equal to the victim’s, but another string',
    outcome: 'does not get the account',
    attempt: unlike(
      OCTOCAT,
      ['0583231', '583231.0', ' 583231', '583231 ', '5.83231e5', '+583231', '５８３２３１', 583_231.5, -583_231].map(
        id => ({ ...OCTOCAT, id }),
      ),
    ),
  },
  {
    attack: 'adds the victim’s id to their profile as sub',
    outcome: 'is refused, because sub and id differ',
    attempt: unlike(OCTOCAT, [
      { ...OCTOCAT, id: 666, sub: '583231' },
      { ...OCTOCAT, id: 666, sub: 583_231 },
    ]),
  },
  {
    attack: 'has no identifier, but the victim’s name and email address',
    outcome: 'is refused',
    attempt: unlike({ ...OCTOCAT, email: 'mona@git.example', email_verified: true }, [
      { login: 'octocat', email: 'mona@git.example', email_verified: true },
      { id: null, sub: null, login: 'octocat', email: 'mona@git.example', email_verified: true },
    ]),
  },
  {
    attack: 'has an id above 2^53, which JavaScript numbers cannot represent exactly',
    outcome: 'signs nobody in; 1, "1" and 1.0 are the same id',
    attempt: inBothModes(async ({ github, signIn }) => {
      for (const id of ['9007199254740992', '9007199254740993']) {
        github.answers.user = { body: `{"login":"x","id":${id}}` }
        assert.equal(await signIn(undefined), undefined)
      }
      const accounts = new Set<string | undefined>()
      for (const id of ['1', '"1"', '1.0', '1e0']) {
        github.answers.user = { body: `{"login":"one","id":${id}}` }
        accounts.add(await signIn(undefined))
      }
      assert.equal(accounts.size, 1)
      assert.ok(!accounts.has(undefined))
    }),
  },
  {
    attack: 'submits an access token of another client of the provider, with their own state',
    outcome: 'signs nobody in, and does not query userinfo',
    attempt: inBothModes(async ({ server, github, leave }) => {
      for (const token of ['access_token', 'id_token', 'signed_request']) {
        for (const how of ['query', 'form'] as const) {
          const browser = server.browser()
          const { state } = github.agree(await leave(browser))
          const fields = { state, [token]: 'gho_of-another-client', token_type: 'bearer' }
          let answer = await browser.send('/login/callback/github', { [how]: fields })
          // The form is redirected once, without unused fields.
          if (answer.status === 303) answer = await browser.send(answer.location().pathname + answer.location().search)
          await refused(browser, answer)
        }
      }
      assert.equal(github.requests.length, 0)
    }),
  },
  {
    attack: 'injects the victim’s code into their own sign-in',
    outcome: 'signs nobody in, because the code is bound by PKCE',
    attempt: inBothModes(async ({ server, github, leave }) => {
      const { code } = github.agree(await leave(server.browser()))
      const mine = server.browser()
      const { state } = github.agree(await leave(mine))
      await refused(mine, await mine.send('/login/callback/github', { query: { code, state } }))
      assert.deepEqual([asked(github, '/login/oauth/access_token'), asked(github, '/user')], [1, 0])
    }),
  },
  {
    attack: 'sends the response of another provider, or of a sign-in started in another browser',
    outcome: 'signs nobody in, and redeems no code',
    attempt: inBothModes(async ({ server, github, leave }) => {
      const browser = server.browser()
      const query = github.agree(await leave(browser))
      await refused(browser, await browser.send('/login/callback/twin', { query }))
      const other = server.browser()
      await leave(other)
      await refused(other, await other.send('/login/callback/github', { query }))
      assert.equal(github.requests.length, 0)
      assert.equal((await browser.send('/login/callback/github', { query })).status, 302)
      assert.ok(await isSignedIn(browser))
    }),
  },
  {
    attack: 'has the same id at two providers',
    outcome: 'gets an account for each provider',
    attempt: inBothModes(async ({ signIn }) => {
      assert.notEqual(await signIn(OCTOCAT, 'twin'), await signIn(OCTOCAT))
    }),
  },
  {
    attack: 'redirects the userinfo request to another address',
    outcome: 'the token is not sent there, and nobody is signed in',
    attempt: inBothModes(async ({ github, signIn }) => {
      for (const status of [301, 302, 303, 307, 308]) {
        github.answers.user = response => void response.writeHead(status, { location: `${github.url}/inside` }).end()
        assert.equal(await signIn(OCTOCAT), undefined)
      }
      assert.equal(asked(github, '/inside'), 0)
    }),
  },
]
