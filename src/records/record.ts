// Derives from a record's description: readers, output, rows, filters and sort orders. Independent of particular records;
// rules across fields are plain functions next to the records.
import * as v from 'valibot'
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { words } from './kinds.ts'
import type { Kind } from './kinds.ts'

/**
 * How a column stores a value: `flag` as 0 or 1, `time` as milliseconds since 1970, `json` as a string, `attribute` as
 * a member of the column of `additional`; `none` is stored elsewhere or in another form.
 */
type Storage = 'text' | 'integer' | 'flag' | 'time' | 'json' | 'attribute' | 'none'

/** How a filter compares a field; see `store/listing/filter-sql.ts`. */
type FilterType = 'text' | 'exact' | 'number' | 'date' | 'flag' | 'list'

/** One field of a record. */
export interface Field {
  readonly kind: Kind
  /** Absent if the field has no column of its own. */
  readonly column?: string
  readonly storage: Storage
  /** Its name in requests and responses; absent for internal fields. */
  readonly wire?: string
  /** Whether records may lack it. */
  readonly optional?: true
  /** `never`: the value of a request is ignored. */
  readonly sent?: 'never'
  /** `never` for secrets; `alone`: omitted in lists of records; `unless empty`: omitted if an empty list. */
  readonly shown?: 'never' | 'alone' | 'unless empty'
  /** Converts the value for responses; `shownAs` is the resulting kind. */
  readonly show?: (value: never) => unknown
  readonly shownAs?: Kind
  /** A constant that every response shows. */
  readonly always?: unknown
  /** Keywords of JSON Schema that the kind does not know. */
  readonly schema?: JsonRecord
  /**
   * Values in an update that keep the field: null, also an empty list; `null or blank`: null and the empty string, which
   * a request that creates the record may send, too. By default null removes it.
   */
  readonly keptBy?: 'null' | 'null or blank' | 'empty'
  /** How lists filter by it. */
  readonly filter?: FilterType
  /** Whether lists sort by it. */
  readonly sort?: true
  /** The name in filters and sort orders; `wire` in lower case unless given. */
  readonly attribute?: string
  /** SQL instead of the column, in filters and sort orders. */
  readonly expression?: string
  /** A sentence for the documentation. */
  readonly about?: string
  /** Whether a request that creates the record must contain it. */
  readonly required?: true
}

/** The fields of a record, by internal name. */
export type Fields = Readonly<Record<string, Field>>

type ValueOf<F> = F extends { readonly kind: infer K extends Kind } ? v.InferOutput<K> : never
type OptionalNames<F> = { [K in keyof F]: F[K] extends { readonly optional: true } ? K : never }[keyof F]
type Flatten<T> = { readonly [K in keyof T]: T[K] }

/** The type of a described record. */
export type RecordOf<F> = Flatten<
  { readonly [K in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[K]> } & {
    readonly [K in OptionalNames<F>]?: ValueOf<F[K]>
  }
>

type ColumnOf<F> = F extends { readonly storage: 'text' | 'json' } ? string : number
/** The row of a record: column names with strings and numbers, null where an optional field is absent. */
export type RowOf<F> = {
  -readonly [K in keyof F as F[K] extends { readonly column: infer C extends string } ? C : never]:
    | ColumnOf<F[K]>
    | (F[K] extends { readonly optional: true } ? null : never)
}

/** Keeps the exact types of a description. */
export const describeRecord = <const F extends Fields>(fields: F): F => fields

/** An invalid value in a request; the message begins with the field's name. */
interface FieldProblem {
  readonly key: string
  readonly message: string
}

/** The fields that a request may contain, by internal name. */
const sentFields = (fields: Fields): readonly (readonly [string, Field & { readonly wire: string }])[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field.wire === undefined || field.sent === 'never' ? [] : [[name, { ...field, wire: field.wire }] as const],
  )

/** Reads the fields of a request; omits null and invalid values, which are reported as problems. */
export function readRecord<F extends Fields>(
  fields: F,
  json: JsonRecord,
): { readonly values: Partial<RecordOf<F>>; readonly problems: readonly FieldProblem[] } {
  const values: Record<string, unknown> = {}
  const problems: FieldProblem[] = []
  for (const [name, { wire, kind, keptBy }] of sentFields(fields)) {
    const sent = Object.hasOwn(json, wire) ? json[wire] : undefined
    if (sent === undefined || sent === null || (keptBy === 'null or blank' && sent === '')) continue
    const { success, output, issues } = v.safeParse(kind, sent, { abortEarly: true, abortPipeEarly: true })
    if (success) values[name] = output
    else problems.push({ key: wire, message: `${wire} ${issues[0].message}` })
  }
  return { values: values as Partial<RecordOf<F>>, problems } // the kinds returned values of this type
}

/** The wire names of all fields. */
export const wireNames = (fields: Fields): ReadonlySet<string> =>
  new Set(Object.values(fields).flatMap(({ wire }) => wire ?? []))

/** The record as shown in responses, in the order of the description. */
export function showRecord<F extends Fields>(
  fields: F,
  record: RecordOf<F>,
  { inList = false }: { readonly inList?: boolean } = {},
): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value: unknown = field.always ?? Reflect.get(record, name)
    if (field.wire === undefined || value === undefined || field.shown === 'never') continue
    if (field.shown === 'alone' && inList) continue
    if (field.shown === 'unless empty' && Array.isArray(value) && value.length === 0) continue
    shown[field.wire] = field.show ? field.show(value as never) : value // the description gave both
  }
  return shown
}

/**
 * Merges an update with the shown record: absent members keep their value, as do values that `keptBy` ignores. The
 * result still has to be read by `readRecord`.
 */
export function mergeUpdate(fields: Fields, stored: JsonRecord, update: JsonRecord): JsonRecord {
  const merged: Record<string, unknown> = { ...stored, ...update }
  for (const { wire, keptBy } of Object.values(fields)) {
    if (wire === undefined || keptBy === undefined) continue
    const sent = update[wire] ?? undefined
    const isKept =
      sent === undefined || (keptBy === 'empty' && isEmptyList(sent)) || (keptBy === 'null or blank' && sent === '')
    if (isKept) merged[wire] = stored[wire]
  }
  return merged
}

const isEmptyList = (value: unknown): boolean =>
  (typeof value === 'string' || Array.isArray(value)) &&
  [value].flat().every(item => typeof item === 'string' && words(item).length === 0)

/** The columns of a record, in the order of the description. */
export const columnsOf = <F extends Fields>(fields: F): readonly (keyof RowOf<F> & string)[] =>
  Object.values(fields).flatMap(({ column }) => column ?? []) as (keyof RowOf<F> & string)[] // as the type computes them

type ColumnStorage = Exclude<Storage, 'attribute' | 'none'>

const TO_COLUMN: Readonly<Record<ColumnStorage, (value: never) => string | number>> = {
  text: (value: string) => value,
  integer: (value: number) => value,
  flag: (value: boolean) => (value ? 1 : 0),
  time: (value: Date) => value.getTime(),
  json: (value: unknown) => JSON.stringify(value),
}

const FROM_COLUMN: Readonly<Record<ColumnStorage, (column: never) => unknown>> = {
  text: (column: string) => column,
  integer: (column: number) => column,
  flag: (column: number) => column === 1,
  time: (column: number) => new Date(column),
  json: (column: string): unknown => JSON.parse(column),
}

/** Creates the mapping between records and rows. */
export function rowMapping<F extends Fields>(
  fields: F,
): { readonly toRow: (record: RecordOf<F>) => RowOf<F>; readonly toRecord: (row: RowOf<F>) => RecordOf<F> } {
  const columns = Object.entries(fields).flatMap(([name, { column, storage }]) =>
    column === undefined || storage === 'attribute' || storage === 'none'
      ? []
      : [{ name, column, write: TO_COLUMN[storage], read: FROM_COLUMN[storage] }],
  )
  const attributes = Object.entries(fields).flatMap(([name, { wire, kind, storage }]) =>
    wire !== undefined && storage === 'attribute' ? [{ name, wire, kind }] : [],
  )

  /** `additional` with the attributes that have their own fields. */
  function withAttributes(record: RecordOf<F>, additional: unknown): unknown {
    const members = attributes.flatMap(({ name, wire }) => {
      const value: unknown = Reflect.get(record, name)
      return value === undefined ? [] : [[wire, value] as const]
    })
    return members.length === 0 ? additional : { ...Object(additional), ...Object.fromEntries(members) }
  }

  /** Moves attributes from `additional` to their own fields; one that does not match its kind stays. */
  function takeAttributes(record: Record<string, unknown>): void {
    const additional = record['additional']
    if (!isJsonRecord(additional)) return
    const rest = { ...additional }
    for (const { name, wire, kind } of attributes) {
      if (!Object.hasOwn(rest, wire)) continue
      const { success, output } = v.safeParse(kind, rest[wire])
      if (!success) continue
      record[name] = output
      delete rest[wire]
    }
    record['additional'] = rest
  }

  return {
    toRow(record) {
      const row: Record<string, unknown> = {}
      for (const { name, column, write } of columns) {
        const value: unknown = Reflect.get(record, name)
        const kept = name === 'additional' ? withAttributes(record, value) : value
        row[column] = kept === undefined ? null : write(kept as never) // the type of the field is that of its storage
      }
      return row as RowOf<F> // each column was set
    },
    toRecord(row) {
      const record: Record<string, unknown> = {}
      for (const { name, column, read } of columns) {
        const value: unknown = Reflect.get(row, column)
        if (value !== null) record[name] = read(value as never) // as `toRow` wrote it
      }
      if (attributes.length > 0) takeAttributes(record)
      return record as RecordOf<F> // a row has what is required
    },
  }
}

/** The attribute's name in filters and sort orders, which ignore case. */
const attributeOf = ({ attribute, wire = '' }: Field): string => (attribute ?? wire).toLowerCase()

/** The filterable attributes: column and comparison by name. */
export const filterAttributes = (
  fields: Fields,
): ReadonlyMap<string, { readonly column: string; readonly type: FilterType }> =>
  new Map(
    Object.values(fields).flatMap(field => {
      const { column, expression = column, filter } = field
      return filter && expression !== undefined
        ? [[attributeOf(field), { column: expression, type: filter }] as const]
        : []
    }),
  )

/** The sortable attributes: column by name. */
export const sortOrders = (fields: Fields): ReadonlyMap<string, string> =>
  new Map(
    Object.values(fields).flatMap(field => {
      const { column, expression = column, sort } = field
      return sort && expression !== undefined ? [[attributeOf(field), expression] as const] : []
    }),
  )
