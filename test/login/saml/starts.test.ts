import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, requestOf } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { createTestClock } from '../../support/clock.ts'
import { MODES } from '../../support/oauth.ts'
import {
  answerForm,
  BASE,
  comeBack,
  CONSUMER,
  idpOf,
  requestIn,
  samlBootstrap,
  signInAt,
} from '../../support/saml/saml-sign-in.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const NOT_HERE = /That sign-in method is not available here/

for (const mode of MODES) {
  describe(`SAML URLs in ${mode}`, () => {
    const clock = createTestClock()
    const isUaa = mode === 'uaa'
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, clock, config: { bootstrap: samlBootstrap(clock) } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const discovery = (idp: string, entityID = 'latchkey') =>
      `/saml/discovery?${new URLSearchParams({ returnIDParam: 'idp', entityID, idp, isPassive: 'true' }).toString()}`

    describe('Start URLs', () => {
      // Covers GET /saml/discovery: returnIDParam; entityID; idp; isPassive
      // Covers GET /saml/login/alias/{alias}: disco
      it('redirect from discovery through the alias to the provider', async () => {
        const browser = server.browser()
        const first = await browser.send(discovery('corp'))
        assert.deepEqual(
          [first.status, first.headers['location']],
          [302, `${BASE}/saml/login/alias/latchkey?disco=true&idp=https%3A%2F%2Fcorp.example%2Fsaml`],
        )
        const { url, xml, relayState } = requestIn(
          await browser.send(first.location().pathname + first.location().search),
        )
        assert.equal(url.origin + url.pathname, 'https://corp.example/sso')
        assert.match(xml, new RegExp(`AssertionConsumerServiceURL="${BASE}${CONSUMER}"`))
        assert.match(xml, / IsPassive="false"/) // although the link has isPassive=true
        assert.match(relayState, /^[\w-]{43}$/)
        assert.ok(url.searchParams.has('Signature'))
      })

      it('redirect directly to a provider without a known entity id', async () => {
        const record = (await server.store.providers.findByOrigin('svc', 'hidden')) ?? assert.fail()
        const { externalKey, ...unnamed } = record
        assert.ok(externalKey)
        await server.store.providers.update('svc', unnamed)
        try {
          const { url } = requestIn(await server.browser().send(discovery('hidden')))
          assert.equal(url.origin + url.pathname, 'https://hidden.example/sso')
        } finally {
          await server.store.providers.update('svc', { ...record, version: record.version + 1 })
        }
      })

      for (const start of ['/login/external/corp', '/saml2/authenticate/corp']) {
        // Covers GET /saml2/authenticate/{alias}: alias
        it(`redirect from ${start} to the provider`, async () => {
          const { url } = requestIn(await server.browser().send(start))
          assert.equal(url.origin + url.pathname, 'https://corp.example/sso')
        })
      }

      // Covers GET /saml2/authenticate/{alias}: AuthnRequest; RelayState
      it('return a form with a button for the POST binding', async () => {
        for (const start of ['/saml2/authenticate/posts', '/login/external/posts']) {
          const page = await server.browser().send(start)
          assert.equal(page.status, 200)
          assert.match(page.text, /<form id="form_post" action="https:\/\/posts\.example\/sso" method="post"/)
          assert.match(page.text, /<button class="button" type="submit">/)
          const { SAMLRequest = '', RelayState = '' } = hiddenFields(page.text)
          assert.match(Buffer.from(SAMLRequest, 'base64').toString(), /<saml2p:AuthnRequest /)
          assert.match(RelayState, /^[\w-]{43}$/)
        }
      })

      it('keep form_redirect_uri', async () => {
        const target = `${BASE}/oauth/authorize?${new URLSearchParams(AUTO_REQUEST).toString()}`
        const browser = server.browser()
        const first = await browser.send(`${discovery('corp')}&${new URLSearchParams({ form_redirect_uri: target })}`)
        const start = first.location()
        const answer = await signInAt(server, browser, { start: start.pathname + start.search, nameId: 'keeps' })
        assert.equal(answer.headers['location'], target)
      })

      it('redirect to the sign-in page if the client does not allow the provider', async () => {
        const browser = server.browser()
        await authorize(browser, requestOf('ldaponly'))
        for (const path of ['/saml2/authenticate/corp', '/saml/login/alias/latchkey?idp=https://corp.example/saml']) {
          const answer = await browser.send(path)
          assert.equal(answer.headers['location'], `${BASE}/login?error=idp_not_found`)
        }
      })

      it('do not lead to a provider of another type', async () => {
        const { providers } = server.store
        const { externalKey: _, ...record } = (await providers.findByOrigin('svc', 'corp')) ?? assert.fail()
        const issuer = 'https://oidc.example'
        const config = {
          issuer,
          relyingPartyId: 'latchkey',
          authUrl: `${issuer}/authorize`,
          tokenUrl: `${issuer}/token`,
          tokenKeyUrl: `${issuer}/keys`,
        }
        const oidc = { ...record, id: 'oidc', originKey: 'oidc', type: 'oidc1.0', externalKey: issuer, config }
        await providers.insert('svc', oidc)
        try {
          const usual = await server.browser().send('/login/external/oidc')
          assert.equal(usual.location().origin, issuer)
          for (const path of [discovery('oidc'), '/saml2/authenticate/oidc']) {
            const answer = await server.browser().send(path)
            assert.equal(answer.headers['location'], `${BASE}/login?error=idp_not_found`)
          }
          const named = await server.browser().send(`/saml/login/alias/latchkey?idp=${issuer}`)
          assert.equal(named.status, 400)
        } finally {
          await providers.update('svc', { ...oidc, active: false })
        }
      })

      it('do not support HEAD', async () => {
        for (const path of [discovery('corp'), '/saml2/authenticate/corp']) {
          assert.notEqual((await server.send(path, { method: 'HEAD' })).status, 302)
        }
      })

      const refusals: readonly { name: string; path: string; want: string | { status: number; words: RegExp } }[] = [
        // Covers GET /saml/discovery: error: unknown alias
        { name: 'an unknown provider', path: discovery('none'), want: '/login?error=idp_not_found' },
        { name: 'an inactive provider', path: discovery('off'), want: '/login?error=idp_not_found' },
        { name: 'an internal provider', path: discovery('svc'), want: '/login?error=idp_not_found' },
        {
          name: 'no parameters',
          path: '/saml/discovery',
          want: isUaa ? '/oauth_error' : { status: 400, words: NOT_HERE },
        },
        // Covers GET /saml/discovery: error: unknown service provider
        {
          name: 'a foreign entity id',
          path: discovery('corp', 'other'),
          want: isUaa ? '/oauth_error' : { status: 400, words: NOT_HERE },
        },
        // Covers GET /saml/login/alias/{alias}: idp
        {
          name: 'an unknown entity id',
          path: '/saml/login/alias/latchkey?disco=true&idp=http://none',
          want: {
            status: 400,
            words: isUaa
              ? /Metadata for entity http:\/\/none and role \{urn:oasis:names:tc:SAML:2\.0:metadata\}IDPSSODescriptor wasn't found/
              : NOT_HERE,
          },
        },
        {
          name: 'text instead of an entity id',
          path: '/saml/login/alias/latchkey?idp=call+0800+123',
          want: { status: 400, words: NOT_HERE },
        },
        {
          name: 'an overlong entity id',
          path: `/saml/login/alias/latchkey?idp=${'x'.repeat(201)}`,
          want: { status: 400, words: NOT_HERE },
        },
        {
          name: 'an unknown alias',
          path: '/saml/login/alias/none?idp=https://corp.example/saml',
          want: {
            status: 400,
            words: isUaa ? /No local entity found for alias none, verify your configuration\./ : NOT_HERE,
          },
        },
        // Covers GET /saml2/authenticate/{alias}: error: unknown alias
        { name: 'an unknown origin', path: '/saml2/authenticate/none', want: '/login?error=idp_not_found' },
        { name: 'an inactive origin', path: '/saml2/authenticate/off', want: '/login?error=idp_not_found' },
        { name: 'an origin of another type', path: '/saml2/authenticate/svc', want: '/login?error=idp_not_found' },
      ]
      for (const { name, path, want } of refusals) {
        it(`refuse ${name}`, async () => {
          const answer = await server.send(path)
          if (typeof want === 'string') {
            assert.deepEqual([answer.status, answer.headers['location']], [302, BASE + want])
            return
          }
          assert.equal(answer.status, want.status)
          assert.match(unescaped(answer.text), want.words)
          assert.doesNotMatch(answer.text, /0800/)
        })
      }
    })

    describe('GET /login', () => {
      // Covers GET /login: page: SAML links
      it('has a link to each visible provider', async () => {
        const { text } = await server.send('/login')
        const links = [...text.matchAll(/<a class="saml-login-link button plain" href="([^"]+)">(?:<bdi>)?([^<]+)/g)]
        assert.deepEqual(
          links.map(([, href = '', name = '']) => [unescaped(href), name]),
          ['begins', 'closed', 'corp', 'other', 'posts', 'waits'].map(origin => [
            isUaa ? discovery(origin).slice(1) : `/login/external/${origin}`,
            `Sign in with ${origin}`,
          ]),
        )
      })

      it('continues the authorization request after sign-in', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const { text } = await browser.send('/login')
        const href = unescaped(/saml-login-link button plain" href="([^"]*corp[^"]*)"/.exec(text)?.[1] ?? '')
        const fresh = server.browser()
        const { pathname, search } = new URL(href, `${BASE}/login`)
        let next = await fresh.send(pathname + search)
        while (next.location().origin === BASE)
          next = await fresh.send(next.location().pathname + next.location().search)
        const { id, relayState } = requestIn(next)
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: 'passes' })
        const answer = await comeBack(server, fresh, answerForm(xml, relayState))
        assert.equal(answer.location().pathname, '/oauth/authorize')
      })

      // Covers GET /info: idpDefinitions
      it('lists providers as JSON', async () => {
        for (const path of ['/login', '/info']) {
          const { idpDefinitions, entityID, prompts } = (
            await server.send(path, { headers: { accept: 'application/json' } })
          ).json<{
            idpDefinitions: Record<string, string>
            entityID: string
            prompts: object
          }>()
          assert.ok('passcode' in prompts)
          assert.equal(entityID, 'latchkey')
          assert.deepEqual(Object.keys(idpDefinitions).toSorted(), [
            'begins',
            'closed',
            'corp',
            'other',
            'posts',
            'waits',
          ])
          assert.equal(idpDefinitions['corp'], BASE + discovery('corp'))
        }
      })

      it('redirects to the provider of login_hint', async () => {
        for (const hint of [JSON.stringify({ origin: 'corp' }), 'corp.example']) {
          const answer = await server.browser().send('/login', { query: { login_hint: hint } })
          if (isUaa) assert.deepEqual([answer.status, answer.headers['location']], [302, BASE + discovery('corp')])
          else assert.equal(requestIn(answer).url.host, 'corp.example')
        }
        const hidden = await server.browser().send('/login', { query: { login_hint: '{"origin":"hidden"}' } })
        assert.equal(hidden.status, 302)
        const off = await server.send('/login', { query: { login_hint: '{"origin":"off"}' } })
        assert.equal(off.status, 200)
      })

      it('keeps the authorization request with login_hint', async () => {
        const browser = server.browser()
        const hint = { ...AUTO_REQUEST, login_hint: '{"origin":"corp"}' }
        assert.equal((await authorize(browser, hint)).location().pathname, '/login')
        let next = await browser.send('/login')
        while (next.location().origin === BASE)
          next = await browser.send(next.location().pathname + next.location().search)
        const { id, relayState } = requestIn(next)
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: 'hinted' })
        const back = await comeBack(server, browser, answerForm(xml, relayState))
        assert.equal(back.location().pathname, '/oauth/authorize')
        const { pathname, search } = back.location()
        const { searchParams, origin } = (await browser.send(pathname + search)).location()
        assert.deepEqual([origin, searchParams.has('code')], ['https://auto.example', true])
      })

      it('redirects to the only allowed provider, and to the default provider', async () => {
        const browser = server.browser()
        await authorize(browser, { ...AUTO_REQUEST, client_id: 'waitsonly' })
        const only = await browser.send('/login')
        if (isUaa) assert.equal(only.headers['location'], BASE + discovery('waits'))
        else assert.equal(requestIn(only).url.host, 'waits.example')
        const zone = (await server.store.zones.find('svc')) ?? assert.fail()
        await server.store.zones.update({ ...zone, config: { ...zone.config, defaultIdentityProvider: 'corp' } })
        try {
          const usual = await server.browser().send('/login')
          if (isUaa) assert.equal(usual.headers['location'], BASE + discovery('corp'))
          else assert.equal(requestIn(usual).url.host, 'corp.example')
          // With an error, the page is shown.
          assert.equal((await server.send('/login', { query: { error: 'idp_not_found' } })).status, 200)
        } finally {
          await server.store.zones.update({ ...zone, version: zone.version + 2 })
        }
      })

      it('redirects to the provider of an email domain', async () => {
        const browser = server.browser()
        const page = await browser.send('/login')
        const answer = await browser.send('/login/idp_discovery', {
          form: { ...hiddenFields(page.text), email: 'ann@corp.example' },
        })
        assert.equal(requestIn(answer).url.host, 'corp.example')
      })

      it('has no password grant for a SAML provider', async () => {
        const form = { grant_type: 'password', username: 'a', password: 'b', login_hint: '{"origin":"corp"}' }
        const answer = await server.token(form, { basic: ['app', 'app-secret'] })
        assert.equal(answer.status, isUaa ? 401 : 400)
        assert.match(
          String(answer.json()['error_description']),
          /does not match an active Identity Provider, that supports password grant/,
        )
      })
    })

    it('limits the body to half a megabyte', async () => {
      for (const [length, isTooLong] of [
        [500_000, false],
        [600_000, true],
      ] as const) {
        const answer = await server.send(CONSUMER, { form: { SAMLResponse: 'A'.repeat(length) } })
        assert.equal(answer.status === 413, isTooLong, String(length))
      }
    })

    // Covers removed SAML identity provider: /saml/idp/**
    describe('Removed identity provider endpoints of UAA', () => {
      for (const path of [
        '/saml/idp/metadata',
        '/saml/idp/initiate?sp=x',
        '/saml/idp/SSO',
        '/saml/service-providers',
        '/saml/logout',
      ]) {
        it(`do not exist: ${path}`, async () => {
          const answer = await server.send(path)
          if (isUaa) assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/login`])
          else assert.equal(answer.status, 404)
        })
      }
      it('answer 404: /saml/web/metadata/login', async () => {
        assert.equal((await server.send('/saml/web/metadata/login')).status, 404)
      })
      // Covers removed SAML identity provider: /service-providers
      it('do not exist: /service-providers', async () => {
        const answer = await server.send('/service-providers', { headers: { accept: 'application/json' } })
        assert.ok([302, 404].includes(answer.status))
      })
    })
  })
}

it('The first page of a server has the links to its SAML providers', async () => {
  const clock = createTestClock()
  const server = await startServer({ clock, config: { bootstrap: samlBootstrap(clock) } })
  try {
    assert.match((await server.send('/login')).text, /saml-login-link/)
  } finally {
    await server.stop()
  }
})

describe('An entity id that is a URL', () => {
  const clock = createTestClock()
  const entityId = 'http://login.example:8080/saml'
  let server: TestServer
  before(async () => {
    server = await startServer({
      mode: 'uaa',
      clock,
      config: { bootstrap: samlBootstrap(clock), saml: { entity_id: entityId } },
    })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('has its host as alias of the assertion consumer', async () => {
    const browser = server.browser()
    const query = new URLSearchParams({ entityID: entityId, idp: 'corp' }).toString()
    const first = await browser.send(`/saml/discovery?${query}`)
    assert.equal(first.location().pathname, '/saml/login/alias/login.example')
    const sent = requestIn(await browser.send(first.location().pathname + first.location().search))
    const path = '/saml/SSO/alias/login.example'
    assert.match(sent.xml, new RegExp(`AssertionConsumerServiceURL="${BASE}${path}"`))
    const parts = { inResponseTo: sent.id, recipient: BASE + path, destination: BASE + path, audiences: [entityId] }
    const xml = await idpOf(clock, 'corp').response(parts)
    const answer = await comeBack(server, browser, answerForm(xml, sent.relayState), path)
    assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/home`])
  })

  it('has the subdomain of a zone before its host', async () => {
    const { text } = await server.send('/saml/metadata', { host: 'z1.localhost:8080' })
    assert.match(text, / entityID="http:\/\/z1\.login\.example:8080\/saml"/)
    assert.match(text, /Location="[^"]*\/saml\/SSO\/alias\/z1\.login\.example"/)
    assert.match(text, /Location="[^"]*\/saml\/SingleLogout\/alias\/z1\.login\.example"/)
  })
})
