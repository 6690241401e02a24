// What a second node on the same PostgreSQL adds, beside what a second server that shares nothing adds on this machine:
// nodes, database and drivers divide its cores, so the second figure is what the first can reach here.
import { freshDatabase } from '../test/support/databases.ts'
import type { Accounts } from './accounts.ts'
import type { FlowJob } from './flows.ts'
import { runFlow } from './load.ts'
import { processorMilliseconds } from './processes.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { discover } from './requests.ts'
import { medianRatio } from './results.ts'
import { createHome, startLatchkey, startPeer } from './servers.ts'
import type { Server } from './servers.ts'
import { CODE_FLOWS, WORKLOADS } from './workloads.ts'

/** The name of this measurement for `--only`. */
export const NODES = 'nodes'

/** The servers that run alone and in pairs. */
export const PAIRS = ['latchkey', 'oidc-provider'] as const

const [, FLOW] = CODE_FLOWS
const WARM_UP_SECONDS = 5

/** Flows a second of one server or of two, and milliseconds of their CPU time for each. */
export interface PairSample {
  readonly rate: number
  readonly processor: number | undefined
}

/** Round by round; both servers of a pair get as much load as one alone. */
export interface Pair {
  readonly server: (typeof PAIRS)[number]
  readonly one: readonly PairSample[]
  readonly two: readonly PairSample[]
}

/** Both pairs. */
export interface Nodes {
  readonly flow: string
  readonly pairs: readonly Pair[]
}

/** The ratio of two servers to one. */
export function gainOf(nodes: Nodes, server: Pair['server']): number | undefined {
  const pair = nodes.pairs.find(each => each.server === server)
  return pair && medianRatio(ratesOf(pair.two), ratesOf(pair.one))
}

const ratesOf = (samples: readonly PairSample[]): readonly number[] => samples.map(({ rate }) => rate)

/** Starts two of each, and measures one and two of them in turn. */
export async function measureNodes(
  processes: Processes,
  accounts: Accounts,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<Nodes> {
  const work = WORKLOADS.find(({ name }) => name === FLOW)?.work
  if (work?.kind !== 'flow') throw new Error(`there is no flow ${FLOW}`)
  const database = await freshDatabase('postgres')
  // One home, so that both have the same master key.
  const home = { ...createHome(processes, 'nodes', 'ES256'), databaseUrl: database.url }
  const pairs: { server: Pair['server']; servers: readonly Driven[]; one: PairSample[]; two: PairSample[] }[] = []
  try {
    for (const server of PAIRS) {
      const start = () =>
        server === 'latchkey' ? startLatchkey(processes, accounts, home) : startPeer(processes, accounts)
      const servers: Driven[] = []
      for (const started of [await start(), await start()]) {
        servers.push({ server: started, job: work.job(await discover(started.baseUrl), accounts) })
      }
      pairs.push({ server, servers, one: [], two: [] })
    }
    for (const { servers } of pairs) await drive(processes, servers, WARM_UP_SECONDS)
    for (let round = 1; round <= rounds; round += 1) {
      for (const {
        server,
        servers: [first, second],
        one,
        two,
      } of pairs) {
        if (!first || !second) continue
        one.push(await drive(processes, [first, first], seconds))
        two.push(await drive(processes, [first, second], seconds))
        progress(`round ${round}  ${server}  ${one.at(-1)?.rate.toFixed(0)}/s, two ${two.at(-1)?.rate.toFixed(0)}/s`)
      }
    }
    for (const { servers } of pairs) for (const { server } of servers) await server.running.stop()
  } finally {
    await database.drop()
  }
  return { flow: FLOW, pairs: pairs.map(({ server, one, two }) => ({ server, one, two })) }
}

interface Driven {
  readonly server: Server
  readonly job: FlowJob
}

/** One driver for each, all at once. */
async function drive(processes: Processes, driven: readonly Driven[], seconds: number): Promise<PairSample> {
  const pids = [...new Set(driven.map(({ server }) => server.running.pid))]
  const used = (): number => pids.reduce((sum, pid) => sum + (processorMilliseconds(pid) ?? Number.NaN), 0)
  const before = used()
  const results = await Promise.all(driven.map(({ job }) => runFlow(processes, job, { seconds })))
  const processor = (used() - before) / results.reduce((sum, { flows }) => sum + flows, 0)
  return {
    rate: results.reduce((sum, result) => sum + result.flows / result.seconds, 0),
    processor: Number.isFinite(processor) ? processor : undefined,
  }
}
