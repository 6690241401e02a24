// The second step of external users, with the same requirement and lockout as for internal users.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestClock } from '../../support/clock.ts'
import { MODES } from '../../support/oauth.ts'
import { AUTO_REQUEST, authorizeBootstrap } from '../../support/authorize.ts'
import { enrolApp, prove, setPolicy } from '../../support/second-factor.ts'
import type { Browser, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import type { Upstream } from '../../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../../support/upstream.ts'

for (const mode of MODES) {
  describe(`Second factor of external users in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      server = await startServer({
        mode,
        clock,
        config: { bootstrap: { ...authorizeBootstrap, identity_providers: [upstreamRecord(upstream, 'corp')] } },
      })
      await setPolicy(server, { requirement: 'required', rememberDays: 30 })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    async function signedIn(
      claims: Readonly<Record<string, unknown>> = {},
      browser = server.browser(),
    ): Promise<Browser> {
      await signInUpstream(browser, upstream, { origin: 'corp', claims })
      assert.match(String((await browser.send('/home')).headers['location']), /\/second_factor$/)
      return browser
    }

    it('is required regardless of acr and amr, and locked after five wrong codes', async () => {
      // The age of the sign-in at the provider does not matter: the one here is new.
      const browser = await signedIn({
        acr: 'phrh',
        amr: ['mfa', 'hwk'],
        auth_time: clock.now().getTime() / 1000 - 7200,
      })
      const { app } = await enrolApp(server, browser)
      assert.equal((await browser.send('/home')).status, 200)
      clock.advance(60)
      for (let guess = 0; guess < 5; guess += 1) {
        assert.equal((await prove(await signedIn(), { code: '000000' })).status, 422)
      }
      const right = await prove(await signedIn(), { code: app.code(server) })
      assert.match(right.text, /too many|Too many/)
      clock.advance(301)
      assert.equal((await prove(await signedIn(), { code: app.code(server), remember: 'true' })).status, 302)
    })

    for (const [name, claims, want] of [
      ['now', () => ({ auth_time: clock.now().getTime() / 1000 }), 200],
      ['an hour ago', () => ({ auth_time: clock.now().getTime() / 1000 - 3600 }), 302],
      ['at an unknown time', () => ({}), 302],
    ] as const) {
      it(`can be changed after a sign-in at the provider ${name}${want === 302 ? ' and another' : ''}`, async () => {
        clock.advance(3600)
        const sub = `signed in ${name}`
        const browser = await signedIn({ sub, ...claims() })
        const { app } = await enrolApp(server, browser)
        const change = await browser.send('/profile/security/app')
        assert.equal(change.status, want)
        if (want === 200) return
        assert.match(String(change.headers['location']), /\/login$/)
        clock.advance(60)
        await signInUpstream(browser, upstream, { origin: 'corp', claims: { sub } })
        await prove(browser, { code: app.code(server) })
        assert.equal((await browser.send('/profile/security/app')).status, 200)
      })

      it(`is joined by one that an application requires after a sign-in ${name}${want === 302 ? ' and another' : ''}`, async () => {
        clock.advance(3600)
        const sub = `needs more ${name}`
        const browser = await signedIn({ sub, ...claims() })
        const { app } = await enrolApp(server, browser)
        const query = { ...AUTO_REQUEST, acr_values: 'phr' }
        await browser.send('/oauth/authorize', { query })
        const asked = await browser.send('/second_factor')
        assert.equal(asked.status, want)
        if (want === 200) return
        assert.match(String(asked.headers['location']), /\/login$/)
        clock.advance(60)
        await signInUpstream(browser, upstream, { origin: 'corp', claims: { sub } })
        await prove(browser, { code: app.code(server) })
        await browser.send('/oauth/authorize', { query })
        assert.equal((await browser.send('/second_factor')).status, 200)
      })
    }

    it('is skipped for the same user only in a remembered browser', async () => {
      clock.advance(3600)
      const browser = await signedIn({ sub: 'other' })
      const { app } = await enrolApp(server, browser)
      clock.advance(60)
      const again = await signedIn({ sub: 'other' })
      await prove(again, { code: app.code(server), remember: 'true' })
      const device = [...again.cookies].find(([name]) => name.includes('-device-'))
      assert.ok(device)
      const mine = server.browser()
      mine.cookies.set(...device)
      await signInUpstream(mine, upstream, { origin: 'corp', claims: { sub: 'other' } })
      assert.equal((await mine.send('/home')).status, 200)
      const theirs = server.browser()
      theirs.cookies.set(...device)
      await signedIn({}, theirs)
    })
  })
}
