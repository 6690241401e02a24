// response_mode=form_post in a real browser: a script submits the form; without JavaScript, the user presses a button.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { launchBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

describe('response_mode=form_post in a browser', () => {
  let server: TestServer
  let browser: Browser
  let site: string
  let base: string
  const received: URLSearchParams[] = []
  const client = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.method === 'POST') received.push(new URLSearchParams(Buffer.concat(chunks).toString()))
      response.setHeader('content-type', 'text/html').end('<title>Client</title>')
    })
  })
  before(async () => {
    const [port, clientPort] = [await freePort(), await freePort()]
    await new Promise<void>(resolve => client.listen(clientPort, '127.0.0.1', resolve))
    site = `http://127.0.0.1:${clientPort}`
    base = `http://localhost:${port}`
    const clients = authorizeBootstrap.clients.map(each =>
      each.client_id === 'hybrid' ? { ...each, redirect_uri: [`${site}/cb`] } : each,
    )
    server = await startServer({ config: { base_url: base, bootstrap: { ...authorizeBootstrap, clients } } })
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

  for (const javaScriptEnabled of [true, false]) {
    it(`submits the form ${javaScriptEnabled ? 'automatically' : 'with a button if JavaScript is disabled'}`, async () => {
      const context = await browser.newContext({ javaScriptEnabled })
      const page = await context.newPage()
      const query = new URLSearchParams({
        response_type: 'code id_token',
        response_mode: 'form_post',
        client_id: 'hybrid',
        redirect_uri: `${site}/cb`,
        scope: 'openid',
        state: 's "1"',
        nonce: 'n',
      })
      await page.goto(`${base}/oauth/authorize?${query.toString()}`)
      await page.fill('[name=username]', 'marissa')
      await page.fill('[name=password]', 'koala')
      await page.click('[type=submit]')
      if (!javaScriptEnabled) await page.click('#form_post button')
      await page.waitForURL(`${site}/cb`)
      const fields = received.at(-1)
      assert.deepEqual([fields?.get('state'), fields?.get('iss')], ['s "1"', base])
      assert.ok(fields?.get('code') && fields.get('id_token') && fields.get('session_state'))
      await context.close()
    })
  }
})
