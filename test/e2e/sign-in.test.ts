// A user with a browser, an application with a library that others wrote, and the real process between them: once with
// nothing configured, once with a file, once as an unchanged client of the reference system would find it. With
// LATCHKEY_SHOTS every page seen is also written there as pictures, for a phone and a desktop, light and dark.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { waitUntilTrue, launchBrowser } from '../support/browser.ts'
import { serve } from '../support/process.ts'
import type { ProcessOptions, ServerProcess } from '../support/process.ts'
import { IS_FULL } from '../support/thinning.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
// Runs in the browser, where this program's types know nothing.
const VIOLATIONS = `axe.run(document, {
  runOnly: { type: 'tag', values: ${JSON.stringify(AXE_TAGS)} }, resultTypes: ['violations'],
}).then(result => result.violations.flatMap(({ id, nodes }) => nodes.map(node => id + ': ' + node.target.join(' '))))`
const SHOTS = process.env['LATCHKEY_SHOTS']
const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } }

/** The relying party: a redirect target on loopback. */
const application = createServer((request, response) => {
  if (request.url?.startsWith('/favicon')) return response.writeHead(204).end()
  return response
    .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    .end('<!doctype html><html lang="en"><title>Application</title><p>Back at the application')
})
let origin: string
let browser: Browser

before(async () => {
  application.listen(0, '127.0.0.1')
  await once(application, 'listening')
  origin = `http://127.0.0.1:${(application.address() as AddressInfo).port}` // it listens on TCP
  browser = await launchBrowser()
})
after(async () => {
  await browser.close()
  application.closeAllConnections()
  application.close()
})

const bootstrap = {
  groups: [{ displayName: 'cloud.read', description: 'Read the cloud' }],
  clients: [
    {
      client_id: 'console',
      client_secret: 'console-secret',
      name: 'Cloud Console',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      scope: ['openid', 'profile', 'email', 'cloud.read'],
      authorities: ['jobs.run'],
      redirect_uri: ['http://127.0.0.1/callback'],
    },
    {
      client_id: 'second',
      client_secret: 'second-secret',
      name: 'Second application',
      authorized_grant_types: ['authorization_code'],
      scope: ['openid'],
      redirect_uri: ['http://127.0.0.1/callback'],
    },
    {
      client_id: 'resource',
      client_secret: 'resource-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.resource', 'uaa.resource'],
    },
  ],
  users: [
    {
      userName: 'marissa',
      password: 'koala',
      emails: [{ value: 'marissa@example.org' }],
      name: { givenName: 'Marissa', familyName: 'Bloggs' },
      groups: ['cloud.read'],
    },
  ],
}

interface Deployment {
  readonly name: string
  readonly options: () => ProcessOptions
  readonly clientId: string
  readonly clientSecret: string
  readonly clientName: string
  /** The client for introspection, if not the client itself. */
  readonly resource?: readonly [clientId: string, secret: string]
  readonly isUaa: boolean
  /** Whether there is a file: with a second client and a post-logout redirect URI. */
  readonly isConfigured: boolean
}

const deployments: readonly Deployment[] = [
  {
    name: 'the playground',
    options: () => ({ args: ['--database', 'sqlite::memory:'] }),
    clientId: 'app',
    clientSecret: 'appclientsecret',
    clientName: 'Playground application',
    isUaa: false,
    isConfigured: false,
  },
  // Covers configuration file: `base_url` with a path; database sqlite::memory:
  {
    name: 'a configuration file',
    options: () => ({ config: { database: 'sqlite::memory:', bootstrap: knowing(origin) }, basePath: '/auth' }),
    clientId: 'console',
    clientSecret: 'console-secret',
    clientName: 'Cloud Console',
    resource: ['resource', 'resource-secret'],
    isUaa: false,
    isConfigured: true,
  },
  // Covers configuration file: service; compatibility
  {
    name: 'a configuration file for clients of UAA',
    options: () => ({
      config: {
        database: 'sqlite::memory:',
        bootstrap: knowing('http://127.0.0.1:*'),
        service: 'uaa',
        compatibility: 'uaa',
      },
      basePath: '/uaa',
    }),
    clientId: 'console',
    clientSecret: 'console-secret',
    clientName: 'Cloud Console',
    resource: ['resource', 'resource-secret'],
    isUaa: true,
    isConfigured: true,
  },
]

/** With the application at this origin: the redirect URIs of the clients for sign-in and logout. */
const knowing = (place: string) => ({
  ...bootstrap,
  clients: bootstrap.clients.map(client => ({
    ...client,
    ...(client.redirect_uri && { redirect_uri: [`${place}/callback`, `${place}/bye`] }),
    post_logout_redirect_uris: [`${origin}/bye`],
  })),
})

const issuerOf = ({ isUaa }: Deployment, { baseUrl }: ServerProcess): URL =>
  new URL(isUaa ? `${baseUrl}/oauth/token` : baseUrl)

/** The library, configured by discovery, which checks the issuer; signatures of ID tokens are verified too. */
const discover = (deployment: Deployment, server: ServerProcess, [id, secret] = credentialsOf(deployment)) =>
  openid.discovery(issuerOf(deployment, server), id, secret, openid.ClientSecretBasic(secret), {
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  })

const credentialsOf = ({ clientId, clientSecret }: Deployment): readonly [string, string] => [clientId, clientSecret]

/** A new authorization request, and what its answer is checked against. */
async function newRequest(config: openid.Configuration, extra: Readonly<Record<string, string>> = {}) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const expectedState = openid.randomState()
  const expectedNonce = openid.randomNonce()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: `${origin}/callback`,
    scope: 'openid profile email cloud.read',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
    ...extra,
  })
  return { url: url.href, checks: { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true } }
}

/** A window, and what the browser complained of in it. */
interface Window {
  readonly page: Page
  readonly complaints: string[]
  /** Waits for the redirect to the application; the response parameters, in query or fragment. */
  answer(): Promise<URL>
  /** Checks the page: accessibility, width and browser errors; takes screenshots if requested. */
  inspect(name: string): Promise<void>
}

async function openWindow(deployment: Deployment, options: BrowserContextOptions = {}): Promise<Window> {
  const context = await browser.newContext({ viewport: SIZES.desktop, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const complaints: string[] = []
  page.on('console', message => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', error => complaints.push(error.message))
  page.on('response', response => {
    if (response.status() >= 400 && response.request().resourceType() !== 'document') complaints.push(response.url())
  })
  return {
    page,
    complaints,
    async answer() {
      await page.waitForURL(url => url.origin === origin)
      return new URL(page.url().replace('#', page.url().includes('?') ? '&' : '?'))
    },
    async inspect(name) {
      assert.deepEqual(complaints, [], name)
      assert.ok(await page.evaluate('Array.from(document.scripts).every(each => each.src.startsWith(location.origin))'))
      for (const [size, viewport] of Object.entries(SIZES)) {
        await page.setViewportSize(viewport)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          if (SHOTS) await takePicture(page, join(SHOTS, deployment.name, `${name}-${size}-${colorScheme}.png`))
          // Each size and each scheme once; that every state holds in all four is the business of the tests of the pages.
          if ((size === 'phone') !== (colorScheme === 'light')) continue
          await page.evaluate(AXE) // not as an element, which the page's own policy would rightly stop
          assert.deepEqual(await page.evaluate(VIOLATIONS), [], `${name}, ${size}, ${colorScheme}`)
        }
        assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, `${name}, ${size}`)
      }
      assert.deepEqual(complaints, [], name)
    },
  }
}

async function takePicture(page: Page, path: string): Promise<void> {
  mkdirSync(join(path, '..'), { recursive: true })
  await page.screenshot({ path, fullPage: true })
}

async function typeCredentials(page: Page, password: string): Promise<void> {
  await page.locator('#username').fill('marissa')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const scopesOf = ({ scope = '' }: { scope?: string }): readonly string[] => scope.split(' ').toSorted()

/** In the reference system only members of a group of that name receive `email`. */
const usual = ({ isUaa }: Deployment): readonly string[] => (isUaa ? [] : ['email'])

/** The left half of the hash of the access token (OpenID Connect Core §3.1.3.6), for RS256. */
const halfHash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')

/** The wording of the pages, which is UAA's in its mode. */
const wordsOf = ({ isUaa }: Deployment) =>
  isUaa
    ? { asks: () => 'Application Authorization', allow: 'Authorize', home: 'Where to?' }
    : { asks: (client: string) => `${client} asks for access`, allow: 'Allow', home: 'Hello, Marissa' }

async function signOut(page: Page, { isUaa }: Deployment): Promise<void> {
  if (!isUaa) return page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('.dropdown-trigger').click()
  await page.getByRole('link', { name: 'Sign Out' }).click()
}

for (const deployment of deployments) {
  const words = wordsOf(deployment)
  describe(`Sign-in with ${deployment.name}`, () => {
    /** Each test has its own server, since servers store approvals. */
    async function withServer(work: (server: ServerProcess) => Promise<void>): Promise<void> {
      const server = await serve(deployment.options())
      try {
        await work(server)
        const { status, stderr, stdout } = await server.stop()
        assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
        assert.doesNotMatch(stdout, /"level":50/, 'no fault was logged')
      } finally {
        await server.stop('SIGKILL')
      }
    }

    // Covers configuration file: bootstrap.clients[]: post_logout_redirect_uris
    it('issues tokens after password and approval, continues the session, and ends with a logout', () =>
      withServer(async server => {
        const config = await discover(deployment, server)
        const window = await openWindow(deployment)
        const { page } = window

        const first = await newRequest(config)
        await page.goto(first.url)
        assert.ok(page.url().startsWith(`${server.baseUrl}/login`))
        assert.ok(await page.getByText(deployment.clientName).isVisible())
        await window.inspect('1-sign-in')

        await typeCredentials(page, 'wallaby')
        await page.getByRole('alert').waitFor()
        assert.equal(await page.getByLabel('Password').inputValue(), '')
        await window.inspect('2-wrong-password')

        await typeCredentials(page, 'koala')
        await page.getByRole('heading', { name: words.asks(deployment.clientName) }).waitFor()
        await window.inspect('3-approval')
        await page.getByRole('checkbox', { name: 'Read the cloud' }).uncheck()
        await page.getByRole('button', { name: words.allow }).click()

        const tokens = await openid.authorizationCodeGrant(config, await window.answer(), first.checks)
        const claims = tokens.claims()
        assert.ok(claims && tokens.id_token !== undefined && tokens.refresh_token !== undefined)
        assert.equal(claims.nonce, first.checks.expectedNonce)
        assert.equal(claims['at_hash'], deployment.isUaa ? undefined : halfHash(tokens.access_token))
        assert.ok(Math.abs(Number(claims['auth_time']) - claims.iat) < 60)
        assert.deepEqual(scopesOf(tokens), ['openid', 'profile', ...usual(deployment)].toSorted())

        const user = await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
        assert.equal(user.email, 'marissa@example.org')
        const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token)
        assert.notEqual(refreshed.access_token, tokens.access_token)
        assert.equal((await openid.fetchUserInfo(config, refreshed.access_token, claims.sub)).sub, claims.sub)

        const second = await newRequest(config)
        await page.goto(second.url)
        const again = await openid.authorizationCodeGrant(config, await window.answer(), second.checks)
        assert.equal(again.scope, tokens.scope)
        assert.equal(again.claims()?.['auth_time'], claims['auth_time'])

        const silent = await newRequest(config, { prompt: 'none' })
        await page.goto(silent.url)
        await openid.authorizationCodeGrant(config, await window.answer(), silent.checks)

        if (deployment.isConfigured) {
          const other = await discover(deployment, server, ['second', 'second-secret'])
          const elsewhere = await newRequest(other, { scope: 'openid' })
          await page.goto(elsewhere.url)
          await page.getByRole('heading', { name: words.asks('Second application') }).waitFor()
          await page.getByRole('button', { name: words.allow }).click()
          const others = await openid.authorizationCodeGrant(other, await window.answer(), elsewhere.checks)
          assert.equal(others.claims()?.sub, claims.sub)
          assert.deepEqual(others.claims()?.aud, ['second'])
        }

        await page.goto(`${server.baseUrl}/`)
        assert.ok(await page.getByRole('heading', { name: words.home }).isVisible())
        await window.inspect('4-home')

        const goodbye = deployment.isConfigured && { post_logout_redirect_uri: `${origin}/bye`, state: 'farewell' }
        const logout = `${server.baseUrl}/logout.do?${new URLSearchParams({ id_token_hint: tokens.id_token, ...goodbye }).toString()}`
        if (!deployment.isUaa) {
          const built = openid.buildEndSessionUrl(config, { id_token_hint: tokens.id_token, ...goodbye })
          built.searchParams.delete('client_id') // the library adds it; a hint alone has to do as well
          assert.equal(new URL(built).href, new URL(logout).href)
        }
        await page.goto(logout)
        if (deployment.isConfigured) {
          const { pathname, searchParams } = await window.answer()
          assert.equal(pathname, '/bye')
          assert.equal(searchParams.get('state'), deployment.isUaa ? null : 'farewell')
        } else {
          await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
          await window.inspect('5-signed-out')
        }

        const afterwards = await newRequest(config, { prompt: 'none' })
        await page.goto(afterwards.url)
        const answer = await window.answer()
        assert.equal(answer.searchParams.get('error'), 'login_required')
        if (!deployment.isUaa) {
          // Whose answer has no state, which the library rightly refuses.
          const exchange = openid.authorizationCodeGrant(config, answer, afterwards.checks)
          await assert.rejects(exchange, { error: 'login_required' })
        }
        await page.goto((await newRequest(config)).url)
        await page.getByLabel('Password').waitFor()
        assert.deepEqual(window.complaints, [])
        await page.context().close()
      }))

    it('works with another library, for client credentials and introspection', () =>
      withServer(async server => {
        const issuer = issuerOf(deployment, server)
        const insecure = { [oauth.allowInsecureRequests]: true }
        const discovered = await oauth.discoveryRequest(issuer, insecure)
        const authority = await oauth.processDiscoveryResponse(issuer, discovered)
        const client = { client_id: deployment.clientId }
        const granted = await oauth.clientCredentialsGrantRequest(
          authority,
          client,
          oauth.ClientSecretBasic(deployment.clientSecret),
          {},
          insecure,
        )
        const { access_token: token, ...rest } = await oauth.processClientCredentialsResponse(
          authority,
          client,
          granted,
        )
        assert.equal(rest.refresh_token, undefined)

        const [asking, secret] = deployment.resource ?? [deployment.clientId, deployment.clientSecret]
        // The reference system's document does not name the endpoint.
        const known = { ...authority, introspection_endpoint: `${server.baseUrl}/introspect` }
        const asker = { client_id: asking }
        const asked = await oauth.introspectionRequest(known, asker, oauth.ClientSecretBasic(secret), token, insecure)
        const reported = await oauth.processIntrospectionResponse(known, asker, asked)
        assert.equal(reported.active, true)
        assert.equal(reported.client_id, deployment.clientId)
      }))

    // The pages do not depend on whether there is a file.
    if (!deployment.isConfigured && !IS_FULL) return

    it('works by keyboard, and can be denied', () =>
      withServer(async server => {
        const config = await discover(deployment, server)
        const window = await openWindow(deployment)
        const { page } = window
        const request = await newRequest(config)
        await page.goto(request.url)
        const { keyboard } = page
        await waitUntilTrue(page, 'document.activeElement.id === "username"') // without being asked to
        await keyboard.type('marissa')
        await keyboard.press('Tab')
        await keyboard.type('koala')
        await keyboard.press('Enter')
        await page.getByRole('heading', { name: words.asks('').trim() }).waitFor()
        const deny = page.getByRole('button', { name: 'Deny' })
        for (let step = 0; step < 20 && !(await isFocused(deny)); step += 1) await keyboard.press('Tab')
        assert.ok(await isFocused(deny))
        await keyboard.press('Enter')
        const answer = await window.answer()
        await assert.rejects(openid.authorizationCodeGrant(config, answer, request.checks), { error: 'access_denied' })
        assert.deepEqual(window.complaints, [])
        await page.context().close()
      }))

    it('works without JavaScript', () =>
      withServer(async server => {
        const config = await discover(deployment, server)
        const window = await openWindow(deployment, { javaScriptEnabled: false, viewport: SIZES.phone })
        const { page } = window
        const request = await newRequest(config)
        await page.goto(request.url)
        await typeCredentials(page, 'wallaby')
        await page.getByRole('alert').waitFor()
        await typeCredentials(page, 'koala')
        await page.getByRole('button', { name: words.allow }).click()
        const tokens = await openid.authorizationCodeGrant(config, await window.answer(), request.checks)
        assert.deepEqual(scopesOf(tokens), ['openid', 'profile', 'cloud.read', ...usual(deployment)].toSorted())
        await page.goto(`${server.baseUrl}/`)
        await signOut(page, deployment)
        await page.getByLabel('Password').waitFor()
        assert.deepEqual(window.complaints, [])
        await page.context().close()
      }))

    it('shows errors on accessible pages', () =>
      withServer(async server => {
        const window = await openWindow(deployment)
        const { page, complaints } = window
        const config = await discover(deployment, server)
        const { url } = await newRequest(config)
        const broken: readonly (readonly [name: string, url: string, status: number])[] = [
          ['unknown-client', url.replace(/client_id=\w+/, 'client_id=nobody'), deployment.isUaa ? 401 : 400],
          ['foreign-redirect-uri', url.replace(/redirect_uri=[^&]+/, 'redirect_uri=http%3A%2F%2Fevil.example%2F'), 400],
          ['nothing-there', `${server.baseUrl}/nothing`, 404],
        ]
        await page.goto(`${server.baseUrl}/login`)
        await typeCredentials(page, 'koala')
        await page.getByRole('heading', { name: words.home }).waitFor()
        for (const [name, address, status] of broken) {
          assert.equal((await page.goto(address))?.status(), status, name)
          complaints.length = 0 // the browser itself tells of the status
          await window.inspect(`6-${name}`)
        }
        await page.goto(`${server.baseUrl}/logout.do?client_id=${deployment.clientId}`)
        if (!deployment.isUaa) {
          await page.getByRole('heading', { name: 'Sign out?' }).waitFor()
          await window.inspect('7-sign-out')
          await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click()
          await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
        }
        await page.goto(`${server.baseUrl}/`)
        await page.getByLabel('Password').waitFor()
        assert.deepEqual(complaints, [])
        await page.context().close()
      }))
  })
}

const isFocused = (locator: ReturnType<Page['getByRole']>): Promise<boolean> =>
  locator.evaluate((element: unknown) => element === Reflect.get(globalThis, 'document').activeElement)
