import { createMetrics } from './metrics.ts'
import type { Measurement, Metrics } from './metrics.ts'
import { createStatsd } from './statsd.ts'

const INTERVAL_MILLISECONDS = 5000

/** Metrics, and the timer that reports them. */
export interface Measuring {
  readonly metrics: Metrics
  /**
   * Sends `report`, or that of the metrics, every five seconds without keeping the process alive; returns the function that stops
   * it.
   */
  begin(report?: () => Promise<readonly Measurement[]>): () => void
}

/** Opens the configured metrics; undefined if none are configured. */
export function measure(
  config: {
    readonly baseUrl: string
    /** Prefix of every name. */
    readonly service: string
    readonly operations: {
      readonly statsd?: { readonly host: string; readonly port: number; readonly perRequest: boolean }
    }
  },
  onFailure: (cause: unknown) => void,
): Measuring | undefined {
  const { statsd: settings } = config.operations
  if (!settings) return undefined
  const { host, port, perRequest } = settings
  const statsd = createStatsd({ host, port, prefix: config.service, onFailure })
  const basePath = new URL(config.baseUrl).pathname.replace(/\/+$/, '')
  const metrics = createMetrics({ basePath, onLatency: perRequest ? latency => statsd.add(latency) : undefined })

  async function send(report: () => Promise<readonly Measurement[]>): Promise<void> {
    try {
      for (const measurement of await report()) statsd.add(measurement)
      await statsd.flush()
    } catch (cause) {
      onFailure(cause)
    }
  }

  return {
    metrics,
    begin(report = async () => metrics.report()) {
      const timer = setInterval(() => void send(report), INTERVAL_MILLISECONDS)
      timer.unref()
      return () => {
        clearInterval(timer)
        statsd.close()
      }
    },
  }
}
