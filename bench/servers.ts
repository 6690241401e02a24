// Starts the servers of a run: Latchkey as its users do, the others with the files in peers/.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/support/free-port.ts'
import { latchkeyConfig, peerJob } from './accounts.ts'
import type { Accounts, Algorithm } from './accounts.ts'
import { untilReady } from './processes.ts'
import type { Processes, Running } from './processes.ts'

/** The columns of the comparison. */
export type ServerName = 'hello' | 'latchkey' | PeerName

/** The peer, with its store in memory or on disk. */
export type PeerName = 'oidc-provider' | 'oidc-provider on SQLite'

/** A running server. */
export interface Server {
  readonly name: ServerName
  readonly baseUrl: string
  readonly port: number
  readonly running: Running
  /** From the start of its process to the first successful response. */
  readonly readyMilliseconds: number
  /** Latchkey's SQLite file. */
  readonly database?: string
}

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** `node:http` alone. */
export function startHello(processes: Processes): Promise<Server> {
  return launch(processes, 'hello', { command: port => [...peer('hello.ts'), String(port)], probe: '/' })
}

/** Starts the peer, with the store that its name says. */
export function startPeer(processes: Processes, accounts: Accounts, name: PeerName = 'oidc-provider'): Promise<Server> {
  const database = name === 'oidc-provider' ? {} : { database: join(processes.folder, 'oidc-provider.db') }
  return launch(processes, name, {
    command: port => [...peer('oidc-provider.ts'), String(port)],
    probe: '/.well-known/openid-configuration',
    input: JSON.stringify({ ...peerJob(accounts), ...database }),
  })
}

/** A folder for the configuration, key and database of a Latchkey instance. */
export interface LatchkeyHome {
  readonly folder: string
  readonly database: string
  /** Used instead of the file. */
  readonly databaseUrl?: string
  readonly algorithm: Algorithm
  /** Whether passwords are hashed at minimal cost. */
  readonly cheapHashes: boolean
  /** Where metrics are served; absent, none are taken. */
  readonly managementPort?: number
}

/** Creates an empty home. */
export function createHome(
  processes: Processes,
  name: string,
  algorithm: Algorithm,
  cheapHashes = false,
): LatchkeyHome {
  const folder = join(processes.folder, name)
  mkdirSync(folder)
  return { folder, database: join(folder, 'latchkey.db'), algorithm, cheapHashes }
}

/** `latchkey serve` with a config file, one worker and an SQLite file, or the database that the home names. */
export async function startLatchkey(processes: Processes, accounts: Accounts, home: LatchkeyHome): Promise<Server> {
  const pemFile = join(home.folder, 'key.pem')
  const configFile = join(home.folder, 'latchkey.yml')
  writeFileSync(pemFile, accounts.keys[home.algorithm].export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
  const server = await launch(processes, 'latchkey', {
    command: port => {
      const baseUrl = `http://127.0.0.1:${port}`
      const { algorithm, cheapHashes, managementPort } = home
      writeFileSync(configFile, latchkeyConfig(accounts, { baseUrl, algorithm, pemFile, cheapHashes, managementPort }))
      const serve = [process.execPath, join(ROOT, 'bin/latchkey.cjs'), 'serve', '--config', configFile]
      return [...serve, '--port', String(port), '--database', home.databaseUrl ?? `sqlite:${home.database}`]
    },
    probe: '/healthz',
    cwd: home.folder,
    env: terminalEnvironment(),
  })
  return { ...server, database: home.database }
}

/** `npm start` as in a terminal: playground mode, started by the installed Node. */
export async function startByNpm(processes: Processes, home: LatchkeyHome): Promise<Server> {
  const server = await launch(processes, 'latchkey', {
    command: port => ['npm', 'start', '--', '--port', String(port), '--database', `sqlite:${home.database}`],
    probe: '/healthz',
    cwd: ROOT,
    env: terminalEnvironment(),
  })
  return { ...server, database: home.database }
}

interface Launch {
  readonly command: (port: number) => readonly string[]
  readonly probe: string
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string
}

async function launch(processes: Processes, name: ServerName, how: Launch): Promise<Server> {
  const { command, probe, ...options } = how
  const port = await freePort()
  const words = command(port)
  const start = performance.now()
  const running = processes.start(name, words, options)
  const baseUrl = `http://127.0.0.1:${port}`
  await untilReady(running, `${baseUrl}${probe}`)
  return { name, baseUrl, port, running, readyMilliseconds: performance.now() - start }
}

function peer(file: string): readonly string[] {
  return [process.execPath, fileURLToPath(new URL(`peers/${file}`, import.meta.url))]
}

/** The environment without additions of `npm run bench` and without settings of Latchkey. */
function terminalEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '', ...rest } = process.env
  const own = Object.entries(rest).filter(([name]) => !/^(npm_|NODE$|INIT_CWD$|LATCHKEY_)/i.test(name))
  const folders = PATH.split(':').filter(folder => !/node_modules|node-gyp-bin/.test(folder))
  return { ...Object.fromEntries(own), PATH: folders.join(':') }
}
