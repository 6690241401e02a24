// The groups and approval decisions that lists show with each user, read for a page at a time.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Approval } from '../../model/users/approval.ts'
import type { ApprovalRow } from '../../records/approval.ts'
import { toApproval } from '../approvals.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Statement } from '../database.ts'
import { nameOfGroup, pairIn } from '../groups/nesting.ts'
import { APPROVAL_COLUMNS, list } from '../schema.ts'
import { MAX_DETAILS, MAX_GROUPS_OF_USER, TooManyDetails } from './user-store.ts'
import type { GroupOfUser, UserStore } from './user-store.ts'

interface GroupRowOfUser {
  readonly user_id: string
  readonly id: string
  readonly display_name: string
  readonly direct: number
}

type Args = Readonly<Record<string, string | number>>

// Lists are padded to one of these sizes by repeating an id, so that few prepared statements suffice.
const SIZES = [1, 8, 64] as const
const MAX_SIZE = 64

const STATEMENTS = SIZES.map(size => {
  const ids = list(Array.from({ length: size }, (_, index) => `:id_${index}`))
  return {
    size,
    groups: statement<Args, GroupRowOfUser>(
      `with direct_ones (user_id, group_id) as (
         select member_id, group_id from group_members
         where zone_id = :zone_id and member_type = 'USER' and member_id in (${ids})),
       reached (user_id, group_id, direct) as (
         select user_id, group_id, 1 from direct_ones
         union
         select user_id, outer_id, 0 from direct_ones cross join group_nesting
         where ${pairIn(':zone_id')} and inner_id = direct_ones.group_id
         limit 2 * :most)
       select user_id, group_id as id, display_name, direct from (
         select user_id, group_id, max(direct) as direct, ${nameOfGroup(':zone_id', 'reached.group_id')} as display_name
         from reached group by user_id, group_id) as named
       where display_name is not null order by display_name`,
    ),
    approvals: statement<Args, ApprovalRow>(
      `select ${list(APPROVAL_COLUMNS)} from approvals
       where zone_id = :zone_id and user_id in (${ids}) and expires_at > :now order by client_id, scope limit :most`,
    ),
  }
})

/** More rows than this take long enough that other requests get a turn after them. */
const FEW = 5000

interface Wanted<Row> {
  readonly what: 'groups' | 'approvals'
  readonly choose: (of: (typeof STATEMENTS)[number]) => Statement<Args, Row>
  readonly perUser?: number
}

/** Implements the details of `UserStore` for both databases. */
export function createUserDetails(db: Database): Pick<UserStore, 'listGroups' | 'listApprovals'> {
  /** Throws `TooManyDetails` rather than read more than the memory should hold. */
  async function readAll<Row>(
    ids: readonly string[],
    { what, choose, perUser = MAX_DETAILS }: Wanted<Row>,
    args: Args,
  ): Promise<Row[]> {
    const wanted = [...new Set(ids)].filter(isStorable)
    const rows: Row[] = []
    for (let start = 0; start < wanted.length; start += MAX_SIZE) {
      const some = wanted.slice(start, start + MAX_SIZE)
      const of = STATEMENTS.find(({ size }) => size >= some.length)
      if (of === undefined) throw new RangeError(`a list of ${some.length} ids`)
      const padded = Array.from({ length: of.size }, (_, index) => [`id_${index}`, some[index] ?? some[0] ?? ''])
      const most = Math.min(MAX_DETAILS - rows.length, perUser * some.length)
      const more = await db.read(choose(of), { ...args, ...Object.fromEntries(padded), most: most + 1 })
      if (more.length > most) throw new TooManyDetails(wanted.length === 1 ? 'user' : 'list', what)
      for (const row of more) rows.push(row)
      if (more.length > FEW) await nextTurn()
    }
    return rows
  }

  return {
    async listGroups(zoneId, ids) {
      const rows = await readAll<GroupRowOfUser>(
        ids,
        { what: 'groups', choose: ({ groups }) => groups, perUser: MAX_GROUPS_OF_USER },
        { zone_id: zoneId },
      )
      return groupedBy(
        rows,
        row => row.user_id,
        ({ id, display_name: displayName, direct }): GroupOfUser => ({ id, displayName, direct: direct === 1 }),
      )
    },
    async listApprovals(zoneId, ids, now) {
      const rows = await readAll<ApprovalRow>(
        ids,
        { what: 'approvals', choose: ({ approvals }) => approvals },
        { zone_id: zoneId, now: now.getTime() },
      )
      return groupedBy<ApprovalRow, Approval>(rows, row => row.user_id, toApproval)
    },
  }
}

const groupedBy = <Row, T>(
  rows: readonly Row[],
  key: (row: Row) => string,
  read: (row: Row) => T,
): ReadonlyMap<string, readonly T[]> =>
  new Map([...Map.groupBy(rows, key)].map(([id, ofUser]) => [id, ofUser.map(read)]))
