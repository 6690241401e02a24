import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { authorize, authorizeBootstrap, requestOf, responseOf, signedIn } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { isAlive, MODES, userNamed, verified } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const HYBRID = { ...requestOf('hybrid'), scope: 'openid profile', nonce: 'n-1' }

/** The left half of the SHA-256 of a value (OpenID Connect Core §3.1.3.6), for keys of RS256. */
const halfHash = (value = ''): string =>
  createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url')

/** The parameter names in order, without those that depend on the mode. */
const namesOf = (parameters: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(parameters).filter(name => !['session_state', 'iss', 'nonce'].includes(name))

const TYPES = [
  { type: 'code', want: ['code', 'state'] },
  { type: 'token', want: ['token_type', 'access_token', 'state', 'expires_in', 'jti'] },
  { type: 'id_token', want: ['token_type', 'id_token', 'state', 'expires_in', 'jti'] },
  { type: 'token id_token', want: ['token_type', 'access_token', 'id_token', 'state', 'expires_in', 'jti'] },
  { type: 'code id_token', want: ['token_type', 'id_token', 'code', 'state', 'expires_in', 'jti'] },
  { type: 'code token', want: ['token_type', 'access_token', 'code', 'state', 'expires_in', 'jti'] },
  {
    type: 'code id_token token',
    want: ['token_type', 'access_token', 'id_token', 'code', 'state', 'expires_in', 'jti'],
  },
] as const

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`Response types in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      browser = await signedIn(server)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** Returns the parameters of a successful response, and whether they were in the query or fragment. */
    async function ask(
      query: Readonly<Record<string, string>>,
    ): Promise<{ place: string; got: Record<string, string> }> {
      const answer = await authorize(browser, query)
      assert.equal(answer.status, 302, answer.text)
      const { query: inQuery, fragment } = responseOf(answer)
      assert.equal(
        Object.keys(inQuery).length > 0 && Object.keys(fragment).length > 0,
        false,
        'query or fragment, not both',
      )
      const place = Object.keys(fragment).length > 0 ? 'fragment' : 'query'
      const got = place === 'fragment' ? fragment : inQuery
      assert.equal(got['error'], undefined, answer.location().href)
      return { place, got }
    }

    for (const { type, want } of TYPES) {
      // Covers GET /oauth/authorize: response_type=token; response_type=id_token; `response_type=token id_token`
      // Covers GET /oauth/authorize: `response_type=code id_token`; `response_type=code token`
      // Covers GET /oauth/authorize: `response_type=code id_token token`; response: `token_type` in the fragment
      // Covers GET /oauth/authorize: response: `access_token` in the fragment; `id_token` in the fragment
      // Covers GET /oauth/authorize: response: `expires_in` in the fragment; jti in the fragment; nonce in the fragment
      // Covers compatibility: authorization response: R9 order in the fragment
      it(`return the parameters of ${type} in the specified order`, async () => {
        const { place, got } = await ask({ ...HYBRID, response_type: type })
        assert.equal(place, type === 'code' ? 'query' : 'fragment')
        assert.deepEqual(namesOf(got), want)
        assert.equal(got['state'], 's1')
        assert.equal(got['iss'], isStandard ? 'http://localhost:8080' : undefined)
        assert.equal(got['session_state'] !== undefined, isStandard)
        if (type === 'code') return
        assert.equal(got['token_type'], 'bearer')
        assert.equal(got['expires_in'], isStandard ? '3600' : '43199')
        assert.equal(got['nonce'], isStandard ? undefined : 'n-1')
        const names = Object.keys(got)
        assert.ok(isStandard || names.indexOf('nonce') === names.indexOf('jti') - 1, 'nonce precedes jti')
      })
    }

    // Covers compatibility: authorization request: A4 `response_type`
    it('may be in any order, and repeated', async () => {
      const { got } = await ask({ ...HYBRID, response_type: ' token  code id_token code' })
      assert.deepEqual(
        Object.keys(got).filter(name => /code|token$/.test(name)),
        ['access_token', 'id_token', 'code'],
      )
    })

    const reported: readonly {
      name: string
      scope: string | undefined
      want: Record<typeof mode, string | undefined>
    }[] = [
      { name: 'requested exactly', scope: 'openid profile', want: { standard: undefined, uaa: undefined } },
      {
        name: 'requested in another order',
        scope: 'profile, openid profile',
        want: { standard: undefined, uaa: undefined },
      },
      {
        name: 'not requested',
        scope: undefined,
        want: { standard: 'cloud.read email openid profile', uaa: 'cloud.read openid profile' },
      },
      {
        name: 'partly outside the client',
        scope: 'openid phone',
        want: { standard: 'openid', uaa: 'refused' },
      },
      {
        name: 'partly not held by the user',
        scope: 'openid email',
        want: { standard: undefined, uaa: 'openid' },
      },
    ]
    for (const { name, scope, want } of reported) {
      it(`return scope only if it differs from the requested one (RFC 6749 §4.2.2): scope ${name}`, async () => {
        const { scope: _, ...request } = { ...HYBRID, response_type: 'token' }
        const answer = await authorize(browser, { ...request, ...(scope !== undefined && { scope }) })
        const { fragment } = responseOf(answer)
        if (want[mode] === 'refused') return assert.equal(fragment['error'], 'invalid_scope')
        assert.equal(fragment['scope']?.split(' ').toSorted().join(' '), want[mode])
      })
    }

    it('apply token_format and az_attr to the implicit token and that of the code', async () => {
      const authorities = JSON.stringify({ az_attr: { team: 'blue', site: 'x' } })
      const { got } = await ask({ ...HYBRID, response_type: 'code token', token_format: 'opaque', authorities })
      assert.equal(got['az_attr'], '{team=blue, site=x}')
      assert.equal(got['access_token'], got['jti'])
      const answer = await server.token(
        { grant_type: 'authorization_code', code: got['code'] ?? '', redirect_uri: HYBRID.redirect_uri },
        { basic: ['hybrid', 'hybrid-secret'] },
      )
      assert.deepEqual(answer.json()['az_attr'], { team: 'blue', site: 'x' })
      assert.equal(answer.json()['access_token'], answer.json()['jti'])
    })

    it('return a valid access token', async () => {
      const { got } = await ask({ ...HYBRID, response_type: 'token' })
      const { payload } = await verified(server, got['access_token'] ?? '')
      assert.equal(payload['grant_type'], 'implicit')
      assert.equal(await isAlive(server, got['access_token'] ?? ''), true)
      const info = await server.send('/userinfo', { bearer: got['access_token'] ?? '' })
      assert.equal(info.json()['user_name'], 'marissa')
    })

    // Covers GET /oauth/authorize: nonce
    // Covers ID token: c_hash
    // Covers compatibility: tokens and userinfo: T1 hashes
    it('return an ID token with nonce, in standard with at_hash, c_hash and s_hash (T1)', async () => {
      const { got } = await ask({ ...HYBRID, response_type: 'code id_token token' })
      const { payload } = await verified(server, got['id_token'] ?? '', { audience: 'hybrid' })
      const user = await userNamed(server, 'marissa')
      assert.deepEqual([payload.sub, payload['nonce']], [user.id, 'n-1'])
      assert.equal(payload['at_hash'], isStandard ? halfHash(got['access_token']) : undefined)
      assert.equal(payload['c_hash'], isStandard ? halfHash(got['code']) : undefined)
      assert.equal(payload['s_hash'], isStandard ? halfHash(HYBRID.state) : undefined)
      assert.equal(typeof payload['auth_time'], 'number')
    })

    it('omit s_hash without a state', async () => {
      const { state: _, ...stateless } = HYBRID
      const { got } = await ask({ ...stateless, response_type: 'code id_token' })
      assert.equal(decodeJwt(got['id_token'] ?? '')['s_hash'], undefined)
    })

    it('omit at_hash and c_hash without access token and code', async () => {
      const alone = decodeJwt((await ask({ ...HYBRID, response_type: 'id_token' })).got['id_token'] ?? '')
      assert.deepEqual([alone['at_hash'], alone['c_hash']], [undefined, undefined])
      const beside = decodeJwt((await ask({ ...HYBRID, response_type: 'code id_token' })).got['id_token'] ?? '')
      assert.deepEqual([beside['at_hash'], beside['c_hash'] !== undefined], [undefined, isStandard])
    })

    // Covers every answer in standard: hybrid: both ID tokens agree
    it('return the same iss, sub and sid in both ID tokens of a hybrid flow', async () => {
      const { got } = await ask({ ...HYBRID, response_type: 'code id_token' })
      const answer = await server.token(
        { grant_type: 'authorization_code', code: got['code'] ?? '', redirect_uri: HYBRID.redirect_uri },
        { basic: ['hybrid', 'hybrid-secret'] },
      )
      const [front, back] = [decodeJwt(got['id_token'] ?? ''), decodeJwt(String(answer.json()['id_token']))]
      const members = ['iss', 'sub', 'aud', 'auth_time', 'nonce', 'sid']
      assert.deepEqual(
        members.map(name => back[name]),
        members.map(name => front[name]),
      )
    })

    it('revoke the access token of the authorization response if the code is reused, in standard (T11)', async () => {
      const { got } = await ask({ ...HYBRID, response_type: 'code token' })
      const exchange = (): Promise<TestAnswer> =>
        server.token(
          { grant_type: 'authorization_code', code: got['code'] ?? '', redirect_uri: HYBRID.redirect_uri },
          { basic: ['hybrid', 'hybrid-secret'] },
        )
      assert.equal((await exchange()).status, 200)
      assert.equal((await exchange()).status, 400)
      assert.equal(await isAlive(server, got['access_token'] ?? ''), !isStandard)
    })

    it('return no refresh token', async () => {
      for (const { type } of TYPES) {
        const { got } = await ask({ ...HYBRID, response_type: type })
        assert.equal(got['refresh_token'], undefined)
      }
    })

    // Covers GET /oauth/authorize: token_format
    it('return an opaque access token for token_format=opaque', async () => {
      const { got } = await ask({ ...HYBRID, response_type: 'token id_token', token_format: 'opaque' })
      assert.match(got['access_token'] ?? '', /^[0-9a-f]{32}$/)
      assert.equal(await isAlive(server, got['access_token'] ?? ''), true)
      assert.notEqual(decodeJwt(got['id_token'] ?? '').jti, got['access_token'])
    })

    // Covers GET /oauth/authorize: response: scope in the fragment
    it('return the scope if none was requested (RFC 6749 §4.2.2)', async () => {
      const { scope: _, ...unscoped } = HYBRID
      assert.equal((await ask({ ...HYBRID, response_type: 'token' })).got['scope'], undefined)
      const all = (await ask({ ...unscoped, response_type: 'token' })).got['scope'] ?? ''
      assert.deepEqual(all.split(' ').toSorted(), ['cloud.read', ...(isStandard ? ['email'] : []), 'openid', 'profile'])
    })

    // Covers GET /oauth/authorize: authorities (`az_attr`); response: `az_attr` in the fragment
    it('return az_attr in UAA’s format', async () => {
      const authorities = '{"az_attr":{"team":"blue","floor":"3"}}'
      const { got } = await ask({ ...HYBRID, response_type: 'token', authorities })
      assert.equal(got['az_attr'], '{team=blue, floor=3}')
      assert.deepEqual(decodeJwt(got['access_token'] ?? '')['az_attr'], { team: 'blue', floor: '3' })
    })

    it('omit an az_attr that is not valid Unicode', async () => {
      const authorities = String.raw`{"az_attr":{"team":"\ud800"}}`
      const { got } = await ask({ ...HYBRID, response_type: 'token', authorities })
      assert.equal(got['az_attr'], undefined)
      assert.ok(got['access_token'])
    })

    it('return sid in the ID token in standard (T4)', async () => {
      const { got } = await ask({ ...HYBRID, response_type: 'id_token' })
      assert.equal(typeof decodeJwt(got['id_token'] ?? '')['sid'], isStandard ? 'string' : 'undefined')
    })

    describe('with prompt=none', () => {
      // Covers GET /oauth/authorize prompt=none: implicit and hybrid success
      it('return tokens and session_state, and refresh Current-User', async () => {
        const answer = await authorize(browser, { ...HYBRID, response_type: 'token id_token', prompt: 'none' })
        const { fragment } = responseOf(answer)
        assert.ok(fragment['id_token'])
        assert.match(fragment['session_state'] ?? '', /^[0-9a-f]{64}\.[0-9a-f]{64}$/)
        assert.match(answer.cookies['Current-User'] ?? '', /userId/)
        assert.equal(answer.headers['cache-control'], 'no-cache, no-store, max-age=0, must-revalidate')
      })

      it('return login_required without a session, in query or fragment', async () => {
        for (const { type } of TYPES) {
          const answer = await authorize(server.browser(), { ...HYBRID, response_type: type, prompt: 'none' })
          const { query, fragment } = responseOf(answer)
          const inQuery = isStandard ? type === 'code' : type.includes('code')
          const got = inQuery ? query : fragment
          assert.equal(got['error'], 'login_required', type)
          assert.ok(got['session_state'], type)
          assert.equal(got['state'], isStandard ? 's1' : undefined)
          assert.equal(answer.cookies['Current-User'], '')
        }
      })
    })

    interface RefusedCase {
      readonly name: string
      readonly query: Readonly<Record<string, string>>
      /** `query` or `fragment`, and the error, in each mode. */
      readonly want: { readonly standard: string; readonly uaa: string }
    }
    const refusedCases: readonly RefusedCase[] = [
      {
        name: 'an unknown value',
        query: { ...HYBRID, response_type: 'code magic' },
        want: { standard: 'query unsupported_response_type', uaa: 'query unsupported_response_type' },
      },
      {
        name: 'a blank value',
        query: { ...HYBRID, response_type: ' ' },
        want: { standard: 'query unsupported_response_type', uaa: 'query unsupported_response_type' },
      },
      {
        name: 'the value none',
        query: { ...HYBRID, response_type: 'none' },
        want: { standard: 'query unsupported_response_type', uaa: 'query unsupported_response_type' },
      },
      // Covers GET /oauth/authorize: error: grant for `response_type` missing
      // Covers compatibility: authorization response: R3 codes
      {
        name: 'token for a client without the implicit grant',
        query: { ...requestOf('wild'), response_type: 'token' },
        want: { standard: 'fragment unauthorized_client', uaa: 'fragment invalid_client' },
      },
      {
        name: 'id_token for a client without the implicit grant',
        query: { ...requestOf('wild'), response_type: 'id_token' },
        want: { standard: 'fragment unauthorized_client', uaa: 'fragment invalid_client' },
      },
      {
        name: 'code id_token for a client with only the implicit grant',
        query: { ...requestOf('implicit'), response_type: 'code id_token' },
        want: { standard: 'fragment unauthorized_client', uaa: 'fragment invalid_client' },
      },
      {
        name: 'code token for a client without the implicit grant',
        query: { ...requestOf('wild'), response_type: 'code token' },
        want: { standard: 'fragment unauthorized_client', uaa: 'fragment invalid_client' },
      },
      {
        name: 'an unknown scope',
        query: { ...HYBRID, response_type: 'token', scope: 'magic' },
        want: { standard: 'fragment invalid_scope', uaa: 'fragment invalid_scope' },
      },
      {
        name: 'an unknown scope in a hybrid request',
        query: { ...HYBRID, response_type: 'code id_token', scope: 'openid magic' },
        want: { standard: 'fragment invalid_scope', uaa: 'query invalid_scope' },
      },
    ]
    for (const { name, query, want } of refusedCases) {
      it(`refuse ${name}`, async () => {
        const answer = await authorize(browser, query)
        assert.equal(answer.status, 302, answer.text)
        const { query: inQuery, fragment } = responseOf(answer)
        const place = fragment['error'] === undefined ? 'query' : 'fragment'
        const got = place === 'query' ? inQuery : fragment
        assert.equal(`${place} ${got['error'] ?? ''}`, want[mode])
        assert.equal(got['state'], 's1')
        assert.ok(got['error_description'])
        for (const secret of ['code', 'access_token', 'id_token']) assert.equal(got[secret], undefined)
      })
    }

    it('refuse id_token without openid in standard, and omit it in uaa (A7)', async () => {
      const { fragment } = responseOf(
        await authorize(browser, { ...HYBRID, response_type: 'id_token token', scope: 'profile' }),
      )
      if (isStandard) return assert.equal(fragment['error'], 'invalid_scope')
      assert.deepEqual([fragment['id_token'], typeof fragment['access_token']], [undefined, 'string'])
    })

    for (const type of ['id_token', 'token id_token', 'code id_token', 'code id_token token']) {
      it(`refuse ${type} without openid before sign-in in standard (A7)`, async () => {
        const query = { ...HYBRID, response_type: type, scope: 'profile' }
        const answer = await authorize(server.browser(), query)
        assert.equal(answer.status, 302, answer.text)
        if (!isStandard) return assert.equal(answer.location().pathname, '/login')
        const { fragment } = responseOf(answer)
        assert.deepEqual([fragment['error'], fragment['state']], ['invalid_scope', 's1'])
        assert.equal(fragment['error_description'], 'An ID token requires the scope openid')
        assert.equal((await authorize(server.browser(), { ...query, scope: 'openid' })).location().pathname, '/login')
      })
    }

    // Covers configuration file: bootstrap.clients[]: require_nonce
    // Covers compatibility: authorization request: A8 nonce
    describe('with require_nonce (A8)', () => {
      const bound = requestOf('bound')
      for (const type of ['id_token', 'code id_token', 'token id_token', 'code id_token token']) {
        it(`refuse ${type} without nonce in standard`, async () => {
          const { fragment } = responseOf(await authorize(browser, { ...bound, response_type: type }))
          if (isStandard) {
            assert.deepEqual([fragment['error'], fragment['state']], ['invalid_request', 's1'])
            assert.match(fragment['error_description'] ?? '', /nonce/)
          } else assert.ok(fragment['id_token'])
        })
      }
      for (const type of ['code', 'token', 'code token']) {
        it(`accept ${type} without nonce`, async () => {
          await ask({ ...bound, response_type: type })
        })
      }
      it('accept a nonce', async () => {
        await ask({ ...bound, response_type: 'id_token', nonce: 'n' })
      })
      it('require a nonce if the zone does, regardless of the client', async () => {
        const clients = [
          ...authorizeBootstrap.clients,
          {
            ...authorizeBootstrap.clients.find(({ client_id: id }) => id === 'bound'),
            client_id: 'lenient',
            require_nonce: false,
            redirect_uri: ['https://lenient.example/cb'],
          },
        ]
        const config = { bootstrap: { ...authorizeBootstrap, clients }, zone_config: { require_nonce: true } }
        const strict = await startServer({ mode, config })
        try {
          const account = await signedIn(strict)
          for (const id of ['hybrid', 'lenient']) {
            const query = { ...requestOf(id), response_type: 'id_token' }
            const { fragment } = responseOf(await authorize(account, query))
            assert.equal(fragment['error'], isStandard ? 'invalid_request' : undefined, id)
            assert.ok(responseOf(await authorize(account, { ...query, nonce: 'n' })).fragment['id_token'], id)
          }
        } finally {
          await strict.stop()
        }
      })
    })

    describe('with response_mode (A6)', () => {
      // Covers compatibility: authorization request: A6 `response_mode`
      it('return a code in the fragment for response_mode=fragment, except in uaa', async () => {
        const { place } = await ask({ ...HYBRID, response_type: 'code', response_mode: 'fragment' })
        assert.equal(place, isStandard ? 'fragment' : 'query')
      })

      for (const response_mode of ['query', 'magic', 'FORM_POST']) {
        it(`refuse ${response_mode} for tokens, and ignore it in uaa`, async () => {
          const answer = await authorize(browser, { ...HYBRID, response_type: 'token', response_mode })
          const { fragment, query } = responseOf(answer)
          assert.deepEqual(query, {})
          assert.equal(fragment['error'], isStandard ? 'invalid_request' : undefined)
          assert.equal(fragment['access_token'] === undefined, isStandard)
        })
      }

      const post = (more: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
        authorize(browser, { ...HYBRID, response_type: 'code id_token', response_mode: 'form_post', ...more })

      // Covers GET /oauth/authorize: response_mode
      it('return a form that submits itself for form_post', {
        skip: !isStandard && 'UAA has no form_post',
      }, async () => {
        const answer = await post({ state: '"><script>alert(1)</script>' })
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['cache-control'], 'no-store')
        assert.match(answer.text, /<form id="form_post" action="https:\/\/hybrid\.example\/cb" method="post"/)
        assert.match(answer.text, /<button class="button" type="submit">Continue<\/button>/)
        assert.match(answer.text, /<script src="\/resources\/form-post\.js\?v=[\w-]+"><\/script>/)
        const fields = hiddenFields(answer.text)
        assert.equal(unescaped(fields['state'] ?? ''), '"><script>alert(1)</script>')
        assert.equal(fields['iss'], 'http://localhost:8080')
        assert.ok(fields['code'] && fields['id_token'] && fields['session_state'])
        assert.equal(answer.text.includes('<script>alert'), false)
        assert.equal(
          Object.keys(fields).some(name => /csrf/i.test(name)),
          false,
          'the CSRF token is not sent to the client',
        )
        const policies = [answer.headers['content-security-policy']].flat()
        assert.equal(
          policies.some(policy => policy?.includes('form-action')),
          false,
        )
      })

      it('post an error the same way', { skip: !isStandard && 'UAA has no form_post' }, async () => {
        const fields = hiddenFields((await post({ scope: 'magic' })).text)
        assert.equal(fields['error'], 'invalid_scope')
        assert.equal(fields['code'], undefined)
        const silent = await authorize(server.browser(), {
          ...HYBRID,
          response_type: 'id_token',
          response_mode: 'form_post',
          prompt: 'none',
        })
        assert.equal(silent.status, 200)
        assert.equal(hiddenFields(silent.text)['error'], 'login_required')
      })

      const object = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`
      const objects = [
        {
          name: 'only in the object',
          request: object({ response_mode: 'form_post' }),
          mode: undefined,
          isPosted: true,
        },
        { name: 'beside the object', request: object({}), mode: 'form_post', isPosted: true },
        { name: 'beside the object, overriding it', request: object({ response_mode: 'form_post' }), mode: 'fragment' },
        { name: 'nowhere', request: object({ response_mode: 5, redirect_uri: 'https://evil.example/' }) },
        { name: 'in a malformed object', request: 'form_post.form_post' },
        { name: 'in an object that is a JSON string', request: `e30.${btoa('"response_mode"')}.` },
        { name: 'in an object that is too long', request: object({ response_mode: 'form_post', x: 'x'.repeat(8192) }) },
      ]
      for (const { name, request, mode: asked, isPosted = false } of objects) {
        const skip = !isStandard && 'UAA has no form_post'
        it(`apply to the error of a refused request object: response_mode ${name}`, { skip }, async () => {
          const { response_mode: _, ...plain } = { response_mode: '', ...HYBRID }
          const query = { ...plain, response_type: 'code id_token', request, response_mode: asked }
          const answer = await authorize(server.browser(), query)
          assert.equal(answer.status, isPosted ? 200 : 302, answer.text)
          const reported = isPosted ? hiddenFields(answer.text) : responseOf(answer).fragment
          assert.equal(reported['error'], 'invalid_request_object')
          if (isPosted) assert.match(answer.text, /action="https:\/\/hybrid\.example\/cb"/)
          else assert.equal(answer.location().origin, 'https://hybrid.example')
        })
      }

      it('serve the script of the form', async () => {
        const page = isStandard ? (await post()).text : ''
        const source = /<script src="([^"]+form-post[^"]+)"/.exec(page)?.[1]
        if (!isStandard) return assert.equal(source, undefined)
        const script = await server.send(source ?? '')
        assert.equal(script.status, 200)
        assert.match(script.text, /submit\(\)/)
      })
    })
  })
}
