// How strong a sign-in an application asks for: by acr_values, and by the policy of its client.
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
  describe(`a level that an application asks for, ${mode}`, () => {
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
      server.clock.advance(60) // for another password of the app
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

    const words: readonly {
      readonly name: string
      readonly acrValues: string
      readonly at1: string
      readonly at2: string
      readonly atPhr?: string
    }[] = [
      { name: 'none', acrValues: '', at1: 'code', at2: 'code' },
      { name: 'one factor', acrValues: '1', at1: 'code', at2: 'code' },
      { name: 'two factors', acrValues: '2', at1: '/second_factor', at2: 'code' },
      { name: 'a phishing-resistant one', acrValues: 'phr', at1: '/second_factor', at2: '/second_factor' },
      {
        name: 'one of hardware',
        acrValues: 'phrh',
        at1: 'unmet_authentication_requirements',
        at2: 'unmet_authentication_requirements',
        atPhr: 'unmet_authentication_requirements',
      },
      { name: 'two or more, in any order', acrValues: 'phr 2', at1: '/second_factor', at2: 'code' },
      { name: 'two, one of which is enough', acrValues: '2 1', at1: 'code', at2: 'code' },
      { name: 'something unknown', acrValues: 'urn:mace:gold', at1: 'code', at2: 'code' },
      { name: 'something unknown or two factors', acrValues: 'urn:mace:gold 2', at1: '/second_factor', at2: 'code' },
      { name: 'two, after blanks', acrValues: '  2  ', at1: '/second_factor', at2: 'code' },
      { name: 'what only looks like a level', acrValues: '02 PHR 2.0 3', at1: 'code', at2: 'code' },
    ]
    for (const { name, acrValues, at1, at2, atPhr = 'code' } of words) {
      it(`of ${name}: ${at1} at level 1, ${at2} at level 2`, async () => {
        const query = { acr_values: acrValues }
        assert.equal(await ask(await atLevel(), query), at1)
        assert.equal(await ask(await atLevel('2'), query), at2)
        assert.equal(await ask(await atLevel('phr'), query), atPhr)
        assert.equal(await ask(await atLevel('phrh'), query), 'code')
        // The word of a provider, which passes for no level.
        assert.equal(await ask(await atLevel(' phrh', 'urn:mace:gold'), query), at1)
        const silent = { ...query, prompt: 'none' }
        const inSilence = (step: string) => (step === '/second_factor' ? 'interaction_required' : step)
        assert.equal(await ask(await atLevel(), silent), inSilence(at1))
        assert.equal(await ask(await atLevel('2'), silent), inSilence(at2))
      })
    }

    // Covers GET /oauth/authorize: acr_values
    // Covers later standards: step-up authentication
    it('is reached on the page, which leads back to the request', async () => {
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

    it('is asked of a user who signs in only now, after the password', async () => {
      const browser = server.browser()
      const request = { ...requestOf('any'), acr_values: '2' }
      assert.equal(outcomeOf(await authorize(browser, request)), '/login')
      const signed = await browser.signIn('marissa', 'koala')
      assert.equal(
        outcomeOf(await browser.send(signed.location().pathname + signed.location().search)),
        '/second_factor',
      )
    })

    it('is refused where nothing in the zone reaches it', async () => {
      await setPolicy(server, { requirement: 'optional', methods: ['totp'] })
      for (const acr of ['phr', 'phrh']) {
        for (const prompt of [undefined, 'none', 'consent']) {
          const query = { acr_values: acr, ...(prompt !== undefined && { prompt }) }
          assert.equal(await ask(await atLevel(), query), 'unmet_authentication_requirements')
          assert.equal(await ask(await atLevel('2'), query), 'unmet_authentication_requirements')
        }
        assert.equal(await ask(await atLevel('phrh'), { acr_values: acr }), 'code', 'a provider may reach it')
      }
    })

    for (const { name, query } of [
      { name: 'repeated', query: 'acr_values=2&acr_values=1' },
      { name: 'repeated, with the same level', query: 'acr_values=1&acr_values=1' },
      { name: 'huge', query: `acr_values=${'2+'.repeat(501)}` },
    ]) {
      it(`is refused when it is ${name}`, async () => {
        for (const browser of [await atLevel(), await atLevel('phrh')]) {
          const request = new URLSearchParams(requestOf('any')).toString()
          const answer = await browser.send(`/oauth/authorize?${request}&${query}`)
          if (isStandard) assert.equal(outcomeOf(answer), 'invalid_request')
          else assert.equal(answer.status, 400) // UAA: on a page (row R2)
        }
      })
    }

    it('is asked for after a new sign-in, where max_age or prompt demands that as well', async () => {
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

    it('is silent about max_age and the level, each in its own words', async () => {
      const browser = await atLevel('2')
      server.clock.advance(31)
      const query = { acr_values: '2', prompt: 'none' }
      assert.equal(await ask(browser, { ...query, max_age: '30' }), 'login_required')
      assert.equal(await ask(browser, { ...query, max_age: '300' }), 'code')
      assert.equal(await ask(browser, { ...query, acr_values: 'phr', max_age: '300' }), 'interaction_required')
    })

    it('has no effect in a zone without second factors, whatever it says', async () => {
      await setPolicy(server, { requirement: 'off' })
      const browser = await atLevel()
      for (const acr of ['2', 'phr', 'phrh', 'x'.repeat(1001)])
        assert.equal(await ask(browser, { acr_values: acr }), 'code')
      for (const id of ['strict', 'keys', 'careful']) {
        assert.equal(outcomeOf(await authorize(browser, requestOf(id))), 'code')
      }
    })

    it('has no effect on users that the policy is not about', async () => {
      await setPolicy(server, { requirement: 'optional', origins: ['ldap'] })
      assert.equal(await ask(await atLevel(), { acr_values: '2' }), 'code')
    })

    // Covers configuration file: bootstrap.clients[]: `secondFactor` (ours)
    describe('by the policy of its client', () => {
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
          assert.equal(outcomeOf(await authorize(browser, least)), at1, 'a request asks for no less')
          await makeSession(server, browser, { acr: ['2'] })
          assert.equal(outcomeOf(await authorize(browser, requestOf(client))), at2)
          await makeSession(server, browser, { acr: ['phr'] })
          assert.equal(outcomeOf(await authorize(browser, requestOf(client))), 'code')
        })
      }

      it('is not met by a remembered browser', async () => {
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

      it('is refused where none of its factors counts in the zone', async () => {
        await setPolicy(server, { requirement: 'optional', methods: ['totp'] })
        assert.equal(
          outcomeOf(await authorize(await atLevel(), requestOf('keys'))),
          'unmet_authentication_requirements',
        )
      })

      it('is asked for before the tokens of the front channel, too', async () => {
        for (const type of ['token', 'id_token', 'id_token token']) {
          const query = { ...requestOf('strict'), response_type: type, nonce: 'n' }
          assert.equal(outcomeOf(await authorize(await atLevel(), query)), '/second_factor')
        }
      })
    })

    describe('and a program without a browser', () => {
      const bearerOf = async (browser: Browser): Promise<string> => {
        const answer = await authorize(browser, requestOf('any'))
        const code = answer.location().searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://any.example/cb' }
        return tokensOf(await server.token(form, { basic: ['any', 'any-secret'] })).access_token
      }
      const call = async (bearer: string, query: Readonly<Record<string, string>>): Promise<string> =>
        outcomeOf(await server.send('/oauth/authorize', { query: { ...AUTO_REQUEST, ...query }, bearer }))

      it('gets a code with a token of that level, and none with a weaker one', async () => {
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

      it('gets none for a user who needs a second factor by now', async () => {
        const weak = await bearerOf(await atLevel())
        const strong = await bearerOf(await atLevel('2'))
        await setPolicy(server, { requirement: 'required' })
        assert.equal(await call(weak, {}), 'interaction_required')
        assert.equal(await call(strong, {}), 'code')
      })

      it('gets mfa_required when it sends the password of the user', async () => {
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

describe('a level of hardware, where the operator has roots of attestations', () => {
  it('is asked for of anyone who has not shown a passkey yet, and is in discovery', async () => {
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

/** Signs tom in with his app. */
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
