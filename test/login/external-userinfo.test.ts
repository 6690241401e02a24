// Claims missing from the ID token, from the provider's userinfo endpoint (OpenID Connect Core §5.3).
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { User } from '../../src/model/users/user.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

type Claims = Readonly<Record<string, unknown>>

const NAMES = { given_name: 'Pat', family_name: 'Doe' }

for (const mode of MODES) {
  describe(`Userinfo of an upstream provider in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const userInfoUrl = `${upstream.url}/userinfo`
      const record = (originKey: string, config: Claims = {}) =>
        upstreamRecord(upstream, originKey, { userInfoUrl, showLinkText: false, ...config })
      const mapped = { attributeMappings: { 'user.attribute.team': 'team' } }
      const checked = { attributeMappings: { email_verified: 'checked' } }
      // Several names stand for one address nowhere: such a mapping has no effect.
      const listed = { attributeMappings: { email: ['mail'] } }
      const identity_providers = [
        record('corp'),
        record('mapped', mapped),
        record('checked', checked),
        record('listed', listed),
      ]
      server = await startServer({ mode, clock, config: { bootstrap: { ...defaultBootstrap, identity_providers } } })
    })
    beforeEach(() => {
      upstream.userinfoTokens.length = 0
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    /** Signs in; returns the account, or undefined if refused. */
    async function signIn(origin: string, claims: Claims, userinfo: Upstream['userinfo']): Promise<User | undefined> {
      const browser = server.browser()
      upstream.userinfo = userinfo
      await signInUpstream(browser, upstream, { origin, claims })
      const isSignedIn = (await browser.send('/profile')).status === 200
      return isSignedIn ? server.store.users.findByExternalId('svc', origin, String(claims['sub'])) : undefined
    }

    it('is not requested if the ID token has all claims', async () => {
      assert.ok(await signIn('corp', { sub: 'complete', ...NAMES }, { body: { sub: 'complete', given_name: 'X' } }))
      assert.deepEqual(upstream.userinfoTokens, [])
    })

    // Covers oidc and oauth provider config: userInfoUrl
    it('supplements the ID token in standard, without overriding it', async () => {
      const reported = { sub: 's1', ...NAMES, email: 'other@corp.example', email_verified: true, amr: ['hwk'] }
      const user = await signIn('corp', { sub: 's1' }, { body: reported })
      if (mode === 'uaa') {
        assert.deepEqual([user?.givenName, upstream.userinfoTokens], [undefined, []])
        return
      }
      assert.deepEqual(upstream.userinfoTokens, ['Bearer upstream-access'])
      assert.deepEqual(
        [user?.givenName, user?.familyName, user?.email, user?.verified],
        ['Pat', 'Doe', 'pat@corp.example', false],
      )
    })

    if (mode === 'uaa') return

    it('verifies only its own address', async () => {
      const reported = { ...NAMES, email: 'pat@corp.example', email_verified: true }
      assert.equal((await signIn('corp', { sub: 's2' }, { body: { sub: 's2', ...reported } }))?.verified, true)
      const none = { sub: 's3', email: undefined, email_verified: true }
      const unverified = { sub: 's3', ...NAMES, email: 'boss@corp.example' }
      assert.equal((await signIn('corp', none, { body: unverified }))?.verified, false)
    })

    it('verifies only the address of the same source by a mapped claim', async () => {
      const reported = { sub: 's7', ...NAMES, email: 'other@corp.example', checked: true }
      assert.equal((await signIn('checked', { sub: 's7' }, { body: reported }))?.verified, false)
      const own = { sub: 's8', email: 'pat@corp.example', checked: true }
      assert.equal((await signIn('checked', { sub: 's8' }, { body: own }))?.verified, true)
      const none = { sub: 's9', email: undefined, checked: true }
      assert.equal(
        (await signIn('checked', none, { body: { sub: 's9', ...NAMES, email: 'x@y.example' } }))?.verified,
        false,
      )
    })

    it('verifies only its own address also where the record maps the address to a list', async () => {
      const reported = { sub: 'l1', ...NAMES, email: 'other@corp.example', email_verified: true }
      const user = await signIn('listed', { sub: 'l1' }, { body: reported })
      assert.deepEqual([user?.email, user?.verified], ['pat@corp.example', false])
    })

    it('is requested for no claim of a mapping without effect', async () => {
      assert.ok(await signIn('listed', { sub: 'l2', ...NAMES }, { status: 500, body: {} }))
      assert.deepEqual(upstream.userinfoTokens, [])
    })

    // OpenID Connect Core §5.3.2: a claim that is null is one that is missing.
    it('supplies claims that are null in the ID token', async () => {
      const claims = { sub: 'n1', email: null, given_name: null, team: null }
      const reported = { sub: 'n1', ...NAMES, email: 'pat@corp.example', email_verified: true, team: 'red' }
      const user = await signIn('mapped', claims, { body: reported })
      assert.deepEqual(
        [user?.email, user?.verified, user?.givenName, user?.profile?.custom],
        ['pat@corp.example', true, 'Pat', { team: ['red'] }],
      )
    })

    it('supplies mapped claims', async () => {
      const user = await signIn('mapped', { sub: 's4', ...NAMES }, { body: { sub: 's4', team: 'blue' } })
      assert.deepEqual(user?.profile?.custom, { team: ['blue'] })
    })

    it('must have the same sub as the ID token', async () => {
      assert.equal(await signIn('corp', { sub: 's5' }, { body: { sub: 'other', ...NAMES } }), undefined)
      assert.equal(await signIn('corp', { sub: 's5' }, { body: NAMES }), undefined)
    })

    const failures: readonly { name: string; userinfo: Upstream['userinfo'] }[] = [
      { name: 'an error', userinfo: { status: 500, body: {} } },
      { name: 'a refusal', userinfo: { status: 403, body: {} } },
      { name: 'a response that is not JSON', userinfo: { body: '<html>' } },
      { name: 'a signed response', userinfo: { type: 'application/jwt', body: 'e30.e30.x' } },
      { name: 'a response that is too long', userinfo: { body: { sub: 's6', given_name: 'x'.repeat(100_000) } } },
    ]
    for (const [index, { name, userinfo }] of failures.entries()) {
      it(`is optional for standard claims but required for mapped ones, at ${name}`, async () => {
        assert.ok(await signIn('corp', { sub: `f${index}` }, userinfo))
        assert.equal(await signIn('mapped', { sub: `f${index}`, ...NAMES }, userinfo), undefined)
      })
    }
  })
}
