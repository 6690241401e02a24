// Single requests as both sides of the benchmark need them: what the load tool repeats, and what proves that a server
// does the work.
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { JWTPayload } from 'jose'
import type { Algorithm, BenchClient } from './accounts.ts'

/** Keep-alive connections of every measurement of single requests. */
export const CONNECTIONS = 64

/** Where a server answers, as its discovery document says. */
export interface Endpoints {
  readonly discovery: string
  readonly token: string
  readonly authorization: string
  readonly introspection: string
  readonly revocation: string
  readonly keys: string
}

/** One HTTP request, sent over and over. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** In place of `body`: each request has one of these, taken at random. */
  readonly bodies?: readonly string[]
}

const FORM = 'application/x-www-form-urlencoded'

/** Reads a server's discovery document. */
export async function discover(baseUrl: string): Promise<Endpoints> {
  const discovery = `${baseUrl}/.well-known/openid-configuration`
  const document = await send({ method: 'GET', url: discovery, headers: { accept: 'application/json' } })
  const endpoint = (name: string): string => {
    const value = document[name]
    if (typeof value !== 'string') throw new Error(`${discovery} has no ${name}`)
    return value
  }
  return {
    discovery,
    token: endpoint('token_endpoint'),
    authorization: endpoint('authorization_endpoint'),
    introspection: endpoint('introspection_endpoint'),
    revocation: endpoint('revocation_endpoint'),
    keys: endpoint('jwks_uri'),
  }
}

/** A form posted with the client's credentials (RFC 6749 §2.3.1). */
export function form(url: string, fields: Record<string, string>, client: BenchClient): HttpRequest {
  return authorizedForm(url, fields, `Basic ${btoa(`${client.id}:${client.secret}`)}`)
}

/** A form posted with the authorization given, or with none. */
export function authorizedForm(url: string, fields: Record<string, string>, authorization?: string): HttpRequest {
  const headers = { 'content-type': FORM, accept: 'application/json', ...(authorization && { authorization }) }
  return { method: 'POST', url, headers, body: new URLSearchParams(fields).toString() }
}

/** Sends the request and reads JSON. Throws for every answer but 200. */
export async function send(request: HttpRequest): Promise<Record<string, unknown>> {
  const { url } = request
  const response = await answerTo(request)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

/** Sends the request and throws unless the answer is a refusal with this status. */
export async function expectRefusal(request: HttpRequest, status: number, what: string): Promise<void> {
  const response = await answerTo(request)
  await response.body?.cancel()
  if (response.status !== status) throw new Error(`${request.url} answers ${response.status} to ${what}`)
}

/** A server that answers anybody would be fast for the wrong reason. */
export function refuseWrongSecret(request: HttpRequest): Promise<void> {
  const { authorization = '' } = request.headers
  const credentials = atob(authorization.slice('Basic '.length))
  const headers = { ...request.headers, authorization: `Basic ${btoa(`${credentials}x`)}` }
  return expectRefusal({ ...request, headers }, 401, 'a wrong secret')
}

/** The member of a token answer; throws when there is no text of that name. */
export async function tokenOf(
  request: HttpRequest,
  member: 'access_token' | 'refresh_token' = 'access_token',
): Promise<string> {
  const { [member]: token } = await send(request)
  if (typeof token !== 'string') throw new Error(`${request.url} answers no ${member}`)
  return token
}

/** Asks twice, and throws unless both access tokens are JWTs of the server's keys, and not the same one. */
export async function expectFreshJwts(
  ask: () => Promise<string>,
  { keys }: Endpoints,
  algorithm: Algorithm,
): Promise<JWTPayload[]> {
  const keySet = createRemoteJWKSet(new URL(keys))
  const payloads: JWTPayload[] = []
  for (const token of [await ask(), await ask()]) {
    payloads.push((await jwtVerify(token, keySet, { algorithms: [algorithm] })).payload)
  }
  const ids = new Set(payloads.map(({ jti }) => jti))
  if (ids.size !== 2 || ids.has(undefined)) throw new Error('the tokens are not made anew')
  return payloads
}

function answerTo(request: HttpRequest): Promise<Response> {
  const { url, method, headers, body, bodies } = request
  if (headers['Host'] !== undefined) return answerAtHost(request)
  const content = body ?? bodies?.[0]
  return fetch(url, { method, headers, ...(content !== undefined && { body: content }) })
}

/** `fetch` names no host but that of the URL. */
function answerAtHost({ url, method, headers, body }: HttpRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers, agent: false }, response => {
      text(response).then(content => resolve(new Response(content, { status: response.statusCode ?? 0 })), reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
