// The approvals of a UAA's users, and the tokens that UAA stores, so that programs can continue to use them.
import { isJsonRecord, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { digest } from '../base/secrets.ts'
import { isKeepable } from '../records/kinds.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { UaaRow } from '../store/uaa/tables.ts'
import { AlreadyExists } from '../store/store.ts'
import { isUnseen, zoneProblem } from './import-deps.ts'
import type { ImportDeps } from './import-deps.ts'
import { inPortions, oneByOne } from './in-portions.ts'
import { storedTime } from './stored-json.ts'

/** Imports the approvals that are still valid. */
export async function importApprovals(deps: ImportDeps): Promise<void> {
  await inPortions(
    deps.source.rows('approvals'),
    oneByOne(row => importApproval(row, deps)),
  )
}

const MAX_SCOPE_LENGTH = 255

async function importApproval(row: UaaRow<'approvals'>, deps: ImportDeps): Promise<void> {
  const { store, clock, report } = deps
  const { userId, clientId, scope, status, zoneId } = row
  const name = `of user ${userId ?? ''} for ${clientId ?? ''}, ${scope ?? ''}`
  const expiresAt = storedTime(row.expires)
  if (!expiresAt || expiresAt <= clock.now()) return report.leftOut('approval', name)
  const problem = zoneProblem(zoneId, deps.zones)
  if (problem && 'refused' in problem) return report.refused('approval', name, problem.refused)
  if (problem || zoneId === null) return report.leftOut('approval', name, 'its user does not exist')
  if (isUnseen(row)) return report.leftOut('approval', name, 'its zone is not that of its user')
  if (userId === null || clientId === null || scope === null || !isKeepable([userId, clientId, scope])) {
    return report.refused('approval', name, 'its user, client or scope cannot be stored')
  }
  if ((status !== 'APPROVED' && status !== 'DENIED') || scope.length > MAX_SCOPE_LENGTH) {
    return report.refused('approval', name, 'its status must be APPROVED or DENIED, and its scope not too long')
  }
  if ((await store.users.find(zoneId, userId)) === undefined) {
    return report.refused('approval', name, 'its user is refused')
  }
  if ((await store.clients.find(zoneId, clientId)) === undefined) {
    return report.leftOut('approval', name, 'its zone has no such client')
  }
  const before = await store.approvals.list(zoneId, userId, clientId, clock.now())
  if (before.some(each => each.scope === scope)) return report.same('approval')
  const updatedAt = storedTime(row.updated) ?? clock.now()
  await store.approvals.save(zoneId, [{ zoneId, userId, clientId, scope, status, expiresAt, updatedAt }])
  report.imported('approval')
}

/** Imports the unexpired tokens that UAA can revoke: opaque ones and refresh tokens. */
export async function importTokens(deps: ImportDeps): Promise<void> {
  await inPortions(
    deps.source.rows('tokens'),
    oneByOne(row => importToken(row, deps)),
  )
}

const KINDS: ReadonlyMap<string | null, StoredToken['kind']> = new Map([
  ['ACCESS_TOKEN', 'access_token'],
  ['REFRESH_TOKEN', 'refresh_token'],
])

async function importToken(row: UaaRow<'tokens'>, deps: ImportDeps): Promise<void> {
  const { store, clock, report } = deps
  const { zoneId, clientId, userId } = row
  // The id of an opaque token is the token.
  const name = `of client ${clientId ?? ''}${userId === null ? '' : ` and user ${userId}`}`
  const expiresAt = storedTime(row.expires)
  const kind = KINDS.get(row.kind)
  if (!expiresAt || expiresAt <= clock.now() || kind === undefined) return report.leftOut('token', name)
  const problem = zoneProblem(zoneId, deps.zones)
  if (problem && 'refused' in problem) return report.refused('token', name, problem.refused)
  if (problem || zoneId === null) return report.leftOut('token', name, 'its zone does not exist')
  if (clientId === null || (await store.clients.find(zoneId, clientId)) === undefined) {
    return report.leftOut('token', name, 'its zone has no such client')
  }
  if (userId !== null && (await store.users.find(zoneId, userId)) === undefined) {
    return report.leftOut('token', name, 'its zone has no such user')
  }
  const claims = claimsOf(row)
  if (typeof claims === 'string') return report.refused('token', name, claims)
  const { jti: _, ...anonymous } = claims
  const format = row.format?.toLowerCase() === 'jwt' ? 'jwt' : 'opaque'
  const token: StoredToken = {
    zoneId,
    idDigest: digest(row.tokenId ?? ''),
    kind,
    format,
    clientId,
    ...(userId !== null && { userId }),
    claims: format === 'opaque' ? anonymous : claims, // the id of an opaque token is the token
    issuedAt: storedTime(row.issued) ?? clock.now(),
    expiresAt,
  }
  try {
    await store.tokens.insert(zoneId, token)
    report.imported('token')
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error
    report.same('token')
  }
}

/** The content of the JWT behind the row, which must be about the same; its signature is that of UAA's own database. */
function claimsOf({ data, tokenId, clientId, userId }: UaaRow<'tokens'>): JsonRecord | string {
  const [, payload] = (data ?? '').split('.')
  const claims = parseJson(Buffer.from(payload ?? '', 'base64url').toString())
  if (!isJsonRecord(claims) || !isKeepable(claims)) return 'its content is not a JWT'
  const { jti, client_id: client, cid, user_id: user } = claims
  const isSame = jti === tokenId && (client ?? cid) === clientId && (user ?? null) === userId
  return isSame ? claims : 'its content is that of another token'
}
