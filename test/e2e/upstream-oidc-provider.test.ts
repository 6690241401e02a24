// A user with a browser who has an account at somebody else's server, which runs the package oidc-provider: with a key of
// ours and a code, with an ID token in a posted form, and with one in the fragment.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { Provider } from 'oidc-provider'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'
import { send } from '../support/visitor.ts'

type Claims = Readonly<Record<string, unknown>>

let application: Site
let callback: string
let browser: Browser
let server: ServerProcess
let elsewhere: Server

before(async () => {
  application = await startSite()
  callback = `${application.url}/callback`
  const [port, otherPort] = [await freePort(), await freePort()]
  const base = `http://localhost:${port}`
  const issuer = `http://127.0.0.1:${otherPort}`
  const record = (originKey: string, config: Claims) => ({
    originKey,
    type: 'oidc1.0',
    name: originKey,
    config: {
      relyingPartyId: originKey,
      linkText: `By ${originKey}`,
      scopes: ['openid', 'profile', 'email'],
      attributeMappings: { external_groups: 'groups', 'user.attribute.team': 'team' },
      ...config,
    },
  })
  const discoveryUrl = `${issuer}/.well-known/openid-configuration`
  const bootstrap = {
    clients: [
      {
        client_id: 'console',
        client_secret: 'console-secret',
        authorized_grant_types: ['authorization_code'],
        scope: ['openid', 'roles', 'user_attributes', 'app.read'],
        redirect_uri: [callback],
        autoapprove: true,
      },
    ],
    default_groups: ['openid', 'roles', 'user_attributes'],
    groups: [{ displayName: 'app.read' }],
    external_groups: ['signing', 'posting', 'fragment'].map(origin => ({
      displayName: 'app.read',
      externalGroup: 'staff',
      origin,
    })),
    identity_providers: [
      record('signing', { discoveryUrl, jwtClientAuthentication: { aud: issuer }, issuer }),
      record('posting', { discoveryUrl, responseType: 'id_token', issuer }),
      record('fragment', {
        authUrl: `${issuer}/auth`,
        tokenUrl: `${issuer}/token`,
        tokenKeyUrl: `${issuer}/jwks`,
        issuer,
        responseType: 'id_token',
      }),
    ],
  }
  server = await serve({ port, config: { database: 'sqlite::memory:', bootstrap } })
  const { keys } = (await send(`${base}/token_keys`)).json()
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'signing',
        redirect_uris: [`${base}/login/callback/signing`],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys }, // the package fetches nothing from loopback
      },
      ...['posting', 'fragment'].map(client_id => ({
        client_id,
        application_type: 'native' as const, // which may have addresses on loopback without https
        redirect_uris: [`${base}/login/callback/${client_id}`],
        response_types: ['id_token' as const],
        grant_types: ['implicit'],
        token_endpoint_auth_method: 'none' as const,
      })),
    ],
    claims: { openid: ['sub'], profile: ['given_name', 'groups', 'team'], email: ['email', 'email_verified'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        given_name: 'Pat',
        email: `${id}@corp.example`,
        email_verified: true,
        groups: ['staff', 'unmapped'],
        team: 'blue',
      }),
    }),
    cookies: { keys: ['for tests only'] },
  })
  const handle = provider.callback()
  elsewhere = createServer((request, response) => void handle(request, response))
  elsewhere.listen(otherPort, '127.0.0.1')
  await once(elsewhere, 'listening')
  browser = await launchBrowser()
})
after(async () => {
  await browser.close()
  await server.stop()
  elsewhere.close()
  application.stop()
})

describe('Sign-in with oidc-provider upstream', () => {
  for (const origin of ['signing', 'posting', 'fragment']) {
    // Partly covers attributeMappings: external_groups
    // Covers oidc and oauth provider config: responseType
    it(`by ${origin} copies groups and attributes`, async () => {
      const page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(10_000)
      const complaints: string[] = []
      page.on('pageerror', error => complaints.push(error.message))
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: 'console',
        redirect_uri: callback,
        state: 's1',
      })
      await page.goto(`${server.baseUrl}/oauth/authorize?${query.toString()}`)
      await page.getByRole('link', { name: `By ${origin}` }).click()
      await page.locator('input[name=login]').fill(`pat-${origin}`)
      await page.locator('input[name=password]').fill('anything')
      await page.getByRole('button').first().click()
      await page.getByRole('button', { name: /continue/i }).click()
      await page.waitForURL(url => url.href.startsWith(callback))
      const code = new URL(page.url()).searchParams.get('code') ?? ''
      const redeemed = await send(`${server.baseUrl}/oauth/token`, {
        basic: ['console', 'console-secret'],
        form: { grant_type: 'authorization_code', code, redirect_uri: callback },
      })
      assert.equal(redeemed.status, 200, redeemed.text)
      const { id_token: idToken, access_token: accessToken } = redeemed.json()
      const claims = decodeJwt<Claims>(String(idToken))
      assert.deepEqual(
        [claims['origin'], claims['roles'], claims['user_attributes']],
        [origin, ['app.read'], { team: ['blue'] }],
      )
      assert.ok(String(decodeJwt<Claims>(String(accessToken))['scope']).includes('app.read'))
      await page.goBack()
      assert.doesNotMatch(page.url(), /id_token=/)
      assert.deepEqual(complaints, [])
    })
  }
})
