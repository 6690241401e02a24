// The driver of everything that takes more than one kind of request: a closed loop over keep-alive connections, in a
// process of its own, the same for every server. Usage: node bench/flows.ts JOB   (JSON; answers JSON)
import { createHash, randomBytes } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import type { BenchClient } from './accounts.ts'
import type { Endpoints } from './workloads.ts'

/** Browsers or programs that run their flow over and over, each waiting for its own answer. */
export const LANES = 16

/** A flow, whom it is for, and at which server. */
export type FlowJob = {
  readonly endpoints: Endpoints
  readonly client: BenchClient
  readonly scope: string
} & (
  | { readonly flow: 'client_credentials' }
  | { readonly flow: 'password'; readonly user: User }
  | { readonly flow: 'authorization_code'; readonly user: User; readonly redirectUri: string }
)

/** Whom a lane of the password grant signs in; the first one is the user of every other flow. */
export const nameOfLane = (name: string, lane: number): string => (lane === 0 ? name : `${name}-${lane}`)

/** How long to go on: for a time, or until so many flows are done. */
export type FlowEnd = { readonly seconds: number } | { readonly flows: number }

/** What the driver prints: milliseconds for latencies. */
export interface FlowResult {
  readonly flows: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
}

interface User {
  readonly name: string
  readonly password: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A browser keeps cookies between requests; a program has none. */
type Cookies = Map<string, string>

const ACCESS_JWT = /"access_token":"[\w-]+\.[\w-]+\.[\w-]+"/
const ID_TOKEN = /"id_token":"[\w-]+\.[\w-]+\.[\w-]+"/

const agent = new Agent({ keepAlive: true, maxSockets: LANES })

if (import.meta.main) {
  const { job, end }: { job: FlowJob; end: FlowEnd } = JSON.parse(process.argv[2] ?? '{}')
  process.stdout.write(JSON.stringify(await drive(job, end)))
  agent.destroy()
}

/** Runs the flow in every lane; signing in, where the flow needs a session, comes before the clock starts. */
async function drive(job: FlowJob, end: FlowEnd): Promise<FlowResult> {
  const lanes = await Promise.all(Array.from({ length: LANES }, (_, lane) => openLane(job, lane)))
  const latencies: number[] = []
  const start = performance.now()
  let begun = 0
  const mayBegin = (): boolean => {
    if ('flows' in end) return begun < end.flows
    return performance.now() - start < end.seconds * 1000
  }
  await Promise.all(
    lanes.map(async flow => {
      while (mayBegin()) {
        begun += 1
        const began = performance.now()
        await flow()
        latencies.push(performance.now() - began)
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (part: number): number => latencies[Math.floor(part * (latencies.length - 1))] ?? 0
  return { flows: latencies.length, seconds, p50: quantile(0.5), p99: quantile(0.99) }
}

/** One flow, ready to be run; each lane of the code flow is a browser with a session of its own. */
async function openLane(job: FlowJob, lane: number): Promise<() => Promise<void>> {
  const { scope } = job
  if (job.flow === 'authorization_code') {
    const cookies: Cookies = new Map()
    await signIn(job, cookies)
    return () => authorizationCode(job, cookies)
  }
  if (job.flow === 'client_credentials') return () => redeem(job, { grant_type: job.flow, scope })
  // Attempts for one account are judged one after the other, so that each lane is a person of its own.
  const { name, password } = job.user
  return () => redeem(job, { grant_type: job.flow, username: nameOfLane(name, lane), password, scope })
}

type CodeJob = Extract<FlowJob, { flow: 'authorization_code' }>

/** Authorization request with PKCE, redirect with a code, exchange of the code: two requests, all with new values. */
async function authorizationCode(job: CodeJob, cookies: Cookies): Promise<void> {
  const { url, verifier, state } = authorizationRequest(job)
  const answer = await send('GET', url, { accept: 'text/html', cookies })
  const { location = '' } = answer.headers
  if (!location.startsWith(job.redirectUri)) throw new Error(`no code without a login: ${describe(url, answer)}`)
  const { searchParams } = new URL(location)
  const code = searchParams.get('code')
  if (!code || searchParams.get('state') !== state) throw new Error(`no code: ${location}`)
  await redeem(job, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: job.redirectUri,
    code_verifier: verifier,
  })
}

function authorizationRequest(job: CodeJob): { url: string; verifier: string; state: string } {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: job.client.id,
    redirect_uri: job.redirectUri,
    scope: job.scope,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return { url: `${job.endpoints.authorization}?${query.toString()}`, verifier, state }
}

/** Follows redirects from an authorization request to the code, filling in the login form on the way if there is one. */
async function signIn(job: CodeJob, cookies: Cookies): Promise<void> {
  let { url } = authorizationRequest(job)
  let fields: Record<string, string> | undefined
  for (let hop = 0; hop < 12; hop += 1) {
    const options = { accept: 'text/html', cookies, ...(fields && { body: new URLSearchParams(fields).toString() }) }
    const answer = await send(fields ? 'POST' : 'GET', url, options)
    fields = undefined
    const { location } = answer.headers
    if (location?.startsWith(job.redirectUri)) return
    if (location) {
      url = new URL(location, url).href
      continue
    }
    const form = loginForm(answer.body)
    if (!form) throw new Error(`no login form: ${describe(url, answer)}`)
    url = new URL(form.action, url).href
    fields = { ...form.hidden, username: job.user.name, password: job.user.password }
  }
  throw new Error('signing in leads round in circles')
}

/** The form of a page that asks for a password: where it is sent, and its hidden fields. */
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

/** Posts to the token endpoint with the client's credentials; throws unless all tokens of the job are there, signed. */
async function redeem(job: FlowJob, fields: Record<string, string>): Promise<void> {
  const answer = await send('POST', job.endpoints.token, {
    accept: 'application/json',
    authorization: `Basic ${btoa(`${job.client.id}:${job.client.secret}`)}`,
    body: new URLSearchParams(fields).toString(),
  })
  const wanted = job.flow === 'authorization_code' ? [ACCESS_JWT, ID_TOKEN] : [ACCESS_JWT]
  if (answer.status !== 200 || !wanted.every(token => token.test(answer.body))) {
    throw new Error(`no token: ${describe(job.endpoints.token, answer)}`)
  }
}

interface SendOptions {
  readonly accept: string
  readonly authorization?: string
  readonly cookies?: Cookies
  readonly body?: string
}

function send(method: string, url: string, { accept, authorization, cookies, body }: SendOptions): Promise<Answer> {
  const headers: Record<string, string | number> = { accept }
  if (authorization) headers.authorization = authorization
  if (cookies?.size) headers.cookie = Array.from(cookies, pair => pair.join('=')).join('; ')
  if (body !== undefined) {
    headers['content-type'] = 'application/x-www-form-urlencoded'
    headers['content-length'] = Buffer.byteLength(body)
  }
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers, agent, timeout: 10_000 }, response => {
      if (cookies) keepCookies(cookies, response.headers['set-cookie'])
      text(response).then(
        content => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: content }),
        reject,
      )
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)))
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

/** Paths are not looked at: no server of a run sets one name twice. */
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

function describe(url: string, { status, headers, body }: Answer): string {
  return `${url} answers ${status} ${headers.location ?? ''} ${body.slice(0, 500)}`
}
