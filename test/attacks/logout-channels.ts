import assert from 'node:assert/strict'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { startLogoutReceiver } from '../support/logout-receiver.ts'
import type { LogoutReceiver } from '../support/logout-receiver.ts'
import { changeClient, userNamed } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

interface Scene {
  readonly server: TestServer
  readonly receiver: LogoutReceiver
  /** A browser in which marissa is signed in to the client `auto`, and the ID token. */
  readonly victim: () => Promise<{ browser: Browser; token: string }>
  readonly deliver: () => Promise<unknown>
}

async function staging(attempt: (scene: Scene) => Promise<void>, uri?: string): Promise<void> {
  const [server, receiver] = [
    await startServer({ config: { bootstrap: authorizeBootstrap } }),
    await startLogoutReceiver(),
  ]
  try {
    await changeClient(server, 'auto', { backchannelLogoutUri: uri ?? receiver.url })
    await attempt({
      server,
      receiver,
      deliver: async () => (await server.app.backChannel()).deliver(),
      async victim() {
        const browser = await signedIn(server)
        const { code = '' } = responseOf(await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })).query
        const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
        const answer = await server.token(form, { basic: ['auto', 'auto-secret'] })
        return { browser, token: answer.json<{ id_token: string }>().id_token }
      },
    })
    assert.deepEqual(server.faults, [])
  } finally {
    await Promise.all([server.stop(), receiver.stop()])
  }
}

const leave = (browser: Browser, token: string): Promise<TestAnswer> =>
  browser.send('/logout.do', { query: { id_token_hint: token } })

/** As if `count` sessions of marissa with a client had ended. */
async function endMany(server: TestServer, client: string, count: number): Promise<void> {
  const { id: userId } = await userNamed(server, 'marissa')
  for (let number = 0; number < count; number += 1) {
    const id = `${client}-${number}`
    const ended = { zoneId: 'svc', id, userId, sessionSalt: id, clients: [client], attempts: 0 }
    await server.store.endedSessions.add({ ...ended, nextAttemptAt: server.clock.now() })
  }
}

/** Attacks on back-channel and front-channel logout. */
export const logoutChannelAttacks: readonly Attack[] = [
  {
    attack: 'uses a logout token as access token, as id_token_hint, and at the logout endpoint of a provider',
    outcome: 'it is refused',
    attempt: () =>
      staging(async ({ server, receiver, victim, deliver }) => {
        const first = await victim()
        await leave(first.browser, first.token)
        await deliver()
        const [token = ''] = receiver.tokens
        assert.notEqual(token, '')
        assert.equal((await server.send('/userinfo', { bearer: token })).status, 401)
        const { browser } = await victim()
        assert.equal((await leave(browser, token)).status, 400)
        assert.equal((await browser.send('/home')).status, 200)
        const form = { logout_token: token }
        assert.equal((await server.send('/login/backchannel_logout/svc', { method: 'POST', form })).status, 400)
        assert.equal((await browser.send('/home')).status, 200)
      }),
  },
  {
    attack: 'has the server post logout tokens to an internal address',
    outcome: 'nothing is sent there',
    attempt: () =>
      staging(async ({ server, victim, deliver }) => {
        const asked = await startLogoutReceiver()
        try {
          for (const uri of ['https://169.254.169.254/x', 'https://10.0.0.1/x', asked.url.replace('http:', 'https:')]) {
            await changeClient(server, 'auto', { backchannelLogoutUri: uri })
            const { browser, token } = await victim()
            await leave(browser, token)
            await deliver()
          }
          assert.deepEqual(asked.tokens, [])
        } finally {
          await asked.stop()
        }
      }),
  },
  {
    attack: 'responds to the logout token with a redirect to another server',
    outcome: 'the redirect is not followed',
    attempt: () =>
      staging(async ({ receiver, victim, deliver }) => {
        receiver.answer(302)
        const { browser, token } = await victim()
        await leave(browser, token)
        await deliver()
        assert.equal(receiver.tokens.length, 1)
      }),
  },
  {
    attack: 'never responds, to delay the logout of users and other applications',
    outcome: 'the page is shown immediately, and the others are notified',
    attempt: () =>
      staging(async ({ server, receiver, victim, deliver }) => {
        const silent = await startLogoutReceiver()
        silent.answer(undefined)
        await changeClient(server, 'many', { backchannelLogoutUri: silent.url })
        const { browser, token } = await victim()
        await authorize(browser, { ...AUTO_REQUEST, client_id: 'many', redirect_uri: 'https://many.example/cb' })
        assert.equal((await leave(browser, token)).status, 200)
        assert.deepEqual([silent.tokens.length, receiver.tokens.length], [0, 0])
        const delivering = deliver()
        while (receiver.tokens.length === 0 || silent.tokens.length === 0) await new Promise(setImmediate)
        await silent.stop()
        await delivering
      }),
  },
  {
    attack: 'ends hundreds of sessions at once, so that a slow application misses some',
    outcome: 'the application is notified of every session',
    attempt: () =>
      staging(async ({ server, receiver, deliver }) => {
        receiver.answer(200, 5)
        await endMany(server, 'auto', 200)
        for (let round = 0; round < 12; round += 1) {
          await deliver()
          server.clock.advance(6) // less than a failed attempt waits
        }
        assert.equal((await server.store.endedSessions.waiting()).count, 0)
        assert.equal(receiver.tokens.length, 200)
        assert.equal(new Set(receiver.claims().map(({ sid }) => sid)).size, 200)
        assert.deepEqual(server.lines, [])
      }),
  },
  {
    attack: 'uses another application’s URL as post-logout redirect, to skip its notification',
    outcome: 'only the attacker’s own client is skipped',
    attempt: () =>
      staging(async ({ server, receiver, deliver }) => {
        await changeClient(server, 'many', { backchannelLogoutUri: receiver.url })
        receiver.answer(302)
        await endMany(server, 'many', 20)
        for (let round = 0; round < 5 && receiver.tokens.length < 5; round += 1) {
          await deliver()
          server.clock.advance(6) // when those are due that were not sent for lack of a slot
        }
        receiver.answer(200)
        const before = receiver.tokens.length
        assert.ok(before >= 5)
        await endMany(server, 'auto', 1)
        await deliver()
        assert.deepEqual(
          receiver
            .claims()
            .slice(before)
            .map(({ aud }) => aud),
          ['auto'],
        )
      }),
  },
  {
    attack: 'redirects a signed-in user to the logout, to load the logout pages of applications',
    outcome: 'confirmation is required, and no page is loaded',
    attempt: () =>
      staging(async ({ server, victim }) => {
        await changeClient(server, 'auto', { frontchannelLogoutUri: 'https://auto.example/out' })
        const { browser } = await victim()
        const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
        const answer = await browser.send('/logout.do', { headers })
        assert.doesNotMatch(answer.text, /<iframe/)
        assert.equal((await browser.send('/home')).status, 200)
      }),
  },
]
