// How PostgreSQL finds the groups that a user or a group reaches, and those of mappings: one by one by their ids, whatever its
// statistics say. They may be from before the zone had any groups, and a wrong index then has PostgreSQL look at all groups of the
// zone for each that it finds.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import type { Database, Statement } from '../../src/store/database.ts'
import { openPostgres } from '../../src/store/engine/postgres/postgres.ts'
import { createExternalGroups } from '../../src/store/groups/external-groups.ts'
import { createGroupMembers } from '../../src/store/groups/group-members.ts'
import { openStore } from '../../src/store/open.ts'
import { withList } from '../../src/store/groups/group-rows.ts'
import { createUserMemberships } from '../../src/store/users/user-memberships.ts'
import type { Store } from '../../src/store/store.ts'
import { createUsers } from '../../src/store/users/users.ts'
import { inTime } from './cases.ts'
import { user } from './records.ts'
import { DATABASE_KINDS, freshDatabase, runStatements } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'

/** What the zones have when the statistics are taken; the zone of the tests is not among them. */
const CASES = [
  { statistics: 'of empty tables', zones: 0, each: 0 },
  { statistics: 'of one group', zones: 1, each: 1 },
  { statistics: 'of one large zone', zones: 1, each: 1000 },
  { statistics: 'of zones with one group each', zones: 1000, each: 1 },
]

/** Statements that give each of so many zones so many groups, each of them with a member, in another one and mapped. */
const groupsOf = (zone: string, zones: number, each: number): readonly string[] => [
  `insert into groups (zone_id, id, display_name, display_name_lower, version, created_at, updated_at)
   select '${zone}' || zone, md5(zone || ' ' || number), 'm' || number, 'm' || number, 0, 0, 0
   from generate_series(1, ${zones}) zone, generate_series(1, ${each}) number`,
  `insert into group_members (zone_id, group_id, member_id, member_type, origin)
   select zone_id, id, 'ann', 'USER', 'corp' from groups where zone_id like '${zone}%'`,
  `insert into group_nesting (zone_id, inner_id, outer_id)
   select zone_id, id, md5(id) from groups where zone_id like '${zone}%'`,
  `insert into external_groups (zone_id, group_id, origin, external_group)
   select zone_id, id, 'corp', display_name from groups where zone_id like '${zone}%'`,
]

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly PlanNode[]
}

const ABOUT = /^(?:groups|group_nesting|external_groups)/

/** The indexes by which a plan finds groups, pairs and mappings of them: `once` where it does not search for each of other rows. */
function waysIn(plan: PlanNode, about = ABOUT, isRepeated = false): readonly string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index, Plans: parts = [] } = plan
  const below = parts.flatMap(part => {
    const place = part['Parent Relationship']
    const isSearch = isRepeated || place === 'SubPlan' || (type === 'Nested Loop' && place === 'Inner')
    return waysIn(part, about, isSearch && type !== 'Hash')
  })
  const isAbout = about.test(index ?? table)
  if (!isAbout || (index === undefined && below.length > 0)) return below
  return [...below, isRepeated ? (index ?? 'none') : 'once']
}
const WAYS = new Set(['group_nesting_by_inner', 'groups_by_id', 'once'])

describe('Query plans of groups on PostgreSQL', { skip: !DATABASE_KINDS.includes('postgres') && 'a fast run' }, () => {
  for (const { statistics, zones, each } of CASES) {
    describe(`with statistics ${statistics}`, () => {
      let database: TestDatabase
      let opened: Database
      let client: Client
      let plans: PlanNode[] = []

      /** Answers with nothing, and remembers how the statement would be run. */
      async function read<Args extends object, Row>(of: Statement<Args, Row>, args: Args): Promise<readonly Row[]> {
        const values = of.names.map(name => {
          const value: unknown = Reflect.get(args, name)
          return typeof value === 'string' ? client.escapeLiteral(value) : String(value)
        })
        const text = of.pieces.map((piece, index) => piece + (values[index] ?? '')).join('')
        const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
          `explain (format json) ${text}`,
        )
        for (const { Plan } of rows[0]?.['QUERY PLAN'] ?? []) plans.push(Plan)
        return []
      }

      before(async () => {
        database = await freshDatabase('postgres')
        await (await openStore(database.url, { clock: systemClock })).close() // makes the tables
        await runStatements(database, ...groupsOf('z', zones, each), 'analyze', ...groupsOf('new', 1, 1000))
        const listener = { changed() {}, missed() {} }
        opened = await openPostgres(database.url, { clock: systemClock, listener, onError: () => {} })
        client = new Client({ connectionString: database.url })
        await client.connect()
      })
      after(async () => {
        await client.end()
        await opened.close()
        await database.drop()
      })

      it('reads the pairs of groups that an origin may reach once', async () => {
        plans = []
        await createGroupMembers({ ...opened, read }).reachedFrom('new1', new Set(['outer', 'other']), 'corp')
        const pairs = plans.flatMap(plan => waysIn(plan, /^group_nesting/))
        assert.deepEqual(pairs, ['once'])
      })

      const searches: readonly { readonly name: string; readonly run: (db: Database) => Promise<unknown> }[] = [
        { name: 'a user', run: db => createUsers(db).listGroups('new1', ['ann']) },
        { name: 'many users', run: db => createUsers(db).listGroups('new1', ['ann', 'joe', 'sue']) },
        { name: 'names of a user', run: db => createGroupMembers(db).namesOfUser('new1', 'ann') },
        { name: 'a user who is read with them', run: db => createUsers(db).findWithGroups('new1', 'ann') },
        { name: 'a group', run: db => createGroupMembers(db).listOuter('new1', 'inner') },
        { name: 'names of groups', run: db => createUserMemberships(db).listOuterNames('new1', ['inner', 'other']) },
        { name: 'mapped', run: db => createUserMemberships(db).findMapped('new1', 'corp', ['m1', 'm2']) },
        { name: 'mapped by a DN', run: db => createUserMemberships(db).listOddlyMapped('new1', 'corp') },
        { name: 'all mapped', run: db => createExternalGroups(db).listExternal('new1', { startIndex: 1, count: 100 }) },
      ]
      for (const { name, run } of searches) {
        it(`are by id: ${name}`, async () => {
          plans = []
          await run({ ...opened, read, scan: read })
          const ways = plans.flatMap(plan => waysIn(plan))
          assert.ok(ways.length > 0)
          assert.deepEqual(
            ways.filter(way => !WAYS.has(way)),
            [],
          )
        })
      }
    })
  }
})

/** How many rows of groups a reading of all gave so far, once at least so many that an index gave are reported. */
async function rowsByScan(database: TestDatabase, least: number): Promise<number> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const READ = `select idx_tup_fetch >= ${least} as is_reported, seq_tup_read as rows from pg_stat_user_tables where relname = 'groups'`
  const read = async () => (await client.query<{ is_reported: boolean; rows: string }>(READ)).rows[0]
  await inTime(true, async () => (await read())?.is_reported)
  const rows = Number((await read())?.rows)
  await client.end()
  return rows
}

const NO_AUTOVACUUM = 'alter table groups set (autovacuum_enabled = off)'
// PostgreSQL may keep the plan of the sixth run of a prepared statement.
const RUNS = 8

describe('The groups of users on PostgreSQL', { skip: !DATABASE_KINDS.includes('postgres') && 'a fast run' }, () => {
  const readers: readonly {
    readonly name: string
    readonly count: (store: Store, zoneId: string) => Promise<unknown>
  }[] = [
    { name: 'names', count: async ({ groups }, zoneId) => (await groups.namesOfUser(zoneId, 'ann')).length },
    {
      name: 'a user with them',
      count: async ({ users }, zoneId) => (await users.findWithGroups(zoneId, 'ann'))?.groupNames?.length,
    },
    {
      name: 'groups of many users',
      count: async ({ users }, zoneId) => (await users.listGroups(zoneId, ['ann'])).get('ann')?.length,
    },
  ]
  for (const { name, count } of readers) {
    it(`are found by id although there were few when they were last read: ${name}`, async () => {
      const database = await freshDatabase('postgres')
      await runStatements(database, NO_AUTOVACUUM, ...groupsOf('z', 1, 100), 'analyze')
      const store = await openStore(database.url, { clock: systemClock })
      for (const id of ['z1', 'new1']) await store.users.insert(id, user({ zoneId: id, id: 'ann', origin: 'corp' }))
      for (let run = 0; run < RUNS; run += 1) await count(store, 'z1')
      await runStatements(database, ...groupsOf('new', 1, 2000))
      assert.equal(await count(store, 'new1'), 2000)
      await store.close() // then its connections report what they have read
      const rows = await rowsByScan(database, 2000)
      await database.drop()
      assert.ok(rows < 1_000_000, `${rows} rows were read one after the other`)
    })
  }

  it('are planned each time for long lists of ids, and kept prepared for short ones', () => {
    const listOf = withList(items => `select id from users where id in (${items})`)
    const isOnce = (length: number): boolean => listOf(Array.from({ length }, (_, n) => `u${n}`)).of.once ?? false
    assert.deepEqual([1, 4, 16, 17, 64].map(isOnce), [false, false, false, true, true])
  })
})
