// Measures the cost of metrics: two servers that differ only in the management port, of which one is under load at a time. The one
// that has the port is read more often than any Prometheus would.
import { freePort } from '../test/support/free-port.ts'
import type { Accounts } from './accounts.ts'
import type { LoadTool, Sample } from './load.ts'
import { processorMilliseconds } from './processes.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { discover, form } from './requests.ts'
import { medianRatio } from './results.ts'
import { createHome, startLatchkey } from './servers.ts'
import type { Server } from './servers.ts'

/** The name of this measurement for `--only`. */
export const METRICS = 'metrics'

const READ_EVERY_MILLISECONDS = 1000
const WARM_UP_SECONDS = 3
/** The difference is smaller than the machine's fluctuations, so there are more rounds. */
const TURNS = 3

/** Tokens by client_credentials, round by round. */
export interface MetricsCost {
  readonly without: readonly Sample[]
  readonly with: readonly Sample[]
}

/** The rate with metrics, of that without. */
export const rateWithMetrics = (cost: MetricsCost): number | undefined =>
  medianRatio(
    cost.with.map(({ rate }) => rate),
    cost.without.map(({ rate }) => rate),
  )

/** Starts both, and measures them in turn. */
export async function measureMetrics(
  processes: Processes,
  accounts: Accounts,
  { tool, rounds, seconds }: { readonly tool: LoadTool; readonly rounds: number; readonly seconds: number },
): Promise<MetricsCost> {
  const managementPort = await freePort()
  const servers = [
    { name: 'without', server: await startLatchkey(processes, accounts, createHome(processes, 'plain', 'ES256')) },
    {
      name: 'with',
      server: await startLatchkey(processes, accounts, {
        ...createHome(processes, 'measured', 'ES256'),
        managementPort,
      }),
    },
  ] as const
  const cost = { without: [] as Sample[], with: [] as Sample[] }
  const reader = setInterval(() => void readMetrics(managementPort), READ_EVERY_MILLISECONDS)
  try {
    for (const { server } of servers) await load(server, WARM_UP_SECONDS)
    for (let round = 1; round <= rounds * TURNS; round += 1) {
      for (const { name, server } of round % 2 === 0 ? servers : servers.toReversed()) {
        const sample = await load(server, seconds)
        cost[name].push(sample)
        progress(`round ${round}  ${name} metrics  ${sample.rate.toFixed(0)}/s`)
      }
    }
  } finally {
    clearInterval(reader)
  }
  for (const { server } of servers) await server.running.stop()
  return cost

  async function load({ baseUrl, running: { pid } }: Server, duration: number): Promise<Sample> {
    const { token } = await discover(baseUrl)
    const fields = { grant_type: 'client_credentials', scope: accounts.scope }
    const request = form(token, fields, accounts.service.ES256)
    const before = processorMilliseconds(pid)
    const sample = await tool.run(request, duration)
    const after = processorMilliseconds(pid)
    if (sample.refused + sample.broken > 0) throw new Error(`${token} refused some of the requests`)
    if (before === undefined || after === undefined) return sample
    return { ...sample, processor: (after - before) / (sample.rate * duration) }
  }
}

async function readMetrics(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  await answer.text()
}
