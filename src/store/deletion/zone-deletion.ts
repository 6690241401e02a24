// Deletes the contents of a zone. There are no foreign keys to `zones`, because each insert would have to check them; so
// the tables are listed here, and a test compares the list with the schema.
import { statement } from '../database.ts'
import type { Database, Statement, Transaction } from '../database.ts'
import type { ChangedClient, LostGroup } from '../store.ts'
import { lockNesting, pruneNestingOfZone } from '../groups/nesting.ts'
import { fromJson, toJson } from '../rows.ts'
import { ROWS_AT_ONCE, writeInPortions } from './portions.ts'

/** Every table with rows of zones: first queues of outgoing messages; tables with foreign keys before those that they reference. */
const TABLES = [
  'outgoing_mails',
  'ended_sessions',
  'audit_deliveries',
  'group_nesting',
  'group_members',
  'external_groups',
  'groups',
  'users',
  'user_values',
  'user_counts',
  'clients',
  'registration_tokens',
  'identity_providers',
  'signing_keys',
  'approvals',
  'authorization_codes',
  'tokens',
  'revocations',
  'sessions',
  'sign_in_failures',
  'one_time_codes',
  'account_events',
  'used_assertions',
  'used_proofs',
  'pushed_requests',
  'device_codes',
  'passkeys',
  'totp_secrets',
  'factor_codes',
  'audit_entries',
  'audit_chains',
] as const

const DELETE_ROWS = TABLES.map(table => statement<{ zone_id: string }>(`delete from ${table} where zone_id = :zone_id`))
// Keeps the record that the zone itself was applied, so that a start does not restore a zone deleted through the API.
const FORGET_TEXT = `delete from bootstrap_records where zone_id = :zone_id and kind <> 'zone'`
const FORGET_BOOTSTRAP = statement<{ zone_id: string }>(FORGET_TEXT)

/** Deletes everything that is in the zone, but not the zone, in one transaction: few rows, or none. */
export async function clearZone(within: Transaction, zoneId: string): Promise<void> {
  for (const deleteRows of DELETE_ROWS) await within.run(deleteRows, { zone_id: zoneId })
  await within.run(FORGET_BOOTSTRAP, { zone_id: zoneId })
}

/**
 * Deletes everything that was in a deleted zone, in portions, since there may be very much. Stops when the zone is created again,
 * which clears it: each statement checks that by itself.
 */
export function createZoneClearing(db: Database): (zoneId: string) => Promise<void> {
  const isGone = `not exists (select 1 from zones where id = :zone_id)`
  const some = TABLES.map(
    (table): Statement<{ zone_id: string }, never> =>
      statement(
        `delete from ${table} where ${db.rowId} in (
         select ${db.rowId} from ${table} where zone_id = :zone_id limit ${ROWS_AT_ONCE}) and ${isGone}`,
      ),
  )
  const forget = statement<{ zone_id: string }>(`${FORGET_TEXT} and ${isGone}`)
  return async zoneId => {
    for (const deleteSome of some) await writeInPortions(db, deleteSome, { zone_id: zoneId })
    await db.write(forget, { zone_id: zoneId })
  }
}

interface Named {
  zone_id: string
  prefix: string
  end: string
  prefix_lower: string
  end_lower: string
}
// Strings are compared byte by byte and a slash follows a dot, so the range from `zones.x.` to `zones.x/` is exactly the
// prefix `zones.x.`. The lower-case pair is for the index.
const NAMED = `zone_id = :zone_id and display_name_lower >= :prefix_lower and display_name_lower < :end_lower
  and display_name >= :prefix and display_name < :end`
const IDS = `select id from groups where ${NAMED}`
const EMPTY_ABOUT = statement<Named, { group_id: string; member_id: string }>(
  `delete from group_members where zone_id = :zone_id and group_id in (${IDS}) returning group_id, member_id`,
)
const LEAVE_ABOUT = [
  `delete from group_members where zone_id = :zone_id and member_type = 'GROUP' and member_id in (${IDS})`,
  `delete from external_groups where zone_id = :zone_id and group_id in (${IDS})`,
].map(text => statement<Named>(text))

const DELETE_ABOUT = statement<Named, { id: string; display_name: string }>(
  `delete from groups where ${NAMED} returning id, display_name`,
)

/** Deletes the groups `zones.<id>.…` of the default zone, whose members administer the zone. Returns them. */
export async function deleteGroupsAbout(
  within: Transaction,
  zoneId: string,
  defaultZoneId: string,
): Promise<readonly LostGroup[]> {
  const [prefix, end] = [`zones.${zoneId}.`, `zones.${zoneId}/`]
  const args = {
    zone_id: defaultZoneId,
    prefix,
    end,
    prefix_lower: prefix.toLowerCase(),
    end_lower: end.toLowerCase(),
  }
  await lockNesting(within, defaultZoneId)
  const members = Map.groupBy((await within.run(EMPTY_ABOUT, args)).rows, row => row.group_id)
  for (const leave of LEAVE_ABOUT) await within.run(leave, args)
  const groups = (await within.run(DELETE_ABOUT, args)).rows
  await pruneNestingOfZone(within, defaultZoneId)
  return groups.map(({ id, display_name: displayName }) => ({
    id,
    displayName,
    memberIds: (members.get(id) ?? []).map(row => row.member_id),
  }))
}

// Few clients have a right in a zone; ids of zones may have characters that mean something in a pattern.
const WITH_RIGHTS = statement<{ zone_id: string }, { client_id: string; scope: string; authorities: string }>(
  `select client_id, scope, authorities from clients where zone_id = :zone_id and authorities like '%"zones.%'`,
)
const SET_AUTHORITIES = statement<{ zone_id: string; client_id: string; authorities: string; expected: string }>(
  `update clients set authorities = :authorities, revision = revision + 1
   where zone_id = :zone_id and client_id = :client_id and authorities = :expected`,
)

/**
 * Takes the rights `zones.<id>.…` from the clients of the default zone, and from their tokens with that: another zone with this id
 * is not theirs. Returns these clients.
 */
export async function removeRightsOver(
  within: Transaction,
  zoneId: string,
  defaultZoneId: string,
): Promise<readonly ChangedClient[]> {
  const changed: ChangedClient[] = []
  const isRight = (name: string): boolean => name.startsWith(`zones.${zoneId}.`)
  const key = { zone_id: defaultZoneId }
  for (;;) {
    const clients = (await within.run(WITH_RIGHTS, key)).rows
      .map(row => ({ ...row, names: fromJson<readonly string[]>(row.authorities) }))
      .filter(({ names }) => names.some(isRight))
    if (clients.length === 0) return changed
    for (const { client_id, scope, authorities: expected, names } of clients) {
      const authorities = names.filter(name => !isRight(name))
      const args = { ...key, client_id, authorities: toJson(authorities), expected }
      // A concurrent change wins, and is read again.
      if ((await within.run(SET_AUTHORITIES, args)).changes === 0) continue
      changed.push({ clientId: client_id, scope: fromJson<readonly string[]>(scope), authorities })
      await within.announce({ kind: 'clients', zoneId: defaultZoneId, key: client_id })
    }
  }
}
