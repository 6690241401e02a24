import { loadSettings, STORAGE_SETTINGS } from '../../config.ts'
import type { Command } from '../command.ts'
import { readOptions, UsageError } from '../command.ts'

const ACTIONS = ['check', 'reseal'] as const

/** An action of `latchkey master-key`. */
export type MasterKeyAction = (typeof ACTIONS)[number]

/** `latchkey master-key`: re-encrypts the secrets in the database with another master key, while servers run. */
export const masterKey: Command = {
  name: 'master-key',
  summary: 'Count what each master key encrypts, or encrypt it with the first one: check or reseal.',
  actions: 'check|reseal',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
                       Status 0: everything is encrypted with the first master key.
`,
  async run(args) {
    const [word, ...rest] = args
    const action = ACTIONS.find(each => each === word)
    if (action === undefined) {
      throw new UsageError(
        `master-key requires one of ${ACTIONS.join(', ')}${word === undefined ? '' : `, not ${word}`}`,
      )
    }
    const options = readOptions(rest, { config: 'string', database: 'string' } as const)
    const config = await loadSettings([...STORAGE_SETTINGS, 'audit'], options)
    const { runMasterKeyAction } = await import('./master-key-actions.ts') // loads the store, so only for a valid command line
    const { output, isDone } = await runMasterKeyAction(config, action)
    process.stdout.write(output)
    return isDone ? 0 : 1
  },
}
