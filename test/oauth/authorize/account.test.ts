import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, passwordTokens } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

/** Signs in by the form that the browser was sent to, and opens what it leads to. */
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

  describe(`which account is meant, ${mode}`, () => {
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
    describe('by prompt=select_account (A9)', { skip: !isStandard && 'UAA knows none and login only' }, () => {
      it('is shown, and the current account can continue', async () => {
        const browser = await signedIn(server)
        const page = await authorize(browser, choose)
        assert.equal(page.status, 200)
        assert.match(page.text, /Continue as .*marissa/)
        const answer = await browser.send(linkOf(page, 'this_account'))
        assert.ok(responseOf(answer).query['code'])
      })

      // Covers GET /oauth/authorize: prompt=select_account
      it('is asked, and another account may go on', async () => {
        const browser = await signedIn(server)
        const page = await authorize(browser, choose)
        const login = await browser.send(linkOf(page, 'other_account'))
        assert.equal(login.status, 200, 'a form, though a user is signed in')
        const answer = await signInAs(browser, 'sam', 'dingo')
        assert.ok(responseOf(answer).query['code'])
        assert.match((await browser.send('/')).text, /sam/)
      })

      it('is not asked of a user who is about to sign in', async () => {
        const browser = server.browser()
        assert.match((await authorize(browser, choose)).location().href, /\/login$/)
        assert.ok(responseOf(await signInAs(browser, 'marissa', 'koala')).query['code'])
      })

      it('cannot be asked in silence', async () => {
        const { query } = responseOf(
          await authorize(await signedIn(server), { ...choose, prompt: 'none select_account' }),
        )
        assert.equal(query['error'], 'invalid_request')
      })
    })

    // Covers compatibility: authorization request: A12 `id_token_hint`
    describe('by id_token_hint (A12)', () => {
      const hintFor = async (userName: string, password: string): Promise<string> =>
        (await passwordTokens(server, { username: userName, password })).id_token
      const hinted = async (userName = 'sam', password = 'dingo') => ({
        ...AUTO_REQUEST,
        id_token_hint: await hintFor(userName, password),
      })

      it('is the one who is there', async () => {
        const answer = await authorize(await signedIn(server), await hinted('marissa', 'koala'))
        assert.ok(responseOf(answer).query['code'])
      })

      it('is the one who is there, also by an expired hint and in silence', async () => {
        const query = await hinted('marissa', 'koala')
        server.clock.advance(90_000)
        const answer = await authorize(await signedIn(server), { ...query, prompt: 'none' })
        assert.ok(responseOf(answer).query['code'])
      })

      // Covers GET /oauth/authorize: id_token_hint
      it('makes another user sign in, and continues with the right one', async () => {
        const browser = await signedIn(server)
        const answer = await authorize(browser, await hinted())
        if (!isStandard) return assert.ok(responseOf(answer).query['code'])
        assert.match(answer.location().href, /\/login$/)
        assert.ok(responseOf(await signInAs(browser, 'sam', 'dingo')).query['code'])
      })

      it('refuses another who signs in all the same', { skip: !isStandard && 'UAA ignores the hint' }, async () => {
        for (const browser of [await signedIn(server), server.browser()]) {
          const answer = await authorize(browser, await hinted())
          assert.match(answer.location().href, /\/login$/)
          const { query } = responseOf(await signInAs(browser, 'joel', 'wombat'))
          assert.deepEqual([query['error'], query['state'], query['code']], ['login_required', 's1', undefined])
        }
      })

      it('may sign in at the second attempt, from the way back of the first', async () => {
        const first = server.browser()
        await authorize(first, await hinted())
        const target = hiddenFields((await first.send('/login')).text)['form_redirect_uri'] ?? ''
        const browser = server.browser()
        const asked = await browser.send(unescaped(target).slice(server.baseUrl.length))
        assert.match(asked.location().href, /\/login$/)
        assert.ok(responseOf(await signInAs(browser, 'sam', 'dingo')).query['code'])
      })

      it('refuses another in silence', async () => {
        const answer = await authorize(await signedIn(server), { ...(await hinted()), prompt: 'none' })
        const { query } = responseOf(answer)
        assert.equal(query['error'], isStandard ? 'login_required' : undefined)
      })

      const bad: readonly { name: string; hint: () => Promise<string> | string }[] = [
        { name: 'nonsense', hint: () => 'x.y.z' },
        { name: 'an access token', hint: async () => (await passwordTokens(server)).access_token },
        { name: 'a refresh token', hint: async () => (await passwordTokens(server)).refresh_token },
        {
          name: 'a changed ID token',
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
        it(`refuses ${name} in standard, and ignores it in UAA`, async () => {
          const answer = await authorize(await signedIn(server), { ...AUTO_REQUEST, id_token_hint: await hint() })
          const { query } = responseOf(answer)
          assert.equal(query['error'], isStandard ? 'invalid_request' : undefined)
          assert.equal(query['code'] === undefined, isStandard)
        })
      }
    })
  })
}
