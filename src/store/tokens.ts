// Codes, stored tokens and revoked grants: the most frequent writes. Each is one statement, so that it needs no savepoint;
// `used_at is null` in an update lets exactly one caller win, on both databases.
import type { AuthorizationCode, ProofId, StoredToken, TokenFormat } from '../model/tokens/token.ts'
import { USE_PROOF } from './assertions.ts'
import { type Database, isStorable, type Outcome, type Statement, statement } from './database.ts'
import { FIND_WITH_GROUPS, toJoinedUser } from './users/user-rows.ts'
import { dateOrNull, fromJson, timeOrNull, toJson, withoutNulls } from './rows.ts'
import { CODE_COLUMNS, type CodeRow, insertInto, list, TOKEN_COLUMNS, type TokenRow } from './schema.ts'
import { addClientTo } from './sessions.ts'
import type { CodeStore, TokenStore } from './store.ts'

interface CodeKey {
  zone_id: string
  code_digest: string
}

const INSERT_CODE = statement<CodeRow>(insertInto('authorization_codes', CODE_COLUMNS))
const FIND_CODE = statement<CodeKey, CodeRow>(
  `select ${list(CODE_COLUMNS)} from authorization_codes where zone_id = :zone_id and code_digest = :code_digest`,
)
const REDEEM = statement<CodeKey & { used_at: number }, CodeRow>(
  `update authorization_codes set used_at = :used_at
   where zone_id = :zone_id and code_digest = :code_digest and used_at is null returning ${list(CODE_COLUMNS)}`,
)

const UNUSED_OF_USER = statement<{ zone_id: string; user_id: string }, { code_digest: string; session_id: string }>(
  `select code_digest, session_id from authorization_codes
   where zone_id = :zone_id and user_id = :user_id and session_id is not null and used_at is null`,
)
const DELETE_UNUSED = statement<CodeKey>(
  `delete from authorization_codes where zone_id = :zone_id and code_digest = :code_digest and used_at is null`,
)

/** Implements `CodeStore` for both databases. */
export function createCodes(db: Database): CodeStore {
  /** One commit for both: a proof of its own would cost as much as the code. */
  function redeemWithProof(
    zoneId: string,
    use: CodeKey & { used_at: number },
    { idDigest, expiresAt }: ProofId,
  ): Promise<Outcome<CodeRow> | 'replayed'> {
    return db.transaction(async within => {
      const id = { zone_id: zoneId, id_digest: idDigest, expires_at: expiresAt.getTime() }
      if ((await within.run(USE_PROOF, id)).changes === 0) return 'replayed'
      return within.run(REDEEM, use)
    })
  }

  return {
    async insert(zoneId, code, answering) {
      if (answering === undefined) {
        await db.write(INSERT_CODE, toCodeRow(zoneId, code))
        return
      }
      await db.transaction(async within => {
        await within.run(INSERT_CODE, toCodeRow(zoneId, code))
        await addClientTo(within, zoneId, { ...answering, clientId: code.clientId })
      })
    },
    async redeem(zoneId, codeDigest, now, proof) {
      if (!isStorable(zoneId) || !isStorable(codeDigest)) return { outcome: 'unknown' }
      const key = { zone_id: zoneId, code_digest: codeDigest }
      const use = { ...key, used_at: now.getTime() }
      const written = proof ? await redeemWithProof(zoneId, use, proof) : await db.write(REDEEM, use)
      if (written === 'replayed') return { outcome: 'replayed' }
      const [redeemed] = written.rows
      if (redeemed !== undefined) {
        const [row] = await db.read(FIND_WITH_GROUPS, { zone_id: zoneId, id: redeemed.user_id })
        return { outcome: 'redeemed', code: toCode(redeemed), user: row && toJoinedUser(row) }
      }
      const [used] = await db.read(FIND_CODE, key)
      return used === undefined ? { outcome: 'unknown' } : { outcome: 'used', code: toCode(used) }
    },
    async deleteOfSessions(zoneId, userId, sessionIds) {
      const unused = await db.read(UNUSED_OF_USER, { zone_id: zoneId, user_id: userId })
      const concerned = unused.filter(row => sessionIds.has(row.session_id))
      await Promise.all(
        concerned.map(row => db.write(DELETE_UNUSED, { zone_id: zoneId, code_digest: row.code_digest })),
      )
    },
  }
}

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
/** Limits how long one write delays the others. */
const ROWS_PER_DELETE = 500

const INSERT_TOKEN = statement<TokenRow>(insertInto('tokens', TOKEN_COLUMNS))
const FIND_TOKEN = statement<TokenKey, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from tokens where zone_id = :zone_id and id_digest = :id_digest`,
)
const USE = statement<TokenKey & { used_at: number }>(
  `update tokens set used_at = :used_at where zone_id = :zone_id and id_digest = :id_digest and used_at is null`,
)
const DELETE = statement<TokenKey>(`delete from tokens where zone_id = :zone_id and id_digest = :id_digest`)
// Used ones stay, for reuse detection.
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
const REPLACE_SUCCESSORS = statement<GrantKey>(
  `update tokens set used_at = issued_at
   where zone_id = :zone_id and grant_id = :grant_id and kind = 'refresh_token' and used_at is null`,
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
interface Some<Args extends object> {
  readonly deleted: Statement<Args & { zone_id: string }, never>
  readonly left: Statement<Args & { zone_id: string }, { id_digest: string }>
}
const someWith = <Args extends object>(condition: string): Some<Args> => ({
  deleted: statement(`delete from tokens where zone_id = :zone_id and id_digest in (
    select id_digest from tokens where zone_id = :zone_id and ${condition} limit ${ROWS_PER_DELETE})`),
  left: statement(`select id_digest from tokens where zone_id = :zone_id and ${condition} limit 1`),
})
const OF_USER = someWith<{ user_id: string }>('user_id = :user_id')
const OF_CLIENT = someWith<{ client_id: string }>('client_id = :client_id')
const OF_PAIR = someWith<{ client_id: string; user_id: string }>('client_id = :client_id and user_id = :user_id')
interface PairKey {
  zone_id: string
  client_id: string
  user_id: string
}
const OF_PAIR_IN_ZONE = `zone_id = :zone_id and client_id = :client_id and user_id = :user_id`
// Those of codes as well: the tokens of one that was just used may not be stored yet.
const REVOKE_OF_PAIR = statement<PairKey & { expires_at: number }>(
  `insert into revocations (zone_id, revoked_id, expires_at)
   select zone_id, grant_id, cast(:expires_at as bigint) from (
     select zone_id, grant_id from tokens where ${OF_PAIR_IN_ZONE} and grant_id is not null
     union select zone_id, grant_id from authorization_codes where ${OF_PAIR_IN_ZONE}) as granted
   where true on conflict (zone_id, revoked_id) do update set expires_at = case
     when excluded.expires_at > revocations.expires_at then excluded.expires_at else revocations.expires_at end`,
)
const DELETE_OF_PAIR = statement<PairKey>(`delete from tokens where ${OF_PAIR_IN_ZONE}`)
const DELETE_UNUSED_CODES = statement<PairKey>(
  `delete from authorization_codes where ${OF_PAIR_IN_ZONE} and used_at is null`,
)
const DELETE_OF_GRANT = statement<GrantKey>(`delete from tokens where zone_id = :zone_id and grant_id = :grant_id`)
// A second revocation must not shorten the first.
const REVOKE = statement<Revoked & { expires_at: number }>(
  `insert into revocations (zone_id, revoked_id, expires_at) values (:zone_id, :revoked_id, :expires_at)
   on conflict (zone_id, revoked_id) do update set expires_at = case
     when excluded.expires_at > revocations.expires_at then excluded.expires_at else revocations.expires_at end`,
)
const IS_REVOKED = statement<Revoked & { other_id: string }, { revoked_id: string }>(
  `select revoked_id from revocations where zone_id = :zone_id and revoked_id in (:revoked_id, :other_id)`,
)

/** Implements `TokenStore` for both databases. */
export function createTokens(db: Database): TokenStore {
  /** Concurrent calls may select the same rows; the one that deletes none checks whether others are left. */
  async function deleteSome<Args extends object>(of: Some<Args>, args: Args & { zone_id: string }): Promise<number> {
    for (;;) {
      const { changes } = await db.write(of.deleted, args)
      if (changes > 0 || (await db.read(of.left, args)).length === 0) return changes
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
        if ((await within.run(USE_AGAIN, use)).changes === 0) return false
        await within.run(REPLACE_SUCCESSORS, key)
        return true
      })
    },
    async listOfUser(zoneId, userId, now) {
      return (await db.read(LIST_OF_USER, { zone_id: zoneId, user_id: userId, now: now.getTime() })).map(toToken)
    },
    async listOfClient(zoneId, clientId, now) {
      return (await db.read(LIST_OF_CLIENT, { zone_id: zoneId, client_id: clientId, now: now.getTime() })).map(toToken)
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
    async revokeGrantsOf(zoneId, { clientId, userId }, expiresAt) {
      const pair = { zone_id: zoneId, client_id: clientId, user_id: userId }
      await db.transaction(async within => {
        await within.run(REVOKE_OF_PAIR, { ...pair, expires_at: expiresAt.getTime() })
        await within.run(DELETE_OF_PAIR, pair)
        await within.run(DELETE_UNUSED_CODES, pair)
      })
    },
    async revokeUnstored(zoneId, tokenId, expiresAt) {
      await db.write(REVOKE, { zone_id: zoneId, revoked_id: tokenId, expires_at: expiresAt.getTime() })
    },
    async isRevoked(zoneId, { grantId = '', tokenId }) {
      return (await db.read(IS_REVOKED, { zone_id: zoneId, revoked_id: tokenId, other_id: grantId })).length > 0
    },
  }
}

const toCodeRow = (zoneId: string, code: AuthorizationCode): CodeRow => ({
  zone_id: zoneId,
  code_digest: code.codeDigest,
  client_id: code.clientId,
  user_id: code.userId,
  redirect_uri: code.redirectUri ?? null,
  scopes: toJson(code.scopes),
  code_challenge: code.codeChallenge ?? null,
  code_challenge_method: code.codeChallengeMethod ?? null,
  nonce: code.nonce ?? null,
  token_format: code.tokenFormat ?? null,
  authenticated_at: code.authenticatedAt.getTime(),
  amr: toJson(code.amr),
  acr: code.acr === undefined ? null : toJson(code.acr),
  session_id: code.sessionId ?? null,
  grant_id: code.grantId,
  az_attr: code.azAttr === undefined ? null : toJson(code.azAttr),
  rev_sig: code.revocationSignature ?? null,
  jkt: code.jkt ?? null,
  resources: code.resources ? toJson(code.resources) : null,
  expires_at: code.expiresAt.getTime(),
  kept_until: code.keptUntil.getTime(),
  used_at: null,
})

const toCode = (row: CodeRow): AuthorizationCode =>
  withoutNulls<AuthorizationCode>({
    zoneId: row.zone_id,
    codeDigest: row.code_digest,
    clientId: row.client_id,
    userId: row.user_id,
    redirectUri: row.redirect_uri,
    scopes: fromJson<readonly string[]>(row.scopes),
    codeChallenge: row.code_challenge,
    codeChallengeMethod: row.code_challenge_method as 'S256' | 'plain' | null, // written by toCodeRow
    nonce: row.nonce,
    tokenFormat: row.token_format as TokenFormat | null, // written by toCodeRow
    authenticatedAt: new Date(row.authenticated_at),
    amr: fromJson<readonly string[]>(row.amr),
    acr: row.acr === null ? null : fromJson<readonly string[]>(row.acr),
    sessionId: row.session_id,
    grantId: row.grant_id,
    azAttr: row.az_attr === null ? null : fromJson<Readonly<Record<string, string>>>(row.az_attr),
    revocationSignature: row.rev_sig,
    jkt: row.jkt,
    resources: row.resources === null ? null : fromJson<readonly string[]>(row.resources),
    expiresAt: new Date(row.expires_at),
    keptUntil: new Date(row.kept_until),
  })

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
