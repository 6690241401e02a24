// Attacks by SAML providers and their administrators. Forged messages are in saml.ts and test/saml-attacks/.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { authorizeBootstrap } from '../support/authorize.ts'
import { certificateOf } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { keyOfLongExponent } from '../support/long-exponent.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { base64Of, SAML } from '../support/saml/saml-xml.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import type { ResponseParts } from '../support/saml/saml-parts.ts'
import { signMetadata } from '../support/saml/saml-metadata-samples.ts'
import {
  answerForm,
  BASE,
  comeBack,
  CONSUMER,
  idpOf,
  requestIn,
  samlRecord,
  signInAt,
} from '../support/saml/saml-sign-in.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { sendJson, startZoneServer, tokenOf } from '../support/zones.ts'
import type { Attack } from './attack.ts'

const evilKey = samlTestKey()
const to = { entityId: 'latchkey', recipient: BASE + CONSUMER }

const USERS = {
  client_id: 'people',
  client_secret: 'people-secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['scim.write'],
}

/** The documents of a metadata host: one, or others by path. */
interface Site {
  document: string
  byPath: Readonly<Record<string, string>>
  asked: number
}

/** Runs the attack against a server with these providers; `site` publishes a document, and counts requests. */
async function against(
  records: (clock: ReturnType<typeof createTestClock>, site: string) => readonly object[],
  attempt: (server: TestServer, site: Site) => Promise<void>,
  mode: CompatibilityMode = 'standard',
): Promise<void> {
  const clock = createTestClock()
  const state: Site = { document: '', byPath: {}, asked: 0 }
  const site = createServer(({ url = '' }, response) => {
    state.asked += 1
    response.end(state.byPath[url] ?? state.document)
  })
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  const address = site.address()
  assert.ok(typeof address === 'object' && address !== null)
  const identity_providers = records(clock, `http://127.0.0.1:${address.port}/`)
  const bootstrap = { ...authorizeBootstrap, identity_providers, clients: [...authorizeBootstrap.clients, USERS] }
  const server = await startServer({ clock, mode, config: { bootstrap } })
  try {
    await attempt(server, state)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
    site.closeAllConnections()
    site.close()
  }
}

const BOSS = { nameId: 'boss@corp.example', format: SAML.persistentName } as const

/** Runs it in both modes with one provider, whose record has no NameID format. */
async function againstInBothModes(attempt: (server: TestServer) => Promise<void>): Promise<void> {
  for (const mode of MODES) await against(clock => [samlRecord(clock, 'corp')], attempt, mode)
}

/** Asserts that a response of the provider signs nobody in. */
async function assertRefused(server: TestServer, parts: ResponseParts & { origin?: string }): Promise<void> {
  const browser = server.browser()
  await signInAt(server, browser, parts)
  assert.equal((await browser.send('/home')).headers['location'], `${BASE}/login`)
}

/** Attacks by SAML providers, their administrators and their users. */
export const samlProviderAttacks: readonly Attack[] = [
  {
    attack: 'registers a provider with unresponsive metadata',
    outcome: 'does not delay users of other providers',
    attempt: async () => {
      for (const mode of MODES)
        await against(
          (clock, site) => [samlRecord(clock, 'corp'), samlRecord(clock, 'silent', { metaDataLocation: site })],
          async (server, site) => {
            const answer = await signInAt(server, server.browser())
            assert.equal(answer.status, 302, answer.text)
            assert.ok(await server.store.users.findByExternalId('svc', 'corp', 'person-1'))
            assert.equal(site.asked, 0)
          },
          mode,
        )
    },
  },
  {
    attack: 'as a provider, asserts an internal user or one of another provider',
    outcome: 'its users get accounts of their own',
    attempt: () =>
      against(
        clock => [samlRecord(clock, 'corp'), samlRecord(clock, 'evil')],
        async server => {
          await signInAt(server, server.browser(), { nameId: 'boss@corp.example' })
          const attributes = ['mail', 'verified'].map((name, place) => ({
            name,
            values: [place === 0 ? 's@example.org' : 'true'],
          }))
          for (const nameId of ['boss@corp.example', 'sam']) {
            await signInAt(server, server.browser(), { origin: 'evil', nameId, attributes })
          }
          const { users } = server.store
          const known = await users.findByExternalId('svc', 'corp', 'boss@corp.example')
          const evil = await users.findByExternalId('svc', 'evil', 'boss@corp.example')
          assert.ok(known && evil && known.id !== evil.id)
          assert.equal((await users.findByName('svc', 'svc', 'sam'))?.externalId, undefined)
        },
      ),
  },
  {
    attack: 'registers a provider with the entity id of another one and their own key',
    outcome: 'the other one keeps the entity id, and only its keys are accepted',
    attempt: () =>
      against(
        clock => [
          samlRecord(clock, 'corp'),
          samlRecord(clock, 'evil', {
            metaDataLocation: createSamlIdp({
              clock,
              to,
              entityId: 'https://corp.example/saml',
              key: evilKey,
            }).metadata(),
          }),
        ],
        async server => {
          await assertRefused(server, { nameId: 'boss', signing: { key: evilKey } })
          assert.equal(server.events.at(-1)?.data, 'bad-signature')
          const browser = server.browser()
          const sent = requestIn(await browser.send('/login/external/evil'))
          const xml = await idpOf(server.clock, 'corp').response({ inResponseTo: sent.id, signing: { key: evilKey } })
          await comeBack(server, browser, answerForm(xml, sent.relayState))
          assert.equal((await browser.send('/home')).status, 302)
        },
      ),
  },
  {
    attack: 'changes the NameID format in the request, for a name that users choose themselves',
    outcome: 'only the format of the record is accepted',
    attempt: () =>
      against(
        clock => [samlRecord(clock, 'corp', { nameID: SAML.persistentName })],
        async server => {
          for (const format of [SAML.emailName, SAML.transientName, null]) {
            await assertRefused(server, { nameId: 'id-of-the-boss', format })
            assert.equal(server.events.at(-1)?.data, 'name-id')
          }
        },
      ),
  },
  {
    attack: 'does so without a format in the record, with the name of another user',
    outcome: 'refused: an account keeps the format of its first sign-in',
    attempt: () =>
      againstInBothModes(async server => {
        const boss = server.browser()
        await signInAt(server, boss, BOSS)
        assert.equal((await boss.send('/home')).status, 200)
        for (const format of [SAML.emailName, null]) {
          await assertRefused(server, { ...BOSS, format })
          assert.equal(server.events.at(-1)?.data, 'name-id')
        }
        const again = server.browser()
        await signInAt(server, again, BOSS)
        for (const browser of [boss, again]) assert.equal((await browser.send('/home')).status, 200)
      }),
  },
  {
    attack: 'does so after an administrator removed the external id of the account',
    outcome: 'refused: the account keeps its format',
    attempt: () =>
      againstInBothModes(async server => {
        await signInAt(server, server.browser(), BOSS)
        const user = await server.store.users.findByName('svc', 'corp', BOSS.nameId)
        assert.ok(user)
        const body = { userName: user.userName, name: {}, emails: [{ value: user.email }], origin: 'corp' }
        const headers = { 'if-match': '*', 'content-type': 'application/json' }
        const bearer = await tokenOf(server, 'people')
        const changed = await sendJson(server, 'PUT', `/Users/${user.id}`, body, { bearer, headers })
        assert.equal(changed.status, 200, changed.text)
        assert.equal((await server.store.users.find('svc', user.id))?.externalId, undefined)
        await assertRefused(server, { ...BOSS, format: SAML.emailName })
        const boss = server.browser()
        await signInAt(server, boss, BOSS)
        assert.equal((await boss.send('/home')).status, 200)
        assert.equal((await server.store.users.findByExternalId('svc', 'corp', BOSS.nameId))?.id, user.id)
      }),
  },
  {
    attack: 'keeps a session after an administrator changed the NameID format of the provider',
    outcome: 'the account is bound to the new format, and its sessions end',
    attempt: () =>
      againstInBothModes(async server => {
        const former = server.browser()
        await signInAt(server, former, BOSS)
        const record = await server.store.providers.findStored('svc', 'corp')
        assert.ok(record)
        const config = { ...record.config, nameID: SAML.emailName }
        await server.store.providers.update('svc', { ...record, config })
        const boss = server.browser()
        await signInAt(server, boss, { ...BOSS, format: SAML.emailName })
        assert.equal((await boss.send('/home')).status, 200)
        assert.equal((await former.send('/home')).headers['location'], `${BASE}/login`)
        await assertRefused(server, BOSS)
      }),
  },
  {
    attack: 'as a provider, sends a NameID with foreign qualifiers',
    outcome: 'refused',
    attempt: () =>
      against(
        clock => [samlRecord(clock, 'corp')],
        async server => {
          for (const parts of [
            { nameQualifier: 'https://other.example' },
            { spNameQualifier: 'https://other.example' },
          ]) {
            await assertRefused(server, { nameId: 'p1', ...parts })
            assert.equal(server.events.at(-1)?.data, 'name-id')
          }
        },
      ),
  },
  {
    attack: 'takes over the host of a provider’s metadata and publishes another provider there',
    outcome: 'metadata with another entity id are refused',
    attempt: () =>
      against(
        (clock, site) => [samlRecord(clock, 'corp', { metaDataLocation: site })],
        async (server, site) => {
          const record = await server.store.providers.findStored('svc', 'corp')
          assert.ok(record)
          await server.store.providers.update('svc', { ...record, externalKey: 'https://corp.example/saml' })
          site.document = createSamlIdp({ clock: server.clock, to, entityId: 'https://evil.example' }).metadata()
          const { headers } = await server.browser().send('/login/external/corp')
          assert.equal(headers['location'], `${BASE}/login?error=idp_not_found`)
        },
      ),
  },
  {
    attack: 'publishes metadata with the entity id of another provider, both without one in their records',
    outcome: 'messages of each provider affect only its own accounts',
    attempt: async () => {
      for (const mode of MODES)
        await against(
          (clock, site) => ['corp', 'evil'].map(name => samlRecord(clock, name, { metaDataLocation: site + name })),
          async (server, site) => {
            const { clock, store } = server
            const entityId = 'https://corp.example/saml'
            const evil = createSamlIdp({ clock, to, entityId, key: evilKey })
            site.byPath = {
              '/corp': idpOf(clock, 'corp').metadata({ sso: 'https://corp.example/sso' }),
              '/evil': evil.metadata({ sso: 'https://evil.example/sso' }),
            }
            await assertRefused(server, { signing: { key: evilKey } })
            const victim = server.browser()
            const answer = await signInAt(server, victim)
            assert.equal(answer.status, 302, answer.text)
            assert.ok(await store.users.findByExternalId('svc', 'corp', 'person-1'))
            const browser = server.browser()
            const sent = requestIn(await browser.send('/login/external/evil'))
            await comeBack(server, browser, answerForm(await evil.response({ inResponseTo: sent.id }), sent.relayState))
            const [mine, theirs] = await Promise.all(
              ['evil', 'corp'].map(origin => store.users.findByExternalId('svc', origin, 'person-1')),
            )
            assert.notEqual(mine?.id, theirs?.id)
            const path = '/saml/SingleLogout/alias/latchkey'
            const statuses = []
            for (const by of [evil, idpOf(clock, 'corp')]) {
              const request = by.sign(by.logoutRequest({ destination: BASE + path, nameId: 'person-1' }))
              await server.send(path, { form: { SAMLRequest: base64Of(request) } })
              statuses.push((await victim.send('/home')).status)
            }
            assert.deepEqual(statuses, [200, 302])
          },
          mode,
        )
    },
  },
  {
    attack: 'floods the server with responses signed with an unknown key',
    outcome: 'metadata are refetched at most every 30 seconds',
    attempt: () =>
      against(
        (clock, site) => [samlRecord(clock, 'corp', { metaDataLocation: site })],
        async (server, site) => {
          site.document = idpOf(server.clock, 'corp').metadata({ sso: 'https://corp.example/sso' })
          await assertRefused(server, { signing: { key: evilKey } })
          assert.equal(site.asked, 1)
          server.clock.advance(30)
          for (let count = 0; count < 5; count += 1) await assertRefused(server, { signing: { key: evilKey } })
          assert.equal(site.asked, 2)
        },
      ),
  },
  {
    attack: 'as administrator of a zone, registers certificates with slow keys',
    outcome: 'a megabyte of certificates is refused, and keys with a large exponent are ignored',
    async attempt() {
      const server = await startZoneServer()
      const bearer = await tokenOf(server, 'admin-of-z1')
      const pem = keyOfLongExponent().export({ type: 'pkcs8', format: 'pem' }).toString()
      const key = { privateKey: pem, certificate: certificateOf(pem) }
      const idp = createSamlIdp({ clock: server.clock, to, key })
      const create = async (config: object): Promise<TestAnswer> => {
        const body = { originKey: 'slow', name: 'slow', type: 'saml', active: true, config }
        const request = { bearer, headers: { 'x-identity-zone-id': 'z1' } }
        return sendJson(server, 'POST', '/identity-providers', body, request)
      }
      assert.match(
        (await create({ metaDataLocation: idp.metadata() })).text,
        /no certificate with a key that can verify/,
      )
      const metaDataLocation = signMetadata(
        idpOf(server.clock, 'corp').metadata().replace('<md:EntityDescriptor ', '<md:EntityDescriptor ID="_m" '),
        key,
      )
      const trusting = { metaDataLocation, metadataTrustCheck: true }
      const slow = await create({ ...trusting, metadataCertificates: key.certificate })
      assert.match(slow.text, /cannot be verified/)
      const many = await create({ ...trusting, metadataCertificates: key.certificate.repeat(700) })
      assert.equal(many.status, 422)
      assert.deepEqual(server.faults, [])
      await server.stop()
    },
  },
  {
    attack: 'publishes metadata with a javascript: endpoint, or one with credentials in the URL',
    outcome: 'the endpoint is ignored',
    attempt: () =>
      against(
        clock =>
          ['javascript:alert(document.cookie)', 'https://user:password@evil.example/'].map((sso, place) =>
            samlRecord(clock, `evil${place}`, {
              metaDataLocation: idpOf(clock, `evil${place}`).metadata({ sso, bindings: [SAML.post, SAML.redirect] }),
            }),
          ),
        async server => {
          for (const origin of ['evil0', 'evil1']) {
            const { headers } = await server.browser().send(`/login/external/${origin}`)
            assert.equal(headers['location'], `${BASE}/login?error=idp_not_found`)
          }
        },
      ),
  },
]
