// The events that wait to be stored, by zone, up to a limit. What is dropped beyond it is counted.
import { approximateBytes } from '../../base/size.ts'
import { auditRecordOf, canBeAnonymous } from '../../model/audit/audit-entry.ts'
import type { AuditPosition, AuditRecord } from '../../model/audit/audit-entry.ts'
import type { AuditEvent } from '../../model/audit/event.ts'

/** One transaction: on SQLite it blocks the process, some 7 µs an entry; smaller ones would pay for more commits. */
const MAX_BATCH = 1000
/** Events that wait in memory: of all zones, and of one. Those that anonymous callers can cause leave room for others in both. */
const MAX_WAITING = { all: 50_000, zone: 20_000 } as const
const MAX_WAITING_ANONYMOUS = { all: 25_000, zone: 5000 } as const
/** A larger event counts several times, so that all together take 50 MB. */
const EVENT_BYTES = 1000

interface Pending {
  readonly event: AuditEvent
  readonly at: Date
  /** How many events it counts as. */
  readonly weight: number
}

/** The pending events of one zone. */
export interface Backlog {
  waiting: Pending[]
  /** Weight of the waiting entries. */
  weight: number
  lost: number
  /** A batch whose transaction failed: perhaps it was committed, and only the response was lost. */
  tried?: { readonly records: readonly AuditRecord[]; readonly head: AuditPosition | undefined }
}

interface Backlogs {
  readonly zones: ReadonlyMap<string, Backlog>
  /** Number of waiting entries of all zones. */
  readonly waiting: () => number
  /** False if too many wait: then the event is counted as lost. */
  add(event: AuditEvent, at: Date): boolean
  /** A batch of the zone's oldest pending events; removes them from the list. */
  take(backlog: Backlog): readonly AuditRecord[]
  remove(zoneId: string): void
}

/** Keeps the lists in memory. */
export function createBacklogs(): Backlogs {
  const zones = new Map<string, Backlog>()
  let all = 0

  return {
    zones,
    waiting: () => all,
    add(event, at) {
      const { zoneId, type } = event
      let backlog = zones.get(zoneId)
      if (!backlog) zones.set(zoneId, (backlog = { waiting: [], weight: 0, lost: 0 }))
      const max = canBeAnonymous(type) ? MAX_WAITING_ANONYMOUS : MAX_WAITING
      if (backlog.weight >= max.zone || all >= max.all) {
        backlog.lost += 1
        return false
      }
      const weight = Math.ceil(approximateBytes(event) / EVENT_BYTES)
      backlog.waiting.push({ event, at, weight })
      backlog.weight += weight
      all += weight
      return true
    },
    take(backlog) {
      const batch = backlog.waiting.slice(0, MAX_BATCH)
      backlog.waiting = backlog.waiting.slice(MAX_BATCH)
      const weight = batch.reduce((sum, each) => sum + each.weight, 0)
      backlog.weight -= weight
      all -= weight
      return batch.map(({ event, at }) => auditRecordOf(event, at))
    },
    remove: zoneId => void zones.delete(zoneId),
  }
}

/** How many batches store all that waits now; at least one, which may only report losses. */
export const batchesIn = ({ waiting, tried }: Backlog): number =>
  Math.max(1, Math.ceil(waiting.length / MAX_BATCH)) + (tried ? 1 : 0)

/** How many events are not stored: waiting, tried or lost. */
export const unstoredIn = ({ waiting, lost, tried }: Backlog): number =>
  waiting.length + lost + (tried?.records.length ?? 0)
