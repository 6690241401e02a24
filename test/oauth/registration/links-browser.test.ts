// The approval page of a self-registered client in a real browser: its warning and links.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import { register, registered, startRegistrationServer } from '../../support/registration.ts'
import type { TestServer } from '../../support/server.ts'
import type { Site } from '../../support/site.ts'
import { startSite } from '../../support/site.ts'

describe('Approval page of a self-registered client in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  let app: Site
  let site: string
  before(async () => {
    const port = await freePort()
    base = `http://localhost:${port}`
    server = await startRegistrationServer({ mode: 'open' }, { config: { base_url: base } })
    await server.app.http.listen({ host: '127.0.0.1', port })
    app = await startSite()
    site = app.url
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    app.stop()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('warns that the client is unverified, opens its links without referrer, and continues on approval', async () => {
    const { client_id } = registered(
      await register(server, {
        client_name: 'A new application',
        redirect_uris: [`${site}/cb`, 'com.example.app:/cb'],
        token_endpoint_auth_method: 'none',
        logo_uri: 'https://logo.example/logo.png',
        policy_uri: 'https://policy.example/privacy',
        tos_uri: 'https://terms.example/',
      }),
    )
    const context = await browser.newContext()
    const requested: { readonly url: string; readonly referrer: string | undefined }[] = []
    context.on('request', request => requested.push({ url: request.url(), referrer: request.headers()['referer'] }))
    const page = await context.newPage()
    const query = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: `${site}/cb`,
      scope: 'openid',
      state: 'kept',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    })
    await page.goto(`${base}/oauth/authorize?${query.toString()}`)
    await page.fill('[name=username]', 'marissa')
    await page.fill('[name=password]', 'koala')
    await page.click('[type=submit]')
    const note = (await page.textContent('#self_registered')) ?? ''
    assert.match(note, /registered itself.*com\.example\.app:\/cb/s)
    assert.deepEqual(await page.locator('#client_links a').allTextContents(), ['Privacy policy', 'Terms of service'])
    const [opened] = await Promise.all([context.waitForEvent('page'), page.click('#client_links a >> nth=0')])
    assert.equal(await opened.evaluate('window.opener'), null)
    const policy = requested.find(({ url }) => url === 'https://policy.example/privacy')
    assert.deepEqual([policy !== undefined, policy?.referrer], [true, undefined])
    assert.ok(!requested.some(({ url }) => url.includes('logo.example')), 'no external image is loaded')
    await opened.close()
    await page.click('#authorize')
    await page.waitForURL(`${site}/cb?*`)
    assert.equal(new URL(page.url()).searchParams.get('state'), 'kept')
    await context.close()
  })
})
