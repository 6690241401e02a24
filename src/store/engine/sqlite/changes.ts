// What other processes on the same file have changed: read from the table of changes, a few times in a second.
import { readChange } from '../../changes.ts'
import { statement } from '../../database.ts'
import type { DatabaseOptions } from '../../database.ts'
import type { Connection } from './connection.ts'

const POLL_MILLISECONDS = 250

const NEWS = statement<{ id: number }, { id: number; change: string }>(
  `select id, change from changes where id > :id order by id`,
)
const DATA_VERSION = statement<object, { data_version: number }>(`pragma data_version`)
const LAST_CHANGE = statement<object, { seq: number }>(`select seq from sqlite_sequence where name = 'changes'`)

/** The changes of other processes. */
interface SqliteChanges {
  /** Tells the listener of every change from now on. */
  start(): void
  /** Whether the last look at the table succeeded. */
  isReceiving(): boolean
  stop(): void
}

/** Reads through the given connection. */
export function createSqliteChanges(
  reader: Connection,
  { listener, onError }: Pick<DatabaseOptions, 'listener' | 'onError'>,
): SqliteChanges {
  let dataVersion: number | undefined
  let lastChange = 0
  let receiving = false
  let timer: NodeJS.Timeout | undefined
  const newestChange = (): number => reader.run(LAST_CHANGE, []).rows[0]?.seq ?? 0

  // Ids are consecutive, so a gap shows that rows were purged before they were read.
  function poll(): void {
    const version = reader.run(DATA_VERSION, []).rows[0]?.data_version
    if (version === dataVersion) return
    const { rows } = reader.run(NEWS, [lastChange])
    const newest = rows.at(-1)?.id ?? newestChange()
    if (newest - lastChange !== rows.length) listener.missed()
    for (const { change: text } of rows) {
      const change = readChange(text)
      if (change === undefined) listener.missed()
      else listener.changed(change)
    }
    lastChange = newest
    dataVersion = version
  }

  function pollSafely(): void {
    try {
      poll()
      receiving = true
    } catch (error) {
      receiving = false
      listener.missed()
      onError(error)
    }
  }

  return {
    start() {
      lastChange = newestChange()
      receiving = true
      timer = setInterval(pollSafely, POLL_MILLISECONDS).unref()
    },
    isReceiving: () => receiving,
    stop: () => clearInterval(timer),
  }
}
