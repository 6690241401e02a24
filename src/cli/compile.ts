import type { Command } from './command.ts'
import { readOptions } from './command.ts'

/** `latchkey compile`: loads the sources of the server without starting it; the launcher keeps what was compiled. */
export const compile: Command = {
  name: 'compile',
  summary: 'Keep the compiled code of the server, so that its first start is fast.',
  options: '',
  async run(args) {
    readOptions(args, {})
    const { load } = await import('../main.ts')
    await load()
    return 0
  },
}
