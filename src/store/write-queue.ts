// The writes of one event-loop turn share one transaction, so that they share one flush to the disk. Knows when work
// runs and when its promise resolves; refuses to know SQL. A job that fails undoes itself alone; no promise resolves
// before the commit, and all of a batch reject when the commit fails.

/** What the queue does to its connection. */
export interface BatchConnection {
  /** Opens the transaction; rejects when another process holds the database for too long. */
  begin(): Promise<void>
  commit(): void
  /** Undoes the batch; does nothing when no transaction is open. */
  rollback(): void
  /** Whether the transaction still is open: after a full disk, for instance, the database has ended it. */
  isOpen(): boolean
  setSavepoint(): void
  releaseSavepoint(): void
  returnToSavepoint(): void
}

/** Runs jobs in batches, one batch at a time. */
export interface WriteQueue {
  /** Work of a single statement, which undoes itself when it fails. */
  addStatement<T>(work: () => T): Promise<T>
  /** Work of several statements; it awaits nothing but them, because the whole batch waits with it. */
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

// A batch blocks the event loop while it runs; the rest of a flood waits for the next turn.
const MAX_BATCH = 512

/** Makes the queue of one connection, which nothing else may write to. */
export function createWriteQueue(connection: BatchConnection): WriteQueue {
  let waiting: Job[] = []
  let open: Promise<void> | undefined
  let idle: (() => void)[] = []

  async function runJob(job: Job): Promise<Settle> {
    try {
      if (job.inSavepoint) connection.setSavepoint()
      let value = job.work()
      if (job.inSavepoint) {
        value = await value
        connection.releaseSavepoint()
      }
      // `work` gave what its own promise was made for.
      return () => job.resolve(value as never)
    } catch (error) {
      if (!connection.isOpen()) throw error // the whole batch is gone
      if (job.inSavepoint) connection.returnToSavepoint()
      return () => job.reject(error)
    }
  }

  /** After a broken disk even this can fail; the next `begin` then says so to whoever comes. */
  function undo(): void {
    try {
      connection.rollback()
    } catch {
      // nothing was acknowledged, so nothing is lost
    }
  }

  async function runBatch(jobs: readonly Job[]): Promise<void> {
    const settles: Settle[] = []
    try {
      await connection.begin()
      for (const job of jobs) {
        // Statements run without a pause between them: awaiting each would cost more than it does.
        settles.push(job.inSavepoint ? await runJob(job) : runStatement(job))
      }
      connection.commit()
    } catch (error) {
      for (const job of jobs) job.reject(error)
      undo()
      return
    }
    for (const settle of settles) settle()
  }

  function runStatement(job: Job): Settle {
    try {
      const value = job.work()
      return () => job.resolve(value as never) // as in runJob
    } catch (error) {
      if (!connection.isOpen()) throw error
      return () => job.reject(error)
    }
  }

  function runNext(): void {
    const jobs = waiting.slice(0, MAX_BATCH)
    waiting = waiting.slice(MAX_BATCH)
    open = runBatch(jobs).finally(() => {
      open = undefined
      if (waiting.length > 0) {
        setImmediate(runNext) // lets the event loop turn, so that reading and answering go on
        return
      }
      for (const resolve of idle) resolve()
      idle = []
    })
  }

  function add<T>(work: () => unknown, inSavepoint: boolean): Promise<T> {
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
      if (waiting.length === 0 && open === undefined) return
      await new Promise<void>(resolve => idle.push(resolve))
    },
  }
}
