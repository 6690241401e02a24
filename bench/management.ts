// Latencies of the client API in a zone with many clients: pages of the list, and single clients. One request at a
// time, as in management use, on both databases.
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { freshDatabase } from '../test/support/databases.ts'
import type { DatabaseKind } from '../test/support/databases.ts'
import type { Accounts } from './accounts.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { discover, form, send, tokenOf } from './requests.ts'
import { createHome, startLatchkey } from './servers.ts'
import type { LatchkeyHome } from './servers.ts'
import { latenciesOf } from './steady.ts'
import type { Latencies } from './steady.ts'

const CLIENTS = 100_000
const PAGE_SIZE = 100
const WARM_UP_ROUNDS = 30

/** The name of this measurement for `--only`. */
export const MANAGEMENT = 'clients'

/** The latencies of one kind of request on one database. */
export interface ManagementRow extends Latencies {
  readonly database: string
  readonly request: string
}

/** Latencies of the client API; `failures` says which database could not be measured, and why. */
export interface Management {
  readonly clients: number
  readonly rows: readonly ManagementRow[]
  readonly failures: readonly string[]
}

/** Reads no client: the base cost of a request on this machine. */
const COMPARISON = '/info, for comparison'

/** The highest 99th percentile. */
export function slowestOf({ rows }: Management): number | undefined {
  const own = rows.filter(({ request }) => request !== COMPARISON)
  return own.length === 0 ? undefined : Math.max(...own.map(({ p99 }) => p99))
}

/** Fills a zone with 100,000 clients on each database, and measures requests for them. */
export async function measureManagement(
  processes: Processes,
  accounts: Accounts,
  requests: number,
): Promise<Management> {
  const rows: ManagementRow[] = []
  const failures: string[] = []
  for (const kind of ['sqlite', 'postgres'] as const) {
    try {
      rows.push(...(await measureOn(kind, { processes, accounts, requests })))
    } catch (error) {
      failures.push(`${NAMES[kind]}: ${error instanceof Error ? error.message : String(error)}`)
      progress(`FAILED  ${failures.at(-1)}`)
    }
  }
  return { clients: CLIENTS, rows, failures }
}

const NAMES: Readonly<Record<DatabaseKind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

async function measureOn(
  kind: DatabaseKind,
  { processes, accounts, requests }: { processes: Processes; accounts: Accounts; requests: number },
): Promise<ManagementRow[]> {
  const home = createHome(processes, `management-${kind}`, 'ES256')
  const database = kind === 'sqlite' ? undefined : await freshDatabase(kind)
  const ownHome: LatchkeyHome = database ? { ...home, databaseUrl: database.url } : home
  try {
    await (await startLatchkey(processes, accounts, ownHome)).running.stop() // creates the tables
    await fill(ownHome)
    const { baseUrl, running } = await startLatchkey(processes, accounts, ownHome)
    const fields = { grant_type: 'client_credentials', scope: 'clients.read' }
    const token = await tokenOf(form((await discover(baseUrl)).token, fields, accounts.resourceServer))
    const kinds = Object.entries(REQUESTS).map(([request, next]) => ({ request, next, times: [] as number[] }))
    // Interleaved, so that a slow period of the machine affects all kinds.
    for (let round = -WARM_UP_ROUNDS; round < requests; round += 1) {
      for (const { next, times } of kinds) {
        const milliseconds = await ask(baseUrl, token, next())
        if (round >= 0) times.push(milliseconds)
      }
    }
    const rows = kinds.map(({ request, times }) => ({ database: NAMES[kind], request, ...latenciesOf(times) }))
    await running.stop()
    return rows
  } finally {
    await database?.drop()
  }
}

async function ask(baseUrl: string, token: string, { path, expected }: Asked): Promise<number> {
  const start = performance.now()
  const answer = await send({
    method: 'GET',
    url: baseUrl + path,
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  })
  const milliseconds = performance.now() - start
  const found = Array.isArray(answer['resources']) ? answer['resources'].length : 1
  if (found !== expected) throw new Error(`${path} answers ${found} clients instead of ${expected}`)
  return milliseconds
}

interface Asked {
  readonly path: string
  /** The number of clients in the response. */
  readonly expected: number
}

const list = (parameters: Readonly<Record<string, string>>, expected: number): Asked => ({
  path: `/oauth/clients?${new URLSearchParams(parameters).toString()}`,
  expected,
})
const anyone = (): string => clientId(Math.floor(Math.random() * CLIENTS))
const pageAt = (startIndex: number): Asked =>
  list({ count: String(PAGE_SIZE), startIndex: String(startIndex) }, PAGE_SIZE)

/** Creates the next request of each kind. */
const REQUESTS: Readonly<Record<string, () => Asked>> = {
  [COMPARISON]: () => ({ path: '/info', expected: 1 }),
  'a first page': () => pageAt(1),
  'a page somewhere in the middle': () => pageAt(Math.floor(CLIENTS / 4 + Math.random() * (CLIENTS / 2))),
  'a last page': () => pageAt(CLIENTS - PAGE_SIZE),
  'a list filtered by client_id eq': () => list({ filter: `client_id eq "${anyone().toUpperCase()}"` }, 1),
  'one client': () => ({ path: `/oauth/clients/${anyone()}`, expected: 1 }),
}

const clientId = (number: number): string => `tenant-${String(number).padStart(6, '0')}`

/** Copies a stored client under new ids, in scattered order, while the server is stopped. */
async function fill({ database: file, databaseUrl }: LatchkeyHome): Promise<void> {
  if (databaseUrl === undefined) {
    const database = new DatabaseSync(file)
    const row = database.prepare(`select * from clients limit 1`).get()
    database.exec(copying(Object.keys(row ?? {})))
    return database.close()
  }
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  const { fields } = await database.query('select * from clients limit 1')
  await database.query(copying(fields.map(({ name }) => name)))
  await database.query('vacuum analyze clients') // autovacuum would do so within minutes
  await database.end()
}

/** 7919 and the number of clients are coprime, so each number occurs once. */
function copying(columns: readonly string[]): string {
  const id = `'tenant-' || substr(cast(1000000 + (number * 7919) % ${CLIENTS} as text), 2)`
  return `with recursive numbers (number) as (select 0 union all select number + 1 from numbers where number < ${CLIENTS - 1})
    insert into clients (${columns.join(', ')})
    select ${columns.map(column => (column === 'client_id' ? id : column)).join(', ')}
    from clients, numbers where client_id = 'application-rs256'`
}
