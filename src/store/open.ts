// Opens the database of a URL and assembles the areas of the store.
import type { Clock } from '../base/clock.ts'
import { createAccountEvents } from './users/account-events.ts'
import { createAudit } from './audit/audit.ts'
import { createCodes } from './tokens/authorization-codes.ts'
import { createApprovals } from './approvals.ts'
import { createAssertions, createProofs } from './tokens/assertions.ts'
import { createBootstrap } from './bootstrap.ts'
import { createCaches } from './changes.ts'
import { createClients } from './clients/clients.ts'
import { createDevices } from './tokens/devices.ts'
import { createRegistrations } from './clients/registrations.ts'
import { statement } from './database.ts'
import { createEndedSessions } from './sessions/ended-sessions.ts'
import { createEvents } from './events.ts'
import { createFactors } from './factors/factors.ts'
import { createGroups } from './groups/groups.ts'
import { createKeys } from './keys/keys.ts'
import { createLeases } from './leases.ts'
import { measured } from './engine/measured.ts'
import { migrate } from './migrations/migrate.ts'
import type { Migrated, MigrationProgress } from './migrations/migrate.ts'
import { createProviders } from './providers.ts'
import { createPurge } from './deletion/purge.ts'
import { createRateCounts } from './rate-counts.ts'
import { createSealed } from './keys/sealed.ts'
import { createServerKeys } from './keys/server-keys.ts'
import { createSessions } from './sessions/sessions.ts'
import { createMails } from './mails.ts'
import { createOneTimeCodes } from './tokens/one-time-codes.ts'
import { createPushedRequests } from './tokens/pushed-requests.ts'
import { openDatabase } from './engine/open-database.ts'
import type { ReplicaOptions } from './search-servers.ts'
import type { SqliteOptions } from './engine/sqlite/sqlite.ts'
import type { Store } from './store.ts'
import { createTokens } from './tokens/tokens.ts'
import { createUsers } from './users/users.ts'
import { createZoneFence } from './zone-fence.ts'
import { createZones } from './zones.ts'

/** Options of `openStore`. */
export interface StoreOptions extends MigrationProgress {
  /** Dates the rows of changes and migrations; elsewhere the caller passes the time. */
  readonly clock: Clock
  /** Receives errors in the background, such as a lost connection that is being re-established. */
  readonly onError?: (error: unknown) => void
  /** How changes of other processes are received on PostgreSQL: `listen` also reads the table of changes, `poll` only that. */
  readonly changes?: 'listen' | 'poll' | undefined
  /** Standby servers of a PostgreSQL that may answer searches. */
  readonly replicas?: ReplicaOptions | undefined
  /** Whether a database that lacks a migration is refused; else it is applied. */
  readonly refusesPending?: boolean | undefined
  /** Receives the migrations that were applied, and those of a newer version that this one can work with. */
  readonly onMigrated?: ((migrated: Migrated) => void) | undefined
  /** Receives the duration of every query in milliseconds. */
  readonly onQuery?: ((milliseconds: number) => void) | undefined
  /** Used for `sqlite::memory:` instead of a new, empty database, so that tests can begin with a prepared one. */
  readonly memory?: SqliteOptions['memory']
}

const PROBE = statement<{ probed_at: number }>(
  `insert into probes (id, probed_at) values (1, :probed_at) on conflict (id) do update set probed_at = excluded.probed_at`,
)
const PING = statement<object, { id: string }>(`select id from migrations limit 1`)

/**
 * Opens `sqlite:<path>`, `sqlite::memory:` or `postgres://user:pw@host/db` (a socket: `?host=/path`) and brings its
 * schema up to date. Throws `StoreUnavailable`, or for any other URL a plain error that does not repeat the URL.
 */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const { clock, onError = () => {}, onQuery, memory, changes, refusesPending, replicas } = options
  const caches = createCaches()
  const opened = await openDatabase(url, { clock, onError, listener: caches, memory, changes, replicas })
  const db = onQuery ? measured(opened, onQuery) : opened
  try {
    const { onPending, onLocked } = options
    const migrated = await migrate(db, { clock, refusesPending, onPending, onLocked })
    options.onMigrated?.(migrated)
    await db.listen()
  } catch (error) {
    await db.close()
    throw error
  }
  const fence = createZoneFence(db, id => zones.find(id))
  const zones = createZones(fence.db, caches)
  const time = statement<object, { now: number }>(`select ${db.now} as now`)
  return {
    zones,
    clients: createClients(fence.db, caches),
    registrations: createRegistrations(fence.db),
    devices: createDevices(fence.db),
    users: createUsers(fence.db),
    factors: createFactors(fence.db),
    groups: createGroups(fence.db),
    providers: createProviders(fence.db, caches),
    keys: createKeys(fence.db, caches),
    serverKeys: createServerKeys(db),
    approvals: createApprovals(fence.db),
    codes: createCodes(fence.db),
    tokens: createTokens(fence.db),
    oneTimeCodes: createOneTimeCodes(fence.db),
    mails: createMails(db),
    leases: createLeases(db),
    assertions: createAssertions(db),
    proofs: createProofs(db),
    pushedRequests: createPushedRequests(fence.db),
    sessions: createSessions(fence.db),
    endedSessions: createEndedSessions(db),
    events: createEvents(db),
    accountEvents: createAccountEvents(db),
    audit: createAudit(db),
    rateCounts: createRateCounts(db),
    bootstrap: createBootstrap(db),
    sealed: createSealed(db),
    during: (zone, work) => fence.during(zone, work),
    purge: createPurge(db),
    async now() {
      const [row] = await db.read(time, {})
      if (row === undefined) throw new Error('the database has no time')
      return new Date(row.now)
    },
    async ping() {
      await db.read(PING, {})
    },
    async probeWriting(now) {
      await db.write(PROBE, { probed_at: now.getTime() })
    },
    searchServers: () => db.searchServers?.() ?? [],
    isUnreachable: () => db.outage?.isUnreachable() === true,
    onReturn: act => db.outage?.onReturn(act),
    close: () => db.close(),
  }
}
