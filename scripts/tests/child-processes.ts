// Programs that the tests and checks run, all of which end with this process.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { isatty } from 'node:tty'

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '../..')

const running = new Set<ChildProcess>()
let interruption: NodeJS.Signals | undefined

interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Prints the output only on failure. */
  readonly isQuiet?: boolean
}

/** Runs the program in the root of the repository; rejects unless it succeeds. */
export function run(
  program: string,
  args: readonly string[],
  { env = process.env, isQuiet = false }: RunOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: ROOT, env, stdio: isQuiet ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    const output: Buffer[] = []
    child.stdout?.on('data', (part: Buffer) => output.push(part))
    child.stderr?.on('data', (part: Buffer) => output.push(part))
    running.add(child)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      running.delete(child)
      if (code === 0) return resolve()
      process.stderr.write(Buffer.concat(output))
      return reject(new Error(signal === null ? `exit status ${code}` : `ended by ${signal}`))
    })
  })
}

/** The signal that has interrupted this process. */
export const interruptedBy = (): NodeJS.Signals | undefined => interruption

/** Passes signals on to the programs that run, and lets this process end after them. */
export function passSignalsOn(): void {
  const onSignal = (signal: NodeJS.Signals): void => {
    interruption ??= signal
    // A terminal sends Ctrl-C to the child as well; a second SIGINT would make it exit at once.
    if (signal !== 'SIGINT' || !isatty(0)) for (const child of running) child.kill(signal)
    setTimeout(() => running.forEach(child => child.kill('SIGKILL')), 10_000).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
}
