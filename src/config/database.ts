// The key `database_options`: how the server uses its database.
import type { Problems } from './problems.ts'
import { section } from './section.ts'

/** `database_options` in the configuration file. */
export interface DatabaseOptionsFile {
  readonly changes?: 'listen' | 'poll'
  readonly migrate_at_start?: boolean
}

/** How the server uses its database. */
export interface DatabaseSettings {
  /** How PostgreSQL is asked for changes of other nodes; absent: as the connection allows. */
  readonly changes: 'listen' | 'poll' | undefined
  /** Whether a server or command brings the schema up to date; else only `latchkey migrate` does. */
  readonly migratesAtStart: boolean
}

/** JSON Schema of the key. */
export const databaseOptionsSchema = section('How the server uses its database.', {
  changes: {
    enum: ['listen', 'poll'],
    description:
      'How a node hears of changes that others make in PostgreSQL: by LISTEN at once, or by reading a table several times a second. Absent: LISTEN, unless a pooler stands between.',
  },
  migrate_at_start: {
    type: 'boolean',
    default: true,
    description:
      'Whether a start changes the schema. false: it refuses a database that lacks a migration, and `latchkey migrate` applies them.',
  },
})

/** The settings, as far as their types are correct. */
export function databaseOptionsOf(file: DatabaseOptionsFile | undefined, problems: Problems): DatabaseSettings {
  const { changes, migrate_at_start: migratesAtStart = true } =
    (problems.isSound('database_options') ? file : undefined) ?? {}
  return { changes, migratesAtStart }
}
