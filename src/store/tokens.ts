// Codes, stored tokens and revoked grants: the hottest writes of the server. Each is one statement, so that it costs
// no savepoint; "exactly one winner" is the `used_at is null` of an update, on either database.
import type { AuthorizationCode, StoredToken, TokenFormat } from '../model/token.ts'
import { type Database, isStorable, statement } from './database.ts'
import { dateOrNull, fromJson, timeOrNull, toJson, withoutNulls } from './rows.ts'
import { CODE_COLUMNS, type CodeRow, insertInto, list, TOKEN_COLUMNS, type TokenRow } from './schema.ts'
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

/** The authorization codes of the database. */
export function createCodes(db: Database): CodeStore {
  return {
    async insert(zoneId, code) {
      await db.write(INSERT_CODE, toCodeRow(zoneId, code))
    },
    async redeem(zoneId, codeDigest, now) {
      if (!isStorable(zoneId) || !isStorable(codeDigest)) return { outcome: 'unknown' }
      const key = { zone_id: zoneId, code_digest: codeDigest }
      const [redeemed] = (await db.write(REDEEM, { ...key, used_at: now.getTime() })).rows
      if (redeemed !== undefined) return { outcome: 'redeemed', code: toCode(redeemed) }
      const [used] = await db.read(FIND_CODE, key)
      return used === undefined ? { outcome: 'unknown' } : { outcome: 'used', code: toCode(used) }
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

const INSERT_TOKEN = statement<TokenRow>(insertInto('tokens', TOKEN_COLUMNS))
const FIND_TOKEN = statement<TokenKey, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from tokens where zone_id = :zone_id and id_digest = :id_digest`,
)
const USE = statement<TokenKey & { used_at: number }>(
  `update tokens set used_at = :used_at where zone_id = :zone_id and id_digest = :id_digest and used_at is null`,
)
const DELETE = statement<TokenKey>(`delete from tokens where zone_id = :zone_id and id_digest = :id_digest`)
// A used one stays: its second use has to be noticed.
const DELETE_REFRESH_TOKENS = statement<{ zone_id: string; client_id: string; user_id: string }>(
  `delete from tokens
   where zone_id = :zone_id and client_id = :client_id and user_id = :user_id and kind = 'refresh_token'
   and used_at is null`,
)
const DELETE_OF_GRANT = statement<GrantKey>(`delete from tokens where zone_id = :zone_id and grant_id = :grant_id`)
// Whoever revokes again may shorten nothing.
const REVOKE_GRANT = statement<GrantKey & { expires_at: number }>(
  `insert into revoked_grants (zone_id, grant_id, expires_at) values (:zone_id, :grant_id, :expires_at)
   on conflict (zone_id, grant_id) do update set expires_at = case
     when excluded.expires_at > revoked_grants.expires_at then excluded.expires_at else revoked_grants.expires_at end`,
)
const IS_REVOKED = statement<GrantKey, { grant_id: string }>(
  `select grant_id from revoked_grants where zone_id = :zone_id and grant_id = :grant_id`,
)

/** The stored tokens and revoked grants of the database. */
export function createTokens(db: Database): TokenStore {
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
    async delete(zoneId, idDigest) {
      const { changes } = await db.write(DELETE, { zone_id: zoneId, id_digest: idDigest })
      return changes > 0
    },
    async deleteRefreshTokens(zoneId, clientId, userId) {
      await db.write(DELETE_REFRESH_TOKENS, { zone_id: zoneId, client_id: clientId, user_id: userId })
    },
    async revokeGrant(zoneId, grantId, expiresAt) {
      const key = { zone_id: zoneId, grant_id: grantId }
      await db.transaction(async within => {
        await within.run(REVOKE_GRANT, { ...key, expires_at: expiresAt.getTime() })
        await within.run(DELETE_OF_GRANT, key)
      })
    },
    async isGrantRevoked(zoneId, grantId) {
      return (await db.read(IS_REVOKED, { zone_id: zoneId, grant_id: grantId })).length > 0
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
  session_id: code.sessionId ?? null,
  grant_id: code.grantId,
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
    sessionId: row.session_id,
    grantId: row.grant_id,
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
