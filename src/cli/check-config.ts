import { loadConfig } from '../config.ts'
import type { Command } from './command.ts'
import { readOptions } from './command.ts'

/** `latchkey check-config`: reports all problems of a configuration without starting the server. */
export const checkConfig: Command = {
  name: 'check-config',
  summary: 'Check the configuration and print `ok`, or list its problems.',
  options: `    --config FILE      The file to check                     (LATCHKEY_CONFIG)
    --schema           Print the JSON Schema of the file instead
`,
  async run(args) {
    const { schema, ...options } = readOptions(args, { config: 'string', schema: 'boolean' })
    if (schema === true) {
      const { EDITOR_SCHEMA } = await import('../config/editor-schema.ts') // the server does not need it
      process.stdout.write(`${JSON.stringify(EDITOR_SCHEMA, null, 2)}\n`)
      return 0
    }
    const { warnings, file } = await loadConfig({ options })
    if (file === undefined)
      process.stderr.write('latchkey: warning: no file was checked: name it by --config or LATCHKEY_CONFIG\n')
    for (const warning of warnings) process.stderr.write(`latchkey: warning: ${warning}\n`)
    process.stdout.write('ok\n')
    return 0
  },
}
