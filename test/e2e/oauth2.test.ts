// A user with a browser who has an account at a provider of OAuth 2.0: from the application to our sign-in page, by its link
// to the provider, and back to the application.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { githubRecord, OCTOCAT, startGithub } from '../support/github.ts'
import type { Github } from '../support/github.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { send } from '../support/visitor.ts'

const CONSOLE = {
  client_id: 'console',
  client_secret: 'console-secret',
  authorized_grant_types: ['authorization_code'],
  scope: ['openid'],
  autoapprove: true,
}

describe('Sign-in with an OAuth 2.0 provider', () => {
  let github: Github
  let server: ServerProcess
  let browser: Browser
  let callback: string
  before(async () => {
    github = await startGithub()
    callback = `${github.url}/application` // answers nothing; the browser shows where it was led
    const clients = [{ ...CONSOLE, redirect_uri: [callback] }]
    const bootstrap = { clients, default_groups: ['openid'], identity_providers: [githubRecord(github)] }
    server = await serve({ config: { database: 'sqlite::memory:', bootstrap } })
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    await server.stop()
    await github.stop()
  })

  it('creates an account, and returns to the application', async () => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(10_000)
    const query = { response_type: 'code', client_id: 'console', redirect_uri: callback, scope: 'openid', state: 's1' }
    await page.goto(`${server.baseUrl}/oauth/authorize?${new URLSearchParams(query).toString()}`)
    await page.getByRole('link', { name: 'GitHub' }).click()
    await page.getByRole('link', { name: 'Authorize' }).click()
    await page.waitForURL(url => url.href.startsWith(callback))
    const answer = new URL(page.url()).searchParams
    assert.equal(answer.get('state'), 's1')
    const redeemed = await send(`${server.baseUrl}/oauth/token`, {
      basic: ['console', 'console-secret'],
      form: { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: callback },
    })
    assert.equal(redeemed.status, 200, redeemed.text)
    const [, payload = ''] = String(redeemed.json()['id_token']).split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    assert.deepEqual([claims.user_name, claims.origin], [OCTOCAT.login, 'github'])
    await page.goto(`${server.baseUrl}/profile`)
    assert.match(await page.innerText('main'), /octocat/)
  })

  it('shows an error if the provider returns no user, and can be repeated', async () => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(10_000)
    github.answers.user = { body: { login: 'octocat' } }
    await page.goto(`${server.baseUrl}/login`)
    await page.getByRole('link', { name: 'GitHub' }).click()
    await page.getByRole('link', { name: 'Authorize' }).click()
    assert.match(await page.innerText('main'), /The sign-in data from GitHub could not be verified/)
    github.answers.user = undefined
    await page.getByRole('link', { name: 'Try again' }).click()
    await page.getByRole('link', { name: 'GitHub' }).click()
    await page.getByRole('link', { name: 'Authorize' }).click()
    await page.waitForURL(url => url.href.startsWith(server.baseUrl))
    assert.match(await page.innerText('body'), /octocat/)
  })
})
