// Latencies while the server purges expired tokens, which it does every 30 seconds.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Accounts } from './accounts.ts'
import type { Processes } from './processes.ts'
import { discover, form, tokenOf } from './requests.ts'
import { createHome } from './servers.ts'
import type { SteadyJob, SteadyResult } from './steady.ts'
import { startFilledLatchkey } from './stored-tokens.ts'

const EXPIRED = 100_000
/** Far below saturation, so that queues do not hide the effect of the purge. */
const REQUESTS_PER_SECOND = 400
const HOUR_MILLISECONDS = 3_600_000

/** Latencies of a steady load during the purge and at other times of the same minute. */
export interface Purge extends SteadyResult {
  readonly expired: number
  readonly perSecond: number
}

/** Milliseconds that the purge adds to the 99th percentile of the most affected stream. */
export function delayOf({ streams }: Purge): number {
  return Math.max(...streams.map(({ during, otherwise }) => during.p99 - otherwise.p99))
}

/** Starts a Latchkey with 100,000 expired tokens and sends a steady load until they are purged. */
export async function measurePurge(processes: Processes, accounts: Accounts): Promise<Purge> {
  const home = createHome(processes, 'purge', 'ES256')
  const firstExpiry = Date.now() - HOUR_MILLISECONDS
  const filling = { rows: EXPIRED, firstExpiry: new Date(firstExpiry), returned: 1 }
  const { server } = await startFilledLatchkey(processes, accounts, { home, filling })

  const endpoints = await discover(server.baseUrl)
  const fields = { grant_type: 'client_credentials', scope: accounts.scope, token_format: 'opaque' }
  const issue = form(endpoints.token, fields, accounts.service.opaque)
  const inspect = form(endpoints.introspection, { token: await tokenOf(issue) }, accounts.resourceServer)
  const job: SteadyJob = {
    streams: [
      { name: 'client_credentials opaque, a write', request: issue, expected: '"access_token":"' },
      { name: 'introspection of an opaque token, a read', request: inspect, expected: '"active":true' },
    ],
    perSecond: REQUESTS_PER_SECOND,
    database: home.database,
    expiredUntil: firstExpiry + EXPIRED,
  }
  const file = join(home.folder, 'steady.json')
  writeFileSync(file, JSON.stringify(job))
  const { stdout } = await processes.run([process.execPath, fileURLToPath(new URL('steady.ts', import.meta.url)), file])
  await server.running.stop()
  const result: SteadyResult = JSON.parse(stdout)
  return { ...result, expired: EXPIRED, perSecond: REQUESTS_PER_SECOND }
}
