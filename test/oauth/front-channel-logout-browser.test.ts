// Front-channel logout in a real browser: pages of clients are loaded in sandboxed frames before the redirect.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { defaultBootstrap, startListening } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'

describe('Front-channel logout in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  let app: Site
  let site: string
  const requested: string[] = []
  const answer: RequestListener = (request, response) => {
    requested.push(request.url ?? '')
    if (request.url?.startsWith('/silent') === true) return // never answers
    const isEvil = request.url?.startsWith('/out') === true
    const script = isEvil ? `<script>try { top.location = '/stolen' } catch {}</script>` : ''
    response.setHeader('content-type', 'text/html').end(`<title>App</title>${script}`)
  }
  before(async () => {
    app = await startSite(answer)
    site = app.url
    const client = (id: string, path: string) => ({
      client_id: id,
      client_secret: 'secret',
      authorized_grant_types: ['authorization_code'],
      scope: ['openid'],
      redirect_uri: [`${site}/${id}`],
      post_logout_redirect_uris: [`${site}/bye`],
      autoapprove: true,
      frontchannel_logout_uri: `${site}${path}`,
      frontchannel_logout_session_required: true,
    })
    const clients = [client('shop', '/out'), client('bank', '/silent')]
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: { ...defaultBootstrap, clients } } })))
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    app.stop()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  for (const { name, javaScriptEnabled } of [
    { name: 'with JavaScript', javaScriptEnabled: true },
    { name: 'without JavaScript', javaScriptEnabled: false },
  ]) {
    it(`loads the pages of clients and continues ${name}, even if one never answers`, async () => {
      const context = await browser.newContext({ javaScriptEnabled })
      const page = await context.newPage()
      const enter = (id: string): string =>
        `${base}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: id, redirect_uri: `${site}/${id}`, scope: 'openid' })}`
      await page.goto(enter('shop'))
      await page.fill('input[name=username]', 'marissa')
      await page.fill('input[name=password]', 'koala')
      await page.press('input[name=password]', 'Enter')
      await page.waitForURL(url => url.href.startsWith(`${site}/shop`))
      const code = new URL(page.url()).searchParams.get('code') ?? ''
      await page.goto(enter('bank'))
      const form = { grant_type: 'authorization_code', code, redirect_uri: `${site}/shop` }
      const { id_token: hint } = (await server.token(form, { basic: ['shop', 'secret'] })).json<{ id_token: string }>()
      requested.length = 0
      const query = new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: `${site}/bye`, state: 's1' })
      await page.goto(`${base}/logout.do?${query}`, { waitUntil: 'commit' })
      // Without JavaScript, the page waits for the frames unless the user follows the link.
      if (!javaScriptEnabled) await page.click('#onward', { noWaitAfter: true })
      await page.waitForURL(`${site}/bye?state=s1`)
      const paths = requested.map(path => path.split('?')[0])
      assert.ok(paths.includes('/out') && paths.includes('/silent'), paths.join())
      assert.ok(requested.some(path => /^\/out\?iss=.+&sid=.+/.test(path)))
      assert.ok(!paths.includes('/stolen'), 'a frame cannot navigate the page')
      await page.goto(`${base}/home`)
      assert.equal(new URL(page.url()).pathname, '/login')
      await context.close()
    })
  }
})
