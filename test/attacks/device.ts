import assert from 'node:assert/strict'
import { signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { changeClient, tokensOf, userNamed } from '../support/oauth.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const device = (id: string, more: object = {}) => ({
  client_id: id,
  allowpublic: true,
  authorized_grant_types: [GRANT, 'refresh_token'],
  scope: ['openid', 'cloud.read'],
  autoapprove: true,
  ...more,
})
const clients = [...defaultBootstrap.clients, device('tv'), device('radio'), device('frame', { autoapprove: false })]
const bootstrap = {
  ...defaultBootstrap,
  clients,
  identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'One', bootstrap: { ...defaultBootstrap, clients } }],
}

const against = (attempt: (server: TestServer) => Promise<void>) => async (): Promise<void> => {
  const server = await startServer({ config: { bootstrap } })
  try {
    await attempt(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

interface Codes {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri_complete: string
}

const begin = async (server: TestServer, id = 'tv', headers: Readonly<Record<string, string>> = {}): Promise<Codes> =>
  (await server.send('/oauth/device_authorization', { form: { client_id: id }, headers })).json<Codes>()

const errorOf = async (server: TestServer, code: string, id = 'tv', host?: string): Promise<unknown> =>
  (
    await server.token({ grant_type: GRANT, device_code: code, client_id: id }, host === undefined ? {} : { host })
  ).json()['error']

async function enter(browser: Browser, code: string): Promise<TestAnswer> {
  const page = await browser.send('/device')
  return browser.send('/device', { form: { ...hiddenFields(page.text), user_code: code } })
}

const allow = (browser: Browser, page: TestAnswer): Promise<TestAnswer> =>
  browser.send('/device/decision', { form: { ...hiddenFields(page.text), user_oauth_approval: 'true' } })

/** Attacks on the device authorization grant. */
export const deviceAttacks: readonly Attack[] = [
  {
    attack: 'sends a link with the code of their own device, for an auto-approved application',
    outcome: 'the user sees code, application and address, and has to approve',
    attempt: against(async server => {
      const codes = await begin(server)
      const victim = await signedIn(server)
      const link = new URL(codes.verification_uri_complete)
      const page = await victim.send(link.pathname + link.search)
      assert.equal(page.status, 200)
      assert.equal(await errorOf(server, codes.device_code), 'authorization_pending')
      const shown = await enter(victim, codes.user_code)
      assert.ok(shown.text.includes(codes.user_code) && shown.text.includes('127.0.0.1') && shown.text.includes('tv'))
      server.clock.advance(5)
      assert.equal(await errorOf(server, codes.device_code), 'authorization_pending')
    }),
  },
  {
    attack: 'posts the form cross-site from a victim’s browser',
    outcome: 'the form is refused',
    attempt: against(async server => {
      const codes = await begin(server)
      const victim = await signedIn(server)
      const page = await enter(victim, codes.user_code)
      const form = { ...hiddenFields(page.text), user_oauth_approval: 'true' }
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      assert.equal((await victim.send('/device/decision', { form, headers })).status, 403)
      const mine = await signedIn(server, 'joel', 'wombat')
      const planted = hiddenFields((await mine.send('/device')).text)
      const ofMine = { ...planted, user_code: codes.user_code, user_oauth_approval: 'true' }
      assert.equal((await victim.send('/device/decision', { form: ofMine })).status, 403)
      assert.equal(await errorOf(server, codes.device_code), 'authorization_pending')
    }),
  },
  {
    attack: 'guesses user codes',
    outcome: 'is limited to ten, without limiting others at the address',
    attempt: against(async server => {
      const codes = await begin(server)
      const mine = await signedIn(server, 'joel', 'wombat')
      const guesses: number[] = []
      for (let guess = 0; guess < 12; guess += 1) guesses.push((await enter(mine, 'BCDF-GHJK')).status)
      assert.deepEqual(guesses, [...Array.from({ length: 10 }, () => 422), 429, 429])
      assert.equal((await enter(mine, codes.user_code)).status, 429, 'the right one, too late')
      assert.equal((await enter(await signedIn(server), codes.user_code)).status, 200, 'somebody else there')
      server.clock.advance(301)
      assert.equal((await enter(mine, codes.user_code)).status, 200)
    }),
  },
  {
    attack: 'guesses user codes with many accounts',
    outcome: 'is limited to a hundred per address',
    attempt: async () => {
      const names = Array.from({ length: 11 }, (_, index) => `guesser${index}`)
      const users = [
        ...defaultBootstrap.users,
        ...names.map(userName => ({ userName, password: 'wombat', emails: [{ value: `${userName}@x.org` }] })),
      ]
      const server = await startServer({ config: { bootstrap: { ...bootstrap, users } } })
      try {
        const codes = await begin(server)
        const browsers = await Promise.all(names.map(name => signedIn(server, name, 'wombat')))
        const last = browsers.pop()
        assert.ok(last)
        for (const browser of browsers) {
          for (let guess = 0; guess < 10; guess += 1) assert.equal((await enter(browser, 'BCDF-GHJK')).status, 422)
        }
        assert.equal((await enter(last, codes.user_code)).status, 429)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    },
  },
  {
    attack: 'redeems a known device code as another client, in another zone, or again',
    outcome: 'the code is bound to client and zone, and valid once',
    attempt: against(async server => {
      const codes = await begin(server)
      const victim = await signedIn(server)
      await allow(victim, await enter(victim, codes.user_code))
      assert.equal(await errorOf(server, codes.device_code, 'radio'), 'invalid_grant')
      assert.equal(await errorOf(server, codes.device_code, 'tv', 'z1.localhost:8080'), 'invalid_grant')
      assert.equal(await errorOf(server, codes.user_code), 'invalid_grant')
      assert.equal(await errorOf(server, codes.device_code), undefined)
      assert.equal(await errorOf(server, codes.device_code), 'invalid_grant')
    }),
  },
  {
    attack: 'approves a device with only a password where a second factor is required',
    outcome: 'the second factor is required',
    attempt: against(async server => {
      const codes = await begin(server)
      const browser = await signedIn(server)
      const page = await enter(browser, codes.user_code)
      await setPolicy(server, { requirement: 'required' })
      const answer = await allow(browser, page)
      assert.deepEqual([answer.status, answer.location().pathname], [302, '/second_factor'])
      assert.equal(await errorOf(server, codes.device_code), 'authorization_pending')
    }),
  },
  {
    attack: 'enters a code that was already approved or denied, to change the decision',
    outcome: 'the decision is final',
    attempt: against(async server => {
      const codes = await begin(server)
      const victim = await signedIn(server)
      const page = await enter(victim, codes.user_code)
      const form = { ...hiddenFields(page.text), user_oauth_approval: 'false' }
      assert.equal((await victim.send('/device/decision', { form })).status, 200)
      assert.equal((await allow(victim, page)).status, 422)
      assert.equal(await errorOf(server, codes.device_code), 'access_denied')
    }),
  },
  {
    attack: 'redeems the device code after the user revoked the approval',
    outcome: 'no tokens are issued',
    attempt: against(async server => {
      const codes = await begin(server, 'frame')
      const victim = await signedIn(server)
      await allow(victim, await enter(victim, codes.user_code))
      const { id: userId } = await userNamed(server, 'marissa')
      await server.store.approvals.replace('svc', { userId, clientId: 'frame' }, [])
      assert.equal(await errorOf(server, codes.device_code, 'frame'), 'invalid_grant')
      const others = await begin(server, 'frame')
      await allow(victim, await enter(victim, others.user_code))
      assert.equal(await errorOf(server, others.device_code, 'frame'), undefined)
    }),
  },
  {
    attack: 'extends its registration while a user reads the approval page',
    outcome: 'the device gets only the scopes of the page',
    attempt: against(async server => {
      await changeClient(server, 'frame', { scope: ['openid'] })
      const codes = await begin(server, 'frame')
      const victim = await signedIn(server)
      const page = await enter(victim, codes.user_code)
      await changeClient(server, 'frame', { scope: ['openid', 'cloud.read'] })
      assert.equal((await allow(victim, page)).status, 200)
      const form = { grant_type: GRANT, device_code: codes.device_code, client_id: 'frame' }
      assert.equal(tokensOf(await server.token(form)).scope, 'openid')
      const { id } = await userNamed(server, 'marissa')
      const approvals = await server.store.approvals.listAllOfUser('svc', id)
      assert.deepEqual(
        approvals.map(({ scope }) => scope),
        ['openid'],
      )
      // A form that names nothing allows nothing.
      const other = await begin(server, 'frame')
      const { scopes: _, ...bare } = hiddenFields((await enter(victim, other.user_code)).text)
      const again = await victim.send('/device/decision', { form: { ...bare, user_oauth_approval: 'true' } })
      assert.match(again.text, /id="device_decision"/)
      assert.equal(await errorOf(server, other.device_code, 'frame'), 'authorization_pending')
    }),
  },
  {
    attack: 'fills the table with codes',
    outcome: 'is limited to a hundred a minute',
    attempt: against(async server => {
      const ask = async () => (await server.send('/oauth/device_authorization', { form: { client_id: 'tv' } })).status
      for (let count = 0; count < 100; count += 1) assert.equal(await ask(), 200)
      assert.equal(await ask(), 429)
      server.clock.advance(61)
      assert.equal(await ask(), 200)
    }),
  },
  {
    attack: 'gives a device a name that users trust',
    outcome: 'the page does not show the name',
    attempt: against(async server => {
      const codes = await begin(server, 'tv', { 'user-agent': 'Checked by your bank <b>' })
      const page = await enter(await signedIn(server), codes.user_code)
      assert.equal(page.status, 200)
      assert.ok(!page.text.includes('Checked by your bank'))
    }),
  },
]
