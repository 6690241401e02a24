// Differences of the token endpoint from the standard: rows C5, C11 and T9 of docs/compatibility.md.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APP, MODES, NO_CREDENTIALS, SERVICE, refused, tokensOf } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import type { TestRequest, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const GRANT = { grant_type: 'client_credentials' }
const PASSWORD_GRANT = { grant_type: 'password', username: 'marissa', password: 'koala' }
const BASIC_BAD = 'Basic realm="SVC/client", error="unauthorized", error_description="Bad credentials"'

interface Case extends Refusal {
  readonly name: string
  readonly path?: string
  readonly request: TestRequest
}

const refusals: readonly Case[] = [
  ...[
    { name: 'a grant type', form: GRANT },
    { name: 'no parameters', form: {} },
    { name: 'an unknown grant type', form: { grant_type: 'x' } },
  ].map(
    ({ name, form }): Case => ({
      name: `missing client credentials with ${name}`,
      request: { form },
      want: '401 invalid_client',
      description: 'Bad credentials',
      challenge: BASIC_BAD,
    }),
  ),
  {
    name: 'a bearer token instead of client credentials',
    request: { form: GRANT, bearer: 'x' },
    want: '401 unauthorized',
    description: NO_CREDENTIALS.uaa,
  },
  {
    name: 'missing client credentials at another endpoint',
    path: '/check_token',
    request: { form: { token: 'x' } },
    want: '401 unauthorized',
    description: NO_CREDENTIALS.uaa,
  },
  {
    name: 'a wrong client secret without grant_type',
    request: { form: {}, basic: ['service', 'wrong'] },
    want: '401 invalid_client',
    challenge: BASIC_BAD,
  },
  {
    name: 'valid client credentials without grant_type',
    request: { form: {}, basic: SERVICE },
    want: '400 invalid_request',
    description: 'Missing grant type',
  },
  {
    name: 'a JSON body',
    request: {
      body: JSON.stringify(GRANT),
      headers: { 'content-type': 'application/json' },
      basic: SERVICE,
      method: 'POST',
    },
    want: '400 invalid_request',
    description: 'Missing grant type',
  },
  {
    name: 'the client_id of another client',
    request: { form: { ...GRANT, client_id: 'app' }, basic: SERVICE },
    want: '401 invalid_client',
    challenge: 'Bearer error="invalid_client", error_description="Given client ID does not match authenticated client"',
  },
  ...['koala', 'wrong'].map(
    (password): Case => ({
      name: `a client without scopes with user password ${password}`,
      request: { form: { ...PASSWORD_GRANT, password }, basic: SERVICE },
      want: '400 invalid_scope',
      description: '[svc.none] is invalid. This user is not allowed any of the requested scopes',
      challenge: 'Basic realm="SVC/client"',
    }),
  ),
  ...[
    'client_secret=service-secret',
    'password=koala',
    'code=x',
    'refresh_token=x',
    'assertion=x',
    'x=y',
    'scope=jobs.run&code=x',
  ].map(
    (query): Case => ({
      name: `a secret or an unknown parameter in the query: ${query}`,
      path: `/oauth/token?${query}`,
      request: { form: GRANT, basic: SERVICE },
      want: '406 query_string_not_allowed',
    }),
  ),
  {
    name: 'a token in the query of /check_token',
    path: '/check_token?token=x',
    request: { form: {}, basic: ['resource', 'resource-secret'] },
    want: '406 query_string_not_allowed',
  },
]

describe('Token endpoint in uaa', () => {
  let server: TestServer
  before(async () => (server = await startServer({ mode: 'uaa' })))
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  for (const { name, path = '/oauth/token', request, ...refusal } of refusals) {
    it(`refuses ${name}`, async () => {
      await refused(server, 'uaa', () => server.send(path, { method: 'POST', ...request }), refusal)
    })
  }

  it('checks no password for a client without scopes', async () => {
    const failures = () => server.events.filter(({ type }) => /Failure/.test(type)).length
    const before = failures()
    for (const password of ['koala', 'wrong']) await server.token({ ...PASSWORD_GRANT, password }, { basic: SERVICE })
    assert.equal(failures(), before)
  })

  const queries = [
    'grant_type=client_credentials',
    'grant_type=client_credentials&scope=jobs.run',
    'token_format=jwt&client_id=service',
  ]
  for (const query of queries) {
    it(`accepts non-secret parameters in the query: ${query}`, async () => {
      const form = query.includes('grant_type') ? {} : GRANT
      const { scope } = tokensOf(await server.send(`/oauth/token?${query}`, { form, basic: SERVICE }))
      assert.equal(scope, query.includes('scope') ? 'jobs.run' : 'jobs.run jobs.read')
    })
  }

  it('accepts the refresh request of uaa-cli', async () => {
    const { refresh_token } = tokensOf(await server.token(PASSWORD_GRANT, { basic: APP }))
    const form = { grant_type: 'refresh_token', refresh_token }
    tokensOf(await server.send('/oauth/token?token_format=jwt', { form, basic: APP }))
  })

  it('rounds expires_in down', async () => {
    assert.equal(tokensOf(await server.token(GRANT, { basic: SERVICE })).expires_in, 43_199)
  })
})

for (const mode of MODES) {
  it(`refuses GET with any query in ${mode}`, async () => {
    const server = await startServer({ mode })
    try {
      const answer = await server.send('/oauth/token', { query: GRANT, basic: SERVICE })
      assert.equal(answer.status, 405)
    } finally {
      await server.stop()
    }
  })
}

it('refuses a query in standard', async () => {
  const server = await startServer({})
  try {
    const answer = await server.send('/oauth/token?token_format=jwt', { form: GRANT, basic: SERVICE })
    assert.equal(answer.status, 406)
  } finally {
    await server.stop()
  }
})

for (const mode of MODES) {
  it(`accepts forms in ISO-8859-1 in uaa only, in ${mode}`, async () => {
    const bootstrap = {
      ...defaultBootstrap,
      users: [{ userName: 'zoë', password: 'grüße und küsse', emails: [{ value: 'zoe@example.org' }] }],
    }
    const server = await startServer({ mode, config: { bootstrap } })
    try {
      const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=ISO-8859-1' }
      // Percent-encoded, as Java clients do, and raw bytes.
      const body = Buffer.from('grant_type=password&username=zo%EB&password=gr\xfc%dfe+und+k%FCsse', 'latin1')
      const answer = await server.send('/oauth/token', { method: 'POST', body, headers, basic: APP })
      assert.equal(answer.status, mode === 'uaa' ? 200 : 400, answer.text)
    } finally {
      await server.stop()
    }
  })
}
