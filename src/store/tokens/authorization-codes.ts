// Authorization codes, which are written and redeemed for every sign-in: each is one statement, so that it needs no savepoint;
// `used_at is null` in the update lets exactly one caller win, on both databases.
import type { AuthorizationCode, ProofId, TokenFormat } from '../../model/tokens/token.ts'
import { USE_PROOF } from './assertions.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Outcome } from '../database.ts'
import { fromJson, toJson, UNKNOWN_TIME, withoutNulls } from '../rows.ts'
import { CODE_COLUMNS, insertInto, list } from '../schema.ts'
import type { CodeRow } from '../schema.ts'
import { addClientTo } from '../sessions/sessions.ts'
import type { CodeStore } from './token-store.ts'
import { FIND_WITH_GROUPS, toJoinedUser } from '../users/user-rows.ts'

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
const UNDO_REDEMPTION = statement<CodeKey & { seen: number }>(
  `update authorization_codes set used_at = null
   where zone_id = :zone_id and code_digest = :code_digest and used_at = :seen
   and not exists (select 1 from revocations where revocations.zone_id = authorization_codes.zone_id
     and revocations.revoked_id in (authorization_codes.grant_id, authorization_codes.session_id))`,
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
    async undoRedemption(zoneId, codeDigest, redeemedAt) {
      const key = { zone_id: zoneId, code_digest: codeDigest }
      await db.write(UNDO_REDEMPTION, { ...key, seen: redeemedAt.getTime() })
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
  authenticated_at: code.authenticatedAt?.getTime() ?? UNKNOWN_TIME,
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
    authenticatedAt: row.authenticated_at === UNKNOWN_TIME ? null : new Date(row.authenticated_at),
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
