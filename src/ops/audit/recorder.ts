// Stores the audit trail. An event costs its request one entry in a list; the lists are written a few times a second, off the
// request path, each zone's in one transaction. While the database is down they wait, up to a limit; what is dropped beyond it
// is counted, and the count is an entry of its own. A process that is killed loses what it has not written: the log has it.
import type { Clock } from '../../base/clock.ts'
import { auditRecordOf } from '../../model/audit/audit-entry.ts'
import type { AuditPosition, AuditRecord } from '../../model/audit/audit-entry.ts'
import type { Audit, AuditEvent, AuditEventType } from '../../model/audit/event.ts'
import type { Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { batchesIn, createBacklogs, unstoredIn } from './backlog.ts'
import type { Backlog } from './backlog.ts'
import { linked } from './chain.ts'
import type { AuditHashes } from './chain.ts'

/** Stores the events of an audit. */
export interface AuditRecorder {
  /** Stores an event that the log does not have. */
  readonly record: Audit
  /** An audit that also stores its events. */
  readonly recorded: (audit: Audit) => Audit
  /** Resolves when all pending events were written or failed; never rejects. */
  flush(): Promise<void>
  /** As `flush`, after which nothing is written any more. */
  stop(): Promise<void>
}

/** Dependencies of `createAuditRecorder`. */
interface RecorderDeps {
  readonly store: Pick<Store, 'audit'>
  readonly hashes: AuditHashes
  readonly clock: Clock
  /** Types that are not stored. */
  readonly excluded: ReadonlySet<AuditEventType>
  /** The id of the request that the code runs for, where the log names requests. */
  readonly requestId?: (() => string | undefined) | undefined
  /** Receives events about the trail itself: altered entries, lost events. It must not record them in the trail. */
  readonly audit?: Audit | undefined
  readonly log: { warn(message: string): void; fault(message: string, cause: unknown): void }
}

const FLUSH_EVERY_MS = 250
const RETRY_EVERY_MS = 2000

/** One instance serves every zone. */
export function createAuditRecorder(deps: RecorderDeps): AuditRecorder {
  const { clock, excluded, requestId, audit: report, log } = deps
  const backlogs = createBacklogs()
  const append = createAppend(deps, take)
  let timer: NodeJS.Timeout | undefined
  let written = Promise.resolve()
  let stopped = false

  function add(event: AuditEvent): void {
    if (stopped || excluded.has(event.type)) return
    const id = requestId?.()
    const isKept = backlogs.add(id === undefined ? event : { ...event, requestId: id }, clock.now())
    if (isKept) schedule(FLUSH_EVERY_MS)
  }

  function schedule(milliseconds: number): void {
    if (stopped) return
    timer ??= setTimeout(() => void flush(), milliseconds).unref()
  }

  /** The next batch; the last one ends with an entry that counts the lost events. */
  function take(zoneId: string, backlog: Backlog): readonly AuditRecord[] {
    const records = backlogs.take(backlog)
    if (backlog.waiting.length > 0 || backlog.lost === 0) return records
    const lost = { type: 'AuditEventsLostEvent', zoneId, principal: zoneId, data: String(backlog.lost) } as const
    backlog.lost = 0
    report?.(lost)
    return [...records, auditRecordOf(lost, clock.now())]
  }

  /**
   * Writes the events pending now; false while the database is down. Later events wait for the next run: otherwise there would
   * be a commit for every few events under load.
   */
  async function writeZone(zoneId: string, backlog: Backlog): Promise<boolean> {
    const batches = batchesIn(backlog)
    for (let batch = 0; batch < batches; batch += 1) {
      try {
        await append(zoneId, backlog)
      } catch (cause) {
        log.fault('events of the audit trail were not written', cause)
        if (cause instanceof StoreUnavailable) return false
        // It would fail again, and block the following events.
        backlog.lost += backlog.tried?.records.length ?? 0
        delete backlog.tried
        schedule(RETRY_EVERY_MS)
        return true
      }
    }
    if (backlog.waiting.length > 0 || backlog.lost > 0) schedule(FLUSH_EVERY_MS)
    else backlogs.remove(zoneId)
    return true
  }

  async function writeAll(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    for (const [zoneId, backlog] of backlogs.zones) {
      if (await writeZone(zoneId, backlog)) continue
      schedule(RETRY_EVERY_MS)
      return
    }
  }

  /** One after another, so that events stay in their order. */
  function flush(): Promise<void> {
    written = written.then(writeAll)
    return written
  }

  return {
    record: add,
    recorded: audit => event => {
      audit(event)
      add(event)
    },
    flush,
    async stop() {
      await flush()
      if (backlogs.waiting() > 0) await flush() // what came meanwhile
      stopped = true
      clearTimeout(timer)
      const left = [...backlogs.zones.values()].reduce((sum, backlog) => sum + unstoredIn(backlog), 0)
      if (left > 0) log.warn(`${left} events of the audit trail could not be stored before the stop; the log has them`)
    },
  }
}

/**
 * Writes the next batch of a zone, which `take` removes from its backlog, and reports entries that were altered in the database.
 * A batch whose transaction fails stays in `tried`.
 */
function createAppend(
  { store, hashes, clock, audit: report, log }: RecorderDeps,
  take: (zoneId: string, backlog: Backlog) => readonly AuditRecord[],
): (zoneId: string, backlog: Backlog) => Promise<void> {
  /** Zones with such an entry. It stays in the trail, so it is reported once. */
  const impossibleEntries = new Map<string, string>()

  return async (zoneId, backlog) => {
    const { tried } = backlog
    if (tried?.head && (await store.audit.has(zoneId, tried.head))) {
      delete backlog.tried
      return
    }
    const records = tried?.records ?? take(zoneId, backlog)
    if (records.length === 0) return
    let head: AuditPosition | undefined
    let alteration: string | undefined
    let impossible: string | undefined
    backlog.tried = { records, head }
    try {
      await store.audit.append(zoneId, state => {
        ;({ impossible } = state)
        const isReported = impossibleEntries.get(zoneId) === impossible
        const seen = isReported ? { ...state, impossible: undefined } : state
        const made = linked(hashes, zoneId, { records, state: seen, now: clock.now() })
        ;({ alteration } = made)
        ;({ head } = made.chain)
        return made
      })
      delete backlog.tried
    } catch (cause) {
      backlog.tried = { records, head }
      throw cause
    }
    if (impossible === undefined) impossibleEntries.delete(zoneId)
    else impossibleEntries.set(zoneId, impossible)
    if (alteration === undefined) return
    log.warn(`the audit trail of zone ${zoneId} was altered in the database: ${alteration}`)
    report?.({ type: 'AuditTrailAlteredEvent', zoneId, principal: zoneId, data: alteration })
  }
}
