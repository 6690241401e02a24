// What the statements of a migration do, read from their text.
import type { ColumnTypes } from '../database.ts'
import type { Migration } from './migration.ts'

/** One statement. */
export interface MigrationStep {
  readonly kind: 'create table' | 'add column' | 'create index' | 'change rows' | 'replace'
  /** For an operator. */
  readonly what: string
  /** Absent for an index that is dropped by its name. */
  readonly table?: string
}

const FORMS: readonly (readonly [RegExp, (found: readonly string[]) => MigrationStep])[] = [
  [/^create table (\w+)/, ([, table = '']) => ({ kind: 'create table', what: `create the table ${table}`, table })],
  [
    /^create (?:unique )?index (\w+) on (\w+)/,
    ([, name = '', table = '']) => ({ kind: 'create index', what: `create the index ${name}`, table }),
  ],
  [
    /^alter table (\w+) add column (\w+)/,
    ([, table = '', name = '']) => ({ kind: 'add column', what: `add the column ${name}`, table }),
  ],
  [
    /^alter table (\w+) (rename|drop)\b(?: column (\w+))?/,
    ([, table = '', verb = '', column]) => ({
      kind: 'replace',
      what: column === undefined ? `${verb} the table` : `${verb} the column ${column}`,
      table,
    }),
  ],
  [/^drop table (\w+)/, ([, table = '']) => ({ kind: 'replace', what: 'drop the table', table })],
  [/^drop index (\w+)/, ([, name = '']) => ({ kind: 'replace', what: `drop the index ${name}` })],
  [/^(?:update|delete from) (\w+)/, ([, table = '']) => ({ kind: 'change rows', what: 'change rows', table })],
  [
    /^insert into (\w+) .*?\bfrom (\w+)/,
    ([, to = '', table = '']) => ({ kind: 'change rows', what: `fill ${to} with rows`, table }),
  ],
]

/** The steps of a migration; throws for a statement of another form. */
export function stepsOf(migration: Migration, types: ColumnTypes): readonly MigrationStep[] {
  const steps = migration.statements(types).map(text => {
    const line = text.trim().replace(/\s+/g, ' ')
    for (const [form, stepOf] of FORMS) {
      const found = form.exec(line)
      if (found) return stepOf(found)
    }
    throw new Error(`${migration.id} has a statement of an unknown form: ${line}`)
  })
  if (!migration.after) return steps
  return [...steps, { kind: 'change rows', what: 'change rows one by one', table: migration.after.table }]
}
