import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'
import {
  changeClient,
  clientNamed,
  insertCode,
  MODES,
  NO_CREDENTIALS,
  refresh,
  refused,
  tokensOf,
} from '../../support/oauth.ts'
import type { Refusal } from '../../support/oauth.ts'

const CREDENTIALS = { grant_type: 'client_credentials' }
const VERIFIER = 'a'.repeat(43)
/** BASE64URL(SHA-256(VERIFIER)). */
const CHALLENGE = 'ZtNPunH49FD35FWYhT5Tv8I7vRKQJ8uxMaL0_9eHjNA'
const STRANGE_ID = 'cl:ient +%ü'
const STRANGE_SECRET = 'se:cret +%&=ü'

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: STRANGE_ID,
      client_secret: STRANGE_SECRET,
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
    },
    { client_id: 'cli', client_secret: '', authorized_grant_types: ['password'], scope: ['openid'] },
    {
      client_id: 'two',
      client_secret: 'old-secret',
      secondary_client_secret: 'new-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
    },
    { client_id: 'bare', authorized_grant_types: ['password'], scope: ['openid'] },
    {
      client_id: 'both',
      client_secret: 'both-secret',
      allowpublic: true,
      authorized_grant_types: ['authorization_code'],
      scope: ['openid'],
      redirect_uri: ['https://both.example/cb'],
      autoapprove: true,
    },
  ],
}

const basicHeader = (text: string): TestRequest => ({
  headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` },
})
const authorization = (value: string): TestRequest => ({ headers: { authorization: value } })
const BASE64 = Buffer.from('service:service-secret').toString('base64') // 22 bytes, so it ends in one padding character
const BAD = /^Basic realm="SVC\/client", error="unauthorized", error_description="Bad credentials"$/

interface Accepted {
  readonly name: string
  readonly form?: Readonly<Record<string, string>>
  readonly request?: TestRequest
}

const accepted: readonly Accepted[] = [
  // Covers client authentication: client_secret_basic
  { name: 'a secret in the header', request: { basic: ['service', 'service-secret'] } },
  { name: 'the scheme in any case', request: authorization(`bAsIc ${BASE64}`) },
  { name: 'base64 without padding', request: authorization(`Basic ${BASE64.replace(/=+$/, '')}`) },
  // Covers client authentication: client_secret_post
  // Covers POST /oauth/token: client_secret
  { name: 'a secret in the form', form: { client_id: 'service', client_secret: 'service-secret' } },
  // Covers POST /oauth/token: client_id
  {
    name: 'the client_id in the form beside the header',
    form: { client_id: 'service' },
    request: { basic: ['service', 'service-secret'] },
  },
  // Covers client authentication: `client_secret_basic` with percent-encoding
  {
    name: 'form-encoded special characters in the header',
    request: { basic: [STRANGE_ID, STRANGE_SECRET] },
  },
  {
    name: 'a plus sign for a space in the header',
    request: basicHeader('cl%3Aient++%25%C3%BC:se%3Acret++%25%26%3D%C3%BC'.replaceAll('++', '+%2B')),
  },
  { name: 'special characters in the form', form: { client_id: STRANGE_ID, client_secret: STRANGE_SECRET } },
  // Covers client authentication: two secrets at a time
  { name: 'the older of two secrets', request: { basic: ['two', 'old-secret'] } },
  { name: 'the newer of two secrets', request: { basic: ['two', 'new-secret'] } },
]

interface Rejected extends Refusal {
  readonly name: string
  readonly form?: Readonly<Record<string, string>>
  readonly request?: TestRequest
}

const bad = { want: '401 invalid_client', challenge: BAD } as const
const nobody = {
  want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
  description: NO_CREDENTIALS,
} as const

const rejected: readonly Rejected[] = [
  // Covers error body: error: `invalid_client` 401
  // Covers client authentication: error: wrong secret
  { name: 'a wrong secret', request: { basic: ['service', 'wrong'] }, description: 'Bad credentials', ...bad },
  // Covers client authentication: error: unknown client
  { name: 'an unknown client', request: { basic: ['nobody', 'wrong'] }, description: 'Bad credentials', ...bad },
  {
    name: 'an empty secret of a client with a secret',
    request: { basic: ['service', ''] },
    description: 'Bad credentials',
    ...bad,
  },
  { name: 'an empty client id', request: { basic: ['', 'service-secret'] }, description: 'Bad credentials', ...bad },
  { name: 'a client id in another case', request: { basic: ['Service', 'service-secret'] }, ...bad },
  { name: 'a client id with a NUL character', request: { basic: ['service\0', 'service-secret'] }, ...bad },
  { name: 'a secret followed by a NUL character', request: { basic: ['service', 'service-secret\0'] }, ...bad },
  {
    name: 'a wrong secret in the form',
    form: { client_id: 'service', client_secret: 'wrong' },
    description: 'Bad credentials',
    ...bad,
  },
  {
    name: 'an unknown client in the form',
    form: { client_id: 'nobody', client_secret: 'wrong' },
    description: 'Bad credentials',
    ...bad,
  },
  // Covers client authentication: error: secret missing
  { name: 'a client_id without its secret', form: { client_id: 'service' }, description: 'Bad credentials', ...bad },
  { name: 'an unknown client_id alone', form: { client_id: 'nobody' }, description: 'Bad credentials', ...bad },
  { name: 'a client_secret alone', form: { client_secret: 'service-secret' }, description: 'Bad credentials', ...bad },
  // Covers client authentication: error: no secret and not public
  {
    name: 'the client_id of a client without a secret that is not public',
    form: { grant_type: 'password', client_id: 'bare', username: 'marissa', password: 'koala' },
    description: 'Missing credentials',
    ...bad,
  },
  {
    name: 'an empty secret of a client without a secret',
    form: { grant_type: 'password', username: 'marissa', password: 'koala' },
    request: { basic: ['bare', ''] },
    description: 'Bad credentials',
    ...bad,
  },
  // Covers client authentication: error: base64 invalid
  {
    name: 'characters outside the base64 alphabet',
    request: authorization(`Basic ${BASE64.slice(0, 8)}!${BASE64.slice(8)}`),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  {
    name: 'base64url characters',
    request: authorization('Basic c2VydmljZTo_Pz8_'),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  {
    name: 'base64 with a space',
    request: authorization(`Basic ${BASE64.slice(0, 8)} ${BASE64.slice(8)}`),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  {
    name: 'truncated base64',
    request: authorization('Basic c2Vyd'),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  {
    name: 'base64 with too little padding',
    request: authorization(`Basic ${Buffer.from('service:service-secre').toString('base64')}=`),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  {
    name: 'base64 with too much padding',
    request: authorization(`Basic ${BASE64}=`),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  {
    name: 'base64 of bytes that are not UTF-8',
    request: authorization(`Basic ${Buffer.from('service:\xff', 'latin1').toString('base64')}`),
    description: 'Failed to decode basic authentication token',
    ...bad,
  },
  // Covers client authentication: error: no colon
  {
    name: 'a token without a colon',
    request: basicHeader('service'),
    description: 'Invalid basic authentication token',
    ...bad,
  },
  // Covers client authentication: error: bad percent-encoding
  {
    name: 'an incomplete percent-encoding in the header',
    request: basicHeader('service:service-secret%4'),
    description: 'Failed to URL Decode credentials',
    ...bad,
  },
  {
    name: 'a percent-encoding that is not UTF-8 in the header',
    request: basicHeader('service:%ff'),
    description: 'Failed to URL Decode credentials',
    ...bad,
  },
  {
    name: 'doubly encoded credentials',
    request: basicHeader(`${encodeURIComponent(encodeURIComponent(STRANGE_ID))}:${encodeURIComponent(STRANGE_SECRET)}`),
    description: 'Bad credentials',
    ...bad,
  },
  // Covers client authentication: error: `client_id` differs from the authenticated client
  // Covers POST /oauth/token: error: `client_id` differs
  {
    name: 'a form that names another client than the header',
    form: { client_id: 'app' },
    request: { basic: ['service', 'service-secret'] },
    description: 'Given client ID does not match authenticated client',
    want: '401 invalid_client', // UAA has another challenge: see uaa-token.test.ts
  },
  // Covers error body: error: unauthorized 401
  // Covers error body families: E1 authentication
  // Covers client authentication: error: no credentials
  // Covers POST /oauth/token: error: no client credentials
  // Covers compatibility: C11 error codes: no client credentials
  { name: 'no credentials', want: '401 invalid_client', challenge: /^Basic / },
  { name: 'the word Basic alone', request: authorization('Basic'), ...nobody },
  { name: 'a bearer token', request: { bearer: 'anything' }, ...nobody },
  {
    name: 'an unknown scheme, regardless of the form',
    form: { client_id: 'service', client_secret: 'service-secret' },
    request: authorization('Digest username="service"'),
    ...nobody,
  },
  {
    name: 'a bearer token, regardless of the form',
    form: { client_id: 'service', client_secret: 'service-secret' },
    request: { bearer: 'anything' },
    ...nobody,
  },
  {
    name: 'a public client without a proof',
    form: { grant_type: 'authorization_code', client_id: 'spa', code: 'x' },
    want: '401 invalid_client',
    challenge: BAD,
  },
  {
    name: 'a public client with client_credentials',
    form: { client_id: 'spa' },
    want: '401 invalid_client',
    challenge: BAD,
  },
  {
    name: 'a confidential client with a code_verifier alone',
    form: { grant_type: 'authorization_code', client_id: 'auto', code: 'x', code_verifier: VERIFIER },
    description: 'Bad credentials',
    ...bad,
  },
]

for (const mode of MODES) {
  describe(`Client authentication in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())
    const send = (form: Readonly<Record<string, string>> = {}, request: TestRequest = {}): Promise<TestAnswer> =>
      server.token({ ...CREDENTIALS, ...form }, request)

    for (const { name, form, request } of accepted) {
      it(`accepts ${name}`, async () => {
        const { access_token: token } = tokensOf(await send(form, request))
        assert.equal(decodeJwt(token)['client_auth_method'], undefined)
      })
    }

    for (const { name, form, request, ...refusal } of rejected) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => send(form, request), refusal)
      })
    }

    // Covers WWW-Authenticate: header: Basic realm of client authentication
    it('challenges a request without credentials in the format of the mode', async () => {
      const answer = await send()
      const error = ', error="unauthorized", error_description="Bad credentials"'
      assert.equal(answer.headers['www-authenticate'], `Basic realm="SVC/client"${mode === 'uaa' ? error : ''}`)
    })

    // Covers audit trail: ClientAuthenticationSuccess; ClientAuthenticationFailure
    it('records each outcome in the audit log, without secrets', async () => {
      const from = server.events.length
      await send({}, { basic: ['service', 'service-secret'] })
      await send({}, { basic: ['service', 'wrong-secret'] })
      await send({ client_id: 'app' }, { basic: ['service', 'service-secret'] })
      const events = server.events.slice(from)
      assert.deepEqual(
        events.map(({ type, principal }) => [type, principal]),
        [
          ['ClientAuthenticationSuccess', 'service'],
          ['TokenIssuedEvent', 'service'],
          ['ClientAuthenticationFailure', 'service'],
          ['ClientAuthenticationFailure', 'service'],
        ],
      )
      assert.doesNotMatch(JSON.stringify(events), /secret/)
    })

    // Covers client authentication: rule: clients are never locked out
    it('never locks out a client', async () => {
      for (let attempt = 0; attempt < 12; attempt += 1) await send({}, { basic: ['service', `wrong-${attempt}`] })
      tokensOf(await send({}, { basic: ['service', 'service-secret'] }))
    })

    // Covers client authentication: empty secret
    it('accepts an empty secret if set, with client_auth_method none', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      for (const credentials of [
        { form: { client_id: 'cli', client_secret: '' }, request: {} },
        { form: {}, request: { basic: ['cli', ''] as const } },
      ]) {
        const { access_token: token } = tokensOf(await send({ ...form, ...credentials.form }, credentials.request))
        assert.equal(decodeJwt(token)['client_auth_method'], 'none')
      }
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`A public client in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())
    const code = (clientId: string): Promise<string> =>
      insertCode(server, { clientId, scopes: ['openid'], codeChallenge: CHALLENGE, codeChallengeMethod: 'S256' })
    const form = (clientId: string, value: string) => ({
      grant_type: 'authorization_code',
      client_id: clientId,
      code: value,
      code_verifier: VERIFIER,
    })

    for (const clientId of ['spa', 'both']) {
      // Covers client authentication: none for `authorization_code`
      it(`exchanges a code with its verifier alone (${clientId}), with client_auth_method none`, async () => {
        const { access_token: token } = tokensOf(await server.token(form(clientId, await code(clientId))))
        assert.equal(decodeJwt(token)['client_auth_method'], 'none')
      })
    }

    it('without a secret may send an empty one in standard (C1)', async () => {
      const sending = async () => server.token({ ...form('spa', await code('spa')), client_secret: '' })
      if (mode === 'uaa') {
        await refused(server, mode, sending, { want: '401 invalid_client' })
        return
      }
      const first = tokensOf(await sending())
      assert.equal(decodeJwt(first.access_token)['client_auth_method'], 'none')
      tokensOf(await refresh(server, first.refresh_token, { client_id: 'spa', client_secret: '' }, null))
    })

    it('with a secret is refused with an empty one', async () => {
      const sending = async () => server.token({ ...form('both', await code('both')), client_secret: '' })
      await refused(server, mode, sending, { want: '401 invalid_client', description: 'Bad credentials' })
    })

    it('with a secret may authenticate with it', async () => {
      const answer = await server.token(form('both', await code('both')), { basic: ['both', 'both-secret'] })
      assert.equal(decodeJwt(tokensOf(answer).access_token)['client_auth_method'], undefined)
    })

    // Covers client authentication: none for `refresh_token`; claim: `client_auth_method` none
    // Covers access token claims: client_auth_method
    // Covers refresh token: client_auth_method
    it('refreshes tokens with its id alone, with client_auth_method none', async () => {
      const first = tokensOf(await server.token(form('spa', await code('spa'))))
      const second = tokensOf(await refresh(server, first.refresh_token, { client_id: 'spa' }, null))
      assert.equal(decodeJwt(second.access_token)['client_auth_method'], 'none')
    })

    it('is refused with a wrong secret', async () => {
      const value = await code('both')
      const sending = () => server.token({ ...form('both', value), client_secret: 'wrong' })
      await refused(server, mode, sending, { want: '401 invalid_client', description: 'Bad credentials' })
    })
  })
}

describe('Two methods of client authentication', () => {
  const basic = ['service', 'service-secret'] as const
  const cases = [
    { name: 'the header and the whole form', form: { client_id: 'service', client_secret: 'service-secret' } },
    { name: 'the header and a secret in the form', form: { client_secret: 'service-secret' } },
    { name: 'the header and a wrong secret in the form', form: { client_id: 'service', client_secret: 'wrong' } },
  ]
  const outcome = async (
    mode: CompatibilityMode,
    form: Readonly<Record<string, string>>,
    credentials: readonly [string, string] = basic,
  ): Promise<string> => {
    const server = await startServer({ mode })
    try {
      const answer = await server.token({ ...CREDENTIALS, ...form }, { basic: credentials })
      return `${answer.status} ${answer.json<{ error_description?: string }>().error_description ?? ''}`
    } finally {
      await server.stop()
    }
  }
  for (const { name, form } of cases) {
    // Covers compatibility: token endpoint: C2 two methods
    it(`are refused in standard: ${name} (C2)`, async () => {
      assert.equal(await outcome('standard', form), '400 Only one method of client authentication may be used')
    })
    // Covers client authentication: rule: Authorization before form credentials
    it(`give precedence to the header in uaa: ${name} (C2)`, async () =>
      assert.equal(await outcome('uaa', form), '200 '))
  }
  for (const mode of MODES) {
    it(`do not include empty parameters in ${mode} (RFC 6749 §3.2)`, async () => {
      assert.equal(await outcome(mode, { client_id: '', client_secret: '' }), '200 ')
    })
    it(`are not reported if the header is wrong in ${mode}`, async () => {
      assert.equal(await outcome(mode, { client_secret: '' }, ['service', 'wrong']), '401 Bad credentials')
    })
  }
})

describe('A changed client secret', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server.stop())
  const authenticate = async (secret: string): Promise<number> =>
    (await server.token(CREDENTIALS, { basic: ['service', secret] })).status

  it('is effective immediately despite the cache', async () => {
    assert.equal(await authenticate('service-secret'), 200)
    const { secrets } = await clientNamed(server, 'resource')
    await changeClient(server, 'service', { secrets })
    assert.deepEqual([await authenticate('service-secret'), await authenticate('resource-secret')], [401, 200])
  })

  it('with a bcrypt hash is accepted and rehashed with argon2id, keeping tokens valid', async () => {
    const { hash } = await import('@node-rs/bcrypt')
    const imported = [{ hash: `{bcrypt}${await hash('imported', 4)}`, revision: 'from-the-import' }]
    await changeClient(server, 'service', { secrets: imported })
    const first = tokensOf(await server.token(CREDENTIALS, { basic: ['service', 'imported'] }))
    const [renewed] = (await clientNamed(server, 'service')).secrets
    assert.match(String(renewed?.hash), /^\$argon2id\$/)
    assert.equal(renewed?.revision, 'from-the-import')
    const second = tokensOf(await server.token(CREDENTIALS, { basic: ['service', 'imported'] }))
    assert.equal(decodeJwt(first.access_token)['rev_sig'], decodeJwt(second.access_token)['rev_sig'])
  })
})
