import { loadSettings, STORAGE_SETTINGS } from '../../config.ts'
import type { Command } from '../command.ts'
import { readOptions, UsageError } from '../command.ts'

const WHERE = { config: 'string', database: 'string' } as const

/** `latchkey backup`: copies the SQLite database, even while the server runs. */
export const backup: Command = {
  name: 'backup',
  summary: 'Copy the SQLite database into a new file, even while the server runs.',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
    --to FILE          The new file; one that exists is not overwritten
`,
  async run(args) {
    const { to, ...options } = readOptions(args, { ...WHERE, to: 'string' } as const)
    if (to === undefined) throw new UsageError("Option '--to <value>' is missing")
    const config = await loadSettings(['database'], options)
    const { writeBackup } = await import('./backup-files.ts') // loads the store, so only for a valid command line
    process.stdout.write(writeBackup(config, to))
    return 0
  },
}

/** `latchkey restore`: replaces the SQLite database with a backup, while no server runs. */
export const restore: Command = {
  name: 'restore',
  summary: 'Replace the SQLite database with a backup; stop the server first.',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
    --from FILE        The backup; it stays, and the present database is kept, renamed
`,
  async run(args) {
    const { from, ...options } = readOptions(args, { ...WHERE, from: 'string' } as const)
    if (from === undefined) throw new UsageError("Option '--from <value>' is missing")
    const config = await loadSettings(STORAGE_SETTINGS, options)
    const { restoreBackup } = await import('./backup-files.ts')
    process.stdout.write(await restoreBackup(config, from))
    return 0
  },
}
