// An open-loop load: requests are sent at fixed times, independent of earlier responses, and latencies count from the
// time a request was due. Also observes the purge of expired tokens. Runs in its own process.
// Usage: node bench/steady.ts FILE   (the job, JSON; prints JSON)
import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpRequest } from './requests.ts'

/** The requests, their rate, and which tokens are expected to be purged. */
export interface SteadyJob {
  readonly streams: readonly { readonly name: string; readonly request: HttpRequest; readonly expected: string }[]
  /** Of all streams together; requests alternate between them. */
  readonly perSecond: number
  readonly database: string
  /** Milliseconds since 1970: tokens that expire before are expected to be purged. */
  readonly expiredUntil: number
}

/** Milliseconds. */
export interface Latencies {
  readonly requests: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

/** What the driver prints. */
export interface SteadyResult {
  readonly purgeSeconds: number
  readonly streams: readonly { readonly name: string; readonly during: Latencies; readonly otherwise: Latencies }[]
}

const POLL_MILLISECONDS = 10
/** Requests this close to the purge count as during it, because polling sees its start and end late. */
const MARGIN_MILLISECONDS = 30
/** The first seconds are not counted: they measure the start of the server and this program. */
const SETTLE_MILLISECONDS = 5000
const AFTERWARDS_MILLISECONDS = 5000
const TIMEOUT_MILLISECONDS = 55_000

interface Sent {
  readonly stream: number
  readonly due: number
  readonly answered: number
}

if (import.meta.main) {
  const job: SteadyJob = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
  process.stdout.write(JSON.stringify(await drive(job)))
}

async function drive({ streams, perSecond, database: file, expiredUntil }: SteadyJob): Promise<SteadyResult> {
  const agent = new Agent({ keepAlive: true })
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  // Tokens are purged in the order of their expiry, so the first one shows when the purge begins.
  const first = database.prepare('select min(expires_at) as at from tokens')
  const firstExpiry = (): number => Number(first.get()?.at ?? Number.POSITIVE_INFINITY)

  const sent: Sent[] = []
  let failure: unknown
  const pending = new Set<Promise<void>>()
  function fire(stream: number, due: number): void {
    const { request, expected } = streams[stream] ?? raise('no such stream')
    const answer = ask(agent, request, expected).then(
      () => void sent.push({ stream, due, answered: performance.now() }),
      (error: unknown) => {
        failure ??= error
      },
    )
    pending.add(answer)
    void answer.finally(() => pending.delete(answer))
  }

  const began = performance.now()
  const untouched = firstExpiry()
  if (untouched > expiredUntil) throw new Error('no token has expired')
  let purgeFrom = Number.POSITIVE_INFINITY
  let purgeTo = Number.POSITIVE_INFINITY
  let nextDue = began
  let nextPoll = began
  let count = 0
  for (;;) {
    const now = performance.now()
    if (failure) throw failure
    if (now > purgeTo + AFTERWARDS_MILLISECONDS) break
    if (now > began + TIMEOUT_MILLISECONDS) throw new Error('the expired tokens were not purged in time')
    for (; nextDue <= now; nextDue += 1000 / perSecond) {
      fire(count % streams.length, nextDue)
      count += 1
    }
    if (now >= nextPoll && purgeTo === Number.POSITIVE_INFINITY) {
      const at = firstExpiry()
      if (at !== untouched) purgeFrom = Math.min(purgeFrom, now)
      if (at > expiredUntil) purgeTo = now
      nextPoll = now + POLL_MILLISECONDS
    }
    await delay(1)
  }
  await Promise.all(pending)
  database.close()
  agent.destroy()

  const milliseconds = ({ due, answered }: Sent): number => answered - due
  const isDuring = ({ due, answered }: Sent): boolean =>
    answered > purgeFrom - MARGIN_MILLISECONDS && due < purgeTo + MARGIN_MILLISECONDS
  const counted = sent.filter(({ due }) => due > began + SETTLE_MILLISECONDS)
  return {
    purgeSeconds: (purgeTo - purgeFrom) / 1000,
    streams: streams.map(({ name }, index) => {
      const own = counted.filter(({ stream }) => stream === index)
      return {
        name,
        during: latenciesOf(own.filter(isDuring).map(milliseconds)),
        otherwise: latenciesOf(own.filter(each => !isDuring(each)).map(milliseconds)),
      }
    }),
  }
}

/** The quantiles of latencies in milliseconds. */
export function latenciesOf(times: readonly number[]): Latencies {
  const values = times.toSorted((one, other) => one - other)
  const quantile = (part: number): number => values[Math.ceil(part * values.length) - 1] ?? 0
  return { requests: values.length, p50: quantile(0.5), p99: quantile(0.99), longest: quantile(1) }
}

async function ask(agent: Agent, request: HttpRequest, expected: string): Promise<void> {
  const { status, content } = await send(agent, request)
  if (status === 200 && content.includes(expected)) return
  throw new Error(`${request.url} answers ${status}: ${content.slice(0, 500)}`)
}

function send(
  agent: Agent,
  { url, method, headers, body }: HttpRequest,
): Promise<{ status: number | undefined; content: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { agent, method, headers, timeout: 10_000 }, response => {
      text(response).then(content => resolve({ status: response.statusCode, content }), reject)
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)))
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

function raise(message: string): never {
  throw new Error(message)
}
