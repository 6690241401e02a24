// A MariaDB of the tests' own: made in a temporary folder, listening on loopback only, started once per test process, and
// ended with it at the latest. It does not run as root, so root hands the folder to another user.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import type { Connection } from 'mysql2/promise'
import { certificateOf } from './certificate.ts'
import { privatePem } from './config.ts'
import { freePort } from './free-port.ts'
import { serverUser } from './postgres.ts'

const SERVER = '/usr/sbin/mariadbd'
const INSTALLER = '/usr/bin/mariadb-install-db'

/** Why tests with it are skipped; false where it is installed. */
export const WITHOUT_MARIADB =
  process.env['LATCHKEY_TEST_FAST'] !== undefined
    ? 'MariaDB is another program'
    : !(existsSync(SERVER) && existsSync(INSTALLER)) && 'MariaDB is not installed'

/** A running server. */
export interface MariaDb {
  readonly port: number
  /** The file with its certificate for `localhost`, which is not trusted by default. */
  readonly certificateFile: string
}

let running: Promise<MariaDb> | undefined

/** Starts the server when first asked. */
export const mariaDb = (): Promise<MariaDb> => (running ??= start())

/** The administrator account. */
export const ADMINISTRATOR = { user: 'latchkey', password: 'latch key/#?' }

/** Connects as administrator, perhaps to a database. The caller ends the connection. */
export const connectTo = ({ port }: MariaDb, database?: string): Promise<Connection> =>
  createConnection({ host: '127.0.0.1', port, ...ADMINISTRATOR, ...(database !== undefined && { database }) })

async function start(): Promise<MariaDb> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-mariadb-'))
  const user = serverUser()
  const port = await freePort()
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    if (user) chownSync(path, user.uid, user.gid)
    return path
  }
  if (user) chownSync(folder, user.uid, user.gid)
  const key = privatePem('rsa', 2048)
  const certificateFile = write('certificate.pem', certificateOf(key, { name: 'localhost' }))
  const { user: name, password } = ADMINISTRATOR
  const settings = write(
    'my.cnf',
    `[mariadbd]
datadir = ${join(folder, 'data')}
port = ${port}
bind-address = 127.0.0.1
socket = ${join(folder, 'socket')}
pid-file = ${join(folder, 'pid')}
log-error = ${join(folder, 'log')}
init-file = ${write('init.sql', `grant all on *.* to '${name}'@'%' identified by '${password}' with grant option;\n`)}
skip-name-resolve
innodb-log-file-size = 8M
innodb-buffer-pool-size = 16M
innodb-flush-log-at-trx-commit = 0
ssl-cert = ${certificateFile}
ssl-key = ${write('key.pem', key)}
`,
  )
  const asUser = { ...user, cwd: folder, env: { PATH: process.env['PATH'] } }
  const quick = ['--skip-test-db', '--auth-root-authentication-method=normal']
  execFileSync(INSTALLER, [`--defaults-file=${settings}`, ...quick], { ...asUser, stdio: 'pipe' })
  const child = spawn(SERVER, [`--defaults-file=${settings}`], { ...asUser, stdio: 'ignore' })
  process.once('exit', () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  child.unref()
  const server = { port, certificateFile }
  for (let attempt = 0; ; attempt += 1) {
    try {
      await (await connectTo(server)).end()
      return server
    } catch (error) {
      if (child.exitCode !== null) throw new Error(readFileSync(join(folder, 'log'), 'utf8'), { cause: error })
      if (attempt > 400) throw error
      await pause(50)
    }
  }
}
