// Metrics for Prometheus. Labels have few values, independent of input: no zones, clients, users or addresses. Loaded only
// where a management port is configured.
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Audit } from '../../model/audit/event.ts'
import type { Instrument } from '../instrument.ts'
import { addRequestMetrics } from './request-metrics.ts'
import { addOutboundMetrics, addQueryMetrics, addSignatureMetrics } from './work-metrics.ts'

/** The metrics of one process. */
interface Prometheus extends Instrument {
  readonly countQuery: (milliseconds: number) => void
  readonly registry: Registry
}

/** `isDatabaseUp` is called at each scrape. */
export function createPrometheus({
  basePath,
  version,
  isDatabaseUp,
}: {
  readonly basePath: string
  readonly version: string
  readonly isDatabaseUp: () => boolean
}): Prometheus {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // In the order in which the metrics are shown.
  const watch = addRequestMetrics(registry, basePath)
  const countQuery = addQueryMetrics(registry)
  const countOutbound = addOutboundMetrics(registry)
  const countSignature = addSignatureMetrics(registry)
  const counted = addAuditMetrics(registry)
  const countRefusal = addLimitMetrics(registry)
  addServerMetrics(registry, { version, isDatabaseUp })
  return { registry, watch, counted, countQuery, countRefusal, countOutbound, countSignature }
}

/** Returns the function that wraps the audit trail. */
function addAuditMetrics(registry: Registry): (audit: Audit) => Audit {
  // Some series exist from the start, so that their first event shows as an increase.
  const uncollected = new Map([
    ['AuditTrailAlteredEvent', 0],
    ['AuditEventsLostEvent', 0],
  ])
  void new Counter({
    name: 'latchkey_audit_events_total',
    help: 'Events of the audit trail by type.',
    labelNames: ['type'] as const,
    registers: [registry],
    collect() {
      for (const [type, count] of uncollected) this.inc({ type }, count)
      uncollected.clear()
    },
  })
  return audit => event => {
    uncollected.set(event.type, (uncollected.get(event.type) ?? 0) + 1)
    audit(event)
  }
}

/** Returns the function that counts a refusal by a limit. */
function addLimitMetrics(registry: Registry): (limit: string) => void {
  const limited = new Counter({
    name: 'latchkey_limited_total',
    help: 'Requests refused by a limit, by limit; ratelimit for the configured ones.',
    labelNames: ['limit'] as const,
    registers: [registry],
  })
  return limit => limited.inc({ limit })
}

function addServerMetrics(
  registry: Registry,
  { version, isDatabaseUp }: { readonly version: string; readonly isDatabaseUp: () => boolean },
): void {
  const registers = [registry]
  void new Gauge({
    name: 'latchkey_database_up',
    help: 'Whether the database was available at the last check.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(isDatabaseUp() ? 1 : 0)
    },
  })
  const build = new Gauge({
    name: 'latchkey_build_info',
    help: 'Always 1; the version is a label.',
    labelNames: ['version'] as const,
    aggregator: 'first',
    registers,
  })
  build.set({ version }, 1)
}
