// Whether the server can work, as load balancers ask it. Owns when the database counts as gone; refuses to know a zone.
import type { FastifyInstance } from 'fastify'
import { stopwatch } from '../base/clock.ts'

/** The state of this process. */
export interface Health {
  /** Looks at the database once; never throws, and waits no longer than the patience. */
  probe(): Promise<void>
  /** A request failed for the database: looks now, unless it did so within the last second. */
  suspect(): void
  /** Looks again and again, which keeps no process alive; answers what ends it. */
  keepProbing(everyMilliseconds: number): () => void
  /** From now on the answer is that the process stops, whatever the database does. */
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
  ok: { status: 200, text: 'ok' }, // what waits for a start compares with it
  failed: { status: 503, text: 'Database Connection failed.\n' },
  stopping: { status: 503, text: 'stopping\n' },
} as const satisfies Readonly<Record<string, HealthAnswer>>

/** A database that takes longer to answer one small question does not work. */
const PATIENCE_MILLISECONDS = 5000
const SUSPICION_PAUSE_MILLISECONDS = 1000

/** Nothing is known before the first probe. `check` rejects when the database does not answer, or takes no writes. */
export function createHealth({
  check,
  log,
}: {
  check: () => Promise<void>
  log: { warn(message: string): void; info(message: string): void }
}): Health {
  let database: 'unknown' | 'ok' | 'failed' = 'unknown'
  let stopping = false
  let underWay: Promise<void> | undefined
  let sinceSuspicion: (() => number) | undefined

  function learn(failure: string | undefined): void {
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
    learn(failure)
  }

  /** One question at a time: those that hang must not use up the connections. What comes late is believed. */
  function ask(): Promise<void> {
    underWay ??= look().finally(() => (underWay = undefined))
    return underWay
  }

  async function probe(): Promise<void> {
    const patience = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      learn('the database does not answer')
      patience.resolve()
    }, PATIENCE_MILLISECONDS)
    await Promise.race([ask(), patience.promise])
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

/** `GET /healthz`: `ok` while the server is ready; it looks at no zone, and the database was looked at before. */
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
