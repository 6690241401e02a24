import { MAX_ENTRIES, POLL_SECONDS } from '../../model/tokens/device-code.ts'
import type { DeviceDecision, DeviceRequest } from '../../model/tokens/device-code.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Transaction } from '../database.ts'
import type { DeviceStore } from './device-store.ts'
import { fromJson, toJson, UNKNOWN_TIME } from '../rows.ts'
import { insertInto, list } from '../schema.ts'

interface DeviceRow {
  zone_id: string
  code_digest: string
  user_code_digest: string
  client_id: string
  /** `StoredRequest` */
  request: string
  state: string
  /** `StoredDecision`, once approved. */
  decision: string | null
  entries: number
  interval_seconds: number
  polled_at: number | null
  expires_at: number
}

const COLUMNS = [
  'zone_id',
  'code_digest',
  'user_code_digest',
  'client_id',
  'request',
  'state',
  'decision',
  'entries',
  'interval_seconds',
  'polled_at',
  'expires_at',
] as const satisfies readonly (keyof DeviceRow)[]

type StoredRequest = Pick<DeviceRequest, 'scopes' | 'resources' | 'remoteAddress' | 'userAgent'> & {
  readonly requestedAt: number
}
type StoredDecision = Omit<DeviceDecision, 'authenticatedAt'> & { readonly authenticatedAt: number }

interface UserKey {
  zone_id: string
  user_code_digest: string
  now: number
}

interface DeviceKey {
  zone_id: string
  code_digest: string
  client_id: string
}

const INSERT = statement<DeviceRow>(insertInto('device_codes', COLUMNS))
const UNDECIDED = `zone_id = :zone_id and user_code_digest = :user_code_digest and state = 'pending' and expires_at > :now`
const ENTER = statement<UserKey, DeviceRow>(
  `update device_codes set entries = entries + 1 where ${UNDECIDED} and entries < ${MAX_ENTRIES} returning ${list(COLUMNS)}`,
)
const DECIDE = statement<UserKey & { state: string; decision: string | null }>(
  `update device_codes set state = :state, decision = :decision where ${UNDECIDED}`,
)
const OF_DEVICE = `zone_id = :zone_id and code_digest = :code_digest and client_id = :client_id`
const POLL = statement<DeviceKey & { now: number }, { expires_at: number }>(
  `update device_codes set polled_at = :now where ${OF_DEVICE} and state = 'pending'
   and (polled_at is null or polled_at + interval_seconds * 1000 <= :now) returning expires_at`,
)
// The row stays until it expires, so that a revocation while the tokens are being made finds their grant.
const TAKE = statement<DeviceKey & { now: number }, Pick<DeviceRow, 'decision' | 'expires_at'>>(
  `update device_codes set state = 'used', polled_at = :now where ${OF_DEVICE} and state in ('approved', 'denied')
   returning decision, expires_at`,
)
const UNDO_TAKE = statement<DeviceKey & { seen: number }>(
  `update device_codes set state = 'approved'
   where ${OF_DEVICE} and state = 'used' and decision is not null and polled_at = :seen`,
)
const SLOW_DOWN = statement<DeviceKey & { now: number }, { expires_at: number }>(
  `update device_codes set interval_seconds = interval_seconds + ${POLL_SECONDS}, polled_at = :now
   where ${OF_DEVICE} and state = 'pending' returning expires_at`,
)

// A decision is one string, in which the user is quoted.
const DELETE_DECIDED = statement<{ zone_id: string; client_id: string; pattern: string }, Pick<DeviceRow, 'decision'>>(
  `delete from device_codes where zone_id = :zone_id and client_id = :client_id and state <> 'pending'
   and decision like :pattern escape '!' returning decision`,
)

/**
 * Deletes the codes that the user, or any user, has approved for devices of the client, inside a transaction. Returns the grants
 * of their tokens, which may be being issued.
 */
export async function forgetApproved(
  within: Transaction,
  zoneId: string,
  { clientId, userId }: { readonly clientId: string; readonly userId?: string },
): Promise<readonly string[]> {
  const pattern = userId === undefined ? '%' : `%${`"userId":${toJson(userId)}`.replaceAll(/[!%_]/g, '!$&')}%`
  const { rows } = await within.run(DELETE_DECIDED, { zone_id: zoneId, client_id: clientId, pattern })
  return rows.flatMap(({ decision }) => (decision === null ? [] : [toDecision(decision).grantId]))
}

/** Implements `DeviceStore` for both databases. */
export function createDevices(db: Database): DeviceStore {
  return {
    async insert(zoneId, request) {
      await db.write(INSERT, toRow(zoneId, request))
    },
    async enter(zoneId, userCodeDigest, now) {
      const key = { zone_id: zoneId, user_code_digest: userCodeDigest, now: now.getTime() }
      const [row] = (await db.write(ENTER, key)).rows
      return row && toRequest(row)
    },
    async decide(zoneId, userCodeDigest, decision, now) {
      const kept =
        decision && toJson({ ...decision, authenticatedAt: decision.authenticatedAt?.getTime() ?? UNKNOWN_TIME })
      const key = { zone_id: zoneId, user_code_digest: userCodeDigest, now: now.getTime() }
      const state = kept === undefined ? 'denied' : 'approved'
      return (await db.write(DECIDE, { ...key, state, decision: kept ?? null })).changes === 1
    },
    async poll(zoneId, { codeDigest, clientId }, now) {
      if (!isStorable(codeDigest)) return { outcome: 'unknown' }
      const key = { zone_id: zoneId, code_digest: codeDigest, client_id: clientId }
      const timed = { ...key, now: now.getTime() }
      const [waiting] = (await db.write(POLL, timed)).rows
      if (waiting) return { outcome: waiting.expires_at > now.getTime() ? 'pending' : 'expired' }
      const [taken] = (await db.write(TAKE, timed)).rows
      if (taken) {
        if (taken.expires_at <= now.getTime()) return { outcome: 'expired' }
        if (taken.decision === null) return { outcome: 'denied' }
        return { outcome: 'approved', decision: toDecision(taken.decision) }
      }
      const [early] = (await db.write(SLOW_DOWN, timed)).rows
      if (!early) return { outcome: 'unknown' }
      return { outcome: early.expires_at > now.getTime() ? 'early' : 'expired' }
    },
    async undoPoll(zoneId, { codeDigest, clientId }, polledAt) {
      const key = { zone_id: zoneId, code_digest: codeDigest, client_id: clientId }
      await db.write(UNDO_TAKE, { ...key, seen: polledAt.getTime() })
    },
  }
}

const toRow = (
  zoneId: string,
  { scopes, resources, remoteAddress, userAgent, requestedAt, ...request }: DeviceRequest,
): DeviceRow => {
  const kept: StoredRequest = { scopes, resources, remoteAddress, userAgent, requestedAt: requestedAt.getTime() }
  return {
    zone_id: zoneId,
    code_digest: request.codeDigest,
    user_code_digest: request.userCodeDigest,
    client_id: request.clientId,
    request: toJson(kept),
    state: 'pending',
    decision: null,
    entries: 0,
    interval_seconds: POLL_SECONDS,
    polled_at: null,
    expires_at: request.expiresAt.getTime(),
  }
}

function toRequest(row: DeviceRow): DeviceRequest {
  const kept = fromJson<StoredRequest>(row.request)
  return {
    ...kept,
    requestedAt: new Date(kept.requestedAt),
    codeDigest: row.code_digest,
    userCodeDigest: row.user_code_digest,
    clientId: row.client_id,
    expiresAt: new Date(row.expires_at),
  }
}

function toDecision(text: string): DeviceDecision {
  const { authenticatedAt: time, ...decision } = fromJson<StoredDecision>(text)
  return { ...decision, ...(time !== UNKNOWN_TIME && { authenticatedAt: new Date(time) }) }
}
