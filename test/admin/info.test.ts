import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createServerInfo } from '../../src/admin/info.ts'
import type { LoginProvider } from '../../src/identity/provider-sources.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { DEFAULT_PAGE_SETTINGS } from '../../src/model/zones/settings.ts'
import { createUrls } from '../../src/model/urls.ts'
import type { AddressedZone } from '../../src/model/request.ts'
import type { ZoneConfig } from '../../src/model/zones/zone.ts'
import { EMPTY_FORM } from '../../src/web/requests/form.ts'
import { Z1_HOST, authorizeBootstrap } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { withServer } from '../support/server.ts'

describe('GET /info', () => {
  for (const mode of MODES) {
    // Covers GET /info: app.version
    it(`returns sign-in settings as JSON for any Accept header in ${mode}`, () =>
      withServer({ mode }, async server => {
        for (const accept of ['application/json', 'text/html', '*/*']) {
          const answer = await server.send('/info', { headers: { accept } })
          assert.equal(answer.status, 200)
          assert.match(String(answer.headers['content-type']), /^application\/json\b/)
          assert.equal(answer.headers['cache-control'], 'no-store')
          assert.deepEqual(answer.json(), {
            app: { version: mode === 'uaa' ? '77.18.0' : 'test' },
            zone_name: 'svc',
            entityID: 'latchkey',
            links: {
              login: 'http://localhost:8080',
              uaa: 'http://localhost:8080',
              passwd: '/forgot_password',
              register: '/create_account',
            },
            ...(mode === 'uaa' && { commit_id: 'UNKNOWN', timestamp: 'UNKNOWN' }),
            prompts: { username: ['text', 'Email'], password: ['password', 'Password'] },
            idpDefinitions: {},
          })
        }
      }))
  }

  // Covers GET /info: zone_name; entityID; links.uaa; links.login
  it('returns name, entity id and links of the zone', () =>
    withServer({ config: { bootstrap: authorizeBootstrap, saml: { entity_id: 'sp.example' } } }, async server => {
      const info = (await server.send('/info', { host: Z1_HOST })).json<{
        links: object
        zone_name: string
        entityID: string
      }>()
      assert.equal(info.zone_name, 'Zone one')
      assert.equal(info.entityID, 'z1.sp.example')
      assert.deepEqual(info.links, {
        login: 'http://z1.localhost:8080',
        uaa: 'http://z1.localhost:8080',
        passwd: '/forgot_password',
        register: '/create_account',
      })
    }))

  // Covers GET /info: links.register; links.passwd; prompts; defaultIdpName
  it('returns links, prompts and default provider of the zone config', () => {
    const zone_config = {
      prompts: [
        { name: 'username', type: 'text', text: 'Name' },
        { name: 'passcode', type: 'password', text: 'Code' },
      ],
      links: { selfService: { signup: 'https://portal.example/{zone.id}', passwd: '/forgot' } },
      defaultIdentityProvider: 'svc',
    }
    return withServer({ config: { zone_config } }, async server => {
      const { links, prompts, defaultIdpName } = (await server.send('/info')).json()
      assert.deepEqual(links, {
        login: 'http://localhost:8080',
        uaa: 'http://localhost:8080',
        passwd: '/forgot',
        register: 'https://portal.example/svc',
      })
      assert.deepEqual(prompts, { username: ['text', 'Name'] })
      assert.equal(defaultIdpName, 'svc')
    })
  })

  it('returns no prompts if no active provider accepts passwords', () =>
    withServer({}, async server => {
      const provider = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      await server.store.providers.update('svc', { ...provider, active: false })
      assert.deepEqual((await server.send('/info')).json()['prompts'], {})
      assert.doesNotMatch((await server.send('/login')).text, /login\.do/)
    }))

  it('omits self-service links if internal user management is disabled', () => {
    const links = { selfService: { signup: '/join', passwd: '/forgot' } }
    return withServer({ config: { zone_config: { links } } }, async server => {
      const internal = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(internal)
      const reported = async () => Object.keys((await server.send('/info')).json<{ links: object }>().links).toSorted()
      assert.deepEqual(await reported(), ['login', 'passwd', 'register', 'uaa'])
      const config = { ...internal.config, disableInternalUserManagement: true }
      await server.store.providers.update('svc', { ...internal, config })
      assert.deepEqual(await reported(), ['login', 'uaa'])
    })
  })

  for (const mode of MODES) {
    // Covers GET /info: showLoginLinks; rule: prompt trimming
    it(`includes the passcode prompt only if another provider has a link in ${mode}`, () =>
      withServer({ mode, config: { bootstrap: authorizeBootstrap } }, async server => {
        const reported = async (host?: string) =>
          (await server.send('/info', host === undefined ? {} : { host })).json<{
            prompts: Record<string, readonly string[]>
            showLoginLinks?: boolean
          }>()
        assert.equal('showLoginLinks' in (await reported()), false)
        for (const zoneId of ['svc', 'z1']) await addProvider(server, zoneId, 'hidden', { showLinkText: false })
        assert.equal('passcode' in (await reported()).prompts, false)
        for (const zoneId of ['svc', 'z1']) await addProvider(server, zoneId, 'corp', {})
        for (const [host, base] of [
          [undefined, 'http://localhost:8080'],
          [Z1_HOST, 'http://z1.localhost:8080'],
        ] as const) {
          const { prompts, showLoginLinks } = await reported(host)
          assert.equal(showLoginLinks, true)
          assert.deepEqual(Object.keys(prompts), ['username', 'password', 'passcode'])
          assert.deepEqual(prompts['passcode'], [
            'password',
            `Temporary Authentication Code ( Get one at ${base}/passcode )`,
          ])
        }
        for (const provider of await server.store.providers.listActive('svc')) {
          if (provider.originKey !== 'corp') await server.store.providers.update('svc', { ...provider, active: false })
        }
        assert.deepEqual(Object.keys((await reported()).prompts), ['passcode'])
      }))
  }

  // Covers GET /info: origin
  it('returns the prompts of the provider named by origin', () =>
    withServer({}, async server => {
      const prompts = [{ name: 'username', type: 'text', text: 'Staff number' }]
      await addProvider(server, 'svc', 'corp', { passwordGrantEnabled: true, prompts, showLinkText: false })
      await addProvider(server, 'svc', 'pages', { prompts, showLinkText: false })
      const other = { passwordGrantEnabled: true, prompts, showLinkText: false, type: 'oauth2.0' }
      await addProvider(server, 'svc', 'other', other)
      const usual = { username: ['text', 'Email'], password: ['password', 'Password'] }
      for (const path of ['/info', '/login']) {
        const asked = async (origin: string) =>
          (await server.send(path, { query: { origin }, headers: { accept: 'application/json' } })).json()['prompts']
        assert.deepEqual(await asked('corp'), { username: ['text', 'Staff number'] })
        for (const origin of ['pages', 'other', 'svc', 'nowhere', ''])
          assert.deepEqual(await asked(origin), usual, origin)
      }
    }))

  // Covers GET /info: login_hint; error
  it('returns a valid login_hint, and an error for an invalid one', () =>
    withServer({}, async server => {
      for (const path of ['/info', '/login']) {
        const reported = async (login_hint: string) => {
          const query = login_hint === '' ? {} : { login_hint }
          const answer = await server.send(path, { query, headers: { accept: 'application/json' } })
          const { login_hint: hint, error } = answer.json()
          return { hint, error }
        }
        assert.deepEqual(await reported(''), { hint: undefined, error: undefined })
        assert.deepEqual(await reported('{"origin":"svc"}'), { hint: '{"origin":"svc"}', error: undefined })
        assert.deepEqual(await reported('{"origin":"nowhere"}'), { hint: undefined, error: 'invalid_login_hint' })
      }
    }))
})

/** Adds a provider, of OpenID Connect unless `type` is given. */
async function addProvider(
  { store }: TestServer,
  zoneId: string,
  originKey: string,
  { type = 'oidc1.0', ...config }: Readonly<Record<string, unknown>>,
): Promise<void> {
  const internal = await store.providers.findByOrigin(zoneId, 'svc')
  assert.ok(internal)
  await store.providers.insert(zoneId, {
    ...internal,
    id: `${zoneId}-${originKey}`,
    originKey,
    type: String(type),
    config: { authUrl: 'https://op.example/a', tokenUrl: 'https://op.example/t', relyingPartyId: 'rp', ...config },
  })
}

describe('createServerInfo', () => {
  const behaviour = behaviourOf('standard')
  const at = new Date(0)
  const zoneWith = (subdomain: string, config: ZoneConfig = {}): AddressedZone => ({
    address: 'host',
    id: subdomain || 'svc',
    subdomain,
    name: 'Zone',
    active: true,
    version: 0,
    config,
    createdAt: at,
    updatedAt: at,
  })
  const saml = (origin: string, linkText?: string): LoginProvider => ({
    origin,
    by: 'redirect',
    linkText,
    provider: {
      zoneId: 'svc',
      id: origin,
      originKey: origin,
      type: 'saml',
      name: origin,
      active: true,
      config: {},
      version: 0,
      createdAt: at,
      updatedAt: at,
    },
  })
  const infoOf = (
    zone: AddressedZone,
    { providers = [], build = {} }: { providers?: LoginProvider[]; build?: object } = {},
  ) =>
    createServerInfo({
      store: { providers: { findByOrigin: () => Promise.resolve(undefined) } },
      urls: createUrls('https://id.example/uaa', behaviour),
      behaviour,
      build: { version: '1.2.3', ...build },
      serviceName: 'svc',
      samlEntityId: 'sp',
      pageSettings: DEFAULT_PAGE_SETTINGS,
      loginProviders: () => Promise.resolve(providers),
    })(zone, EMPTY_FORM)

  // Covers GET /info: commit_id; timestamp; app.name; app.artifact; app.description
  it('includes known build information only', async () => {
    const { app, commit_id, timestamp } = await infoOf(zoneWith(''), {
      build: { name: 'n', description: 'd', commitId: 'abc1234', timestamp: '2026-01-15T12:00:00+0000' },
    })
    assert.deepEqual(app, { version: '1.2.3', name: 'n', artifact: 'n', description: 'd' })
    assert.deepEqual([commit_id, timestamp], ['abc1234', '2026-01-15T12:00:00+0000'])
    const bare = await infoOf(zoneWith(''))
    assert.deepEqual(bare.app, { version: '1.2.3' })
    assert.deepEqual(['commit_id' in bare, 'timestamp' in bare], [false, false])
  })

  it('includes URLs of SAML providers with a link', async () => {
    const providers = [saml('corp', 'Corporate & co'), saml('hidden')]
    const { idpDefinitions, showLoginLinks } = await infoOf(zoneWith('z1'), { providers })
    assert.equal(showLoginLinks, true)
    assert.deepEqual(idpDefinitions, {
      corp: 'https://z1.id.example/uaa/saml/discovery?returnIDParam=idp&entityID=z1.sp&idp=corp&isPassive=true',
    })
  })

  const texts = [
    { subdomain: '', text: 'At https://id.example/uaa/passcode', want: 'At https://id.example/uaa/passcode' },
    { subdomain: 'z1', text: 'At https://id.example/uaa/passcode', want: 'At https://z1.id.example/uaa/passcode' },
    { subdomain: 'z1', text: 'At https://z1.id.example/uaa/passcode', want: 'At https://z1.id.example/uaa/passcode' },
    { subdomain: 'z1', text: '(https://login.example/code)', want: '(https://z1.login.example/code)' },
    { subdomain: 'z1', text: 'Code (Get on at /passcode)', want: 'Code (Get on at /passcode)' },
  ]
  for (const { subdomain, text, want } of texts) {
    it(`adds the subdomain "${subdomain}" to URLs in the passcode prompt: ${text}`, async () => {
      const zone = zoneWith(subdomain, { prompts: [{ name: 'passcode', type: 'password', text }] })
      const { prompts } = await infoOf(zone, { providers: [saml('corp', 'Corporate')] })
      assert.deepEqual(prompts, { passcode: ['password', want] })
    })
  }
})
