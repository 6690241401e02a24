// Memory and table rows before and after many JWTs, none of which should be stored.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { Accounts } from './accounts.ts'
import type { FlowJob } from './flows.ts'
import { runFlow } from './load.ts'
import { residentBytes } from './processes.ts'
import type { Processes } from './processes.ts'
import { discover } from './requests.ts'
import { createHome, startLatchkey } from './servers.ts'

const SETTLE_MILLISECONDS = 5000
const FIRST = 1000

/** Memory and tables of one Latchkey while it issues client_credentials JWTs. */
export interface Growth {
  readonly tokens: number
  /** Resident bytes after the first thousand tokens and after all; undefined where there is no /proc. */
  readonly afterFirst: number | undefined
  readonly afterAll: number | undefined
  /** Tables that have more rows than before the first token. */
  readonly grown: readonly { readonly table: string; readonly before: number; readonly after: number }[]
  /** How many tables were counted. */
  readonly tables: number
}

/** Issues `tokens` JWTs from a new Latchkey. */
export async function measureGrowth(processes: Processes, accounts: Accounts, tokens: number): Promise<Growth> {
  const home = createHome(processes, 'growth', 'ES256')
  const server = await startLatchkey(processes, accounts, home)
  const resident = async (): Promise<number | undefined> => {
    await delay(SETTLE_MILLISECONDS)
    return residentBytes(server.running.pid, server.port)
  }
  const job: FlowJob = {
    flow: 'client_credentials',
    endpoints: await discover(server.baseUrl),
    client: accounts.service.ES256,
    scope: accounts.scope,
  }

  const before = countRows(home.database)
  await runFlow(processes, job, { flows: FIRST })
  const afterFirst = await resident()
  await runFlow(processes, job, { flows: tokens - FIRST })
  const afterAll = await resident()
  const after = countRows(home.database)
  await server.running.stop()

  const grown = Array.from(after, ([table, rows]) => ({ table, before: before.get(table) ?? 0, after: rows }))
  return {
    tokens,
    afterFirst,
    afterAll,
    grown: grown.filter(count => count.after > count.before),
    tables: after.size,
  }
}

/** Counts the rows of every table while the server runs. */
function countRows(file: string): Map<string, number> {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    const tables = database.prepare(`select name from sqlite_master where type = 'table'`).all()
    return new Map(
      tables.map(({ name }) => {
        const row = database.prepare(`select count(*) as rows from "${String(name)}"`).get()
        return [String(name), Number(row?.rows)]
      }),
    )
  } finally {
    database.close()
  }
}
