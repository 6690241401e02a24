import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fastify from 'fastify'
import type { RegisteredRoute, RouteConfig } from '../../src/web/route.ts'
import { PROTOCOLS } from '../../src/records/protocols.ts'
import { watchRoutes } from '../../src/web/route.ts'
import { signedIn } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { SIGN_IN_DEMANDS } from '../../src/model/sessions/sign-in-demands.ts'

const META = ['/oauth/clients/meta', '/oauth/clients/:client_id/meta']

for (const mode of MODES) {
  describe(`Route table in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      // Routes of a protocol exist only if the zone enables it.
      const protocols = Object.fromEntries(Object.keys(PROTOCOLS).map(name => [name, true]))
      server = await startServer({ mode, config: { zone_config: { protocols } } })
    })
    after(() => server.stop())
    const routes = () => server.app.routes()

    it('has each route once, with access and audience', async () => {
      const all = await routes()
      assert.ok(all.length > 20)
      const names = all.map(({ method, url }) => `${method} ${url}`)
      assert.deepEqual(
        names.filter((name, index) => names.indexOf(name) !== index),
        [],
      )
      for (const { method, url, access, audience } of all) {
        assert.ok(['anyone', 'client', 'bearer', 'session'].includes(access.by), `${method} ${url}`)
        assert.ok(['api', 'page', 'open'].includes(audience), `${method} ${url}`)
        if (access.by === 'anyone') assert.ok(access.because.length > 10, `${method} ${url} says why`)
      }
    })

    it('gives users with a pending step access to its page by GET and POST', async () => {
      for (const { path } of SIGN_IN_DEMANDS) {
        for (const method of ['GET', 'POST']) {
          const route = (await routes()).find(each => each.url === path && each.method === method)
          assert.deepEqual(route?.access, { by: 'session', whileDemanded: true }, `${method} ${path}`)
        }
      }
    })

    it('lists all routes open to anyone', async () => {
      const known = [
        '/accounts/email_sent',
        '/authenticate',
        '/autologin',
        '/check_session',
        '/connect/register',
        '/connect/register/:client_id',
        '/create_account',
        '/create_account.do',
        '/delete_saved_account',
        '/device', // requires sign-in if the zone enables the protocol
        '/device/decision',
        '/docs',
        '/email_sent',
        '/error',
        '/favicon.ico',
        '/forgot_password',
        '/continue',
        '/forgot_password.do',
        '/reset_password',
        '/reset_password.do',
        '/square-logo.png',
        '/product-logo.png',
        '/banner-logo.png',
        '/vendor/*',
        '/password/*',
        '/error*',
        '/error404',
        '/error429',
        '/error500',
        '/healthz',
        '/livez',
        '/readyz',
        '/info',
        '/invalid_request',
        '/invitations/accept',
        '/invitations/accept.do',
        '/invitations/accept_enterprise.do',
        '/login',
        '/login.do',
        '/login/backchannel_logout/:origin',
        '/login/callback/:origin',
        '/login/external/:origin',
        '/login/idp_discovery',
        '/login/passkey',
        '/login/passkey/options',
        '/logout.do',
        '/oauth/authorize',
        '/oauth_error',
        '/rejected',
        '/saml/discovery',
        '/saml/login/alias/:alias',
        '/saml/metadata',
        '/saml/metadata/alias/:alias',
        '/saml/SSO',
        '/saml/SSO/alias/:alias',
        '/saml/SingleLogout/alias/:alias',
        '/saml2/authenticate/:alias',
        '/saml_error',
        '/openapi.json',
        '/origin-chooser',
        '/session',
        '/session_management',
        '/token_key',
        '/token_keys',
        '/verify_email',
        '/verify_user',
        '/zone.css',
      ]
      const open = (await routes()).filter(({ access }) => access.by === 'anyone')
      const urls = new Set(open.map(({ url }) => url))
      assert.deepEqual(
        [...urls].filter(url => !/^\/resources\/|\/\.well-known\//.test(url)).toSorted(),
        known.toSorted(),
      )
    })

    it('refuses anonymous callers on every route that requires a session', async () => {
      const guarded = (await routes()).filter(({ access }) => access.by === 'session')
      assert.ok(guarded.length > 0)
      for (const { method, url } of guarded) {
        const page = await server.send(url, { method, headers: { accept: 'text/html' } })
        assert.equal(page.status, 302, `${method} ${url}`)
        assert.equal(page.headers['location'], 'http://localhost:8080/login', `${method} ${url}`)
        const program = await server.send(url, { method, headers: { accept: 'application/json' } })
        assert.equal(program.status, mode === 'standard' ? 403 : 302, `${method} ${url}`)
        const forged = await server.send(url, {
          method,
          cookies: { 'svc-session': 'x'.repeat(43), JSESSIONID: 'x'.repeat(43) },
        })
        assert.equal(forged.status, 302, `${method} ${url}`)
      }
    })

    it('refuses forms without a valid anti-forgery token before the handler', async () => {
      const forms = (await routes()).filter(({ antiForgery }) => antiForgery?.by === 'gate')
      assert.ok(forms.length > 10)
      const browser = await signedIn(server)
      const location = 'http://localhost:8080/login?error=invalid_login_request'
      for (const { method, url, access } of forms) {
        const foreign = { method, form: { 'X-Svc-Csrf': 'x'.repeat(22) }, headers: { accept: 'text/html' } }
        const answer = await browser.send(url, foreign)
        assert.equal(answer.status, 403, `${method} ${url}`)
        if (access.by === 'session') continue
        const anonymous = await server.send(url, foreign)
        assert.equal(anonymous.status, 302, `${method} ${url}`)
        assert.equal(anonymous.headers['location'], location, `${method} ${url}`)
      }
    })

    it('lists all routes that check forged forms in the handler or not at all', async () => {
      const declared = (await routes()).filter(({ method }) => method !== 'GET' && method !== 'HEAD')
      const by = (who: string): readonly string[] =>
        declared.flatMap(({ url, antiForgery }) => (antiForgery?.by === who ? [url] : [])).toSorted()
      assert.deepEqual(by('handler'), [
        '/device',
        '/device/decision',
        '/login.do',
        '/login/passkey',
        '/login/passkey/options',
        '/logout.do',
        '/oauth/authorize',
        '/second_factor',
        '/second_factor/app',
        '/second_factor/passkey',
      ])
      assert.deepEqual(by('nobody'), [
        '/delete_saved_account',
        '/forgot_password.do',
        '/login/callback/:origin',
        '/saml/SSO',
        '/saml/SSO/alias/:alias',
        '/saml/SingleLogout/alias/:alias',
      ])
    })

    it('refuses missing, malformed and unrelated tokens on every bearer route', async () => {
      const guarded = (await routes()).filter(({ access }) => access.by === 'bearer')
      assert.ok(guarded.length > 0)
      const browser = await signedIn(server)
      const { access_token } = (
        await server.token({ grant_type: 'client_credentials' }, { basic: ['service', 'service-secret'] })
      ).json<{ access_token: string }>()
      // Client metadata is available with any token of the zone.
      const forAll = new Set(['GET', 'HEAD'].flatMap(method => META.map(path => `${method} ${path}`)))
      for (const { method, url, refuses } of guarded) {
        for (const bearer of [undefined, '', 'x', 'a.b.c', access_token]) {
          if (bearer === access_token && forAll.has(`${method} ${url}`)) continue
          const answer = await browser.send(url, { method, ...(bearer !== undefined && { bearer }) })
          const label = `${method} ${url} with ${bearer === access_token ? 'the token of another resource' : JSON.stringify(bearer)}`
          assert.ok([401, 403].includes(answer.status), `${label}: ${answer.status}`)
          // No token would do there.
          if (refuses && answer.status === 403 && answer.headers['www-authenticate'] === undefined) continue
          const bare = /^Bearer (?:realm="SVC\/oauth"|error="insufficient_scope")/ // M12
          const wanted = mode === 'uaa' ? bare : /^Bearer realm="SVC\/oauth"/
          assert.match(String(answer.headers['www-authenticate']), wanted, label)
        }
      }
    })

    it('refuses callers without client authentication on every client route', async () => {
      const guarded = (await routes()).filter(({ access }) => access.by === 'client')
      assert.ok(guarded.length > 0)
      for (const { method, url } of guarded) {
        if (method === 'HEAD') continue
        const form = { grant_type: 'client_credentials', token: 'x' }
        const request = method === 'GET' ? { query: form } : { form }
        for (const basic of [undefined, ['service', 'wrong'], ['nemo', 'x']] as const) {
          const answer = await server.send(url, { method, ...request, ...(basic && { basic }) })
          assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${url}: ${answer.status}`)
          assert.doesNotMatch(answer.text, /"access_token"|"active":true/)
        }
      }
    })
  })
}

describe('`watchRoutes`', () => {
  const register =
    (config: Partial<RouteConfig>, method = 'GET') =>
    () => {
      const app = fastify({ exposeHeadRoutes: false })
      const table: RegisteredRoute[] = []
      watchRoutes(app, table, () => {})
      app.route({ method, url: '/added', config, handler: () => 'secret' })
      return table
    }
  const access = { by: 'anyone', because: 'it is a test' } as const

  it('refuses a route without access and audience', () => {
    assert.throws(register({}), /GET \/added does not declare its access and audience/)
    assert.throws(register({ access }), /does not declare its access and audience/)
    assert.throws(register({ audience: 'page' }), /does not declare its access and audience/)
  })

  it('refuses a form route without declared anti-forgery protection', () => {
    const missing = /(?:POST|DELETE) \/added does not declare its protection against forged forms/
    const bySession = { access: { by: 'session' }, audience: 'api' } as const
    assert.throws(register({ access, audience: 'page' }, 'POST'), missing)
    assert.throws(register(bySession, 'DELETE'), missing)
    assert.equal(register({ access, audience: 'page', antiForgery: { by: 'gate' } }, 'POST')().length, 1)
    assert.equal(register({ access, audience: 'api' }, 'POST')().length, 1)
  })

  it('refuses an undeclared route on a server', async () => {
    const server = await startServer()
    try {
      assert.throws(() => server.app.http.get('/added', () => 'secret'))
    } finally {
      await server.stop()
    }
  })

  it('adds a declared route to the table', () => {
    const table = register({ access, audience: 'api' })()
    assert.deepEqual(table.map(({ method, url, audience }) => `${method} ${url} ${audience}`).toSorted(), [
      'GET /added api',
      'HEAD /added api',
    ])
  })
})
