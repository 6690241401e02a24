import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { APP_REQUEST, AUTO_REQUEST, authorize, authorizeBootstrap, requestOf, signedIn } from '../support/authorize.ts'
import { MODES, changeUser } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

/** Would run as script, or break out of an attribute, without escaping. */
const EVIL = `"><script>alert(1)</script><img src=x onerror=alert(1)>'\`</textarea><!--`
/** The text of the comparison page. */
const HARMLESS = 'harmless'

/** Configures `text` as the name of a client, a group and a user. */
const bootstrap = (text: string) => ({
  ...authorizeBootstrap,
  groups: [{ displayName: 'cloud.read', description: text }],
  clients: authorizeBootstrap.clients.map(client =>
    client.client_id === 'app' || client.client_id === 'ldaponly' ? { ...client, name: text } : client,
  ),
  users: [
    ...authorizeBootstrap.users,
    { userName: 'evil', password: 'evil-name', emails: [{ value: 'e@example.org' }] },
  ],
})
const zoneConfig = (text: string) => ({
  branding: {
    companyName: text,
    footerLegalText: text,
    footerLinks: { [text]: `https://x.example/?${text}` },
    banner: { text },
  },
  prompts: [
    { name: 'username', type: text, text },
    { name: 'password', type: 'password', text },
  ],
  links: { selfService: { signup: `https://x.example/?${text}`, passwd: `/forgot?${text}` } },
})

/** The zone gets its settings from the store: neither the file nor the API takes such links. */
async function startWith(text: string, mode?: CompatibilityMode): Promise<TestServer> {
  const server = await startServer({ ...(mode && { mode }), config: { bootstrap: bootstrap(text) } })
  const zone = await server.store.zones.find('svc')
  assert.ok(zone)
  await server.store.zones.update({ ...zone, config: { ...zone.config, ...zoneConfig(text) } })
  return server
}

type Visit = (server: TestServer, text: string) => Promise<TestAnswer>

/** Signs in the user of this name. Directories allow such names; our configuration does not. */
const named = (server: TestServer, text: string): Promise<Browser> => signedIn(server, text, 'evil-name')

const pages: readonly { name: string; visit: Visit }[] = [
  ...[
    'error',
    'success',
    'username',
    'login_hint',
    'form_redirect_uri',
    'email',
    'origin',
    'discoveryPerformed',
    'magic',
  ].map((parameter): { name: string; visit: Visit } => ({
    name: `the sign-in page, ${parameter}`,
    visit: (server, text) => server.send('/login', { query: { [parameter]: text } }),
  })),
  {
    name: 'the sign-in page, a local form_redirect_uri with markup',
    visit: (server, text) =>
      server.send('/login', {
        query: { form_redirect_uri: `http://localhost:8080/home?${text.replaceAll(' ', '/')}` },
      }),
  },
  ...['state', 'nonce', 'login_hint', 'magic'].map((parameter): { name: string; visit: Visit } => ({
    name: `the sign-in page of a request, ${parameter}`,
    visit: async (server, text) => {
      const browser = server.browser()
      await authorize(browser, { ...APP_REQUEST, [parameter]: text })
      return browser.send('/login')
    },
  })),
  {
    name: 'the sign-in page of a request, parameter names',
    visit: async (server, text) => {
      const browser = server.browser()
      await authorize(browser, { ...APP_REQUEST, [text]: text })
      return browser.send('/login')
    },
  },
  {
    name: 'the sign-in page after a URL with markup',
    visit: async (server, text) => {
      const browser = server.browser()
      await browser.send(`/home?${encodeURIComponent(text)}`)
      return browser.send('/login')
    },
  },
  ...['state', 'nonce', 'magic', 'display'].map((parameter): { name: string; visit: Visit } => ({
    name: `the approval page, ${parameter}`,
    visit: async (server, text) =>
      authorize(await named(server, text), { ...APP_REQUEST, scope: 'openid', [parameter]: text }),
  })),
  {
    name: 'the approval page, a group description',
    visit: async (server, text) =>
      authorize(await signedIn(server), { ...APP_REQUEST, scope: 'cloud.read', [text]: text }),
  },
  ...['client_id', 'redirect_uri'].map((parameter): { name: string; visit: Visit } => ({
    name: `the error page, ${parameter}`,
    visit: async (server, text) => authorize(await named(server, text), { ...AUTO_REQUEST, [parameter]: text }),
  })),
  {
    name: 'the page for choosing another account',
    visit: async (server, text) =>
      authorize(await named(server, text), { ...requestOf('ldaponly'), state: text, [text]: text }),
  },
  {
    name: 'the home page',
    visit: async (server, text) => (await named(server, text)).send('/home', { query: { [text]: text } }),
  },
  {
    name: 'the page of an unknown path',
    visit: async (server, text) =>
      (await named(server, text)).send(`/${encodeURIComponent(text)}`, { headers: { accept: 'text/html' } }),
  },
  ...['post_logout_redirect_uri', 'client_id', 'state', 'id_token_hint', 'magic', 'confirmed', 'X-Svc-Csrf'].map(
    (parameter): { name: string; visit: Visit } => ({
      name: `the logout confirmation, ${parameter}`,
      visit: async (server, text) => (await named(server, text)).send('/logout.do', { query: { [parameter]: text } }),
    }),
  ),
  {
    name: 'the page after a logout',
    visit: (server, text) => server.send('/logout.do', { query: { state: text, client_id: text } }),
  },
  {
    name: 'the page of a forged form',
    visit: async (server, text) =>
      (await named(server, text)).send('/login.do', { form: { username: text, [text]: text } }),
  },
]

/** Without the places where a long name may break. */
const count = (text: string, character: string): number => text.replaceAll('<wbr>', '').split(character).length - 1

for (const mode of MODES) {
  describe(`Markup in page input in ${mode}`, () => {
    let evil: TestServer
    let harmless: TestServer
    before(async () => {
      evil = await startWith(EVIL, mode)
      harmless = await startWith(HARMLESS, mode)
      await changeUser(evil, 'evil', { userName: EVIL })
      await changeUser(harmless, 'evil', { userName: HARMLESS })
    })
    after(async () => {
      await evil.stop()
      await harmless.stop()
    })

    for (const { name, visit } of pages) {
      // Covers unsafe behaviour: errors are escaped, only known message keys
      it(`is escaped on ${name}`, async () => {
        const [page, other] = [await visit(evil, EVIL), await visit(harmless, HARMLESS)]
        assert.equal(page.status, other.status)
        assert.doesNotMatch(
          page.text,
          /<script(?! src="[^"]*\/(?:latchkey|passkeys)\.js)|<img src=x|onerror=alert\(1\)>|<!--/,
        )
        assert.equal(page.headers['x'], undefined)
        if (other.status === 302) {
          assert.doesNotMatch(String(page.headers['location']), /[<>"]/)
          return
        }
        assert.match(String(page.headers['content-type']), /^text\/html/)
        assert.match(other.text, /harmless/, 'the page shows the text')
        // Optional attributes, such as the value of a pre-filled name, are the same on both pages.
        for (const character of ['<', '"', '>']) {
          assert.equal(count(page.text, character), count(other.text, character), `${character} on ${name}`)
        }
      })
    }
  })
}

describe('Markup in JSON', () => {
  it('is returned as application/json with nosniff', async () => {
    const server = await startWith(EVIL)
    try {
      const headers = { accept: 'application/json' }
      const refused = await server.send('/oauth/authorize', { query: { ...AUTO_REQUEST, client_id: EVIL }, headers })
      assert.match(String(refused.headers['content-type']), /^application\/json\b/)
      assert.equal(refused.headers['x-content-type-options'], 'nosniff')
      assert.match(
        refused.json<{ error_description: string }>().error_description,
        /^No client with requested id: \?><script>/,
      )
      const info = await server.send('/info')
      assert.match(String(info.headers['content-type']), /^application\/json\b/)
      assert.equal(info.json<{ prompts: { username: string[] } }>().prompts.username[1], EVIL)
    } finally {
      await server.stop()
    }
  })
})
