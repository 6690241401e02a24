// Reads the table of changes of a PostgreSQL from where it ended before, so that no change is missed where no notification
// arrives. Transactions commit in a different order than they take their ids: a missing id is looked for until its transaction
// can no longer be open. The table holds the changes of five minutes.
import type { Client } from 'pg'
import { readChange } from '../../changes.ts'
import type { ChangeListener } from '../../changes.ts'

/** SQL for the time of the database in milliseconds. */
export const DATABASE_NOW = `cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
/** A transaction that announces a change is ended by the database when it does nothing for so long. */
export const MAX_IDLE_MS = 60_000

/** Transactions whose ids are still missing after this were rolled back: each step of a transaction takes seconds at most. */
const MAX_OPEN_MS = 2 * MAX_IDLE_MS
/** After a longer pause, changes may have been missed. */
const MAX_SILENCE_MS = MAX_IDLE_MS
const MAX_ROWS = 1000
const MAX_MISSING = 1000
/** Ids before the newest that may belong to a transaction that was open at the beginning. */
const LOOK_BACK = 256

const SEQUENCE = `select last_value, is_called, ${DATABASE_NOW} as now from changes_id_seq`
const KNOWN = `select id from changes where id > $1 and id <= $2`
const NEWS = `select clock.now, news.id, news.change from (select ${DATABASE_NOW} as now) clock left join lateral (
  select id, change from changes where id > $1 or id = any($2::bigint[]) order by id limit ${MAX_ROWS}) news on true`

/** The reader of one process. */
export interface ChangeTail {
  /** Everything that is committed before it resolves counts as known. */
  begin(client: Client): Promise<void>
  /** Reports what was committed since. */
  read(client: Client): Promise<void>
  /**
   * A change that the caller reports: it is not reported again, which would empty caches needlessly. False if it is known to have
   * been reported: a process also hears the notification of its own change.
   */
  received(id: number): boolean
}

interface Row {
  now: number
  id: number | null
  change: string | null
}

/** Has no state until `begin`. */
export function createChangeTail(listener: ChangeListener): ChangeTail {
  let newest = 0
  let readAt = 0
  /** Ids without a row, and when they were missed first. */
  const missing = new Map<number, number>()
  /** Ids that were reported before they were read. */
  const early = new Set<number>()

  async function begin(client: Client): Promise<void> {
    const [state] = (await client.query<{ last_value: number; is_called: boolean; now: number }>(SEQUENCE)).rows
    if (!state) throw new Error('the sequence of changes has no state')
    newest = state.is_called ? state.last_value : 0
    readAt = state.now
    const from = Math.max(0, newest - LOOK_BACK)
    const readIds = new Set((await client.query<{ id: number }>(KNOWN, [from, newest])).rows.map(({ id }) => id))
    missing.clear()
    for (let id = from + 1; id <= newest; id += 1) if (!readIds.has(id)) missing.set(id, readAt)
    for (const id of early) if (!isAwaited(id)) early.delete(id)
  }

  const isAwaited = (id: number): boolean => id > newest || missing.has(id)

  async function read(client: Client): Promise<void> {
    const { rows } = await client.query<Row>(NEWS, [newest, [...missing.keys()]])
    const now = rows[0]?.now ?? readAt
    if (rows.length >= MAX_ROWS || now - readAt > MAX_SILENCE_MS) {
      await begin(client)
      listener.missed()
      return
    }
    readAt = now
    for (const { id, change } of rows) {
      if (id === null || change === null) continue
      for (let skipped = newest + 1; skipped < id && missing.size < MAX_MISSING; skipped += 1) missing.set(skipped, now)
      newest = Math.max(newest, id)
      missing.delete(id)
      if (early.delete(id)) continue
      const parsed = readChange(change)
      if (parsed === undefined) listener.missed()
      else listener.changed(parsed)
    }
    for (const [id, since] of missing) if (now - since > MAX_OPEN_MS) missing.delete(id)
    // Some may not be looked for: until there are fewer, nothing is remembered.
    if (missing.size >= MAX_MISSING) listener.missed()
  }

  return {
    begin,
    read,
    received(id) {
      if (early.has(id)) return false
      if (isAwaited(id)) early.add(id)
      return true
    },
  }
}
