import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

// A deployment below a path, as behind a shared proxy.
describe('Base URL with a path', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { base_url: 'http://localhost:8080/uaa', bootstrap: authorizeBootstrap } })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('has every route below it', async () => {
    const outside = (await server.app.routes())
      .filter(({ url }) => url !== '/uaa' && !url.startsWith('/uaa/'))
      .map(({ url }) => url)
    // RFC 8414 §3.1 and RFC 9728 §3.1 put these outside, and browsers look up the page to change passwords there.
    assert.ok(outside.length > 0)
    for (const url of outside)
      assert.match(
        url,
        /^\/\.well-known\/(?:change-password$|oauth-(?:authorization-server|protected-resource)\/uaa(\/|$))/,
      )
  })

  it('serves nothing outside it', async () => {
    for (const path of ['/', '/login', '/oauth/authorize', '/oauth/token', '/healthz', '/uaalogin', '/UAA/login']) {
      assert.equal((await server.send(path)).status, 404, path)
    }
    assert.equal((await server.send('/uaa/healthz')).status, 200)
  })

  it('signs in and redirects below it', async () => {
    const browser = server.browser()
    const asked = await browser.send('/uaa/oauth/authorize', { query: AUTO_REQUEST })
    assert.equal(asked.headers['location'], 'http://localhost:8080/uaa/login')
    const page = await browser.send('/uaa/login')
    assert.match(page.text, /<form action="\/uaa\/login\.do"/)
    const form = { username: 'marissa', password: 'koala', ...hiddenFields(page.text) }
    const signed = await browser.send('/uaa/login.do', { form })
    assert.ok(String(signed.headers['location']).startsWith('http://localhost:8080/uaa/oauth/authorize?'))
    const answer = await browser.send(signed.location().pathname + signed.location().search)
    assert.equal(responseOf(answer).query['iss'], 'http://localhost:8080/uaa')
    const home = await browser.send('/uaa/home')
    assert.match(home.text, /<form class="person" action="\/uaa\/logout\.do"/)
    assert.match(home.text, /<a class="brand" href="\/uaa\/">/)
    const out = await browser.send('/uaa/logout.do', { form: hiddenFields(home.text) })
    assert.equal(out.headers['location'], 'http://localhost:8080/uaa/login')
  })

  it('requires sign-in at its root, and redirects to it from the path without a slash', async () => {
    assert.equal((await server.send('/uaa?x=1')).headers['location'], 'http://localhost:8080/uaa/?x=1')
    assert.equal((await server.send('/uaa')).headers['location'], 'http://localhost:8080/uaa/')
    for (const path of ['/uaa/', '/uaa/?x=1', '/uaa/home?x=1']) {
      const browser = server.browser()
      assert.equal((await browser.send(path)).headers['location'], 'http://localhost:8080/uaa/login', path)
      const form = { username: 'marissa', password: 'koala', ...hiddenFields((await browser.send('/uaa/login')).text) }
      assert.equal(
        (await browser.send('/uaa/login.do', { form })).headers['location'],
        `http://localhost:8080${path}`,
        path,
      )
      assert.equal((await browser.send(path)).status, 200, path)
    }
  })

  it('never redirects outside it', async () => {
    for (const place of [
      'http://localhost:8080/',
      'http://localhost:8080/uaa/../x',
      'http://localhost:8080/uaa/%2e%2e/x',
      'http://localhost:8080/uaax',
      'http://localhost:8080/uaa//evil.example',
    ]) {
      const browser = server.browser()
      const fields = hiddenFields((await browser.send('/uaa/login')).text)
      const form = { username: 'marissa', password: 'koala', ...fields, form_redirect_uri: place }
      assert.equal(
        (await browser.send('/uaa/login.do', { form })).headers['location'],
        'http://localhost:8080/uaa/',
        place,
      )
      const out = await browser.send('/uaa/logout.do', { query: { redirect: place } })
      const own = place.startsWith('http://localhost:8080/uaa//')
      assert.equal(out.headers['location'], own ? place : 'http://localhost:8080/uaa/login', place)
    }
  })

  it('posts the approval form below it', async () => {
    const browser = server.browser()
    const fields = hiddenFields((await browser.send('/uaa/login')).text)
    await browser.send('/uaa/login.do', { form: { username: 'marissa', password: 'koala', ...fields } })
    const request = { ...AUTO_REQUEST, client_id: 'asks', redirect_uri: 'https://asks.example/cb' }
    const page = await authorize({ send: (path, options) => browser.send(`/uaa${path}`, options) }, request)
    assert.match(page.text, /<form id="application_authorization" action="\/uaa\/oauth\/authorize"/)
    const form = { ...hiddenFields(page.text), user_oauth_approval: 'true', 'scope.0': 'scope.openid' }
    const done = await browser.send('/uaa/oauth/authorize', { form })
    assert.ok(done.location().searchParams.has('code'))
  })
})

describe('Saved request', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { bootstrap: authorizeBootstrap } })
  })
  after(() => server.stop())

  const placeAfter = async (
    visit: (browser: ReturnType<TestServer['browser']>) => Promise<unknown>,
  ): Promise<string> => {
    const browser = server.browser()
    await visit(browser)
    return String((await browser.signIn('marissa', 'koala')).headers['location'])
  }

  // Covers saved request: any GET of a page
  it('is any page that requires sign-in, with its query unchanged', async () => {
    assert.equal(
      await placeAfter(browser => browser.send('/home?a=%20b&c=%C3%BC')),
      'http://localhost:8080/home?a=%20b&c=%C3%BC',
    )
  })

  it('is the last page requested', async () => {
    const place = await placeAfter(async browser => {
      await authorize(browser, AUTO_REQUEST)
      await browser.send('/home?x=2')
    })
    assert.equal(place, 'http://localhost:8080/home?x=2')
  })

  it('is not set by HEAD, JSON requests or public pages', async () => {
    const place = await placeAfter(async browser => {
      await browser.send('/home?x=1', { method: 'HEAD' })
      await browser.send('/home?x=2', { headers: { accept: 'application/json' } })
      await browser.send('/info')
      await browser.send('/login?x=3')
    })
    assert.equal(place, 'http://localhost:8080/')
  })

  it('expires after half an hour', async () => {
    const place = await placeAfter(async browser => {
      await browser.send('/home?x=1')
      server.clock.advance(1800)
    })
    assert.equal(place, 'http://localhost:8080/')
  })

  it('is kept for another zone', async () => {
    const browser = server.browser('z1.localhost:8080')
    await browser.send('/home?x=1')
    const signed = await browser.signIn('marissa', 'z1-koala')
    assert.equal(signed.headers['location'], 'http://z1.localhost:8080/home?x=1')
  })
})
