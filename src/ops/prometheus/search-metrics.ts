// Metrics of searches: which server of the database answers them. Loaded only where a management port is configured.
import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Store } from '../../store/store.ts'

/** The metrics of searches. */
export type SearchSource = Pick<Store, 'searchServers'>

/** Adds the metrics of searches; they are read at each scrape. */
export function addSearchMetrics(registry: Registry, store: SearchSource): void {
  const registers = [registry]
  void new Gauge({
    name: 'latchkey_replica_used',
    help: 'Whether searches go to the replica now.',
    labelNames: ['server'] as const,
    aggregator: 'min',
    registers,
    collect() {
      for (const { name: server, isUsed } of store.searchServers()) {
        if (isUsed !== undefined) this.set({ server }, isUsed ? 1 : 0)
      }
    },
  })
  void new Counter({
    name: 'latchkey_database_searches_total',
    help: 'Statements that a replica may serve, by the server that did.',
    labelNames: ['server'] as const,
    registers,
    collect() {
      this.reset()
      for (const { name: server, searches } of store.searchServers()) this.inc({ server }, searches)
    },
  })
}
