import { loadSettings } from '../../config.ts'
import type { Command } from '../command.ts'
import { CommandFailure, readOptions } from '../command.ts'

/** `latchkey migrate`: brings the schema of the database up to date, even while servers run, or says what that would do. */
export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the schema of the database up to date, or list what that would do.',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
    --plan             Change nothing: list what is pending, with rows, locks and times
`,
  async run(args) {
    const { plan, ...options } = readOptions(args, { config: 'string', database: 'string', plan: 'boolean' })
    const { database } = await loadSettings(['database'], options)
    if (database === 'sqlite::memory:') throw new CommandFailure('a database in memory belongs to one process')
    const { applied, planned } = await import('./migration-report.ts') // loads the store, so only for a valid command line
    process.stdout.write(await (plan === true ? planned(database) : applied(database)))
    return 0
  },
}
