import { loadSettings, STORAGE_SETTINGS } from '../../config.ts'
import type { AuditPosition } from '../../model/audit/audit-entry.ts'
import type { Command } from '../command.ts'
import { readOptions, UsageError } from '../command.ts'

/** What `latchkey audit verify` checks. */
export interface AuditCheck {
  /** Absent: every zone. */
  readonly zoneId?: string
  /** A position that was recorded earlier. */
  readonly expected?: AuditPosition
}

/** `latchkey audit`: checks the stored audit trail, even while the server runs. */
export const audit: Command = {
  name: 'audit',
  summary: 'Check the stored audit trail: audit verify. Status 1 if it was altered or not compared.',
  actions: 'verify',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
    --zone ID          One zone; absent: all
    --expect HEAD      With --zone: a head that was printed earlier, NUMBER:HASH
`,
  async run(args) {
    const [word, ...rest] = args
    if (word !== 'verify') throw new UsageError(`audit requires verify${word === undefined ? '' : `, not ${word}`}`)
    const kinds = { config: 'string', database: 'string', zone: 'string', expect: 'string' } as const
    const { zone, expect, ...options } = readOptions(rest, kinds)
    if (expect !== undefined && zone === undefined) throw new UsageError("Option '--expect' needs '--zone <value>'")
    const check = {
      ...(zone !== undefined && { zoneId: zone }),
      ...(expect !== undefined && { expected: placeIn(expect) }),
    }
    const config = await loadSettings([...STORAGE_SETTINGS, 'audit'], options)
    const { verifyAll } = await import('./audit-check.ts') // loads the store, so only for a valid command line
    const { output, isIntact } = await verifyAll(config, check)
    process.stdout.write(output)
    if (!config.audit) process.stderr.write('latchkey: warning: audit.enabled is not true: no new events are stored\n')
    return isIntact ? 0 : 1
  },
}

function placeIn(text: string): AuditPosition {
  const [, number, hash] = /^([1-9]\d{0,15}):([\w-]{43})$/.exec(text) ?? []
  if (number === undefined || hash === undefined) throw new UsageError('--expect must be NUMBER:HASH')
  return { number: Number(number), hash }
}
