// Runs commands of `latchkey` sequentially in one process: starting a process takes ten times as long as a command.
// test/cli/latchkey.test.ts tests that the launcher starts them and passes on their exit status.
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Ending } from './process.ts'

/** A process that runs commands in a folder. */
export interface CommandRunner {
  run(args: readonly string[]): Promise<Omit<Ending, 'signal'>>
  end(): void
}

/** Starts the process with the first command; the settings of the machine do not reach it. */
export function commandRunner(folder: string): CommandRunner {
  let child: ChildProcess | undefined
  return {
    async run(args) {
      child ??= fork(join(import.meta.dirname, 'command-process.ts'), {
        cwd: folder,
        env: { PATH: process.env['PATH'] },
        execArgv: [],
      })
      child.send(args)
      const answered = new AbortController()
      try {
        const [ending] = await Promise.race([once(child, 'message', answered), untilEnded(child, answered)])
        return ending as Omit<Ending, 'signal'> // as command-process.ts sends it
      } finally {
        answered.abort()
      }
    },
    end: () => child?.disconnect(),
  }
}

async function untilEnded(child: ChildProcess, { signal }: AbortController): Promise<never> {
  const how = await once(child, 'exit', { signal })
  throw new Error(`the process of the commands ended: ${how.join(' ')}`)
}
