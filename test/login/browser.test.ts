// The sign-in flow in a real browser, with its own handling of forms and cookies.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { authorizeBootstrap } from '../support/authorize.ts'
import { launchBrowser } from '../support/browser.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { modesInBrowser } from '../support/thinning.ts'

const listen = (server: Server, port = 0): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)) // no pipe
  })

for (const mode of modesInBrowser('standard')) {
  describe(`Sign-in in a browser in ${mode}`, () => {
    let server: TestServer
    let client: Server
    let browser: Browser
    let base: string
    let site: string
    const contexts: BrowserContext[] = []

    const newPage = async () => {
      const context = await browser.newContext()
      contexts.push(context)
      return context.newPage()
    }

    before(async () => {
      // The client is another site: 127.0.0.1 is not localhost.
      client = createServer((request, response) => {
        response.setHeader('content-type', 'text/html')
        const { searchParams } = new URL(request.url ?? '/', site)
        const fields = [...searchParams].map(
          ([name, value]) => `<input type="hidden" name="${name}" value="${value.replaceAll('"', '&quot;')}">`,
        )
        const action = request.url?.startsWith('/logout') ? 'logout.do' : 'oauth/authorize'
        response.end(
          `<title>Client</title><form method="post" action="${base}/${action}">${fields.join('')}<button id="go">Go</button></form>`,
        )
      })
      site = `http://127.0.0.1:${await listen(client)}`
      const free = createServer()
      const port = await listen(free)
      await new Promise(resolve => free.close(resolve))
      base = `http://localhost:${port}`
      const clients = authorizeBootstrap.clients.map(each =>
        each.client_id === 'app'
          ? { ...each, redirect_uri: [`${site}/cb`], post_logout_redirect_uris: [`${site}/bye`] }
          : each,
      )
      server = await startServer({ mode, config: { base_url: base, bootstrap: { ...authorizeBootstrap, clients } } })
      await server.app.http.listen({ host: '127.0.0.1', port })
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      client.closeAllConnections()
      client.close()
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const request = (more: Readonly<Record<string, string>> = {}): string =>
      new URLSearchParams({
        response_type: 'code',
        client_id: 'app',
        redirect_uri: `${site}/cb`,
        scope: 'openid cloud.read',
        state: 's1',
        ...more,
      }).toString()

    const signIn = async (page: Awaited<ReturnType<typeof newPage>>, password = 'koala') => {
      await page.fill('#username', 'marissa')
      await page.fill('#password', password)
      await page.click('input[type=submit]')
    }

    it('goes from the client through sign-in and approval back to the client', async () => {
      const page = await newPage()
      await page.goto(`${base}/oauth/authorize?${request()}`)
      assert.equal(page.url(), `${base}/login`)
      await signIn(page, 'wrong')
      assert.match(
        await page.innerText('.alert-error'),
        mode === 'uaa' ? /credentials are invalid/ : /Incorrect user name or password/,
      )
      assert.equal(await page.inputValue('#username'), mode === 'uaa' ? '' : 'marissa')
      assert.doesNotMatch(page.url(), /marissa/)
      await signIn(page)
      assert.match(await page.innerText('h1'), mode === 'uaa' ? /Application Auth/ : /The application asks for access/)
      await page.uncheck('input[value="scope.cloud.read"]')
      await page.click('#authorize')
      const answer = new URL(page.url())
      assert.equal(`${answer.origin}${answer.pathname}`, `${site}/cb`)
      assert.equal(answer.searchParams.get('state'), 's1')
      assert.match(answer.searchParams.get('code') ?? '', /^[\w-]{32}$/)

      await page.goto(`${base}/oauth/authorize?${request()}`)
      assert.equal(new URL(page.url()).pathname, '/cb', 'the second request needs no approval')

      await page.goto(`${base}/`)
      if (mode === 'uaa') await page.click('.dropdown-trigger')
      await page.click(mode === 'uaa' ? '.dropdown-content a[href$="logout.do"]' : 'form.person button')
      assert.equal(page.url(), `${base}/login`)
      await page.goto(`${base}/home`)
      assert.equal(page.url(), `${base}/login`, 'signed out')
    })

    it('returns a denial to the client', async () => {
      const page = await newPage()
      await page.goto(`${base}/oauth/authorize?${request({ scope: 'openid profile' })}`)
      await signIn(page)
      await page.click('#deny')
      assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied')
    })

    it('approves on Enter in a checkbox', async () => {
      const page = await newPage()
      await page.goto(`${base}/oauth/authorize?${request({ scope: 'openid profile' })}`)
      await signIn(page)
      await page.press('input[type=checkbox] >> nth=0', 'Enter')
      assert.ok(new URL(page.url()).searchParams.has('code'))
    })

    if (mode !== 'standard') return

    it('recognizes the session in a cross-site POST to /oauth/authorize', async () => {
      const page = await newPage()
      await page.goto(`${base}/login`)
      await signIn(page)
      await page.goto(`${site}/post?${request({ scope: 'openid email', prompt: 'none' })}`)
      await page.click('#go')
      assert.equal(new URL(page.url()).searchParams.get('error'), 'consent_required', 'the session was recognized')
      await page.goto(`${base}/home`)
      assert.equal(page.url(), `${base}/home`)
    })

    it('asks for confirmation of a cross-site POST to /logout.do', async () => {
      const page = await newPage()
      await page.goto(`${base}/login`)
      await signIn(page)
      await page.goto(`${site}/logout?client_id=app`)
      await page.click('#go')
      assert.match(await page.innerText('h1'), /Sign out\?/)
      await page.click('#logout_confirmation button')
      assert.match(await page.innerText('h1'), /You are signed out/)
      await page.goto(`${base}/home`)
      assert.equal(page.url(), `${base}/login`)
    })
  })
}
