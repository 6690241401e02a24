import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import {
  AUTO_REQUEST,
  authorize,
  authorizeBootstrap,
  requestOf,
  responseOf,
  signedIn,
  Z1_HOST,
} from '../../support/authorize.ts'
import {
  AUTO,
  changeClient,
  changeUser,
  exchange,
  MODES,
  passwordTokens,
  refresh,
  tokensOf,
} from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const PORTAL = ['portal', 'portal-secret'] as const

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`Authorization request with a user token in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      bearer = (await passwordTokens(server, {}, PORTAL)).access_token
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const call = (
      query: Readonly<Record<string, string | undefined>> = AUTO_REQUEST,
      request: TestRequest = {},
    ): Promise<TestAnswer> => authorize(server, query, { bearer, ...request })

    // Covers GET /oauth/authorize API flow: Authorization: Bearer; response: code and state without cookies
    it('returns code and state, without session, cookies or session_state', async () => {
      const answer = await call()
      assert.equal(answer.status, 302, answer.text)
      const { query } = responseOf(answer)
      assert.deepEqual(Object.keys(query), isStandard ? ['code', 'state', 'iss'] : ['code', 'state'])
      assert.equal(query['state'], 's1')
      assert.deepEqual(answer.cookies, {})
      assert.equal(answer.headers['cache-control'], 'no-store')
    })

    // Covers compatibility: authorization request: A18 tokens beside the code
    it(`returns ${isStandard ? 'only codes, never tokens' : 'requested tokens with the code'} (A18)`, async () => {
      for (const [type, ...tokens] of [
        ['code id_token', 'code', 'id_token'],
        ['code token', 'code', 'access_token'],
        ['code id_token token', 'code', 'access_token', 'id_token'],
      ] as const) {
        const { fragment } = responseOf(await call({ ...requestOf('hybrid'), response_type: type, nonce: 'n' }))
        const names = ['code', 'access_token', 'id_token'].filter(name => fragment[name] !== undefined)
        assert.deepEqual(names, isStandard ? [] : tokens, type)
        assert.equal(fragment['error'], isStandard ? 'unauthorized_client' : undefined)
      }
      if (!isStandard) return
      // The pushed request decides, regardless of parameters sent with it.
      const form = { ...requestOf('hybrid'), response_type: 'token' }
      const pushed = await server.send('/oauth/par', { form, basic: ['hybrid', 'hybrid-secret'] })
      const { request_uri: uri = '' } = pushed.json<Record<string, string>>()
      const answer = await call({ client_id: 'hybrid', response_type: 'code', state: 's1', request_uri: uri })
      assert.equal(responseOf(answer).fragment['error'], 'unauthorized_client')
    })

    it('can be posted', async () => {
      const answer = await server.send('/oauth/authorize', { form: AUTO_REQUEST, bearer })
      assert.equal(answer.status, 302, answer.text)
      assert.ok(responseOf(answer).query['code'])
    })

    it('issues a code for the user of the token', async () => {
      const { query } = responseOf(await call())
      const tokens = tokensOf(
        await exchange(server, query['code'] ?? '', { redirect_uri: AUTO_REQUEST.redirect_uri }, AUTO),
      )
      const claims = decodeJwt(tokens.access_token)
      assert.deepEqual([claims['user_name'], claims['client_id']], ['marissa', 'auto'])
      assert.equal(claims['auth_time'], decodeJwt(bearer)['auth_time'])
    })

    // Covers GET /oauth/authorize API flow: state required
    // Covers compatibility: authorization request: A17 state in the API flow
    it('requires state in standard (A17)', async () => {
      for (const state of [undefined, '']) {
        const answer = await call({ ...AUTO_REQUEST, state })
        if (isStandard) {
          assert.equal(answer.status, 400)
          assert.equal(answer.json()['error'], 'invalid_request')
        } else assert.ok(responseOf(answer).query['code'])
      }
    })

    // Covers GET /oauth/authorize API flow: approval page instead of a redirect
    it('returns the approval request as JSON', async () => {
      const answer = await call({ ...requestOf('asks'), scope: 'openid cloud.read' })
      assert.equal(answer.status, 200)
      const model = answer.json()
      assert.deepEqual(model['undecided_scopes'], [
        { code: 'scope.openid', text: 'Know who you are' },
        { code: 'scope.cloud.read', text: 'Read the cloud' },
      ])
      assert.deepEqual([model['approved_scopes'], model['denied_scopes']], [[], []])
      assert.equal(model['client_id'], isStandard ? 'asks' : undefined)
      assert.equal(model['redirect_uri'], 'https://asks.example/cb')
      assert.deepEqual(model['options'], {
        confirm: {
          location: 'http://localhost:8080/oauth/authorize',
          path: '/oauth/authorize',
          key: 'user_oauth_approval',
          value: 'true',
        },
        deny: {
          location: 'http://localhost:8080/oauth/authorize',
          path: '/oauth/authorize',
          key: 'user_oauth_approval',
          value: 'false',
        },
      })
      assert.deepEqual(answer.cookies, {})
    })

    it("has UAA's JSON members in uaa (A19)", async () => {
      await changeClient(server, 'asks', { authorities: ['svc.resource', 'svc.none'] })
      const query = { ...requestOf('asks'), scope: 'cloud.read cloud.write openid', nonce: 'n', password: 'koala' }
      const model = (await call(query)).json()
      const { auth_request: reported, ...others } = model
      const common = ['approved_scopes', 'denied_scopes', 'options', 'redirect_uri', 'undecided_scopes', 'scopes']
      const own = isStandard ? ['client_id', 'original_uri'] : []
      assert.deepEqual(Object.keys(others), [...common, 'message', 'client_display_name', ...own])
      if (isStandard) return
      const scope = ['cloud.read', 'openid']
      assert.deepEqual(reported, {
        clientId: 'asks',
        scope,
        requestParameters: {
          response_type: 'code',
          redirect_uri: 'https://asks.example/cb',
          state: 's1',
          client_id: 'asks',
          scope: 'cloud.read cloud.write openid',
          nonce: 'n',
        },
        approvalParameters: {},
        state: 's1',
        responseTypes: ['code'],
        resourceIds: ['asks', 'cloud', 'openid'],
        authorities: [{ authority: 'svc.resource' }, { authority: 'svc.none' }],
        approved: false,
        redirectUri: 'https://asks.example/cb',
        extensions: {},
      })
      const stateless = (await call({ ...query, state: undefined })).json<{ auth_request: { state: unknown } }>()
      assert.equal(stateless.auth_request.state, null)
    })

    it('grants only scopes of the token in standard (A18)', async () => {
      const { access_token: narrow } = await passwordTokens(server, { scope: 'svc.user cloud.read' }, PORTAL)
      const scopesFor = async (scope: string | undefined): Promise<unknown> => {
        const { query } = responseOf(await call({ ...AUTO_REQUEST, scope }, { bearer: narrow }))
        if (query['code'] === undefined) return query['error']
        const named = { redirect_uri: AUTO_REQUEST.redirect_uri }
        return tokensOf(await exchange(server, query['code'], named, AUTO))
          .scope.split(' ')
          .toSorted()
          .join(' ')
      }
      assert.equal(await scopesFor(undefined), isStandard ? 'cloud.read' : 'cloud.read openid profile')
      assert.equal(await scopesFor('openid cloud.read'), isStandard ? 'cloud.read' : 'cloud.read openid')
      assert.equal(await scopesFor('openid profile'), isStandard ? 'invalid_scope' : 'openid profile')
    })

    it('returns the missing scope of the token, for user and client tokens', async () => {
      const { access_token: narrow } = await passwordTokens(server, { scope: 'openid' }, PORTAL)
      const own = await server.token({ grant_type: 'client_credentials' }, { basic: ['service', 'service-secret'] })
      for (const token of [narrow, tokensOf(own).access_token]) {
        const answer = await call(AUTO_REQUEST, { bearer: token })
        const scope = isStandard ? 'svc.user' : 'svc.admin svc.user'
        const description = 'Insufficient scope for this resource'
        assert.equal(answer.status, 403)
        assert.deepEqual(answer.json(), { error: 'insufficient_scope', error_description: description, scope })
        const realm = isStandard ? 'realm="SVC/oauth", ' : ''
        assert.equal(
          answer.headers['www-authenticate'],
          `Bearer ${realm}error="insufficient_scope", error_description="${description}", scope="${scope}"`,
        )
      }
    })

    it('ignores the session of the browser', async () => {
      const browser = await signedIn(server, 'joel', 'wombat')
      const answer = await authorize(browser, { ...requestOf('asks'), scope: 'openid' }, { bearer })
      assert.equal(answer.json()['client_display_name'], 'asks')
      const form = { user_oauth_approval: 'true', 'scope.0': 'scope.openid', 'X-Svc-Csrf': browser.csrf }
      await browser.send('/login')
      const done = await browser.send('/oauth/authorize', { form: { ...form, 'X-Svc-Csrf': browser.csrf } })
      assert.equal(done.status, 400)
      assert.match(done.text, /Cannot approve uninitialized authorization request\./)
    })

    it('returns errors by redirect if the redirect URI is valid', async () => {
      const { query } = responseOf(await call({ ...AUTO_REQUEST, scope: 'magic' }))
      assert.deepEqual([query['error'], query['state'], query['session_state']], ['invalid_scope', 's1', undefined])
    })

    it('returns login_required for prompt=login and max_age=0', async () => {
      for (const demand of [{ prompt: 'login' }, { max_age: '0' }]) {
        const { query } = responseOf(await call({ ...AUTO_REQUEST, ...demand }))
        assert.deepEqual([query['error'], query['state'], query['code']], ['login_required', 's1', undefined])
      }
    })

    it('ignores a pending password change', async () => {
      await changeUser(server, 'marissa', { passwordChangeRequired: true })
      try {
        assert.ok(responseOf(await call()).query['code'])
      } finally {
        await changeUser(server, 'marissa', { passwordChangeRequired: false })
      }
    })

    it('compares max_age with the auth_time of the token (A18)', async () => {
      const headers = { accept: 'application/json' }
      const passcode = (await (await signedIn(server)).send('/passcode', { headers })).json<string>()
      const first = tokensOf(await server.token({ grant_type: 'password', passcode }, { basic: PORTAL, headers }))
      const time = decodeJwt(first.access_token)['auth_time']
      // UAA: no auth_time for a passcode.
      assert.equal(time !== undefined, isStandard)
      const redirect = { redirect_uri: AUTO_REQUEST.redirect_uri }
      const timeOf = async (query: Readonly<Record<string, string>>, token: string): Promise<unknown> => {
        const { code } = responseOf(await call({ ...AUTO_REQUEST, ...query }, { bearer: token })).query
        if (code === undefined) return 'no code'
        const tokens = tokensOf(await exchange(server, code, redirect, AUTO))
        const [access, id] = [tokens.access_token, tokens.id_token ?? ''].map(each => decodeJwt(each)['auth_time'])
        assert.equal(access, id)
        return id
      }
      assert.equal(await timeOf({ max_age: '60' }, first.access_token), isStandard ? time : 'no code')
      server.clock.advance(61)
      const later = tokensOf(await refresh(server, first.refresh_token ?? '', {}, PORTAL))
      assert.equal(await timeOf({ max_age: '60' }, later.access_token), 'no code')
      assert.equal(await timeOf({}, later.access_token), time)
    })

    it('ignores prompt=select_account', async () => {
      assert.ok(responseOf(await call({ ...AUTO_REQUEST, prompt: 'select_account' })).query['code'])
    })

    const refusals: readonly {
      name: string
      query?: Readonly<Record<string, string | undefined>>
      request: () => Promise<TestRequest> | TestRequest
      want: string | { standard: string; uaa: string }
    }[] = [
      // Covers GET /oauth/authorize API flow: error: invalid token
      { name: 'a malformed token', request: () => ({ bearer: 'x' }), want: '401 invalid_token' },
      // Covers GET /oauth/authorize API flow: error: token lacks the user scope
      {
        name: 'a token without the required scope',
        request: async () => ({ bearer: (await passwordTokens(server, { scope: 'openid' }, PORTAL)).access_token }),
        want: '403 insufficient_scope',
      },
      {
        name: 'a client token',
        request: async () => {
          const answer = await server.token(
            { grant_type: 'client_credentials' },
            { basic: ['service', 'service-secret'] },
          )
          return { bearer: tokensOf(answer).access_token }
        },
        want: '403 insufficient_scope',
      },
      {
        name: 'a refresh token',
        request: async () => ({ bearer: (await passwordTokens(server, {}, PORTAL)).refresh_token }),
        want: '401 invalid_token',
      },
      {
        name: 'a client that allows only other providers',
        query: requestOf('ldaponly'),
        request: () => ({}),
        want: '401 unauthorized_client',
      },
      { name: 'a token of another zone', request: () => ({ host: Z1_HOST }), want: '401 invalid_token' },
      // Covers page access_confirmation_error: JSON model
      {
        name: 'an unknown client',
        query: { ...AUTO_REQUEST, client_id: 'nemo' },
        request: () => ({}),
        want: { standard: '400 invalid_client', uaa: '401 invalid_client' },
      },
      {
        name: 'a redirect URI of another client',
        query: { ...AUTO_REQUEST, redirect_uri: 'https://evil.example/' },
        request: () => ({}),
        want: { standard: '400 invalid_request', uaa: '400 invalid_grant' },
      },
    ]
    for (const { name, query, request, want } of refusals) {
      it(`refuses ${name} in JSON`, async () => {
        const answer = await call(query, await request())
        assert.match(String(answer.headers['content-type']), /^application\/json/)
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, typeof want === 'string' ? want : want[mode])
        assert.deepEqual(answer.cookies, {})
      })
    }

    it('ignores the token without client_id, and for response_type=token', async () => {
      for (const query of [
        { ...AUTO_REQUEST, client_id: undefined },
        { ...AUTO_REQUEST, response_type: 'token' },
      ]) {
        const answer = await call(query, { headers: { accept: 'text/html' } })
        assert.equal(answer.status === 302 && answer.location().searchParams.has('code'), false)
      }
    })
  })
}
