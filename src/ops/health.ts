// Health for load balancers. Decides when the database counts as unavailable; independent of zones.
import type { FastifyInstance } from 'fastify'
import { stopwatch } from '../base/clock.ts'

/** The state of this process. */
export interface Health {
  /** Probes the database once; never throws, and ends at the timeout. */
  probe(): Promise<void>
  /** Called when a request failed because of the database: probes at once, but at most once a second. */
  suspect(): void
  /** Probes at intervals without keeping the process alive; returns the function that stops it. */
  keepProbing(everyMilliseconds: number): () => void
  /** From now on reports that the process is stopping, whatever the database does. */
  stop(): void
  /** What `/healthz` answers now. */
  readonly answer: HealthAnswer
}

/** An answer of `/healthz`. */
export interface HealthAnswer {
  readonly status: 200 | 503
  readonly text: string
}

const ANSWERS = {
  unknown: { status: 200, text: 'UAA running. Database status unknown.\n' },
  ok: { status: 200, text: 'ok' }, // scripts that wait for the start compare with it
  failed: { status: 503, text: 'Database Connection failed.\n' },
  stopping: { status: 503, text: 'stopping\n' },
} as const satisfies Readonly<Record<string, HealthAnswer>>

/** A database that takes longer for a trivial query counts as unavailable. */
const PROBE_TIMEOUT_MILLISECONDS = 5000
const SUSPICION_PAUSE_MILLISECONDS = 1000

/**
 * `check` rejects if the database does not answer or accepts no writes. Before the first probe the state is `unknown`.
 */
export function createHealth({
  check,
  log,
}: {
  check: () => Promise<void>
  log: { warn(message: string): void; info(message: string): void }
}): Health {
  let database: 'unknown' | 'ok' | 'failed' = 'unknown'
  let stopping = false
  let pending: Promise<void> | undefined
  let sinceSuspicion: (() => number) | undefined

  function update(failure: string | undefined): void {
    const before = database
    database = failure === undefined ? 'ok' : 'failed'
    if (before === database || stopping) return
    if (failure !== undefined) log.warn(failure)
    else if (before === 'failed') log.info('the database works again')
  }

  async function look(): Promise<void> {
    let failure: string | undefined
    try {
      await check()
    } catch (error) {
      failure = `the database does not work: ${error instanceof Error ? error.message : String(error)}`
    }
    update(failure)
  }

  /** One probe at a time, so that hanging ones do not exhaust the connections. A late result still counts. */
  function ask(): Promise<void> {
    pending ??= look().finally(() => (pending = undefined))
    return pending
  }

  async function probe(): Promise<void> {
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      update('the database does not answer')
      timeout.resolve()
    }, PROBE_TIMEOUT_MILLISECONDS)
    await Promise.race([ask(), timeout.promise])
    clearTimeout(timer)
  }

  return {
    probe,
    suspect() {
      if (sinceSuspicion && sinceSuspicion() < SUSPICION_PAUSE_MILLISECONDS) return
      sinceSuspicion = stopwatch()
      void probe()
    },
    keepProbing(everyMilliseconds) {
      const timer = setInterval(() => void probe(), everyMilliseconds)
      timer.unref()
      return () => clearInterval(timer)
    },
    stop() {
      stopping = true
    },
    get answer() {
      return stopping ? ANSWERS.stopping : ANSWERS[database]
    },
  }
}

/** `GET /healthz`: `ok` while the server is ready. Independent of the zone; reports the last probe, and starts none. */
export function healthEndpoint(app: FastifyInstance, { health }: { health: Pick<Health, 'answer'> }): void {
  app.get(
    '/healthz',
    {
      config: {
        access: { by: 'anyone', because: 'a load balancer asks without credentials' },
        audience: 'open',
        zone: false,
      },
    },
    (_, reply) => {
      const { status, text } = health.answer
      return reply.status(status).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(text)
    },
  )
}
