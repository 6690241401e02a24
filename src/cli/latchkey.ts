// The entry of the process, which the launcher loads.
import { reasonOf } from '../base/files/file-error.ts'
import { runCommand } from './run-command.ts'

const END_MILLISECONDS = 1000

// The reader of the output may be gone, as in `latchkey --help | head -1`. That must neither end a server nor print a stack.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return
    process.exitCode = 1
    if (stream === process.stdout) process.stderr.write(`latchkey: the output cannot be written: ${reasonOf(error)}\n`)
  })
}

const status = await runCommand(process.argv.slice(2))
if (status !== undefined) {
  process.exitCode = status
  // A connection that failed halfway must not keep the process of a command that has ended.
  setTimeout(() => process.exit(), END_MILLISECONDS).unref()
}
