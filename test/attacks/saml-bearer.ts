import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { freshDatabase } from '../support/databases.ts'
import { issuedBy, MODES, tokensOf } from '../support/oauth.ts'
import type { BearerRequest } from '../support/saml/saml-bearer.ts'
import { ALIAS, CARRIER, present, presentFrom, RECIPIENT, SAML_BEARER, samlWorld } from '../support/saml/saml-bearer.ts'
import { base64Of, base64UrlOf } from '../support/saml/saml-xml.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

type World = ReturnType<typeof samlWorld>

/** A server with providers of both the attacker and legitimate users. */
interface Scene extends World {
  readonly mode: CompatibilityMode
  readonly server: TestServer
  /** Asserts that the assertion is refused; `why` is the reason in the audit trail. */
  readonly refuse: (xml: string, why: string | RegExp, request?: BearerRequest) => Promise<TestAnswer>
}

const Z1 = { path: '/oauth/token/alias/z1.latchkey', host: 'z1.localhost:8080' }
const ACS = 'http://localhost:8080/saml/SSO/alias/latchkey'

/** Runs the attack in both modes. */
const inBothModes =
  (play: (scene: Scene) => Promise<void>): (() => Promise<void>) =>
  async () => {
    for (const mode of MODES) {
      const world = samlWorld()
      const server = await startServer({ mode, clock: world.clock, config: { bootstrap: world.bootstrap } })
      const refuse: Scene['refuse'] = async (xml, why, request) => {
        const [tokens, events] = [issuedBy(server), server.events.length]
        const answer = await present(server, xml, request)
        assert.ok([400, 401].includes(answer.status), `${answer.status} ${answer.text}`)
        assert.equal(answer.headers['set-cookie'], undefined)
        assert.equal(issuedBy(server), tokens)
        const reported = server.events
          .slice(events)
          .find(({ type }) => type === 'IdentityProviderAuthenticationFailure')
        if (typeof why === 'string') assert.equal(reported?.data, why, answer.text)
        else assert.match(String(reported?.data), why)
        return answer
      }
      try {
        await play({ ...world, mode, server, refuse })
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    }
  }

const findUser = (server: TestServer, origin: string, userName: string) =>
  server.store.users.findByName('svc', origin, userName)

const minutes = ({ clock }: Scene, count: number): Date => new Date(clock.now().getTime() + count * 60_000)

/** Attacks with SAML assertions at the token endpoint. */
export const samlBearerAttacks: readonly Attack[] = [
  {
    attack: 'replays a SAML assertion twenty times concurrently at two servers',
    outcome: 'only one request gets tokens',
    attempt: async () => {
      const database = await freshDatabase('sqlite')
      const { clock, bootstrap, corp } = samlWorld()
      const options = { database: database.url, clock, config: { bootstrap } }
      const servers = [await startServer(options), await startServer(options)]
      try {
        const xml = corp.signedAssertion()
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => servers.map(server => present(server, xml))).flat(),
        )
        assert.equal(answers.filter(({ status }) => status === 200).length, 1)
        assert.deepEqual(
          servers.map(({ faults }) => faults),
          [[], []],
        )
      } finally {
        await Promise.all(servers.map(server => server.stop()))
        await database.drop()
      }
    },
  },
  {
    attack: 'replays a used SAML assertion during its validity, and after records were purged',
    outcome: 'is refused every time',
    attempt: inBothModes(async ({ server, clock, corp, refuse }) => {
      const until = new Date(clock.now().getTime() + 300_000)
      const xml = corp.signedAssertion({ notOnOrAfter: until, conditions: { notOnOrAfter: until } })
      tokensOf(await present(server, xml))
      for (const seconds of [0, 299, 60]) {
        clock.advance(seconds)
        while ((await server.store.purge(clock.now())) > 0);
        await refuse(xml, 'replay')
      }
      clock.advance(1)
      await refuse(xml, 'expired')
    }),
  },
  {
    attack: 'uses up the id of a genuine SAML assertion with a forged one or one of another provider',
    outcome: 'the genuine one is still accepted',
    attempt: inBothModes(async ({ server, corp, rival, refuse }) => {
      const id = '_the-id-of-the-victim'
      await refuse(corp.signedAssertion({ id }, { key: rival.key }), 'bad-signature')
      await refuse(corp.signedAssertion({ id, recipient: `${RECIPIENT}/` }), 'recipient')
      await refuse(corp.assertion({ id }), 'no-signature')
      tokensOf(await presentFrom(server, rival, { parts: { id } }))
      tokensOf(await presentFrom(server, corp, { parts: { id } }))
    }),
  },
  {
    attack: 'signs SAML assertions, as a provider, for users of another provider and of the server',
    outcome: 'gets only accounts of its own provider',
    attempt: inBothModes(async ({ server, corp, rival, refuse }) => {
      tokensOf(await presentFrom(server, corp, { parts: { nameId: 'boss' } }))
      await refuse(corp.signedAssertion({ nameId: 'boss' }, { key: rival.key }), 'bad-signature')
      for (const nameId of ['boss', 'marissa', 'marissa@example.org']) {
        const { access_token: token } = tokensOf(await presentFrom(server, rival, { parts: { nameId } }))
        const claims = decodeJwt<Record<string, unknown>>(token)
        assert.equal(claims['origin'], 'rival')
        const victims = [await findUser(server, 'corp', 'boss'), await findUser(server, 'svc', 'marissa')]
        assert.ok(!victims.some(victim => victim?.id === claims['user_id']))
      }
    }),
  },
  {
    attack: 'signs SAML assertions with the key of a provider of another zone, even with the same entity id',
    outcome: 'is refused, in either zone',
    attempt: inBothModes(async ({ shared, sharedOfZone, ofZone, refuse }) => {
      await refuse(sharedOfZone.signedAssertion(), 'bad-signature')
      await refuse(ofZone.signedAssertion(), 'issuer')
      const there = { audiences: ['z1.latchkey'], recipient: `http://${Z1.host}${Z1.path}` }
      await refuse(shared.signedAssertion(there), 'bad-signature', Z1)
    }),
  },
  {
    attack: 'presents a SAML assertion in another zone with a provider and client of the same names',
    outcome: 'is refused',
    attempt: inBothModes(async ({ server, shared, sharedOfZone, refuse }) => {
      const there = { audiences: ['z1.latchkey'], recipient: `http://${Z1.host}${Z1.path}` }
      await refuse(sharedOfZone.signedAssertion(), /^(?:audience|recipient)$/, Z1)
      await refuse(sharedOfZone.signedAssertion({ audiences: there.audiences }), 'recipient', Z1)
      await refuse(sharedOfZone.signedAssertion({ ...there, audiences: ['latchkey'] }), 'audience', Z1)
      await refuse(shared.signedAssertion({ audiences: ['z1.latchkey'] }), 'audience')
      tokensOf(await presentFrom(server, sharedOfZone, { ...Z1, parts: there }))
    }),
  },
  {
    attack: 'presents a SAML assertion as a client of another zone',
    outcome: 'is refused before the assertion is read',
    attempt: inBothModes(async ({ server, corp }) => {
      const xml = corp.signedAssertion()
      const answer = await present(server, xml, { basic: ['of-zone', 'secret'] })
      assert.deepEqual([answer.status, answer.json()['error']], [401, 'invalid_client'])
      tokensOf(await present(server, xml))
    }),
  },
  {
    attack: 'presents SAML assertions of a provider that was just disabled',
    outcome: 'is refused',
    attempt: inBothModes(async ({ server, corp, refuse }) => {
      tokensOf(await presentFrom(server, corp))
      const record = await server.store.providers.findByOrigin('svc', 'corp')
      assert.ok(record)
      await server.store.providers.update('svc', { ...record, active: false })
      await refuse(corp.signedAssertion(), 'issuer')
      await server.store.providers.update('svc', record)
      tokensOf(await presentFrom(server, corp))
    }),
  },
  {
    attack: 'presents the SAML assertion of a sign-in at the token endpoint, and vice versa',
    outcome: 'is refused at both',
    attempt: inBothModes(async ({ server, corp, refuse }) => {
      await refuse(corp.signedAssertion({ recipient: ACS }), 'recipient')
      await refuse(corp.signedAssertion({ recipient: ACS, inResponseTo: '_request' }), 'recipient')
      const browser = server.browser()
      const form = { SAMLResponse: base64Of(await corp.response({ destination: ACS })), RelayState: 'x' }
      await browser.send('/saml/SSO/alias/latchkey', { form })
      assert.notEqual((await browser.send('/profile')).status, 200)
    }),
  },
  {
    attack: 'presents a SAML assertion with InResponseTo, or a whole response',
    outcome: 'is refused',
    attempt: inBothModes(async ({ corp, refuse }) => {
      await refuse(corp.signedAssertion({ inResponseTo: '_request' }), 'in-response-to')
      for (const signs of [['assertion'], ['response'], ['assertion', 'response']] as const) {
        await refuse(await corp.response({ signs }), 'not-xml')
      }
    }),
  },
  {
    attack: 'sends the SAML assertion twice, in the query, or in both the query and the body',
    outcome: 'is refused, and not logged',
    attempt: inBothModes(async ({ server, corp, mode }) => {
      const assertion = base64UrlOf(corp.signedAssertion())
      const form = new URLSearchParams({ grant_type: SAML_BEARER, assertion }).toString()
      const twice = `${form}&assertion=${base64UrlOf(corp.signedAssertion())}`
      const requests = [
        ...(mode === 'standard' ? [{ form: twice }] : []),
        { form: `grant_type=${encodeURIComponent(SAML_BEARER)}`, query: { assertion } },
        { form, query: { assertion } },
        { method: 'GET', query: { grant_type: SAML_BEARER, assertion } },
      ]
      for (const request of requests) {
        const answer = await server.send(ALIAS, { ...request, basic: CARRIER })
        assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
      }
      const reported = JSON.stringify([server.events, server.lines, server.refusals])
      assert.ok(!reported.includes(assertion.slice(0, 100)))
    }),
  },
  {
    attack: 'sends SAML assertions of a megabyte, of ten thousand elements, a thousand levels deep, or of entities',
    outcome: 'is refused quickly',
    attempt: inBothModes(async ({ server, corp }) => {
      const wide = '<saml:Attribute Name="a"/>'.repeat(10_000)
      const end = '</saml:Assertion>'
      const around = (content: string): string => corp.signedAssertion().replace(end, `${content}${end}`)
      const texts = [
        around('x'.repeat(1_000_000)),
        around(`<saml:AttributeStatement>${wide}</saml:AttributeStatement>`),
        around('<saml:x>'.repeat(1000) + '</saml:x>'.repeat(1000)),
        around('<!-- -->'.repeat(10_000)),
        `<!DOCTYPE a [${'<!ENTITY a "&b;&b;">'.repeat(100)}]>${corp.signedAssertion()}`,
        '<'.repeat(200_000),
        `<a ${Array.from({ length: 20_000 }, (_, index) => `b${index}=""`).join(' ')}/>`,
      ]
      await present(server, corp.assertion()) // loads what reads SAML
      for (const text of texts) {
        const elapsed = cpuStopwatch()
        const answer = await present(server, text)
        assert.ok([400, 401, 413].includes(answer.status), String(answer.status))
        assert.ok(elapsed() < 500, `${text.slice(0, 40)} took ${elapsed()} ms`)
      }
    }),
  },
  {
    attack: 'presents a SAML assertion that is valid for years, or was issued long ago',
    outcome: 'is refused',
    attempt: inBothModes(async scene => {
      const { corp, refuse } = scene
      const [past, future] = [minutes(scene, -60 * 24), minutes(scene, 60 * 24 * 365)]
      await refuse(corp.signedAssertion({ issueInstant: past }), 'expired')
      await refuse(corp.signedAssertion({ issueInstant: future }), 'not-yet-valid')
      await refuse(corp.signedAssertion({ notOnOrAfter: null }), 'subject')
      await refuse(corp.signedAssertion({ confirmationNotBefore: future }), 'subject')
    }),
  },
]
