// How many users a second SCIM 2.0's `/Bulk` imports with the hashes of their passwords, over HTTP into SQLite on disk.
import { hash as argon2id } from '@node-rs/argon2'
import type { Accounts } from './accounts.ts'
import { CHEAP_HASHES } from './accounts.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { discover, form, send, tokenOf } from './requests.ts'
import { createHome, startLatchkey } from './servers.ts'
import { median } from './results.ts'

/** The row by whose name the measurement is chosen. */
export const IMPORT = 'import'

/** The rates of the batches, in the order in which they were sent. */
export interface Import {
  readonly users: number
  readonly batchSize: number
  /** Users a second. */
  readonly rates: readonly number[]
}

const BATCH_SIZE = 1000 // `maxOperations`
const WARM_UP_BATCHES = 3
const EXTENSION = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0:User'
const SCHEMAS = ['urn:ietf:params:scim:schemas:core:2.0:User', EXTENSION]

/** The median rate; a batch is as fast as the disk then was. */
export const importRate = ({ rates }: Import): number | undefined => median(rates)

/** Sends one batch after another. Throws when one of the users is not created. */
export async function measureImport(processes: Processes, accounts: Accounts, batches: number): Promise<Import> {
  const { baseUrl, running } = await startLatchkey(processes, accounts, createHome(processes, IMPORT, 'ES256'))
  const { token: endpoint } = await discover(baseUrl)
  const token = await tokenOf(form(endpoint, { grant_type: 'client_credentials' }, accounts.administrator))
  const { memory_kib: memoryCost, passes: timeCost } = CHEAP_HASHES
  const passwordHash = await argon2id('correct horse battery staple', { memoryCost, timeCost, parallelism: 1 })
  const rates: number[] = []
  for (let batch = -WARM_UP_BATCHES; batch < batches; batch += 1) {
    const body = JSON.stringify({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:BulkRequest'],
      Operations: Array.from({ length: BATCH_SIZE }, (_, index) => creation(`${batch}-${index}`, passwordHash)),
    })
    const start = performance.now()
    const { Operations: operations } = await send({
      method: 'POST',
      url: `${baseUrl}/scim/v2/Bulk`,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/scim+json',
        accept: 'application/scim+json',
      },
      body,
    })
    const seconds = (performance.now() - start) / 1000
    if (!Array.isArray(operations) || operations.length !== BATCH_SIZE || !operations.every(isCreated)) {
      throw new Error('a user was not created')
    }
    if (batch >= 0) rates.push(BATCH_SIZE / seconds)
  }
  await running.stop()
  progress(`import  ${Math.round(median(rates) ?? 0)} users/s`)
  return { users: batches * BATCH_SIZE, batchSize: BATCH_SIZE, rates }
}

const isCreated = (operation: unknown): boolean =>
  typeof operation === 'object' && operation !== null && Reflect.get(operation, 'status') === '201'

const creation = (name: string, passwordHash: string) => ({
  method: 'POST',
  path: '/Users',
  bulkId: name,
  data: {
    schemas: SCHEMAS,
    userName: `person-${name}`,
    name: { givenName: 'Person', familyName: name },
    emails: [{ value: `person-${name}@example.org`, primary: true }],
    [EXTENSION]: { passwordHash },
  },
})
