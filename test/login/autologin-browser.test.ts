// Autologin in a real browser: an application redirects to it from another site; embedding it has no effect.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { authorizeBootstrap } from '../support/authorize.ts'
import { launchBrowser } from '../support/browser.ts'
import type { TestServer } from '../support/server.ts'
import { startListening } from '../support/server.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'
import { modesInBrowser } from '../support/thinning.ts'

for (const mode of modesInBrowser('uaa')) {
  describe(`Autologin in a browser in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    let base: string
    /** The URL of another site, and its response: a redirect or HTML. */
    let elsewhere: string
    let answer: { readonly location?: string; readonly html?: string } = {}
    let other: Site
    before(async () => {
      other = await startSite((_, response) => {
        const { location, html = '' } = answer
        response.writeHead(location === undefined ? 200 : 302, {
          'content-type': 'text/html',
          ...(location && { location }),
        })
        response.end(html)
      })
      elsewhere = other.url
      ;({ server, base } = await startListening(url => {
        const clients = authorizeBootstrap.clients.map(each =>
          each.client_id === 'auto' ? { ...each, redirect_uri: [`${url}/healthz`] } : each,
        )
        return { mode, config: { bootstrap: { ...authorizeBootstrap, clients } } }
      }))
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      other.stop()
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    async function codeOf(username: string, password: string): Promise<string> {
      const got = await server.send('/autologin', { form: { username, password }, basic: ['auto', 'auto-secret'] })
      return String(got.json()['code'])
    }
    const newPage = async (): Promise<Page> => (await browser.newContext()).newPage()
    const urlWith = (path: string, query: Readonly<Record<string, string>>): string =>
      `${base}${path}?${new URLSearchParams(query).toString()}`

    it('signs in on a redirect from the application', async () => {
      const page = await newPage()
      answer = { location: urlWith('/autologin', { client_id: 'auto', code: await codeOf('marissa', 'koala') }) }
      await page.goto(elsewhere)
      assert.equal(page.url(), `${base}/home`)
      await page.goto(`${base}/profile`)
      assert.match(await page.innerText('body'), /marissa/)
    })

    it('returns an authorization code to the application', async () => {
      const page = await newPage()
      const request = { response_type: 'code', client_id: 'auto', redirect_uri: `${base}/healthz`, state: 's1' }
      answer = { location: urlWith('/oauth/authorize', { ...request, code: await codeOf('marissa', 'koala') }) }
      await page.goto(elsewhere)
      const arrived = new URL(page.url())
      assert.deepEqual([arrived.pathname, arrived.searchParams.get('state')], ['/healthz', 's1'])
    })

    it('does not sign in when embedded in another page', async () => {
      const page = await newPage()
      const sources = await Promise.all(
        ['img', 'iframe', 'script'].map(async tag => {
          const url = urlWith('/autologin', { client_id: 'auto', code: await codeOf('joel', 'wombat') })
          return `<${tag} src="${url.replaceAll('&', '&amp;')}"></${tag}>`
        }),
      )
      answer = { html: `<!doctype html><title>x</title>${sources.join('')}` }
      await page.goto(elsewhere, { waitUntil: 'load' })
      await page.goto(`${base}/home`)
      assert.equal(page.url(), `${base}/login`)
    })

    it('warns a user who is signed in with another account, in standard', async () => {
      const page = await newPage()
      answer = { location: urlWith('/autologin', { client_id: 'auto', code: await codeOf('marissa', 'koala') }) }
      await page.goto(elsewhere)
      answer = { location: urlWith('/autologin', { client_id: 'auto', code: await codeOf('joel', 'wombat') }) }
      await page.goto(elsewhere)
      if (mode === 'standard') assert.match(await page.innerText('main'), /signed in with another account/)
      await page.goto(`${base}/profile`)
      assert.match(await page.innerText('body'), mode === 'standard' ? /marissa/ : /joel/)
    })
  })
}
