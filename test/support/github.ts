// An OAuth 2.0 provider without OpenID Connect, like GitHub, on loopback: it identifies its users by a number, returns
// tokens as a form unless asked for JSON, and errors with status 200. A test can make its endpoints answer anything else.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { digest } from '../../src/base/secrets.ts'

/** Our client id there. */
export const OUR_ID = 'latchkey-at-github'
/** Its secret there. */
export const OUR_SECRET = 'github secret: 100% & more'

/** A request that the provider received. */
export interface GithubRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly form: URLSearchParams
}

/** A body, or a function that handles the response. */
export type GithubAnswer = { readonly status?: number; readonly body: unknown } | ((response: ServerResponse) => void)

/** A code that the provider has issued. */
interface Issued {
  readonly clientId: string
  readonly redirectUri: string
  readonly challenge: string | undefined
}

/** A running provider. */
export interface Github {
  readonly url: string
  /** Requests to the token and userinfo endpoints so far. */
  readonly requests: GithubRequest[]
  /** The user who is signed in there. */
  person: unknown
  /** Override the next responses; undefined for the default. */
  answers: { token?: GithubAnswer | undefined; user?: GithubAnswer | undefined }
  /** Issues a code for the authorization URL, as if the user had agreed. */
  agree(address: URL): { readonly code: string; readonly state: string }
  stop(): Promise<void>
}

/** A user as `GET /user` describes them. */
export const OCTOCAT = { id: 583_231, login: 'octocat', name: 'Mona Lisa', email: null, type: 'User' }

/** Settings of a provider record for it, with a change. */
export const githubRecord = (
  { url }: Pick<Github, 'url'>,
  config: Readonly<Record<string, unknown>> = {},
  originKey = 'github',
) => ({
  originKey,
  type: 'oauth2.0',
  name: 'GitHub',
  config: {
    authUrl: `${url}/login/oauth/authorize`,
    tokenUrl: `${url}/login/oauth/access_token`,
    userInfoUrl: `${url}/user`,
    checkTokenUrl: `${url}/check_token`, // UAA: never asked
    relyingPartyId: OUR_ID,
    relyingPartySecret: OUR_SECRET,
    clientAuthInBody: true,
    scopes: ['read:user'],
    linkText: 'GitHub',
    attributeMappings: { user_name: 'login', given_name: 'name' },
    ...config,
  },
})

/** Starts one on a free port of 127.0.0.1. */
export async function startGithub(): Promise<Github> {
  const codes = new Map<string, Issued>()
  const tokens = new Map<string, unknown>()
  let issued = 0

  function redeem({ form, headers }: GithubRequest): Readonly<Record<string, string>> {
    const basic = /^Basic (.*)$/.exec(headers.authorization ?? '')?.[1]
    const [id = '', secret = ''] = basic
      ? Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
      : [form.get('client_id') ?? '', form.get('client_secret') ?? '']
    if (id !== OUR_ID || secret !== OUR_SECRET) return { error: 'incorrect_client_credentials' }
    const code = form.get('code') ?? ''
    const found = codes.get(code)
    codes.delete(code)
    const fits =
      found?.clientId === id &&
      found.redirectUri === form.get('redirect_uri') &&
      (found.challenge === undefined || found.challenge === digest(form.get('code_verifier') ?? ''))
    if (!fits) return { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' }
    const token = `gho_${code}`
    tokens.set(token, github.person)
    return { access_token: token, scope: 'read:user', token_type: 'bearer' }
  }

  const send = (response: ServerResponse, { status = 200, body }: { status?: number; body: unknown }): void => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  const answer = (response: ServerResponse, given: GithubAnswer): void =>
    typeof given === 'function' ? given(response) : send(response, given)

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const address = new URL(request.url ?? '/', github.url)
      const { pathname: path } = address
      const { headers } = request
      const asked = { path, headers, form: new URLSearchParams(Buffer.concat(chunks).toString()) }
      if (path === '/login/oauth/authorize') {
        const { code, state } = github.agree(address)
        const back = `${address.searchParams.get('redirect_uri')}?${new URLSearchParams({ code, state }).toString()}`
        response.writeHead(200, { 'content-type': 'text/html' })
        return void response.end(
          `<title>GitHub</title><a id="agree" href="${back.replaceAll('&', '&amp;')}">Authorize</a>`,
        )
      }
      github.requests.push(asked)
      if (path === '/login/oauth/access_token') {
        if (github.answers.token) return answer(response, github.answers.token)
        const given = redeem(asked)
        if (headers.accept === 'application/json') return send(response, { body: given })
        response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' })
        return void response.end(new URLSearchParams(given).toString())
      }
      if (path !== '/user') return send(response, { status: 404, body: {} })
      if (headers['user-agent'] === undefined) return send(response, { status: 403, body: 'no user agent' })
      if (github.answers.user) return answer(response, github.answers.user)
      const token = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ?? ''
      if (!tokens.has(token)) return send(response, { status: 401, body: { message: 'Bad credentials' } })
      send(response, { body: tokens.get(token) })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  assert.ok(typeof bound === 'object' && bound !== null)
  const github: Github = {
    url: `http://127.0.0.1:${bound.port}`,
    requests: [],
    person: OCTOCAT,
    answers: {},
    agree({ searchParams }) {
      const code = `code-${++issued}`
      codes.set(code, {
        clientId: searchParams.get('client_id') ?? '',
        redirectUri: searchParams.get('redirect_uri') ?? '',
        challenge: searchParams.get('code_challenge') ?? undefined,
      })
      return { code, state: searchParams.get('state') ?? '' }
    },
    async stop() {
      server.closeAllConnections()
      await new Promise<void>((resolve, reject) => server.close(error => (error ? reject(error) : resolve())))
    },
  }
  return github
}
