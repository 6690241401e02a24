import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { authorizeBootstrap, signedIn, Z1_HOST } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { base64Of, nextId, SAML } from '../support/saml/saml-xml.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import type { LogoutParts } from '../support/saml/saml-parts.ts'
import type { SamlIdp } from '../support/saml/saml-idp.ts'
import { attributeIn, messageIn, samlRecord, signInSaml } from '../support/saml/saml-logout.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const BASE = 'http://localhost:8080'
const PATH = '/saml/SingleLogout/alias/latchkey'
const Z1_PATH = '/saml/SingleLogout/alias/z1.latchkey'
const SLO = 'https://idp.example/slo'
const EVIL = 'https://evil.example/'
/** A user name that an internal account has, too. */
const VICTIM = { nameId: 'marissa', sessionIndex: 'victims-session' }

const [corpKey, rivalKey] = [samlTestKey(), samlTestKey()]

/** A victim from `corp`, and the attacker: `rival`, another provider of the zone, or an anonymous caller. */
interface Scene {
  readonly mode: CompatibilityMode
  readonly server: TestServer
  readonly corp: SamlIdp
  readonly rival: SamlIdp
  readonly victim: Browser
  readonly isSignedIn: (browser: Browser) => Promise<boolean>
  /** An unsigned request of `corp` about the victim. */
  readonly request: (parts?: LogoutParts) => string
  readonly post: (xml: string, more?: Readonly<Record<string, string>>) => Promise<TestAnswer>
  readonly redirect: (query: string, path?: string, host?: string) => Promise<TestAnswer>
}

/** Runs the attack in both modes. */
const inBothModes = (play: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const clock = createTestClock()
    const to = { entityId: 'latchkey', recipient: `${BASE}/saml/SSO/alias/latchkey` }
    const corp = createSamlIdp({ clock, to, key: corpKey })
    const rival = createSamlIdp({ clock, to, key: rivalKey, entityId: 'https://rival.example/idp' })
    const impostor = createSamlIdp({ clock, to, key: rivalKey })
    const bootstrap = {
      ...authorizeBootstrap,
      identity_providers: [
        samlRecord(corp.metadata({ slo: SLO }), 'corp'),
        samlRecord(rival.metadata({ slo: 'https://rival.example/slo' }), 'rival'),
      ],
      identity_zones: authorizeBootstrap.identity_zones.map(zone =>
        zone.id === 'z1'
          ? {
              ...zone,
              bootstrap: {
                ...zone.bootstrap,
                identity_providers: [samlRecord(impostor.metadata({ slo: SLO }), 'corp')],
              },
            }
          : zone,
      ),
    }
    const server = await startServer({ mode, clock, config: { bootstrap } })
    const victim = server.browser()
    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200
    try {
      await signInSaml(victim, corp, { origin: 'corp', parts: VICTIM })
      assert.equal(await isSignedIn(victim), true)
      await play({
        mode,
        server,
        corp,
        rival,
        victim,
        isSignedIn,
        request: (parts = {}) =>
          corp.logoutRequest({
            destination: BASE + PATH,
            nameId: VICTIM.nameId,
            sessionIndexes: [VICTIM.sessionIndex],
            ...parts,
          }),
        post: (xml, more = {}) => server.send(PATH, { form: { SAMLRequest: base64Of(xml), ...more } }),
        redirect: (query, path = PATH, host = 'localhost:8080') => server.send(`${path}?${query}`, { host }),
      })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

/** Asserts that the victim stays signed in, whatever the response. */
const staysSignedIn = (play: (scene: Scene) => Promise<void>): (() => Promise<void>) =>
  inBothModes(async scene => {
    await play(scene)
    assert.equal(await scene.isSignedIn(scene.victim), true)
  })

/** Asserts an error page without redirect or form. */
function assertRefused(answer: TestAnswer): void {
  assert.equal(answer.status, 400, answer.text)
  assert.equal(answer.headers['location'], undefined)
  assert.doesNotMatch(answer.text, /id="form_post"/)
}

const statusOf = (answer: TestAnswer): string | undefined =>
  /status:(\w+)"/.exec(messageIn(answer, 'SAMLResponse').xml)?.[1]

const SIGNATURE = /<ds:Signature[\s\S]*<\/ds:Signature>/

/** Attacks on SAML single logout. */
export const samlLogoutAttacks: readonly Attack[] = [
  {
    attack: 'sends an unsigned logout request by form and query, which newer versions of UAA accept',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, request, post, redirect }) => {
      assertRefused(await post(request()))
      assertRefused(await redirect(corp.redirectQuery('SAMLRequest', request(), { key: null })))
      assertRefused(await redirect(corp.redirectQuery('SAMLRequest', corp.sign(request()), { key: null })))
    }),
  },
  {
    attack: 'signs, as another provider of the zone, a logout request of the victim’s provider',
    outcome: 'is refused, and a certificate in the message is ignored',
    attempt: staysSignedIn(async ({ corp, request, post, redirect }) => {
      assertRefused(await post(corp.sign(request(), { key: rivalKey })))
      assertRefused(await redirect(corp.redirectQuery('SAMLRequest', request(), { key: rivalKey })))
    }),
  },
  {
    attack: 'names, as another provider of the zone, the victim’s NameID and SessionIndex in its own requests',
    outcome: 'the session of the victim is kept',
    attempt: staysSignedIn(async ({ rival, request, post, redirect }) => {
      const own = { issuer: rival.entityId }
      assert.equal(statusOf(await post(rival.sign(request(own)))), 'Success')
      const everything = request({ ...own, sessionIndexes: [] })
      assert.equal(statusOf(await redirect(rival.redirectQuery('SAMLRequest', everything))), 'Success')
    }),
  },
  {
    attack: 'as administrator of another zone, registers a provider with the same entity id and their own keys',
    outcome: 'sessions in other zones are kept',
    attempt: staysSignedIn(async ({ rival, request, redirect }) => {
      const signed = (xml: string): string => rival.redirectQuery('SAMLRequest', xml)
      assertRefused(await redirect(signed(request())))
      const there = request({ destination: `http://${Z1_HOST}${Z1_PATH}`, sessionIndexes: [] })
      assertRefused(await redirect(signed(there)))
      assert.equal(statusOf(await redirect(signed(there), Z1_PATH, Z1_HOST)), 'Success')
    }),
  },
  {
    attack: 'replays a request of the provider after the victim signed in again, by either binding',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, server, victim, isSignedIn, request, post, redirect }) => {
      const xml = request({ notOnOrAfter: new Date(server.clock.now().getTime() + 86_400_000) })
      const [query, signed] = [corp.redirectQuery('SAMLRequest', xml), corp.sign(xml)]
      assert.equal(statusOf(await redirect(query)), 'Success')
      assert.equal(await isSignedIn(victim), false)
      await signInSaml(victim, corp, { origin: 'corp', parts: VICTIM })
      for (const age of [0, 59, 1, 1]) {
        server.clock.advance(age)
        assert.equal(statusOf(await redirect(query)), 'Requester')
        assert.equal(statusOf(await post(signed)), 'Requester')
      }
    }),
  },
  {
    attack: 'sends a signed request that is too old, from the future or expired',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, server, request, post }) => {
      const at = (seconds: number): Date => new Date(server.clock.now().getTime() + seconds * 1000)
      for (const parts of [{ issueInstant: at(-61) }, { issueInstant: at(61) }, { notOnOrAfter: at(-60) }]) {
        assert.equal(statusOf(await post(corp.sign(request(parts)))), 'Requester')
      }
    }),
  },
  {
    attack: 'sends a request signed for another service, or without a destination',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, request, post, redirect }) => {
      for (const destination of [`https://other.example${PATH}`, `${BASE}${Z1_PATH}`, `${BASE}${PATH}?x`, EVIL, null]) {
        const xml = request({ destination })
        assert.equal(statusOf(await post(corp.sign(xml))), 'Requester')
        assert.equal(statusOf(await redirect(corp.redirectQuery('SAMLRequest', xml))), 'Requester')
      }
    }),
  },
  {
    attack: 'wraps their own signed request in one about the victim',
    outcome: 'is refused: only signed content is read',
    attempt: staysSignedIn(async ({ corp, request, post }) => {
      const id = nextId()
      const own = corp.sign(request({ id, nameId: 'mallory', sessionIndexes: ['mallorys'] }))
      const signature = SIGNATURE.exec(own)?.[0] ?? assert.fail(own)
      const bare = own.replace(SIGNATURE, '')
      const evil = (evilId: string): string => request({ id: evilId })
      const within = (xml: string, more: string): string => xml.replace('</saml:Issuer>', `</saml:Issuer>${more}`)
      const extensions = (xml: string): string => `<samlp:Extensions>${xml}</samlp:Extensions>`
      const wrapped = [
        within(evil(nextId()), own),
        within(evil(nextId()), extensions(own)),
        within(evil(nextId()), signature + extensions(bare)),
        within(evil(id), signature + extensions(bare)),
        within(evil(id), extensions(bare) + signature),
        within(evil(id), signature),
        within(evil(nextId()), signature.replace('</ds:Signature>', `<ds:Object>${bare}</ds:Object></ds:Signature>`)),
        within(evil(id), signature.replace('</ds:Signature>', `<ds:Object>${bare}</ds:Object></ds:Signature>`)),
        own.replace('</samlp:LogoutRequest>', `${evil(id)}</samlp:LogoutRequest>`),
        own.replace('>mallory<', '>marissa<').replace('>mallorys<', `>${VICTIM.sessionIndex}<`),
      ]
      for (const xml of wrapped) assertRefused(await post(xml))
    }),
  },
  {
    attack: 'logs out their own NameID that equals the victim’s except in format',
    outcome: 'the session of the victim is kept',
    attempt: staysSignedIn(async ({ corp, request, post }) => {
      for (const sessionIndexes of [[], [VICTIM.sessionIndex]]) {
        const own = { id: nextId(), format: SAML.emailName, sessionIndexes }
        assert.equal(statusOf(await post(corp.sign(request(own)))), 'Success')
      }
    }),
  },
  {
    attack: 'truncates their own NameID to the victim’s by a comment or an entity',
    outcome: 'is refused, or read as signed',
    attempt: staysSignedIn(async ({ corp, request, post }) => {
      const name = 'marissa.evil.example'
      const own = corp.sign(request({ nameId: name, sessionIndexes: [] }))
      const cut = own.replace(name, 'marissa<!---->.evil.example')
      const answer = await post(cut)
      if (answer.status !== 400) assert.equal(statusOf(answer), 'Success')
      const entity = '<!DOCTYPE x [<!ENTITY v "marissa">]>'
      assertRefused(await post(entity + own.replace(name, '&v;')))
      assertRefused(await post(entity + own))
    }),
  },
  {
    attack: 'rearranges the signed query: other order, the message twice, other encodings, another algorithm',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, request, redirect }) => {
      const good = corp.redirectQuery(
        'SAMLRequest',
        corp.logoutRequest({ destination: BASE + PATH, nameId: 'mallory' }),
      )
      const evil = corp.redirectQuery('SAMLRequest', request(), { key: null })
      const [message = '', algorithm = '', signature = ''] = good.split('&')
      const sha1 = `SigAlg=${encodeURIComponent('http://www.w3.org/2000/09/xmldsig#rsa-sha1')}`
      const weak = `${evil}&${sha1}`
      const weakSignature = sign('sha1', Buffer.from(weak), corp.key.privateKey).toString('base64')
      const response = corp.redirectQuery('SAMLResponse', request())
      const queries = [
        `${evil}&${good}`,
        `${good}&${evil}`,
        `${evil.replace('SAMLRequest', '%53AMLRequest')}&${good}`,
        `${good}&${evil.replace('SAMLRequest', '%53AMLRequest')}`,
        `${evil.replace('SAMLRequest', 'SAMLRequest%00')}&${good}`,
        `${evil}&${algorithm}&${signature}`,
        `${evil.replace('SAMLRequest', '%53AMLRequest')}&${algorithm}&${signature}`,
        `${message}&${signature}`,
        `${message}&${algorithm}`,
        `${message}&${algorithm}&Signature=`,
        `${weak}&Signature=${encodeURIComponent(weakSignature)}`,
        `RelayState=x&${message}&${algorithm}&${signature}`,
        response.replace('SAMLResponse', 'SAMLRequest'),
      ]
      for (const query of queries) assertRefused(await redirect(query))
    }),
  },
  {
    attack: 'sends a megabyte, a deflated message of a hundred megabytes, and deep markup',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ server, corp, redirect, post }) => {
      const packed = deflateRawSync(Buffer.alloc(100_000_000, 0x20), { level: 9 }).toString('base64')
      assertRefused(await redirect(`SAMLRequest=${encodeURIComponent(packed)}`))
      assertRefused(await redirect(`SAMLResponse=${encodeURIComponent(packed)}`))
      const form = { SAMLRequest: 'A'.repeat(1_000_000) }
      assert.equal((await server.send(PATH, { form })).status, 413)
      assertRefused(await post(`${'<a>'.repeat(8000)}${'</a>'.repeat(8000)}`))
      const deep = corp.sign(corp.logoutRequest()).replace('</saml:Issuer>', `</saml:Issuer>${'<a>'.repeat(5000)}`)
      assertRefused(await post(deep))
    }),
  },
  {
    attack: 'posts an unsolicited logout response, or has the victim follow one',
    outcome: 'ends no session, and does not redirect to a foreign site',
    attempt: staysSignedIn(async ({ corp, server, victim }) => {
      for (const relayState of [
        EVIL,
        `{"redirect":"${EVIL}","client_id":"auto"}`,
        '//evil.example',
        '{"state":"x"}',
        '',
      ]) {
        for (const inResponseTo of ['_made-up', EVIL, `_${'a'.repeat(43)}`]) {
          const response = corp.logoutResponse({ inResponseTo, destination: EVIL })
          const form = { SAMLResponse: base64Of(response), RelayState: relayState }
          const posted = await server.send(PATH, { form })
          const options = { key: null, relayState }
          const led = await victim.send(`${PATH}?${corp.redirectQuery('SAMLResponse', response, options)}`)
          for (const { status, headers } of [posted, led]) {
            const { origin, pathname, search } = new URL(String(headers['location']))
            assert.deepEqual([status, origin, pathname], [303, BASE, '/logout.do'])
            const end = await victim.send(pathname + search)
            assert.doesNotMatch(String(end.headers['location']), /evil/)
          }
        }
      }
    }),
  },
  {
    attack: 'sets a foreign redirect URI for a logout through the provider',
    outcome: 'is not redirected to',
    attempt: inBothModes(async ({ corp, server }) => {
      for (const query of [
        { redirect: EVIL },
        { redirect: EVIL, client_id: 'auto' },
        { post_logout_redirect_uri: EVIL, client_id: 'auto' },
        { redirect: 'http://localhost:8080@evil.example/' },
      ]) {
        const browser = server.browser()
        await signInSaml(browser, corp, { origin: 'corp', parts: { nameId: 'mallory' } })
        const leaving = await browser.send('/logout.do', { query, headers: { 'sec-fetch-site': 'same-origin' } })
        if (leaving.status !== 302) continue // the question of `standard`
        const { xml, relayState, to } = messageIn(leaving, 'SAMLRequest')
        assert.equal(to, SLO)
        const response = corp.logoutResponse({ inResponseTo: attributeIn(xml, 'ID') ?? '' })
        const options = { key: null, ...(relayState !== undefined && { relayState }) }
        const back = await browser.send(`${PATH}?${corp.redirectQuery('SAMLResponse', response, options)}`)
        const { pathname, search } = back.location()
        const end = await browser.send(pathname + search)
        assert.doesNotMatch(String(end.headers['location']), /evil/, JSON.stringify(query))
      }
    }),
  },
  {
    attack: 'sends a URL or a script as RelayState of a request of the provider',
    outcome: 'it is returned to the provider as a field',
    attempt: inBothModes(async ({ corp, request, post, redirect }) => {
      for (const relayState of [EVIL, 'javascript:alert(1)', '"><script>alert(1)</script>']) {
        const signed = corp.redirectQuery('SAMLRequest', request(), { relayState })
        for (const answer of [await redirect(signed), await post(corp.sign(request()), { RelayState: relayState })]) {
          const carried = messageIn(answer, 'SAMLResponse')
          assert.deepEqual([carried.to, carried.relayState], [SLO, relayState])
          assert.doesNotMatch(answer.text, /<script>/)
        }
      }
    }),
  },
  {
    attack: 'as the provider, names an internal account',
    outcome: 'its session is kept',
    attempt: inBothModes(async ({ corp, server, victim, isSignedIn, request, post }) => {
      const withPassword = await signedIn(server)
      for (const sessionIndexes of [[], [VICTIM.sessionIndex]]) {
        assert.equal(statusOf(await post(corp.sign(request({ sessionIndexes })))), 'Success')
      }
      assert.deepEqual([await isSignedIn(withPassword), await isSignedIn(victim)], [true, false])
    }),
  },
  {
    attack: 'sends a signed response or assertion as a logout request, and a logout request as a response',
    outcome: 'ends no session, and signs nobody in',
    attempt: staysSignedIn(async ({ corp, server, request, post, redirect, isSignedIn }) => {
      const response = await corp.response({ ...VICTIM, signs: ['response'] })
      for (const xml of [response, corp.signedAssertion(VICTIM)]) {
        assertRefused(await post(xml))
        assertRefused(await redirect(corp.redirectQuery('SAMLRequest', xml)))
      }
      const browser = server.browser()
      const { relayState = '' } = messageIn(await browser.send('/login/external/corp'), 'SAMLRequest')
      const form = { SAMLResponse: base64Of(corp.sign(request())), RelayState: relayState }
      await browser.send('/saml/SSO/alias/latchkey', { form })
      assert.equal(await isSignedIn(browser), false)
    }),
  },
]
