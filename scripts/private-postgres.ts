// A PostgreSQL server for one run of the tests: its own folder, port and password, and gone afterwards. The system's
// clusters are not touched, and nothing is durable, which is what makes it fast.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** A running server; it is also stopped, the hard way, when the process exits without calling `stop`. */
export interface PrivatePostgres {
  /** With a superuser's name and password, and the database `postgres`. */
  readonly url: string
  /** Ends every connection, waits for the server to be gone and removes its folder. */
  stop(): Promise<void>
}

interface Account {
  readonly uid: number
  readonly gid: number
}

const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  jit: 'off',
  max_connections: '200',
  shared_buffers: '64MB',
  timezone: 'UTC',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
}

/** Takes about two seconds. Throws when no PostgreSQL is installed or the server does not start. */
export async function startPrivatePostgres(): Promise<PrivatePostgres> {
  const programs = findPrograms()
  const account = unprivilegedAccount()
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
  const password = randomBytes(18).toString('base64url')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  for (const path of [folder, passwordFile]) if (account) chownSync(path, account.uid, account.gid)
  const data = join(folder, 'data')
  const options = { ...account, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', HOME: folder } }

  try {
    await promisify(execFile)(
      join(programs, 'initdb'),
      ['-D', data, '-U', 'latchkey', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256', '-E', 'UTF8', '--no-sync'],
      options,
    )
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const { server, port } = await startOnFreePort(port =>
      // A group of its own: Ctrl-C in the terminal reaches the tests first, and the server when they are done.
      spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
        ...options,
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    )
    const abandon = (): void => {
      server.kill('SIGQUIT')
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
    process.once('exit', abandon)
    return {
      url: `postgres://latchkey:${password}@127.0.0.1:${port}/postgres`,
      async stop() {
        process.off('exit', abandon)
        await end(server)
        rmSync(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** The folder of the newest installed version, which Debian keeps off the PATH. */
function findPrograms(): string {
  const packaged = '/usr/lib/postgresql'
  const versions = existsSync(packaged) ? readdirSync(packaged) : []
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a)).map(version => join(packaged, version, 'bin'))
  const folders = [...newestFirst, ...(process.env['PATH'] ?? '').split(delimiter)]
  const found = folders.find(folder => ['initdb', 'postgres'].every(program => existsSync(join(folder, program))))
  if (found === undefined) throw new Error('PostgreSQL (initdb and postgres) is not installed')
  return found
}

/** PostgreSQL refuses to run as root: root's server runs as the package's own account, or as nobody. */
function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  const account = ['postgres', 'nobody'].map(name => accounts.find(fields => fields[0] === name)).find(Boolean)
  if (!account) throw new Error('PostgreSQL does not run as root, and there is neither a postgres nor a nobody account')
  return { uid: Number(account[2]), gid: Number(account[3]) }
}

/** Tries again when somebody else took the port between finding it and using it. */
async function startOnFreePort(start: (port: number) => ChildProcess): Promise<{ server: ChildProcess; port: number }> {
  let report = ''
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const port = await freePort()
    const server = start(port)
    const lines: string[] = []
    if (await isReady(server, lines)) return { server, port }
    report = lines.join('\n')
  }
  throw new Error(`PostgreSQL did not start:\n${report}`)
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port on 127.0.0.1')
  return address.port
}

/** Whether the server says that it is ready, rather than ending; what it says until then goes to `lines`. */
function isReady(server: ChildProcess, lines: string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', () => resolve(false))
    if (!server.stderr) return
    // Read to the end, so that the server never waits for a full pipe.
    createInterface({ input: server.stderr }).on('line', line => {
      if (lines.length < 50) lines.push(line)
      if (line.includes('database system is ready to accept connections')) resolve(true)
    })
  })
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = once(server, 'exit')
  server.kill('SIGINT') // "fast": clients are disconnected
  const impatience = setTimeout(() => server.kill('SIGQUIT'), 10_000)
  await gone
  clearTimeout(impatience)
}
