// `npm run soak -- --minutes 30 --rate 10 --outages 3`: a mixed load on two nodes with PostgreSQL for a long time, with
// PostgreSQL killed and started again in between. Prints what memory, latencies and errors did minute by minute, compares
// everything that was acknowledged, and with `--to FOLDER` writes `soak.md` and `soak.svg` there.
import { mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { createRoundRobin } from '../test/chaos/client.ts'
import { compare } from '../test/chaos/comparison.ts'
import { startNodes, stopNodes } from '../test/chaos/deployment.ts'
import type { Node } from '../test/chaos/deployment.ts'
import { createLedger, sizesOf } from '../test/chaos/ledger.ts'
import { drive } from '../test/chaos/load.ts'
import { createOperations } from '../test/chaos/operations.ts'
import { freshDatabaseOn } from '../test/support/databases.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { plotOf, summaryOf, tableOf } from './soak-report.ts'
import type { Minute, Soak } from './soak-report.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '10' },
    outages: { type: 'string', default: '0' },
    to: { type: 'string' },
  },
})
const minutes = numberOf('minutes', values.minutes)
const rate = numberOf('rate', values.rate)
const outages = numberOf('outages', values.outages)

/** Long enough that a busy machine makes no errors. */
const PATIENCE_MS = 20_000
const SAMPLE_MS = 5000
/** Faults of one kind are summed up a minute later. */
const SUMMED_UP_MS = 65_000
/** How long PostgreSQL stays away. */
const AWAY_MS = 3000

function numberOf(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} must be a number`)
  return value
}

/** What a node says of itself. */
interface Sample {
  readonly residentBytes: number
  readonly heapBytes: number
  readonly openFiles: number
  readonly processorSeconds: number
}

/** Undefined while the node does not answer. */
async function sampleOf({ managementPort }: Node): Promise<Sample | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${managementPort}/metrics`, { signal: AbortSignal.timeout(SAMPLE_MS) })
    const text = await answer.text()
    const gauge = (name: string): number => Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)`, 'm').exec(text)?.[1])
    return {
      residentBytes: gauge('process_resident_memory_bytes'),
      heapBytes: gauge('nodejs_heap_size_used_bytes'),
      openFiles: gauge('process_open_fds'),
      processorSeconds: gauge('process_cpu_seconds_total'),
    }
  } catch {
    return undefined
  }
}

async function sizeOf(url: string): Promise<number | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 3000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ size: string }>('select pg_database_size(current_database()) as size')
    return Number(rows[0]?.size)
  } catch {
    return undefined // it is away
  } finally {
    await client.end().catch(() => {})
  }
}

async function soak(): Promise<Soak> {
  const postgres = await startPostgres()
  const { url } = await freshDatabaseOn(postgres.url)
  const nodes = await startNodes({ databases: [url, url] })
  const client = createRoundRobin(nodes, { patienceMs: PATIENCE_MS, isCrowd: true })
  const ledger = createLedger()
  const load = drive(createOperations(client, ledger, nodes[0]?.baseUrl ?? ''), rate)
  const begin = performance.now()
  const at = (minute: number): number => begin + minute * 60_000
  const past: Minute[] = []
  const killed: { readonly from: number; readonly until: number }[] = []
  let lastProcessor = 0

  async function trouble(): Promise<void> {
    for (let count = 1; count <= outages; count += 1) {
      await pause(at((count * minutes) / (outages + 1)) - performance.now())
      const from = performance.now()
      console.log(`PostgreSQL is killed (${count} of ${outages})`)
      await postgres.kill()
      await pause(AWAY_MS)
      await postgres.restart()
      killed.push({ from, until: performance.now() })
    }
  }
  const troubled = trouble()

  for (let minute = 1; minute <= minutes; minute += 1) {
    const samples: Sample[][] = nodes.map(() => [])
    while (performance.now() < at(minute)) {
      await pause(Math.min(SAMPLE_MS, Math.max(1, at(minute) - performance.now())))
      for (const [index, node] of nodes.entries()) {
        const sample = await sampleOf(node)
        if (sample) samples[index]?.push(sample)
      }
    }
    const processor = samples.reduce((sum, of) => sum + (of.at(-1)?.processorSeconds ?? 0), 0)
    past.push({
      tried: load.tried.splice(0),
      nodes: samples.map(of => ({
        // The least of a minute: what is left after a collection.
        resident: Math.min(...of.map(({ residentBytes }) => residentBytes)),
        heap: Math.min(...of.map(({ heapBytes }) => heapBytes)),
        openFiles: of.at(-1)?.openFiles ?? Number.NaN,
      })),
      cores: (processor - lastProcessor) / 60,
      databaseBytes: (await sizeOf(url)) ?? Number.NaN,
      machineLoad: loadavg()[0] ?? Number.NaN,
    })
    lastProcessor = processor
    console.log(tableOf(past.slice(-1), minute === 1, minute))
  }
  await troubled
  await load.stop()
  past.at(-1)?.tried.push(...load.tried.splice(0))
  console.log(`comparing: ${sizesOf(ledger)}`)
  const lost = await compare(client, ledger)
  const faults = nodes.flatMap(({ server }) => server.stdout.split('\n').filter(line => line.includes('"level":50')))
  const faultsApart = faults.filter(line => {
    const time = Date.parse(/"time":"([^"]*)"/.exec(line)?.[1] ?? '') - performance.timeOrigin
    return !killed.some(({ from, until }) => time > from - 1000 && time < until + SUMMED_UP_MS)
  })
  client.close()
  await stopNodes(nodes)
  await postgres.kill()
  return {
    rate,
    begin,
    minutes: past,
    outages: killed,
    violations: load.violations,
    skipped: load.skipped(),
    lost,
    faults: faultsApart,
    compared: sizesOf(ledger),
  }
}

const result = await soak()
const summary = summaryOf(result)
console.log(`\n${summary}`)
if (values.to !== undefined) {
  mkdirSync(values.to, { recursive: true })
  writeFileSync(join(values.to, 'soak.md'), `${summary}\n\n${tableOf(result.minutes, true)}\n`)
  writeFileSync(join(values.to, 'soak.svg'), plotOf(result))
}
process.exit(result.violations.length + result.lost.length > 0 ? 1 : 0)
