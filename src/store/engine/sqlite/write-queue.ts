// Group commit: the writes of one event-loop turn share one transaction, and batches that follow one another share a flush to
// the disk. Knows when work runs and when its promise resolves, but no SQL. A failed job is rolled back alone; no promise
// resolves before its commit is on the disk, and the whole batch rejects when commit or flush fails.

import { StoreBusy } from '../../store.ts'

/** The connection as the queue uses it. */
export interface BatchConnection {
  /** Opens the transaction; rejects when another process holds the database for too long. */
  begin(): Promise<void>
  commit(): void
  /** Resolves when the committed batch is on the disk; undefined when `commit` needs no flush. */
  flush(): Promise<void> | undefined
  /** Rolls the batch back; does nothing when no transaction is open. */
  rollback(): void
  /** Whether the transaction is still open: the database ends it on errors such as a full disk. */
  isOpen(): boolean
  setSavepoint(): void
  releaseSavepoint(): void
  returnToSavepoint(): void
}

/** Runs jobs in batches, one batch at a time. */
interface WriteQueue {
  /** Runs a single statement, which is atomic. */
  addStatement<T>(work: () => T): Promise<T>
  /** Runs several statements; must await nothing else, because the whole batch waits. */
  addTransaction<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when no batch is open, at once when none is. */
  whenClosed(): Promise<void>
  /** Resolves when everything that was added is settled. */
  drain(): Promise<void>
}

interface Job {
  readonly work: () => unknown
  readonly inSavepoint: boolean
  readonly resolve: (value: never) => void
  readonly reject: (reason: unknown) => void
}

type Settle = () => void

// A batch blocks the event loop while it runs; further jobs wait for the next turn.
const MAX_BATCH = 512
// Some tenths of a second of work; more come only while another process holds the database.
const MAX_WAITING = 4096

/** Makes the queue of one connection, which must have no other writer. */
export function createWriteQueue(connection: BatchConnection): WriteQueue {
  let waiting: Job[] = []
  let open: Promise<void> | undefined
  /** Jobs that are committed and wait for the disk. */
  let flushing = 0
  let idle: (() => void)[] = []

  async function runBatch(jobs: readonly Job[]): Promise<void> {
    let settles: readonly Settle[]
    try {
      settles = await commitAll(jobs, connection)
    } catch (error) {
      for (const job of jobs) job.reject(error)
      return
    }
    const flushed = connection.flush()
    if (flushed === undefined) {
      for (const settle of settles) settle()
      return
    }
    void settleAfter(flushed, jobs, settles)
  }

  /** The next batch begins meanwhile, and shares the next flush. */
  async function settleAfter(flushed: Promise<void>, jobs: readonly Job[], settles: readonly Settle[]): Promise<void> {
    flushing += jobs.length
    try {
      await flushed
      for (const settle of settles) settle()
    } catch (error) {
      for (const job of jobs) job.reject(error)
    } finally {
      flushing -= jobs.length
      resolveIdle()
    }
  }

  function resolveIdle(): void {
    if (waiting.length > 0 || open !== undefined || flushing > 0) return
    for (const resolve of idle) resolve()
    idle = []
  }

  function runNext(): void {
    const jobs = waiting.slice(0, MAX_BATCH)
    waiting = waiting.slice(MAX_BATCH)
    open = runBatch(jobs).finally(() => {
      open = undefined
      if (waiting.length > 0) {
        setImmediate(runNext) // lets the event loop turn, so that reading and answering continue
        return
      }
      resolveIdle()
    })
  }

  function add<T>(work: () => unknown, inSavepoint: boolean): Promise<T> {
    if (waiting.length + flushing >= MAX_WAITING)
      return Promise.reject(new StoreBusy('too many writes wait for the database'))
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, inSavepoint, resolve, reject })
      if (waiting.length === 1 && open === undefined) setImmediate(runNext)
    })
  }

  async function whenClosed(): Promise<void> {
    if (open === undefined) return
    await open
    await whenClosed()
  }

  return {
    addStatement: work => add(work, false),
    addTransaction: work => add(work, true),
    whenClosed,
    async drain() {
      if (waiting.length === 0 && open === undefined && flushing === 0) return
      await new Promise<void>(resolve => idle.push(resolve))
    },
  }
}

/** Runs the jobs in one transaction. The results resolve or reject the promise of each job; throws when the batch is lost. */
async function commitAll(jobs: readonly Job[], connection: BatchConnection): Promise<readonly Settle[]> {
  const settles: Settle[] = []
  try {
    await connection.begin()
    for (const job of jobs) {
      // Statements are not awaited one by one: that would cost more than running them.
      settles.push(job.inSavepoint ? await runInSavepoint(job, connection) : runStatement(job, connection))
    }
    connection.commit()
    return settles
  } catch (error) {
    undo(connection)
    throw error
  }
}

async function runInSavepoint(job: Job, connection: BatchConnection): Promise<Settle> {
  try {
    connection.setSavepoint()
    const value = await job.work()
    connection.releaseSavepoint()
    // `work` gave what its own promise was made for.
    return () => job.resolve(value as never)
  } catch (error) {
    if (!connection.isOpen()) throw error // the whole batch is lost
    connection.returnToSavepoint()
    return () => job.reject(error)
  }
}

function runStatement(job: Job, connection: BatchConnection): Settle {
  try {
    const value = job.work()
    return () => job.resolve(value as never) // as in runInSavepoint
  } catch (error) {
    if (!connection.isOpen()) throw error
    return () => job.reject(error)
  }
}

/** Can fail on a broken disk; the next `begin` then reports it. */
function undo(connection: BatchConnection): void {
  try {
    connection.rollback()
  } catch {
    // nothing was acknowledged, so nothing is lost
  }
}
