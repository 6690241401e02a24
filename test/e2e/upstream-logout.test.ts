// Logout with another implementation of OpenID Connect, the package oidc-provider: a user who signs out here is signed out
// there, and one who signs out there is signed out here.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { Provider } from 'oidc-provider'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

const SECRET = 'a secret of the relying party'

/** A provider that signs everybody in as `pat`, and counts how often. */
async function startProvider(url: URL, base: string): Promise<{ signIns: number; errors: Error[]; server: Server }> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(url.origin, {
    clients: [
      {
        client_id: 'latchkey',
        client_secret: SECRET,
        redirect_uris: [`${base}/login/callback/real`],
        post_logout_redirect_uris: [`${base}/logout.do`],
        backchannel_logout_uri: `${base}/login/backchannel_logout/real`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'real' }] },
    // Its dispatcher refuses loopback, where this server is.
    fetch: (address, { headers, body }) => fetch(address, { method: 'POST', headers, body }),
    cookies: { keys: ['a key of the cookies'] },
    scopes: ['openid'],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(context, form) {
          const button = '<button type="submit" form="op.logoutForm" value="yes" name="logout">Leave</button>'
          context.body = `<!doctype html><title>Leave?</title>${form}${button}`
        },
        postLogoutSuccessSource(context) {
          context.body = '<!doctype html><title>Left</title>'
        },
      },
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc: { client, session } }) {
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
      grant.addOIDCScope('openid')
      await grant.save(600)
      return grant
    },
    ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, Session: 600, Grant: 600, Interaction: 600 },
  })
  const answer = provider.callback()
  const running = { signIns: 0, errors: [] as Error[], server: createServer() }
  provider.on('backchannel.error', (_context, error) => running.errors.push(error))
  running.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/interaction/') !== true) return void answer(request, response)
    running.signIns += 1
    return void provider.interactionFinished(request, response, { login: { accountId: 'pat' } })
  })
  running.server.listen(Number(url.port), '127.0.0.1')
  await once(running.server, 'listening')
  return running
}

describe('Logout with oidc-provider upstream', () => {
  let provider: Awaited<ReturnType<typeof startProvider>>
  let server: ServerProcess
  let browser: Browser
  let url: URL
  before(async () => {
    const [port, theirs] = [await freePort(), await freePort()]
    url = new URL(`http://127.0.0.1:${theirs}`)
    provider = await startProvider(url, `http://localhost:${port}`)
    const record = {
      originKey: 'real',
      type: 'oidc1.0',
      name: 'Real',
      config: {
        discoveryUrl: `${url.origin}/.well-known/openid-configuration`,
        relyingPartyId: 'latchkey',
        relyingPartySecret: SECRET,
        linkText: 'Sign in elsewhere',
      },
    }
    const config = { database: 'sqlite::memory:', bootstrap: { identity_providers: [record] } }
    server = await serve({ port, config })
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    await server.stop()
    provider.server.closeAllConnections()
    provider.server.close()
    assert.deepEqual(provider.errors, [])
  })

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${server.baseUrl}/login`)
    await page.getByRole('link', { name: 'Sign in elsewhere' }).click()
    await page.waitForURL(`${server.baseUrl}/`)
  }
  async function newPage(): Promise<Page> {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(10_000)
    return page
  }

  it('signs a user out at the provider too, and returns', async () => {
    const page = await newPage()
    await signIn(page)
    const before = provider.signIns
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(each => each.origin === url.origin)
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.waitForURL(`${server.baseUrl}/login`)
    await signIn(page)
    assert.equal(provider.signIns, before + 1) // who is signed in there is not asked again
  })

  it('signs a user out when the provider does, in this browser only', async () => {
    const [page, elsewhere] = [await newPage(), await newPage()]
    await signIn(page)
    await signIn(elsewhere)
    await page.goto(`${url.origin}/session/end`)
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.waitForURL(each => each.pathname.startsWith('/session/end/success'))
    await page.goto(`${server.baseUrl}/home`)
    assert.equal(new URL(page.url()).pathname, '/login')
    await elsewhere.goto(`${server.baseUrl}/home`)
    assert.equal(new URL(elsewhere.url()).pathname, '/home')
  })
})
