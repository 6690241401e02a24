// How far a standby of PostgreSQL has come, compared with its primary.
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import { stopwatch } from '../../../base/clock.ts'
import { statement } from '../../database.ts'
import type { Database } from '../../database.ts'
import type { Connections } from './connections.ts'

/** How long a search waits for a replica to replay what was just committed. */
const MAX_REPLAY_MS = 50
const REPLAY_PAUSE_MS = 5

/** A position in the log of a database. */
export interface Position {
  /** The cluster, its timeline, the database and the schema. */
  readonly identity: string
  readonly lsn: string
}

// Without the timeline, a standby of a former primary could count as one of the new primary, although it has replayed changes that
// the new one never had. A standby reports the timeline of its last restart point, which is up to minutes late, never early.
const identity = (timeline: string): string => `concat_ws(' ', (select system_identifier from pg_control_system()),
  ${timeline}, (select oid from pg_database where datname = current_database()), cast(to_regclass('migrations') as oid))`

// What is committed is on disk, unless the server is configured not to wait for that.
const POSITION = statement<object, { identity: string; lsn: string | null }>(
  `select ${identity(`cast(cast('x' || substr(pg_walfile_name(lsn), 1, 8) as bit(32)) as integer)`)} as identity,
     cast(lsn as text) as lsn
   from (select case when pg_is_in_recovery() then null
     when current_setting('synchronous_commit') = 'off' then pg_current_wal_insert_lsn()
     else pg_current_wal_flush_lsn() end as lsn) as position`,
)
const STATE = statement<{ lsn: string }, { identity: string; is_standby: boolean; has_replayed: boolean | null }>(
  `select ${identity('(select timeline_id from pg_control_checkpoint())')} as identity, pg_is_in_recovery() as is_standby,
     pg_last_wal_replay_lsn() >= cast(:lsn as pg_lsn) as has_replayed`,
)
/** Why a working replica must not be used. */
export class UnusableReplica extends Error {}
/** It will answer again when it has caught up. */
export class LaggingReplica extends UnusableReplica {}

/** What the primary has committed; undefined while the server is a standby itself. */
export async function positionOf(primary: Database): Promise<Position | undefined> {
  const [row] = await primary.read(POSITION, {})
  return row?.lsn ? { identity: row.identity, lsn: row.lsn } : undefined
}

/** Throws `UnusableReplica` unless what the next statement reads is at least as new as the position. */
export async function waitForReplay(
  client: ClientBase,
  { run }: Pick<Connections, 'run'>,
  { identity, lsn }: Position,
): Promise<void> {
  const elapsed = stopwatch()
  for (;;) {
    const [state] = (await run(client, STATE, { lsn })).rows
    if (!state?.is_standby) throw new UnusableReplica('it is not a standby; it may have been promoted')
    if (state.identity !== identity) {
      throw new UnusableReplica(
        'it is a standby of another database, or has not come to a restart point since a failover',
      )
    }
    if (state.has_replayed) return
    if (elapsed() > MAX_REPLAY_MS) throw new LaggingReplica('it is behind the primary')
    await pause(REPLAY_PAUSE_MS)
  }
}
