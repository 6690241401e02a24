import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { subdomainOf } from '../../../src/web/zones/zone.ts'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

describe('`subdomainOf`', () => {
  const cases: readonly { host: string | undefined; root: string | readonly string[]; want: string | undefined }[] = [
    { host: 'id.example', root: 'id.example', want: '' },
    { host: 'id.example:8443', root: 'id.example', want: '' },
    { host: 'ID.Example', root: 'id.example', want: '' },
    { host: 'id.example.', root: 'id.example', want: '' },
    { host: 'localhost', root: 'id.example', want: '' },
    { host: 'z1.id.example', root: 'id.example', want: 'z1' },
    { host: 'Z1.ID.example:443', root: 'id.example', want: 'z1' },
    { host: 'z1.localhost:8080', root: 'id.example', want: 'z1' },
    { host: 'a.b.id.example', root: 'id.example', want: 'a.b' },
    { host: 'xid.example', root: 'id.example', want: undefined },
    { host: 'id.example.evil', root: 'id.example', want: undefined },
    { host: 'other.example', root: 'id.example', want: undefined },
    { host: '127.0.0.1', root: 'id.example', want: undefined },
    { host: '', root: 'id.example', want: undefined },
    { host: undefined, root: 'id.example', want: undefined },
    { host: '.id.example', root: 'id.example', want: '' },
    { host: 'other.example', root: 'localhost', want: '' },
    { host: '127.0.0.1:8080', root: 'localhost', want: '' },
    { host: '[::1]:8080', root: 'localhost', want: '' },
    { host: undefined, root: 'localhost', want: '' },
    { host: 'z1.localhost', root: 'localhost', want: 'z1' },
    { host: 'z1.localhost:', root: 'localhost', want: 'z1' },
    { host: 'z1.id.example.:', root: 'id.example', want: 'z1' },
    { host: '[::1]:', root: ['[::1]', 'id.example'], want: '' },
    { host: '[::1]:8080', root: '[::1]', want: '' },
    { host: '127.0.0.1:8080', root: '127.0.0.1', want: '' },
    { host: 'login.example', root: ['id.example', 'login.example'], want: '' },
    { host: 'Z1.login.example:1', root: ['id.example', 'login.example'], want: 'z1' },
    { host: 'other.example', root: ['localhost', 'login.example'], want: undefined },
    { host: 'z1.id.example', root: ['example', 'id.example'], want: 'z1' },
    { host: 'id.example', root: ['example', 'id.example'], want: '' },
  ]
  for (const { host, root, want } of cases) {
    // Covers zone by host name: zones.internal.hostnames
    it(`returns ${want === undefined ? 'unknown' : `"${want}"`} for ${host ?? 'no host'} below ${String(root)}`, () => {
      assert.deepEqual(subdomainOf(host, [root].flat()), want === undefined ? 'unknown' : { subdomain: want })
    })
  }
})

describe('`subdomainOf` in the playground', () => {
  for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.1', '', undefined]) {
    it(`refuses ${host === undefined ? 'no host' : `"${host}"`}, against DNS rebinding`, () => {
      assert.equal(subdomainOf(host, ['localhost'], { onlyLoopback: true }), 'unknown')
    })
  }
  for (const host of ['localhost:8080', '127.0.0.1:8080', '[::1]:8080', 'LOCALHOST']) {
    it(`accepts ${host}`, () =>
      assert.deepEqual(subdomainOf(host, ['localhost'], { onlyLoopback: true }), { subdomain: '' }))
  }
})

for (const mode of MODES) {
  describe(`Zone of a request in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({
        mode,
        config: { base_url: 'http://id.example:8080', bootstrap: authorizeBootstrap },
      })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    for (const [host, name] of [
      ['id.example:8080', 'svc'],
      ['ID.EXAMPLE', 'svc'],
      ['localhost:9999', 'svc'],
      ['z1.id.example:8080', 'Zone one'],
      ['Z1.localhost', 'Zone one'],
    ] as const) {
      // Covers zone by host name: rule: root host names from `base_url`
      it(`is ${name} at ${host}`, async () => {
        const info = (await server.send('/info', { host })).json<{ zone_name: string; links: { login: string } }>()
        assert.equal(info.zone_name.toLowerCase(), name.toLowerCase())
        const want = name === 'svc' ? 'http://id.example:8080' : 'http://z1.id.example:8080'
        assert.equal(info.links.login, want, 'URLs come from the configuration, not from Host')
      })
    }

    it('is reported once in the log for an unknown host', async () => {
      const before = server.lines.length
      for (const host of ['10.0.0.11:8443', 'nowhere.id.example', 'other.example']) await server.send('/info', { host })
      const [line = '', ...others] = server.lines.slice(before)
      assert.match(
        line,
        /^a request for the host "10\.0\.0\.11:8443" got 404: this server is id\.example \(base_url\), and its/,
      )
      assert.match(line, /add it to zones\.internal\.hostnames; otherwise a proxy must pass the Host header on/)
      assert.deepEqual(others, [])
    })

    for (const [what, host] of [
      ['an unknown subdomain', 'nowhere.id.example'],
      ['an inactive zone', 'z2.id.example'],
      ['a subdomain of a zone', 'a.z1.id.example'],
      ['an unknown host', 'evil.example'],
      ['an IP address', '127.0.0.1:8080'],
    ] as const) {
      // Covers error body families: E8 page
      // Covers error pages: unknown zone
      it(`is 404 for ${what}, as HTML and JSON`, async () => {
        const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
        for (const path of ['/', '/login', '/oauth/authorize', '/logout.do', '/info', '/zone.css', '/nowhere']) {
          const page = await server.send(path, { host, headers: html })
          assert.equal(page.status, 404, path)
          assert.match(String(page.headers['content-type']), /^text\/html/, path)
          assert.match(page.text, /The subdomain does not map to a valid identity zone\./, path)
          assert.equal(/If you operate the server: its log has/.test(page.text), mode === 'standard', path)
          assert.equal(page.headers['x-content-type-options'], 'nosniff', path)
          assert.equal(page.headers['set-cookie'], undefined, path)
        }
        for (const path of [
          '/oauth/token',
          '/userinfo',
          '/token_keys',
          '/info',
          '/login',
          '/nowhere',
          '/.well-known/openid-configuration',
        ]) {
          const method = path === '/oauth/token' ? { form: {} } : {}
          const answer = await server.send(path, { host, headers: { accept: 'application/json' }, ...method })
          assert.equal(answer.status, 404, path)
          assert.deepEqual(
            answer.json(),
            { error: 'not_found', error_description: 'The subdomain does not map to a valid identity zone.' },
            path,
          )
        }
        const form = { username: 'marissa', password: 'koala' }
        assert.equal((await server.send('/login.do', { host, form })).status, 404)
      })

      // Covers zone by host name: rule: healthz and static files skip the zone
      it(`is not required for health and files, for ${what}`, async () => {
        assert.equal((await server.send('/healthz', { host })).text, 'ok')
        assert.equal((await server.send('/resources/latchkey.css', { host })).status, 200)
      })
    }

    // Covers every endpoint: rule: proxy headers are ignored
    it('is not selected by forwarded headers', async () => {
      const headers = {
        'x-forwarded-host': 'z1.id.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-prefix': '/evil',
        forwarded: 'host=z1.id.example;proto=https',
      }
      const info = (await server.send('/info', { headers })).json<{ zone_name: string; links: { login: string } }>()
      assert.equal(info.zone_name, 'svc')
      assert.equal(info.links.login, 'http://id.example:8080')
      assert.equal((await server.send('/home', { headers })).headers['location'], 'http://id.example:8080/login')
    })

    it('shows no other zone on the page for an unknown one', async () => {
      const { text } = await server.send('/login', { host: 'z2.id.example' })
      assert.doesNotMatch(text, /Zone two|Zone one/)
    })
  })
}

describe('Branding', () => {
  // Covers layout and branding: companyName; productLogo; footerLegalText; footerLinks; banner.text
  // Covers Zone config in effect: branding.companyName; branding.productLogo; branding.footerLegalText
  // Covers Zone config in effect: branding.footerLinks
  // Partly covers Zone config in effect: fallback to the default zone
  it('falls back to the default zone, except for the product logo', async () => {
    const logo = Buffer.from('a picture').toString('base64')
    const zones = authorizeBootstrap.identity_zones.map(zone =>
      zone.id === 'z1' ? { ...zone, config: { branding: { footerLegalText: 'Law of one' } } } : zone,
    )
    const branding = {
      companyName: 'Company',
      productLogo: logo,
      footerLegalText: 'Law of all',
      footerLinks: { Privacy: 'https://x.example/privacy' },
      banner: { text: 'Maintenance' },
    }
    const bootstrap = { ...authorizeBootstrap, identity_zones: zones }
    const server = await startServer({ config: { bootstrap, zone_config: { branding } } })
    try {
      const home = (await server.send('/login')).text
      assert.match(home, /<title>Sign in · Company<\/title>/)
      assert.ok(home.includes('<img class="logo" src="/product-logo.png"'))
      assert.match(home, /Law of all/)
      const other = (await server.send('/login', { host: 'z1.localhost' })).text
      assert.match(other, /<title>Sign in · Zone one<\/title>/)
      assert.ok(!other.includes('product-logo.png'))
      assert.equal((await server.send('/product-logo.png', { host: 'z1.localhost' })).status, 404)
      assert.match(other, /Law of one/)
      assert.match(other, /<a href="https:\/\/x\.example\/privacy"><bdi>Privacy<\/bdi><\/a>/)
      assert.match(other, /<div class="banner banner-header"><span><bdi>Maintenance<\/bdi><\/span><\/div>/)
    } finally {
      await server.stop()
    }
  })
})
