import type { FastifyInstance } from 'fastify'
import type { Audit } from '../model/event.ts'

/** Observes a running server, to measure, trace or log it. */
export interface Instrument {
  /** Observes every request of the server from now on; must be called before any other hook is added. */
  watch(http: FastifyInstance): void
  /** Wraps the audit trail and observes its events. */
  counted(audit: Audit): Audit
  /** Called after a database query, or a whole transaction; absent if nobody counts them. */
  readonly countQuery?: ((milliseconds: number) => void) | undefined
  /** Called with the name of a limit that refused a request; absent if nobody counts them. */
  readonly countRefusal?: ((limit: string) => void) | undefined
}

/** Observes requests, and perhaps the rest. */
export type Observer = Pick<Instrument, 'watch'> & Partial<Instrument>

/** One instrument that passes everything on to those that there are; undefined without any. */
export function combined(given: readonly (Observer | undefined)[]): Instrument | undefined {
  const observers = given.filter(each => each !== undefined)
  if (observers.length === 0) return undefined
  const queries = observers.flatMap(({ countQuery }) => countQuery ?? [])
  const refusals = observers.flatMap(({ countRefusal }) => countRefusal ?? [])
  return {
    watch(http) {
      for (const each of observers) each.watch(http)
    },
    counted: audit => observers.reduce((inner, each) => each.counted?.(inner) ?? inner, audit),
    countQuery:
      queries.length === 0
        ? undefined
        : milliseconds => {
            for (const count of queries) count(milliseconds)
          },
    countRefusal: limit => {
      for (const count of refusals) count(limit)
    },
  }
}
