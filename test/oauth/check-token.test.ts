import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import {
  APP,
  approve,
  exchange,
  insertCode,
  MODES,
  passwordTokens,
  refused,
  RESOURCE,
  SERVICE,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const admin = {
  client_id: 'admin',
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['svc.admin'],
}
const config = { bootstrap: { ...defaultBootstrap, clients: [...defaultBootstrap.clients, admin] } }

for (const mode of MODES) {
  describe(`POST /check_token in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config })))
    after(() => server.stop())
    const send = (token: string, form = {}, request: TestRequest = { basic: RESOURCE }): Promise<TestAnswer> =>
      server.send('/check_token', { form: { token, ...form }, ...request })

    // Covers POST /check_token: token; response: user_id; user_name; email; client_id; exp; scope; jti; aud; sub; iss
    // Covers POST /check_token: response: iat; cid; grant_type; azp; auth_time; zid; rev_sig; origin; revocable
    it('returns the claims of a user token, with scope as a list', async () => {
      const { access_token: token, jti } = await passwordTokens(server, { scope: 'openid cloud.read' })
      const { id } = await userNamed(server, 'marissa')
      const claims = decodeJwt(token)
      const answer = await send(token)
      assert.equal(answer.status, 200)
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      assert.deepEqual(answer.json(), {
        user_id: id,
        user_name: 'marissa',
        email: 'marissa@example.org',
        client_id: 'app',
        exp: claims.exp,
        scope: ['cloud.read', 'openid'],
        jti,
        aud: ['cloud', 'openid', 'app'],
        sub: id,
        iss: claims.iss,
        iat: claims.iat,
        cid: 'app',
        grant_type: 'password',
        azp: 'app',
        auth_time: claims.iat,
        ...(mode === 'standard' && { amr: ['pwd'], acr: '1' }),
        zid: 'svc',
        rev_sig: claims['rev_sig'],
        origin: 'svc',
        revocable: false,
      })
    })

    // Covers POST /check_token: response: authorities
    it('returns the authorities of a client token', async () => {
      const form = { grant_type: 'client_credentials', token_format: 'opaque' }
      const { access_token: token } = tokensOf(await server.token(form, { basic: SERVICE }))
      const reported = (await send(token)).json()
      assert.deepEqual(reported['authorities'], ['jobs.run', 'jobs.read'])
      assert.deepEqual([reported['revocable'], reported['user_id']], [true, undefined])
    })

    // Covers POST /check_token: response: client_auth_method
    it('returns client_auth_method=none for a public client', async () => {
      const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' // RFC 7636 appendix B
      const challenge = {
        codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        codeChallengeMethod: 'S256',
      } as const
      const code = await insertCode(server, { clientId: 'spa', scopes: ['openid'], ...challenge })
      const { access_token: token } = tokensOf(
        await exchange(server, code, { client_id: 'spa', code_verifier: verifier }, null),
      )
      assert.equal((await send(token)).json()['client_auth_method'], 'none')
    })

    // Covers POST /check_token: response: nonce
    it('returns the nonce of the token in uaa', async () => {
      const { access_token: token } = tokensOf(await exchange(server, await insertCode(server, { nonce: 'n' })))
      assert.equal((await send(token)).json()['nonce'], mode === 'uaa' ? 'n' : undefined)
    })

    const scopes = [
      { name: 'one scope', scopes: 'openid' },
      { name: 'several scopes', scopes: 'openid,cloud.read' },
      { name: 'scopes in another case', scopes: 'OpenID,CLOUD.READ' },
      { name: 'no scope', scopes: '' },
      { name: 'a repeated scope', scopes: 'openid,openid' },
      { name: 'spaces around a scope', scopes: ' openid , cloud.read' },
      { name: 'empty list items', scopes: ',openid,,cloud.read,' },
    ]
    for (const { name, scopes: wanted } of scopes) {
      // Covers POST /check_token: scopes
      it(`accepts scopes of the token: ${name}`, async () => {
        const { access_token: token } = await passwordTokens(server)
        assert.equal((await send(token, { scopes: wanted })).status, 200)
      })
    }

    // Covers POST /check_token: error: scope missing
    it('lists missing scopes', async () => {
      const { access_token: token } = await passwordTokens(server, { scope: 'openid' })
      await refused(server, mode, () => send(token, { scopes: 'openid,cloud.read,x' }), {
        want: '400 invalid_scope',
        description: 'Some requested scopes are missing: cloud.read,x',
      })
    })

    const missing = [
      { name: 'a space does not separate', scopes: 'openid cloud.read', reported: 'openid cloud.read' },
      { name: 'a prefix does not match', scopes: 'cloud', reported: 'cloud' },
      { name: 'scopes are reported in their original case', scopes: 'X,OpenID,y', reported: 'X,y' },
      { name: 'wildcards do not match', scopes: 'cloud.*,*', reported: 'cloud.*,*' },
    ]
    for (const { name, scopes: wanted, reported } of missing) {
      it(`compares whole scopes: ${name}`, async () => {
        const { access_token: token } = await passwordTokens(server)
        await refused(server, mode, () => send(token, { scopes: wanted }), {
          want: '400 invalid_scope',
          description: `Some requested scopes are missing: ${reported}`,
          challenge: null,
        })
      })
    }

    it('ignores `scope`', async () => {
      const { access_token: token } = await passwordTokens(server)
      assert.equal((await send(token, { scope: 'unknown' })).status, 200)
    })

    it('checks the token before its scopes', async () => {
      await refused(server, mode, () => send('nonsense', { scopes: 'x' }), { want: '400 invalid_token' })
    })

    const bad: readonly (Refusal & { readonly name: string; readonly token: string })[] = [
      // Covers POST /check_token: error: no token
      { name: 'a missing token', token: '', want: '400 invalid_token', description: 'Token parameter must be set' },
      // Covers POST /check_token: error: invalid otherwise
      {
        name: 'an unknown token',
        token: 'nonsense',
        want: '400 invalid_token',
        description: 'The token expired, was revoked, or the token ID is incorrect.',
      },
      {
        name: 'a malformed JWT',
        token: 'a.b.c',
        want: '400 invalid_token',
        description: 'The token is malformed.',
      },
    ]
    for (const { name, token, ...refusal } of bad) {
      it(`refuses ${name} without a challenge`, async () => {
        await refused(server, mode, () => send(token), { ...refusal, challenge: null })
      })
    }

    it('refuses a revoked token, and names the reason for a JWT', async () => {
      for (const format of ['jwt', 'opaque']) {
        const { access_token: token } = await passwordTokens(server, { token_format: format })
        assert.equal((await server.send('/oauth/revoke', { form: { token }, basic: APP })).status, 200)
        await refused(server, mode, () => send(token), {
          want: '400 invalid_token',
          description:
            format === 'jwt'
              ? 'The token has been revoked'
              : 'The token expired, was revoked, or the token ID is incorrect.',
          challenge: null,
        })
      }
    })

    it('refuses a refresh token', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      await refused(server, mode, () => send(token), { want: '400 invalid_token' })
    })

    // Covers POST /check_token: error: expired
    it('refuses an expired token', async () => {
      const { access_token: token } = await passwordTokens(server)
      server.clock.advance(43_200)
      await refused(server, mode, () => send(token), { want: '400 invalid_token', description: 'Token has expired' })
    })

    // Covers POST /check_token: rule: ID tokens
    // Covers compatibility: tokens and userinfo: T8 ID token as bearer
    it('refuses an ID token (T8)', async () => {
      const { id_token: token } = await passwordTokens(server)
      const want = { want: '400 invalid_token', description: 'Invalid access token' } as const
      await refused(server, mode, () => send(token), want)
    })

    // Covers POST /check_token: rule: approvals are checked
    it('requires approval by the user', async () => {
      const code = await insertCode(server, { clientId: 'app', scopes: ['openid', 'cloud.read'] })
      const { access_token: token } = tokensOf(await exchange(server, code, {}, APP))
      await refused(server, mode, () => send(token), {
        want: '400 invalid_token',
        description: /^Invalid token \(some requested scopes are not approved\): \[.+\]$/,
      })
      await approve(server, ['openid', 'cloud.read'], 'APPROVED')
      assert.equal((await send(token)).status, 200)
    })

    const badlyEncoded = {
      'incomplete percent-encoding': 'token=%z',
      'invalid UTF-8, percent-encoded': 'token=%ff',
      'invalid UTF-8': Buffer.from([0x74, 0xff]),
    }
    for (const [name, body] of Object.entries(badlyEncoded)) {
      // Covers POST /check_token: error: bad encoding
      it(`refuses bad encoding: ${name}`, async () => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        await refused(
          server,
          mode,
          () => server.send('/check_token', { method: 'POST', body, headers, basic: RESOURCE }),
          {
            want: '400 parameter_parsing_error',
            description: 'One of the parameters was incorrectly encoded',
          },
        )
      })
    }

    it('reports other body errors like every endpoint', async () => {
      const request = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' }, basic: RESOURCE }
      const want = { standard: '400 invalid_request', uaa: '400 invalid_token' }
      const description = mode === 'standard' ? /^The content type must be/ : 'Token parameter must be set'
      await refused(server, mode, () => server.send('/check_token', request), { want, description })
    })

    const callers: readonly (Refusal & { readonly name: string; readonly request: TestRequest })[] = [
      {
        name: 'an anonymous caller',
        request: {},
        want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
        challenge: /^Basic /,
      },
      {
        name: 'a wrong secret',
        request: { basic: ['resource', 'wrong'] },
        want: '401 invalid_client',
        challenge: /^Basic /,
      },
      {
        name: 'a bearer token',
        request: { bearer: 'x' },
        want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
      },
      // Covers POST /check_token: rule: Basic client with the resource authority
      {
        name: 'a client without the authority',
        request: { basic: SERVICE },
        want: { standard: '403 insufficient_scope', uaa: '403 access_denied' },
        ...(mode === 'uaa' && { challenge: null }),
      },
      {
        name: 'a client with only the admin authority',
        request: { basic: ['admin', 'secret'] },
        want: { standard: '403 insufficient_scope', uaa: '403 access_denied' },
        description: mode === 'standard' ? 'Insufficient scope for this resource' : 'Access is denied',
      },
      {
        name: 'a public client',
        request: { form: { token: 'x', client_id: 'spa' } },
        want: '401 invalid_client',
        challenge: /^Basic /,
      },
    ]
    for (const { name, request, ...refusal } of callers) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => send('nonsense', {}, request), refusal)
      })
    }

    // Covers POST /check_token: error: query string
    it('refuses a token in the query', async () => {
      const sending = () => server.send('/check_token', { query: { token: 'x' }, form: '', basic: RESOURCE })
      await refused(server, mode, sending, {
        want: '406 query_string_not_allowed',
        description: 'Parameters must be passed in the body of the request',
      })
    })

    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      // Covers POST /check_token: error: other method
      it(`answers 405 to ${method}`, async () => {
        await refused(server, mode, () => server.send('/check_token', { method, basic: RESOURCE }), {
          want: '405 method_not_allowed',
          description: `Request method '${method}' not supported`,
        })
      })
    }

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}
