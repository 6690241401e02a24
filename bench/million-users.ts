// Fills a zone with users by SQL, as the store would have written them one by one; names and ids follow from a number.
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const COMBINATIONS = LETTERS.length ** 3
/** Has no divisor in common with the number of combinations. */
const STRIDE = 7919
/** 2 to the 32nd divided by the golden ratio: ids are in no order, and none comes twice. */
const SPREAD = 2_654_435_761
const RANGE = 2 ** 32
/** Many are made in the same millisecond, as by an import. */
const SAME_MOMENT = 100
const FIRST_CREATED = Date.UTC(2026, 0, 1)

/** The name of the user with a number. */
export interface Numbered {
  readonly id: string
  readonly userName: string
  readonly email: string
  readonly createdAt: number
}

/** The user with this number, from 0. */
export function numbered(number: number): Numbered {
  const userName = `${prefixOf(number)}-${number}`
  return {
    id: `${String(Number((BigInt(number) * BigInt(SPREAD)) % BigInt(RANGE))).padStart(10, '0')}-0000-4000-8000-000000000000`,
    userName,
    email: `${userName}@Example.org`,
    createdAt: FIRST_CREATED + Math.floor(number / SAME_MOMENT),
  }
}

/** Three letters that about one user in 17,576 begins with. */
export function prefixOf(number: number): string {
  const combination = (number * STRIDE) % COMBINATIONS
  const letter = (divisor: number): string => LETTERS.charAt(Math.floor(combination / divisor) % LETTERS.length)
  return letter(LETTERS.length ** 2) + letter(LETTERS.length) + letter(1)
}

const BATCH = 100_000
/** The most members of the group. */
export const MEMBERS = 100_000
/** The id and the name of the group that the first users are in. */
export const CROWD = 'crowd'

/** Adds the users; tables and zone are there, and no server runs. The hash is everybody's. */
export async function fillWithUsers(
  url: string,
  filling: { readonly zoneId: string; readonly users: number; readonly passwordHash: string },
): Promise<void> {
  const { zoneId, users, passwordHash } = filling
  const run = url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : await openPostgres(url)
  for (let first = 0; first < users; first += BATCH) {
    const batch = { zoneId, passwordHash, first, last: Math.min(first + BATCH, users) - 1 }
    for (const text of insertions(batch)) await run.execute(text)
  }
  await run.execute(
    `insert into groups (zone_id, id, display_name, display_name_lower, version, created_at, updated_at)
     values ('${zoneId}', '${CROWD}', '${CROWD}', '${CROWD}', 0, 0, 0)`,
  )
  await run.execute(addMembers(zoneId, Math.min(users / 2, MEMBERS)))
  await run.execute(`insert into user_counts (zone_id, slot, total, removed) values ('${zoneId}', 0, ${users}, 0)`)
  await run.close()
}

const ID = `substr(cast(10000000000 + (number * ${SPREAD}) % ${RANGE} as text), 2) || '-0000-4000-8000-000000000000'`

interface Batch {
  readonly zoneId: string
  readonly passwordHash: string
  readonly first: number
  readonly last: number
}

function insertions({ zoneId, passwordHash, first, last }: Batch): readonly string[] {
  const letter = (divisor: number): string =>
    `substr('${LETTERS}', cast(1 + (((number * ${STRIDE}) % ${COMBINATIONS}) / ${divisor}) % ${LETTERS.length} as integer), 1)`
  const name = `${letter(LETTERS.length ** 2)} || ${letter(LETTERS.length)} || ${letter(1)} || '-' || cast(number as text)`
  const created = `${FIRST_CREATED} + number / ${SAME_MOMENT}`
  const numbers = `with recursive numbers (number) as (
    select cast(${first} as bigint) union all select number + 1 from numbers where number < ${last}),
    named as (select ${ID} as id, ${name} as name, ${created} as created, number from numbers)`
  const value = (attribute: string, text: string): string =>
    `${numbers} insert into user_values (zone_id, user_id, attribute, position, value, value_lower, is_primary)
     select '${zoneId}', id, '${attribute}', 0, ${text}, lower(${text}), 1 from named`
  return [
    `${numbers} insert into users (zone_id, id, user_name, user_name_lower, origin, password_hash, password_revision, email,
       given_name, family_name, phone_number, external_id, active, verified, password_changed_at, password_change_required,
       version, created_at, updated_at)
     select '${zoneId}', id, name, name, 'svc', '${passwordHash}', 'r', name || '@Example.org', 'Given ' || number,
       'Family ' || number % 1000, '+1 ' || number, 'e-' || number, 1, 1, created, 0, 0, created, created from named`,
    value('emails', `name || '@Example.org'`),
    value('phoneNumbers', `'+1 ' || cast(number as text)`),
  ]
}

const addMembers = (zoneId: string, members: number): string =>
  `with recursive numbers (number) as (
     select cast(0 as bigint) union all select number + 1 from numbers where number < ${members - 1})
   insert into group_members (zone_id, group_id, member_id, member_type, origin)
   select '${zoneId}', '${CROWD}', ${ID}, 'USER', 'svc' from numbers`

interface Filling {
  execute(text: string): Promise<void>
  close(): Promise<void>
}

function openSqlite(path: string): Filling {
  const database = new DatabaseSync(path)
  database.exec('pragma synchronous = off; pragma cache_size = -512000; pragma wal_autocheckpoint = 100000')
  return {
    execute: text => Promise.resolve(database.exec(text)),
    close: () => Promise.resolve(database.close()),
  }
}

async function openPostgres(url: string): Promise<Filling> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('set synchronous_commit = off')
  return {
    async execute(text) {
      await client.query(text)
    },
    async close() {
      // Which PostgreSQL does by itself within minutes of such a load.
      await client.query('vacuum analyze users')
      await client.query('vacuum analyze user_values')
      await client.query('vacuum analyze group_members')
      await client.end()
    },
  }
}
