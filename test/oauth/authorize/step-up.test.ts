// The authentication level that a client requires by acr_values or its second-factor policy.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { authorize, authorizeBootstrap, AUTO_REQUEST, defined, requestOf, signedIn } from '../../support/authorize.ts'
import { certify, pemOf } from '../../support/attestation.ts'
import { MODES, tokensOf } from '../../support/oauth.ts'
import { enrolApp, makeSession, prove, setPolicy } from '../../support/second-factor.ts'
import type { AuthenticatorApp } from '../../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const PAGE = 'http://localhost:8080/second_factor'
const LOGIN = 'http://localhost:8080/login'

const codeClient = (id: string, secondFactor?: object) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['authorization_code', 'refresh_token', 'implicit', 'password'],
  scope: ['openid', 'svc.user'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: true,
  ...(secondFactor && { secondFactor }),
})

const bootstrap = {
  ...authorizeBootstrap,
  clients: [
    ...authorizeBootstrap.clients,
    codeClient('any'),
    codeClient('strict', { requirement: 'required' }),
    codeClient('keys', { requirement: 'required', methods: ['passkey'] }),
    codeClient('staffed', { requirement: 'groups', groups: ['cloud.staff'] }),
    codeClient('careful', { requirement: 'optional' }),
  ],
  users: [...authorizeBootstrap.users, { userName: 'tom', password: 'wombat', emails: [{ value: 't@example.org' }] }],
}

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  describe(`Authentication level required by a client in ${mode}`, () => {
    let server: TestServer
    let app: AuthenticatorApp
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
      await setPolicy(server, { requirement: 'optional', rememberDays: 30 })
      const browser = await signedIn(server, 'tom', 'wombat')
      await authorize(browser, { ...requestOf('any'), acr_values: '2' })
      ;({ app } = await enrolApp(server, browser))
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    beforeEach(async () => {
      await setPolicy(server, { requirement: 'optional', rememberDays: 30 })
      server.clock.advance(60) // for a new one-time password
    })

    const reported = (...classes: readonly string[]): unknown =>
      isStandard ? (classes[0] ?? '1') : classes.length > 0 ? { values: classes } : undefined
    const outcomeOf = (answer: TestAnswer): string => {
      const { href, searchParams, hash } = answer.location()
      if (href.startsWith(PAGE) || href.startsWith(LOGIN)) return href.slice('http://localhost:8080'.length)
      const found = searchParams.get('error') ?? new URLSearchParams(hash.slice(1)).get('error')
      return found ?? (searchParams.has('code') ? 'code' : href)
    }
    const ask = async (browser: Browser, query: Readonly<Record<string, string | undefined>>): Promise<string> =>
      outcomeOf(await authorize(browser, { ...requestOf('any'), ...query }))
    const claimsOf = async (answer: TestAnswer): Promise<Readonly<Record<string, unknown>>> => {
      const code = answer.location().searchParams.get('code') ?? ''
      const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://any.example/cb' }
      return decodeJwt(tokensOf(await server.token(form, { basic: ['any', 'any-secret'] })).id_token)
    }
    const atLevel = async (...acr: readonly string[]): Promise<Browser> => {
      const browser = await signedIn(server)
      if (acr.length > 0) await makeSession(server, browser, { acr })
      return browser
    }

    const levels: readonly {
      readonly name: string
      readonly acrValues: string
      readonly at1: string
      readonly at2: string
      readonly atPhr?: string
    }[] = [
      { name: 'no value', acrValues: '', at1: 'code', at2: 'code' },
      { name: 'level 1', acrValues: '1', at1: 'code', at2: 'code' },
      { name: 'level 2', acrValues: '2', at1: '/second_factor', at2: 'code' },
      { name: 'phr', acrValues: 'phr', at1: '/second_factor', at2: '/second_factor' },
      {
        name: 'phrh',
        acrValues: 'phrh',
        at1: 'unmet_authentication_requirements',
        at2: 'unmet_authentication_requirements',
        atPhr: 'unmet_authentication_requirements',
      },
      { name: 'phr or 2', acrValues: 'phr 2', at1: '/second_factor', at2: 'code' },
      { name: '2 or 1', acrValues: '2 1', at1: 'code', at2: 'code' },
      { name: 'an unknown value', acrValues: 'urn:mace:gold', at1: 'code', at2: 'code' },
      { name: 'an unknown value or 2', acrValues: 'urn:mace:gold 2', at1: '/second_factor', at2: 'code' },
      { name: '2 with spaces around it', acrValues: '  2  ', at1: '/second_factor', at2: 'code' },
      { name: 'values similar to levels', acrValues: '02 PHR 2.0 3', at1: 'code', at2: 'code' },
    ]
    for (const { name, acrValues, at1, at2, atPhr = 'code' } of levels) {
      it(`with ${name}: ${at1} at level 1, ${at2} at level 2`, async () => {
        const query = { acr_values: acrValues }
        assert.equal(await ask(await atLevel(), query), at1)
        assert.equal(await ask(await atLevel('2'), query), at2)
        assert.equal(await ask(await atLevel('phr'), query), atPhr)
        assert.equal(await ask(await atLevel('phrh'), query), 'code')
        // The acr of an upstream provider, which counts as no level.
        assert.equal(await ask(await atLevel(' phrh', 'urn:mace:gold'), query), at1)
        const silent = { ...query, prompt: 'none' }
        const withoutPrompt = (step: string) => (step === '/second_factor' ? 'interaction_required' : step)
        assert.equal(await ask(await atLevel(), silent), withoutPrompt(at1))
        assert.equal(await ask(await atLevel('2'), silent), withoutPrompt(at2))
      })
    }

    // Covers GET /oauth/authorize: acr_values
    // Covers later standards: step-up authentication
    it('is reached at /second_factor, which returns to the request', async () => {
      const browser = await signedInPast(server, app)
      await makeSession(server, browser, { acr: ['1'], amr: ['pwd'] })
      const request = { ...requestOf('any'), acr_values: '2', state: 'kept' }
      assert.equal((await authorize(browser, request)).headers['location'], PAGE)
      server.clock.advance(60)
      const proven = await prove(browser, { code: app.code(server) })
      const answer = await browser.send(proven.location().pathname + proven.location().search)
      assert.equal(answer.location().searchParams.get('state'), 'kept')
      const claims = await claimsOf(answer)
      assert.deepEqual([claims['acr'], claims['amr']], [reported('2'), ['pwd', 'otp', 'mfa']])
    })

    it('is required after the password of an anonymous user', async () => {
      const browser = server.browser()
      const request = { ...requestOf('any'), acr_values: '2' }
      assert.equal(outcomeOf(await authorize(browser, request)), '/login')
      const signed = await browser.signIn('marissa', 'koala')
      assert.equal(
        outcomeOf(await browser.send(signed.location().pathname + signed.location().search)),
        '/second_factor',
      )
    })

    it('is refused if no method in the zone reaches it', async () => {
      await setPolicy(server, { requirement: 'optional', methods: ['totp'] })
      for (const acr of ['phr', 'phrh']) {
        for (const prompt of [undefined, 'none', 'consent']) {
          const query = { acr_values: acr, ...(prompt !== undefined && { prompt }) }
          assert.equal(await ask(await atLevel(), query), 'unmet_authentication_requirements')
          assert.equal(await ask(await atLevel('2'), query), 'unmet_authentication_requirements')
        }
        assert.equal(await ask(await atLevel('phrh'), { acr_values: acr }), 'code', 'an upstream provider may reach it')
      }
    })

    for (const { name, query } of [
      { name: 'repeated', query: 'acr_values=2&acr_values=1' },
      { name: 'repeated, with the same level', query: 'acr_values=1&acr_values=1' },
      { name: 'too long', query: `acr_values=${'2+'.repeat(501)}` },
    ]) {
      it(`is refused if acr_values is ${name}`, async () => {
        for (const browser of [await atLevel(), await atLevel('phrh')]) {
          const request = new URLSearchParams(requestOf('any')).toString()
          const answer = await browser.send(`/oauth/authorize?${request}&${query}`)
          if (isStandard) assert.equal(outcomeOf(answer), 'invalid_request')
          else assert.equal(answer.status, 400) // UAA: on a page (row R2)
        }
      })
    }

    it('is required after a fresh sign-in for max_age or prompt=login', async () => {
      for (const demand of [{ max_age: '0' }, { max_age: '30' }, { prompt: 'login' }]) {
        const browser = await atLevel('2')
        server.clock.advance(31)
        const request = { ...requestOf('any'), acr_values: '2', ...demand }
        let answer = await authorize(browser, request)
        if (answer.location().href.startsWith('http://localhost:8080/oauth/authorize'))
          answer = await browser.send(answer.location().pathname + answer.location().search) // UAA: ends the session first
        assert.equal(outcomeOf(answer), '/login', JSON.stringify(demand))
        const signed = await browser.signIn('tom', 'wombat')
        const next = signed.location()
        const due =
          next.href === PAGE ? next.href : String((await browser.send(next.pathname + next.search)).headers['location'])
        assert.equal(due, PAGE, 'the new session has level 1')
        const at = server.clock.now().getTime() / 1000
        const proven = await prove(browser, { code: app.code(server) })
        const claims = await claimsOf(await browser.send(proven.location().pathname + proven.location().search))
        assert.deepEqual([claims['acr'], claims['auth_time']], [reported('2'), at])
      }
    })

    it('returns separate errors for max_age and the level with prompt=none', async () => {
      const browser = await atLevel('2')
      server.clock.advance(31)
      const query = { acr_values: '2', prompt: 'none' }
      assert.equal(await ask(browser, { ...query, max_age: '30' }), 'login_required')
      assert.equal(await ask(browser, { ...query, max_age: '300' }), 'code')
      assert.equal(await ask(browser, { ...query, acr_values: 'phr', max_age: '300' }), 'interaction_required')
    })

    it('is ignored in a zone without second factors', async () => {
      await setPolicy(server, { requirement: 'off' })
      const browser = await atLevel()
      for (const acr of ['2', 'phr', 'phrh', 'x'.repeat(1001)])
        assert.equal(await ask(browser, { acr_values: acr }), 'code')
      for (const id of ['strict', 'keys', 'careful']) {
        assert.equal(outcomeOf(await authorize(browser, requestOf(id))), 'code')
      }
    })

    it('is ignored for users outside the policy of the zone', async () => {
      await setPolicy(server, { requirement: 'optional', origins: ['ldap'] })
      assert.equal(await ask(await atLevel(), { acr_values: '2' }), 'code')
    })

    // Covers configuration file: bootstrap.clients[]: `secondFactor` (ours)
    describe('by its second-factor policy', () => {
      const cases = [
        { client: 'strict', user: ['marissa', 'koala'], at1: '/second_factor', at2: 'code' },
        { client: 'keys', user: ['marissa', 'koala'], at1: '/second_factor', at2: '/second_factor' },
        { client: 'staffed', user: ['marissa', 'koala'], at1: 'code', at2: 'code' },
        { client: 'staffed', user: ['sam', 'dingo'], at1: '/second_factor', at2: 'code' },
        { client: 'careful', user: ['marissa', 'koala'], at1: 'code', at2: 'code' },
      ] as const
      for (const { client, user, at1, at2 } of cases) {
        it(`${client}: ${at1} for ${user[0]} at level 1`, async () => {
          const browser = await signedIn(server, ...user)
          assert.equal(outcomeOf(await authorize(browser, requestOf(client))), at1)
          const silent = at1 === 'code' ? at1 : 'interaction_required'
          assert.equal(outcomeOf(await authorize(browser, { ...requestOf(client), prompt: 'none' })), silent)
          const least = { ...requestOf(client), acr_values: '1' }
          assert.equal(outcomeOf(await authorize(browser, least)), at1, 'a request cannot lower the level')
          await makeSession(server, browser, { acr: ['2'] })
          assert.equal(outcomeOf(await authorize(browser, requestOf(client))), at2)
          await makeSession(server, browser, { acr: ['phr'] })
          assert.equal(outcomeOf(await authorize(browser, requestOf(client))), 'code')
        })
      }

      it('is not reached by a remembered browser', async () => {
        const browser = await signedInPast(server, app, { remember: 'true' })
        for (const name of ['svc-session', 'JSESSIONID']) browser.cookies.delete(name)
        const again = await browser.signIn('tom', 'wombat')
        assert.notEqual(again.headers['location'], PAGE)
        assert.equal(outcomeOf(await authorize(browser, requestOf('any'))), 'code')
        for (const query of [requestOf('strict'), requestOf('careful'), { ...requestOf('any'), acr_values: '2' }]) {
          assert.equal(outcomeOf(await authorize(browser, query)), '/second_factor')
          assert.equal(outcomeOf(await authorize(browser, { ...query, prompt: 'none' })), 'interaction_required')
        }
      })

      it('is refused if the zone allows none of its methods', async () => {
        await setPolicy(server, { requirement: 'optional', methods: ['totp'] })
        assert.equal(
          outcomeOf(await authorize(await atLevel(), requestOf('keys'))),
          'unmet_authentication_requirements',
        )
      })

      it('is required before issuing tokens in the authorization response', async () => {
        for (const type of ['token', 'id_token', 'id_token token']) {
          const query = { ...requestOf('strict'), response_type: type, nonce: 'n' }
          assert.equal(outcomeOf(await authorize(await atLevel(), query)), '/second_factor')
        }
      })
    })

    describe('for requests with a user token or password', () => {
      const bearerOf = async (browser: Browser): Promise<string> => {
        const answer = await authorize(browser, requestOf('any'))
        const code = answer.location().searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://any.example/cb' }
        return tokensOf(await server.token(form, { basic: ['any', 'any-secret'] })).access_token
      }
      const call = async (bearer: string, query: Readonly<Record<string, string>>): Promise<string> =>
        outcomeOf(await server.send('/oauth/authorize', { query: { ...AUTO_REQUEST, ...query }, bearer }))

      it('returns a code only if the token has the level', async () => {
        const weak = await bearerOf(await atLevel())
        const strong = await bearerOf(await atLevel('2'))
        for (const [query, want] of [
          [{}, 'code'],
          [{ acr_values: '2' }, 'interaction_required'],
          [requestOf('strict'), 'interaction_required'],
          [{ acr_values: 'phr' }, 'interaction_required'],
        ] as const) {
          assert.equal(await call(weak, query), want)
          assert.equal(await call(strong, query), 'acr_values' in query && query.acr_values === 'phr' ? want : 'code')
        }
      })

      it('returns no code if the policy has required a second factor since', async () => {
        const weak = await bearerOf(await atLevel())
        const strong = await bearerOf(await atLevel('2'))
        await setPolicy(server, { requirement: 'required' })
        assert.equal(await call(weak, {}), 'interaction_required')
        assert.equal(await call(strong, {}), 'code')
      })

      it('returns mfa_required for a password', async () => {
        const credentials = JSON.stringify({ username: 'marissa', password: 'koala' })
        const headers = { accept: 'application/json' }
        const query = { response_type: 'token', redirect_uri: 'https://any.example/cb' }
        const send = (form: Readonly<Record<string, string>>) =>
          server.send('/oauth/authorize', { method: 'POST', form: { ...query, ...form, credentials }, headers })
        const strict = { client_id: 'strict', redirect_uri: 'https://strict.example/cb' }
        assert.equal((await send({ client_id: 'any' })).status, 302)
        const required = async () => setPolicy(server, { requirement: 'required' })
        for (const [form, change] of [
          [{ client_id: 'any', acr_values: '2' }, undefined],
          [strict, undefined],
          [{ client_id: 'any' }, required],
        ] as const) {
          await change?.()
          const answer = await send(form)
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '400 mfa_required', answer.text)
          assert.equal(answer.headers['location'], undefined)
        }
      })
    })
  })
}

describe('Level phrh with attestation roots', () => {
  it('requires a passkey of users without one, and is listed in discovery', async () => {
    const passkeys = { attestation_roots: pemOf(certify({ commonName: 'Root', isAuthority: true })) }
    const server = await startServer({ config: { bootstrap, passkeys } })
    const browser = await signedIn(server)
    for (const [acr, want] of [
      ['1', '/second_factor'],
      ['2', '/second_factor'],
      ['phr', 'unmet_authentication_requirements'],
      ['phrh', undefined],
    ] as const) {
      await makeSession(server, browser, { acr: [acr] })
      const { pathname, searchParams } = (
        await authorize(browser, { ...requestOf('any'), acr_values: 'phrh' })
      ).location()
      assert.equal(searchParams.get('error') ?? (searchParams.has('code') ? undefined : pathname), want)
    }
    const metadata = (await server.send('/.well-known/openid-configuration')).json()
    assert.deepEqual(metadata['acr_values_supported'], ['1', '2', 'phr', 'phrh'])
    await server.stop()
  })
})

/** Signs in as tom with password and one-time password. */
async function signedInPast(
  server: TestServer,
  app: AuthenticatorApp,
  more: Readonly<Record<string, string>> = {},
): Promise<Browser> {
  const browser = server.browser()
  assert.equal((await browser.signIn('tom', 'wombat')).headers['location'], PAGE)
  const answer = await prove(browser, { ...defined(more), code: app.code(server) })
  assert.equal(answer.status, 302, answer.text)
  return browser
}
