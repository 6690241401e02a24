// The level of a sign-in at an upstream provider: its classes count only by the acrMapping of the record.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { authorize, authorizeBootstrap, AUTO_REQUEST } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { AUTO, changeClient, MODES, tokensOf } from '../support/oauth.ts'
import { samlRecord, signInAt } from '../support/saml/saml-sign-in.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

const acrMapping = { 'urn:two': '2', gold: 'phr', 'urn:hardware': 'phrh', 'urn:weak': '1', 'urn:strong': '2' }

for (const mode of MODES) {
  describe(`acr of a sign-in at an upstream provider in ${mode}`, () => {
    const clock = createTestClock()
    const isStandard = mode === 'standard'
    let upstream: Upstream
    let other: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      other = await startUpstream(clock)
      server = await startServer({
        mode,
        clock,
        config: {
          bootstrap: {
            ...authorizeBootstrap,
            identity_providers: [
              upstreamRecord(upstream, 'mapped', { acrMapping, passwordGrantEnabled: true }),
              upstreamRecord(other, 'plain'),
              samlRecord(clock, 'corp', { acrMapping }),
              samlRecord(clock, 'other'),
            ],
          },
        },
      })
      await setPolicy(server, { requirement: 'optional' })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
      await other.stop()
    })

    /** The form of the claim in this mode. */
    const reported = (...classes: readonly string[]): unknown =>
      isStandard ? (classes[0] ?? '1') : classes.length > 0 ? { values: classes } : undefined

    /** The acr of the ID and the access token of the session. */
    async function classIn(browser: Browser): Promise<unknown> {
      const code = (await authorize(browser, AUTO_REQUEST)).location().searchParams.get('code') ?? ''
      const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
      const tokens = tokensOf(await server.token(form, { basic: AUTO }))
      assert.deepEqual(decodeJwt(tokens.access_token)['acr'], decodeJwt(tokens.id_token)['acr'])
      return decodeJwt(tokens.id_token)['acr']
    }

    const cases: readonly { origin: string; acr: unknown; want: readonly string[] }[] = [
      { origin: 'mapped', acr: 'urn:two', want: ['2', 'urn:two'] },
      { origin: 'mapped', acr: 'gold', want: ['phr', 'gold'] },
      { origin: 'mapped', acr: 'urn:hardware', want: ['phrh', 'urn:hardware'] },
      {
        origin: 'mapped',
        acr: { values: ['urn:weak', 'gold', 'urn:two'] },
        want: ['phr', 'urn:weak', 'gold', 'urn:two'],
      },
      { origin: 'mapped', acr: 'urn:weak', want: ['urn:weak'] },
      { origin: 'mapped', acr: 'urn:other', want: ['urn:other'] },
      { origin: 'mapped', acr: 'GOLD', want: ['GOLD'] },
      { origin: 'mapped', acr: 'constructor', want: ['constructor'] },
      { origin: 'mapped', acr: undefined, want: [] },
      ...['1', '2', 'phr', 'phrh'].flatMap(acr => [
        { origin: 'mapped', acr, want: [] },
        { origin: 'plain', acr, want: [] },
        { origin: 'plain', acr: { values: [acr, 'urn:x'] }, want: ['urn:x'] },
        { origin: 'plain', acr: { values: ['urn:x', acr] }, want: ['urn:x'] },
        { origin: 'plain', acr: ` ${acr}`, want: [] },
      ]),
      { origin: 'plain', acr: 'urn:two', want: ['urn:two'] },
    ]
    for (const { origin, acr, want } of cases) {
      it(`is ${JSON.stringify(want)} for ${JSON.stringify(acr)} of the ${origin} provider`, async () => {
        const browser = server.browser()
        const claims = { acr, amr: ['mfa', 'hwk'] }
        await signInUpstream(browser, origin === 'plain' ? other : upstream, { origin, claims })
        assert.deepEqual(await classIn(browser), reported(...want))
      })
    }

    for (const [origin, authnContext, want] of [
      ['corp', 'urn:strong', ['2', 'urn:strong']],
      ['corp', 'phr', []],
      ['other', 'urn:strong', ['urn:strong']],
      ['other', '2', []],
    ] as const) {
      it(`is ${JSON.stringify(want)} for the class ${authnContext} of the SAML provider ${origin}`, async () => {
        const browser = server.browser()
        await signInAt(server, browser, { origin, nameId: 'pat', authnContext })
        assert.deepEqual(await classIn(browser), reported(...want))
      })
    }

    describe('requested by an application', () => {
      const asks: readonly (readonly [origin: string, asked: string, reported: string | null])[] = [
        ['mapped', '2', 'urn:two gold urn:hardware urn:strong'],
        ['mapped', 'phr', 'gold urn:hardware'],
        ['mapped', 'urn:x phrh', 'urn:x urn:hardware'],
        ['mapped', '1', null],
        ['plain', '2', null],
        ['plain', 'urn:x 2', 'urn:x'],
      ]
      for (const [origin, asked, want] of asks) {
        it(`sends ${want ?? 'no acr_values'} to the ${origin} provider for acr_values=${asked}, in standard`, async () => {
          const ask = async () => {
            const browser = server.browser()
            await authorize(browser, { ...AUTO_REQUEST, acr_values: asked })
            return (await browser.send(`/login/external/${origin}`)).location().searchParams.get('acr_values')
          }
          assert.equal(await ask(), isStandard ? want : null)
          await setPolicy(server, { requirement: 'off' })
          assert.equal(await ask(), isStandard ? asked : null)
          await setPolicy(server, { requirement: 'optional' })
        })
      }

      it('sends the default_acr_values of the client to the provider, in standard', async () => {
        await changeClient(server, 'auto', { defaultAcrValues: ['phr'] })
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const asked = (await browser.send('/login/external/mapped')).location().searchParams.get('acr_values')
        assert.equal(asked, isStandard ? 'gold urn:hardware' : null)
        await changeClient(server, 'auto', { defaultAcrValues: [] })
      })

      for (const [acr, want] of [
        ['gold', 'code'],
        ['urn:weak', '/second_factor'],
        ['phr', '/second_factor'],
        [undefined, '/second_factor'],
      ] as const) {
        it(`is ${acr === 'gold' ? 'met' : 'not met'} by the class ${acr ?? 'undefined'}`, async () => {
          const browser = server.browser()
          const request = { ...AUTO_REQUEST, acr_values: '2' }
          await authorize(browser, request)
          await signInUpstream(browser, upstream, { origin: 'mapped', claims: { acr } })
          const { pathname, searchParams } = (await authorize(browser, request)).location()
          assert.equal(searchParams.has('code') ? 'code' : pathname, want)
        })
      }

      it('meets the required second factor of a zone by mapped classes only', async () => {
        await setPolicy(server, { requirement: 'required' })
        for (const [acr, want] of [
          ['gold', 'code'],
          ['2', '/second_factor'],
        ] as const) {
          const browser = server.browser()
          await signInUpstream(browser, upstream, { origin: 'mapped', claims: { acr } })
          const { pathname, searchParams } = (await authorize(browser, AUTO_REQUEST)).location()
          assert.equal(searchParams.has('code') ? 'code' : pathname, want)
        }
        await setPolicy(server, { requirement: 'optional' })
      })
    })

    it('is mapped for the password grant, too', async () => {
      const form = { grant_type: 'password', username: 'pat', password: 'p', login_hint: '{"origin":"mapped"}' }
      for (const [acr, want] of [
        ['gold', ['phr', 'gold']],
        ['phr', []],
      ] as const) {
        upstream.answer = () => upstream.usual({ nonce: undefined, acr })
        const tokens = tokensOf(await server.token({ ...form, scope: 'openid' }, { basic: ['app', 'app-secret'] }))
        assert.deepEqual(decodeJwt(tokens.id_token)['acr'], reported(...want))
      }
    })

    it('is the class of the provider in a zone without second factors', async () => {
      await setPolicy(server, { requirement: 'off' })
      for (const acr of ['gold', 'phr', '1']) {
        const browser = server.browser()
        await signInUpstream(browser, upstream, { origin: 'mapped', claims: { acr } })
        const code = (await authorize(browser, AUTO_REQUEST)).location().searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
        const tokens = tokensOf(await server.token(form, { basic: AUTO }))
        assert.deepEqual(decodeJwt(tokens.id_token)['acr'], isStandard ? acr : { values: [acr] })
      }
      await setPolicy(server, { requirement: 'optional' })
    })
  })
}
