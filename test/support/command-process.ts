// The process of commands.ts: runs the command line again for each message, with output that it keeps.
import { runCommand } from '../../src/cli/run-command.ts'

const output = { stdout: '', stderr: '' }
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = text => {
    output[name] += String(text)
    return true
  }
}
process.on('message', args => void run(args))

async function run(args: unknown): Promise<void> {
  const status = await runCommand(args as readonly string[]) // commands.ts sends nothing else
  process.send?.({ status, ...output })
  Object.assign(output, { stdout: '', stderr: '' })
}
