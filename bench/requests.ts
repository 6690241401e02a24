// Builds and sends single requests: those that the load tool repeats, and those that verify a server's work.
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { JWTPayload } from 'jose'
import type { Algorithm, BenchClient } from './accounts.ts'

/** Keep-alive connections per measurement of single requests. */
export const CONNECTIONS = 64

/** The endpoints of a server's discovery document. */
export interface Endpoints {
  readonly discovery: string
  readonly token: string
  readonly authorization: string
  /** Of pushed authorization requests; a server that has none is not measured with them. */
  readonly push?: string
  readonly introspection: string
  readonly revocation: string
  readonly keys: string
}

/** An HTTP request that can be repeated. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Instead of `body`: each request has a random one of these. */
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
  const push = document['pushed_authorization_request_endpoint']
  return {
    discovery,
    ...(typeof push === 'string' && { push }),
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

/** A form posted with the given authorization, or none. */
export function authorizedForm(url: string, fields: Record<string, string>, authorization?: string): HttpRequest {
  const headers = { 'content-type': FORM, accept: 'application/json', ...(authorization && { authorization }) }
  return { method: 'POST', url, headers, body: new URLSearchParams(fields).toString() }
}

/** Sends the request and reads JSON. Throws for any status but 200. */
export async function send(request: HttpRequest): Promise<Record<string, unknown>> {
  const { url } = request
  const response = await answerTo(request)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

/** Sends the request and throws unless it is refused with this status. */
export async function expectRefusal(request: HttpRequest, status: number, what: string): Promise<void> {
  const response = await answerTo(request)
  await response.body?.cancel()
  if (response.status !== status) throw new Error(`${request.url} answers ${response.status} to ${what}`)
}

/** Throws unless the server refuses a wrong secret: one that accepts any would be fast for the wrong reason. */
export function refuseWrongSecret(request: HttpRequest): Promise<void> {
  const { authorization = '' } = request.headers
  const credentials = atob(authorization.slice('Basic '.length))
  const headers = { ...request.headers, authorization: `Basic ${btoa(`${credentials}x`)}` }
  return expectRefusal({ ...request, headers }, 401, 'a wrong secret')
}

/** A token of the response; throws if it is missing. */
export async function tokenOf(
  request: HttpRequest,
  member: 'access_token' | 'refresh_token' = 'access_token',
): Promise<string> {
  const { [member]: token } = await send(request)
  if (typeof token !== 'string') throw new Error(`${request.url} answers no ${member}`)
  return token
}

/** Requests two access tokens and throws unless they are different JWTs, signed with the server's keys. */
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
  if (ids.size !== 2 || ids.has(undefined)) throw new Error('the same token was issued twice')
  return payloads
}

function answerTo(request: HttpRequest): Promise<Response> {
  const { url, method, headers, body, bodies } = request
  if (headers['Host'] !== undefined) return answerAtHost(request)
  const content = body ?? bodies?.[0]
  return fetch(url, { method, headers, ...(content !== undefined && { body: content }) })
}

/** `fetch` cannot set the Host header. */
function answerAtHost({ url, method, headers, body }: HttpRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers, agent: false }, response => {
      text(response).then(content => resolve(new Response(content, { status: response.statusCode ?? 0 })), reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
