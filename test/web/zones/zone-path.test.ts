// Zones by path: only `{base}/z/{subdomain}/…` selects the zone.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { createPrefixRemover } from '../../../src/web/zones/zone.ts'
import { MODES, tokensOf } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { bootstrap, HTML, ROOT, sendRaw, UNKNOWN, zone_config } from '../../support/zone-path.ts'

describe('`createPrefixRemover`', () => {
  const long = 'x'.repeat(5000)
  const cases: readonly { url: string; at?: string; want: string }[] = [
    { url: '/z/x/login', want: '/login' },
    { url: '/z/x/login?a=/z/y/', want: '/login?a=/z/y/' },
    { url: '/z/x', want: '/' },
    { url: '/z/x/', want: '/' },
    { url: '/z/x?a=1', want: '/?a=1' },
    { url: '/z/x#f', want: '/#f' },
    { url: '/z', want: '/' },
    { url: '/z/', want: '/' },
    { url: '/z//login', want: '/login' },
    { url: '/z/x//login', want: '//login' },
    { url: '/z/x/z/y/login', want: '/z/y/login' },
    { url: '/z/../login', want: '/login' },
    { url: `/z/${long}/login`, want: '/login' },
    { url: 'http://id.example/z/x/login', want: '/login' },
    { url: 'HTTPS://id.example:443/z/x', want: '/' },
    { url: 'http://id.example/oauth/token?x', want: '/oauth/token?x' },
    { url: 'http://id.example/uaa/', at: '/uaa', want: '/uaa/' },
    { url: 'http://id.example?x', want: '/?x' },
    { url: 'http://id.example', want: '/' },
    { url: '/.well-known/oauth-authorization-server/z/x', want: '/.well-known/oauth-authorization-server' },
    {
      url: '/.well-known/oauth-authorization-server/z/x/oauth/token',
      want: '/.well-known/oauth-authorization-server/oauth/token',
    },
    { url: '/uaa/z/x/login', at: '/uaa', want: '/uaa/login' },
    { url: '/uaa/z/x', at: '/uaa', want: '/uaa/' },
    {
      url: '/.well-known/oauth-authorization-server/uaa/z/x',
      at: '/uaa',
      want: '/.well-known/oauth-authorization-server/uaa',
    },
    { url: '/z/z/x/login', at: '/z', want: '/z/login' },
  ]
  for (const { url, at = '', want } of cases) {
    it(`removes origin and prefix of ${url.slice(0, 80)} below "${at}"`, () => {
      assert.equal(createPrefixRemover(createUrls(`http://id.example${at}`, behaviourOf('standard')))({ url }), want)
    })
  }

  for (const [url, at] of [
    ['/zone.css', ''],
    ['/zx/login', ''],
    ['/Z/x/login', ''],
    ['/%7a/x/login', ''],
    ['//z/x/login', ''],
    ['/./z/x/login', ''],
    ['/a/z/x/login', ''],
    ['/login?form_redirect_uri=/z/x/', ''],
    ['/z/x/login', '/uaa'],
    ['/uaax/z/x/login', '/uaa'],
    ['/uaa/.well-known/oauth-authorization-server/z/x', '/uaa'],
    ['*', ''],
    ['', ''],
  ] as const) {
    it(`keeps "${url}" below "${at}"`, () => {
      assert.equal(createPrefixRemover(createUrls(`http://id.example${at}`, behaviourOf('standard')))({ url }), url)
    })
  }
})
for (const mode of MODES) {
  for (const path of ['', '/uaa']) {
    const origin = 'http://id.example:8080'
    const base = origin + path
    const issuerEnd = mode === 'uaa' ? '/oauth/token' : ''

    describe(`Zones by path below ${base} in ${mode}`, () => {
      let server: TestServer
      let port: number
      before(async () => {
        const cors = { default: { allowed: { origins: ['.*'], uris: [`${path}/info`], methods: ['GET'] } } }
        server = await startServer({ mode, config: { base_url: base, bootstrap, zone_config, cors } })
        await server.app.http.listen({ host: '127.0.0.1', port: 0 })
        port = (server.app.http.server.address() as AddressInfo).port // no pipe
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      const token = (zone: string, basic: readonly [string, string]) =>
        server.send(`${path}${zone}/oauth/token`, { form: { grant_type: 'client_credentials' }, basic })

      for (const [name, zone] of [
        ['x', 'Zone x'],
        ['X', 'Zone x'],
        ['a.b', 'Zone a.b'],
        ['default', 'svc'],
        ['DEFAULT', 'svc'],
      ] as const) {
        // Covers zone by path: rule: `/z/{subdomain}` behind the base path is the zone
        // Covers zone by path: rule: `/z/default` is the default zone
        it(`serve ${zone} at /z/${name}, with links below it`, async () => {
          const answer = await server.send(`${path}/z/${name}/info`)
          const info = answer.json<{ zone_name: string; links: { login: string } }>()
          assert.equal(info.zone_name, zone)
          assert.equal(info.links.login, `${base}/z/${name.toLowerCase()}`)
        })
      }

      it('register no routes below /z', async () => {
        assert.deepEqual(
          (await server.app.routes()).filter(({ url }) => /\/z(?:\/|$)/.test(url)),
          [],
        )
      })

      const refusals: readonly { name: string; prefix: string; host?: string }[] = [
        { name: 'an unknown zone', prefix: '/z/nowhere' },
        { name: 'a zone that is not active', prefix: '/z/off' },
        { name: 'an id that is not a subdomain', prefix: '/z/called-default' },
        { name: 'no name', prefix: '/z/' },
        { name: 'a dot', prefix: '/z/.' },
        { name: 'two dots', prefix: '/z/..' },
        { name: 'a trailing dot', prefix: '/z/x.' },
        { name: 'an encoded letter', prefix: '/z/%78' },
        { name: 'encoded dots', prefix: '/z/%2e%2e' },
        { name: 'an encoded slash', prefix: '/z/x%2f' },
        { name: 'an encoded slash and another zone', prefix: '/z/y%2f..%2fx' },
        { name: 'a backslash', prefix: '/z/x%5c' },
        { name: 'a NUL', prefix: '/z/x%00' },
        { name: 'an invalid encoding', prefix: '/z/%zz' },
        { name: 'a semicolon', prefix: '/z/x;y' },
        { name: 'a semicolon alone', prefix: '/z/;' },
        { name: 'a space', prefix: '/z/x%20' },
        { name: 'a Kelvin sign', prefix: '/z/%E2%84%AA' },
        { name: 'a name of 256 letters', prefix: `/z/${'x'.repeat(256)}` },
        { name: 'a name of 10000 letters', prefix: `/z/${'x-'.repeat(5000)}` },
        { name: 'a zone within a zone', prefix: '/z/x/z/y' },
        { name: 'a zone within itself', prefix: '/z/x/z/x' },
        { name: 'a zone within the default zone', prefix: '/z/default/z/x' },
        // Covers zone by path: rule: not at another zone's own host
        { name: 'another zone at a zone’s own host', prefix: '/z/y', host: 'x.id.example:8080' },
        { name: 'a zone at its own host', prefix: '/z/x', host: 'x.id.example:8080' },
        { name: 'the default zone at another one’s host', prefix: '/z/default', host: 'x.id.example:8080' },
        { name: 'a zone at an unknown host', prefix: '/z/x', host: 'evil.example' },
        { name: 'a zone at a host below that of the base URL', prefix: '/z/x', host: 'nowhere.id.example' },
      ]
      for (const { name, prefix, host } of refusals) {
        // Covers zone by path: rule: unknown, inactive, encoded or nested is 404
        it(`answer 404 for ${name}, as HTML and JSON`, async () => {
          const to = host === undefined ? {} : { host }
          for (const rest of ['/', '/login', '/home', '/oauth/authorize', '/info', '/nowhere']) {
            const page = await sendRaw(port, path + prefix + rest, { ...HTML, ...to })
            assert.equal(page.status, 404, rest)
            assert.match(String(page.headers['content-type']), /^text\/html/, rest)
            assert.ok(page.text.includes(UNKNOWN), rest)
            assert.doesNotMatch(page.text, /Zone [xy]/)
            assert.equal(page.headers['set-cookie'], undefined)
            assert.equal(page.headers['x-content-type-options'], 'nosniff')
          }
          for (const rest of ['/info', '/token_keys', '/userinfo', '/.well-known/openid-configuration', '/nowhere']) {
            const answer = await sendRaw(port, path + prefix + rest, { accept: 'application/json', ...to })
            assert.equal(answer.status, 404, rest)
            assert.deepEqual(answer.json(), { error: 'not_found', error_description: UNKNOWN })
          }
          const post = { method: 'POST', accept: 'application/json', ...to }
          assert.equal((await sendRaw(port, `${path}${prefix}/oauth/token`, post)).status, 404)
        })
      }

      for (const url of [
        `${path}/%7a/x/info`,
        `${path}/%7A/x/info`,
        `${path}/z%2fx/info`,
        `${path}/z%2Fx%2Finfo`,
        `${path}//z/x/info`,
        `/${path}/z/x/info`,
        `${path}/./z/x/info`,
        `${path}/%2e/z/x/info`,
        `${path}/Z/x/info`,
        `${path}/zx/info`,
        `${path}/x/../z/x/info`,
        `${path}/z/x//info`,
        `${path}/z/x/../y/info`,
        `${path}/z/x/%2e%2e/y/info`,
        `${path}/z/x/..%2fy/info`,
        `${path}/z/x/%2fz/y/info`,
        `${path}/z/x/%7a/y/info`,
        `${path}/z/x/info%2f..%2f..%2fy%2finfo`,
      ]) {
        it(`are not reached by ${url}`, async () => {
          const answer = await sendRaw(port, url, { accept: 'application/json' })
          // UAA: unknown paths redirect to sign-in, even for JSON.
          assert.equal(answer.status, mode === 'uaa' ? 302 : 404, answer.text)
          assert.doesNotMatch(answer.text, /zone_name/)
        })
      }

      it('accept an absolute request URL (RFC 9112 §3.2.2)', async () => {
        const answer = await sendRaw(port, `${base}/z/x/info`, { host: new URL(base).host })
        assert.equal(answer.json()['zone_name'], 'Zone x')
      })

      it('refuse an absolute request URL that differs from Host', async () => {
        const answer = await sendRaw(port, `${base}/z/x/info`, { host: 'x.id.example:8080' })
        assert.equal(answer.status, 400)
        assert.doesNotMatch(answer.text, /zone_name/)
      })

      it('redirect to a trailing slash, with the query', async () => {
        for (const [url, want] of [
          ['/z/x', '/z/x/'],
          ['/z/X', '/z/x/'],
          ['/z/x?a=1&b=/z/y', '/z/x/?a=1&b=/z/y'],
          ['/z/default', '/z/default/'],
        ] as const) {
          const answer = await server.send(path + url)
          assert.deepEqual([answer.status, answer.headers['location']], [302, base + want])
          assert.equal(answer.headers['set-cookie'], undefined, 'no session cookie')
        }
        assert.equal((await server.send(`${path}/z/x/`)).headers['location'], `${base}/z/x/login`)
      })

      it('serve health and files below the prefix', async () => {
        for (const prefix of ['', '/z/x', '/z/nowhere']) {
          assert.equal((await server.send(`${path}${prefix}/healthz`)).text.trim(), 'ok')
          assert.equal((await server.send(`${path}${prefix}/resources/latchkey.css`)).status, 200)
        }
        const css = await server.send(`${path}/z/styled/zone.css`)
        assert.deepEqual([css.status, css.text.includes('#123456')], [200, true])
        assert.equal((await server.send(`${path}/z/x/zone.css`)).status, 404)
      })

      describe('metadata', () => {
        for (const [url, name] of [
          [`${path}/z/x/.well-known/openid-configuration`, 'x'],
          [`${path}/z/X/.well-known/openid-configuration`, 'x'],
          [`${path}/z/x/oauth/token/.well-known/openid-configuration`, 'x'],
          [`${path}/z/x/.well-known/oauth-authorization-server`, 'x'],
          [`/.well-known/oauth-authorization-server${path}/z/x`, 'x'],
          [`/.well-known/oauth-authorization-server${path}/z/x/oauth/token`, 'x'],
          [`/.well-known/oauth-authorization-server${path}/z/default`, 'default'],
        ] as const) {
          // Covers zone by path: rule: metadata
          // Covers GET /.well-known/oauth-authorization-server/oauth/token: response: issuer
          it(`at ${url} has the issuer and URLs of the path`, async () => {
            const { issuer, ...document } = (await server.send(url)).json()
            assert.equal(issuer, `${base}/z/${name}${issuerEnd}`)
            const addresses = Object.values(document).filter(
              value => typeof value === 'string' && value.includes('://'),
            )
            assert.ok(addresses.length >= 6)
            for (const address of addresses)
              assert.ok(String(address).startsWith(`${base}/z/${name}/`), String(address))
            const keys = (await server.send(new URL(String(document['jwks_uri'])).pathname)).json<{ keys: object[] }>()
            assert.equal(keys.keys.length, 1)
          })
        }

        for (const rest of ['nowhere', 'off', '', '%78', 'x/z/y', '..']) {
          it(`answers 404 for "${rest}"`, async () => {
            const answer = await sendRaw(port, `/.well-known/oauth-authorization-server${path}/z/${rest}`, {})
            assert.deepEqual(answer.json(), { error: 'not_found', error_description: UNKNOWN })
          })
        }

        it('keeps the configured issuer of the zone', async () => {
          const document = (await server.send(`${path}/z/named/.well-known/openid-configuration`)).json()
          assert.equal(document['issuer'], `https://issuer.example${issuerEnd}`)
          assert.equal(document['token_endpoint'], `${base}/z/named/oauth/token`)
        })
      })
      describe('checks of the path', () => {
        it('ignore the prefix: CORS', async () => {
          const headers = { origin: 'https://spa.example', accept: 'application/json' }
          for (const zone of ['', '/z/x']) {
            const shared = await server.send(`${path}${zone}/info`, { headers })
            assert.equal(shared.headers['access-control-allow-origin'], '*', zone)
            assert.equal((await server.send(`${path}${zone}/token_keys`, { headers })).status, 403)
          }
        })

        if (mode === 'uaa') {
          it('ignore the prefix: semicolons', async () => {
            for (const rest of ['/login;a=b', '/login%3ba']) {
              const answer = await server.send(`${path}/z/x${rest}`, { headers: { accept: 'application/json' } })
              assert.equal(answer.status, 400)
              assert.match(answer.text, /potentially malicious/)
            }
          })
        }

        // Covers zone by path: rule: zone switching headers are refused
        it('refuse zone switching headers, except in the default zone', async () => {
          const { access_token: bearer } = tokensOf(await token('', ROOT))
          const { access_token: inside } = tokensOf(await token('/z/x', ROOT))
          const body = JSON.stringify({ client_id: 'signer', jwks_uri: 'https://keys.example/jwks' })
          const change = (zone: string, value: string, header: Record<string, string>) =>
            server.send(`${path}${zone}/oauth/clients/signer/clientjwt`, {
              method: 'PUT',
              bearer: value,
              body,
              headers: { 'content-type': 'application/json', ...header },
            })
          for (const name of ['x-identity-zone-id', 'x-identity-zone-subdomain']) {
            for (const target of ['x', 'y', 'svc']) {
              const refused = await change('/z/x', inside, { [name]: target })
              assert.deepEqual([refused.status, refused.json()['error']], [403, 'access_denied'])
              const page = await server.send(`${path}/z/x/info`, { headers: { [name]: target } })
              assert.equal(page.status, 403)
            }
            // A token of the default zone is not valid in the zone, with or without the header.
            assert.equal((await change('/z/x', bearer, {})).status, 401)
            assert.notEqual((await change('/z/x', bearer, { [name]: 'x' })).status, 200)
            for (const zone of ['', '/z/default']) {
              assert.equal((await change(zone, bearer, { [name]: 'x' })).status, 200, zone)
            }
          }
        })
      })
    })
  }
}
