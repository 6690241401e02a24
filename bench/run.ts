// `npm run bench`: measures Latchkey, its ceiling (node:http) and its peer (oidc-provider) under the same load in one
// run. See docs/decisions/0010-benchmarks.md.
import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { parseArgs } from 'node:util'
import { DATABASE_KINDS } from '../test/support/databases.ts'
import type { DatabaseKind } from '../test/support/databases.ts'
import { createAccounts } from './accounts.ts'
import { judge } from './bars.ts'
import { measureGrowth } from './growth.ts'
import { IMPORT, measureImport } from './import.ts'
import { CORES } from './limits.ts'
import { findLoadTool } from './load.ts'
import { MANAGEMENT, measureManagement } from './management.ts'
import { METRICS, measureMetrics } from './metrics.ts'
import { NODES, measureNodes } from './nodes.ts'
import { createProcesses } from './processes.ts'
import type { Processes } from './processes.ts'
import { timed } from './progress.ts'
import { measurePurge } from './purge.ts'
import { formatReport } from './report.ts'
import type { Results } from './results.ts'
import { runRounds } from './rounds.ts'
import type { Settings } from './rounds.ts'
import { measureStartups } from './startup.ts'
import { USERS, measureManyUsers } from './users.ts'
import type { UserSettings } from './users.ts'
import { ZONES, measureManyZones } from './zones.ts'
import type { ZoneSettings } from './zones.ts'

const USAGE = `npm run bench -- [options]
  --rounds N       rounds, interleaved (5)
  --seconds N      seconds per cell and round (4)
  --quick          2 rounds of 1 second, 2 starts, 10000 tokens, 1000 zones, 100000 users
  --only REGEXP    only the workloads whose name matches, and those they are compared with;
                   \`startup\`, \`growth\`, \`purge\`, \`clients\`, \`zones\`, \`import\`, \`users\` and
                   \`users on PostgreSQL\` are names too
  --json FILE      write all measurements
  --check          exit with status 1 if a bar is missed`

interface RunSettings extends Settings {
  /** Starts after the first one. */
  readonly starts: number
  /** Tokens of the growth measurement. */
  readonly tokens: number
  /** Requests of each kind of the management measurement. */
  readonly managementRequests: number
  readonly zones: Pick<ZoneSettings, 'sizes' | 'requests' | 'lists'>
  readonly users: Pick<UserSettings, 'users' | 'requests'>
  readonly importBatches: number
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
  const settings: RunSettings = {
    rounds: positive('rounds', options.rounds, options.quick ? 2 : 5),
    seconds: positive('seconds', options.seconds, options.quick ? 1 : 4),
    starts: options.quick ? 2 : 5,
    tokens: options.quick ? 10_000 : 100_000,
    managementRequests: options.quick ? 200 : 1000,
    zones: options.quick
      ? { sizes: [10, 100, 1000], requests: 50, lists: 3 }
      : { sizes: [10, 1000, 10_000], requests: 300, lists: 7 },
    importBatches: options.quick ? 3 : 20,
    users: options.quick ? { users: 100_000, requests: 200 } : { users: 1_000_000, requests: 2000 },
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

async function measure(processes: Processes, settings: RunSettings): Promise<Results> {
  const accounts = createAccounts()
  const tool = await findLoadTool(processes)
  const machine = await describeMachine(processes)
  const loadBefore = loadavg()[0] ?? 0
  const startups = settings.isWanted('startup') ? await timed('startup', startup) : undefined
  const { limits, cells, filled } = await timed('rounds', () => runRounds(processes, accounts, tool, settings))
  const growth = settings.isWanted('growth') ? await timed('growth', grow) : undefined
  const purge = settings.isWanted('purge') ? await timed('purge', purgeExpired) : undefined
  const management = settings.isWanted(MANAGEMENT) ? await timed(MANAGEMENT, manage) : undefined
  const manyZones = settings.isWanted(ZONES) ? await timed(ZONES, fill) : undefined
  const manyUsers = DATABASE_KINDS.some(isUserRow) ? await timed(USERS.sqlite, askForUsers) : undefined
  const imported = settings.isWanted(IMPORT) ? await timed(IMPORT, importUsers) : undefined
  const nodes = settings.isWanted(NODES) ? await timed(NODES, compareNodes) : undefined
  const metrics = settings.isWanted(METRICS) ? await timed(METRICS, compareMetrics) : undefined
  return {
    machine: [...machine, ['load average when it began', loadBefore.toFixed(2)]],
    tool: tool.name,
    rounds: settings.rounds,
    seconds: settings.seconds,
    limits,
    cells,
    filled,
    startups,
    growth,
    purge,
    management,
    manyZones,
    manyUsers,
    imported,
    nodes,
    metrics,
  }

  function startup(): ReturnType<typeof measureStartups> {
    return measureStartups(processes, accounts, settings.starts)
  }
  function grow(): ReturnType<typeof measureGrowth> {
    return measureGrowth(processes, accounts, settings.tokens)
  }
  function purgeExpired(): ReturnType<typeof measurePurge> {
    return measurePurge(processes, accounts)
  }
  function manage(): ReturnType<typeof measureManagement> {
    return measureManagement(processes, accounts, settings.managementRequests)
  }
  function isUserRow(kind: DatabaseKind): boolean {
    return settings.isWanted(USERS[kind])
  }
  function askForUsers(): ReturnType<typeof measureManyUsers> {
    return measureManyUsers(processes, { ...settings.users, kinds: DATABASE_KINDS.filter(isUserRow) })
  }
  function importUsers(): ReturnType<typeof measureImport> {
    return measureImport(processes, accounts, settings.importBatches)
  }
  function compareNodes(): ReturnType<typeof measureNodes> {
    return measureNodes(processes, accounts, settings)
  }
  function compareMetrics(): ReturnType<typeof measureMetrics> {
    return measureMetrics(processes, accounts, { ...settings, tool })
  }
  function fill(): ReturnType<typeof measureManyZones> {
    return measureManyZones(processes, accounts, { tool, settings: { ...settings, ...settings.zones } })
  }
}

/** A failed cell is always an error, a missed bar only with --check. */
function statusOf(results: Results): number {
  if (results.cells.some(({ failure }) => failure !== undefined)) return 1
  if ([results.management, results.manyZones, results.manyUsers].some(part => part && part.failures.length > 0))
    return 1
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

/** Durable writes cost nothing on a tmpfs, so the report mentions one. */
function databasePlace(folder: string): string {
  const TMPFS = 0x01021994
  if (statfsSync(folder).type !== TMPFS) return 'SQLite, on disk'
  return 'SQLite, on a tmpfs, where durable writes cost nothing: set TMPDIR to a folder on a disk'
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number of at least 1`)
  return value
}
