// Further host names of the default zone (`zones.internal.hostnames`), such as `login.` beside `uaa.`: browsers stay on them,
// and tokens have the same issuer.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { furtherRootOf } from '../../../src/web/zones/zone.ts'
import { authorize, authorizeBootstrap, AUTO_REQUEST, responseOf } from '../../support/authorize.ts'
import { dpopKey, provenToken } from '../../support/dpop.ts'
import { MODES, tokensOf } from '../../support/oauth.ts'
import { NEW_PASSWORD } from '../../support/self-service.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { caller, sendJson, tokenOf } from '../../support/zones.ts'

const ROOT = 'http://id.example:8080'
const LOGIN = 'http://login.example:8080'
const HOST = 'login.example:8080'

const provider = {
  originKey: 'corp',
  type: 'oidc1.0',
  name: 'Corp',
  config: {
    authUrl: 'https://corp.example/authorize',
    tokenUrl: 'https://corp.example/token',
    tokenKeyUrl: 'https://corp.example/keys',
    issuer: 'https://corp.example',
    relyingPartyId: 'us',
    relyingPartySecret: 'secret',
    linkText: 'Corp',
  },
}

describe('`furtherRootOf`', () => {
  const hosts = ['login.example', 'a.id.example', 'localhost']
  const cases: readonly { host: string | undefined; base?: string; want: string | undefined }[] = [
    { host: 'login.example', want: 'login.example' },
    { host: 'LOGIN.example.', want: 'login.example' },
    { host: 'login.example:443', want: 'login.example' },
    { host: 'z1.login.example', want: 'login.example' },
    { host: 'z1.a.id.example', want: 'a.id.example' },
    { host: 'localhost', want: 'localhost' },
    { host: 'id.example', want: undefined },
    { host: 'z1.id.example', want: undefined },
    { host: 'login.example:8443', want: undefined },
    { host: 'login.example:80', want: undefined },
    { host: 'evil.example', want: undefined },
    { host: undefined, want: undefined },
    { host: 'login.example:8443', base: 'https://id.example:8443', want: 'login.example:8443' },
    { host: 'login.example', base: 'https://id.example:8443', want: undefined },
    { host: 'login.example:80', base: 'http://id.example', want: 'login.example' },
    { host: 'login.example', base: 'https://login.example', want: undefined },
  ]
  for (const { host, base = 'https://id.example', want } of cases) {
    it(`returns ${want ?? 'undefined'} for ${host ?? 'no host'} beside ${base}`, () => {
      const { protocol, hostname, port } = new URL(base)
      assert.equal(furtherRootOf(host, hosts, { hostname, port, isHttps: protocol === 'https:' }), want)
    })
  }
})

for (const mode of MODES) {
  describe(`Further host name in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({
        mode,
        config: {
          base_url: ROOT,
          zones: { internal: { hostnames: ['login.example'] } },
          listen: { trusted_proxies: ['127.0.0.1'] },
          mutual_tls: { endpoint_base_url: 'https://mtls.example' },
          zone_config: { protocols: { dpop: true, mutualTls: true } },
          bootstrap: {
            ...authorizeBootstrap,
            clients: [...authorizeBootstrap.clients, caller('root', 'zones.z1.admin')],
            identity_providers: [provider],
          },
        },
      })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const issuer = mode === 'uaa' ? `${ROOT}/oauth/token` : ROOT

    it('keeps a sign-in on the host, and returns to the application', async () => {
      const browser = server.browser(HOST)
      const asked = await authorize(browser, AUTO_REQUEST)
      assert.equal(asked.location().href, `${LOGIN}/login`)
      const signedIn = await browser.signIn('marissa', 'koala')
      assert.equal(signedIn.location().origin + signedIn.location().pathname, `${LOGIN}/oauth/authorize`)
      const answer = await browser.send(signedIn.location().pathname + signedIn.location().search)
      assert.ok(answer.location().href.startsWith(`${AUTO_REQUEST.redirect_uri}?`))
      const { code = '', state, iss } = responseOf(answer).query
      assert.equal(state, 's1')
      assert.equal(iss, mode === 'uaa' ? undefined : issuer)
      const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
      const tokens = await server.send('/oauth/token', { basic: ['auto', 'auto-secret'], form })
      assert.equal(decodeJwt(tokens.json<{ id_token: string }>().id_token).iss, issuer)
    })

    it('is used in the redirect URI at a provider', async () => {
      const { href, searchParams } = (await server.browser(HOST).send('/login/external/corp')).location()
      assert.match(href, /^https:\/\/corp\.example\/authorize\?/)
      assert.equal(searchParams.get('redirect_uri'), `${LOGIN}/login/callback/corp`)
    })

    it('is used in the endpoints of the metadata, but not in the issuer', async () => {
      const body = (await server.send('/.well-known/openid-configuration', { host: HOST })).json<object>()
      const document = Object.fromEntries(Object.entries(body))
      assert.equal(document['issuer'], issuer)
      assert.equal(document['authorization_endpoint'], `${LOGIN}/oauth/authorize`)
      assert.equal(document['jwks_uri'], `${LOGIN}/token_keys`)
      const { token_endpoint: withCertificate } = Object.assign(
        { token_endpoint: '' },
        document['mtls_endpoint_aliases'],
      )
      assert.equal(withCertificate, mode === 'uaa' ? '' : 'https://mtls.example/oauth/token')
      const info = (await server.send('/info', { host: HOST })).json<{ links: object }>()
      assert.deepEqual(
        { ...info.links },
        { login: LOGIN, uaa: ROOT, passwd: '/forgot_password', register: '/create_account' },
      )
    })

    it('issues and accepts tokens with the issuer of the base URL', async () => {
      const form = { grant_type: 'client_credentials' }
      const here = tokensOf(
        await server.send('/oauth/token', { host: HOST, basic: ['service', 'service-secret'], form }),
      )
      const there = tokensOf(await server.send('/oauth/token', { basic: ['service', 'service-secret'], form }))
      assert.equal(decodeJwt(here.access_token).iss, issuer)
      assert.deepEqual(decodeProtectedHeader(here.access_token), decodeProtectedHeader(there.access_token))
      for (const [token, host] of [
        [here.access_token, 'id.example:8080'],
        [there.access_token, HOST],
      ] as const) {
        // 403: the token is valid, and its scopes do not allow this.
        const headers = { authorization: `Bearer ${token}` }
        assert.equal((await server.send('/oauth/clients', { host, headers })).status, 403, host)
      }
    })

    it('accepts DPoP proofs for its own URL and for the base URL', async () => {
      const form = { grant_type: 'client_credentials', client_id: 'service', client_secret: 'service-secret' }
      for (const [host, base, status] of [
        [HOST, LOGIN, 200],
        [HOST, ROOT, 200],
        [HOST, 'http://other.example:8080', 400],
        ['id.example:8080', ROOT, 200],
        ['id.example:8080', LOGIN, 400],
      ] as const) {
        const answer = await provenToken(server, await dpopKey(), form, { host }, { url: `${base}/oauth/token` })
        assert.equal(answer.status, status, `${base} at ${host}: ${answer.text}`)
      }
    })

    it('serves zones by host and by path', async () => {
      for (const [host, path, want] of [
        [`z1.${HOST}`, '', 'http://z1.login.example:8080'],
        [HOST, '/z/z1', `${LOGIN}/z/z1`],
      ] as const) {
        assert.equal((await server.send(`${path}/profile`, { host })).location().href, `${want}/login`)
        const document = (await server.send(`${path}/.well-known/openid-configuration`, { host })).json<object>()
        const { issuer: named, token_endpoint: endpoint } = Object.assign({ issuer: '', token_endpoint: '' }, document)
        assert.equal(endpoint, `${want}/oauth/token`)
        assert.equal(named, issuer.replace(ROOT, path === '' ? 'http://z1.id.example:8080' : `${ROOT}/z/z1`))
      }
    })

    it('is used in links for a zone named by a header', async () => {
      const user = { userName: 'new', password: NEW_PASSWORD, emails: [{ value: 'new@example.org' }], verified: false }
      const bearer = await tokenOf(server, 'root')
      const headers = { 'x-identity-zone-id': 'z1' }
      const made = await sendJson(server, 'POST', '/Users', user, { bearer, headers, host: HOST })
      const path = `/Users/${made.json<{ id: string }>().id}/verify-link`
      const query = { redirect_uri: 'https://auto.example/' }
      const answer = await server.send(path, { query, bearer, headers, host: HOST })
      assert.match(
        answer.json<{ verify_link: string }>().verify_link,
        /^http:\/\/z1\.login\.example:8080\/verify_user\?/,
      )
    })

    it('redirects to the base URL at another port', async () => {
      for (const host of ['login.example', 'login.example:8443']) {
        assert.equal((await server.send('/profile', { host })).location().href, `${ROOT}/login`)
      }
    })
  })
}
