// Sign-in at a SAML identity provider that nobody here wrote, simpleSAMLphp, in a real browser: one that takes
// requests by redirect and whose record names the address of its metadata, and one that takes them by POST, encrypts, and
// whose record has the metadata itself. Both verify what we sign. They are at another site than this server.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { SAML } from '../support/saml-idp.ts'
import { lacksSimplesamlphp, PEOPLE, startSimplesamlphp } from '../support/simplesamlphp.ts'
import type { Simplesamlphp } from '../support/simplesamlphp.ts'

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
  /** The relying party: a place to be sent back to. */
  const application = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Application</title>'),
  )
  let university: Simplesamlphp
  let company: Simplesamlphp
  let server: ServerProcess
  let browser: Browser
  let callback: string

  before(async () => {
    application.listen(0, '127.0.0.1')
    await once(application, 'listening')
    // It listens on TCP.
    callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
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
    application.closeAllConnections()
    application.close()
  })

  async function newPage(): Promise<Page> {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(10_000)
    return page
  }

  async function enter(page: Page, name: keyof typeof PEOPLE, password: string = PEOPLE[name].password): Promise<void> {
    await page.getByLabel('Username').fill(name)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Login' }).click()
  }

  for (const origin of ['university', 'company'] as const) {
    it(`leads people there with a request that the provider verifies: ${origin}`, async () => {
      const page = await newPage()
      await page.goto(`${server.baseUrl}/login`)
      await page.getByRole('link', { name: `Sign in at ${origin}` }).click()
      await enter(page, 'bob', 'wrong')
      await page.getByText('Incorrect username or password').first().waitFor()
      assert.equal(new URL(page.url()).origin, (origin === 'university' ? university : company).url)
    })
  }
})
