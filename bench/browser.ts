// A browser: signs in on a server's own pages, keeps cookies, and returns authorization codes. Also sends all requests
// of the flow driver.
import { createHash, randomBytes } from 'node:crypto'
import type { BenchClient } from './accounts.ts'
import { exchange } from './connection.ts'
import type { Answer } from './connection.ts'
import type { Endpoints } from './requests.ts'

/** Concurrent browsers or programs, each of which repeats its flow. */
export const LANES = 16

/** The user who signs in. */
export interface User {
  readonly name: string
  readonly password: string
}

/** A sign-in to a client by authorization code. */
export interface SignIn {
  readonly endpoints: Endpoints
  readonly client: BenchClient
  readonly scope: string
  readonly user: User
  readonly redirectUri: string
}

/** The cookies of a browser; programs have none. */
export type Cookies = Map<string, string>

/** Signs in, and exchanges a code for a refresh token. */
export async function obtainRefreshToken(person: SignIn): Promise<string> {
  const cookies: Cookies = new Map()
  await signIn(person, cookies)
  const answer = await post(person.endpoints.token, await obtainCode(person, cookies), person.client)
  const { refresh_token: token }: { refresh_token?: unknown } = JSON.parse(answer.body)
  if (typeof token !== 'string') throw new Error(`no refresh token: ${describe(person.endpoints.token, answer)}`)
  return token
}

/**
 * Sends an authorization request with PKCE in a signed-in browser. Returns the form fields of the code exchange.
 */
export async function obtainCode(person: SignIn, cookies: Cookies): Promise<Record<string, string>> {
  const request = authorizationRequest(person)
  return visit(request.url, request, cookies)
}

/** The same with a request that the client pushes first (RFC 9126). */
export async function obtainCodeByPush(person: SignIn, cookies: Cookies): Promise<Record<string, string>> {
  const { client, endpoints } = person
  const request = authorizationRequest(person)
  const push = endpoints.push ?? ''
  const pushed = await post(push, Object.fromEntries(new URL(request.url).searchParams), client)
  if (pushed.status !== 201) throw new Error(`not pushed: ${describe(push, pushed)}`)
  const { request_uri = '' }: { request_uri?: string } = JSON.parse(pushed.body)
  const query = new URLSearchParams({ client_id: client.id, request_uri })
  return visit(`${endpoints.authorization}?${query.toString()}`, request, cookies)
}

async function visit(url: string, request: AuthorizationRequest, cookies: Cookies): Promise<Record<string, string>> {
  const answer = await send('GET', url, { accept: 'text/html', cookies })
  const location = answer.headers.get('location') ?? ''
  if (!location.startsWith(request.redirectUri)) throw new Error(`no code without a sign-in: ${describe(url, answer)}`)
  return exchangeFields(location, request)
}

function exchangeFields(
  location: string,
  { redirectUri, state, verifier }: AuthorizationRequest,
): Record<string, string> {
  const { searchParams } = new URL(location)
  const code = searchParams.get('code')
  if (!code || searchParams.get('state') !== state) throw new Error(`no code: ${location}`)
  return { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
}

/** Posts a form, with the client's credentials and a DPoP proof if given. */
export function post(
  url: string,
  fields: Record<string, string>,
  client?: BenchClient,
  dpop?: string,
): Promise<Answer> {
  return send('POST', url, {
    accept: 'application/json',
    ...(client && { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` }),
    ...(dpop !== undefined && { dpop }),
    body: new URLSearchParams(fields).toString(),
  })
}

interface AuthorizationRequest {
  readonly url: string
  readonly redirectUri: string
  readonly verifier: string
  readonly state: string
}

function authorizationRequest(person: SignIn): AuthorizationRequest {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: person.client.id,
    redirect_uri: person.redirectUri,
    scope: person.scope,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return {
    url: `${person.endpoints.authorization}?${query.toString()}`,
    redirectUri: person.redirectUri,
    verifier,
    state,
  }
}

/**
 * Follows redirects from an authorization request to the code and submits the sign-in form on the way. Returns the form
 * fields of the code exchange.
 */
export async function signIn(person: SignIn, cookies: Cookies): Promise<Record<string, string>> {
  const request = authorizationRequest(person)
  let { url } = request
  let fields: Record<string, string> | undefined
  let isSent = false
  for (let hop = 0; hop < 12; hop += 1) {
    const options = { accept: 'text/html', cookies, ...(fields && { body: new URLSearchParams(fields).toString() }) }
    const answer = await send(fields ? 'POST' : 'GET', url, options)
    fields = undefined
    const location = answer.headers.get('location')
    if (location?.startsWith(person.redirectUri)) return exchangeFields(location, request)
    if (location) {
      url = new URL(location, url).href
      continue
    }
    const form = loginForm(answer.body)
    if (!form) throw new Error(`no sign-in form: ${describe(url, answer)}`)
    url = new URL(form.action, url).href
    if (isSent) throw new Error(`sign-in refused: ${describe(url, answer)}`)
    isSent = true
    fields = { ...form.hidden, username: person.user.name, password: person.user.password }
  }
  throw new Error('too many redirects while signing in')
}

/** The action and hidden fields of the form that has a password field. */
function loginForm(page: string): { action: string; hidden: Record<string, string> } | undefined {
  for (const [, attributes = '', content = ''] of page.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)) {
    if (!/name="password"/.test(content)) continue
    const hidden: Record<string, string> = {}
    for (const [input] of content.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)) {
      const name = attribute(input, 'name')
      if (name !== undefined) hidden[name] = attribute(input, 'value') ?? ''
    }
    return { action: attribute(attributes, 'action') ?? '', hidden }
  }
  return undefined
}

function attribute(tag: string, name: string): string | undefined {
  const entities: Record<string, string> = { '&amp;': '&', '&quot;': '"', '&#39;': "'", '&lt;': '<', '&gt;': '>' }
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value?.replace(/&(?:amp|quot|#39|lt|gt);/g, entity => entities[entity] ?? entity)
}

interface SendOptions {
  readonly accept: string
  readonly authorization?: string
  readonly dpop?: string
  readonly cookies?: Cookies
  readonly body?: string
}

async function send(
  method: string,
  url: string,
  { accept, authorization, dpop, cookies, body }: SendOptions,
): Promise<Answer> {
  const headers = [`accept: ${accept}`]
  if (authorization) headers.push(`authorization: ${authorization}`)
  if (dpop !== undefined) headers.push(`dpop: ${dpop}`)
  if (cookies?.size) headers.push(`cookie: ${Array.from(cookies, pair => pair.join('=')).join('; ')}`)
  if (body !== undefined) headers.push('content-type: application/x-www-form-urlencoded')
  const answer = await exchange(method, new URL(url), { headers, ...(body !== undefined && { body }) })
  if (cookies) keepCookies(cookies, answer.headers.get('set-cookie')?.split('\n'))
  return answer
}

/** Ignores paths: no server of a run uses a cookie name for two paths. */
function keepCookies(cookies: Cookies, lines: readonly string[] = []): void {
  for (const line of lines) {
    const [pair = '', ...attributes] = line.split(';')
    const equals = pair.indexOf('=')
    const name = pair.slice(0, equals).trim()
    if (attributes.some(hasPassed)) cookies.delete(name)
    else cookies.set(name, pair.slice(equals + 1))
  }
}

function hasPassed(attribute: string): boolean {
  const [name = '', value = ''] = attribute.trim().split('=')
  if (name.toLowerCase() === 'max-age') return Number(value) <= 0
  return name.toLowerCase() === 'expires' && Date.parse(value) < Date.now()
}

/** Describes an unexpected response. */
export function describe(url: string, { status, headers, body }: Answer): string {
  return `${url} answers ${status} ${headers.get('location') ?? ''} ${body.slice(0, 500)}`
}
