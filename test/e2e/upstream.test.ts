// A user with a browser who has an account at another provider, which is another zone of the same process: from the
// application to our sign-in page, by its link to the other zone, through that one's sign-in and approval, and back.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'
import { send } from '../support/visitor.ts'

let application: Site
let callback: string
let browser: Browser
let server: ServerProcess

before(async () => {
  application = await startSite()
  callback = `${application.url}/callback`
  const port = await freePort()
  const zone = `http://partner.localhost:${port}`
  const bootstrap = {
    clients: [
      {
        client_id: 'console',
        client_secret: 'console-secret',
        authorized_grant_types: ['authorization_code'],
        scope: ['openid', 'email'],
        redirect_uri: [callback],
        autoapprove: true,
      },
      {
        client_id: 'inviter',
        client_secret: 'inviter-secret',
        authorized_grant_types: ['client_credentials'],
        authorities: ['scim.invite'],
        redirect_uri: [callback],
        scope: ['openid'],
      },
    ],
    default_groups: ['openid', 'email'],
    identity_providers: [
      {
        originKey: 'partner',
        type: 'oidc1.0',
        name: 'Partner',
        config: {
          discoveryUrl: `${zone}/.well-known/openid-configuration`,
          relyingPartyId: 'main',
          relyingPartySecret: 'main-secret',
          scopes: ['openid', 'email'],
          attributeMappings: { user_name: 'user_name' },
          linkText: 'Sign in as a partner',
          emailDomain: ['partner.example'],
        },
      },
    ],
    identity_zones: [
      {
        id: 'partner',
        subdomain: 'partner',
        name: 'Partner',
        bootstrap: {
          default_groups: ['openid', 'email'],
          clients: [
            {
              client_id: 'main',
              client_secret: 'main-secret',
              name: 'The main zone',
              authorized_grant_types: ['authorization_code'],
              scope: ['openid', 'email'],
              redirect_uri: [`http://localhost:${port}/login/callback/partner`],
            },
          ],
          users: ['pat', 'kim', 'lee'].map(userName => ({
            userName,
            password: 'platypus',
            emails: [{ value: `${userName}@partner.example` }],
          })),
        },
      },
    ],
  }
  server = await serve({ port, config: { database: 'sqlite::memory:', bootstrap } })
  browser = await launchBrowser()
})
after(async () => {
  await browser.close()
  await server.stop()
  application.stop()
})

describe('Sign-in with another zone as provider', () => {
  // Covers oidc and oauth provider config: discoveryUrl
  it('creates an account after approval there, and returns to the application', async () => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(10_000)
    const complaints: string[] = []
    page.on('console', message => complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(error.message))
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'console',
      redirect_uri: callback,
      scope: 'openid email',
      state: 's1',
      nonce: 'n1',
    })
    await page.goto(`${server.baseUrl}/oauth/authorize?${query.toString()}`)
    await page.getByRole('link', { name: 'Sign in as a partner' }).click()
    await page.waitForURL(url => url.hostname === 'partner.localhost' && url.pathname === '/login')
    await page.locator('#username').fill('pat')
    await page.getByLabel('Password', { exact: true }).fill('platypus')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(url => url.href.startsWith(callback))
    const answer = new URL(page.url()).searchParams
    assert.equal(answer.get('state'), 's1')
    const redeemed = await send(`${server.baseUrl}/oauth/token`, {
      basic: ['console', 'console-secret'],
      form: { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: callback },
    })
    assert.equal(redeemed.status, 200, redeemed.text)
    const claims = JSON.parse(
      Buffer.from(String(redeemed.json()['id_token']).split('.')[1] ?? '', 'base64url').toString(),
    )
    assert.equal(claims.user_name, 'pat')
    assert.equal(claims.origin, 'partner')
    assert.equal(claims.email, 'pat@partner.example')
    assert.equal(claims.nonce, 'n1')
    assert.deepEqual(claims.amr, ['pwd', 'ext', 'oauth'])
    assert.deepEqual(complaints, [])
  })

  it('asks which account to use if another tab signed in with another one', async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(10_000)
    const query = new URLSearchParams({ response_type: 'code', client_id: 'console', redirect_uri: callback })
    const leave = async (state: string) => {
      const page = await context.newPage()
      await page.goto(`${server.baseUrl}/oauth/authorize?${query.toString()}&state=${state}`)
      await page.getByRole('link', { name: 'Sign in as a partner' }).click()
      await page.waitForURL(url => url.hostname === 'partner.localhost' && url.pathname === '/login')
      return page
    }
    const signIn = async (page: Page, userName: string) => {
      await page.locator('#username').fill(userName)
      await page.getByLabel('Password', { exact: true }).fill('platypus')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(url => url.pathname === '/oauth/authorize' || url.hostname !== 'partner.localhost')
      const allow = page.getByRole('button', { name: 'Allow' })
      if (await allow.isVisible()) await allow.click()
    }
    const [first, second] = [await leave('first'), await leave('second')]
    await signIn(first, 'pat')
    await first.waitForURL(url => url.searchParams.get('state') === 'first')
    // The user changes the account at the provider, and goes on in the second tab.
    await first.goto(`${server.baseUrl.replace('//localhost', '//partner.localhost')}/logout.do`)
    await first.getByRole('button', { name: 'Sign out' }).last().click()
    await first.getByRole('link', { name: 'Sign in' }).click()
    await first.locator('#username').waitFor()
    await signIn(second, 'lee')
    await second.getByText('You are signed in as pat.').waitFor()
    await second.getByRole('link', { name: 'Use another account' }).click()
    await second.getByRole('link', { name: 'Sign in as a partner' }).click()
    await signIn(second, 'lee')
    await second.waitForURL(url => url.searchParams.get('state') === 'second')
    await second.goto(`${server.baseUrl}/profile`)
    assert.match(await second.innerText('main'), /lee@partner\.example/)
  })

  it('accepts an invitation, only for the invited account', async () => {
    const basic = ['inviter', 'inviter-secret'] as const
    const form = { grant_type: 'client_credentials' }
    const token = (await send(`${server.baseUrl}/oauth/token`, { basic, form })).json()['access_token']
    const invited = await fetch(`${server.baseUrl}/invite_users?redirect_uri=${encodeURIComponent(callback)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${String(token)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ emails: ['kim@partner.example'] }),
    })
    const { new_invites: invites } = (await invited.json()) as {
      new_invites: readonly { origin: string; inviteLink: string }[]
    }
    const [{ origin, inviteLink } = { origin: '', inviteLink: '' }] = invites
    assert.equal(origin, 'partner')
    const open = async (userName: string) => {
      const page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(10_000)
      await page.goto(inviteLink)
      await page.locator('#username').fill(userName)
      await page.getByLabel('Password', { exact: true }).fill('platypus')
      await page.getByRole('button', { name: 'Sign in' }).click()
      return page
    }
    const stranger = await open('pat') // who has allowed it before
    await stranger.getByText('Your provider did not confirm that you have the email address').waitFor()
    const page = await open('kim')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(callback)
    await page.goto(`${server.baseUrl}/profile`)
    assert.match(await page.innerText('main'), /kim@partner\.example/)
    await page.goto(inviteLink)
    assert.match(await page.innerText('.alert-error'), /has expired or was accepted already/)
  })
})
