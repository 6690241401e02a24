// Latencies of the store for requests of users and administrators in a zone with a million users, on both databases. One
// request at a time, of every kind in turn.
import { systemClock } from '../src/base/clock.ts'
import type { Filter } from '../src/model/filters/filter.ts'
import { parseFilter } from '../src/model/filters/filter.ts'
import { openStore } from '../src/store/open.ts'
import type { Store } from '../src/store/store.ts'
import { freshDatabase } from '../test/support/databases.ts'
import type { DatabaseKind } from '../test/support/databases.ts'
import { CROWD, MEMBERS, fillWithUsers, numbered, prefixOf } from './million-users.ts'
import { createHome } from './servers.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { latenciesOf } from './steady.ts'
import type { Latencies } from './steady.ts'

/** The rows by whose names the measurement is chosen. */
export const USERS = { sqlite: 'users', postgres: 'users on PostgreSQL' } as const

const NAMES: Readonly<Record<DatabaseKind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }
const ZONE = 'people'
const ORIGIN = 'svc'
const PAGE = 100
const SETTLING_ROUNDS = 50

/** The latencies of one kind of request on one database. */
export interface UserRow extends Latencies {
  readonly database: string
  readonly request: string
  /** Whether it has to be quick at any number of users. */
  readonly judged: boolean
}

/** Latencies of the store among many users; `failures` says which database could not be measured, and why. */
export interface ManyUsers {
  readonly users: number
  readonly rows: readonly UserRow[]
  readonly failures: readonly string[]
}

/** How many users, and how often each request is made. */
export interface UserSettings {
  readonly users: number
  readonly requests: number
  readonly kinds: readonly DatabaseKind[]
}

/** The slowest 99th percentile of the requests that are judged. */
export function slowestOfUsers({ rows }: ManyUsers): number | undefined {
  const judged = rows.filter(row => row.judged)
  return judged.length === 0 ? undefined : Math.max(...judged.map(({ p99 }) => p99))
}

/** Fills a zone of each database with users, and asks for them. */
export async function measureManyUsers(
  processes: Processes,
  { users, requests, kinds }: UserSettings,
): Promise<ManyUsers> {
  const rows: UserRow[] = []
  const failures: string[] = []
  for (const kind of kinds) {
    try {
      rows.push(...(await measureOn(kind, { processes, users, requests })))
    } catch (error) {
      failures.push(`${NAMES[kind]}: ${error instanceof Error ? error.message : String(error)}`)
      progress(`FAILED  ${failures.at(-1)}`)
    }
  }
  return { users, rows, failures }
}

async function measureOn(
  kind: DatabaseKind,
  { processes, users, requests }: { processes: Processes; users: number; requests: number },
): Promise<UserRow[]> {
  const database = kind === 'sqlite' ? undefined : await freshDatabase(kind)
  const url = database?.url ?? `sqlite:${createHome(processes, `users-${kind}`, 'ES256').database}`
  try {
    await (await openStore(url, { clock: systemClock })).close() // makes the tables
    const start = performance.now()
    await fillWithUsers(url, { zoneId: ZONE, users, passwordHash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA' })
    progress(`filled  ${NAMES[kind]} with ${users} users in ${((performance.now() - start) / 1000).toFixed(0)} s`)
    const store = await openStore(url, { clock: systemClock })
    try {
      return await ask(kind, store, { users, requests })
    } finally {
      await store.close()
    }
  } finally {
    await database?.drop()
  }
}

interface Request {
  readonly name: string
  readonly judged: boolean
  /** Throws unless the answer is the right one. */
  readonly make: () => Promise<void>
  /** Undoes the change; not measured. */
  readonly undo?: () => Promise<void>
  /** Run in one of this many rounds; default 1. */
  readonly every?: number
}

async function ask(
  kind: DatabaseKind,
  store: Store,
  { users, requests }: { users: number; requests: number },
): Promise<UserRow[]> {
  const kinds = requestsOf(store, users).map(request => ({ ...request, times: [] as number[] }))
  // In turn, so that a slow moment of the machine is in the figures of all.
  for (let round = -SETTLING_ROUNDS; round < requests; round += 1) {
    for (const { make, undo, times, every = 1 } of kinds) {
      if (round % every !== 0) continue
      const start = performance.now()
      await make()
      if (round >= 0) times.push(performance.now() - start)
      await undo?.()
    }
  }
  return kinds.map(({ name, judged, times }) => ({
    database: NAMES[kind],
    request: name,
    judged,
    ...latenciesOf(times),
  }))
}

function requestsOf({ users: store, groups }: Store, users: number): readonly Request[] {
  const anyone = (): number => Math.floor(Math.random() * users)
  const members = Math.min(users / 2, MEMBERS)
  const newcomer = numbered(users - 1).id
  const EVERYONE = parseFilter('id pr', 'scim')

  async function expect(found: Promise<readonly { readonly id: string }[]>, id: string): Promise<void> {
    const records = await found
    if (records.length !== 1 || records[0]?.id !== id) throw new Error(`${records.length} users in place of ${id}`)
  }
  const list = async (filter: string): Promise<readonly { readonly id: string }[]> => {
    const query = { sortBy: 'id', descending: false, startIndex: 1, count: PAGE, dialect: 'scim' } as const
    const { records, totalResults } = await store.list(ZONE, { ...query, filter: parseFilter(filter, 'scim') })
    if (totalResults !== records.length) throw new Error(`${totalResults} users in all in place of ${records.length}`)
    return records
  }
  async function page(
    sortBy: string,
    valueOf: (number: number) => string | number,
    filter: Filter = EVERYONE,
  ): Promise<void> {
    const number = anyone()
    const after = { value: valueOf(number), key: numbered(number).id }
    const descending = Math.random() < 0.5
    const { records, next } = await store.page(ZONE, {
      filter,
      sortBy,
      descending,
      count: PAGE,
      after,
      dialect: 'scim',
    })
    // Near one of the ends there may be fewer.
    if (records.length !== PAGE && next !== undefined) throw new Error(`a page of ${records.length} users`)
  }
  async function startsWith(): Promise<void> {
    const prefix = prefixOf(anyone())
    const records = await list(`userName sw "${prefix}"`)
    if (records.length < Math.floor(users / 17_576))
      throw new Error(`${records.length} users that begin with ${prefix}`)
  }

  return [
    { name: 'one by id', judged: true, make: () => aUser(number => list(`id eq "${numbered(number).id}"`)) },
    {
      name: 'one by name',
      judged: true,
      make: () => aUser(number => list(`userName eq "${numbered(number).userName.toUpperCase()}"`)),
    },
    {
      name: 'one by e-mail',
      judged: true,
      make: () => aUser(number => list(`emails.value eq "${numbered(number).email}"`)),
    },
    { name: 'one by externalId', judged: true, make: () => aUser(number => list(`externalId eq "e-${number}"`)) },
    {
      name: 'one by name or e-mail',
      judged: true,
      make: () =>
        aUser(number => {
          const { userName, email } = numbered(number)
          return list(`userName eq "${userName}" or emails.value eq "${email}"`)
        }),
    },
    { name: 'userName sw with three letters', judged: true, make: startsWith },
    { name: 'a page by cursor, by id', judged: true, make: () => page('id', number => numbered(number).id) },
    {
      name: 'a page by cursor, by creation',
      judged: true,
      make: () => page('meta.created', number => numbered(number).createdAt),
    },
    {
      name: 'a page by cursor, by name',
      judged: true,
      make: () => page('userName', number => numbered(number).userName),
    },
    { name: 'a sign-in', judged: true, make: signIn },
    { name: 'the number of users', judged: true, make: count },
    { name: 'a first page by number', judged: true, make: () => byNumber(1) },
    { name: 'a page of the members of a large group', judged: true, make: membersOf },
    { name: 'one more member of that group', judged: true, make: join, undo: leave },
    { name: 'the members of that group by filter', judged: false, every: 100, make: membersByFilter },
    { name: 'a page by number, anywhere', judged: false, every: 10, make: () => byNumber(1 + anyone()) },
    { name: 'a filter without an index', judged: false, every: 100, make: withoutIndex },
  ]

  async function aUser(find: (number: number) => Promise<readonly { readonly id: string }[]>): Promise<void> {
    const number = anyone()
    await expect(find(number), numbered(number).id)
  }
  async function signIn(): Promise<void> {
    const { id, userName } = numbered(anyone())
    const failuresSince = new Date(Date.now() - 3_600_000)
    const found = await store.findForSignIn(ZONE, ORIGIN, { userName, failuresSince })
    if (found?.user.id !== id) throw new Error(`${userName} is not found`)
    await store.recordLogon(ZONE, id, new Date())
  }
  async function count(): Promise<void> {
    if ((await store.count(ZONE)) !== users) throw new Error('the number of users is wrong')
  }
  async function membersOf(): Promise<void> {
    const after = numbered(Math.floor(Math.random() * (members - PAGE))).id
    const found = await groups.listMemberRecords(ZONE, CROWD, { after, count: PAGE })
    if (found.some(({ user }) => user === undefined)) throw new Error('a member has no record')
  }
  async function join(): Promise<void> {
    const membership = { groupId: CROWD, memberId: newcomer, memberType: 'USER', origin: ORIGIN } as const
    if ((await groups.insertMember(ZONE, membership)) !== 'added') throw new Error('a member was not added')
  }
  async function leave(): Promise<void> {
    if (!(await groups.removeMember(ZONE, CROWD, newcomer))) throw new Error('a member was not removed')
  }
  async function membersByFilter(): Promise<void> {
    const filter = parseFilter(`groups.display eq "${CROWD}"`, 'scim')
    const page = { filter, sortBy: 'id', descending: false, count: PAGE, dialect: 'scim' } as const
    if ((await store.page(ZONE, page)).records.length !== PAGE) throw new Error('members are missing')
  }
  async function byNumber(startIndex: number): Promise<void> {
    const query = { filter: EVERYONE, sortBy: 'created', descending: false, startIndex, count: PAGE }
    const { records, totalResults } = await store.list(ZONE, query)
    if (totalResults !== users || records.length !== Math.min(PAGE, users - startIndex + 1))
      throw new Error('a wrong page')
  }
  async function withoutIndex(): Promise<void> {
    const number = anyone()
    await expect(list(`name.givenName eq "given ${number}" and active eq true`), numbered(number).id)
  }
}
