import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { signedIn } from '../support/authorize.ts'
import { hiddenFields, unescaped } from '../support/forms.ts'
import { changeClient, changeUser, isAlive, MODES, refresh, tokensOf, userNamed } from '../support/oauth.ts'
import { enrolApp, setPolicy } from '../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const PHOTOS = 'https://photos.example/'
const PRINTS = 'https://prints.example/'
const client = (id: string, more: object = {}) => ({
  client_id: id,
  name: `The ${id}`,
  allowpublic: true,
  authorized_grant_types: [GRANT, 'refresh_token'],
  scope: ['openid', 'cloud.read'],
  ...more,
})
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('tv'),
    client('box'),
    client('cli', { allowpublic: undefined, client_secret: 'cli-secret' }),
    client('ldaponly', { allowedproviders: ['ldap'] }),
    client('writer', { scope: ['cloud.write'] }),
    client('frame', { resources: [PHOTOS, PRINTS] }),
  ],
  identity_zones: [
    { id: 'z1', subdomain: 'z1', name: 'One', bootstrap: { ...defaultBootstrap, clients: [client('tv')] } },
  ],
}

interface Codes {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

for (const mode of MODES) {
  describe(`Device grant in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({
        mode,
        config: { bootstrap, zone_config: { protocols: { deviceGrant: true, resourceIndicators: true } } },
      })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const begin = (form: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
      server.send('/oauth/device_authorization', { form: { client_id: 'tv', ...form } })
    const begun = async (form: Readonly<Record<string, string>> = {}): Promise<Codes> => {
      const answer = await begin(form)
      assert.equal(answer.status, 200, answer.text)
      return answer.json<Codes>()
    }
    const poll = (code: string, form: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
      server.token({ grant_type: GRANT, device_code: code, client_id: 'tv', ...form })
    const errorOf = async (answer: Promise<TestAnswer>): Promise<string> => {
      const { status, ...rest } = await answer
      return `${status} ${String(rest.json()['error'])}`
    }
    const enter = async (browser: Browser, code: string): Promise<TestAnswer> => {
      const page = await browser.send('/device')
      return browser.send('/device', { form: { ...hiddenFields(page.text), user_code: code } })
    }
    const decide = (browser: Browser, page: TestAnswer, answer = 'true'): Promise<TestAnswer> =>
      browser.send('/device/decision', { form: { ...hiddenFields(page.text), user_oauth_approval: answer } })
    const allow = async (browser: Browser, code: string): Promise<TestAnswer> =>
      decide(browser, await enter(browser, code))

    // Covers POST /oauth/device_authorization: response: device_code; user_code; verification_uri
    // Covers POST /oauth/device_authorization: response: verification_uri_complete; expires_in; interval
    it('returns a device code and a user code', async () => {
      const answer = await begin()
      assert.equal(answer.headers['cache-control'], 'no-store')
      const codes = answer.json<Codes>()
      assert.match(codes.user_code, /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
      assert.equal(codes.device_code.length, 43)
      assert.equal(codes.verification_uri, `${server.baseUrl}/device`)
      assert.equal(codes.verification_uri_complete, `${server.baseUrl}/device?user_code=${codes.user_code}`)
      assert.deepEqual([codes.expires_in, codes.interval], [600, 5])
    })

    // Covers later standards: device grant
    // Covers POST /oauth/device_authorization: client_id; scope
    // Covers POST /device: user_code; rule: shows who asks
    // Covers POST /device/decision: rule: tokens after consent, once
    it('issues tokens once after approval', async () => {
      const codes = await begun({ scope: 'openid cloud.read' })
      assert.equal(await errorOf(poll(codes.device_code)), '400 authorization_pending')
      const browser = await signedIn(server)
      const page = await enter(browser, codes.user_code.toLowerCase().replace('-', ' '))
      assert.equal(page.status, 200, page.text)
      assert.match(page.text, /The tv/)
      assert.ok(page.text.includes(codes.user_code))
      assert.match(page.text, /127\.0\.0\.1/)
      assert.match(page.text, /Read the cloud/)
      server.clock.advance(5)
      assert.equal(await errorOf(poll(codes.device_code)), '400 authorization_pending')
      const done = await decide(browser, page)
      assert.equal(done.status, 200, done.text)
      server.clock.advance(5)
      const tokens = tokensOf(await poll(codes.device_code))
      const { id } = await userNamed(server, 'marissa')
      assert.deepEqual([decodeJwt(tokens.access_token).sub, decodeJwt(tokens.id_token).aud], [id, ['tv']])
      assert.equal(tokens.scope.split(' ').toSorted().join(' '), 'cloud.read openid')
      assert.equal(await isAlive(server, tokens.access_token), true)
      const refreshed = await refresh(server, tokens.refresh_token, { client_id: 'tv' }, null)
      assert.equal(typeof tokensOf(refreshed).id_token, 'string')
      assert.equal(await errorOf(poll(codes.device_code)), '400 invalid_grant')
      const reported = server.events.findLast(({ type }) => type === 'DeviceApprovedEvent')
      assert.deepEqual([reported?.principal, reported?.clientId], [id, 'tv'])
      await browser.send('/logout.do')
      assert.equal(await isAlive(server, tokens.access_token), true, 'the tokens survive the sign-out')
    })

    it('requires the secret of a confidential client', async () => {
      const start = { basic: ['cli', 'cli-secret'] as const }
      const answer = await server.send('/oauth/device_authorization', { form: { scope: 'openid' }, ...start })
      const codes = answer.json<Codes>()
      await allow(await signedIn(server), codes.user_code)
      const form = { grant_type: GRANT, device_code: codes.device_code }
      assert.equal((await server.token({ ...form, client_id: 'cli' })).status, 401)
      assert.equal((await server.token(form, start)).status, 200)
      assert.equal((await server.send('/oauth/device_authorization', { form: { client_id: 'cli' } })).status, 401)
    })

    it('answers invalid_request without a device code, even to a public client', async () => {
      assert.equal(await errorOf(poll('')), '400 invalid_request')
      assert.equal(await errorOf(server.token({ grant_type: GRANT, client_id: 'tv' })), '400 invalid_request')
      assert.equal(await errorOf(server.token({ grant_type: GRANT, client_id: 'cli' })), '401 invalid_client')
    })

    // Covers POST /device/decision: rule: access_denied after refusal
    it('answers access_denied once after denial', async () => {
      const codes = await begun()
      const browser = await signedIn(server)
      const page = await decide(browser, await enter(browser, codes.user_code), 'false')
      assert.equal(page.status, 200)
      assert.equal(await errorOf(poll(codes.device_code)), '400 access_denied')
      assert.equal(await errorOf(poll(codes.device_code)), '400 invalid_grant')
      assert.equal(server.events.findLast(({ type }) => type === 'DeviceDeniedEvent')?.clientId, 'tv')
    })

    it('answers slow_down if polled too often', async () => {
      const { device_code: code } = await begun()
      assert.equal(await errorOf(poll(code)), '400 authorization_pending')
      server.clock.advance(4)
      assert.equal(await errorOf(poll(code)), '400 slow_down')
      server.clock.advance(9)
      assert.equal(await errorOf(poll(code)), '400 slow_down')
      server.clock.advance(15)
      assert.equal(await errorOf(poll(code)), '400 authorization_pending')
    })

    it('expires after ten minutes, even if approved', async () => {
      const [pending, allowed] = [await begun(), await begun()]
      const browser = await signedIn(server)
      await allow(browser, allowed.user_code)
      server.clock.advance(601)
      assert.equal(await errorOf(poll(pending.device_code)), '400 expired_token')
      assert.equal(await errorOf(poll(allowed.device_code)), '400 expired_token')
      assert.equal((await enter(browser, pending.user_code)).status, 422)
    })

    // Covers GET /device: user_code; rule: sign-in first; decides nothing
    it('requires sign-in, then shows the code of the link without approving it', async () => {
      const codes = await begun()
      const browser = server.browser()
      const link = new URL(codes.verification_uri_complete)
      const anonymous = await browser.send(link.pathname + link.search)
      assert.equal(anonymous.location().pathname, '/login')
      const back = (await browser.signIn('marissa', 'koala')).location()
      assert.equal(back.pathname + back.search, link.pathname + link.search)
      const page = await browser.send(back.pathname + back.search)
      assert.ok(page.text.includes(`value="${codes.user_code}"`))
      assert.equal(await errorOf(poll(codes.device_code)), '400 authorization_pending')
    })

    const refusals: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
      ['an unknown client', { client_id: 'nobody' }, '401 invalid_client'],
      ['a client without the grant', { client_id: 'spa' }, mode === 'uaa' ? '401' : '400'],
      ['a scope outside the client', { scope: 'cloud.write' }, '400 invalid_scope'],
      ['a scope that is too long', { scope: `openid${' '.repeat(4000)}cloud.read` }, '400 invalid_scope'],
    ]
    for (const [name, form, want] of refusals) {
      it(`refuses ${name}`, async () => assert.match(await errorOf(begin(form)), new RegExp(`^${want}`)))
    }

    it('refuses the code of another client, an unknown code and a missing one', async () => {
      const { device_code: code } = await begun()
      assert.equal(await errorOf(poll(code, { client_id: 'box' })), '400 invalid_grant')
      assert.equal(await errorOf(poll('x'.repeat(43))), '400 invalid_grant')
      const without = server.token({ grant_type: GRANT }, { basic: ['cli', 'cli-secret'] })
      assert.equal(await errorOf(without), '400 invalid_request')
      assert.equal(await errorOf(poll(code)), '400 authorization_pending')
    })

    it('refuses approval if the client is not allowed for the user or no scope is left', async () => {
      const browser = await signedIn(server)
      for (const id of ['ldaponly', 'writer']) {
        const codes = await begun({ client_id: id })
        const page = await enter(browser, codes.user_code)
        assert.equal(page.status, 422)
        assert.ok(page.text.includes(`The ${id}`))
      }
    })

    it('restricts tokens to the requested resource, and shows it on the page', async () => {
      const browser = await signedIn(server)
      const begin = { client_id: 'frame', resource: PHOTOS }
      const audienceOf = (answer: TestAnswer): unknown => decodeJwt(tokensOf(answer).access_token).aud
      const codes = await begun(begin)
      const page = await enter(browser, codes.user_code)
      assert.match(page.text, /<p class="note" id="resources">.*https:\/\/photos\.example\/.* only\./)
      await decide(browser, page)
      const answer = await poll(codes.device_code, { client_id: 'frame' })
      assert.deepEqual(audienceOf(answer), [PHOTOS])
      const refreshed = {
        grant_type: 'refresh_token',
        refresh_token: tokensOf(answer).refresh_token,
        client_id: 'frame',
      }
      assert.deepEqual(audienceOf(await server.token(refreshed)), [PHOTOS])
      const other = await begun(begin)
      await allow(browser, other.user_code)
      assert.equal(
        await errorOf(poll(other.device_code, { client_id: 'frame', resource: PRINTS })),
        '400 invalid_target',
      )
    })

    it('refuses a resource outside the client', async () => {
      assert.equal(
        await errorOf(begin({ client_id: 'frame', resource: 'https://other.example/' })),
        '400 invalid_target',
      )
    })

    it('refuses an approved code if user or client have changed', async () => {
      const browser = await signedIn(server)
      const first = await begun()
      await allow(browser, first.user_code)
      await changeClient(server, 'tv', { tokenSalt: 'another' })
      assert.equal(await errorOf(poll(first.device_code)), '400 invalid_grant')
      const second = await begun()
      await allow(browser, second.user_code)
      await changeUser(server, 'marissa', { active: false })
      assert.equal(await errorOf(poll(second.device_code)), '400 invalid_grant')
      await changeUser(server, 'marissa', { active: true })
    })

    // Covers POST /device/decision: error: form of another site
    it('refuses forms without a CSRF token', async () => {
      const codes = await begun()
      const browser = await signedIn(server)
      for (const path of ['/device', '/device/decision']) {
        const form = { user_code: codes.user_code, user_oauth_approval: 'true' }
        assert.equal((await browser.send(path, { form })).status, 403)
      }
      assert.equal(await errorOf(poll(codes.device_code)), '400 authorization_pending')
    })
  })
}

describe('Device grant of a client with a second-factor policy', () => {
  it('redirects to the second factor and back', async () => {
    const server = await startServer({
      config: {
        bootstrap: {
          ...bootstrap,
          clients: [...bootstrap.clients, client('safe', { secondFactor: { requirement: 'required' } })],
        },
      },
    })
    try {
      await setPolicy(server, { requirement: 'optional' })
      const codes = (await server.send('/oauth/device_authorization', { form: { client_id: 'safe' } })).json<Codes>()
      const browser = await signedIn(server)
      const page = await browser.send('/device')
      const form = { ...hiddenFields(page.text), user_code: codes.user_code }
      const answer = await browser.send('/device', { form })
      assert.deepEqual([answer.status, answer.location().pathname], [302, '/second_factor'])
      const factor = await browser.send('/second_factor')
      assert.equal(factor.status, 200, factor.text)
      const { continueUrl } = await enrolApp(server, browser)
      assert.match(unescaped(continueUrl ?? ''), new RegExp(`/device\\?user_code=${codes.user_code}&client_id=safe$`))
      const again = { ...hiddenFields((await browser.send('/device')).text), user_code: codes.user_code }
      assert.match((await browser.send('/device', { form: again })).text, /The safe/)
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  })
})

describe('Device grant in discovery', () => {
  it('answers 404 and unsupported_grant_type if it is disabled in the zone', async () => {
    const server = await startServer({ config: { bootstrap, zone_config: { protocols: { deviceGrant: false } } } })
    try {
      const form = { client_id: 'tv' }
      const authorization = await server.send('/oauth/device_authorization', { form })
      const page = await server.send('/device', { headers: { 'accept-language': 'de' } })
      assert.deepEqual([authorization.status, page.status], [404, 404])
      assert.equal(authorization.json()['error_description'], 'This feature is turned off here.')
      assert.match(page.text, /Diese Funktion ist hier ausgeschaltet\./)
      const answer = await server.token({ grant_type: GRANT, device_code: 'x', client_id: 'tv' })
      assert.equal(answer.json()['error'], 'unsupported_grant_type')
      const metadata = (await server.send('/.well-known/openid-configuration')).json()
      assert.equal(metadata['device_authorization_endpoint'], undefined)
    } finally {
      await server.stop()
    }
  })

  it('is advertised if it is enabled', async () => {
    const server = await startServer({ config: { bootstrap } })
    try {
      const metadata = (await server.send('/.well-known/openid-configuration')).json()
      assert.equal(metadata['device_authorization_endpoint'], `${server.baseUrl}/oauth/device_authorization`)
      assert.ok((metadata['grant_types_supported'] as string[]).includes(GRANT))
    } finally {
      await server.stop()
    }
  })
})
