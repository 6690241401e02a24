// The entry of the process, which the launcher loads.
import { runCommand } from './run-command.ts'

const status = await runCommand(process.argv.slice(2))
if (status !== undefined) process.exitCode = status
