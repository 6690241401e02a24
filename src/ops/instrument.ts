import type { FastifyInstance } from 'fastify'
import type { OutboundExchange } from '../base/outbound.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Signature } from '../model/tokens/signature.ts'

/** Observes a running server, to measure, trace or log it. */
export interface Instrument {
  /** Observes every request of the server from now on; must be called before any other hook is added. */
  watch(http: FastifyInstance): void
  /** Wraps the audit trail and observes its events. */
  counted(audit: Audit): Audit
  /** Called after a database query, or a whole transaction; absent if they are not counted. */
  readonly countQuery?: ((milliseconds: number) => void) | undefined
  /** Called with the name of a limit that refused a request; absent if they are not counted. */
  readonly countRefusal?: ((limit: string) => void) | undefined
  /** Called after a request to another server; absent if they are not counted. */
  readonly countOutbound?: ((exchange: OutboundExchange) => void) | undefined
  /** Called after a signature was made or failed; absent if they are not counted. */
  readonly countSignature?: ((signature: Signature) => void) | undefined
}

/** Observes requests, and optionally the rest. */
type Observer = Pick<Instrument, 'watch'> & Partial<Instrument>

/** One instrument that forwards to all given ones; undefined if there are none. */
export function combined(given: readonly (Observer | undefined)[]): Instrument | undefined {
  const observers = given.filter(each => each !== undefined)
  if (observers.length === 0) return undefined
  return {
    watch(http) {
      for (const each of observers) each.watch(http)
    },
    counted: audit => observers.reduce((inner, each) => each.counted?.(inner) ?? inner, audit),
    countQuery: toAll(observers.flatMap(({ countQuery }) => countQuery ?? [])),
    countRefusal: toAll(observers.flatMap(({ countRefusal }) => countRefusal ?? [])),
    countOutbound: toAll(observers.flatMap(({ countOutbound }) => countOutbound ?? [])),
    countSignature: toAll(observers.flatMap(({ countSignature }) => countSignature ?? [])),
  }
}

/** One function that calls each; undefined if there are none, so that nothing is measured unnecessarily. */
function toAll<T>(counters: readonly ((measured: T) => void)[]): ((measured: T) => void) | undefined {
  if (counters.length <= 1) return counters[0]
  return measured => {
    for (const count of counters) count(measured)
  }
}
