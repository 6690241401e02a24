import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authorizeBootstrap, signedIn, Z1_HOST } from '../support/authorize.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { hiddenFields, unescaped } from '../support/forms.ts'
import { FACTOR_PAGE, guarded, isIn, leadsTo } from '../support/guarded.ts'
import { MODES, userNamed } from '../support/oauth.ts'
import { givePasskey, passkeyForm } from '../support/passkeys.ts'
import { appOf, enrolApp, giveFactor, prove, setPolicy } from '../support/second-factor.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { statusesOf } from '../support/users.ts'
import type { Attack } from './attack.ts'

/** The redirect of a browser with these cookies after the password. */
async function signInWith(
  server: TestServer,
  cookies: Iterable<readonly [string, string]>,
  { userName = 'marissa', password = 'koala', host }: { userName?: string; password?: string; host?: string } = {},
): Promise<string> {
  const browser = server.browser(host)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  return String((await browser.signIn(userName, password)).headers['location'])
}

/** The cookie of a remembered browser. */
function deviceOf(browser: Browser): readonly [string, string] {
  const device = [...browser.cookies].find(([name]) => name.includes('-device-'))
  assert.ok(device, 'the browser is not remembered')
  return device
}

/** The passkey options of the page. */
function optionsIn(page: string): Parameters<ReturnType<typeof createAuthenticator>['get']>[0] {
  const [, options = ''] = /data-options="([^"]*)"/.exec(page) ?? []
  return JSON.parse(unescaped(options)) as ReturnType<typeof optionsIn> // what a browser is given
}

/** Forged, old and foreign proofs of a second factor. */
export const secondFactorProofAttacks: readonly Attack[] = [
  {
    attack: 'sends a cookie of a remembered browser that is forged, of another user or zone, or from before a change',
    outcome: 'the second factor is required',
    attempt: () =>
      guarded(async ({ server, app }) => {
        const mine = await signedIn(server)
        await prove(mine, { code: app.code(server), remember: 'true' })
        const [name, value] = deviceOf(mine)
        assert.notEqual(await signInWith(server, [[name, value]]), FACTOR_PAGE, 'it counts where it is from')
        const joel = server.browser()
        await joel.signIn('joel', 'wombat')
        const { app: joels } = await enrolApp(server, joel)
        server.clock.advance(60)
        const again = await signedIn(server, 'joel', 'wombat')
        await prove(again, { code: joels.code(server), remember: 'true' })
        const [joelsName, joelsValue] = deviceOf(again)
        const sealedForAnother = String(server.clock.now().getTime())
        for (const forged of [joelsValue, sealedForAnother, `${value}x`, value.slice(0, -2), '', 'true', '0']) {
          assert.equal(await signInWith(server, [[name, forged]]), FACTOR_PAGE, forged)
        }
        assert.equal(await signInWith(server, [[joelsName, joelsValue]]), FACTOR_PAGE)
        const z1 = await server.store.zones.find('z1')
        assert.ok(z1)
        await server.store.zones.update({
          ...z1,
          config: { ...z1.config, secondFactor: { requirement: 'required', rememberDays: 30 } },
        })
        const there = { host: Z1_HOST, password: 'z1-koala' }
        assert.match(await signInWith(server, [[name, value]], there), /\/second_factor$/)
        const marissa = await userNamed(server, 'marissa')
        await setPolicy(server, { requirement: 'required', rememberDays: 0 })
        assert.equal(await signInWith(server, [[name, value]]), FACTOR_PAGE, 'nobody is remembered any more')
        await setPolicy(server, { requirement: 'required', rememberDays: 1 })
        server.clock.advance(86_400)
        assert.equal(await signInWith(server, [[name, value]]), FACTOR_PAGE, 'for fewer days than it was said')
        await setPolicy(server, { requirement: 'required', rememberDays: 30 })
        assert.notEqual(await signInWith(server, [[name, value]]), FACTOR_PAGE)
        await giveFactor(server, marissa.id, 'passkey')
        await server.store.factors.removePasskey('svc', { userId: marissa.id, id: marissa.id })
        assert.equal(await signInWith(server, [[name, value]]), FACTOR_PAGE, 'after a factor was removed')
      }),
  },
  {
    attack: 'remembers a browser with a temporary code, or without a second factor',
    outcome: 'it is not remembered',
    attempt: () =>
      guarded(async ({ server, codes: [code = ''] }) => {
        const browser = await signedIn(server)
        await prove(browser, { code: '000000', remember: 'true' })
        await prove(browser, { code, way: 'recovery', remember: 'true' })
        assert.ok(await isIn(browser))
        assert.equal(
          [...browser.cookies.keys()].find(name => name.includes('-device-')),
          undefined,
        )
      }),
  },
  {
    attack: 'guesses at two processes concurrently, and replays a one-time password that one of them accepted',
    outcome: 'both share the count, and accept each password once',
    attempt: async () => {
      for (const mode of MODES) {
        const folder = await mkdtemp(join(tmpdir(), 'latchkey-factor-'))
        const database = `sqlite:${join(folder, 'one.db')}`
        const options = { mode, database, config: { bootstrap: authorizeBootstrap } }
        const one = await startServer(options)
        await setPolicy(one, { requirement: 'required' })
        const two = await startServer({ ...options, clock: one.clock })
        try {
          const { app, codes } = await enrolApp(one, await signedIn(one))
          one.clock.advance(60)
          const here = await signedIn(one)
          const there = await signedIn(two)
          const shown = { code: app.code(one) }
          const proofs = await Promise.all([prove(here, shown), prove(there, shown)])
          assert.deepEqual(statusesOf(proofs), [302, 422], 'one password, once')
          const spare = { code: codes[0] ?? '', way: 'recovery' }
          const [first, second] = [await signedIn(one), await signedIn(two)]
          const spent = await Promise.all([prove(first, spare), prove(second, spare)])
          assert.deepEqual(statusesOf(spent), [302, 422], 'one recovery code, once')
          one.clock.advance(3600)
          const { id } = await userNamed(one, 'marissa')
          const [left, right] = [await signedIn(one), await signedIn(two)]
          await Promise.all(Array.from({ length: 12 }, (_, at) => prove(at % 2 ? left : right, { code: '000000' })))
          const failures = await one.store.events.failures('svc', id, new Date(one.clock.now().getTime() - 1000))
          assert.ok(failures.length <= 7, `${failures.length} guesses were counted`)
          assert.equal((await prove(left, { code: app.code(one) })).status, 422, 'the account is locked')
        } finally {
          await one.stop()
          await two.stop()
          await rm(folder, { recursive: true })
        }
      }
    },
  },
  {
    attack: 'sends a recovery code twice, of an older set, or of another user',
    outcome: 'refused, and counted as a guess',
    attempt: () =>
      guarded(async ({ server, codes: [first = '', second = ''] }) => {
        const { id } = await userNamed(server, 'marissa')
        const joel = server.browser()
        await joel.signIn('joel', 'wombat')
        const { codes: joels } = await enrolApp(server, joel)
        const used = await signedIn(server)
        await prove(used, { code: first, way: 'recovery' })
        assert.ok(await isIn(used))
        await used.send('/profile/security/codes', {
          form: hiddenFields((await used.send('/profile/security/codes')).text),
        })
        const browser = await signedIn(server)
        for (const code of [first, second, joels[0] ?? '', first.toLowerCase()]) {
          assert.equal((await prove(browser, { code, way: 'recovery' })).status, 422, code)
        }
        assert.equal((await server.store.events.failures('svc', id, new Date(0))).length, 4)
        assert.equal(await leadsTo(browser), FACTOR_PAGE)
      }),
  },
  // Covers POST /second_factor/passkey: error: a factor is there already
  {
    attack: 'adds a second factor with the password alone if the account has one already',
    outcome: 'the page is refused, and so is an earlier form',
    attempt: () =>
      guarded(async ({ server }) => {
        const joel = await userNamed(server, 'joel')
        const [before, later] = [server.browser(), server.browser()]
        for (const browser of [before, later]) await browser.signIn('joel', 'wombat')
        const page = (await before.send('/second_factor/app')).text
        const form = { ...hiddenFields(page), code: appOf(page).code(server) }
        await enrolApp(server, later)
        const { factors } = await userNamed(server, 'joel')
        for (const methods of [['totp', 'passkey'], ['passkey']] as const) {
          await setPolicy(server, { requirement: 'required', methods: [...methods] })
          assert.equal((await before.send('/second_factor/app', { form })).headers['location'], FACTOR_PAGE)
          assert.equal((await before.send('/second_factor/app')).headers['location'], FACTOR_PAGE)
          assert.doesNotMatch((await before.send('/second_factor')).text, /data-passkey="create"/)
          const credential = JSON.stringify({ id: 'x', response: {} })
          await before.send('/second_factor/passkey', { form: { ...form, credential } })
          assert.equal(await leadsTo(before), FACTOR_PAGE)
        }
        assert.deepEqual((await userNamed(server, 'joel')).factors, factors)
        assert.equal((await server.store.factors.passkeysOf('svc', joel.id)).length, 0)
      }),
  },
  {
    attack: 'sends a passkey of another user, zone or host, or the response to a challenge of another browser',
    outcome: 'refused as second factor and for sign-in without a user name',
    attempt: () =>
      guarded(async ({ server }) => {
        const [marissa, joel] = [await userNamed(server, 'marissa'), await userNamed(server, 'joel')]
        const inZ1 = await userNamed(server, 'marissa', 'z1')
        const own = await givePasskey(server, marissa)
        const others = { joels: await givePasskey(server, joel), ofZ1: await givePasskey(server, inZ1, 'z1') }
        const origin = new URL(server.baseUrl).origin
        const answer = async (browser: Browser, asked: Browser, at: string, credential: typeof own) => {
          const page = (await browser.send('/second_factor?way=passkey')).text
          const options = optionsIn((await asked.send('/second_factor?way=passkey')).text)
          const proof = createAuthenticator(at).get(options, credential)
          const form = { ...hiddenFields(page), credential: JSON.stringify(proof) }
          return (await browser.send('/second_factor', { form })).status
        }
        const [here, there] = [await signedIn(server), await signedIn(server)]
        for (const [whose, credential] of Object.entries(others)) {
          assert.equal(await answer(here, here, origin, credential), 422, whose)
        }
        assert.equal(await answer(here, here, 'http://z1.localhost:8080', own), 422, 'of another host')
        assert.equal(await answer(here, there, origin, own), 422, 'asked for in another browser')
        assert.equal(await isIn(here), false)
        const alone = server.browser()
        const form = await passkeyForm(server, alone, { credential: others.ofZ1 })
        assert.match(String((await alone.send('/login/passkey', { form })).headers['location']), /error=/)
        const stolen = await passkeyForm(server, server.browser(), { credential: own })
        const fields = { ...stolen, ...hiddenFields((await alone.send('/login')).text) }
        assert.match(String((await alone.send('/login/passkey', { form: fields })).headers['location']), /error=/)
        assert.equal(await answer(here, here, origin, own), 302, 'the own one counts')
      }),
  },
  {
    attack: 'detects accounts and factors by errors and passkey options',
    outcome: 'the same responses for every user without the password',
    attempt: () =>
      guarded(async ({ server }) => {
        const answers = new Set<string>()
        for (const userName of ['marissa', 'joel', 'nobody']) {
          const browser = server.browser()
          const { status, headers } = await browser.signIn(userName, 'wrong')
          const page = (await browser.send('/login')).text.replaceAll(/value="[^"]*"|nonce="[^"]*"/g, '')
          const form = { grant_type: 'password', username: userName, password: 'wrong' }
          const grant = await server.token(form, { basic: ['app', 'app-secret'] })
          answers.add(JSON.stringify([status, headers['location'], page, grant.status, grant.text]))
        }
        assert.equal(answers.size, 1)
        const browser = server.browser()
        const form = hiddenFields((await browser.send('/login')).text)
        const asked = async (more: object) => {
          const { challenge, ...rest } = (
            await browser.send('/login/passkey/options', { form: { ...form, ...more } })
          ).json()
          assert.ok(challenge)
          return rest
        }
        assert.deepEqual(await asked({ username: 'marissa' }), await asked({ username: 'nobody' }))
      }),
  },
]
