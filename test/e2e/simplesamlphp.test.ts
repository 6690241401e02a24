// Sign-in and logout with a SAML identity provider that nobody here wrote, simpleSAMLphp, in a real browser: one that takes
// requests by redirect and whose record names the address of its metadata, and one that takes them by POST, encrypts, and
// whose record has the metadata itself. Both verify what we sign. They are at another site than this server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { JWTPayload } from 'jose'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'
import { SAML } from '../support/saml/saml-xml.ts'
import { lacksSimplesamlphp, PEOPLE, startSimplesamlphp } from '../support/saml/simplesamlphp.ts'
import type { Simplesamlphp } from '../support/saml/simplesamlphp.ts'

const SECRET = 'a secret of the application'

/** The record of a provider there. */
const recordOf = (originKey: string, metaDataLocation: string, config: object = {}) => ({
  originKey,
  type: 'saml',
  name: originKey,
  config: {
    metaDataLocation,
    nameID: SAML.persistentName,
    showSamlLink: true,
    linkText: `Sign in at ${originKey}`,
    attributeMappings: { email: 'mail', given_name: 'givenName', family_name: 'sn', external_groups: 'groups' },
    ...config,
  },
})

describe('SAML with simpleSAMLphp', { skip: lacksSimplesamlphp }, () => {
  /** The relying party: a redirect target. */
  let application: Site
  let university: Simplesamlphp
  let company: Simplesamlphp
  let server: ServerProcess
  let browser: Browser
  let callback: string

  before(async () => {
    application = await startSite()
    callback = `${application.url}/callback`
    university = await startSimplesamlphp()
    company = await startSimplesamlphp({ encrypts: 'cbc', binding: 'post' })
    const bootstrap = {
      groups: [{ displayName: 'library.read' }],
      clients: [
        {
          client_id: 'app',
          client_secret: SECRET,
          authorized_grant_types: ['authorization_code'],
          redirect_uri: [callback],
          scope: ['openid', 'email', 'profile', 'library.read'],
          autoapprove: true,
        },
      ],
      identity_providers: [
        recordOf('university', university.metadataUrl, { allowIdpInitiated: true }),
        recordOf('company', company.metadata),
      ],
      external_groups: [{ displayName: 'library.read', externalGroup: 'readers', origin: 'university' }],
    }
    const port = await freePort()
    server = await serve({ port, config: { database: 'sqlite::memory:', bootstrap } })
    const metadata = await (await fetch(`${server.baseUrl}/saml/metadata`)).text()
    university.register(metadata)
    company.register(metadata)
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    await server.stop()
    await university.stop()
    await company.stop()
    application.stop()
  })

  async function newPage(): Promise<Page> {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(10_000)
    return page
  }

  const authorizeUrl = (): string =>
    `${server.baseUrl}/oauth/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: 'app',
      redirect_uri: callback,
      scope: 'openid email profile library.read',
      state: 's1',
    }).toString()}`

  async function enter(page: Page, name: keyof typeof PEOPLE, password: string = PEOPLE[name].password): Promise<void> {
    await page.getByLabel('Username').fill(name)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Login' }).click()
  }

  /** Signs in from the sign-in page. */
  async function signIn(page: Page, origin: 'university' | 'company', name: keyof typeof PEOPLE): Promise<void> {
    await page.goto(`${server.baseUrl}/login`)
    await page.getByRole('link', { name: `Sign in at ${origin}` }).click()
    await enter(page, name)
    await page.waitForURL(`${server.baseUrl}/`)
  }

  /** The claims of the tokens for the code in the page's URL. */
  async function tokensFor(page: Page): Promise<{ readonly access: JWTPayload; readonly id: JWTPayload }> {
    await page.waitForURL(each => each.href.startsWith(callback))
    const url = new URL(page.url())
    assert.equal(url.searchParams.get('state'), 's1')
    const answer = await fetch(`${server.baseUrl}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`app:${SECRET}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: url.searchParams.get('code') ?? '',
        redirect_uri: callback,
      }),
    })
    const tokens = (await answer.json()) as Record<string, string>
    assert.equal(answer.status, 200, JSON.stringify(tokens))
    return { access: decodeJwt(tokens['access_token'] ?? ''), id: decodeJwt(tokens['id_token'] ?? '') }
  }

  it('signs a user in to an application, with the provider’s attributes', async () => {
    const page = await newPage()
    await page.goto(authorizeUrl())
    await page.getByRole('link', { name: 'Sign in at university' }).click()
    assert.equal(new URL(page.url()).origin, university.url)
    await enter(page, 'ann')
    const { access, id } = await tokensFor(page)
    const { user_name, origin, scope } = access
    assert.deepEqual([user_name, origin], ['ann', 'university'])
    assert.ok(JSON.stringify(scope).includes('library.read'), 'by the mapping of her group')
    assert.deepEqual([id['email'], id['given_name'], id['family_name']], ['ann@example.org', 'Ann', 'Lee'])
    assert.deepEqual(id['amr'], ['ext'])
  })

  it('keeps a user with a wrong password at the provider, and continues after the right one', async () => {
    const page = await newPage()
    await page.goto(authorizeUrl())
    await page.getByRole('link', { name: 'Sign in at university' }).click()
    await enter(page, 'bob', 'wrong')
    await page.getByText('Incorrect username or password').first().waitFor()
    await enter(page, 'bob')
    const { access } = await tokensFor(page)
    assert.equal(access['user_name'], 'bob')
    assert.ok(!JSON.stringify(access['scope']).includes('library.read'))
  })

  for (const encrypts of ['cbc', 'gcm'] as const) {
    it(`sends requests by POST, and decrypts an assertion (${encrypts.toUpperCase()})`, async () => {
      company.configure({ encrypts, binding: 'post' })
      const page = await newPage()
      await page.goto(authorizeUrl())
      await page.getByRole('link', { name: 'Sign in at company' }).click()
      await enter(page, 'ann')
      const { access } = await tokensFor(page)
      assert.deepEqual([access['user_name'], access['origin']], ['ann', 'company'])
    })
  }

  it('decrypts an encrypted name id, at sign-in and logout', async () => {
    for (const options of [{ encryptsNames: true }, { encryptsNames: true, encrypts: 'gcm' }] as const) {
      university.configure(options)
      const page = await newPage()
      await page.goto(authorizeUrl())
      await page.getByRole('link', { name: 'Sign in at university' }).click()
      await enter(page, 'ann')
      const { access } = await tokensFor(page)
      assert.deepEqual([access['user_name'], access['origin']], ['ann', 'university'])
      await page.goto(university.logoutUrl)
      await page.waitForURL(`${university.url}/logout.php`)
      await page.goto(`${server.baseUrl}/home`)
      assert.equal(new URL(page.url()).pathname, '/login')
    }
    university.configure({})
  })

  it('accepts an assertion in a signed response, also if encrypted', async () => {
    university.configure({ signs: ['response'] })
    await signIn(await newPage(), 'university', 'ann')
    for (const encrypts of ['gcm', 'cbc'] as const) {
      company.configure({ signs: ['response'], encrypts, binding: 'post' })
      await signIn(await newPage(), 'company', 'ann')
    }
    university.configure({})
    company.configure({ encrypts: 'cbc', binding: 'post' })
  })

  it('rejects an unsigned response', async () => {
    university.configure({ signs: [] })
    const page = await newPage()
    await page.goto(`${server.baseUrl}/login`)
    await page.getByRole('link', { name: 'Sign in at university' }).click()
    await enter(page, 'ann')
    await page.waitForURL(each => each.href.startsWith(server.baseUrl))
    await page.goto(`${server.baseUrl}/home`)
    assert.equal(new URL(page.url()).pathname, '/login')
    university.configure({})
  })

  it('accepts a sign-in started by the provider, if allowed', async () => {
    const page = await newPage()
    await page.goto(university.startUrl('latchkey'))
    await enter(page, 'ann')
    await page.waitForURL(`${server.baseUrl}/`)
    await page.goto(authorizeUrl())
    const { access } = await tokensFor(page)
    assert.deepEqual([access['user_name'], access['origin']], ['ann', 'university'])

    const other = await newPage()
    await other.goto(company.startUrl('latchkey'))
    await enter(other, 'ann')
    await other.waitForURL(each => each.href.startsWith(server.baseUrl))
    await other.goto(`${server.baseUrl}/home`)
    assert.equal(new URL(other.url()).pathname, '/login')
  })

  for (const origin of ['university', 'company'] as const) {
    const providerOf = (): Simplesamlphp => (origin === 'university' ? university : company)

    it(`signs a user out at the provider too: ${origin}`, async () => {
      const page = await newPage()
      await signIn(page, origin, 'ann')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL(`${server.baseUrl}/login`)
      await page.goto(providerOf().startUrl('latchkey'))
      await page.getByLabel('Password').waitFor() // who is signed in there is not asked
    })

    it(`signs a user out when the provider does, in this browser only: ${origin}`, async () => {
      const [page, elsewhere] = [await newPage(), await newPage()]
      await signIn(page, origin, 'bob')
      await signIn(elsewhere, origin, 'bob')
      await page.goto(providerOf().logoutUrl)
      await page.waitForURL(`${providerOf().url}/logout.php`)
      await page.goto(`${server.baseUrl}/home`)
      assert.equal(new URL(page.url()).pathname, '/login')
      await elsewhere.goto(`${server.baseUrl}/home`)
      assert.equal(new URL(elsewhere.url()).pathname, '/home')
    })
  }
})
