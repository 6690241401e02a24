// Invitations to users of SAML providers, who must sign in with the invited email address.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestClock } from '../../support/clock.ts'
import { unescaped } from '../../support/forms.ts'
import { APP_URL, inviteBootstrap, startInvitationServer } from '../../support/invitations.ts'
import type { InviteApi } from '../../support/invitations.ts'
import { MODES } from '../../support/oauth.ts'
import type { AssertionParts } from '../../support/saml/saml-parts.ts'
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

for (const mode of MODES) {
  describe(`Invitation to a user of a SAML provider in ${mode}`, () => {
    const clock = createTestClock()
    let api: InviteApi
    let server: TestServer
    before(async () => {
      const identity_providers = [
        samlRecord(clock, 'corp', { emailDomain: ['corp.example'], attributeMappings: { email: 'mail' } }),
        samlRecord(clock, 'strict', { emailDomain: ['strict.example'] }),
        samlRecord(clock, 'closed', { emailDomain: ['closed.example'], addShadowUserOnLogin: false }),
        samlRecord(clock, 'begins', {
          emailDomain: ['begins.example'],
          attributeMappings: { email: 'mail' },
          allowIdpInitiated: true,
        }),
      ]
      api = await startInvitationServer({
        mode,
        clock,
        config: { bootstrap: { ...inviteBootstrap, identity_providers } },
      })
      ;({ server } = api)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    let accounts = 0
    const fresh = async (domain = 'corp.example') => {
      accounts += 1
      const email = `person${accounts}@${domain}`
      return { email, nameId: `name-${accounts}`, ...(await api.linkFor(email)) }
    }
    const mail = (...values: string[]) => ({ attributes: [{ name: 'mail', values }] })
    const through = (path: string, parts: AssertionParts, origin = 'corp'): Promise<TestAnswer> =>
      signInAt(server, server.browser(), { ...parts, origin, start: path })
    const userAt = (nameId: string, origin = 'corp') => server.store.users.findByExternalId('svc', origin, nameId)

    async function assertRefused(answer: TestAnswer): Promise<void> {
      if (mode === 'uaa') {
        assert.equal(answer.headers['location'], `${BASE}/saml_error`)
        const page = await server.send('/saml_error', {
          cookies: { 'Saml-Failure': answer.cookies['Saml-Failure'] ?? '' },
        })
        assert.match(
          unescaped(page.text),
          /SAML User email mismatch\. Authenticated email doesn't match invited email\./,
        )
        return
      }
      assert.equal(answer.status, 403)
      assert.match(unescaped(answer.text), /did not confirm that you have the email address that was invited/)
    }

    // Covers invitation of an external user: SAML start
    it('signs in at the provider, accepts with the invited account, and redirects to the application', async () => {
      const { email, nameId, path } = await fresh()
      const count = await server.store.users.count('svc')
      const answer = await through(path, { nameId, ...mail(email.toUpperCase()) })
      assert.deepEqual([answer.status, answer.headers['location']], [302, APP_URL])
      const user = await userAt(nameId)
      assert.deepEqual([user?.userName, user?.email.toLowerCase(), user?.verified], [nameId, email, true])
      assert.equal(await server.store.users.count('svc'), count)
      assert.equal((await server.send(path)).status, 422)
    })

    it('uses the invited email address if the provider sends none', async () => {
      const { email, nameId, path } = await fresh()
      assert.equal((await through(path, { nameId })).headers['location'], APP_URL)
      assert.deepEqual([(await userAt(nameId))?.email, (await userAt(nameId))?.verified], [email, true])
    })

    it('is accepted if addShadowUserOnLogin is false', async () => {
      const { nameId, path } = await fresh('closed.example')
      assert.equal((await through(path, { nameId }, 'closed')).headers['location'], APP_URL)
    })

    it('keeps a user name other than the email address', async () => {
      const { email, nameId, path } = await fresh()
      const [invited = assert.fail()] = await server.store.users.findByEmail('svc', 'corp', email)
      await server.store.users.updateProfile('svc', {
        ...invited,
        userName: `kept-${nameId}`,
        version: invited.version + 1,
      })
      const answer = await through(path, { nameId, ...mail(email) })
      assert.equal(answer.headers['location'], APP_URL)
      assert.equal((await userAt(nameId))?.userName, `kept-${nameId}`)
    })

    const verified = (value: string) => ({ name: 'verified', values: [value] })
    const others: readonly {
      name: string
      origin?: string
      parts: (nameId: string, email: string) => AssertionParts
    }[] = [
      { name: 'another email address', parts: nameId => ({ nameId, ...mail('mallory@corp.example') }) },
      { name: 'another email address as NameID', parts: () => ({ nameId: 'mallory@corp.example' }) },
      {
        name: 'the unverified email address',
        origin: 'strict',
        parts: (nameId, email) => ({ nameId, attributes: [...mail(email).attributes, verified('false')] }),
      },
    ]
    for (const { name, origin = 'corp', parts } of others) {
      it(`refuses ${name}, and stays valid`, async () => {
        const { email, nameId, path } = await fresh(`${origin}.example`)
        const count = await server.store.users.count('svc')
        await assertRefused(await through(path, parts(nameId, email), origin))
        assert.equal(await userAt(nameId, origin), undefined)
        assert.equal(await server.store.users.count('svc'), count)
        const attributes = [...mail(email).attributes, verified('true')]
        assert.equal((await through(path, { nameId, attributes }, origin)).headers['location'], APP_URL)
      })
    }

    it('is not accepted by an IdP-initiated sign-in', async () => {
      const { email, nameId, path } = await fresh('begins.example')
      const browser = server.browser()
      requestIn(await browser.send(path))
      const xml = await idpOf(clock, 'begins').response({ nameId, ...mail(email) })
      await browser.send(CONSUMER, { form: answerForm(xml) })
      const [invited] = await server.store.users.findByEmail('svc', 'begins', email)
      assert.notEqual(invited?.externalId, nameId)
      assert.equal((await server.send(path)).status, 302)
    })

    it('is not accepted by the response to another sign-in of the browser', async () => {
      const { email, nameId, path } = await fresh()
      const browser = server.browser()
      const invited = requestIn(await browser.send(path))
      const usual = requestIn(await browser.send('/login/external/corp'))
      const xml = await idpOf(clock, 'corp').response({ inResponseTo: usual.id, nameId, ...mail(email) })
      const answer = await comeBack(server, browser, answerForm(xml, invited.relayState))
      assert.notEqual(answer.headers['location'], APP_URL)
      assert.equal((await server.send(path)).status, 302)
    })
  })
}
