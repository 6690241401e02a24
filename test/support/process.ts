// Runs `bin/latchkey.cjs` as a separate process, in a temporary folder, on a free loopback port, without the
// environment variables of the machine. No process outlives the tests, however they end.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'

const LAUNCHER = join(import.meta.dirname, '../../bin/latchkey.cjs')
/** The options with which the launcher restarts Node.js; with them, it need not. Tested in launcher.test.ts. */
const FLAGS = ['--min-semi-space-size=8', '--max-semi-space-size=8']
const PATIENCE_MILLISECONDS = 30_000

/** How a process is started. */
export interface ProcessOptions {
  /** Written as JSON into the folder and named by `--config`; absent, the playground starts. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Path of the base URL, such as `/uaa`. */
  readonly basePath?: string
  /** Further options of the command line. */
  readonly args?: readonly string[]
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Where it runs and keeps its data: that of an earlier process, which is then not removed; else a new one. */
  readonly folder?: string
  /** A free one unless given. */
  readonly port?: number
  /** What is started; the launcher of this checkout unless given. */
  readonly launcher?: string
}

/** How a process ended. */
export interface Ending {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A process that was started, ready or not. */
export interface StartedProcess {
  readonly pid: number
  readonly folder: string
  /** Its output so far. */
  readonly stdout: string
  readonly stderr: string
  readonly ended: Promise<Ending>
  /** Waits until its standard output matches; rejects when it ends without, or half a minute is over. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Closes the reading end of its standard output. */
  deafen(): void
  /** Sends the signal. */
  signal(name: NodeJS.Signals): void
}

/** A server that answers `/healthz`. */
export interface ServerProcess extends StartedProcess {
  readonly port: number
  readonly baseUrl: string
  /** From the start of the process to the first good answer. */
  readonly readyMilliseconds: number
  /** Ends it, by default with SIGTERM, and returns how it ended. */
  stop(signal?: NodeJS.Signals): Promise<Ending>
}

/** Where a process runs, and with what. */
export interface MutualTlsContext extends Pick<ProcessOptions, 'folder' | 'env' | 'launcher'> {
  /** Files that are put into the folder, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** Its standard input; none unless given. */
  readonly input?: string
}

/** Starts `latchkey` with arguments; the folder is removed once the process is gone, unless the caller named it. */
export function launch(
  args: readonly string[],
  { folder: given, env = {}, files = {}, launcher = LAUNCHER, input }: MutualTlsContext = {},
): StartedProcess {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'latchkey-process-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:LATCHKEY_|PG[A-Z]+$|NODE_)/.test(name))
  const child = spawn(process.execPath, [...(launcher === LAUNCHER ? FLAGS : []), launcher, ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input ?? '') // it may have ended already
  const { pid } = child
  if (pid === undefined) throw new Error('the process did not start')
  const abandon = (): void => {
    child.kill('SIGKILL')
    if (given === undefined) rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', abandon)
  const output = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  const ended = untilClosed(child).then(({ status, signal }): Ending => {
    process.off('exit', abandon)
    if (given === undefined) rmSync(folder, { recursive: true, force: true })
    return { status, signal, ...output }
  })
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
      for (const look of watchers) look()
    })
  }
  return {
    pid,
    folder,
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    ended,
    printed: pattern =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(output.stdout)
          if (match === null) return
          watchers.delete(look)
          clearTimeout(deadline)
          resolve(match)
        }
        const fail = (reason: string): void => {
          clearTimeout(deadline)
          watchers.delete(look)
          reject(new Error(`${reason}:\n${output.stdout}${output.stderr}`))
        }
        const deadline = setTimeout(() => fail(`it did not print ${pattern}`), PATIENCE_MILLISECONDS)
        watchers.add(look)
        look()
        void ended.then(() => fail('it ended instead'))
      }),
    deafen: () => void child.stdout.destroy(),
    signal: name => void child.kill(name),
  }
}

/** The end of the process and of its output. */
async function untilClosed(child: ChildProcess): Promise<{ status: number | null; signal: NodeJS.Signals | null }> {
  await once(child, 'close')
  return { status: child.exitCode, signal: child.signalCode }
}

/** Runs `latchkey` to its end. */
export const runToEnd = (args: readonly string[], surroundings?: MutualTlsContext): Promise<Ending> =>
  launch(args, surroundings).ended

/** Starts `latchkey serve` and waits until it is ready; throws with its output when it ends instead. */
export async function serve(options: ProcessOptions = {}): Promise<ServerProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort())
    const server = await serveOn(port, options)
    if ('port' in server) return server
    // Another process took the port after it was found to be free.
    if (attempt < 3 && options.port === undefined && /EADDRINUSE|in use/.test(server.stderr)) continue
    throw new Error(`latchkey ended with status ${server.status}:\n${server.stdout}${server.stderr}`)
  }
}

async function serveOn(port: number, options: ProcessOptions): Promise<ServerProcess | Ending> {
  const { config, basePath = '', args = [], folder, env, launcher } = options
  const base = basePath === '' ? [] : ['--base-url', `http://localhost:${port}${basePath}`]
  const file = config === undefined ? [] : ['--config', 'latchkey.json']
  const begin = performance.now()
  const started = launch(['serve', '--port', String(port), ...base, ...file, ...args], {
    ...(folder !== undefined && { folder }),
    ...(env !== undefined && { env }),
    ...(launcher !== undefined && { launcher }),
    ...(config !== undefined && { files: { 'latchkey.json': JSON.stringify(config) } }),
  })
  let ending: Ending | undefined
  void started.ended.then(result => (ending = result))
  try {
    await started.printed(/Latchkey (?:\S+ )?is ready/) // with several workers, when all of them are
  } catch (error) {
    if (ending !== undefined) return ending
    started.signal('SIGKILL')
    throw error
  }
  while (!(await isHealthy(port, basePath))) {
    if (ending !== undefined) return ending
    if (performance.now() - begin > PATIENCE_MILLISECONDS) {
      started.signal('SIGKILL')
      throw new Error(`latchkey is not ready:\n${started.stdout}${started.stderr}`)
    }
    await pause(10)
  }
  const readyMilliseconds = performance.now() - begin
  return {
    pid: started.pid,
    folder: started.folder,
    get stdout() {
      return started.stdout
    },
    get stderr() {
      return started.stderr
    },
    ended: started.ended,
    printed: pattern => started.printed(pattern),
    deafen: () => started.deafen(),
    signal: name => started.signal(name),
    port,
    baseUrl: `http://localhost:${port}${basePath}`,
    readyMilliseconds,
    stop(signal = 'SIGTERM') {
      started.signal(signal)
      return started.ended
    },
  }
}

/** Whether the server on the port responds with `ok`. */
export function isHealthy(port: number, basePath = ''): Promise<boolean> {
  return new Promise(resolve => {
    // A new connection, so that no closed one is reused.
    const options = { host: '127.0.0.1', port, path: `${basePath}/healthz`, agent: new Agent(), timeout: 5000 }
    const request = get(options, response => {
      let text = ''
      response
        .setEncoding('utf8')
        .on('data', part => (text += part))
        .on('error', () => resolve(false))
        .on('end', () => resolve(response.statusCode === 200 && text === 'ok'))
    })
    request.on('timeout', () => request.destroy()).on('error', () => resolve(false))
  })
}

/** The processes that a process started and that still run; read from /proc, so on Linux only. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(name => {
      try {
        // The name of the program, in parentheses, may hold anything; state and parent follow it.
        const [state, parent] = readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ')
        return Number(parent) === pid && state !== 'Z'
      } catch {
        return false // ended meanwhile
      }
    })
    .map(Number)
}
