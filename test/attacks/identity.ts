import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'
import { inTime } from '../store/cases.ts'
import { freshDatabase } from '../support/databases.ts'
import type { Attack } from './attack.ts'

type Claims = Readonly<Record<string, unknown>>

/** A client that presents assertions. */
export const PORTER = {
  client_id: 'porter',
  client_secret: 'secret',
  authorized_grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
  scope: ['openid'],
  autoapprove: true,
}

/** A server with the provider `corp`, at which the attacker has accounts. */
export interface Scene {
  readonly mode: CompatibilityMode
  readonly server: TestServer
  readonly upstream: Upstream
  /** Signs in at `corp` as the user of the claims. */
  readonly signIn: (claims: Claims) => Promise<{ readonly browser: Browser; readonly answer: TestAnswer }>
  /** The user of the browser's session, or undefined. */
  readonly userOf: (browser: Browser) => Promise<string | undefined>
  /** The tokens of the user signed in with the browser. */
  readonly tokensOf: (browser: Browser) => Promise<{ readonly access_token: string; readonly refresh_token: string }>
}

const MALLORY = { sub: 'mallory', email: 'mallory@corp.example', email_verified: true }
const VICTIM = { sub: 'victim', email: 'victim@corp.example', email_verified: true }
const REQUEST = { response_type: 'code', client_id: 'auto', redirect_uri: 'https://auto.example/cb', scope: 'openid' }

/** Runs the attack in both modes; `config` is merged into the record of `corp`. */
export const inBothModes =
  (play: (scene: Scene) => Promise<void>, config: Claims = {}, users: readonly object[] = []) =>
  async (): Promise<void> => {
    for (const mode of MODES) {
      const clock = createTestClock()
      const upstream = await startUpstream(clock)
      const bootstrap = {
        ...defaultBootstrap,
        users: [...defaultBootstrap.users, ...users],
        identity_providers: [providerAt(upstream, config)],
      }
      const server = await startServer({ mode, clock, config: { bootstrap } })
      try {
        await play(sceneOf(mode, server, upstream))
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
        await upstream.stop()
      }
    }
  }

/** The record of `corp`. */
export const providerAt = (upstream: Pick<Upstream, 'url'>, config: Claims) =>
  upstreamRecord(upstream, 'corp', { linkByEmail: true, ...config })

function sceneOf(mode: CompatibilityMode, server: TestServer, upstream: Upstream): Scene {
  return {
    mode,
    server,
    upstream,
    async signIn(claims) {
      const browser = server.browser()
      return { browser, answer: await signInUpstream(browser, upstream, { origin: 'corp', claims }) }
    },
    async userOf(browser) {
      const { headers } = await browser.send('/oauth/authorize', { query: { ...REQUEST, prompt: 'none' } })
      const code = new URL(String(headers['location'])).searchParams.get('code')
      return code === null ? undefined : subjectOf(await redeem(server, code))
    },
    tokensOf: browser => tokensWith(server, browser),
  }
}

async function tokensWith(server: TestServer, browser: Browser): ReturnType<Scene['tokensOf']> {
  const answer = await browser.send('/oauth/authorize', { query: REQUEST })
  return (await redeem(server, answer.location().searchParams.get('code') ?? '')).json()
}

const redeem = (server: TestServer, code: string): Promise<TestAnswer> =>
  server.token(
    { grant_type: 'authorization_code', code, redirect_uri: REQUEST.redirect_uri },
    { basic: ['auto', 'auto-secret'] },
  )

const subjectOf = (answer: TestAnswer): string =>
  String(decodeJwt(answer.json<{ access_token: string }>().access_token).sub)

const shadow = (given: object) => ({ origin: 'corp', ...given })

/** The victim signs in, then the attacker with similar claims; asserts that they get different accounts. */
const likeTheVictim = (victim: Claims, attacker: Claims, config: Claims = {}): (() => Promise<void>) =>
  inBothModes(async ({ signIn, userOf }) => {
    const theirs = await signIn(victim)
    const mine = await signIn(attacker)
    const [victimId, attackerId] = [await userOf(theirs.browser), await userOf(mine.browser)]
    assert.ok(victimId !== undefined && attackerId !== undefined)
    assert.notEqual(attackerId, victimId)
  }, config)

/** Account takeover by upstream users. */
export const identityAttacks: readonly Attack[] = [
  {
    attack: 'signs in upstream with another sub and the verified email address of the victim',
    outcome: 'gets an account of their own',
    attempt: likeTheVictim(VICTIM, { ...MALLORY, email: VICTIM.email }),
  },
  {
    attack: 'signs in with a sub that differs from the victim’s only in case',
    outcome: 'gets an account of their own',
    attempt: likeTheVictim(VICTIM, { ...VICTIM, sub: 'VICTIM' }),
  },
  {
    attack: 'signs in with a sub that Unicode case folding makes equal to the victim’s',
    outcome: 'gets an account of their own',
    attempt: likeTheVictim({ ...VICTIM, sub: 'kim' }, { ...VICTIM, sub: '\u212aim' }),
  },
  {
    attack: 'chooses the victim’s preferred_username, which is mapped to the user name',
    outcome: 'gets an account of their own with another name',
    attempt: likeTheVictim(
      { ...VICTIM, preferred_username: 'boss' },
      { ...MALLORY, preferred_username: 'Boss' },
      { attributeMappings: { user_name: 'preferred_username' } },
    ),
  },
  {
    attack: 'signs in with the victim’s unverified email address before the victim, and keeps the session',
    outcome: 'the victim gets an account of their own',
    attempt: likeTheVictim({ ...MALLORY, email: VICTIM.email, email_verified: false }, VICTIM),
  },
  {
    attack: 'chooses the name of an account that an administrator created for another user',
    outcome: 'is refused, and the account stays unlinked',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const { browser, answer } = await signIn({ ...MALLORY, preferred_username: 'boss' })
        assert.notEqual(answer.headers['location'], 'http://localhost:8080/')
        assert.equal(await userOf(browser), undefined)
        assert.equal((await server.store.users.findByName('svc', 'corp', 'boss'))?.externalId, undefined)
      },
      { attributeMappings: { user_name: 'preferred_username' } },
      [shadow({ userName: 'boss', emails: [{ value: 'boss@corp.example' }] })],
    ),
  },
  {
    attack: 'signs in with the unverified email address of a pre-created account',
    outcome: 'gets an account of their own',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        for (const email_verified of [false, undefined, 'true', 1]) {
          const { browser } = await signIn({
            ...MALLORY,
            sub: `m-${email_verified}`,
            email: VICTIM.email,
            email_verified,
          })
          const waiting = await server.store.users.findByName('svc', 'corp', 'waiting')
          assert.equal(waiting?.externalId, undefined)
          assert.notEqual(await userOf(browser), waiting?.id)
        }
      },
      {},
      [shadow({ userName: 'waiting', emails: [{ value: VICTIM.email }] })],
    ),
  },
  {
    attack: 'has the verified email address of an account at a provider without linkByEmail',
    outcome: 'gets an account of their own in standard',
    attempt: inBothModes(
      async ({ mode, server, signIn, userOf }) => {
        const { id } = (await server.store.users.findByName('svc', 'corp', 'waiting')) ?? {}
        const { browser } = await signIn({ ...MALLORY, email: VICTIM.email })
        // UAA: every provider is trusted so far. See docs/compatibility.md, P6.
        assert.equal((await userOf(browser)) === id, mode === 'uaa')
      },
      { linkByEmail: undefined },
      [shadow({ userName: 'waiting', emails: [{ value: VICTIM.email }] })],
    ),
  },
  {
    attack: 'keeps session and tokens of an account from before it was linked to its owner',
    outcome: 'both are revoked on linking',
    attempt: inBothModes(async ({ server, signIn, userOf, tokensOf }) => {
      const early = await signIn(MALLORY)
      const tokens = await tokensOf(early.browser)
      const id = await userOf(early.browser)
      const user = await server.store.users.find('svc', id ?? '')
      assert.ok(user)
      const { externalId: _, ...unbound } = user // as in a database of an earlier version
      await server.store.users.update('svc', { ...unbound, userName: 'waiting' })
      server.clock.advance(5)
      const owner = await signIn({ ...VICTIM, email: MALLORY.email })
      assert.equal(await userOf(owner.browser), id)
      assert.equal(await userOf(early.browser), undefined)
      assert.equal((await server.send('/userinfo', { bearer: tokens.access_token })).status, 401)
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      assert.notEqual((await server.token(refresh, { basic: ['auto', 'auto-secret'] })).status, 200)
    }),
  },
  {
    attack: 'changes the verified email address upstream',
    outcome: 'the new one is unverified',
    attempt: inBothModes(async ({ server, signIn }) => {
      await signIn(MALLORY)
      const { email_verified: _, ...silent } = { ...MALLORY, email: VICTIM.email }
      await signIn(silent)
      const user = await server.store.users.findByExternalId('svc', 'corp', 'mallory')
      assert.deepEqual([user?.email, user?.verified], [VICTIM.email, false])
    }),
  },
  ...(['corp', 'svc'] as const).map(origin => ({
    attack: `continues with session, code, passcode, access and refresh token after the provider ${origin} was disabled`,
    outcome: 'session and refresh token end, and no access token is issued',
    attempt: inBothModes(async scene => {
      const { mode, server, signIn, tokensOf, userOf } = scene
      const browser = server.browser()
      const signedIn = origin === 'corp' ? (await signIn(MALLORY)).browser : browser
      if (origin === 'svc') await browser.signIn('marissa', 'koala')
      const tokens = await tokensOf(signedIn)
      const code = (await signedIn.send('/oauth/authorize', { query: REQUEST })).location().searchParams.get('code')
      const passcode = /[\w-]{24,32}/.exec(
        (await signedIn.send('/passcode', { headers: { accept: 'application/json' } })).text,
      )
      const basic = ['auto', 'auto-secret'] as const
      const refresh = () =>
        server.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, { basic })
      const provider = await server.store.providers.findByOrigin('svc', origin)
      assert.ok(provider && code && passcode)
      await server.store.providers.update('svc', { ...provider, active: false })

      const want = mode === 'standard' ? '400 invalid_grant' : '401 unauthorized'
      const reported = (answer: TestAnswer): string => `${answer.status} ${String(answer.json()['error'])}`
      assert.equal(reported(await refresh()), want)
      assert.equal(reported(await redeem(server, code)), want)
      assert.equal(reported(await server.token({ grant_type: 'password', passcode: passcode[0] }, { basic })), want)
      for (const path of ['/home', '/profile']) assert.notEqual((await signedIn.send(path)).status, 200)
      assert.equal(await userOf(signedIn), undefined)

      await server.store.providers.update('svc', provider)
      assert.equal(await userOf(signedIn), undefined)
      assert.equal((await refresh()).status, 200)
    }),
  })),
  ...(['corp', 'svc'] as const).map(origin => ({
    attack: `uses the session again after the provider ${origin} was disabled and enabled`,
    outcome: 'the session ended on disabling',
    attempt: inBothModes(async ({ server, signIn, userOf }) => {
      const browser = origin === 'corp' ? (await signIn(MALLORY)).browser : server.browser()
      if (origin === 'svc') await browser.signIn('marissa', 'koala')
      assert.notEqual(await userOf(browser), undefined)
      const { providers } = server.store
      const { id = '' } = (await providers.findByOrigin('svc', origin)) ?? {}
      for (const active of [false, true]) {
        const found = await providers.findForChange('svc', id)
        assert.ok(found)
        const { provider, revision } = found
        await providers.apply('svc', { kind: 'update', provider: { ...provider, active }, revision })
      }
      assert.equal(await userOf(browser), undefined)
    }),
  })),
  {
    attack: 'continues at another process after an administrator disabled the provider',
    outcome: 'session and refresh token end within a second',
    attempt: async () => {
      const database = await freshDatabase('sqlite')
      const options = { database: database.url, clock: createTestClock() }
      const [here, there] = [await startServer(options), await startServer(options)]
      const browser = there.browser()
      await browser.signIn('marissa', 'koala')
      const tokens = await tokensWith(there, browser)
      const provider = await here.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      await here.store.providers.update('svc', { ...provider, active: false })
      const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      await inTime(400, async () => (await there.token(form, { basic: ['auto', 'auto-secret'] })).status)
      assert.equal((await browser.send('/profile')).status, 302)
      await Promise.all([here.stop(), there.stop()])
      await database.drop()
    },
  },
  {
    attack: 'presents an ID token as a bearer token, even a minimal one or one for a client named openid',
    outcome: 'is refused by every endpoint',
    attempt: async () => {
      for (const mode of MODES) {
        const server = await startServer({ mode, config: { bootstrap: bearerBootstrap } })
        for (const id of BEARER_CLIENTS) {
          const basic = [id, 'x'] as const
          const { id_token: idToken } = (
            await server.token(
              { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'openid' },
              { basic },
            )
          ).json<{ id_token: string }>()
          assert.equal(decodeJwt(idToken).aud?.[0], id)
          const resource = ['resource', 'resource-secret'] as const
          const check = await server.send('/check_token', { form: { token: idToken }, basic: resource })
          assert.equal(check.status, 400, `${mode} ${id} ${check.text}`)
          const introspected = await server.send('/introspect', { form: { token: idToken }, basic: resource })
          assert.equal(introspected.json()['active'], false)
          assert.equal((await server.send('/userinfo', { bearer: idToken })).status, 401)
          const authorized = await server.send('/oauth/authorize', {
            form: { ...REQUEST, state: 's' },
            bearer: idToken,
          })
          assert.equal(authorized.status, 401)
          const exchange = { grant_type: 'user_token', client_id: 'app', scope: 'openid' }
          assert.equal((await server.token(exchange, { bearer: idToken })).status, 401)
          assert.equal((await server.send('/oauth/token/list/client/app', { bearer: idToken })).status, 401)
        }
        await server.stop()
      }
    },
  },
  {
    attack: 'presents an access token with the scope openid as an ID token',
    outcome: 'it is refused as id_token_hint, and stays a valid access token',
    attempt: async () => {
      for (const mode of MODES) {
        const server = await startServer({ mode, config: { bootstrap: bearerBootstrap } })
        const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'openid' }
        const { access_token: token } = (await server.token(form, { basic: ['plain', 'x'] })).json<{
          access_token: string
        }>()
        assert.equal((await server.send('/userinfo', { bearer: token })).status, 200)
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        await browser.send('/logout.do', { query: { id_token_hint: token } })
        assert.equal((await browser.send('/home')).status, mode === 'standard' ? 200 : 302)
        await server.stop()
      }
    },
  },
  {
    attack: 'redeems a code after the victim changed the password or had their tokens revoked',
    outcome: 'it is refused, like older tokens',
    attempt: async () => {
      for (const mode of MODES) {
        const server = await startServer({ mode })
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        const newCode = async (): Promise<string> => {
          const answer = await browser.send('/oauth/authorize', { query: REQUEST })
          return answer.location().searchParams.get('code') ?? ''
        }
        const subject = subjectOf(await redeem(server, await newCode()))
        const late = await newCode()
        await server.store.users.setSalt('svc', subject, 'revoked')
        assert.equal((await redeem(server, late)).json()['error'], 'invalid_grant', mode)
        const stolen = await newCode()
        const known = await server.store.users.find('svc', subject)
        assert.ok(known)
        await server.store.users.update('svc', { ...known, passwordRevision: 'new' })
        assert.equal((await redeem(server, stolen)).json()['error'], 'invalid_grant', mode)
        assert.deepEqual(server.faults, [])
        await server.stop()
      }
    },
  },
]

const BEARER_CLIENTS = ['plain', 'minimal', 'openid']
const bearerBootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    ...BEARER_CLIENTS.map(id => ({
      client_id: id,
      client_secret: 'x',
      authorized_grant_types: ['password', 'authorization_code'],
      scope: ['openid'],
      redirect_uri: [REQUEST.redirect_uri],
      autoapprove: true,
      ...(id === 'minimal' && { id_token_minimal: true }),
    })),
  ],
}
