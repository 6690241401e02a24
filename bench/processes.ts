// Manages the processes and the folder of a run, and cleans them up, even after Ctrl-C.
import { spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const STOP_MILLISECONDS = 12_000 // servers finish open requests for up to ten seconds

/** The output of a finished program. */
export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** A long-running program: the process id of its group leader, and its log file. */
export interface Running {
  readonly pid: number
  readonly log: string
  /** The exit code or signal; undefined while it runs. */
  ended(): string | undefined
  /** Sends SIGTERM to the process group, SIGKILL after twelve seconds, and waits for the leader to exit. */
  stop(): Promise<void>
}

/** Starts programs, each in its own process group, and tracks them. */
export interface Processes {
  /** A folder for databases, keys and logs, removed by `close`. */
  readonly folder: string
  /** Starts a server, which runs until stopped. `input` is its standard input. */
  start(
    name: string,
    command: readonly string[],
    options?: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string },
  ): Running
  /** Runs a program to its end. Throws with its standard error if it fails. */
  run(command: readonly string[]): Promise<Output>
  /** Kills all running programs and removes the folder. */
  close(): void
}

/** Creates the temporary folder and an empty list of processes. */
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
      child.stdin?.on('error', () => {}) // programs need not read their input
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
          const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), STOP_MILLISECONDS)
          await exit
          clearTimeout(timer)
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

/** Waits until a GET returns 200. Throws with the program's output if it exits first or after a minute. */
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
 * Resident bytes of the process that listens on the port, among `pid` and its descendants; the largest if several share
 * the socket. Undefined without /proc.
 */
export function residentBytes(pid: number, port: number): number | undefined {
  const sockets = listeningSockets(port)
  const sizes = descendants(pid)
    .filter(process => openFiles(process).some(file => sockets.has(file)))
    .map(process => /^VmRSS:\s+(\d+) kB$/m.exec(readOrEmpty(`/proc/${process}/status`))?.[1])
    .map(kibibytes => Number(kibibytes ?? 0) * 1024)
  return sizes.length > 0 ? Math.max(...sizes) : undefined
}

/** The unit of times in /proc, which the kernel reports as 100 per second to all programs. */
const TICKS_PER_SECOND = 100

/** Milliseconds of CPU time of a process and its descendants. Undefined without /proc. */
export function processorMilliseconds(pid: number): number | undefined {
  const ticks = descendants(pid).flatMap(process => {
    // The name in parentheses may contain any character; user and system time are fields 12 and 13 after it.
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
    // ESRCH: the group has ended in between.
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
    request.once('error', () => resolve(undefined)) // not listening yet
  })
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process has ended, or there is no /proc
  }
}

/** The sockets that listen on a port, as named in /proc. */
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
    return [] // the process has ended, or closed a file
  }
}

function descendants(pid: number): number[] {
  const children = readOrEmpty(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap(child => descendants(Number(child)))]
}
