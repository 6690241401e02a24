// PgBouncer in front of the tests' PostgreSQL, on loopback, in transaction pooling mode.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { serverUser, untilReady } from './postgres.ts'

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer', '/usr/bin/pgbouncer'].find(path => existsSync(path))

/** Why tests with it are skipped; false where it is installed. */
export const withoutPgBouncer = PROGRAM === undefined && 'PgBouncer is not installed'

/** A running PgBouncer. */
export interface PgBouncer {
  /** The URL of the same database behind it. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts one for a database; it ends with the test's process at the latest. */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  if (PROGRAM === undefined) throw new Error('the tests need the program pgbouncer')
  const user = serverUser() // it does not run as root either
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-pgbouncer-'))
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl)
  const port = await freePort()
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    if (user) chownSync(path, user.uid, user.gid)
    return path
  }
  const users = write('users', `"${username}" "${password}"\n`)
  const settings = write(
    'pgbouncer.ini',
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
`,
  )
  if (user) chownSync(folder, user.uid, user.gid)
  const child = spawn(PROGRAM, ['-q', settings], { ...user, cwd: folder, stdio: 'ignore' })
  const abandon = (): void => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', abandon)
  const url = new URL(databaseUrl)
  url.port = String(port)
  await untilReady(url.href)
  return {
    url: url.href,
    async stop() {
      process.off('exit', abandon)
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
