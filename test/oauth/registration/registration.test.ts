import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { authorize, signedIn } from '../../support/authorize.ts'
import { addSeconds } from '../../../src/base/clock.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import {
  METADATA,
  manage,
  register,
  registered,
  setRegistration,
  startRegistrationServer,
} from '../../support/registration.ts'
import { loadedAtStart } from '../../support/loaded-at-start.ts'
import type { TestServer } from '../../support/server.ts'

const REDIRECT = 'https://new.example/cb'
const keys = (count: number) => ({
  keys: Array.from({ length: count }, (_, index) => ({
    kty: 'OKP',
    crv: 'Ed25519',
    x: 'a'.repeat(43),
    kid: String(index),
  })),
})
const uris = (count: number) => Array.from({ length: count }, (_, index) => `https://new.example/${index}`)

const redirect = (...redirect_uris: readonly unknown[]) => ({ ...METADATA, redirect_uris })

/** Metadata refused in both modes; the error is invalid_client_metadata by default. */
const REFUSED: readonly (readonly [name: string, metadata: unknown, error?: string])[] = [
  ['no redirect URI', { client_name: 'x' }, 'invalid_redirect_uri'],
  ['empty redirect_uris', redirect(), 'invalid_redirect_uri'],
  ['http on another host', redirect('http://new.example/cb'), 'invalid_redirect_uri'],
  [
    'http on another host for a native application',
    { ...redirect('http://new.example/cb'), application_type: 'native' },
    'invalid_redirect_uri',
  ],
  [
    'a loopback redirect URI for a web application',
    { ...redirect('http://127.0.0.1/cb'), application_type: 'web' },
    'invalid_redirect_uri',
  ],
  ['localhost for a web application', redirect('https://localhost/cb'), 'invalid_redirect_uri'],
  ['a scheme without a dot', redirect('myapp://cb'), 'invalid_redirect_uri'],
  ['a scheme of the operating system', redirect('ms-msdt:/id'), 'invalid_redirect_uri'],
  ['javascript:', redirect('javascript:alert(1)'), 'invalid_redirect_uri'],
  ['data:', redirect('data:text/html,x'), 'invalid_redirect_uri'],
  ['a fragment', redirect(`${REDIRECT}#x`), 'invalid_redirect_uri'],
  ['an empty fragment', redirect(`${REDIRECT}#`), 'invalid_redirect_uri'],
  ['a wildcard', redirect('https://*.new.example/cb'), 'invalid_redirect_uri'],
  ['credentials in a redirect URI', redirect('https://bank.example@new.example/cb'), 'invalid_redirect_uri'],
  ['a space in a redirect URI', redirect('https://new.example/c b'), 'invalid_redirect_uri'],
  ['a relative redirect URI', redirect('/cb'), 'invalid_redirect_uri'],
  // Its origin is part of the Content-Security-Policy of the logout page.
  ...[';sandbox', ',sandbox', "'self'", '&x', '(x)', '!', '$', '=', '`', '{x}', '"'].map(
    text =>
      [`a host with ${text}`, redirect(REDIRECT, `https://new.example${text}/cb`), 'invalid_redirect_uri'] as const,
  ),
  ['the host of a client that an administrator created', redirect('https://app.example/other'), 'invalid_redirect_uri'],
  ['too many redirect URIs', redirect(...uris(21))],
  ['redirect URIs that are not strings', redirect(1)],
  ['redirect_uris as a string', { ...METADATA, redirect_uris: REDIRECT }],
  ['the password grant', { ...METADATA, grant_types: ['authorization_code', 'password'] }],
  ['the client_credentials grant', { ...METADATA, grant_types: ['authorization_code', 'client_credentials'] }],
  ['the implicit grant by default', { ...METADATA, grant_types: ['implicit'], response_types: ['id_token'] }],
  [
    'a response type without its grant type',
    { ...METADATA, grant_types: ['authorization_code'], response_types: ['id_token'] },
  ],
  ['a grant type without its response type', { ...METADATA, grant_types: ['authorization_code'], response_types: [] }],
  ['only the refresh_token grant', { ...METADATA, grant_types: ['refresh_token'], response_types: [] }],
  ['an unknown response type', { ...METADATA, response_types: ['cookie'] }],
  ['an administrative scope', { ...METADATA, scope: 'openid svc.admin' }],
  ['a scope of another API', { ...METADATA, scope: 'cloud.read' }],
  ['a wildcard scope', { ...METADATA, scope: '*' }],
  ['an unknown authentication method', { ...METADATA, token_endpoint_auth_method: 'client_secret_jwt' }],
  ['private_key_jwt without keys', { ...METADATA, token_endpoint_auth_method: 'private_key_jwt' }],
  ['both jwks and jwks_uri', { ...METADATA, jwks: keys(1), jwks_uri: 'https://new.example/keys' }],
  ['eleven keys', { ...METADATA, jwks: keys(11) }],
  ['private keys', { ...METADATA, jwks: { keys: [{ ...keys(1).keys[0], d: 'd' }] } }],
  ['symmetric keys', { ...METADATA, jwks: { keys: [{ kty: 'oct', k: 'x' }] } }],
  ['jwks_uri with scheme file:', { ...METADATA, jwks_uri: 'file:///etc/passwd' }],
  ['unsigned ID tokens', { ...METADATA, id_token_signed_response_alg: 'none' }],
  ['ID tokens signed with HS256', { ...METADATA, id_token_signed_response_alg: 'HS256' }],
  ['encrypted ID tokens', { ...METADATA, id_token_encrypted_response_alg: 'RSA-OAEP' }],
  ['a software statement', { ...METADATA, software_statement: 'a.b.c' }, 'unapproved_software_statement'],
  ['a name that is too long', { ...METADATA, client_name: 'x'.repeat(101) }],
  ['a name that is not a string', { ...METADATA, client_name: ['x'] }],
  // The approval page would show no name.
  ...['\u200b', '\u3164', '\u202e\u2066', '\n', '\u2800', '\u{e0041}'].map(
    name => [`the invisible name ${JSON.stringify(name)}`, { ...METADATA, client_name: name }] as const,
  ),
  ...['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'initiate_login_uri'].flatMap(name =>
    ['javascript:alert(1)', 'http://new.example/', 'data:text/html,x', '//new.example', 'https://u:p@new.example/'].map(
      value => [`${value} as ${name}`, { ...METADATA, [name]: value }] as const,
    ),
  ),
  ['a negative default_max_age', { ...METADATA, default_max_age: -1 }],
  ['contacts as a string', { ...METADATA, contacts: 'a@new.example' }],
  ['an unknown application_type', { ...METADATA, application_type: 'toaster' }],
  ['a JSON array', []],
  ['malformed JSON', '{'],
  ['a NUL character', { ...METADATA, client_name: 'a\0b' }],
]

const errorOf = (answer: { json(): Record<string, unknown>; status: number }): string =>
  `${answer.status} ${String(answer.json()['error'])}`

for (const mode of MODES) {
  describe(`POST /connect/register in mode open, in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startRegistrationServer({ mode: 'open' }, { mode })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers later standards: dynamic client registration
    // Covers POST /connect/register: body; response: client_id; client_secret; registration_access_token
    it('returns the credentials and the default metadata', async () => {
      const answer = await register(server)
      assert.equal(answer.status, 201, answer.text)
      assert.equal(answer.headers['cache-control'], 'no-store')
      const reported = registered(answer)
      assert.match(reported.client_id, /^[\w-]{22}$/)
      assert.match(reported.client_secret, /^[\w-]{43}$/)
      assert.equal(reported.client_secret_expires_at, 0)
      assert.match(reported.registration_access_token, /^[\w-]{43}$/)
      assert.equal(reported.registration_client_uri, `${server.baseUrl}/connect/register/${reported.client_id}`)
      const { grant_types, response_types, redirect_uris, token_endpoint_auth_method, application_type } = reported
      assert.deepEqual(
        { grant_types, response_types, redirect_uris, token_endpoint_auth_method, application_type },
        {
          grant_types: ['authorization_code'],
          response_types: ['code'],
          redirect_uris: [REDIRECT],
          token_endpoint_auth_method: 'client_secret_basic',
          application_type: 'web',
        },
      )
      assert.equal(reported.scope, 'openid profile email phone address')
    })

    it('is not loaded before the first request', () => {
      assert.ok(!loadedAtStart().some(url => url.endsWith('/registration/registration.ts')))
    })

    it('creates a client that requires approval by the user', async () => {
      const client = registered(await register(server))
      const browser = await signedIn(server)
      const request = {
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: REDIRECT,
        scope: 'openid',
        state: 's',
      }
      const page = await authorize(browser, request)
      assert.equal(page.status, 200, 'approval is required')
      assert.match(page.text, /A new application/)
      const answer = await browser.send('/oauth/authorize', {
        form: { user_oauth_approval: 'true', 'scope.0': 'scope.openid', 'X-Svc-Csrf': browser.csrf },
      })
      const code = answer.location().searchParams.get('code') ?? ''
      assert.notEqual(code, '', answer.text)
      const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT }
      const tokens = await server.token(form, { basic: [client.client_id, client.client_secret] })
      assert.equal(tokens.status, 200, tokens.text)
    })

    it('creates a client whose approval page warns and links to its policies', async () => {
      const redirect_uris = [REDIRECT, 'https://elsewhere.example/cb']
      const logo_uri = 'https://logo.example/logo.png'
      const metadata = { ...METADATA, redirect_uris, policy_uri: 'https://new.example/privacy', logo_uri }
      const { client_id } = registered(await register(server, metadata))
      const browser = await signedIn(server)
      const request = { response_type: 'code', client_id, redirect_uri: REDIRECT, scope: 'openid' }
      const { text, headers } = await authorize(browser, request)
      assert.match(text, /id="self_registered"[^]*elsewhere\.example/)
      assert.match(
        text,
        /<a href="https:\/\/new\.example\/privacy" target="_blank" rel="noopener noreferrer nofollow">/,
      )
      assert.doesNotMatch(text, /logo\.example/, 'no external image is loaded')
      assert.match(String(headers['content-security-policy']), /script-src 'self'/)
      const ours = await authorize(browser, { ...request, client_id: 'app', redirect_uri: 'https://app.example/cb' })
      assert.doesNotMatch(ours.text, /self_registered|client_links/)
    })

    it('requires approval again after a change of redirect URIs or name only', async () => {
      const client = registered(await register(server))
      const { client_id } = client
      const { id } = await userNamed(server, 'marissa')
      const approved = async () => (await server.store.approvals.list('svc', id, client_id, server.clock.now())).length
      const approve = () =>
        server.store.approvals.save('svc', [
          {
            zoneId: 'svc',
            userId: id,
            clientId: client_id,
            scope: 'openid',
            status: 'APPROVED',
            expiresAt: addSeconds(server.clock.now(), 60),
            updatedAt: server.clock.now(),
          },
        ])
      let token = client
      for (const [change, left] of [
        [{ contacts: ['a@new.example'] }, 1],
        [{ redirect_uris: [REDIRECT, 'https://elsewhere.example/cb'] }, 0],
        [{ redirect_uris: [REDIRECT] }, 1],
        [{ client_name: 'Your bank' }, 0],
      ] as const) {
        await approve()
        token = registered(await manage(server, 'PUT', token, { client_id, ...METADATA, ...change }))
        assert.equal(await approved(), left, JSON.stringify(change))
      }
    })

    it('stores only digests of secrets', async () => {
      const client = registered(await register(server))
      const stored = JSON.stringify(await server.store.clients.find('svc', client.client_id))
      assert.ok(!stored.includes(client.client_secret))
      assert.ok(!stored.includes(client.registration_access_token))
    })

    it('accepts known metadata, and ignores unknown', async () => {
      const metadata = {
        ...METADATA,
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
        scope: 'openid profile offline_access',
        client_uri: 'https://new.example',
        policy_uri: 'https://new.example/policy',
        tos_uri: 'https://new.example/terms',
        logo_uri: 'https://new.example/logo.png',
        initiate_login_uri: 'https://new.example/login',
        contacts: ['a@new.example'],
        software_id: 'software',
        software_version: '1',
        default_max_age: 60,
        require_auth_time: true,
        default_acr_values: ['1'],
        post_logout_redirect_uris: ['https://new.example/bye'],
      }
      const ignored = {
        unknown: 'x',
        authorities: ['svc.admin'],
        autoapprove: true,
        allowpublic: true,
        client_id: 'app',
      }
      const registration = registered(await register(server, { ...metadata, ...ignored }))
      const reported: Record<string, unknown> = { ...registration }
      const read = (await manage(server, 'GET', registration)).json()
      for (const [name, value] of Object.entries({ ...metadata, scope: 'openid profile' })) {
        assert.deepEqual([reported[name], read[name]], [value, value], name)
      }
      for (const name of ['unknown', 'authorities', 'autoapprove', 'allowpublic'])
        assert.equal(reported[name], undefined)
      const client = await server.store.clients.find('svc', String(reported['client_id']))
      assert.ok(client)
      assert.deepEqual([client.authorities, client.autoapprove], [['svc.none'], []])
      assert.deepEqual([client.requireNonce, client.allowPublic], [true, undefined])
      assert.deepEqual(client.additional, {})
    })

    it('accepts Ed25519 as algorithm name (RFC 9864)', async () => {
      const answer = await register(server, { ...METADATA, token_endpoint_auth_signing_alg: 'Ed25519' })
      assert.equal(answer.status, 201, answer.text)
      assert.equal(answer.json()['token_endpoint_auth_signing_alg'], 'Ed25519')
    })

    it('reports the maximum length of list items', async () => {
      const answer = await register(server, { ...METADATA, contacts: ['x'.repeat(2001)] })
      const description = 'contacts must be a list of at most 20 strings of 1 to 2000 characters'
      assert.deepEqual([answer.status, answer.json()['error_description']], [400, description])
    })

    it('treats empty strings and null as omitted', async () => {
      const nothing = {
        logo_uri: '',
        policy_uri: null,
        scope: '',
        jwks_uri: '',
        contacts: null,
        jwks: null,
        software_statement: '',
        id_token_encrypted_response_alg: null,
        userinfo_encrypted_response_enc: '',
        authorization_encrypted_response_alg: 'none',
      }
      const reported = registered(await register(server, { ...METADATA, ...nothing, client_name: '' }))
      assert.equal(reported.scope, 'openid profile email phone address')
      for (const name of ['client_name', ...Object.keys(nothing).filter(each => each !== 'scope')]) {
        assert.equal(Reflect.get(reported, name), undefined, name)
      }
    })

    it('refuses require_signed_request_object without keys if request objects are enabled', async () => {
      const metadata = { ...METADATA, require_signed_request_object: true }
      const answer = await register(server, metadata)
      if (mode === 'uaa') {
        assert.equal(answer.status, 201, answer.text)
        return
      }
      assert.equal(errorOf(answer), '400 invalid_client_metadata')
      assert.match(answer.text, /signed authorization requests need jwks or jwks_uri/)
      assert.equal((await register(server, { ...metadata, jwks: keys(1) })).status, 201)
    })

    it('refuses keys that cannot verify required signatures', async () => {
      const { n = '', e } = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
      const short = { kty: 'RSA', n, e, kid: 'short' }
      const signing = { ...METADATA, token_endpoint_auth_method: 'private_key_jwt' }
      const good = { ...keys(1).keys[0], kid: 'good' }
      for (const key of [short, { ...good, kid: 'x', x: 'x' }, { ...good, kid: 'enc', use: 'enc' }]) {
        const answer = await register(server, { ...signing, jwks: { keys: [key] } })
        assert.equal(errorOf(answer), '400 invalid_client_metadata', JSON.stringify(key))
        assert.match(answer.text, /no key of jwks can verify signatures/)
        assert.equal((await register(server, { ...METADATA, jwks: { keys: [key] } })).status, 201)
        assert.equal((await register(server, { ...signing, jwks: { keys: [key, good] } })).status, 201)
      }
      const foreign = { ...signing, token_endpoint_auth_signing_alg: 'ES256', jwks: { keys: [good] } }
      assert.match((await register(server, foreign)).text, /no key of jwks can verify signatures by ES256;/)
      const fitting = { ...foreign, token_endpoint_auth_signing_alg: 'Ed25519' }
      assert.equal((await register(server, fitting)).status, 201)
      const requests = { ...METADATA, request_object_signing_alg: 'PS256', require_signed_request_object: true }
      const answer = await register(server, { ...requests, jwks: { keys: [good] } })
      if (mode === 'uaa') assert.equal(answer.status, 201, answer.text)
      else assert.match(answer.text, /no key of jwks can verify signatures by PS256;/)
    })

    it('drops the device grant, which some clients copy from discovery', async () => {
      const device = 'urn:ietf:params:oauth:grant-type:device_code'
      const sent = {
        client_name: 'An editor',
        client_uri: 'https://editor.example',
        grant_types: ['authorization_code', 'refresh_token', device],
        response_types: ['code'],
        redirect_uris: ['https://editor.example/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      }
      const { client_id, grant_types } = registered(await register(server, sent))
      assert.deepEqual(grant_types, ['authorization_code', 'refresh_token'])
      const asked = await server.send('/oauth/device_authorization', { form: { client_id: client_id ?? '' } })
      assert.notEqual(asked.status, 200)
      const alone = await register(server, { ...sent, grant_types: [device], response_types: [] })
      assert.equal(errorOf(alone), '400 invalid_client_metadata')
    })

    it('accepts the metadata of command line tools and agents', async () => {
      const sent = {
        client_name: 'An agent',
        redirect_uris: ['http://localhost:3334/oauth/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        client_uri: 'https://agents.example/cli',
        software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
        software_version: '0.1.0',
      }
      const reported = registered(await register(server, sent))
      assert.deepEqual([reported.application_type, reported.grant_types], ['native', sent.grant_types])
      const browser = await signedIn(server)
      const request = {
        response_type: 'code',
        client_id: reported.client_id,
        redirect_uri: sent.redirect_uris[0],
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      }
      assert.equal((await authorize(browser, request)).status, 200)
      if (mode === 'standard') {
        const bare = { ...request, code_challenge: undefined, code_challenge_method: undefined }
        assert.match(String((await authorize(browser, bare)).headers['location']), /error=invalid_request/)
      }
    })

    it('accepts only resources that the zone lists', async () => {
      const resources = ['https://tools.example/mcp']
      await setRegistration(server, { mode: 'open', resources })
      const reported = registered(await register(server, { ...METADATA, resources: ['https://other.example/'] }))
      assert.deepEqual((await server.store.clients.find('svc', reported.client_id))?.resources, resources)
      await setRegistration(server, { mode: 'open' })
      const none = registered(await register(server, { ...METADATA, resources }))
      assert.equal((await server.store.clients.find('svc', none.client_id))?.resources, undefined)
    })

    it('accepts a native public client with OAuth metadata only', async () => {
      const redirect_uris = ['http://127.0.0.1:3000/cb', 'http://localhost/cb', 'com.example.app:/cb']
      const reported = registered(await register(server, { redirect_uris, token_endpoint_auth_method: 'none' }))
      assert.deepEqual([reported.application_type, reported.client_secret], ['native', undefined])
      assert.equal((await server.store.clients.find('svc', reported.client_id))?.allowPublic, true)
    })

    for (const [name, metadata, error = 'invalid_client_metadata'] of REFUSED) {
      it(`refuses ${name}`, async () => {
        const before = server.events.length
        const answer = await register(server, metadata)
        assert.equal(errorOf(answer), `400 ${error}`, answer.text)
        assert.equal(server.events.length, before)
      })
    }

    // Covers any /connect/register/{client_id}: rule: read, change and delete by the client itself
    it('allows only the client to read, change and delete itself', async () => {
      const first = registered(await register(server))
      const read = registered(await manage(server, 'GET', first))
      assert.deepEqual(
        [read.client_id, read.client_secret, read.registration_access_token],
        [first.client_id, undefined, first.registration_access_token],
      )
      const changed = registered(
        await manage(server, 'PUT', first, {
          client_id: first.client_id,
          client_secret: first.client_secret,
          ...METADATA,
          client_name: 'Another name',
        }),
      )
      assert.equal((await server.store.clients.find('svc', first.client_id))?.name, 'Another name')
      assert.notEqual(changed.registration_access_token, first.registration_access_token)
      assert.equal(errorOf(await manage(server, 'GET', first)), '401 invalid_token')
      assert.equal((await manage(server, 'DELETE', changed)).status, 204)
      assert.equal(await server.store.clients.find('svc', first.client_id), undefined)
      const gone = await manage(server, 'GET', changed)
      assert.equal(errorOf(gone), '401 invalid_token')
      assert.match(String(gone.headers['www-authenticate']), /^Bearer realm="SVC\/oauth", error="invalid_token"/)
    })

    it('refuses changes of server-assigned metadata', async () => {
      const client = registered(await register(server))
      const { client_id } = client
      for (const more of [
        { client_id: 'app' },
        { client_id: undefined },
        { registration_access_token: 'x' },
        { registration_client_uri: 'x' },
        { client_id_issued_at: 1 },
        { client_secret: 'a secret of mine' },
        { redirect_uris: [] },
      ]) {
        const answer = await manage(server, 'PUT', client, { client_id, ...METADATA, ...more })
        assert.equal(answer.status, 400, JSON.stringify(more))
      }
      assert.equal((await manage(server, 'GET', client)).status, 200, 'the registration access token remains valid')
    })

    it('limits changes of a client to 60 per hour', async () => {
      let client = registered(await register(server))
      const change = (): ReturnType<typeof manage> =>
        manage(server, 'PUT', client, { client_id: client.client_id, ...METADATA })
      for (let count = 0; count < 60; count += 1) client = registered(await change())
      assert.equal((await change()).status, 429)
      server.clock.advance(3600)
      registered(await change())
    })

    it('replaces the secret when the authentication method changes', async () => {
      const client = registered(await register(server))
      const { client_id, client_secret } = client
      const public_ = { client_id, ...METADATA, token_endpoint_auth_method: 'none' }
      const changed = registered(await manage(server, 'PUT', client, public_))
      assert.equal(changed.client_secret, undefined)
      const stored = await server.store.clients.find('svc', client_id)
      assert.deepEqual([stored?.secrets, stored?.allowPublic], [[], true])
      const again = registered(await manage(server, 'PUT', changed, { client_id, ...METADATA }))
      assert.match(again.client_secret, /^[\w-]{43}$/)
      assert.notEqual(again.client_secret, client_secret)
      assert.equal((await server.store.clients.find('svc', client_id))?.allowPublic, undefined)
    })

    it('keeps settings of administrators, and refuses changes of a client with additional privileges', async () => {
      const client = registered(await register(server))
      const { client_id } = client
      const change = async (more: object): Promise<void> => {
        const stored = await server.store.clients.find('svc', client_id)
        assert.ok(stored)
        await server.store.clients.update('svc', { ...stored, ...more })
      }
      await change({ requiredUserGroups: ['cloud.read'], accessTokenSeconds: 60, tokenSalt: 'salt' })
      const changed = registered(await manage(server, 'PUT', client, { client_id, ...METADATA }))
      const stored = await server.store.clients.find('svc', client_id)
      assert.deepEqual(
        [stored?.requiredUserGroups, stored?.accessTokenSeconds, stored?.tokenSalt, stored?.requireNonce],
        [['cloud.read'], 60, 'salt', true],
      )
      for (const more of [{ autoapprove: true }, { authorities: ['jobs.run'] }, { scope: ['svc.user'] }]) {
        await change({ autoapprove: [], authorities: ['svc.none'], scope: ['openid'], ...more })
        const answer = await manage(server, 'PUT', changed, { client_id, ...METADATA })
        assert.equal(errorOf(answer), '403 access_denied', JSON.stringify(more))
      }
      assert.equal((await manage(server, 'GET', changed)).status, 200)
    })

    it('accepts tls_client_auth with a subject if mutual TLS is enabled', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const setMutualTls = (mutualTls: boolean) =>
        server.store.zones.update({ ...zone, config: { ...zone.config, protocols: { mutualTls } } })
      const metadata = { ...METADATA, token_endpoint_auth_method: 'tls_client_auth' }
      const named = { ...metadata, tls_client_auth_san_dns: 'new.example' }
      await setMutualTls(true)
      assert.equal(errorOf(await register(server, metadata)), '400 invalid_client_metadata')
      const reported = registered(await register(server, named))
      assert.deepEqual([reported.token_endpoint_auth_method, reported.client_secret], ['tls_client_auth', undefined])
      await setMutualTls(false)
      assert.equal(errorOf(await register(server, named)), '400 invalid_client_metadata')
      await server.store.zones.update(zone)
    })

    it('ignores metadata of disabled protocols', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      for (const dpop of [false, true]) {
        await server.store.zones.update({ ...zone, config: { ...zone.config, protocols: { dpop } } })
        const answer = registered(await register(server, { ...METADATA, dpop_bound_access_tokens: true }))
        assert.equal(Reflect.get(answer, 'dpop_bound_access_tokens'), dpop ? true : undefined)
      }
      await server.store.zones.update(zone)
    })

    it('compares the query of redirect URIs, and requires redirect_uri', async () => {
      const [first, second] = [`${REDIRECT}?a=b`, `${REDIRECT}/2?a=b`]
      const { client_id } = registered(await register(server, { redirect_uris: [first] }))
      const two = registered(await register(server, { redirect_uris: [first, second] }))
      const browser = await signedIn(server)
      const ask = (redirect_uri: string | undefined, id = client_id) =>
        authorize(browser, { response_type: 'code', client_id: id, redirect_uri, scope: 'openid' })
      assert.equal((await ask(first)).status, 200)
      assert.equal((await ask(second, two.client_id)).status, 200)
      for (const uri of [REDIRECT, `${REDIRECT}?a=c`, `${first}&c=d`, undefined]) {
        assert.equal((await ask(uri)).status, 400, uri)
      }
    })

    it('compares redirect URIs exactly', async () => {
      const { client_id } = registered(await register(server))
      const browser = await signedIn(server)
      for (const redirect_uri of [`${REDIRECT}/more`, 'https://a.new.example/cb', `${REDIRECT}?x=y`]) {
        const answer = await authorize(browser, { response_type: 'code', client_id, redirect_uri })
        assert.equal(answer.status, 400, redirect_uri)
      }
    })

    it('refuses response types that are not registered', async () => {
      await setRegistration(server, { mode: 'open', grantTypes: ['authorization_code', 'implicit', 'refresh_token'] })
      const metadata = { ...METADATA, response_types: ['code id_token', 'code'] }
      const client = registered(await register(server, metadata))
      assert.deepEqual(client.grant_types, ['authorization_code', 'implicit'])
      const browser = await signedIn(server)
      const ask = (response_type: string) =>
        authorize(browser, {
          response_type,
          client_id: client.client_id,
          redirect_uri: REDIRECT,
          nonce: 'n',
          scope: 'openid',
        })
      // UAA checks grant types last, after approval.
      if (mode === 'standard')
        assert.match(String((await ask('id_token')).headers['location']), /error=(?:unauthorized|invalid)_client/)
      assert.equal((await ask('id_token code')).status, 200)
      await setRegistration(server, { mode: 'open' })
    })

    it('answers 404 unless it is enabled in the zone', async () => {
      const client = registered(await register(server))
      for (const policy of [undefined, {}, { mode: 'off' }]) {
        await setRegistration(server, policy)
        const answers = [
          await register(server),
          await register(server, '{'),
          await manage(server, 'GET', client),
          await manage(server, 'DELETE', client),
        ]
        for (const answer of answers) {
          assert.equal(errorOf(answer), '404 not_found')
          assert.equal(answer.json()['error_description'], 'This feature is turned off here.')
        }
      }
      const metadata = (await server.send('/.well-known/openid-configuration')).json()
      assert.equal(metadata['registration_endpoint'], undefined)
      await setRegistration(server, { mode: 'open' })
      const reported = (await server.send('/.well-known/openid-configuration')).json()
      const want = mode === 'standard' ? `${server.baseUrl}/connect/register` : undefined
      assert.equal(reported['registration_endpoint'], want)
    })
  })
}
