// The device page in a real browser without JavaScript.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startListening } from '../support/server.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

describe('Device page in a browser without JavaScript', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  before(async () => {
    const frame = {
      client_id: 'frame',
      name: 'Photo frame',
      allowpublic: true,
      authorized_grant_types: [GRANT],
      scope: ['openid', 'cloud.read'],
    }
    const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, frame] }
    ;({ server, base } = await startListening(() => ({ config: { bootstrap } })))
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  async function begin() {
    const answer = await server.send('/oauth/device_authorization', { form: { client_id: 'frame' } })
    return answer.json<{ device_code: string; user_code: string; verification_uri_complete: string }>()
  }
  const poll = async (code: string) =>
    (await server.token({ grant_type: GRANT, device_code: code, client_id: 'frame' })).json()

  async function decide(page: Page, button: '#authorize' | '#deny'): Promise<string> {
    await page.click(button)
    return (await page.textContent('h1')) ?? ''
  }

  it('approves or denies the device, through sign-in from the link or by typing the code', async () => {
    const codes = await begin()
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } })
    const page = await context.newPage()
    await page.goto(codes.verification_uri_complete)
    await page.fill('[name=username]', 'marissa')
    await page.fill('[name=password]', 'koala')
    await page.click('[type=submit]')
    assert.equal(await page.inputValue('#user_code'), codes.user_code)
    assert.equal((await poll(codes.device_code))['error'], 'authorization_pending')
    await page.click('#device [type=submit]')
    assert.equal(await page.textContent('#device_code'), codes.user_code)
    assert.match((await page.textContent('h1')) ?? '', /Photo frame/)
    assert.match(await decide(page, '#authorize'), /is connected/)
    server.clock.advance(5)
    assert.equal(typeof (await poll(codes.device_code))['access_token'], 'string')

    const refused = await begin()
    await page.goto(`${base}/device`)
    await page.fill('#user_code', 'nothing')
    await page.press('#user_code', 'Enter')
    assert.match((await page.textContent('[role=alert]')) ?? '', /not valid/)
    await page.fill('#user_code', refused.user_code.toLowerCase())
    await page.press('#user_code', 'Enter')
    assert.match(await decide(page, '#deny'), /refused/)
    assert.equal((await poll(refused.device_code))['error'], 'access_denied')
    await context.close()
  })
})
