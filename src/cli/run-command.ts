// Runs a command of the command line and maps errors to a message and an exit status. 2: the command line or the
// configuration is wrong, so a restart does not help. 1: any other error.
import { reasonOf } from '../base/files/file-error.ts'
import { MissingMasterKey } from '../base/secrets.ts'
import { BootstrapError } from '../bootstrap/bootstrap-error.ts'
import { MasterKeyUnavailable } from '../config/keys/master-key.ts'
import { ConfigError } from '../config/problems.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Command } from './command.ts'
import { CommandFailure, StartFailure, UsageError } from './command.ts'
import { readBuildFacts } from '../ops/build.ts'
import { programName } from './program-name.ts'
import { serve } from './serve.ts'

/** All commands; the first is the default, and starts without loading the others. */
const commands = async (): Promise<readonly Command[]> => [
  serve,
  (await import('./check-config.ts')).checkConfig,
  (await import('./keys/keys.ts')).keys,
  (await import('./keys/master-key.ts')).masterKey,
  (await import('./audit/audit.ts')).audit,
  (await import('./explain/explain.ts')).explainCommand,
  (await import('./database/migrate.ts')).migrate,
  (await import('./import-uaa/import-uaa.ts')).importUaa,
  (await import('./database/backup.ts')).backup,
  (await import('./database/backup.ts')).restore,
  (await import('./health.ts')).health,
  (await import('./compile.ts')).compile,
]

const sectionOf = ({ name, summary, options }: Command): string => `  ${name.padEnd(14)}${summary}\n${options}`

const helpOf = (command: Command): string => `Usage: ${[programName(), command.name, command.actions, '[options]']
  .filter(part => part !== undefined)
  .join(' ')}

${sectionOf(command)}`

const help = (all: readonly Command[]): string => `Latchkey, an identity and authorization server.

Usage: ${programName()} [command] [options]

${all.map(sectionOf).join('\n')}
  --help, -h    Show this text; after a command, only that command.
  --version     Show the version of Latchkey and of the Node.js that runs it.

Without a configuration file the server runs in playground mode: on loopback, with public accounts.
docs/operate.md describes the configuration file.
`

/** Runs the named command and returns the exit status; undefined while the server runs. */
export async function runCommand(given: readonly string[]): Promise<number | undefined> {
  const args = given[0] === 'help' ? [...given.slice(1), '--help'] : given
  const [first] = args
  if (first === '--version') {
    process.stdout.write(`latchkey ${readBuildFacts().version}, Node.js ${process.versions.node}\n`)
    return 0
  }
  const isNamed = first !== undefined && !first.startsWith('-')
  const isDefault = !isNamed || first === serve.name
  const command = isDefault ? serve : (await commands()).find(({ name }) => name === first)
  try {
    if (isNamed && command === undefined) throw new UsageError(`${first} is not a command`)
    if (args.includes('--help') || args.includes('-h')) {
      process.stdout.write(isNamed && command ? helpOf(command) : help(await commands()))
      return 0
    }
    return await (command ?? serve).run(isNamed ? args.slice(1) : args)
  } catch (error) {
    for (const line of linesOf(error, isNamed ? command : undefined)) process.stderr.write(`latchkey: ${line}\n`)
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1
  }
}

function linesOf(error: unknown, command: Command | undefined): readonly string[] {
  if (!(error instanceof Error)) return [String(error)]
  if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`)
  if (error instanceof UsageError)
    return [`${error.message} (see ${[programName(), ...(command ? [command.name] : [])].join(' ')} --help)`]
  // Expected errors are printed as their message; any other is a bug and is printed with its stack.
  const isExpected = EXPECTED.some(kind => error instanceof kind) || isSystemError(error)
  return [isExpected ? messageOf(error) : (error.stack ?? error.message)]
}

const EXPECTED = [
  StoreUnavailable,
  BootstrapError,
  MasterKeyUnavailable,
  MissingMasterKey,
  StartFailure,
  CommandFailure,
]

/** For an error of the file system, a sentence instead of the name of a system call. */
function messageOf(error: Error): string {
  if (!('syscall' in error) || !('path' in error)) return error.message
  const reason = reasonOf(error)
  return reason === error.message ? reason : `${String(error.path)} cannot be read or written: ${reason}`
}

/** For example a folder without write permission or an unreachable host. */
const isSystemError = (error: Error): boolean => 'code' in error && /^E[A-Z]+$/.test(String(error.code))
