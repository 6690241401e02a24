// A PostgreSQL of the tests' own: made in a temporary folder, listening on loopback only, started once per test process.
// It must not run as root, so root hands the folder to another user. A small shell keeps it: when the test process
// ends, however it ends, the shell's input closes, and it stops the server by its process id and removes the folder. Tests
// of outages start one of their own, which they may kill and freeze.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from './free-port.ts'
import { childrenOf } from './process.ts'

let running: Promise<string> | undefined

/** The URL of a superuser's database: that of `LATCHKEY_TEST_POSTGRES`, or of a server that is started when first asked. */
export function postgresUrl(): Promise<string> {
  const given = process.env['LATCHKEY_TEST_POSTGRES']
  if (given !== undefined && given !== '') return Promise.resolve(given)
  running ??= startPostgres().then(({ url }) => url)
  return running
}

/** Runs statements on the server, each on its own. */
export async function administer(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

function programs(): string {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const found = versions.map(version => join(root, version, 'bin')).find(path => existsSync(join(path, 'initdb')))
  if (found === undefined) throw new Error('the tests need the program initdb of PostgreSQL (package postgresql)')
  return found
}

/** Root runs the server as `postgres`, or as `nobody` if that does not exist; other users as themselves. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const number = (option: string): number =>
        Number(execFileSync('id', [option, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: number('-u'), gid: number('-g') }
    } catch {
      // no such user: the next one
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody')
}

/** A PostgreSQL that a test may disturb; it ends with the test's process. */
export interface OwnPostgres {
  /** The URL of a superuser's database. */
  readonly url: string
  /** Suspends all its processes, like a hanging machine; `thaw` resumes them. */
  freeze(): void
  thaw(): void
  isRunning(): boolean
  /**
   * Ends it at once, as a crash does, and waits until it is gone. By SIGKILL every process of it, by SIGINT as an
   * administrator who restarts it.
   */
  kill(signal?: 'SIGQUIT' | 'SIGKILL' | 'SIGINT'): Promise<void>
  /** Starts it again, and waits until it can be used. */
  restart(): Promise<void>
}

/** Starts a server; throws where the programs are missing. Its folder is made in the one given. */
export const startPostgres = (parent = tmpdir()): Promise<OwnPostgres> =>
  startServer(parent, folder => {
    const options = ['-U', 'latchkey', '-E', 'UTF8', '--locale=C', '-A', 'scram-sha-256', '-N']
    return ['initdb', ...options, '-D', join(folder, 'data'), `--pwfile=${join(folder, 'password')}`]
  })

/** Starts a standby server that streams from another one. */
export const startStandby = (primary: Pick<OwnPostgres, 'url'>): Promise<OwnPostgres> =>
  startServer(tmpdir(), folder => {
    const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync', '--wal-method=stream']
    return ['pg_basebackup', ...options, '-D', join(folder, 'data'), '-d', primary.url]
  })

/** `make` is the command that fills a folder's `data`. */
async function startServer(parent: string, make: (folder: string) => readonly string[]): Promise<OwnPostgres> {
  const bin = programs()
  const user = serverUser()
  const folder = mkdtempSync(join(parent, 'latchkey-postgres-'))
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'latchkey\n')
  if (user !== undefined) {
    chownSync(folder, user.uid, user.gid)
    chownSync(passwordFile, user.uid, user.gid)
  }
  const asUser = { ...user, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C' } }
  const [program = '', ...args] = make(folder)
  try {
    execFileSync(join(bin, program), args, { ...asUser, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const port = await freePort()
  // Each line of its input restarts the server. What it wrote survives its processes, which may be killed, but not the machine.
  const script = `bin=$1; data=$2; port=$3; folder=$4
    start() {
      "$bin"/postgres -D "$data" -p "$port" -k "$folder" -c listen_addresses=127.0.0.1 -c fsync=off >>"$folder"/log 2>&1 </dev/null &
      server=$!
    }
    start; while read -r _; do wait $server; start; done
    kill -CONT $server $(cat /proc/$server/task/$server/children); kill -QUIT $server; wait $server; cd /; rm -rf "$folder"`
  const keeper = spawn('sh', ['-c', script, 'sh', bin, data, String(port), folder], {
    ...asUser,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // so that an interrupt from the keyboard leaves it the time to clean up
  })
  keeper.unref()
  // The pipe stays open for as long as this process lives, and must not keep it alive.
  Reflect.get(keeper.stdin, 'unref')?.call(keeper.stdin)
  const url = `postgres://latchkey:latchkey@127.0.0.1:${port}/postgres`
  await untilReady(url)

  const serverPid = (): number => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
  const signalAll = (signal: NodeJS.Signals): void => {
    const server = serverPid()
    process.kill(server, signal)
    for (const pid of childrenOf(server)) {
      try {
        process.kill(pid, signal)
      } catch (error) {
        if (Reflect.get(Object(error), 'code') !== 'ESRCH') throw error // it has ended meanwhile
      }
    }
  }
  return {
    url,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    isRunning() {
      try {
        return isRunning(serverPid())
      } catch {
        return false // it removes the file when it ends
      }
    },
    async kill(signal = 'SIGQUIT') {
      const pid = serverPid()
      const all = [pid, ...childrenOf(pid)]
      if (signal === 'SIGKILL') signalAll(signal)
      else process.kill(pid, signal)
      while (all.some(isRunning)) await pause(10)
    },
    async restart() {
      keeper.stdin.write('\n')
      await untilReady(url)
    },
  }
}

/** A zombie process does not count as running. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Waits until the server takes connections. */
export async function untilReady(url: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await administer(url, 'select 1')
      return
    } catch (error) {
      if (attempt > 200) throw error
      await pause(50)
    }
  }
}
