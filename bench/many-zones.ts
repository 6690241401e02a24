// Fills a database with many zones in seconds: the server creates the first, SQL copies it. Each gets its own signing
// key, sealed with the master key of the home. The server is stopped meanwhile.
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { createRandom } from '../src/base/random.ts'
import { createVault } from '../src/base/secrets.ts'
import type { Vault } from '../src/base/secrets.ts'
import { parseMasterKeys } from '../src/config/keys/master-key.ts'
import { sealedKey } from '../src/token/keys/zone-key.ts'
import type { Accounts } from './accounts.ts'
import type { Processes } from './processes.ts'
import { discover, form, tokenOf } from './requests.ts'
import { startLatchkey } from './servers.ts'
import type { LatchkeyHome } from './servers.ts'

/** The clients of each zone. */
export const CLIENTS_OF_ZONE = 10

const ALGORITHM = 'ES256'
const KEY_ID = 'own'
/** The tables in which a new zone has rows. */
const COPIED = ['clients', 'groups', 'identity_providers'] as const

/** The id and subdomain of a zone; numbers start at 1. */
export const zoneName = (number: number): string => `z${number}`

/** A client that each zone has; its secret is that of `accounts.service.ES256`. */
export const clientName = (number: number): string => `service-${number}`

/** A token with all management rights. */
export async function administratorToken(baseUrl: string, { administrator }: Accounts): Promise<string> {
  return tokenOf(form((await discover(baseUrl)).token, { grant_type: 'client_credentials' }, administrator))
}

/** The body that creates a zone with its own key. */
export const zoneBody = (name: string): object => ({
  id: name,
  subdomain: name,
  name: `Zone ${name}`,
  config: { tokenPolicy: { keys: { [KEY_ID]: { signingKey: keyPair().privateKey, signingAlg: ALGORITHM } } } },
})

/** Adds zones to the home's database, besides the default zone. */
export async function fillWithZones(
  processes: Processes,
  accounts: Accounts,
  { home, zones }: { home: LatchkeyHome; zones: number },
): Promise<void> {
  const { baseUrl, running } = await startLatchkey(processes, accounts, home)
  const authorization = `Bearer ${await administratorToken(baseUrl, accounts)}`
  await post(`${baseUrl}/identity-zones`, zoneBody(zoneName(1)), { authorization })
  const headers = { authorization, 'x-identity-zone-id': zoneName(1) }
  for (let number = 1; number <= CLIENTS_OF_ZONE; number += 1) {
    const client = {
      client_id: clientName(number),
      client_secret: accounts.service.ES256.secret,
      authorized_grant_types: ['client_credentials'],
      authorities: [accounts.scope],
    }
    await post(`${baseUrl}/oauth/clients`, client, headers)
  }
  await running.stop()

  const tables = home.databaseUrl === undefined ? openFile(home.database) : await openServer(home.databaseUrl)
  try {
    await tables.run('begin')
    for (const table of COPIED) {
      const columns = await tables.columnsOf(table)
      const values = columns.map(column => (column === 'zone_id' ? `'z' || number` : column))
      await tables.run(copies(table, { columns, values, from: `zone_id = '${zoneName(1)}'`, zones }))
    }
    const columns = await tables.columnsOf('zones')
    const own: Readonly<Record<string, string>> = {
      id: `'z' || number`,
      subdomain: `'z' || number`,
      subdomain_lower: `'z' || number`,
      name: `'Zone z' || number`,
      created_at: 'created_at + number',
    }
    const values = columns.map(column => own[column] ?? column)
    await tables.run(copies('zones', { columns, values, from: `id = '${zoneName(1)}'`, zones }))
    await tables.insertKeys(keysFor(zones, vaultOf(home)))
    await tables.run('commit')
    // Both databases would do this by themselves later.
    await tables.run(home.databaseUrl === undefined ? 'pragma wal_checkpoint(truncate)' : 'vacuum analyze')
  } finally {
    await tables.close()
  }
}

async function post(url: string, body: object, headers: Readonly<Record<string, string>>): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201) throw new Error(`${url} answers ${response.status}: ${await response.text()}`)
  await response.body?.cancel()
}

/** Copies each row of the first zone to all others. */
function copies(
  table: string,
  {
    columns,
    values,
    from,
    zones,
  }: { columns: readonly string[]; values: readonly string[]; from: string; zones: number },
): string {
  return `insert into ${table} (${columns.join(', ')})
    with recursive numbers (number) as (select 2 union all select number + 1 from numbers where number < ${zones})
    select ${values.join(', ')} from numbers, ${table} where ${from} and number <= ${zones}`
}

interface KeyRow {
  readonly zone_id: string
  readonly key_id: string
  readonly algorithm: string
  readonly sealed_private_key: string
  readonly public_key: string
  readonly active: 1
  readonly created_at: number
}
const KEY_COLUMNS = [
  'zone_id',
  'key_id',
  'algorithm',
  'sealed_private_key',
  'public_key',
  'active',
  'created_at',
] as const satisfies readonly (keyof KeyRow)[]

function keyPair(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
}

function keysFor(zones: number, vault: Vault): KeyRow[] {
  const createdAt = new Date()
  return Array.from({ length: zones - 1 }, (_, index) => {
    const record = { zoneId: zoneName(index + 2), keyId: KEY_ID, active: true, createdAt }
    const { sealedPrivateKey = '', publicKey = '' } = sealedKey(record, { algorithm: ALGORITHM, ...keyPair() }, vault)
    return {
      zone_id: record.zoneId,
      key_id: KEY_ID,
      algorithm: ALGORITHM,
      sealed_private_key: sealedPrivateKey,
      public_key: publicKey,
      active: 1,
      created_at: createdAt.getTime(),
    }
  })
}

/** Reads the master key of the first start: beside the SQLite file, or in `data` of the working directory. */
function vaultOf({ folder, database, databaseUrl }: LatchkeyHome): Vault {
  const file = join(databaseUrl === undefined ? dirname(database) : join(folder, 'data'), 'latchkey.key')
  const masterKeys = parseMasterKeys(readFileSync(file, 'utf8'))
  if (typeof masterKeys === 'string') throw new Error(`${file} contains no master key`)
  return createVault(masterKeys, createRandom())
}

interface Tables {
  columnsOf(table: string): Promise<string[]>
  run(text: string): Promise<void>
  insertKeys(rows: readonly KeyRow[]): Promise<void>
  close(): Promise<void>
}

function openFile(file: string): Tables {
  const database = new DatabaseSync(file)
  return {
    columnsOf: async table => Object.keys(database.prepare(`select * from ${table} limit 1`).get() ?? {}),
    run: async text => database.exec(text),
    async insertKeys(rows) {
      const parameters = KEY_COLUMNS.map(column => `:${column}`)
      const insert = database.prepare(
        `insert into signing_keys (${KEY_COLUMNS.join(', ')}) values (${parameters.join(', ')})`,
      )
      for (const row of rows) insert.run({ ...row })
    },
    close: async () => database.close(),
  }
}

async function openServer(url: string): Promise<Tables> {
  const database = new Client({ connectionString: url })
  await database.connect()
  return {
    async columnsOf(table) {
      return (await database.query(`select * from ${table} limit 1`)).fields.map(({ name }) => name)
    },
    async run(text) {
      await database.query(text)
    },
    async insertKeys(rows) {
      const columns = KEY_COLUMNS.join(', ')
      const text = `insert into signing_keys (${columns}) select ${columns} from json_populate_recordset(null::signing_keys, $1)`
      await database.query(text, [JSON.stringify(rows)])
    },
    close: () => database.end(),
  }
}
