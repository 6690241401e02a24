import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { AUTO_REQUEST, authorize, signedIn } from '../../support/authorize.ts'
import { AUTO, changeClient, MODES, tokensOf } from '../../support/oauth.ts'
import { setPolicy } from '../../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

for (const mode of MODES) {
  describe(`Client defaults for authorization requests in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { jwt: { token: { claims: { exclude: ['auth_time'] } } } } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const isCode = (answer: TestAnswer): boolean => /[?&]code=/.test(String(answer.headers['location']))

    /** Signs in, and follows the redirects back to the request. */
    async function signInAgain(browser: Browser, sent: TestAnswer): Promise<TestAnswer> {
      let answer = sent
      for (let hop = 0; hop < 4; hop += 1) {
        const { pathname, search } = answer.location()
        if (pathname === '/login') break
        answer = await browser.send(pathname + search)
        if (isCode(answer)) return answer
      }
      const back = (await browser.signIn('marissa', 'koala')).location()
      return browser.send(back.pathname + back.search)
    }

    for (const defaultMaxAge of [0, 60]) {
      it(`requires a new sign-in once for default_max_age=${defaultMaxAge}`, async () => {
        await changeClient(server, 'auto', { defaultMaxAge })
        const browser = await signedIn(server)
        server.clock.advance(61)
        const old = await authorize(browser, AUTO_REQUEST)
        assert.ok(!isCode(old))
        assert.ok(isCode(await signInAgain(browser, old)), 'the new sign-in is recent enough')
      })
    }

    it('accepts a sign-in within default_max_age, and returns login_required for an older one with prompt=none', async () => {
      await changeClient(server, 'auto', { defaultMaxAge: 60 })
      const browser = await signedIn(server)
      assert.ok(isCode(await authorize(browser, AUTO_REQUEST)))
      server.clock.advance(61)
      const silent = await authorize(browser, { ...AUTO_REQUEST, prompt: 'none' })
      assert.match(String(silent.headers['location']), /error=login_required/)
      const asked = await authorize(browser, { ...AUTO_REQUEST, max_age: '600' })
      assert.ok(isCode(asked), 'max_age of the request takes precedence')
    })

    it('ignores age_was_asked if the sign-in is older than ten minutes', async () => {
      await changeClient(server, 'auto', { defaultMaxAge: 60 })
      const browser = await signedIn(server)
      server.clock.advance(601)
      assert.ok(!isCode(await authorize(browser, { ...AUTO_REQUEST, age_was_asked: 'true' })))
    })

    it('includes auth_time with require_auth_time, even if the configuration excludes it', async () => {
      for (const requireAuthTime of [false, true]) {
        await changeClient(server, 'auto', { defaultMaxAge: 3600, requireAuthTime })
        const browser = await signedIn(server)
        const answer = await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })
        const code = answer.location().searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
        const { id_token } = tokensOf(await server.token(form, { basic: AUTO }))
        assert.equal(typeof decodeJwt(id_token)['auth_time'], requireAuthTime ? 'number' : 'undefined')
      }
    })

    it('requires default_acr_values unless the request has acr_values', async () => {
      await changeClient(server, 'auto', { defaultMaxAge: 3600, defaultAcrValues: ['2'] })
      await setPolicy(server, { requirement: 'optional' })
      const weak = await signedIn(server)
      const answer = await authorize(weak, AUTO_REQUEST)
      assert.ok(!isCode(answer))
      assert.equal(answer.location().pathname, '/second_factor')
      const page = await weak.send('/second_factor')
      assert.equal(page.status, 200, 'not redirected back to the request, which would be a loop')
      assert.match(page.text, /href="[^"]*\/second_factor\/app/)
      assert.equal((await authorize(weak, { ...AUTO_REQUEST, acr_values: '' })).location().pathname, '/second_factor')
      assert.ok(isCode(await authorize(weak, { ...AUTO_REQUEST, acr_values: '1' })))
    })
  })
}
