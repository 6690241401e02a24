// Runs the rounds: every selected workload on every server, interleaved.
import { setTimeout as delay } from 'node:timers/promises'
import type { Accounts } from './accounts.ts'
import type { Cell, Filled } from './results.ts'
import { measureLimits } from './limits.ts'
import type { Limits } from './limits.ts'
import { runFlow } from './load.ts'
import type { LoadTool, Sample } from './load.ts'
import { processorMilliseconds } from './processes.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { discover } from './requests.ts'
import type { Endpoints, HttpRequest } from './requests.ts'
import { createHome, startHello, startLatchkey, startPeer } from './servers.ts'
import type { LatchkeyHome, Server, ServerName } from './servers.ts'
import { startFilledLatchkey } from './stored-tokens.ts'
import { WORKLOADS } from './workloads.ts'
import type { FlowWork, RequestWork, Workload } from './workload.ts'

const DAY_MILLISECONDS = 86_400_000
/** Maximum number of stored tokens that requests use, which limits the load tool's memory. */
const MAX_TOKENS = 100_000

/** Number and length of rounds, and the selected workloads. */
export interface Settings {
  readonly rounds: number
  readonly seconds: number
  isWanted(name: string): boolean
}

/**
 * Seconds before the first round, for just-in-time compilation, caches and connections: until some ten thousand requests, or some
 * thousand flows, have run, half of what is measured is the compiler.
 */
const WARM_UP_SECONDS = 10

/** A cell ready to be measured. */
interface OpenCell {
  readonly workload: string
  readonly server: ServerName
  measure(seconds: number): Promise<Sample>
  /** Throws unless the server does the work correctly; called before the first and after the last round. */
  prove(): Promise<void>
  readonly samples: Sample[]
  failure?: string
}

/** A Latchkey instance, and some of its stored tokens. */
interface OwnServer {
  readonly server: Server
  readonly tokens: readonly string[]
}

/** The selected workloads and those that they are compared with, in the order of the report. */
function wantedWorkloads(settings: Settings): Workload[] {
  const wanted = WORKLOADS.filter(({ name }) => settings.isWanted(name))
  const names = new Set(wanted.flatMap(({ name, beside }) => (beside === undefined ? [name] : [name, beside])))
  return WORKLOADS.filter(({ name }) => names.has(name))
}

/** Runs the selected workloads on all servers, which run throughout; one server is under load at a time. */
export async function runRounds(
  processes: Processes,
  accounts: Accounts,
  tool: LoadTool,
  settings: Settings,
): Promise<{ limits: Limits[]; cells: Cell[]; filled: Filled[] }> {
  const workloads = wantedWorkloads(settings)
  if (workloads.length === 0) {
    return { limits: [await measureLimits(processes, settings.seconds)], cells: [], filled: [] }
  }

  const hello = await startHello(processes)
  const peer = await startPeer(processes, accounts)
  const durable = workloads.some(({ durablePeer }) => durablePeer)
    ? await startPeer(processes, accounts, 'oidc-provider on SQLite')
    : undefined
  const peers = durable ? [peer, durable] : [peer]
  const latchkeys = new Map<string, OwnServer>()
  const filled: Filled[] = []
  const cells: OpenCell[] = []
  for (const workload of workloads) {
    cells.push(...(await openCells(workload, { ceiling: hello, own: await ownServerOf(workload) })))
  }
  for (const cell of cells) {
    await attempt(cell, async () => {
      await cell.prove()
      await cell.measure(WARM_UP_SECONDS)
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
      await delay(200) // lets pending responses and writes finish
    }
  }
  for (const cell of cells) await attempt(cell, () => cell.prove())

  for (const server of [hello, ...peers, ...[...latchkeys.values()].map(({ server }) => server)])
    await server.running.stop()
  return {
    limits,
    filled,
    cells: cells.map(({ workload, server, samples, failure }) => ({
      workload,
      server,
      samples,
      ...(failure !== undefined && { failure }),
    })),
  }

  /** Workloads share an instance per signing key, except those with stored tokens or cheap hashes. */
  async function ownServerOf({ name, signedBy, storedTokens, cheapHashes }: Workload): Promise<OwnServer> {
    const folder = ['latchkey', signedBy, storedTokens, cheapHashes && 'cheap'].filter(Boolean).join('-')
    const known = latchkeys.get(folder)
    if (known) return known
    const home = createHome(processes, folder, signedBy, cheapHashes)
    const own = storedTokens === undefined ? await startEmpty(home) : await startFilled(name, home, storedTokens)
    latchkeys.set(folder, own)
    return own
  }

  async function startEmpty(home: LatchkeyHome): Promise<OwnServer> {
    return { server: await startLatchkey(processes, accounts, home), tokens: [] }
  }

  async function startFilled(workload: string, home: LatchkeyHome, rows: number): Promise<OwnServer> {
    const filling = { rows, firstExpiry: new Date(Date.now() + DAY_MILLISECONDS), returned: Math.min(rows, MAX_TOKENS) }
    const { server, filled: database } = await startFilledLatchkey(processes, accounts, { home, filling })
    const { bytes, seconds, tokens } = database
    filled.push({ workload, rows, bytes, seconds })
    progress(`filled  ${workload}  ${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(0)} s`)
    return { server, tokens }
  }

  async function openCells(
    workload: Workload,
    { ceiling, own }: { ceiling: Server; own: OwnServer },
  ): Promise<OpenCell[]> {
    const { work } = workload
    const servers = [
      own.server,
      ...(workload.peer ? [peer] : []),
      ...(workload.durablePeer && durable ? [durable] : []),
    ]
    if (work.kind === 'flow') return Promise.all(servers.map(server => openFlow(workload, work, server)))
    const opened = await Promise.all(servers.map(server => openRequest(workload, work, { server, tokens: own.tokens })))
    const [request] = opened.map(cell => cell.request)
    if (!request) return opened
    // The ceiling receives the same bytes in every round.
    const url = ceiling.baseUrl + new URL(request.url).pathname
    return [requestCell(workload, ceiling, { ...request, url }, async () => {}), ...opened]
  }

  async function openRequest(
    workload: Workload,
    work: RequestWork,
    { server, tokens }: OwnServer,
  ): Promise<OpenCell & { request?: HttpRequest }> {
    try {
      const endpoints = await discover(server.baseUrl)
      const request = await work.prepare(endpoints, accounts, tokens)
      return { ...requestCell(workload, server, request, () => work.prove(request, endpoints, accounts)), request }
    } catch (error) {
      return failed(workload, server, error)
    }
  }

  function requestCell(
    { name: workload }: Workload,
    server: Server,
    request: HttpRequest,
    prove: () => Promise<void>,
  ): OpenCell {
    return { workload, server: server.name, prove, measure: withProcessor(server, send), samples: [] }

    async function send(seconds: number): Promise<Sample & { count: number }> {
      const sample = await tool.run(request, seconds)
      return { ...sample, count: sample.rate * seconds }
    }
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
      // The driver throws on the first wrong response.
      prove: async () => work.prove?.(endpoints, accounts),
      measure: withProcessor(server, async seconds => {
        const { flows, seconds: elapsed, p50, p99, prepares } = await runFlow(processes, job, { seconds })
        const sample = { rate: flows / elapsed, p50, p99, refused: 0, broken: 0 }
        // Preparing values costs CPU time of the server too.
        return prepares ? sample : { ...sample, count: flows }
      }),
      samples: [],
    }
  }
}

/** Adds the CPU time per request or flow, if their number is known. */
function withProcessor(
  { running: { pid } }: Server,
  run: (seconds: number) => Promise<Sample & { count?: number }>,
): (seconds: number) => Promise<Sample> {
  return async seconds => {
    const before = processorMilliseconds(pid)
    const { count, ...sample } = await run(seconds)
    const after = processorMilliseconds(pid)
    if (before === undefined || after === undefined || !count) return sample
    return { ...sample, processor: (after - before) / count }
  }
}

/** A cell that could not be opened; the report shows the reason. */
function failed({ name: workload }: Workload, { name: server }: Server, error: unknown): OpenCell {
  const failure = error instanceof Error ? error.message : String(error)
  progress(`FAILED  ${workload}  ${server}: ${failure}`)
  const never = (): Promise<never> => Promise.reject(new Error(failure))
  return { workload, server, measure: never, prove: never, samples: [], failure }
}

/** A cell fails permanently at its first error; the others continue. */
async function attempt(cell: OpenCell, work: () => Promise<void>): Promise<void> {
  if (cell.failure !== undefined) return
  try {
    await work()
  } catch (error) {
    cell.failure = error instanceof Error ? error.message : String(error)
    progress(`FAILED  ${cell.workload}  ${cell.server}: ${cell.failure}`)
  }
}
