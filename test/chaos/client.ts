// What the drivers of chaos and soak send by: every request goes to the next node in turn. An answer is a good one, a refusal to
// be repeated (503 with Retry-After), none at all, or a fault of the server.
import { Agent } from 'node:http'
import { send, visit } from '../support/visitor.ts'
import type { Incoming, Outgoing, Visitor } from '../support/visitor.ts'

/** 503 with `Retry-After`: the operation may have happened. */
export class Unavailable extends Error {}
/** The connection closed, failed or timed out: the operation may have happened. */
export class Broken extends Error {}
/** Violations of the guarantees that hold during any fault. */
export class Violation extends Error {}

/** The target of requests. */
export interface Target {
  readonly baseUrl: string
  /** Whether a load balancer would send requests to it. */
  readonly isServing: () => boolean
}

/** Sends requests to several nodes. */
export interface RoundRobin {
  /** Throws one of the errors above for status 429 and from 500. */
  ask(path: string, outgoing?: Outgoing): Promise<Incoming>
  /** A browser whose every request may go to another node. */
  visitor(): Visitor
  close(): void
}

/** The timeout of a request. */
export const PATIENCE_MS = 5000

/** How the requests are sent. */
interface RoundRobinOptions {
  readonly patienceMs?: number
  /** Whether requests come from different networks, by a proxy header: otherwise one network's limits apply. */
  readonly isCrowd?: boolean
}

const NETWORKS = 10_000

/** Connects on demand. */
export function createRoundRobin(
  targets: readonly Target[],
  { patienceMs = PATIENCE_MS, isCrowd = false }: RoundRobinOptions = {},
): RoundRobin {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  let turn = 0

  function next(): string {
    for (let tried = 0; tried < targets.length; tried += 1) {
      turn += 1
      const target = targets[turn % targets.length]
      if (target?.isServing()) return target.baseUrl
    }
    throw new Broken('no node serves')
  }

  const ask = async (path: string, outgoing: Outgoing = {}): Promise<Incoming> => {
    const url = next() + path
    const network = turn % NETWORKS
    const from = { 'x-forwarded-for': `10.${Math.floor(network / 256)}.${network % 256}.1` }
    const headers = { ...outgoing.headers, ...(isCrowd && from) }
    const answer = await send(url, { agent, patienceMs, ...outgoing, headers }).catch((error: unknown) => {
      const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
      throw new Broken(`${outgoing.method ?? ''} ${path}: ${String(code ?? error)}`, { cause: error })
    })
    if (answer.status === 503 && answer.headers['retry-after'] !== undefined) throw new Unavailable(path)
    if (answer.status >= 500 || answer.status === 429) throw unexpected(path, answer)
    return answer
  }
  return { ask, visitor: () => visit('', agent, ask), close: () => agent.destroy() }
}

/** For an unexpected response. */
export const unexpected = (what: string, { status, headers, text }: Incoming): Violation =>
  new Violation(`${what}: ${status} ${headers.location ?? ''} ${text.slice(0, 300)}`)
