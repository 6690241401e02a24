// The log and the traces of the process. Code that is not configured is not loaded.
import type { Config } from '../config.ts'
import { createRandom } from '../base/random.ts'
import { readBuildFacts } from '../ops/build.ts'
import { createLog } from '../ops/log.ts'
import type { Log } from '../ops/log.ts'
import type { Tracing } from '../ops/tracing.ts'

/** Opens both; tracing is undefined unless it is enabled. */
export async function openLog(config: Config): Promise<{ readonly log: Log; readonly tracing: Tracing | undefined }> {
  const tracing = await openTracing(config)
  const { requests } = config.log
  if (requests === 'none') return { log: createLog(), tracing }
  const { createRequestLog } = await import('../ops/request-log.ts')
  const log: Log = createLog(
    { fd: 1 },
    createRequestLog({
      random: createRandom(),
      trustedProxies: config.listen.trustedProxies,
      basePath: basePathOf(config),
      traceIdOf: tracing?.traceIdOf,
      onAnswer: requests === 'all' ? answered => log.request(answered) : undefined,
    }),
  )
  return { log, tracing }
}

async function openTracing(config: Config): Promise<Tracing | undefined> {
  if (!config.tracing) return undefined
  const { createTracing } = await import('../ops/tracing.ts')
  return createTracing({
    scheme: new URL(config.baseUrl).protocol.slice(0, -1),
    basePath: basePathOf(config),
    version: readBuildFacts().version,
    database: config.database,
  })
}

const basePathOf = ({ baseUrl }: Config): string => new URL(baseUrl).pathname.replace(/\/+$/, '')
