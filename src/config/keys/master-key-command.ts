import { execFile } from 'node:child_process'
import { MasterKeyUnavailable } from './master-key.ts'
import type { MasterKeySource } from './master-key.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 4096

/**
 * What the command prints. Throws `MasterKeyUnavailable` with the program's name only: arguments, output and what it says of
 * errors may have secrets.
 */
export function printedBy({ command, folder, env }: MasterKeySource & { readonly from: 'command' }): Promise<string> {
  const [program = '', ...args] = command
  const options = { cwd: folder, env, timeout: TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_BYTES } as const
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { ...options, encoding: 'utf8' }, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(new MasterKeyUnavailable(`master_key_command: ${program} ${reasonOf(error)}`))
    })
    child.stdin?.on('error', () => {}) // a program that does not read has closed it
    child.stdin?.end()
  })
}

function reasonOf(
  error: Error & { readonly code?: unknown; readonly killed?: boolean; readonly signal?: unknown },
): string {
  const { code, killed, signal } = error
  if (code === 'ENOENT') return 'does not exist'
  if (code === 'EACCES') return 'cannot be executed'
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${MAX_BYTES} bytes`
  if (killed === true) return `did not end within ${TIMEOUT_MS / 1000} seconds`
  if (typeof code === 'number') return `ended with status ${code}`
  return typeof signal === 'string' ? `was ended by ${signal}` : 'could not be run'
}
