// The requests that UAA's own clients make, as they make them, against a process in `uaa`: cf and uaa-cli (Go's oauth2, which
// sends `token_format` in the query), cf-java-client (credentials by Basic and in the form at once), Spring (a trailing
// slash, a body with DELETE).
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import type { ServerProcess } from '../support/process.ts'
import { serve } from '../support/process.ts'

const CALLBACK = 'http://localhost:9080/app/'
const GRANTS = ['authorization_code', 'password', 'refresh_token']
const CONFIG = {
  service: 'uaa',
  compatibility: 'uaa',
  bootstrap: {
    groups: [{ displayName: 'cloud_controller.read', description: 'View your applications' }],
    clients: [
      {
        client_id: 'admin',
        client_secret: 'adminsecret',
        authorized_grant_types: ['client_credentials'],
        authorities: ['uaa.admin', 'clients.admin', 'clients.read', 'clients.write', 'uaa.resource'],
      },
      {
        client_id: 'cf',
        client_secret: '',
        authorized_grant_types: ['password', 'refresh_token'],
        scope: ['openid', 'uaa.user', 'cloud_controller.read'],
        autoapprove: true,
      },
      ...['ssh-proxy', 'app'].map(id => ({
        client_id: id,
        client_secret: `${id}-secret`,
        authorized_grant_types: GRANTS,
        scope: ['openid', 'cloud_controller.read'],
        redirect_uri: [CALLBACK],
        autoapprove: id === 'ssh-proxy',
      })),
    ],
    users: [
      {
        userName: 'marissa',
        password: 'koala',
        emails: [{ value: 'marissa@test.org' }],
        groups: ['cloud_controller.read'],
      },
    ],
  },
}

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  readonly json?: object
}

interface Received {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
const bearer = (token: unknown) => ({ authorization: `bearer ${String(token)}` }) // in lower case, as cf writes it
const accept = { accept: 'application/json' }
const MARISSA = { grant_type: 'password', username: 'marissa', password: 'koala' }

describe('Clients of UAA', () => {
  let server: ServerProcess
  before(async () => (server = await serve({ config: CONFIG, basePath: '/uaa' })))
  after(() => server.stop())

  async function send(path: string, { method, headers = {}, form, json }: Sent = {}): Promise<Received> {
    const type = json ? { 'content-type': 'application/json' } : {}
    const body = json ? JSON.stringify(json) : form && new URLSearchParams(form)
    const answer = await fetch(server.baseUrl + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...type, ...headers },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    })
    const text = await answer.text()
    const isJson = text !== '' && answer.headers.get('content-type')?.startsWith('application/json') === true
    const parsed: unknown = isJson ? JSON.parse(text) : {}
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: Object.fromEntries(Object.entries(parsed ?? {})),
    }
  }

  const passwordTokens = (): Promise<Received> =>
    send('/oauth/token', { headers: { ...accept, ...basic('cf', '') }, form: MARISSA })
  async function adminHeaders(): Promise<Readonly<Record<string, string>>> {
    const form = { grant_type: 'client_credentials' }
    const { body } = await send('/oauth/token', { headers: basic('admin', 'adminsecret'), form })
    return { ...accept, ...bearer(body['access_token']) }
  }
  const authorize = (parameters: Readonly<Record<string, string>>): string =>
    `/oauth/authorize?${new URLSearchParams({ response_type: 'code', ...parameters }).toString()}`

  it('cf reads the prompts and the URL for sign-in', async () => {
    const { status, body } = await send('/login', { headers: accept })
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(Object(body['prompts'])), ['username', 'password'])
    assert.equal(Object(body['links']).login, server.baseUrl)
  })

  it('read a UAA version that cf requires for --origin and uaa-singular for every page', async () => {
    for (const path of ['/info', '/login']) {
      const { body } = await send(path, { headers: accept })
      assert.match(String(Object(body['app']).version), /^77\.\d+\.\d+$/, path)
    }
  })

  const passwords: readonly { name: string; path?: string; headers?: Sent['headers']; form: Sent['form'] }[] = [
    { name: 'cf: Basic with an empty secret', headers: basic('cf', ''), form: MARISSA },
    {
      name: 'uaa-cli: token_format in the query',
      path: '/oauth/token?token_format=jwt',
      headers: basic('cf', ''),
      form: MARISSA,
    },
    {
      name: 'cf: --origin, as a login_hint in the query',
      path: `/oauth/token?${new URLSearchParams({ login_hint: '{"origin":"uaa"}' }).toString()}`,
      headers: basic('cf', ''),
      form: MARISSA,
    },
    {
      name: 'cf-java-client: credentials in Basic and the form',
      headers: basic('cf', ''),
      form: { ...MARISSA, client_id: 'cf', client_secret: '', response_type: 'token' },
    },
    { name: 'Spring: an empty secret in the form', form: { ...MARISSA, client_id: 'cf', client_secret: '' } },
    { name: 'Spring: a trailing slash', path: '/oauth/token/', headers: basic('cf', ''), form: MARISSA },
  ]
  for (const { name, path = '/oauth/token', headers = {}, form = {} } of passwords) {
    it(`receive tokens by a password (${name})`, async () => {
      const answer = await send(path, { headers: { ...accept, ...headers }, form })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual([answer.body['token_type'], answer.body['expires_in']], ['bearer', 43_199])
      assert.match(String(answer.body['access_token']), /^eyJ/)
      assert.match(String(answer.body['refresh_token']), /./)
    })
  }

  for (const name of ['/oauth/token', '/oauth/token?token_format=jwt']) {
    it(`refresh at ${name}`, async () => {
      const { body } = await passwordTokens()
      const form = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }
      const answer = await send(name, { headers: { ...accept, ...basic('cf', '') }, form })
      assert.equal(answer.status, 200, answer.text)
      assert.match(String(answer.body['access_token']), /^eyJ/)
    })
  }

  it('receive UAA’s error for a wrong password, which cf and uaa-cli report', async () => {
    const form = { ...MARISSA, password: 'wrong' }
    const answer = await send('/oauth/token', { headers: basic('cf', ''), form })
    assert.deepEqual(
      [answer.status, answer.body['error'], answer.body['error_description']],
      [401, 'invalid_client', 'Bad credentials'],
    )
  })

  it('receive an error for an unknown origin', async () => {
    const query = new URLSearchParams({ login_hint: '{"origin":"elsewhere"}' })
    const answer = await send(`/oauth/token?${query.toString()}`, { headers: basic('cf', ''), form: MARISSA })
    assert.deepEqual([answer.status, answer.body['error']], [401, 'unauthorized'])
  })

  it('receive an error for secrets in the query', async () => {
    const query = new URLSearchParams({ ...MARISSA, client_id: 'cf', client_secret: '' })
    const answer = await send(`/oauth/token?${query.toString()}`, { method: 'POST', headers: accept })
    assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
    assert.equal(answer.body['access_token'], undefined)
  })

  it('verify a token by the published keys, also libraries that require typ JWT', async () => {
    const tokens = (await passwordTokens()).body
    const keys: JSONWebKeySet = JSON.parse((await send('/token_keys')).text)
    const issuer = `${server.baseUrl}/oauth/token`
    const token = String(tokens['access_token'])
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), { typ: 'JWT', issuer, audience: 'cf' })
    assert.equal(payload['user_name'], 'marissa')
  })

  for (const state of [undefined, 's1']) {
    it(`cf ssh receives a code for a token, ${state === undefined ? 'without a state' : 'with its state'}`, async () => {
      const { body } = await passwordTokens()
      const parameters = { client_id: 'ssh-proxy', grant_type: 'authorization_code', ...(state && { state }) }
      const headers = { ...accept, ...bearer(body['access_token']) }
      const answer = await send(authorize(parameters), { headers })
      assert.equal(answer.status, 302, answer.text)
      const location = new URL(answer.headers.get('location') ?? '')
      assert.equal(location.origin + location.pathname, CALLBACK)
      assert.equal(location.searchParams.get('state'), state ?? null)
      const form = {
        grant_type: 'authorization_code',
        code: location.searchParams.get('code') ?? '',
        redirect_uri: CALLBACK,
      }
      const tokens = await send('/oauth/token', { headers: basic('ssh-proxy', 'ssh-proxy-secret'), form })
      assert.equal(tokens.status, 200, tokens.text)
    })
  }

  it('receive the scopes to approve as JSON', async () => {
    const { body } = await passwordTokens()
    const headers = { ...accept, ...bearer(body['access_token']) }
    const answer = await send(authorize({ client_id: 'app', redirect_uri: CALLBACK, state: 's' }), { headers })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(Object(answer.body['auth_request']).clientId, 'app')
    assert.deepEqual(answer.body['undecided_scopes'], answer.body['scopes'])
    assert.equal(Object(answer.body['options']).confirm.key, 'user_oauth_approval')
  })

  it('receive no code for a client’s own token', async () => {
    const answer = await send(authorize({ client_id: 'ssh-proxy' }), { headers: await adminHeaders() })
    assert.deepEqual(
      [answer.status, answer.body['error'], answer.body['scope']],
      [403, 'insufficient_scope', 'uaa.admin uaa.user'],
    )
  })

  it('introspect a token by its user’s scopes', async () => {
    const { body } = await passwordTokens()
    const form = { token: String(body['access_token']) }
    const answer = await send('/check_token', { headers: basic('admin', 'adminsecret'), form })
    assert.deepEqual([answer.status, answer.body['user_name'], answer.body['cid']], [200, 'marissa', 'cf'])
    assert.deepEqual((await send('/check_token', { headers: basic('cf', ''), form })).status, 403)
  })

  it('page through clients, also with Spring’s trailing slash', async () => {
    const headers = await adminHeaders()
    const ids: unknown[] = []
    for (let start = 1; ; start += 2) {
      const query = `filter=${encodeURIComponent('client_id pr')}&sortBy=client_id&startIndex=${start}&count=2`
      const { status, body, text } = await send(`/oauth/clients${start === 1 ? '/' : ''}?${query}`, { headers })
      assert.equal(status, 200, text)
      assert.deepEqual(
        [body['startIndex'], body['totalResults'], body['schemas']],
        [start, 4, ['http://cloudfoundry.org/schema/scim/oauth-clients-1.0']],
      )
      const page: readonly { client_id: string }[] = Object(body['resources'])
      if (page.length === 0 || start > 4) break
      ids.push(...page.map(({ client_id }) => client_id))
    }
    assert.deepEqual(ids, ['admin', 'app', 'cf', 'ssh-proxy'])
  })

  it('create a client and delete it, with an ignored body', async () => {
    const headers = await adminHeaders()
    const json = { client_id: 'made', client_secret: 's', authorized_grant_types: ['client_credentials'] }
    assert.equal((await send('/oauth/clients', { headers, json })).status, 201)
    const gone = await send('/oauth/clients/made', { method: 'DELETE', headers, json: { ignored: true } })
    assert.deepEqual([gone.status, gone.body['client_id']], [200, 'made'])
    assert.equal((await send('/oauth/clients/made', { headers })).status, 404)
  })
})
