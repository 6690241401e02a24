// The rounds: every wanted row on every server, in turn, again and again.
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
import type { FlowWork, RequestWork, Workload } from './workloads.ts'

const DAY_MILLISECONDS = 86_400_000
/** Of many stored tokens, how many are asked for; the rest would only cost the load tool memory. */
const MAX_TOKENS = 100_000

/** How often and how long, and which rows. */
export interface Settings {
  readonly rounds: number
  readonly seconds: number
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

/** A Latchkey of the run, and some of the tokens that it had stored before it started. */
interface OwnServer {
  readonly server: Server
  readonly tokens: readonly string[]
}

/** In the order of the report, with the rows that the wanted ones are compared with. */
function wantedWorkloads(settings: Settings): Workload[] {
  const wanted = WORKLOADS.filter(({ name }) => settings.isWanted(name))
  const names = new Set(wanted.flatMap(({ name, beside }) => (beside === undefined ? [name] : [name, beside])))
  return WORKLOADS.filter(({ name }) => names.has(name))
}

/** All wanted workloads on all servers, which stay up meanwhile; one of them is under load at a time. */
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

  /** Rows share the Latchkey of their key, but for those that start with stored tokens or hash at little cost. */
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
    const filling = { rows, firstExpiry: new Date(Date.now() + DAY_MILLISECONDS), told: Math.min(rows, MAX_TOKENS) }
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
    // The ceiling is sent the same bytes, next to the servers in every round.
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
      // The driver throws on the first wrong answer, so every sample is a proof of its own.
      prove: async () => work.prove?.(endpoints, accounts),
      measure: withProcessor(server, async seconds => {
        const { flows, seconds: elapsed, p50, p99, prepares } = await runFlow(processes, job, { seconds })
        const sample = { rate: flows / elapsed, p50, p99, refused: 0, broken: 0 }
        // Where each flow uses something up, the server spends time on making that too.
        return prepares ? sample : { ...sample, count: flows }
      }),
      samples: [],
    }
  }
}

/** Adds the processor time of each request or flow, where their number is known. */
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
