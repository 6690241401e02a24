import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { changeClient, MODES, verified } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'

const BYE = 'https://auto.example/bye'
const bootstrap = {
  ...authorizeBootstrap,
  clients: [...authorizeBootstrap.clients, caller('admin', 'clients.write', 'clients.read', 'svc.admin')],
}
const zone_config = { protocols: { frontchannelLogout: true } }

async function idToken(server: TestServer, browser: Browser, query: Readonly<Record<string, string>> = AUTO_REQUEST) {
  const { code = '' } = responseOf(await authorize(browser, { ...query, scope: 'openid' })).query
  const { redirect_uri = '', client_id = '' } = query
  const form = { grant_type: 'authorization_code', code, redirect_uri }
  const answer = await server.token(form, { basic: [client_id, `${client_id}-secret`] })
  const { id_token: token } = answer.json<{ id_token: string }>()
  return { token, sid: (await verified(server, token)).payload['sid'] }
}

const framesIn = ({ text }: TestAnswer): readonly string[] =>
  [...text.matchAll(/<iframe [^>]*src="([^"]+)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'))
const policiesOf = ({ headers }: TestAnswer): string => [headers['content-security-policy']].flat().join(', ')

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  describe(`Front-channel logout in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap, zone_config } })
      await changeClient(server, 'auto', {
        frontchannelLogoutUri: 'https://auto.example/out?x=1',
        frontchannelLogoutSessionRequired: true,
        postLogoutRedirectUris: [BYE],
      })
      await changeClient(server, 'many', { frontchannelLogoutUri: 'https://many.example/out' })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const leave = (browser: Browser, query: Readonly<Record<string, string>>): Promise<TestAnswer> =>
      browser.send('/logout.do', { query })

    // Covers later standards: front-channel logout
    it('loads the page of each client of the session, with iss and sid if required (§2)', async () => {
      const browser = await signedIn(server)
      const mine = await idToken(server, browser)
      await idToken(server, browser, { ...AUTO_REQUEST, client_id: 'many', redirect_uri: 'https://many.example/cb' })
      assert.equal(typeof mine.sid, 'string')
      const answer = await leave(browser, { id_token_hint: mine.token })
      assert.equal(answer.status, 200)
      const [first = '', second] = framesIn(answer)
      const url = new URL(first)
      assert.equal(url.origin + url.pathname, 'https://auto.example/out')
      const iss = isStandard ? 'http://localhost:8080' : 'http://localhost:8080/oauth/token'
      assert.deepEqual(Object.fromEntries(url.searchParams), { x: '1', iss, sid: mine.sid })
      assert.equal(second, 'https://many.example/out')
      assert.equal((await browser.send('/home')).status, 302, 'signed out')
    })

    it('restricts frames by frame-src and sandbox', async () => {
      const browser = await signedIn(server)
      const answer = await leave(browser, { id_token_hint: (await idToken(server, browser)).token })
      assert.match(policiesOf(answer), /(^|, )frame-src https:\/\/auto\.example(,|$)/)
      assert.match(policiesOf(answer), /script-src 'self'/)
      assert.match(answer.text, /<iframe [^>]*sandbox="allow-scripts allow-same-origin"/)
    })

    it('omits a client whose host would add directives to the policy', async () => {
      await changeClient(server, 'partly', { frontchannelLogoutUri: 'https://a;sandbox/out' })
      const browser = await signedIn(server)
      const partly = { client_id: 'partly', redirect_uri: 'https://partly.example/cb' }
      await authorize(browser, { ...AUTO_REQUEST, ...partly, scope: 'openid' })
      const answer = await leave(browser, { id_token_hint: (await idToken(server, browser)).token })
      assert.match(policiesOf(answer), /(^|, )frame-src https:\/\/auto\.example(,|$)/)
      assert.deepEqual(framesIn(answer).length, 1)
    })

    it('continues to the target with its state', async () => {
      const browser = await signedIn(server)
      const { token } = await idToken(server, browser)
      const query = { id_token_hint: token, post_logout_redirect_uri: BYE, state: 'a b', redirect: BYE }
      const answer = await leave(browser, query)
      assert.equal(answer.status, 200)
      assert.equal(framesIn(answer).length, 1)
      const target = isStandard ? `${BYE}?state=a+b` : BYE
      const [, link] = /id="onward" href="([^"]+)"/.exec(answer.text) ?? []
      assert.equal(link?.replace('%20', '+'), target)
      assert.equal(String(answer.headers['refresh']).replace('%20', '+'), `6; url=${target}`)
    })

    it('redirects as usual if no client has a logout page', async () => {
      const browser = await signedIn(server)
      await authorize(browser, {
        ...AUTO_REQUEST,
        client_id: 'partly',
        redirect_uri: 'https://partly.example/cb',
        scope: 'openid',
      })
      const answer = await leave(browser, { redirect: 'http://localhost:8080/home' })
      assert.equal(answer.status, 302)
      assert.doesNotMatch(policiesOf(answer), /frame-src/)
    })

    it('loads no frames in a browser without a session', async () => {
      const browser = await signedIn(server)
      const { token } = await idToken(server, browser)
      assert.deepEqual(framesIn(await leave(server.browser(), { id_token_hint: token })), [])
    })

    describe('on client creation', () => {
      const uris = [
        ['frontchannel_logout_uri', 'https://new.example/out', true],
        ['frontchannel_logout_uri', 'https://new.example:8443/out', false],
        ['frontchannel_logout_uri', 'https://other.example/out', false],
        ['frontchannel_logout_uri', 'http://new.example/out', false],
        ['frontchannel_logout_uri', 'javascript:alert(1)', false],
        ['frontchannel_logout_uri', 'https://new.example/out#x', false],
        ['backchannel_logout_uri', 'https://elsewhere.example/out', true],
        ['backchannel_logout_uri', 'http://localhost:3000/out', true],
        ['backchannel_logout_uri', 'http://elsewhere.example/out', false],
        ['backchannel_logout_uri', 'https://me:pw@elsewhere.example/out', false],
        ['backchannel_logout_uri', 'elsewhere', false],
        ['initiate_login_uri', 'https://elsewhere.example/start?x=1', true],
        ['initiate_login_uri', 'javascript:alert(1)', false],
        ['initiate_login_uri', 'http://elsewhere.example/start', false],
      ] as const
      for (const [index, [name, uri, isValid]] of uris.entries()) {
        it(`${isValid ? 'accepts' : 'refuses'} ${uri} as ${name}`, async () => {
          const client = {
            client_id: `new-${index}`,
            client_secret: 'new-secret-1',
            authorized_grant_types: ['authorization_code'],
            scope: ['openid'],
            redirect_uri: ['https://new.example/cb'],
            [name]: uri,
          }
          const bearer = await tokenOf(server, 'admin')
          const answer = await sendJson(server, 'POST', '/oauth/clients', client, { bearer })
          assert.equal(answer.status, isValid ? 201 : 400, answer.text)
          if (!isValid) assert.match(answer.text, new RegExp(name))
        })
      }
    })
  })
}

describe('Front-channel logout disabled in the zone', () => {
  it('loads no frames', async () => {
    const config = { bootstrap, zone_config: { protocols: { frontchannelLogout: false } } }
    for (const mode of MODES) {
      const server = await startServer({ mode, config })
      try {
        await changeClient(server, 'auto', { frontchannelLogoutUri: 'https://auto.example/out' })
        const browser = await signedIn(server)
        const { token } = await idToken(server, browser)
        const answer = await browser.send('/logout.do', { query: { id_token_hint: token } })
        assert.deepEqual(framesIn(answer), [])
        assert.equal(answer.status, mode === 'standard' ? 200 : 302)
      } finally {
        await server.stop()
      }
    }
  })
})
