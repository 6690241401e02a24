import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { authorizeBootstrap, responseOf, signedIn, Z1_HOST } from '../../support/authorize.ts'
import { changeUser, clientNamed, isAlive, issuedBy, MODES, verified } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const REQUEST = {
  response_type: 'token',
  client_id: 'direct',
  redirect_uri: 'https://direct.example/cb',
  source: 'credentials',
  state: 's1',
}
const CREDENTIALS = { username: 'marissa', password: 'koala' }
const ACCEPT_JSON = { accept: 'application/json' }

const implicit = (id: string, more: object = {}) => ({
  client_id: id,
  authorized_grant_types: ['implicit', 'password'],
  scope: ['openid', 'cloud.read', 'cloud.write'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: true,
  ...more,
})

for (const mode of MODES) {
  describe(`POST /oauth/authorize with credentials in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const clients = [
        ...authorizeBootstrap.clients,
        implicit('direct'),
        implicit('asking', { autoapprove: [] }),
        implicit('browser', { authorized_grant_types: ['implicit'] }),
        implicit('elsewhere', { allowedproviders: ['ldap'] }),
      ]
      const users = [
        ...authorizeBootstrap.users,
        ...['late', 'unverified', 'guessed', 'flooded'].map(userName => ({
          userName,
          password: 'koala',
          emails: [{ value: `${userName}@example.org` }],
          ...(userName === 'unverified' && { verified: false }),
        })),
      ]
      server = await startServer({ mode, config: { bootstrap: { ...authorizeBootstrap, clients, users } } })
      await changeUser(server, 'late', { passwordChangeRequired: true })
      await changeUser(server, 'unverified', { verified: false })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const post = (form: Readonly<Record<string, string>>, request: TestRequest = {}): Promise<TestAnswer> =>
      server.send('/oauth/authorize', { form, headers: ACCEPT_JSON, ...request })

    /** Checks a successful answer; returns the fragment. */
    async function granted(answer: TestAnswer): Promise<Record<string, string>> {
      assert.equal(answer.status, 302, answer.text)
      const { query, fragment } = responseOf(answer)
      assert.deepEqual(query, {})
      assert.equal(fragment['state'], 's1')
      assert.equal(fragment['token_type'], 'bearer')
      assert.equal(fragment['iss'], mode === 'standard' ? 'http://localhost:8080' : undefined)
      assert.equal(fragment['session_state'], undefined, 'no session is created')
      assert.deepEqual(answer.cookies, {}, 'no cookie is set')
      assert.equal(answer.headers['cache-control'], 'no-store')
      const { payload } = await verified(server, fragment['access_token'] ?? '')
      assert.equal(payload['user_name'], 'marissa')
      assert.equal(payload['grant_type'], 'implicit')
      assert.ok(await isAlive(server, fragment['access_token'] ?? ''))
      return fragment
    }

    const accepted: readonly { name: string; send: () => Promise<TestAnswer> }[] = [
      // Covers POST /oauth/authorize source=credentials: username; password
      { name: 'form fields', send: () => post({ ...REQUEST, ...CREDENTIALS }) },
      // Covers POST /oauth/authorize source=credentials: credentials JSON
      {
        name: 'JSON in the credentials field, without source',
        send: () => {
          const { source: _, ...request } = REQUEST
          return post({ ...request, credentials: JSON.stringify(CREDENTIALS) })
        },
      },
      { name: 'parameters in the URL and credentials in the form', send: () => post(CREDENTIALS, { query: REQUEST }) },
      {
        name: 'Accept: application/x-www-form-urlencoded',
        send: () => post({ ...REQUEST, ...CREDENTIALS }, { headers: { accept: 'application/x-www-form-urlencoded' } }),
      },
      { name: 'no Accept', send: () => post({ ...REQUEST, ...CREDENTIALS }, { headers: {} }) },
      {
        name: 'several media types in Accept, JSON first',
        send: () => post({ ...REQUEST, ...CREDENTIALS }, { headers: { accept: 'application/json;q=0.9, text/html' } }),
      },
      { name: 'another case of the user name', send: () => post({ ...REQUEST, ...CREDENTIALS, username: 'MARISSA' }) },
      {
        name: 'prompt=login and max_age=0',
        send: () => post({ ...REQUEST, ...CREDENTIALS, prompt: 'login', max_age: '0' }),
      },
    ]
    for (const { name, send } of accepted) it(`accepts ${name}`, async () => void (await granted(await send())))

    it('refuses the password of a user from a client that registered itself, even a correct one', async () => {
      const client = await clientNamed(server, 'browser')
      const registration = { at: new Date(0), grantTypes: ['implicit'], responseTypes: ['token'] } as const
      await server.store.clients.insert('svc', { ...client, clientId: 'registered', registration })
      const asked = { ...REQUEST, client_id: 'registered', redirect_uri: 'https://browser.example/cb' }
      const from = server.events.length
      const { fragment, query } = responseOf(await post({ ...asked, ...CREDENTIALS }))
      assert.deepEqual(
        [fragment['access_token'], { ...query, ...fragment }['error']],
        [undefined, 'unauthorized_client'],
      )
      assert.deepEqual(server.events.slice(from), [], 'the password is not verified')
    })

    it('returns an ID token with the nonce', async () => {
      const answer = await post({
        ...REQUEST,
        ...CREDENTIALS,
        response_type: 'token id_token',
        scope: 'openid',
        nonce: 'n1',
      })
      const { payload } = await verified(server, (await granted(answer))['id_token'] ?? '')
      assert.deepEqual(
        [payload['nonce'], payload.aud],
        ['n1', ['direct']].map((each, place) => (place === 1 && typeof payload.aud === 'string' ? 'direct' : each)),
      )
    })

    it('ignores the session of the browser', async () => {
      const browser = await signedIn(server, 'joel', 'wombat')
      const cookies = Object.fromEntries(browser.cookies)
      await granted(await post({ ...REQUEST, ...CREDENTIALS }, { cookies }))
      assert.match((await browser.send('/home')).text, /joel/)
      const none = await post(REQUEST, { cookies })
      assert.equal(none.status, 401, 'the session does not replace credentials')
    })

    it('requires the password grant in standard, even for a wrong password (A20)', async () => {
      const request = { ...REQUEST, client_id: 'browser', redirect_uri: 'https://browser.example/cb' }
      if (mode === 'uaa') {
        await granted(await post({ ...request, ...CREDENTIALS }))
        return
      }
      const before = server.events.length
      for (const password of ['koala', 'wrong']) {
        const { fragment } = responseOf(await post({ ...request, ...CREDENTIALS, password }))
        assert.deepEqual([fragment['error'], fragment['access_token']], ['unauthorized_client', undefined])
      }
      assert.equal(server.events.length, before, 'neither a successful nor a failed sign-in')
    })

    it('requires approval like a browser flow, and uses earlier approvals', async () => {
      const request = {
        ...REQUEST,
        ...CREDENTIALS,
        client_id: 'asking',
        redirect_uri: 'https://asking.example/cb',
        scope: 'cloud.read',
      }
      const before = issuedBy(server)
      const answer = await post(request, { headers: {} })
      assert.equal(answer.status, 200)
      const model = answer.json<{ client_display_name: string; undecided_scopes: { code: string }[] }>()
      assert.equal(model.client_display_name, 'asking')
      assert.deepEqual(
        model.undecided_scopes.map(({ code }) => code),
        ['scope.cloud.read'],
      )
      assert.doesNotMatch(answer.text, /koala/)
      assert.equal(issuedBy(server), before)
      const user = await server.store.users.findByName('svc', 'svc', 'marissa')
      const now = server.clock.now()
      await server.store.approvals.save('svc', [
        {
          zoneId: 'svc',
          userId: user?.id ?? '',
          clientId: 'asking',
          scope: 'cloud.read',
          status: 'APPROVED',
          expiresAt: new Date(now.getTime() + 60_000),
          updatedAt: now,
        },
      ])
      await granted(await post(request))
    })

    const POST_ONLY = 'Credentials must be sent by (one of methods): [POST]'
    const MISSING = 'Request does not contain credentials.'
    const refusals: readonly { name: string; send: () => Promise<TestAnswer>; description: string | RegExp }[] = [
      {
        name: 'a wrong password',
        send: () => post({ ...REQUEST, ...CREDENTIALS, password: 'wrong' }),
        description: 'Bad credentials',
      },
      {
        name: 'an unknown user',
        send: () => post({ ...REQUEST, ...CREDENTIALS, username: 'nobody' }),
        description: 'Bad credentials',
      },
      {
        name: 'an account of another zone',
        send: () => post({ ...REQUEST, username: 'marissa', password: 'z1-koala' }),
        description: 'Bad credentials',
      },
      { name: 'no password', send: () => post({ ...REQUEST, username: 'marissa' }), description: MISSING },
      {
        name: 'an empty password',
        send: () => post({ ...REQUEST, username: 'marissa', password: '' }),
        description: MISSING,
      },
      { name: 'no user name', send: () => post({ ...REQUEST, password: 'koala' }), description: MISSING },
      {
        name: 'malformed JSON',
        send: () => post({ ...REQUEST, credentials: '{"username":"marissa"' }),
        description: MISSING,
      },
      {
        name: 'JSON members of wrong types',
        send: () => post({ ...REQUEST, credentials: '{"username":["marissa"],"password":1}' }),
        description: MISSING,
      },
      {
        name: 'JSON members in __proto__',
        send: () => post({ ...REQUEST, credentials: '{"__proto__":{"username":"marissa","password":"koala"}}' }),
        description: MISSING,
      },
      {
        name: 'JSON that is too long',
        send: () =>
          post({ ...REQUEST, credentials: `{"username":"marissa","password":"koala","x":"${'x'.repeat(20_000)}"}` }),
        description: MISSING,
      },
      {
        name: 'credentials in the URL',
        send: () => post({}, { query: { ...REQUEST, ...CREDENTIALS } }),
        description: MISSING,
      },
      {
        name: 'JSON credentials in the URL',
        send: () => post({}, { query: { ...REQUEST, credentials: JSON.stringify(CREDENTIALS) } }),
        description: MISSING,
      },
      // Covers POST /oauth/authorize source=credentials: error: other methods
      {
        name: 'GET',
        send: () => server.send('/oauth/authorize', { query: { ...REQUEST, ...CREDENTIALS }, headers: ACCEPT_JSON }),
        description: POST_ONLY,
      },
      {
        name: 'GET with JSON credentials and without Accept',
        send: () =>
          server.send('/oauth/authorize', { query: { response_type: 'token', client_id: 'direct', credentials: '{' } }),
        description: POST_ONLY,
      },
      {
        name: 'a user with a pending password change',
        send: () => post({ ...REQUEST, ...CREDENTIALS, username: 'late' }),
        description: 'password change required',
      },
      {
        name: 'an unverified account',
        send: () => post({ ...REQUEST, ...CREDENTIALS, username: 'unverified' }),
        description: 'Account not verified',
      },
      {
        name: 'a client that allows only other providers',
        send: () =>
          post({ ...REQUEST, ...CREDENTIALS, client_id: 'elsewhere', redirect_uri: 'https://elsewhere.example/cb' }),
        description: 'The client is not authorized for any identity provider that supports password grant.',
      },
    ]
    for (const { name, send, description } of refusals) {
      // Covers POST /oauth/authorize source=credentials: error: JSON 401
      it(`answers 401 in JSON to ${name}, repeatedly`, async () => {
        const before = issuedBy(server)
        for (const attempt of [1, 2]) {
          const answer = await send()
          assert.equal(answer.status, 401, `attempt ${attempt}: ${answer.text}`)
          assert.match(String(answer.headers['content-type']), /^application\/json/)
          assert.deepEqual(answer.json(), { error: 'unauthorized', error_description: description })
          assert.match(String(answer.headers['www-authenticate']), /^Bearer error="unauthorized"/)
          assert.deepEqual(answer.cookies, {})
          assert.doesNotMatch(answer.text, /koala/)
        }
        assert.equal(issuedBy(server), before)
      })
    }

    const clientRefusals: readonly {
      name: string
      form: Readonly<Record<string, string>>
      status: number
      error: Record<typeof mode, string>
    }[] = [
      {
        name: 'an unknown client',
        form: { client_id: 'no-such-client' },
        status: mode === 'standard' ? 400 : 401,
        error: { standard: 'invalid_client', uaa: 'invalid_client' },
      },
      {
        name: 'a redirect URI of another client',
        form: { redirect_uri: 'https://evil.example/cb' },
        status: 400,
        error: { standard: 'invalid_request', uaa: 'invalid_grant' },
      },
    ]
    for (const { name, form, status, error } of clientRefusals) {
      it(`refuses ${name} in JSON without a redirect`, async () => {
        const answer = await post({ ...REQUEST, ...CREDENTIALS, ...form })
        assert.equal(answer.status, status)
        assert.equal(answer.json()['error'], error[mode])
      })
    }

    it('refuses a client without the implicit grant in the fragment', async () => {
      const answer = await post({
        ...REQUEST,
        ...CREDENTIALS,
        client_id: 'auto',
        redirect_uri: 'https://auto.example/cb',
      })
      const want = mode === 'standard' ? 'unauthorized_client' : 'invalid_client'
      assert.equal(responseOf(answer).fragment['error'], want)
      assert.equal(responseOf(answer).fragment['access_token'], undefined)
    })

    it('refuses a user other than the hinted one, and an invalid hint, in standard', async () => {
      const form = { ...REQUEST, ...CREDENTIALS, response_type: 'token id_token' }
      const { id_token: own = '' } = await granted(await post(form))
      await granted(await post({ ...form, id_token_hint: own }))
      const other = await post({ ...form, username: 'joel', password: 'wombat', id_token_hint: own })
      const bad = await post({ ...form, id_token_hint: 'x.y.z' })
      const errors = [other, bad].map(answer => responseOf(answer).fragment['error'])
      assert.deepEqual(errors, mode === 'standard' ? ['login_required', 'invalid_request'] : [undefined, undefined])
    })

    it('refuses a scope outside the client in the fragment', async () => {
      const answer = await post({ ...REQUEST, ...CREDENTIALS, scope: 'cloud.admin' })
      assert.equal(responseOf(answer).fragment['error'], 'invalid_scope')
    })

    it('finds clients only in their own zone', async () => {
      const answer = await post({ ...REQUEST, ...CREDENTIALS }, { host: Z1_HOST })
      assert.equal(answer.json()['error'], 'invalid_client')
    })

    it('locks an account like other sign-ins', async () => {
      const attempt = async (password: string) =>
        (await post({ ...REQUEST, username: 'guessed', password })).json()['error_description']
      for (let count = 1; count <= 5; count += 1) assert.equal(await attempt(`wrong ${count}`), 'Bad credentials')
      const locked = 'Your account has been locked because of too many failed attempts to login.'
      assert.equal(await attempt('koala'), mode === 'standard' ? 'Bad credentials' : locked)
      const code = mode === 'standard' ? /login_failure/ : /account_locked/
      assert.match(String((await server.browser().signIn('guessed', 'koala')).headers['location']), code)
    })

    it('rate-limits unknown user names, in JSON', async () => {
      for (let count = 1; count <= 100; count += 1) await post({ ...REQUEST, username: 'unheard-of', password: 'x' })
      const answer = await post({ ...REQUEST, username: 'unheard-of', password: 'x' }, { headers: {} })
      assert.equal(answer.status, 429)
      assert.deepEqual(answer.json(), {
        error: 'too_many_requests',
        error_description: 'Too many attempts. Try again in 60 seconds.',
      })
      assert.equal(answer.headers['retry-after'], '60')
    })

    const otherRequests: readonly { name: string; request: () => Promise<TestAnswer> }[] = [
      {
        name: 'from a browser',
        request: () => post({ ...REQUEST, ...CREDENTIALS }, { headers: { accept: 'text/html, application/json' } }),
      },
      {
        name: 'with Accept: */*',
        request: () => post({ ...REQUEST, ...CREDENTIALS }, { headers: { accept: '*/*' } }),
      },
      {
        name: 'for a code',
        request: () => post({ ...REQUEST, ...CREDENTIALS, response_type: 'code token' }, { headers: {} }),
      },
      {
        name: 'with another source',
        request: () => post({ ...REQUEST, ...CREDENTIALS, source: 'x' }, { headers: {} }),
      },
    ]
    it('never copies credentials to a URL or cookie', async () => {
      const form = { ...REQUEST, ...CREDENTIALS, credentials: 'koala', client_secret: 'koala' }
      const browser = server.browser()
      await browser.send('/login')
      for (const more of [{}, { 'X-Svc-Csrf': browser.csrf }]) {
        const answer = await browser.send('/oauth/authorize', {
          form: { ...form, ...more },
          headers: { accept: '*/*' },
        })
        const pending = Buffer.from(answer.cookies['svc-request'] ?? '', 'base64url').toString()
        assert.doesNotMatch(`${String(answer.headers['location'])} ${pending}`, /koala/)
      }
    })

    for (const { name, request } of otherRequests) {
      it(`does not treat a request ${name} as one with credentials`, async () => {
        const before = issuedBy(server)
        const answer = await request()
        assert.ok([302, 303, 403].includes(answer.status), `${answer.status} ${answer.text}`)
        assert.doesNotMatch(String(answer.headers['location']), /access_token=/)
        assert.equal(issuedBy(server), before)
      })
    }
  })
}
