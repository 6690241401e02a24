// A PostgreSQL of the tests' own: made in a temporary folder, listening on loopback only, started once per test process.
// It must not run as root, so root hands the folder to another user. A small shell keeps it: when the test process
// ends, however it ends, the shell's input closes, and it stops the server by its process id and removes the folder.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from './free-port.ts'

let running: Promise<string> | undefined

/** The URL of a superuser's database: that of `LATCHKEY_TEST_POSTGRES`, or of a server that is started when first asked. */
export function postgresUrl(): Promise<string> {
  const given = process.env['LATCHKEY_TEST_POSTGRES']
  if (given !== undefined && given !== '') return Promise.resolve(given)
  running ??= start()
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

/** Root runs the server as `postgres`, or as `nobody` where that does not exist; anyone else as oneself. */
function serverUser(): { uid: number; gid: number } | undefined {
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

async function start(): Promise<string> {
  const bin = programs()
  const user = serverUser()
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'latchkey\n')
  if (user !== undefined) {
    chownSync(folder, user.uid, user.gid)
    chownSync(passwordFile, user.uid, user.gid)
  }
  const asUser = { ...user, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C' } }
  try {
    execFileSync(
      join(bin, 'initdb'),
      [
        '-D',
        data,
        '-U',
        'latchkey',
        '-E',
        'UTF8',
        '--locale=C',
        '-A',
        'scram-sha-256',
        `--pwfile=${passwordFile}`,
        '-N',
      ],
      { ...asUser, stdio: ['ignore', 'ignore', 'pipe'] },
    )
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const port = await freePort()
  const script = `"$1"/postgres -D "$2" -p "$3" -k "$4" -c listen_addresses=127.0.0.1 >"$4"/log 2>&1 </dev/null &
    server=$!; read -r _; kill -QUIT $server; wait $server; cd /; rm -rf "$4"`
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
  return url
}

async function untilReady(url: string): Promise<void> {
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
