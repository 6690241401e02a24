// Durations of what requests cause: statements of the database, requests to other servers, signatures.
import type { Registry } from 'prom-client'
import type { OutboundExchange } from '../../base/outbound.ts'
import type { Signature } from '../../model/tokens/signature.ts'
import { statusClassOf } from '../endpoints.ts'
import { SeriesHistogram, seriesFinder } from './histogram.ts'

/** In seconds. */
const QUERY_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5]
const OUTBOUND_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
/** The fastest signature takes 0.05 ms; a slow hardware token times out after seconds. */
const SIGNATURE_BUCKETS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5]

/** Adds the metric of statements; returns the function that counts one. */
export function addQueryMetrics(registry: Registry): (milliseconds: number) => void {
  const queries = new SeriesHistogram({
    name: 'latchkey_database_query_duration_seconds',
    help: 'Statements outside of transactions, and whole transactions.',
    labelNames: [],
    buckets: QUERY_BUCKETS,
    registers: [registry],
  })
  const series = queries.add({})
  return milliseconds => series.observe(milliseconds / 1000)
}

/** Adds the metric of requests to other servers; returns the function that counts one. */
export function addOutboundMetrics(registry: Registry): (exchange: OutboundExchange) => void {
  const outbound = new SeriesHistogram({
    name: 'latchkey_outbound_request_duration_seconds',
    help: 'Requests to other servers by purpose, and by class of status or reason of the failure.',
    labelNames: ['purpose', 'outcome'] as const,
    buckets: OUTBOUND_BUCKETS,
    registers: [registry],
  })
  const series = seriesFinder((purpose, outcome) => outbound.add({ purpose, outcome }))
  return ({ purpose, outcome, milliseconds }) => {
    const label = typeof outcome === 'number' ? statusClassOf(Math.floor(outcome / 100)) : outcome
    series(purpose, label).observe(milliseconds / 1000)
  }
}

/** Adds the metric of signatures; returns the function that counts one. */
export function addSignatureMetrics(registry: Registry): (signature: Signature) => void {
  const signatures = new SeriesHistogram({
    name: 'latchkey_signature_duration_seconds',
    help: 'Signatures by algorithm, and by where they are made: on the main thread, in the thread pool, in a token.',
    labelNames: ['algorithm', 'place', 'outcome'] as const,
    buckets: SIGNATURE_BUCKETS,
    registers: [registry],
  })
  const series = seriesFinder((algorithm, place, outcome) => signatures.add({ algorithm, place, outcome }))
  return ({ algorithm, place, milliseconds, isMade }) =>
    series(algorithm, place, isMade ? 'made' : 'failed').observe(milliseconds / 1000)
}
