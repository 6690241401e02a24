// Entries of the audit trail as rows.
import type { AuditEntry } from '../../model/audit/audit-entry.ts'
import type { AuditEventType } from '../../model/audit/event.ts'
import type { Value } from '../database.ts'

/** Columns of `audit_entries`. */
export const AUDIT_COLUMNS = [
  'zone_id',
  'number',
  'happened_at',
  'type',
  'principal',
  'client_id',
  'remote_address',
  'actor',
  'facts',
  'hash',
] as const

/** The maximum: this server never writes a higher number, which might not fit into a JavaScript number. */
export const MAX_ENTRY_NUMBER = 2 ** 52
/** What a `Date` can hold. */
const MAX_TIME = 8_640_000_000_000_000

/** Reads a number beyond the maximum as -1, which fits into a JavaScript number and is recognisably wrong. */
export const bounded = (column: string, max: number): string =>
  `case when ${column} between ${-max} and ${max} then ${column} else -1 end`

/** The columns, for a `select`. */
export const SELECTED_COLUMNS = AUDIT_COLUMNS.map(column =>
  column === 'happened_at' ? `${bounded(column, MAX_TIME)} as ${column}` : column,
).join(', ')

/** An entry. */
export interface AuditRow {
  zone_id: string
  number: number
  happened_at: number
  type: string
  principal: string
  client_id: string | null
  remote_address: string | null
  actor: string | null
  facts: string
  hash: string
}
/** Arguments `<name>_0`, `<name>_1` and so on. */
export const named = (name: string, values: readonly Value[]): Record<string, Value> =>
  Object.fromEntries(values.map((value, index) => [`${name}_${index}`, value]))

/** Their parameters in SQL. */
export const placeholders = (name: string, values: readonly unknown[]): string =>
  values.map((_, index) => `:${name}_${index}`).join(', ')

/** An entry as it is inserted. */
export const toAuditRow = (entry: AuditEntry): AuditRow => ({
  zone_id: entry.zoneId,
  number: entry.number,
  happened_at: entry.happenedAt,
  type: entry.type,
  principal: entry.principal,
  client_id: entry.clientId,
  remote_address: entry.remoteAddress,
  actor: entry.actor,
  facts: entry.facts,
  hash: entry.hash,
})

/** An entry as it was read. */
export const toAuditEntry = (row: AuditRow): AuditEntry => ({
  zoneId: row.zone_id,
  number: row.number,
  happenedAt: row.happened_at,
  type: row.type as AuditEventType, // written by `toAuditRow`
  principal: row.principal,
  clientId: row.client_id,
  remoteAddress: row.remote_address,
  actor: row.actor,
  facts: row.facts,
  hash: row.hash,
})
