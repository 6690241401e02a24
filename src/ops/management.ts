// The management port: metrics for Prometheus, for every client that can reach it. It is a separate server, so that no proxy
// in front of the other port exposes it by mistake.
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { AddressInfo } from 'node:net'
import { AggregatorRegistry, Gauge, Registry } from 'prom-client'
import { isLoopbackHost } from '../base/loopback.ts'
import { createPrometheus } from './prometheus/prometheus.ts'
import type { Instrument } from './instrument.ts'
import { addLogoutMetrics, addMailMetrics, addWebhookMetrics } from './prometheus/queue-metrics.ts'
import type { QueueSource, WebhookSource } from './prometheus/queue-metrics.ts'
import { addSearchMetrics } from './prometheus/search-metrics.ts'
import type { SearchSource } from './prometheus/search-metrics.ts'
import type { SharedTasks } from './shared-tasks.ts'

/** Where the management port listens. */
interface ManagementSettings {
  readonly host: string
  readonly port: number
}

/** The metrics of this process, and the port of all of them. */
export interface Management {
  readonly instrument: Instrument
  /** Listens in the process that leads, which asks workers for theirs; resolves with the port. Rejects as `listen` fails. */
  listen(): Promise<number>
  /** Adds the metrics of the mail queue. */
  addMails(mails: QueueSource): void
  /** Adds the metrics of ended sessions. */
  addLogouts(logouts: QueueSource): void
  /** Adds what webhooks receive of the audit trail. */
  addWebhooks(webhooks: WebhookSource): void
  /** Adds which servers of the database answer searches. */
  addSearches(store: SearchSource): void
  /** Adds which tasks this process does for all. */
  addTasks(tasks: Pick<SharedTasks, 'leases'>): void
  close(): void
}

const MAX_CONNECTIONS = 64
const CONNECTIONS = { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 65_000 }

/** Does not listen yet. In a worker process it never does: the first process asks it. */
export function createManagement(deps: {
  readonly settings: ManagementSettings
  readonly baseUrl: string
  readonly version: string
  readonly workers: number
  readonly isDatabaseUp: () => boolean
  readonly onFailure: (cause: unknown) => void
}): Management {
  const { settings, onFailure } = deps
  const basePath = new URL(deps.baseUrl).pathname.replace(/\/+$/, '')
  const prometheus = createPrometheus({ ...deps, basePath })
  const leads = deps.workers > 1 && cluster.isPrimary
  const all = new AggregatorRegistry()
  if (cluster.isWorker) AggregatorRegistry.setRegistries([prometheus.registry])
  // That of the leading process itself would count no requests.
  const own = leads ? new Registry() : prometheus.registry

  async function collect(): Promise<string> {
    const texts = leads ? [await all.clusterMetrics(), await own.metrics()] : [await own.metrics()]
    return texts.filter(text => text.trim() !== '').join('\n')
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method, headers } = request
    response.setHeader('cache-control', 'no-store').setHeader('x-content-type-options', 'nosniff')
    if (!isForHost(headers.host, settings.host)) return void response.writeHead(421).end()
    if (url.replace(/\?.*$/s, '') !== '/metrics') return void response.writeHead(404).end()
    if (method !== 'GET' && method !== 'HEAD') return void response.writeHead(405, { allow: 'GET, HEAD' }).end()
    try {
      const text = await collect()
      response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text)
    } catch (cause) {
      onFailure(cause)
      response.writeHead(503, { 'retry-after': '5' }).end()
    }
  }

  const server = createServer(CONNECTIONS, (request, response) => void answer(request, response))
  server.maxConnections = MAX_CONNECTIONS

  return {
    instrument: prometheus,
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(settings.port, settings.host, () => {
          server.off('error', reject).on('error', onFailure)
          resolve((server.address() as AddressInfo).port) // not a path: a port was asked for
        })
        server.unref() // keeps no process alive
      }),
    addMails: mails => addMailMetrics(own, mails),
    addLogouts: logouts => addLogoutMetrics(own, logouts),
    addWebhooks: webhooks => addWebhookMetrics(own, webhooks),
    addSearches: store => addSearchMetrics(prometheus.registry, store),
    addTasks: tasks => addTaskMetrics(own, tasks),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/**
 * Whether a request is meant for this machine. On loopback, a foreign host name means DNS rebinding: a page in a local browser
 * had its own name resolved to this address in order to read the answer. On other addresses any name is accepted.
 */
function isForHost(header: string | undefined, listening: string): boolean {
  if (header === undefined || !isLoopbackHost(listening)) return true
  const host = header.replace(/:\d*$/, '')
  return isLoopbackHost(host) || isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0 || host === listening
}

/** Adds the metrics of what one process does for all that share the database. */
export function addTaskMetrics(registry: Registry, tasks: Pick<SharedTasks, 'leases'>): void {
  void new Gauge({
    name: 'latchkey_lease_held',
    help: 'Whether this process runs the task that all processes of the database share.',
    labelNames: ['task'] as const,
    registers: [registry],
    collect() {
      for (const { name, isHeld } of tasks.leases()) this.set({ task: name }, isHeld ? 1 : 0)
    },
  })
}
