import { createMetrics } from './metrics.ts'
import type { Metrics } from './metrics.ts'
import { createStatsd } from './statsd.ts'

const INTERVAL_MILLISECONDS = 5000

/** Metrics, and the timer that reports them. */
export interface Measuring {
  readonly metrics: Metrics
  /** Sends a report every five seconds without keeping the process alive; returns the function that stops it. */
  begin(): () => void
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

  function send(): void {
    for (const measurement of metrics.report()) statsd.add(measurement)
    void statsd.flush()
  }

  return {
    metrics,
    begin() {
      const timer = setInterval(send, INTERVAL_MILLISECONDS)
      timer.unref()
      return () => {
        clearInterval(timer)
        statsd.close()
      }
    },
  }
}
