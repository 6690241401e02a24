// Generates load: wrk, or autocannon where wrk is not installed, for single requests; flows.ts for flows. The same for
// every server of a run, in its own process.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Result as AutocannonReport } from 'autocannon'
import type { FlowEnd, FlowJob, FlowResult } from './flows.ts'
import type { Processes } from './processes.ts'
import { CONNECTIONS } from './requests.ts'
import type { HttpRequest } from './requests.ts'

/** One measurement: requests (or flows) per second, latencies in milliseconds. */
export interface Sample {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  /** Milliseconds of the server's CPU time per request; undefined where it cannot be measured. */
  readonly processor?: number | undefined
  /** Responses with an error status. */
  readonly refused: number
  /** Connections and requests that failed or timed out. */
  readonly broken: number
}

/** Sends a request from `CONNECTIONS` connections for some seconds. */
export interface LoadTool {
  readonly name: string
  run(request: HttpRequest, seconds: number): Promise<Sample>
}

/** wrk from the PATH, or autocannon from the development dependencies. */
export async function findLoadTool(processes: Processes): Promise<LoadTool> {
  const version = await wrkVersion()
  return version === undefined ? autocannon(processes) : wrk(processes, version)

  async function wrkVersion(): Promise<string | undefined> {
    try {
      // `wrk -v` prints its version and usage and ends with status 1, so a shell turns that into success.
      const { stdout } = await processes.run(['sh', '-c', 'command -v wrk >/dev/null && { wrk -v || true; }'])
      return /^wrk\s+(?:debian\/)?(\S+)/m.exec(stdout)?.[1] ?? ''
    } catch {
      return undefined
    }
  }
}

/** What the script below prints when a run ends. */
interface WrkSummary {
  requests: number
  microseconds: number
  p50: number
  p99: number
  status: number
  broken: number
}

/** Runs in wrk at the end. A script without `request` and `response` costs nothing while requests are sent. */
const WRK_DONE = `
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\nSUMMARY {"requests":%d,"microseconds":%d,"p50":%.3f,"p99":%.3f,"status":%d,"broken":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.status, e.connect + e.read + e.write + e.timeout))
end
`

/**
 * Runs in each thread of wrk, for requests with different bodies: all are prepared in advance and chosen at random,
 * with a different seed per thread.
 */
const WRK_BODIES = `
local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set('number', threads)
end
local requests = {}
function init()
  math.randomseed(os.time() * 16 + number)
  for line in io.lines(bodies) do requests[#requests + 1] = wrk.format(nil, nil, nil, line) end
end
function request()
  return requests[math.random(#requests)]
end
`

function wrk(processes: Processes, version: string): LoadTool {
  const threads = Math.min(2, availableParallelism())
  const script = join(processes.folder, 'request.lua')
  return {
    name: `wrk ${version} -t${threads} -c${CONNECTIONS}`.replace('  ', ' '),
    async run(request, seconds) {
      const lines = [
        `wrk.method = ${luaString(request.method)}`,
        ...Object.entries(request.headers).map(
          ([name, value]) => `wrk.headers[${luaString(name)}] = ${luaString(value)}`,
        ),
        ...(request.body === undefined ? [] : [`wrk.body = ${luaString(request.body)}`]),
        ...(request.bodies ? [`bodies = ${luaString(bodiesFile(processes, request.bodies))}`, WRK_BODIES] : []),
      ]
      writeFileSync(script, lines.join('\n') + WRK_DONE)
      const shape = [`-t${threads}`, `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '10s']
      const { stdout } = await processes.run(['wrk', ...shape, '-s', script, request.url])
      const json = /^SUMMARY (.*)$/m.exec(stdout)?.[1]
      if (json === undefined) throw new Error(`wrk printed no summary:\n${stdout}`)
      const summary: WrkSummary = JSON.parse(json)
      return {
        rate: (summary.requests - summary.status) / (summary.microseconds / 1e6),
        p50: summary.p50,
        p99: summary.p99,
        refused: summary.status,
        broken: summary.broken,
      }
    },
  }
}

/** A file with one body on each line; forms have no line breaks. */
function bodiesFile(processes: Processes, bodies: readonly string[]): string {
  const file = join(processes.folder, 'bodies')
  writeFileSync(file, bodies.join('\n'))
  return file
}

/** A Lua string literal of any text. */
function luaString(text: string): string {
  const escaped = text.replace(/[\\"\n\r\0]/g, character => `\\${character.charCodeAt(0).toString().padStart(3, '0')}`)
  return `"${escaped}"`
}

function autocannon(processes: Processes): LoadTool {
  const script = fileURLToPath(new URL('autocannon-job.ts', import.meta.url))
  const require = createRequire(import.meta.url)
  const { version }: { version: string } = require('autocannon/package.json')
  return {
    name: `autocannon ${version} -c${CONNECTIONS} (wrk is not installed)`,
    async run(request, seconds) {
      const job = join(processes.folder, 'request.json')
      writeFileSync(job, JSON.stringify({ request, seconds, connections: CONNECTIONS }))
      const { stdout } = await processes.run([process.execPath, script, job])
      const report: AutocannonReport = JSON.parse(stdout)
      return {
        rate: report['2xx'] / report.duration,
        p50: report.latency.p50,
        p99: report.latency.p99,
        refused: report.non2xx,
        broken: report.errors + report.timeouts,
      }
    },
  }
}

/** Runs a flow in the driver's process. Throws if a response is wrong. */
export async function runFlow(processes: Processes, job: FlowJob, end: FlowEnd): Promise<FlowResult> {
  const driver = fileURLToPath(new URL('flows.ts', import.meta.url))
  const { stdout } = await processes.run([process.execPath, driver, JSON.stringify({ job, end })])
  return JSON.parse(stdout)
}
