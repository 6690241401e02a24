import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, passwordTokens } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

/** Signs in with the form that the browser was redirected to, and follows the redirect. */
async function signInAs(browser: Browser, userName: string, password: string): Promise<TestAnswer> {
  const page = await browser.send('/login')
  const form = { ...hiddenFields(page.text), username: userName, password }
  const fields = Object.fromEntries(Object.entries(form).map(([name, value]) => [name, unescaped(value)]))
  const answer = await browser.send('/login.do', { form: fields })
  const { pathname, search } = answer.location()
  return browser.send(pathname + search)
}

const linkOf = (page: TestAnswer, id: string): string => {
  const href = new RegExp(`id="${id}" href="([^"]+)"`).exec(page.text)?.[1]
  assert.ok(href, page.text)
  return unescaped(href).replace('http://localhost:8080', '')
}

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`Account selection in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const choose = { ...AUTO_REQUEST, prompt: 'select_account' }

    // Covers compatibility: authorization request: A9 prompt
    describe('by prompt=select_account (A9)', {
      skip: !isStandard && 'UAA supports only prompt=none and login',
    }, () => {
      it('offers to continue with the current account', async () => {
        const browser = await signedIn(server)
        const page = await authorize(browser, choose)
        assert.equal(page.status, 200)
        assert.match(page.text, /Continue as .*marissa/)
        const answer = await browser.send(linkOf(page, 'this_account'))
        assert.ok(responseOf(answer).query['code'])
      })

      // Covers GET /oauth/authorize: prompt=select_account
      it('allows signing in with another account', async () => {
        const browser = await signedIn(server)
        const page = await authorize(browser, choose)
        const login = await browser.send(linkOf(page, 'other_account'))
        assert.equal(login.status, 200, 'shows the form despite the session')
        const answer = await signInAs(browser, 'sam', 'dingo')
        assert.ok(responseOf(answer).query['code'])
        assert.match((await browser.send('/')).text, /sam/)
      })

      it('is skipped if sign-in is required', async () => {
        const browser = server.browser()
        assert.match((await authorize(browser, choose)).location().href, /\/login$/)
        assert.ok(responseOf(await signInAs(browser, 'marissa', 'koala')).query['code'])
      })

      it('is refused with prompt=none', async () => {
        const { query } = responseOf(
          await authorize(await signedIn(server), { ...choose, prompt: 'none select_account' }),
        )
        assert.equal(query['error'], 'invalid_request')
      })
    })

    // Covers compatibility: authorization request: A12 `id_token_hint`
    describe('id_token_hint (A12)', () => {
      const hintFor = async (userName: string, password: string): Promise<string> =>
        (await passwordTokens(server, { username: userName, password })).id_token
      const hinted = async (userName = 'sam', password = 'dingo') => ({
        ...AUTO_REQUEST,
        id_token_hint: await hintFor(userName, password),
      })

      it('accepts the signed-in user', async () => {
        const answer = await authorize(await signedIn(server), await hinted('marissa', 'koala'))
        assert.ok(responseOf(answer).query['code'])
      })

      it('accepts an expired hint with prompt=none', async () => {
        const query = await hinted('marissa', 'koala')
        server.clock.advance(90_000)
        const answer = await authorize(await signedIn(server), { ...query, prompt: 'none' })
        assert.ok(responseOf(answer).query['code'])
      })

      // Covers GET /oauth/authorize: id_token_hint
      it('requires sign-in if another user is signed in, and continues for the hinted one', async () => {
        const browser = await signedIn(server)
        const answer = await authorize(browser, await hinted())
        if (!isStandard) return assert.ok(responseOf(answer).query['code'])
        assert.match(answer.location().href, /\/login$/)
        assert.ok(responseOf(await signInAs(browser, 'sam', 'dingo')).query['code'])
      })

      it('refuses a sign-in as a different user', { skip: !isStandard && 'UAA ignores the hint' }, async () => {
        for (const browser of [await signedIn(server), server.browser()]) {
          const answer = await authorize(browser, await hinted())
          assert.match(answer.location().href, /\/login$/)
          const { query } = responseOf(await signInAs(browser, 'joel', 'wombat'))
          assert.deepEqual([query['error'], query['state'], query['code']], ['login_required', 's1', undefined])
        }
      })

      it('is kept in the URL for a retry in another browser', async () => {
        const first = server.browser()
        await authorize(first, await hinted())
        const target = hiddenFields((await first.send('/login')).text)['form_redirect_uri'] ?? ''
        const browser = server.browser()
        const asked = await browser.send(unescaped(target).slice(server.baseUrl.length))
        assert.match(asked.location().href, /\/login$/)
        assert.ok(responseOf(await signInAs(browser, 'sam', 'dingo')).query['code'])
      })

      it('refuses prompt=none if another user is signed in', async () => {
        const answer = await authorize(await signedIn(server), { ...(await hinted()), prompt: 'none' })
        const { query } = responseOf(answer)
        assert.equal(query['error'], isStandard ? 'login_required' : undefined)
      })

      const bad: readonly { name: string; hint: () => Promise<string> | string }[] = [
        { name: 'nonsense', hint: () => 'x.y.z' },
        { name: 'an access token', hint: async () => (await passwordTokens(server)).access_token },
        { name: 'a refresh token', hint: async () => (await passwordTokens(server)).refresh_token },
        {
          name: 'a modified ID token',
          hint: async () => {
            const [head, , signature] = (await hintFor('marissa', 'koala')).split('.')
            return [
              head,
              Buffer.from('{"sub":"x","iss":"http://localhost:8080"}').toString('base64url'),
              signature,
            ].join('.')
          },
        },
        {
          name: 'an unsigned ID token',
          hint: async () => {
            const [, body] = (await hintFor('marissa', 'koala')).split('.')
            return [Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url'), body, ''].join('.')
          },
        },
      ]
      for (const { name, hint } of bad) {
        it(`refuses ${name} in standard, and ignores it in uaa`, async () => {
          const answer = await authorize(await signedIn(server), { ...AUTO_REQUEST, id_token_hint: await hint() })
          const { query } = responseOf(answer)
          assert.equal(query['error'], isStandard ? 'invalid_request' : undefined)
          assert.equal(query['code'] === undefined, isStandard)
        })
      }
    })
  })
}
