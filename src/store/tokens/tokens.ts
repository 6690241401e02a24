// Stored tokens and revocations. Each frequent write is one statement, so that it needs no savepoint; `used_at is null` in an
// update lets exactly one caller win, on both databases.
import { mapInBatches } from '../../base/concurrency/in-batches.ts'
import type { StoredToken, TokenFormat } from '../../model/tokens/token.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Statement } from '../database.ts'
import { forgetApproved } from './devices.ts'
import { dateOrNull, fromJson, timeOrNull, toJson, withoutNulls } from '../rows.ts'
import { insertInto, list, TOKEN_COLUMNS } from '../schema.ts'
import type { TokenRow } from '../schema.ts'
import type { TokenStore } from './token-store.ts'

interface TokenKey {
  zone_id: string
  id_digest: string
}

interface GrantKey {
  zone_id: string
  grant_id: string
}

interface Revoked {
  zone_id: string
  revoked_id: string
}

/** Small enough for one response. */
const MAX_LIST_LENGTH = 5000
const BATCH = 200
/** Limits how long one write delays the others. */
const ROWS_PER_DELETE = 500

const INSERT_TOKEN = statement<TokenRow>(insertInto('tokens', TOKEN_COLUMNS))
const FIND_TOKEN = statement<TokenKey, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from tokens where zone_id = :zone_id and id_digest = :id_digest`,
)
const USE = statement<TokenKey & { used_at: number }>(
  `update tokens set used_at = :used_at where zone_id = :zone_id and id_digest = :id_digest and used_at is null`,
)
const UNDO_USE = statement<TokenKey & { seen: number; before: number | null }>(
  `update tokens set used_at = cast(:before as bigint)
   where zone_id = :zone_id and id_digest = :id_digest and used_at = :seen`,
)
const DELETE = statement<TokenKey>(`delete from tokens where zone_id = :zone_id and id_digest = :id_digest`)
// Used ones stay, for reuse detection. The order of all tokens decides: of concurrent requests, which see the tokens of each
// other, one must keep its own.
const DELETE_REFRESH_TOKENS = statement<{
  zone_id: string
  client_id: string
  user_id: string
  kept: string
  others: number
}>(
  `delete from tokens
   where zone_id = :zone_id and client_id = :client_id and user_id = :user_id and kind = 'refresh_token'
   and used_at is null and id_digest <> :kept
   and exists (select 1 from tokens own where own.zone_id = :zone_id and own.id_digest = :kept
     and (own.issued_at > tokens.issued_at or (own.issued_at = tokens.issued_at and own.id_digest < tokens.id_digest)))
   and id_digest not in (select id_digest from tokens
     where zone_id = :zone_id and client_id = :client_id and user_id = :user_id and kind = 'refresh_token'
     and used_at is null and id_digest <> :kept
     order by issued_at desc, id_digest limit :others)`,
)
// Succeeds only if no later token of the family was used, and no concurrent request reuses this one.
const USE_AGAIN = statement<TokenKey & { used_at: number; seen: number; grant_id: string }>(
  `update tokens set used_at = :used_at where zone_id = :zone_id and id_digest = :id_digest and used_at = :seen
   and not exists (select 1 from tokens later where later.zone_id = :zone_id and later.grant_id = :grant_id
     and later.kind = 'refresh_token' and later.used_at >= :seen and later.id_digest <> :id_digest)`,
)
// Changes nothing; locks the rows against concurrent use of the successor.
const HOLD_SUCCESSORS = statement<GrantKey>(
  `update tokens set kind = kind
   where zone_id = :zone_id and grant_id = :grant_id and kind = 'refresh_token' and used_at is null`,
)
// Dated back to the issue, so that a replaced token gets no grace period of its own.
const REPLACE_SUCCESSORS = statement<GrantKey, { id_digest: string }>(
  `update tokens set used_at = issued_at
   where zone_id = :zone_id and grant_id = :grant_id and kind = 'refresh_token' and used_at is null returning id_digest`,
)
const RESTORE_SUCCESSOR = statement<TokenKey>(
  `update tokens set used_at = null where zone_id = :zone_id and id_digest = :id_digest and used_at = issued_at`,
)
const LIST_OF_USER = statement<{ zone_id: string; user_id: string; now: number }, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from tokens where zone_id = :zone_id and user_id = :user_id
   and expires_at > :now and used_at is null limit ${MAX_LIST_LENGTH}`,
)
const LIST_OF_CLIENT = statement<{ zone_id: string; client_id: string; now: number }, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from tokens where zone_id = :zone_id and client_id = :client_id
   and expires_at > :now and used_at is null limit ${MAX_LIST_LENGTH}`,
)
/** For a condition on the tokens of a zone: deletes a batch, and checks whether any are left. */
interface Batch<Args extends object> {
  readonly deletion: Statement<Args & { zone_id: string }, never>
  readonly rest: Statement<Args & { zone_id: string }, { id_digest: string }>
}
const batchWith = <Args extends object>(condition: string): Batch<Args> => ({
  deletion: statement(`delete from tokens where zone_id = :zone_id and id_digest in (
    select id_digest from tokens where zone_id = :zone_id and ${condition} limit ${ROWS_PER_DELETE})`),
  rest: statement(`select id_digest from tokens where zone_id = :zone_id and ${condition} limit 1`),
})
const OF_USER = batchWith<{ user_id: string }>('user_id = :user_id')
const OF_CLIENT = batchWith<{ client_id: string }>('client_id = :client_id')
const OF_PAIR = batchWith<{ client_id: string; user_id: string }>('client_id = :client_id and user_id = :user_id')
// A second revocation must not shorten the first.
const KEEP_LATER_EXPIRY = `on conflict (zone_id, revoked_id) do update set expires_at = case
     when excluded.expires_at > revocations.expires_at then excluded.expires_at else revocations.expires_at end`
/** For a condition on the tokens and codes of a zone: revokes their grants, and deletes them but for used codes. */
interface Grants<Args extends object> {
  readonly revokeCodes: Statement<Args & { zone_id: string; expires_at: number }, never>
  readonly deleteUnusedCodes: Statement<Args & { zone_id: string }, never>
  readonly revokeSome: Statement<Args & { zone_id: string; expires_at: number }, never>
  readonly deleteSome: Statement<Args & { zone_id: string }, never>
  readonly rest: Batch<Args>['rest']
}
function grantsWith<Args extends object>(condition: string): Grants<Args> {
  const ofZone = `zone_id = :zone_id and ${condition}`
  // In order, so that both statements take the same rows.
  const some = `zone_id = :zone_id and id_digest in (
    select id_digest from tokens where ${ofZone} order by user_id, id_digest limit ${ROWS_PER_DELETE})`
  return {
    // The tokens of a code that was just used may not be stored yet.
    revokeCodes: statement(`insert into revocations (zone_id, revoked_id, expires_at)
      select distinct zone_id, grant_id, cast(:expires_at as bigint) from authorization_codes where ${ofZone}
      ${KEEP_LATER_EXPIRY}`),
    deleteUnusedCodes: statement(`delete from authorization_codes where ${ofZone} and used_at is null`),
    revokeSome: statement(`insert into revocations (zone_id, revoked_id, expires_at)
      select distinct zone_id, grant_id, cast(:expires_at as bigint) from tokens where ${some} and grant_id is not null
      ${KEEP_LATER_EXPIRY}`),
    deleteSome: statement(`delete from tokens where ${some}`),
    rest: batchWith<Args>(condition).rest,
  }
}
const GRANTS_OF_CLIENT = grantsWith<{ client_id: string }>('client_id = :client_id')
const GRANTS_OF_PAIR = grantsWith<{ client_id: string; user_id: string }>(
  'client_id = :client_id and user_id = :user_id',
)
const DELETE_OF_GRANT = statement<GrantKey>(`delete from tokens where zone_id = :zone_id and grant_id = :grant_id`)
const REVOKE = statement<Revoked & { expires_at: number }>(
  `insert into revocations (zone_id, revoked_id, expires_at) values (:zone_id, :revoked_id, :expires_at)
   ${KEEP_LATER_EXPIRY}`,
)
const IS_REVOKED = statement<Revoked & { other_id: string }, { revoked_id: string }>(
  `select revoked_id from revocations where zone_id = :zone_id and revoked_id in (:revoked_id, :other_id)`,
)

/** Implements `TokenStore` for both databases. */
export function createTokens(db: Database): TokenStore {
  /** Concurrent calls may select the same rows; the one that deletes none checks whether others are left. */
  async function deleteSome<Args extends object>(
    batch: Batch<Args>,
    args: Args & { zone_id: string },
  ): Promise<number> {
    for (;;) {
      const { changes } = await db.write(batch.deletion, args)
      if (changes > 0 || (await db.read(batch.rest, args)).length === 0) return changes
    }
  }

  async function revokeGrants<Args extends object>(
    grants: Grants<Args>,
    args: Args & { zone_id: string },
    {
      of,
      expiresAt,
    }: { readonly of: { readonly clientId: string; readonly userId?: string }; readonly expiresAt: Date },
  ): Promise<void> {
    const { zone_id: zoneId } = args
    const revoked = { ...args, expires_at: expiresAt.getTime() }
    await db.transaction(async within => {
      await within.run(grants.revokeCodes, revoked)
      await within.run(grants.deleteUnusedCodes, args)
      for (const grantId of await forgetApproved(within, zoneId, of)) {
        await within.run(REVOKE, { zone_id: zoneId, revoked_id: grantId, expires_at: revoked.expires_at })
      }
    })
    for (;;) {
      const { changes } = await db.transaction(async within => {
        await within.run(grants.revokeSome, revoked)
        return within.run(grants.deleteSome, args)
      })
      // As in `deleteSome`.
      if (changes === 0 && (await db.read(grants.rest, args)).length === 0) return
    }
  }

  return {
    async insert(zoneId, token) {
      await db.write(INSERT_TOKEN, toTokenRow(zoneId, token))
    },
    async find(zoneId, idDigest) {
      const [row] = await db.read(FIND_TOKEN, { zone_id: zoneId, id_digest: idDigest })
      return row && toToken(row)
    },
    async use(zoneId, idDigest, now) {
      if (!isStorable(zoneId) || !isStorable(idDigest)) return false
      const { changes } = await db.write(USE, { zone_id: zoneId, id_digest: idDigest, used_at: now.getTime() })
      return changes > 0
    },
    useAgain(zoneId, { idDigest, grantId, usedAt }, now) {
      const key = { zone_id: zoneId, grant_id: grantId }
      const use = { ...key, id_digest: idDigest, seen: usedAt.getTime(), used_at: now.getTime() }
      return db.transaction(async within => {
        await within.run(HOLD_SUCCESSORS, key)
        if ((await within.run(USE_AGAIN, use)).changes === 0) return undefined
        return (await within.run(REPLACE_SUCCESSORS, key)).rows.map(row => row.id_digest)
      })
    },
    async undoUse(zoneId, { idDigest, usedAt, before }) {
      const key = { zone_id: zoneId, id_digest: idDigest }
      const undo = { ...key, seen: usedAt.getTime(), before: timeOrNull(before?.usedAt) }
      await db.transaction(async within => {
        if ((await within.run(UNDO_USE, undo)).changes === 0) return // it was used again, or is revoked
        for (const id of before?.replaced ?? []) await within.run(RESTORE_SUCCESSOR, { ...key, id_digest: id })
      })
    },
    async listOfUser(zoneId, userId, now) {
      return listed(await db.read(LIST_OF_USER, { zone_id: zoneId, user_id: userId, now: now.getTime() }))
    },
    async listOfClient(zoneId, clientId, now) {
      return listed(await db.read(LIST_OF_CLIENT, { zone_id: zoneId, client_id: clientId, now: now.getTime() }))
    },
    deleteSomeOfUser: (zoneId, userId, clientId) =>
      clientId === undefined
        ? deleteSome(OF_USER, { zone_id: zoneId, user_id: userId })
        : deleteSome(OF_PAIR, { zone_id: zoneId, user_id: userId, client_id: clientId }),
    deleteSomeOfClient: (zoneId, clientId) => deleteSome(OF_CLIENT, { zone_id: zoneId, client_id: clientId }),
    async delete(zoneId, idDigest) {
      const { changes } = await db.write(DELETE, { zone_id: zoneId, id_digest: idDigest })
      return changes > 0
    },
    async deleteRefreshTokens(zoneId, { clientId, userId, kept, others }) {
      await db.write(DELETE_REFRESH_TOKENS, { zone_id: zoneId, client_id: clientId, user_id: userId, kept, others })
    },
    async revokeGrant(zoneId, grantId, expiresAt) {
      await db.transaction(async within => {
        await within.run(REVOKE, { zone_id: zoneId, revoked_id: grantId, expires_at: expiresAt.getTime() })
        await within.run(DELETE_OF_GRANT, { zone_id: zoneId, grant_id: grantId })
      })
    },
    revokeGrantsOf(zoneId, of, expiresAt) {
      const { clientId, userId } = of
      const client = { zone_id: zoneId, client_id: clientId }
      if (userId === undefined) return revokeGrants(GRANTS_OF_CLIENT, client, { of, expiresAt })
      return revokeGrants(GRANTS_OF_PAIR, { ...client, user_id: userId }, { of, expiresAt })
    },
    async revokeUnstored(zoneId, tokenId, expiresAt) {
      await db.write(REVOKE, { zone_id: zoneId, revoked_id: tokenId, expires_at: expiresAt.getTime() })
    },
    async isRevoked(zoneId, { grantId = '', tokenId }) {
      return (await db.read(IS_REVOKED, { zone_id: zoneId, revoked_id: tokenId, other_id: grantId })).length > 0
    },
  }
}

const toTokenRow = (zoneId: string, token: StoredToken): TokenRow => ({
  zone_id: zoneId,
  id_digest: token.idDigest,
  kind: token.kind,
  format: token.format,
  client_id: token.clientId,
  user_id: token.userId ?? null,
  grant_id: token.grantId ?? null,
  claims: toJson(token.claims),
  used_at: timeOrNull(token.usedAt),
  issued_at: token.issuedAt.getTime(),
  expires_at: token.expiresAt.getTime(),
})

/** The tokens of a list, whose claims are parsed in several turns of the event loop. */
const listed = (rows: readonly TokenRow[]): Promise<readonly StoredToken[]> =>
  mapInBatches(rows, async row => toToken(row), BATCH)

const toToken = (row: TokenRow): StoredToken =>
  withoutNulls<StoredToken>({
    zoneId: row.zone_id,
    idDigest: row.id_digest,
    kind: row.kind as StoredToken['kind'], // written by toTokenRow
    format: row.format as TokenFormat, // written by toTokenRow
    clientId: row.client_id,
    userId: row.user_id,
    grantId: row.grant_id,
    claims: fromJson<Readonly<Record<string, unknown>>>(row.claims),
    usedAt: dateOrNull(row.used_at),
    issuedAt: new Date(row.issued_at),
    expiresAt: new Date(row.expires_at),
  })
