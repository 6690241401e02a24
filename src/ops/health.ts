// Health for load balancers and process supervisors. Decides when the database counts as unavailable; independent of
// zones. A process whose database is unreachable counts as live: a restart would not help, and would lose its caches.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { stopwatch } from '../base/clock.ts'
import { StoreBusy } from '../store/store.ts'

/** The state of this process. */
export interface Health {
  /** Probes the database once; never throws, and ends at the timeout. */
  probe(): Promise<void>
  /** Called when a request failed because of the database: probes at once, but at most once a second. */
  suspect(): void
  /** Probes at intervals without keeping the process alive; returns the function that stops it. */
  keepProbing(everyMilliseconds: number): () => void
  /** From now on reports that the process is stopping, regardless of the database. */
  stop(): void
  /** What `/healthz` and `/readyz` answer now. */
  readonly answer: HealthAnswer
  /** False once a check of the database has failed, until one succeeds. */
  readonly databaseWorks: boolean
}

interface HealthAnswer {
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
/** While the database does not work it is probed more often, so that traffic returns soon. */
const RECOVERY_MILLISECONDS = 1000

/**
 * `check` rejects if the database does not answer or accepts no writes; `isUnreachable` answers at once. Before the first
 * probe the state is `unknown`. A database with too many waiting callers counts as available.
 */
export function createHealth({
  check,
  isUnreachable = () => false,
  log,
}: {
  check: () => Promise<void>
  isUnreachable?: () => boolean
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
      if (error instanceof StoreBusy) return
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
      const timers = [
        setInterval(() => void probe(), everyMilliseconds),
        setInterval(() => database === 'failed' && void probe(), RECOVERY_MILLISECONDS),
      ]
      for (const timer of timers) timer.unref()
      return () => timers.forEach(clearInterval)
    },
    stop() {
      stopping = true
    },
    get answer() {
      return stopping ? ANSWERS.stopping : ANSWERS[isUnreachable() ? 'failed' : database]
    },
    get databaseWorks() {
      return database !== 'failed' && !isUnreachable()
    },
  }
}

/**
 * `GET /healthz` and `GET /readyz`: `ok` while the server can take requests; they report the last probe, and start none.
 * `GET /livez`: `ok` as long as the process answers.
 */
export function healthEndpoints(app: FastifyInstance, { health }: { health: Pick<Health, 'answer'> }): void {
  const config = {
    access: { by: 'anyone', because: 'a load balancer asks without credentials' },
    audience: 'open',
    zone: false,
  } as const
  const send = (reply: FastifyReply, { status, text }: HealthAnswer): FastifyReply =>
    reply.status(status).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(text)
  for (const path of ['/healthz', '/readyz']) app.get(path, { config }, (_, reply) => send(reply, health.answer))
  app.get('/livez', { config }, (_, reply) => send(reply, ANSWERS.ok))
}
