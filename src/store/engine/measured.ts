import { stopwatch } from '../../base/clock.ts'
import type { Database } from '../database.ts'

/** Wraps a database; reports the milliseconds of each statement or whole transaction, including failures, to `onQuery`. */
export function measured(db: Database, onQuery: (milliseconds: number) => void): Database {
  async function timed<T>(work: () => Promise<T>): Promise<T> {
    const elapsed = stopwatch()
    try {
      return await work()
    } finally {
      onQuery(elapsed())
    }
  }
  return {
    ...db,
    read: (statement, args) => timed(() => db.read(statement, args)),
    scan: (statement, args) => timed(() => db.scan(statement, args)),
    search: (statement, args) => timed(() => db.search(statement, args)),
    write: (statement, args) => timed(() => db.write(statement, args)),
    transaction: work => timed(() => db.transaction(work)),
  }
}
