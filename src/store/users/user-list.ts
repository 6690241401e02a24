// Lists of users, and their number.
import type { Database } from '../database.ts'
import type { Listing } from '../listing/listing.ts'
import type { Outline } from '../listing/outline.ts'
import type { User } from '../../model/users/user.ts'
import { readFrom } from '../listing/cursor-page.ts'
import { readPage } from '../listing/numbered-page.ts'
import { chunks, withList } from '../groups/group-rows.ts'
import { toUser } from './user-rows.ts'
import { list, USER_COLUMNS } from '../schema.ts'
import type { UserRow } from '../schema.ts'
import type { NamedAttributes, UserStore } from '../store.ts'
import { userAttributes } from './user-attributes.ts'
import { COUNT_USERS } from './user-values.ts'

/** `list`, `page` and `count` of the users. */
export function createUserList(db: Database): Pick<UserStore, 'list' | 'page' | 'count'> {
  const attributes = lazily(() => userAttributes(db))
  const outline = createOutlines(db)
  const listing: Omit<Listing, 'attributes' | 'orders'> = {
    table: 'users',
    columns: USER_COLUMNS,
    key: 'id',
    indexed: new Set(['created_at', 'updated_at', 'user_name_lower']),
    walk: 'created_at',
    anyRow: `created_at > ${Number.MIN_SAFE_INTEGER}`,
    uncovered: 'version > -1',
    nulls: 'last', // RFC 7644 §3.4.2.3
    outline,
  }
  const briefColumns = [...WITHOUT_PROFILE, `${primaryEmail(db)} as primary_email`]
  const of = ({ dialect = 'uaa' }: NamedAttributes): Listing => ({ ...listing, ...attributes()[dialect] })
  const sized = (query: NamedAttributes): Listing => ({ ...of(query), columns: SIZES })
  return {
    async list(zoneId, query) {
      if (query.profiles === 'primary email') {
        const brief = { ...of(query), columns: briefColumns }
        const { rows, totalResults } = await readPage<BriefRow>(db, brief, { ...query, zoneId })
        return { records: rows.map(toBriefUser), totalResults }
      }
      const { rows, totalResults } = await readPage<SizedRow>(db, sized(query), { ...query, zoneId })
      return { records: await usersOf(db, zoneId, query.dialect === 'scim' ? fitting(rows) : rows), totalResults }
    },
    async page(zoneId, query) {
      const { rows, ...positions } = await readFrom<SizedRow>(db, sized(query), { ...query, zoneId }, fitting)
      return { ...positions, records: await usersOf(db, zoneId, rows) }
    },
    count: async zoneId => (await outline(zoneId)).total,
  }
}

/** Where a user is on a page, and how much memory the profile would take. */
type SizedRow = Pick<UserRow, 'id'> & { readonly profile_size: number | null }

const SIZES = ['id', 'octet_length(profile) as profile_size']

const FIND_SOME = withList<UserRow>(
  placeholders => `select ${list(USER_COLUMNS)} from users where zone_id = :zone_id and id in (${placeholders})`,
)

/** The users of a page in its order, but those who were deleted meanwhile. */
async function usersOf(db: Database, zoneId: string, page: readonly SizedRow[]): Promise<readonly User[]> {
  const found = new Map<string, User>()
  for (const ids of chunks(page.map(({ id }) => id))) {
    const { of, args } = FIND_SOME(ids)
    for (const row of await db.read(of, { ...args, zone_id: zoneId })) found.set(row.id, toUser(row))
  }
  return page.flatMap(({ id }) => found.get(id) ?? [])
}

type BriefRow = Omit<UserRow, 'profile'> & { readonly primary_email: number }

const WITHOUT_PROFILE = USER_COLUMNS.filter(column => column !== 'profile')

const primaryEmail = (db: Database): string =>
  `case when profile is not null and ${db.isPrimaryEntry('profile', 'emails', 'email')} then 1 else 0 end`

/** With as much of the profile as `hasPrimaryEmail` needs. */
function toBriefUser({ primary_email: isPrimary, ...row }: BriefRow): User {
  const user = toUser({ ...row, profile: null })
  return isPrimary === 1 ? { ...user, profile: { emails: [{ value: user.email, primary: true }] } } : user
}

/** Bytes of the profiles on a page, which responses of SCIM 2.0 have: five hundred users would have 32 MB. */
const MAX_PROFILES = 4 * 1024 * 1024

/** The first rows, as far as their profiles may be in memory together; at least one. */
function fitting(rows: readonly SizedRow[]): readonly SizedRow[] {
  let size = 0
  const end = rows.findIndex(({ profile_size: own }, place) => {
    size += own ?? 0
    return size > MAX_PROFILES && place > 0
  })
  return end === -1 ? rows : rows.slice(0, end)
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

const MAX_ZONES = 100

/**
 * The number of users is read each time; positions in the order of creation are cached. New users come after all positions, unless
 * clocks differ by more than the minutes that a list takes. The number of deletions shows when positions have moved.
 */
function createOutlines(db: Database): (zoneId: string) => Promise<Outline> {
  const outlines = new Map<string, { readonly removed: number; readonly places: Outline['places'] }>()
  return async zoneId => {
    const [row] = await db.read(COUNT_USERS, { zone_id: zoneId })
    const { total = 0, removed = 0 } = row ?? {}
    let kept = outlines.get(zoneId)
    if (kept?.removed !== removed) {
      kept = { removed, places: new Map() }
      outlines.delete(zoneId)
      outlines.set(zoneId, kept)
      for (const oldest of outlines.keys()) if (outlines.size > MAX_ZONES) outlines.delete(oldest)
    }
    return { total, places: kept.places }
  }
}
