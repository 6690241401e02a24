import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { unescaped } from '../support/forms.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { BASE, CONSUMER, samlBootstrap } from '../support/saml-sign-in.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const NOT_HERE = /That sign-in method is not available here/

for (const mode of MODES) {
  describe(`the URLs of SAML, in ${mode}`, () => {
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

    describe('the starts', () => {
      const refusals: readonly { name: string; path: string; want: string | { status: number; words: RegExp } }[] = [
        { name: 'an unknown provider', path: discovery('none'), want: '/login?error=idp_not_found' },
        { name: 'an inactive provider', path: discovery('off'), want: '/login?error=idp_not_found' },
        { name: 'an internal provider', path: discovery('svc'), want: '/login?error=idp_not_found' },
        {
          name: 'no parameters',
          path: '/saml/discovery',
          want: isUaa ? '/oauth_error' : { status: 400, words: NOT_HERE },
        },
        {
          name: 'a foreign entity id',
          path: discovery('corp', 'other'),
          want: isUaa ? '/oauth_error' : { status: 400, words: NOT_HERE },
        },
        {
          name: 'an unknown entity id of a provider',
          path: '/saml/login/alias/latchkey?disco=true&idp=http://none',
          want: {
            status: 400,
            words: isUaa
              ? /Metadata for entity http:\/\/none and role \{urn:oasis:names:tc:SAML:2\.0:metadata\}IDPSSODescriptor wasn't found/
              : NOT_HERE,
          },
        },
        {
          name: 'words in place of an entity id',
          path: '/saml/login/alias/latchkey?idp=call+0800+123',
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

    it('reads half a megabyte at most', async () => {
      const form = { SAMLResponse: 'A'.repeat(600_000) }
      assert.equal((await server.send(CONSUMER, { form })).status, 413)
    })

    describe('what UAA had as an identity provider', () => {
      for (const path of [
        '/saml/idp/metadata',
        '/saml/idp/initiate?sp=x',
        '/saml/idp/SSO',
        '/saml/service-providers',
        '/saml/logout',
      ]) {
        it(`is not at ${path}`, async () => {
          const answer = await server.send(path)
          if (isUaa) assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/login`])
          else assert.equal(answer.status, 404)
        })
      }
      it('is not at /saml/web/metadata/login, for anybody', async () => {
        assert.equal((await server.send('/saml/web/metadata/login')).status, 404)
      })
      it('was never at /service-providers', async () => {
        const answer = await server.send('/service-providers', { headers: { accept: 'application/json' } })
        assert.ok([302, 404].includes(answer.status))
      })
    })
  })
}
