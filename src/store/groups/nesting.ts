// Groups inside groups. `group_nesting` has every pair of a group and one that it is in, directly or through others, so that
// a user's groups are found by one join. Every change of a group's membership updates the pairs in the same
// transaction. A pair of a group with itself is a cycle: this server makes none, but another may have left one.
import { statement } from '../database.ts'
import type { ColumnTypes, Transaction } from '../database.ts'
import { hide } from '../listing/listing-order.ts'
import { InvalidNesting } from './group-store.ts'

/** A chain of more groups is refused. */
const MAX_DEPTH = 20
/** A zone has at most so many pairs. */
const MAX_PAIRS = 50_000

/** The statements of the migration that makes the table and fills it. */
export const nestingTable = ({ text, tableEnd }: ColumnTypes): readonly string[] => [
  `create table group_nesting (zone_id ${text} not null, inner_id ${text} not null, outer_id ${text} not null,
    primary key (zone_id, inner_id, outer_id))${tableEnd}`,
  `create index group_nesting_by_outer on group_nesting (zone_id, outer_id, inner_id)`,
  // Covers the search for a user's groups.
  `create index group_members_of_member on group_members (zone_id, member_id, member_type, group_id)`,
  `drop index group_members_by_member`,
  `create index group_members_nested on group_members (zone_id, group_id, member_id) where member_type = 'GROUP'`,
  `insert into group_nesting (zone_id, inner_id, outer_id) ${reaching(`member_type = 'GROUP'`)}`,
]

/** One more step of a pair, to a group that contains its outer one or to one in its inner one. */
const STEPS = {
  outward: { pair: 'reach.inner_id, edge.group_id', edge: 'edge.member_id = reach.outer_id' },
  inward: { pair: 'edge.member_id, reach.outer_id', edge: 'edge.group_id = reach.inner_id' },
}

/** Selects all pairs that begin with a membership that fits; `union` drops duplicates, so that a cycle ends. */
const reaching = (condition: string, direction: keyof typeof STEPS = 'outward'): string =>
  `with recursive reach (zone_id, inner_id, outer_id) as (
     select zone_id, member_id, group_id from group_members where ${condition}
     union
     select reach.zone_id, ${STEPS[direction].pair}
     from reach cross join group_members edge
     where edge.zone_id = reach.zone_id and ${STEPS[direction].edge} and edge.member_type = 'GROUP')
   select zone_id, inner_id, outer_id from reach`

/**
 * The condition for pairs of this zone, in a search by the inner group. By statistics from before a zone had many groups, PostgreSQL
 * takes any index that begins with the zone for as good as another, and may look at all pairs of the zone for each group. So the
 * zone is hidden from indexes, and one begins with the group.
 */
export const pairIn = (zoneId: string): string => `${hide('group_nesting.zone_id')} = ${zoneId}`

/** The condition for the group of this id where a statement searches for many, with the zone hidden as in `pairIn`. */
export const groupIs = (zoneId: string, id: string): string =>
  `${hide('groups.zone_id')} = ${zoneId} and groups.id = ${id}`

/**
 * Selects the ids of the user's groups, direct and nested, each once. The cross join makes SQLite begin with the memberships, which
 * an index covers.
 */
export const reachedGroups = (zoneId: string, userId: string): string =>
  `select group_id from group_members
   where group_members.zone_id = ${zoneId} and member_id = ${userId} and member_type = 'USER'
   union
   select outer_id from group_members cross join group_nesting
   where group_members.zone_id = ${zoneId} and member_id = ${userId} and member_type = 'USER'
   and ${pairIn('group_members.zone_id')} and group_nesting.inner_id = group_members.group_id`

/**
 * Selects the name of the group of this id; null if there is none. Not by a join, which PostgreSQL may plan as a comparison of each
 * group of the zone with each that is searched.
 */
export const nameOfGroup = (zoneId: string, id: string): string =>
  `(select groups.display_name from groups where ${groupIs(zoneId, id)})`

interface Pair {
  zone_id: string
  inner_id: string
  outer_id: string
}
interface OfGroup {
  zone_id: string
  id: string
}

const FIND_PAIR = statement<Pair, { inner_id: string }>(
  `select inner_id from group_nesting where zone_id = :zone_id and inner_id = :inner_id and outer_id = :outer_id`,
)
const SIZES = statement<Pair, { pairs: number; below: number; above: number }>(
  `select (select count(*) from group_nesting where zone_id = :zone_id) as pairs,
     (select count(*) from group_nesting where zone_id = :zone_id and outer_id = :inner_id) as below,
     (select count(*) from group_nesting where zone_id = :zone_id and inner_id = :outer_id) as above`,
)
/** The longest chain upwards or downwards, as far as it matters. */
const depth = (start: 'member_id' | 'group_id', next: 'member_id' | 'group_id') =>
  statement<OfGroup, { depth: number }>(
    `with recursive chain (id, depth) as (
       select ${next}, 1 from group_members where zone_id = :zone_id and ${start} = :id and member_type = 'GROUP'
       union
       select edge.${next}, depth + 1 from chain cross join group_members edge
       where edge.zone_id = :zone_id and edge.${start} = chain.id and edge.member_type = 'GROUP' and depth <= ${MAX_DEPTH})
     select coalesce(max(depth), 0) as depth from chain`,
  )
const HEIGHT = depth('member_id', 'group_id')
const DEPTH = depth('group_id', 'member_id')

const above = (id: string): string =>
  `select ${id} union select outer_id from group_nesting where zone_id = :zone_id and inner_id = ${id}`
const below = (id: string): string =>
  `select ${id} union select inner_id from group_nesting where zone_id = :zone_id and outer_id = ${id}`
// `where true`: SQLite would take `on` for the condition of a join.
const ADD = statement<Pair>(
  `insert into group_nesting (zone_id, inner_id, outer_id)
   select :zone_id, lower_side.id, upper_side.id
   from (select id from groups where zone_id = :zone_id and id = :inner_id union
     select inner_id from group_nesting where zone_id = :zone_id and outer_id = :inner_id) lower_side,
     (select id from groups where zone_id = :zone_id and id = :outer_id union
     select outer_id from group_nesting where zone_id = :zone_id and inner_id = :outer_id) upper_side
   where true on conflict do nothing`,
)
const ID = 'cast(:id as text)'
const PRUNE_BELOW = statement<OfGroup>(
  `delete from group_nesting where zone_id = :zone_id and inner_id in (${below(ID)})
   and (zone_id, inner_id, outer_id) not in (
     ${reaching(`zone_id = :zone_id and member_type = 'GROUP' and member_id in (${below(ID)})`)})`,
)
const PRUNE_ABOVE = statement<OfGroup>(
  `delete from group_nesting where zone_id = :zone_id and outer_id in (${above(ID)})
   and (zone_id, inner_id, outer_id) not in (
     ${reaching(`zone_id = :zone_id and member_type = 'GROUP' and group_id in (${above(ID)})`, 'inward')})`,
)
const WORK = statement<Pair, { below: number; above: number }>(
  `select (select count(*) from group_nesting
       where zone_id = :zone_id and inner_id in (${below('cast(:inner_id as text)')})) as below,
     (select count(*) from group_nesting
       where zone_id = :zone_id and outer_id in (${above('cast(:outer_id as text)')})) as above`,
)
const PRUNE_ZONE = statement<{ zone_id: string }>(
  `delete from group_nesting where zone_id = :zone_id
   and (zone_id, inner_id, outer_id) not in (${reaching(`zone_id = :zone_id and member_type = 'GROUP'`)})`,
)

/** Taken before anything is read that decides about nested groups of the zone. */
export const lockNesting = (within: Transaction, zoneId: string): Promise<void> =>
  within.lock(`nested groups ${zoneId}`)

/** Throws `InvalidNesting` where the group in the other one would make a cycle, or too much to keep. */
export async function refuseNesting(
  within: Transaction,
  zoneId: string,
  { inner, outer }: { readonly inner: string; readonly outer: string },
): Promise<void> {
  if (inner === outer) throw new InvalidNesting('itself', inner)
  const back = await within.run(FIND_PAIR, { zone_id: zoneId, inner_id: outer, outer_id: inner })
  if (back.rows.length > 0) throw new InvalidNesting('cycle', inner)
  const [sizes] = (await within.run(SIZES, { zone_id: zoneId, inner_id: inner, outer_id: outer })).rows
  if (sizes && sizes.pairs + (sizes.below + 1) * (sizes.above + 1) > MAX_PAIRS) {
    throw new InvalidNesting('too many', inner)
  }
  const [height] = (await within.run(HEIGHT, { zone_id: zoneId, id: outer })).rows
  const [deep] = (await within.run(DEPTH, { zone_id: zoneId, id: inner })).rows
  if ((height?.depth ?? 0) + (deep?.depth ?? 0) + 1 > MAX_DEPTH) throw new InvalidNesting('too deep', inner)
}

/** Adds the pairs of a new membership, before or after its row. */
export async function addNesting(
  within: Transaction,
  zoneId: string,
  { inner, outer }: { readonly inner: string; readonly outer: string },
): Promise<void> {
  await within.run(ADD, { zone_id: zoneId, inner_id: inner, outer_id: outer })
}

/**
 * Deletes the pairs that no membership justifies any longer, after the inner group has left the outer one. Both are the same group
 * after several were removed from it, or the group itself. Pairs are searched on the side that has fewer.
 */
export async function pruneNesting(
  within: Transaction,
  zoneId: string,
  { inner, outer }: { readonly inner: string; readonly outer: string },
): Promise<void> {
  const [work] = (await within.run(WORK, { zone_id: zoneId, inner_id: inner, outer_id: outer })).rows
  if (work && work.above < work.below) await within.run(PRUNE_ABOVE, { zone_id: zoneId, id: outer })
  else await within.run(PRUNE_BELOW, { zone_id: zoneId, id: inner })
}

/** The same for the zone, after several groups were deleted. */
export async function pruneNestingOfZone(within: Transaction, zoneId: string): Promise<void> {
  await within.run(PRUNE_ZONE, { zone_id: zoneId })
}
