// An OpenID Connect provider on loopback whose token endpoint returns configurable responses, including false claims.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Clock } from '../../src/base/clock.ts'
import type { OidcProvider } from './oidc-provider.ts'
import { createOidcProvider, RELYING_PARTY } from './oidc-provider.ts'
import type { Browser, TestAnswer } from './server.ts'

/** A request to the token endpoint. */
export interface TokenRequest {
  readonly headers: IncomingHttpHeaders
  readonly form: URLSearchParams
}

/** A response of the token endpoint: status and body, or a function that handles the response. */
export type TokenAnswer = { readonly status?: number; readonly body: unknown } | ((response: ServerResponse) => void)

/** A running provider. */
export interface Upstream extends OidcProvider {
  readonly url: string
  /** Requests to the token endpoint so far. */
  readonly requests: TokenRequest[]
  /** The next responses; by default with an ID token that has the nonce below. */
  answer: (request: TokenRequest) => Promise<TokenAnswer>
  /** The members of the default response. */
  nonce: string
  /** The usual answer, with other claims or header members in its ID token. */
  usual(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly body: unknown }>
  /** The response of the userinfo endpoint, and the received tokens. */
  userinfo: { readonly status?: number; readonly type?: string; readonly body: unknown }
  readonly userinfoTokens: string[]
  /** Members of its discovery document. */
  readonly metadata: Readonly<Record<string, unknown>>
  stop(): Promise<void>
}

/** The record of a provider that users come from, with a change of its settings. */
export const upstreamRecord = (
  { url }: Pick<Upstream, 'url'>,
  originKey: string,
  config: Readonly<Record<string, unknown>> = {},
) => ({
  originKey,
  type: 'oidc1.0',
  name: originKey,
  config: {
    authUrl: `${url}/authorize`,
    tokenUrl: `${url}/token`,
    tokenKeyUrl: `${url}/keys`,
    issuer: url,
    relyingPartyId: RELYING_PARTY,
    relyingPartySecret: 'secret',
    ...config,
  },
})

/** Signs in at the provider as the user of the claims; the answer is that of the callback. */
export async function signInUpstream(
  browser: Browser,
  upstream: Upstream,
  { origin, claims = {} }: { readonly origin: string; readonly claims?: Readonly<Record<string, unknown>> },
): Promise<TestAnswer> {
  const { searchParams } = (await browser.send(`/login/external/${origin}`)).location()
  upstream.nonce = searchParams.get('nonce') ?? ''
  upstream.answer = () => upstream.usual(claims)
  const query = { code: 'c', state: searchParams.get('state') ?? '', iss: upstream.url }
  return browser.send(`/login/callback/${origin}`, { query })
}

/** Starts one on a free port; tokens are made at the time of the clock. */
export async function startUpstream(clock: Clock): Promise<Upstream> {
  const provider = await createOidcProvider(clock)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/keys') return void response.end(provider.jwks)
      if (request.url === '/.well-known/openid-configuration')
        return void response.end(JSON.stringify(upstream.metadata))
      if (request.url === '/userinfo') {
        const { status = 200, type = 'application/json', body } = upstream.userinfo
        upstream.userinfoTokens.push(request.headers.authorization ?? '')
        return void response
          .writeHead(status, { 'content-type': type })
          .end(typeof body === 'string' ? body : JSON.stringify(body))
      }
      if (request.url !== '/token') return void response.writeHead(404).end('{}')
      const asked = { headers: request.headers, form: new URLSearchParams(Buffer.concat(chunks).toString()) }
      upstream.requests.push(asked)
      void upstream.answer(asked).then(answer => {
        if (typeof answer === 'function') return answer(response)
        const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
        return response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(text)
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const url = `http://127.0.0.1:${address.port}`
  const upstream: Upstream = {
    ...provider,
    url,
    requests: [],
    nonce: '',
    userinfo: { status: 404, body: {} },
    userinfoTokens: [],
    answer: () => upstream.usual(),
    async usual(claims = {}, header = {}) {
      const idToken = await provider.token({ iss: url, aud: RELYING_PARTY, nonce: upstream.nonce, ...claims }, header)
      return { body: { access_token: 'upstream-access', token_type: 'Bearer', id_token: idToken } }
    },
    metadata: {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/keys`,
      end_session_endpoint: `${url}/logout`,
      authorization_response_iss_parameter_supported: true,
    },
    async stop() {
      server.closeAllConnections()
      await new Promise<void>((resolve, reject) => server.close(error => (error ? reject(error) : resolve())))
    },
  }
  return upstream
}
