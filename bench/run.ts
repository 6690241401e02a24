// `npm run bench`: Latchkey beside its ceiling (node:http) and its peer (oidc-provider), under the same load in one run.
// What is measured, and why so, is told in docs/decisions/0010-benchmarks.md.
import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createAccounts } from './accounts.ts'
import type { Accounts, Algorithm } from './accounts.ts'
import { measureGrowth } from './growth.ts'
import { CORES, measureLimits } from './limits.ts'
import type { Limits } from './limits.ts'
import { findLoadTool, runFlow } from './load.ts'
import type { HttpRequest, LoadTool, Sample } from './load.ts'
import { createProcesses } from './processes.ts'
import type { Processes } from './processes.ts'
import { formatReport, judge } from './report.ts'
import type { Cell, Results } from './report.ts'
import { createHome, startHello, startLatchkey, startPeer } from './servers.ts'
import type { Server, ServerName } from './servers.ts'
import { measureStartups } from './startup.ts'
import { WORKLOADS, discover } from './workloads.ts'
import type { Endpoints, FlowWork, RequestWork, Workload } from './workloads.ts'

const USAGE = `npm run bench -- [options]
  --rounds N       rounds, interleaved (5)
  --seconds N      seconds for each cell of a round (4)
  --quick          2 rounds of 1 second, 2 starts, 10000 tokens
  --only REGEXP    only the rows whose name matches; \`startup\` and \`growth\` are names too
  --json FILE      write everything that was measured
  --check          end with status 1 when a bar is missed`

interface Settings {
  readonly rounds: number
  readonly seconds: number
  /** Starts after the first one. */
  readonly starts: number
  /** Tokens of the growth measurement. */
  readonly tokens: number
  isWanted(name: string): boolean
}

/** A cell that can be measured again and again. */
interface OpenCell {
  readonly workload: string
  readonly server: ServerName
  measure(seconds: number): Promise<Sample>
  /** Throws unless the server does the work; called before the first and after the last round. */
  prove(): Promise<void>
  readonly samples: Sample[]
  failure?: string
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
    check: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) console.log(USAGE)
else process.exitCode = await main()

async function main(): Promise<number> {
  const only = new RegExp(options.only, 'i')
  const settings: Settings = {
    rounds: positive('rounds', options.rounds, options.quick ? 2 : 5),
    seconds: positive('seconds', options.seconds, options.quick ? 1 : 4),
    starts: options.quick ? 2 : 5,
    tokens: options.quick ? 10_000 : 100_000,
    isWanted: name => only.test(name),
  }
  const processes = createProcesses()
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => {
      processes.close()
      process.exit(status)
    })
  }
  try {
    const results = await measure(processes, settings)
    console.log(formatReport(results))
    if (options.json) writeFileSync(options.json, JSON.stringify({ ...results, bars: judge(results) }, undefined, 2))
    return statusOf(results)
  } finally {
    processes.close()
  }
}

async function measure(processes: Processes, settings: Settings): Promise<Results> {
  const accounts = createAccounts()
  const tool = await findLoadTool(processes)
  const machine = await describeMachine(processes)
  const loadBefore = loadavg()[0] ?? 0
  const startups = settings.isWanted('startup') ? await timed('startup', startup) : undefined
  const { limits, cells } = await timed('rounds', () => runRounds(processes, accounts, tool, settings))
  const growth = settings.isWanted('growth') ? await timed('growth', grow) : undefined
  return {
    machine: [...machine, ['load average when it began', loadBefore.toFixed(2)]],
    tool: tool.name,
    rounds: settings.rounds,
    seconds: settings.seconds,
    limits,
    cells,
    startups,
    growth,
  }

  function startup(): ReturnType<typeof measureStartups> {
    return measureStartups(processes, accounts, settings.starts)
  }
  function grow(): ReturnType<typeof measureGrowth> {
    return measureGrowth(processes, accounts, settings.tokens)
  }
}

/** All wanted workloads on all servers, which stay up meanwhile; one of them is under load at a time. */
async function runRounds(
  processes: Processes,
  accounts: Accounts,
  tool: LoadTool,
  settings: Settings,
): Promise<{ limits: Limits[]; cells: Cell[] }> {
  const workloads = WORKLOADS.filter(({ name }) => settings.isWanted(name))
  if (workloads.length === 0) return { limits: [await measureLimits(processes, settings.seconds)], cells: [] }

  const hello = await startHello(processes)
  const peer = await startPeer(processes, accounts)
  const latchkey = new Map<Algorithm, Server>()
  for (const algorithm of new Set(workloads.map(({ signedBy }) => signedBy))) {
    const home = createHome(processes, `latchkey-${algorithm}`, algorithm)
    latchkey.set(algorithm, await startLatchkey(processes, accounts, home))
  }

  const cells: OpenCell[] = []
  for (const workload of workloads) {
    const server = latchkey.get(workload.signedBy)
    if (server) cells.push(...(await openCells(workload, hello, server, peer)))
  }
  for (const cell of cells) {
    await attempt(cell, async () => {
      await cell.prove()
      await cell.measure(1) // just-in-time compilation, caches and connections settle before anything counts
    })
  }

  const limits: Limits[] = []
  for (let round = 1; round <= settings.rounds; round += 1) {
    limits.push(await measureLimits(processes, Math.min(settings.seconds, 2)))
    for (const cell of cells) {
      await attempt(cell, async () => {
        const sample = await cell.measure(settings.seconds)
        cell.samples.push(sample)
        progress(`round ${round}  ${cell.workload}  ${cell.server}  ${sample.rate.toFixed(0)}/s`)
        if (sample.refused + sample.broken > 0) {
          throw new Error(`${sample.refused} answers refused, ${sample.broken} requests broken`)
        }
      })
      await delay(200) // lets the last answers and writes of this cell end before the next one begins
    }
  }
  for (const cell of cells) await attempt(cell, () => cell.prove())

  for (const server of [hello, peer, ...latchkey.values()]) await server.running.stop()
  return {
    limits,
    cells: cells.map(({ workload, server, samples, failure }) => ({
      workload,
      server,
      samples,
      ...(failure !== undefined && { failure }),
    })),
  }

  async function openCells(workload: Workload, ceiling: Server, own: Server, other: Server): Promise<OpenCell[]> {
    const { work } = workload
    const servers = workload.peer ? [own, other] : [own]
    if (work.kind === 'flow') return Promise.all(servers.map(server => openFlow(workload, work, server)))
    const opened = await Promise.all(servers.map(server => openRequest(workload, work, server)))
    const [request] = opened.map(cell => cell.request)
    if (!request) return opened
    // The ceiling is sent the same bytes, next to the servers in every round.
    const url = ceiling.baseUrl + new URL(request.url).pathname
    return [requestCell(workload, ceiling, { ...request, url }, async () => {}), ...opened]
  }

  async function openRequest(
    workload: Workload,
    work: RequestWork,
    server: Server,
  ): Promise<OpenCell & { request?: HttpRequest }> {
    try {
      const endpoints = await discover(server.baseUrl)
      const request = await work.prepare(endpoints, accounts)
      return { ...requestCell(workload, server, request, () => work.prove(request, endpoints)), request }
    } catch (error) {
      return failed(workload, server, error)
    }
  }

  function requestCell(
    { name: workload }: Workload,
    { name: server }: Server,
    request: HttpRequest,
    prove: () => Promise<void>,
  ): OpenCell {
    return { workload, server, prove, measure: seconds => tool.run(request, seconds), samples: [] }
  }

  async function openFlow(workload: Workload, work: FlowWork, server: Server): Promise<OpenCell> {
    let endpoints: Endpoints
    try {
      endpoints = await discover(server.baseUrl)
    } catch (error) {
      return failed(workload, server, error)
    }
    const job = work.job(endpoints, accounts)
    return {
      workload: workload.name,
      server: server.name,
      // The driver throws on the first wrong answer, so every sample is its own proof.
      prove: async () => {},
      async measure(seconds) {
        const { flows, seconds: elapsed, p50, p99 } = await runFlow(processes, job, { seconds })
        return { rate: flows / elapsed, p50, p99, refused: 0, broken: 0 }
      },
      samples: [],
    }
  }
}

/** A cell that never worked: it stands in the report with its reason. */
function failed({ name: workload }: Workload, { name: server }: Server, error: unknown): OpenCell {
  const failure = error instanceof Error ? error.message : String(error)
  progress(`FAILED  ${workload}  ${server}: ${failure}`)
  const never = (): Promise<never> => Promise.reject(new Error(failure))
  return { workload, server, measure: never, prove: never, samples: [], failure }
}

/** A cell fails for good at its first error, loudly; the others go on. */
async function attempt(cell: OpenCell, work: () => Promise<void>): Promise<void> {
  if (cell.failure !== undefined) return
  try {
    await work()
  } catch (error) {
    cell.failure = error instanceof Error ? error.message : String(error)
    progress(`FAILED  ${cell.workload}  ${cell.server}: ${cell.failure}`)
  }
}

/** A failed cell is an error in any case, a missed bar only with --check. */
function statusOf(results: Results): number {
  if (results.cells.some(({ failure }) => failure !== undefined)) return 1
  return options.check && judge(results).some(({ pass }) => pass === false) ? 1 : 0
}

async function describeMachine(processes: Processes): Promise<[string, string][]> {
  const require = createRequire(import.meta.url)
  const openssl = await processes.run(['openssl', 'version']).then(
    ({ stdout }) => stdout.trim(),
    () => 'not installed',
  )
  return [
    [
      'machine',
      `${cpus()[0]?.model.trim()}, ${CORES} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
    ],
    ['Node', `${process.version} with OpenSSL ${process.versions.openssl}; of the system: ${openssl}`],
    ['latchkey', versionIn(require.resolve('../package.json'))],
    ['oidc-provider', versionIn(require.resolve('oidc-provider/package.json'))],
    ['databases', databasePlace(processes.folder)],
  ]
}

function versionIn(packageFile: string): string {
  const { version }: { version: string } = JSON.parse(readFileSync(packageFile, 'utf8'))
  return version
}

/** Durable writes cost nothing on a file system in memory, so the report says if there is one. */
function databasePlace(folder: string): string {
  const TMPFS = 0x01021994
  if (statfsSync(folder).type !== TMPFS) return 'SQLite, on disk'
  return 'SQLite, on a file system in memory: set TMPDIR to a folder on a disk, or durable writes cost nothing'
}

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  progress(`${name} …`)
  const result = await work()
  progress(`${name} took ${((performance.now() - start) / 1000).toFixed(0)} s`)
  return result
}

/** Progress goes to standard error, so that the report can be redirected. */
function progress(line: string): void {
  console.error(line)
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number of at least 1`)
  return value
}
