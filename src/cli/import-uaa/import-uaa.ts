import { loadConfig, uaaDatabaseUrl } from '../../config.ts'
import type { Command } from '../command.ts'
import { readOptions, UsageError } from '../command.ts'

const KINDS = {
  config: 'string',
  database: 'string',
  from: 'string',
  apply: 'boolean',
  'skip-refused': 'boolean',
  settings: 'string',
} as const

/** How an import is run. */
export interface ImportCall {
  /** The URL of UAA's database. */
  readonly from: string
  /** Whether to write; otherwise the import uses a temporary database. */
  readonly applies: boolean
  /** Whether to finish without the rows that cannot be imported. */
  readonly skipsRefused: boolean
}

/** `latchkey import-uaa`: fills a new database with the records of a UAA, or says what that would do. */
export const importUaa: Command = {
  name: 'import-uaa',
  summary: 'Fill a new database from that of a UAA, or list what that would do (the default).',
  options: `    --config FILE      Configuration of the new server       (LATCHKEY_CONFIG)
    --database URL     As for serve; a new one               (LATCHKEY_DATABASE)
    --from URL         UAA's database, postgres:// or mysql://; only read (LATCHKEY_UAA_DATABASE)
    --apply            Write; without it, only check, and list what cannot be imported
    --skip-refused     With --apply: finish without what cannot be imported
    --settings FILE    Instead: print the configuration for a uaa.yml, or for several, separated by commas
`,
  async run(args) {
    const { settings, ...others } = readOptions(args, KINDS)
    if (settings !== undefined) {
      const [other] = Object.keys(others)
      if (other !== undefined) throw new UsageError(`Options '--settings' and '--${other}' exclude each other`)
      const { printSettings } = await import('./print-settings.ts')
      return printSettings(settings)
    }
    const { from: given, apply = false, 'skip-refused': skipsRefused = false, ...options } = others
    if (skipsRefused && !apply) throw new UsageError("Option '--skip-refused' needs '--apply'")
    const call: ImportCall = { from: uaaDatabaseUrl(given), applies: apply, skipsRefused }
    const config = await loadConfig({ options })
    const { runImport } = await import('./run-import.ts') // loads the store, so only for a valid command line
    return runImport(config, call)
  },
}
