// The processes and the folder of a run: whatever was started here is stopped here, also after Ctrl-C.
import { spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const STOP_MILLISECONDS = 12_000 // a server may finish what is under way for ten seconds

/** What a finished program printed. */
export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** A long-running program: its leader's process id, and where its output went. */
export interface Running {
  readonly pid: number
  readonly log: string
  /** Undefined while it runs, otherwise how it ended. */
  ended(): string | undefined
  /** Asks the program and its children to end, insists after twelve seconds, and waits until the leader is gone. */
  stop(): Promise<void>
}

/** Starts programs, each in a process group of its own, and knows all of them. */
export interface Processes {
  /** A folder for databases, keys and logs, removed by `close`. */
  readonly folder: string
  /** A server: runs until stopped. `input` is given on its standard input. */
  start(
    name: string,
    command: readonly string[],
    options?: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string },
  ): Running
  /** A program that ends by itself. Throws with its standard error when it fails. */
  run(command: readonly string[]): Promise<Output>
  /** Ends all that still runs, at once, and removes the folder. */
  close(): void
}

/** Makes the temporary folder and an empty list of processes. */
export function createProcesses(): Processes {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
  const alive = new Map<number, ChildProcess>()
  let started = 0

  function launch([command = '', ...args]: readonly string[], options: SpawnOptions): ChildProcess {
    const child = spawn(command, args, { ...options, detached: true })
    const { pid } = child
    if (pid === undefined) return child
    alive.set(pid, child)
    child.once('exit', () => alive.delete(pid))
    return child
  }

  return {
    folder,
    start(name, command, { cwd = folder, env = process.env, input = '' } = {}) {
      started += 1
      const log = join(folder, `${name}-${started}.log`)
      const file = openSync(log, 'w')
      const child = launch(command, { cwd, env, stdio: ['pipe', file, file] })
      const { pid } = child
      if (pid === undefined) throw new Error(`${command.join(' ')} does not start`)
      child.stdin?.on('error', () => {}) // a program that never reads its input is no failure
      child.stdin?.end(input)
      const ended = (): string | undefined => child.signalCode ?? child.exitCode?.toString()
      return {
        pid,
        log,
        ended,
        async stop() {
          if (ended() !== undefined) return
          const exit = once(child, 'exit')
          signalGroup(pid, 'SIGTERM')
          const patience = setTimeout(() => signalGroup(pid, 'SIGKILL'), STOP_MILLISECONDS)
          await exit
          clearTimeout(patience)
        },
      }
    },
    async run(command) {
      const child = launch(command, { stdio: ['ignore', 'pipe', 'pipe'] })
      const chunks: { stdout: string; stderr: string } = { stdout: '', stderr: '' }
      child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        chunks.stdout += chunk
      })
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        chunks.stderr += chunk
      })
      const [code, signal]: (number | string | null)[] = await once(child, 'close')
      if (code !== 0) {
        throw new Error(`${command[0]} ended with ${code ?? signal}: ${chunks.stderr.trim().slice(0, 2000)}`)
      }
      return chunks
    },
    close() {
      for (const pid of alive.keys()) signalGroup(pid, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}

/** A free loopback port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP, so neither null nor a path
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until a GET answers 200. Throws with the program's output when it ends first or a minute has passed. */
export async function untilReady(running: Running, url: string): Promise<void> {
  const deadline = performance.now() + 60_000
  while ((await statusOf(url)) !== 200) {
    const ended = running.ended()
    if (ended === undefined && performance.now() < deadline) {
      await delay(5)
      continue
    }
    const output = readFileSync(running.log, 'utf8').trim().slice(-2000)
    throw new Error(`${url} is not ready (${ended === undefined ? 'no answer' : `ended: ${ended}`})\n${output}`)
  }
}

/**
 * Resident bytes of the process that listens on a port, among the descendants of `pid` and itself; the largest, should
 * several share the socket. Undefined where there is no /proc.
 */
export function residentBytes(pid: number, port: number): number | undefined {
  const sockets = listeningSockets(port)
  const sizes = descendants(pid)
    .filter(process => openFiles(process).some(file => sockets.has(file)))
    .map(process => /^VmRSS:\s+(\d+) kB$/m.exec(readOrEmpty(`/proc/${process}/status`))?.[1])
    .map(kibibytes => Number(kibibytes ?? 0) * 1024)
  return sizes.length > 0 ? Math.max(...sizes) : undefined
}

/** Of /proc, whose times are in these; the kernel tells all programs 100, whatever it counts by itself. */
const TICKS_PER_SECOND = 100

/** Milliseconds of processor time that a process and its descendants have used. Undefined where there is no /proc. */
export function processorMilliseconds(pid: number): number | undefined {
  const ticks = descendants(pid).flatMap(process => {
    // The name of the program stands in parentheses and may hold anything; user and system time are 12 and 13 behind it.
    const fields = readOrEmpty(`/proc/${process}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields.length > 13 ? [Number(fields[11]) + Number(fields[12])] : []
  })
  return ticks.length > 0 ? (ticks.reduce((sum, each) => sum + each, 0) * 1000) / TICKS_PER_SECOND : undefined
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch (error) {
    // ESRCH: the group ended between the question and the signal.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise(resolve => {
    const request = get(url, { agent: false, timeout: 5000 }, response => {
      response.resume()
      response.once('close', () => resolve(response.statusCode))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(undefined)) // nobody listens yet
  })
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process ended meanwhile, or there is no /proc
  }
}

/** The names under which /proc shows the sockets that listen on a port. */
function listeningSockets(port: number): Set<string> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(file => readOrEmpty(file).split('\n'))
  const inodes = rows
    .map(row => row.trim().split(/\s+/))
    .filter(fields => fields[1]?.endsWith(`:${hex}`) && fields[3] === '0A') // 0A is LISTEN
    .map(fields => `socket:[${fields[9]}]`)
  return new Set(inodes)
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).map(name => readlinkSync(join(folder, name)))
  } catch {
    return [] // the process, or one of its files, was closed meanwhile
  }
}

function descendants(pid: number): number[] {
  const children = readOrEmpty(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap(child => descendants(Number(child)))]
}
