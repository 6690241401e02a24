// Drives flows of several requests, or of requests that need a new value each: a closed loop over keep-alive
// connections, in its own process, the same for every server. Usage: node bench/flows.ts JOB  (JSON; prints JSON)
import type { BenchClient, KeyClient } from './accounts.ts'
import { createSigner } from './assertions.ts'
import { LANES, describe, obtainCode, obtainCodeByPush, obtainRefreshToken, post, signIn } from './browser.ts'
import type { Cookies, User } from './browser.ts'
import { closeConnections } from './connection.ts'
import type { Answer } from './connection.ts'
import { createProver } from './dpop.ts'
import { CONNECTIONS } from './requests.ts'
import type { Endpoints } from './requests.ts'

/** A flow with its client, user and server. */
export type FlowJob = { readonly endpoints: Endpoints; readonly scope: string } & (
  | { readonly flow: 'client_credentials' | 'client_credentials_dpop' | 'revocation'; readonly client: BenchClient }
  | { readonly flow: 'private_key_jwt'; readonly client: KeyClient }
  | { readonly flow: 'password'; readonly client: BenchClient; readonly user: User }
  | {
      readonly flow:
        | 'authorization_code'
        | 'authorization_code_dpop'
        | 'authorization_code_pushed'
        | 'authorization_code_pushed_dpop'
        | 'sign_in'
        | 'rotation'
      readonly client: BenchClient
      readonly user: User
      readonly redirectUri: string
    }
)

/** The user of a lane that signs in with a password; lane 0 has the user of all other flows. */
export const nameOfLane = (name: string, lane: number): string => (lane === 0 ? name : `${name}-${lane}`)

/** When to stop: after a time, or after a number of flows. */
export type FlowEnd = { readonly seconds: number } | { readonly flows: number }

/** What the driver prints: milliseconds for latencies. */
export interface FlowResult {
  readonly flows: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  /** Whether the flows consumed values that were prepared in advance. */
  readonly prepares: boolean
}

/** A prepared value: fields of the form, or a DPoP proof. */
interface Supply {
  readonly fields?: Record<string, string>
  readonly proof?: string
}

/** Runs the flow once, with a prepared value if it consumes one. */
type Lane = (supply: Supply) => Promise<void>

/** Flows with a proof. */
const BOUND_FLOWS: ReadonlySet<FlowJob['flow']> = new Set([
  'client_credentials_dpop',
  'authorization_code_dpop',
  'authorization_code_pushed_dpop',
])

/** How many values are prepared at a time, while the clock is stopped. */
const SUPPLIES = 2000

const ACCESS_JWT = /"access_token":"[\w-]+\.[\w-]+\.[\w-]+"/
const ID_TOKEN = /"id_token":"[\w-]+\.[\w-]+\.[\w-]+"/

if (import.meta.main) {
  const { job, end }: { job: FlowJob; end: FlowEnd } = JSON.parse(process.argv[2] ?? '{}')
  process.stdout.write(JSON.stringify(await drive(job, end)))
  closeConnections()
}

/** Runs the flow in every lane. Sign-ins for a session come before the clock starts. */
async function drive(job: FlowJob, end: FlowEnd): Promise<FlowResult> {
  const makeSupply = await supplierOf(job)
  // Flows that consume a prepared value are single requests, sent from as many connections as by the load tool.
  const count = makeSupply && !('user' in job) ? CONNECTIONS : LANES
  const lanes = await Promise.all(Array.from({ length: count }, (_, lane) => openLane(job, lane)))
  const latencies: number[] = []
  let begun = 0
  let elapsed = 0
  let start = performance.now()
  const mayBegin = (): boolean => {
    if ('flows' in end) return begun < end.flows
    return elapsed + performance.now() - start < end.seconds * 1000
  }
  do {
    const supplies = makeSupply && (await makeAll(makeSupply))
    start = performance.now()
    await Promise.all(
      lanes.map(async flow => {
        while (mayBegin()) {
          const supply = supplies ? supplies.pop() : {}
          if (!supply) return
          begun += 1
          const began = performance.now()
          await flow(supply)
          latencies.push(performance.now() - began)
        }
      }),
    )
    elapsed += performance.now() - start
    start = performance.now()
  } while (mayBegin())
  latencies.sort((a, b) => a - b)
  const quantile = (part: number): number => latencies[Math.floor(part * (latencies.length - 1))] ?? 0
  return {
    flows: latencies.length,
    seconds: elapsed / 1000,
    p50: quantile(0.5),
    p99: quantile(0.99),
    prepares: makeSupply !== undefined,
  }
}

async function makeAll(make: () => Promise<Supply>): Promise<Supply[]> {
  const made: Supply[] = []
  const lane = async (): Promise<void> => {
    for (let i = 0; i < SUPPLIES / CONNECTIONS; i += 1) made.push(await make())
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  return made
}

/** Prepares the value that each flow consumes: a token to revoke, an assertion or a proof. Undefined if it consumes none. */
async function supplierOf(job: FlowJob): Promise<(() => Promise<Supply>) | undefined> {
  const { endpoints, scope } = job
  if (job.flow === 'private_key_jwt') {
    const sign = await createSigner(job.client, endpoints.token)
    return async () => ({ fields: await sign() })
  }
  if (BOUND_FLOWS.has(job.flow)) {
    const prove = createProver(endpoints.token)
    return async () => ({ proof: await prove() })
  }
  if (job.flow !== 'revocation') return undefined
  const fields = { grant_type: 'client_credentials', scope, token_format: 'opaque' }
  return async () => {
    const answer = await post(endpoints.token, fields, job.client)
    return { fields: { token: member(answer, 'access_token', endpoints.token) } }
  }
}

/** Prepares one lane; in flows with a user, each lane is a browser with its own session. */
async function openLane(job: FlowJob, lane: number): Promise<Lane> {
  const { endpoints, scope } = job
  switch (job.flow) {
    case 'authorization_code':
    case 'authorization_code_dpop': {
      const cookies: Cookies = new Map()
      await signIn(job, cookies)
      return async ({ proof }) => {
        const fields = await obtainCode(job, cookies)
        expectTokens(await post(endpoints.token, fields, job.client, proof), [ACCESS_JWT, ID_TOKEN], endpoints.token)
      }
    }
    case 'authorization_code_pushed':
    case 'authorization_code_pushed_dpop': {
      const cookies: Cookies = new Map()
      await signIn(job, cookies)
      return async ({ proof }) => {
        const fields = await obtainCodeByPush(job, cookies)
        expectTokens(await post(endpoints.token, fields, job.client, proof), [ACCESS_JWT, ID_TOKEN], endpoints.token)
      }
    }
    case 'sign_in': {
      // Sign-ins to one account are processed one at a time, so each lane has its own user.
      const person = { ...job, user: { ...job.user, name: nameOfLane(job.user.name, lane) } }
      return async () => {
        const fields = await signIn(person, new Map())
        expectTokens(await post(endpoints.token, fields, job.client), [ACCESS_JWT, ID_TOKEN], endpoints.token)
      }
    }
    case 'rotation': {
      let current = await obtainRefreshToken(job)
      return async () => {
        const fields = { grant_type: 'refresh_token', refresh_token: current }
        const answer = await post(endpoints.token, fields, job.client)
        expectTokens(answer, [ACCESS_JWT], endpoints.token)
        const next = member(answer, 'refresh_token', endpoints.token)
        if (next === current) throw new Error('the refresh token is not replaced')
        current = next
      }
    }
    case 'revocation':
      return async ({ fields = {} }) => {
        const answer = await post(endpoints.revocation, fields, job.client)
        if (answer.status !== 200) throw new Error(`not revoked: ${describe(endpoints.revocation, answer)}`)
      }
    case 'private_key_jwt':
      return async ({ fields: assertion }) => {
        const fields = { grant_type: 'client_credentials', scope, ...assertion }
        expectTokens(await post(endpoints.token, fields), [ACCESS_JWT], endpoints.token)
      }
    case 'client_credentials':
    case 'client_credentials_dpop':
      return async ({ proof }) => {
        const answer = await post(endpoints.token, { grant_type: 'client_credentials', scope }, job.client, proof)
        expectTokens(answer, [ACCESS_JWT], endpoints.token)
      }
    case 'password': {
      const username = nameOfLane(job.user.name, lane)
      const fields = { grant_type: job.flow, username, password: job.user.password, scope }
      return async () => expectTokens(await post(endpoints.token, fields, job.client), [ACCESS_JWT], endpoints.token)
    }
  }
}

/** Throws unless the response has all tokens as JWTs. */
function expectTokens(answer: Answer, tokens: readonly RegExp[], url: string): void {
  if (answer.status === 200 && tokens.every(token => token.test(answer.body))) return
  throw new Error(`no token: ${describe(url, answer)}`)
}

function member(answer: Answer, name: string, url: string): string {
  const value: unknown = answer.status === 200 ? JSON.parse(answer.body)[name] : undefined
  if (typeof value !== 'string') throw new Error(`no ${name}: ${describe(url, answer)}`)
  return value
}
