// Which user a SAML response signs in, and which responses are refused.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { addSeconds } from '../../../src/base/clock.ts'
import { authorizeBootstrap, AUTO_REQUEST } from '../../support/authorize.ts'
import { createTestClock } from '../../support/clock.ts'
import { MODES } from '../../support/oauth.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { SAML } from '../../support/saml/saml-xml.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import type { ResponseParts, SamlTestAttribute } from '../../support/saml/saml-parts.ts'
import {
  answerForm,
  BASE,
  comeBack,
  CONSUMER,
  idpOf,
  requestIn,
  samlRecord,
  signInAt,
} from '../../support/saml/saml-sign-in.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const attribute = (name: string, ...values: readonly string[]): SamlTestAttribute => ({ name, values })
const [oldKey, newKey, foreignKey] = [samlTestKey(), samlTestKey(), samlTestKey()] as const
const to = { entityId: 'latchkey', recipient: BASE + CONSUMER }

for (const mode of MODES) {
  describe(`SAML response in ${mode}`, () => {
    const clock = createTestClock()
    const rolling = createSamlIdp({ clock, key: oldKey, entityId: 'https://rolling.example/saml', to })
    let document = ''
    let asked = 0
    const site = createServer((_, response) => {
      asked += 1
      response.end(document)
    })
    let server: TestServer
    before(async () => {
      await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
      site.unref()
      const address = site.address()
      assert.ok(typeof address === 'object' && address !== null)
      const mapped = {
        attributeMappings: {
          email: 'mail',
          email_verified: 'verified',
          given_name: 'gn',
          external_groups: 'groups',
          'user.attribute.dept': 'dept',
        },
        externalGroupsWhitelist: ['staff*'],
      }
      const identity_providers = [
        samlRecord(clock, 'corp', mapped),
        samlRecord(clock, 'scopes', { ...mapped, groupMappingMode: 'AS_SCOPES' }),
        samlRecord(clock, 'closed', { addShadowUserOnLogin: false }),
        samlRecord(clock, 'strict', { nameID: SAML.persistentName }),
        samlRecord(clock, 'context', { authnContext: ['urn:strong'] }),
        samlRecord(clock, 'begins', { allowIdpInitiated: true }),
        samlRecord(clock, 'switched'),
        samlRecord(clock, 'moved'),
        samlRecord(clock, 'ending', {
          metaDataLocation: idpOf(clock, 'ending')
            .metadata()
            .replace(' entityID=', ` validUntil="${addSeconds(clock.now(), 120).toISOString()}" entityID=`),
        }),
        samlRecord(clock, 'rolling', { metaDataLocation: `http://127.0.0.1:${address.port}/` }),
        samlRecord(clock, 'twin', { metaDataLocation: idpOf(clock, 'corp').metadata({ keys: [foreignKey] }) }),
      ]
      const external_groups = [{ displayName: 'internal.group', externalGroup: 'staff-a', origin: 'corp' }]
      const groups = [...authorizeBootstrap.groups, { displayName: 'internal.group' }]
      document = rolling.metadata({ sso: 'https://rolling.example/sso' })
      server = await startServer({
        mode,
        clock,
        config: { bootstrap: { ...authorizeBootstrap, groups, external_groups, identity_providers } },
      })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      site.closeAllConnections()
      await new Promise(resolve => site.close(resolve))
    })

    const accountOf = (origin: string, nameId: string) => server.store.users.findByExternalId('svc', origin, nameId)
    const isSignedIn = (answer: TestAnswer): boolean =>
      answer.status === 302 && !String(answer.headers['location']).includes('error')
    const lastEvent = () => server.events.findLast(({ type }) => type === 'IdentityProviderAuthenticationFailure')

    async function signIn(parts: ResponseParts & { origin?: string } = {}): Promise<TestAnswer> {
      const answer = await signInAt(server, server.browser(), parts)
      assert.ok(isSignedIn(answer), `${answer.status} ${answer.text} ${server.refusals.at(-1)}`)
      return answer
    }

    /** Asserts that the response signs no user in, and that the audit trail has the reason. */
    async function refuse(reason: string, parts: ResponseParts & { origin?: string }): Promise<TestAnswer> {
      const before = server.events.length
      const browser = server.browser()
      const answer = await signInAt(server, browser, parts)
      assert.equal(isSignedIn(answer), false, answer.text)
      assert.equal((await browser.send('/home')).status, 302)
      const reported = server.events.slice(before)
      assert.deepEqual(
        reported.map(({ type, data, origin, authenticationType }) => [type, data, origin, authenticationType]),
        [['IdentityProviderAuthenticationFailure', reason, parts.origin ?? 'corp', 'saml']],
      )
      return answer
    }

    describe('signs in the user of the NameID', () => {
      it('with a new account, and later with the same one', async () => {
        const attributes = [
          attribute('mail', 'm@corp.example'),
          attribute('verified', 'true'),
          attribute('gn', 'Marissa'),
          attribute('dept', 'a', 'b'),
        ]
        await signIn({ nameId: 'marissa-1', attributes })
        const user = await accountOf('corp', 'marissa-1')
        assert.ok(user)
        assert.deepEqual(
          [user.userName, user.email, user.verified, user.givenName, user.familyName, user.profile?.custom],
          ['marissa-1', 'm@corp.example', true, 'Marissa', 'corp.example', { dept: ['a', 'b'] }],
        )
        await signIn({ nameId: 'marissa-1', attributes: [attribute('mail', 'new@corp.example')] })
        const again = await accountOf('corp', 'marissa-1')
        assert.deepEqual(
          [again?.id, again?.email, again?.verified, again?.profile?.custom],
          [user.id, 'new@corp.example', false, undefined],
        )
      })

      it('compared case-sensitively', async () => {
        for (const nameId of ['Case', 'case']) await signIn({ nameId })
        const [one, two] = [await accountOf('corp', 'Case'), await accountOf('corp', 'case')]
        assert.ok(one && two && one.id !== two.id)
      })

      it('with a NameID that is an email address as unverified email', async () => {
        await signIn({ nameId: 'bearer@saml.org', format: SAML.emailName })
        const user = await accountOf('corp', 'bearer@saml.org')
        assert.deepEqual(
          [user?.userName, user?.email, user?.verified, user?.givenName, user?.familyName],
          ['bearer@saml.org', 'bearer@saml.org', false, 'bearer', 'saml.org'],
        )
      })

      it('without linking an internal account with the same name or email', async () => {
        const attributes = [attribute('mail', 's@example.org'), attribute('verified', 'true')]
        await signIn({ nameId: 'sam', attributes })
        const internal = await server.store.users.findByName('svc', 'svc', 'sam')
        const own = await accountOf('corp', 'sam')
        assert.ok(internal && own && internal.id !== own.id)
        assert.equal(internal.externalId, undefined)
      })
    })

    it('provides amr, acr and auth_time of the ID token', async () => {
      const browser = server.browser()
      await browser.send('/oauth/authorize', { query: { ...AUTO_REQUEST, scope: 'openid' } })
      clock.advance(10)
      await signInAt(server, browser, { nameId: 'timed', authnContext: 'urn:strong' })
      const { code } = Object.fromEntries(
        (await browser.send('/oauth/authorize', { query: { ...AUTO_REQUEST, scope: 'openid' } })).location()
          .searchParams,
      )
      const form = { grant_type: 'authorization_code', code: code ?? '', redirect_uri: AUTO_REQUEST.redirect_uri }
      const { id_token: idToken } = (await server.token(form, { basic: ['auto', 'auto-secret'] })).json<{
        id_token: string
      }>()
      const claims = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString()) as Record<
        string,
        unknown
      >
      assert.deepEqual(claims['amr'], ['ext'])
      assert.match(JSON.stringify(claims['acr']), /urn:strong/)
      assert.equal(claims['auth_time'], Math.floor(clock.now().getTime() / 1000))
    })

    describe('sets groups', () => {
      const groupsOf = async (origin: string, nameId: string): Promise<readonly string[]> => {
        const user = await accountOf(origin, nameId)
        assert.ok(user)
        const direct = await server.store.groups.listDirect('svc', user.id)
        const names = await Promise.all(
          direct
            .filter(each => each.origin === origin)
            .map(async ({ groupId }) => (await server.store.groups.find('svc', groupId))?.displayName),
        )
        return names.flatMap(name => name ?? []).toSorted()
      }
      const groups = (...values: readonly string[]) => [attribute('groups', ...values)]

      it('and logs missing mapped attributes', async () => {
        await signIn({ origin: 'scopes', nameId: 'lacking', attributes: groups('made.here') })
        assert.match(
          server.refusals.at(-1) ?? '',
          /^sign-in at "scopes": the assertion lacks .*"gn" \(given_name\).*; it has "groups"$/,
        )
      })

      it('by mapping, and roles by the whitelist', async () => {
        await signIn({ nameId: 'grouped', attributes: groups('staff-a', 'other') })
        assert.deepEqual(await groupsOf('corp', 'grouped'), ['internal.group'])
        assert.deepEqual((await accountOf('corp', 'grouped'))?.providerRoles, ['staff-a'])
        await signIn({ nameId: 'grouped' })
        assert.deepEqual(await groupsOf('corp', 'grouped'), [])
        assert.deepEqual((await accountOf('corp', 'grouped'))?.providerRoles, undefined)
      })

      // Covers saml provider config: groupMappingMode
      it('as scopes, creating missing ones, except administrative ones', async () => {
        await signIn({ origin: 'scopes', nameId: 'scoped', attributes: groups('made.here', 'svc.admin', 'scim.write') })
        assert.deepEqual(await groupsOf('scopes', 'scoped'), ['made.here'])
      })
    })

    describe('is refused', () => {
      const refusals: readonly { name: string; reason: string; parts: ResponseParts & { origin?: string } }[] = [
        { name: 'with a transient NameID', reason: 'name-id', parts: { format: SAML.transientName } },
        {
          name: 'with a foreign NameQualifier',
          reason: 'name-id',
          parts: { nameQualifier: 'https://evil.example' },
        },
        { name: 'with a NameID for another service provider', reason: 'name-id', parts: { spNameQualifier: 'them' } },
        { name: 'with a line break in the NameID', reason: 'name-id', parts: { nameId: 'boss\nevil' } },
        {
          name: 'signed with a key that is not in the metadata',
          reason: 'bad-signature',
          parts: { signing: { key: foreignKey } },
        },
        { name: 'to another request', reason: 'in-response-to', parts: { inResponseTo: '_other' } },
        { name: 'without InResponseTo', reason: 'in-response-to', parts: { inResponseTo: null } },
        { name: 'for another audience', reason: 'audience', parts: { audiences: ['them'] } },
        {
          name: 'for another recipient',
          reason: 'recipient',
          parts: { recipient: `${BASE}/oauth/token/alias/latchkey` },
        },
        { name: 'with another authentication context', reason: 'authn-context', parts: { origin: 'context' } },
      ]
      for (const { name, reason, parts } of refusals) {
        it(name, async () => {
          await refuse(reason, { nameId: 'refused', ...parts })
          assert.equal(await accountOf(parts.origin ?? 'corp', parts.nameId ?? 'refused'), undefined)
        })
      }

      it('with a helpful error for a transient NameID', async () => {
        const answer = await refuse('name-id', { format: SAML.transientName })
        if (mode === 'standard') {
          assert.equal(answer.status, 403)
          assert.match(answer.text, /did not send a permanent identifier for you/)
        }
      })

      it('without an account if addShadowUserOnLogin is false', async () => {
        const answer = await signInAt(server, server.browser(), { origin: 'closed', nameId: 'stranger' })
        assert.equal(isSignedIn(answer), false)
        assert.equal(await accountOf('closed', 'stranger'), undefined)
      })

      it('with another NameID format than requested, in standard', async () => {
        const parts = { origin: 'strict', nameId: 'chosen@corp.example', format: SAML.emailName }
        if (mode === 'standard') await refuse('name-id', parts)
        else await signIn(parts)
        await signIn({ ...parts, format: SAML.persistentName })
      })
    })

    // Covers saml provider config: authnContext
    it('is accepted with a requested authentication context', async () => {
      await signIn({ origin: 'context', nameId: 'strong', authnContext: 'urn:strong' })
    })

    describe('without a request (IdP-initiated)', () => {
      const unsolicited = async (origin: string, parts: ResponseParts = {}) => {
        const xml = await idpOf(clock, origin).response({ inResponseTo: null, ...parts })
        return { xml, answer: await comeBack(server, server.browser(), answerForm(xml)) }
      }

      it('signs in if the record or the mode allows it', async () => {
        assert.ok(isSignedIn((await unsolicited('begins', { nameId: 'beginner' })).answer))
        assert.equal(isSignedIn((await unsolicited('corp', { nameId: 'surprise' })).answer), mode === 'uaa')
        assert.equal((await accountOf('corp', 'surprise')) !== undefined, mode === 'uaa')
      })

      it('signs in at the path without an alias', async () => {
        const to = { recipient: `${BASE}/saml/SSO`, destination: `${BASE}/saml/SSO` }
        const xml = await idpOf(clock, 'begins').response({ inResponseTo: null, nameId: 'bare', ...to })
        assert.ok(isSignedIn(await comeBack(server, server.browser(), answerForm(xml), '/saml/SSO')))
      })

      it('is accepted once', async () => {
        const { xml, answer } = await unsolicited('begins')
        assert.ok(isSignedIn(answer))
        assert.equal(isSignedIn(await comeBack(server, server.browser(), answerForm(xml))), false)
        assert.equal(lastEvent()?.data, 'replay')
      })

      it('does not consume an assertion when refused', async () => {
        const parts = { id: '_kept', nameId: 'kept' }
        const bad = await unsolicited('begins', { ...parts, spNameQualifier: 'them' })
        assert.equal(isSignedIn(bad.answer), false)
        assert.ok(isSignedIn((await unsolicited('begins', parts)).answer))
      })

      it('is refused with InResponseTo', async () => {
        const { answer } = await unsolicited('begins', { inResponseTo: '_stolen' })
        assert.equal(isSignedIn(answer), false)
        assert.equal(lastEvent()?.data, 'in-response-to')
      })
    })

    it('is refused if the provider was deactivated after the request', async () => {
      const browser = server.browser()
      const sent = requestIn(await browser.send('/login/external/switched'))
      const record = await server.store.providers.findStored('svc', 'switched')
      assert.ok(record)
      await server.store.providers.update('svc', { ...record, active: false })
      const xml = await idpOf(clock, 'switched').response({ inResponseTo: sent.id, nameId: 'late' })
      assert.equal(isSignedIn(await comeBack(server, browser, answerForm(xml, sent.relayState))), false)
      assert.equal(await accountOf('switched', 'late'), undefined)
    })

    it('is refused if the metadata of the record changed after the request', async () => {
      const browser = server.browser()
      const sent = requestIn(await browser.send('/login/external/moved'))
      const record = await server.store.providers.findStored('svc', 'moved')
      assert.ok(record)
      const metaDataLocation = idpOf(clock, 'moved').metadata({ sso: 'https://new.example/sso', keys: [foreignKey] })
      await server.store.providers.update('svc', { ...record, config: { ...record.config, metaDataLocation } })
      const xml = await idpOf(clock, 'moved').response({ inResponseTo: sent.id, nameId: 'late' })
      assert.equal(isSignedIn(await comeBack(server, browser, answerForm(xml, sent.relayState))), false)
      assert.equal(await accountOf('moved', 'late'), undefined)
    })

    it('is refused and audited if the metadata are no longer valid', async () => {
      const browser = server.browser()
      const sent = requestIn(await browser.send('/login/external/ending'))
      clock.advance(120)
      const xml = await idpOf(clock, 'ending').response({ inResponseTo: sent.id })
      assert.equal(isSignedIn(await comeBack(server, browser, answerForm(xml, sent.relayState))), false)
      assert.equal(lastEvent()?.data, 'metadata')
    })

    it('is not attributed to another provider with the same entity id', async () => {
      // The second record with the entity id is stored without it, and its keys are not used.
      await refuse('bad-signature', { nameId: 'twins', signing: { key: foreignKey } })
      await signIn({ nameId: 'twins' })
      assert.equal(await accountOf('twin', 'twins'), undefined)
    })

    it('is attributed to one of several providers whose metadata have the entity id only if it was asked there', async () => {
      const { providers } = server.store
      const stored = (await providers.findStored('svc', 'rolling')) ?? assert.fail()
      const config = { ...stored.config, allowIdpInitiated: true }
      const rival = { ...stored, id: 'rival', originKey: 'rival', config }
      await providers.update('svc', { ...stored, config })
      await providers.insert('svc', rival)
      try {
        const unasked = answerForm(await rolling.response({ nameId: 'unasked' }))
        assert.equal(isSignedIn(await server.send(CONSUMER, { form: unasked })), false)
        assert.equal(lastEvent()?.data, 'issuer')
        for (const origin of ['rolling', 'rival']) {
          assert.equal(await accountOf(origin, 'unasked'), undefined)
          const browser = server.browser()
          const sent = requestIn(await browser.send(`/login/external/${origin}`))
          const xml = await rolling.response({ inResponseTo: sent.id, nameId: `asked by ${origin}` })
          assert.ok(isSignedIn(await comeBack(server, browser, answerForm(xml, sent.relayState))))
          assert.ok(await accountOf(origin, `asked by ${origin}`))
        }
      } finally {
        await providers.update('svc', { ...rival, active: false })
        await providers.update('svc', { ...stored, version: stored.version + 1 })
      }
    })

    describe('with a new signing key', () => {
      const rolled = async (key = newKey, parts: ResponseParts = {}): Promise<TestAnswer> => {
        const browser = server.browser()
        const sent = requestIn(await browser.send('/login/external/rolling'))
        const xml = await rolling.response({ inResponseTo: sent.id, nameId: 'roller', signing: { key }, ...parts })
        return comeBack(server, browser, answerForm(xml, sent.relayState))
      }

      it('is accepted after refetching metadata with the key', async () => {
        clock.advance(600)
        assert.ok(isSignedIn(await rolled(oldKey)))
        const before = asked
        document = rolling.metadata({ sso: 'https://rolling.example/sso', keys: [newKey] })
        assert.equal(isSignedIn(await rolled()), false)
        assert.equal(asked, before)
        clock.advance(30)
        assert.ok(isSignedIn(await rolled()))
        assert.equal(asked, before + 1)
      })

      it('is accepted with an encrypted assertion, too', async () => {
        const { text } = await server.browser().send('/saml/metadata')
        const own = /use="encryption".*?<ds:X509Certificate>([^<]+)</s.exec(text)?.[1] ?? ''
        const encrypts = { certificate: `-----BEGIN CERTIFICATE-----\n${own}\n-----END CERTIFICATE-----` }
        document = rolling.metadata({ sso: 'https://rolling.example/sso', keys: [foreignKey] })
        clock.advance(30)
        assert.ok(isSignedIn(await rolled(foreignKey, { encrypts })))
        document = rolling.metadata({ sso: 'https://rolling.example/sso', keys: [newKey] })
        clock.advance(600)
        assert.ok(isSignedIn(await rolled()))
      })

      it('does not refetch metadata for a response that is invalid with any key', async () => {
        clock.advance(30)
        const before = asked
        assert.equal(isSignedIn(await rolled(newKey, { recipient: 'https://other.example/' })), false)
        assert.equal(lastEvent()?.data, 'recipient')
        assert.equal(asked, before)
      })

      it('is refused after a minimum time if decryption fails', async () => {
        const encrypts = { certificate: foreignKey.certificate }
        const began = performance.now()
        assert.equal(isSignedIn(await rolled(newKey, { encrypts })), false)
        assert.ok(performance.now() - began > 95)
        assert.equal(lastEvent()?.data, 'decryption')
      })

      it('refetches metadata at most every 30 seconds', async () => {
        clock.advance(30)
        const before = asked
        for (let count = 0; count < 5; count += 1) assert.equal(isSignedIn(await rolled(foreignKey)), false)
        assert.equal(asked, before + 1)
      })

      it('is not requested if the metadata have another entity id', async () => {
        const record = await server.store.providers.findStored('svc', 'rolling')
        assert.ok(record)
        await server.store.providers.update('svc', { ...record, externalKey: rolling.entityId })
        clock.advance(600)
        document = createSamlIdp({ clock, key: foreignKey, entityId: 'https://evil.example', to }).metadata()
        const answer = await server.browser().send('/login/external/rolling')
        assert.equal(answer.headers['location'], `${BASE}/login?error=idp_not_found`)
      })
    })
  })
}
