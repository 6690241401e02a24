// Initial access tokens (RFC 7591 §3), which administrators give to callers that may register clients.
import { addSeconds, epochSeconds } from '../../base/clock.ts'
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { digest } from '../../base/secrets.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { RegistrationToken } from '../../model/clients/registration.ts'
import { isKeepable } from '../../records/kinds.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import type { ClientRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const MAX_TOKENS = 1000
const MAX_LABEL_LENGTH = 100
const DEFAULT_SECONDS = 24 * 3600
const MAX_SECONDS = 365 * 24 * 3600
const MAX_USES = 10_000
const TOKEN_LENGTH = 43

interface OfToken {
  readonly Params: { readonly id: string }
}

/** `/oauth/registration-tokens` and below. */
export function registrationTokenHandlers(
  on: On<ClientRoute>,
  { store, clock, random, audit }: Pick<AdminDeps, 'store' | 'clock' | 'random' | 'audit'>,
): void {
  const { registrations } = store

  on('GET /oauth/registration-tokens', async (request, reply) =>
    sendJson(reply, (await registrations.listTokens(request.zone.id)).map(toJson)),
  )

  on('POST /oauth/registration-tokens', async (request, reply) => {
    const { label, seconds, maxUses } = readTokenRequest(jsonBody(request))
    const token = random.urlSafe(TOKEN_LENGTH)
    const now = clock.now()
    const record: RegistrationToken = {
      id: random.uuid(),
      tokenDigest: digest(token),
      ...(label !== undefined && { label }),
      createdAt: now,
      expiresAt: addSeconds(now, seconds),
      maxUses,
      uses: 0,
    }
    const zoneId = request.zone.id
    if (!(await registrations.addToken(zoneId, record, MAX_TOKENS))) {
      throw new OAuthError({ error: 'invalid_request', status: 409 }, `The zone has ${MAX_TOKENS} tokens already`)
    }
    audit({ type: 'RegistrationTokenCreatedEvent', zoneId, principal: record.id, ...auditOriginOf(request) })
    // The only response that contains the token itself.
    return sendJson(reply.header('cache-control', 'no-store'), { ...toJson(record), token }, 201)
  })

  on<OfToken>('DELETE /oauth/registration-tokens/:id', async (request, reply) => {
    const { id } = request.params
    const zoneId = request.zone.id
    if (!(await registrations.deleteToken(zoneId, id))) throw new OAuthError('not_found', 'There is no such token')
    audit({ type: 'RegistrationTokenDeletedEvent', zoneId, principal: id, ...auditOriginOf(request) })
    return reply.status(204).send()
  })
}

const toJson = ({ id, label, createdAt, expiresAt, maxUses, uses }: RegistrationToken): JsonRecord => ({
  id,
  ...(label !== undefined && { label }),
  created_at: epochSeconds(createdAt),
  expires_at: epochSeconds(expiresAt),
  max_uses: maxUses,
  uses,
})

function readTokenRequest(sent: JsonRecord): { label: string | undefined; seconds: number; maxUses: number } {
  const label = memberOf(sent, 'label') ?? undefined
  const isLabel = typeof label === 'string' && label.length <= MAX_LABEL_LENGTH && isKeepable(label)
  if (label !== undefined && !isLabel) throw refuse('label', `a string of at most ${MAX_LABEL_LENGTH} characters`)
  return {
    label: isLabel ? label : undefined,
    seconds: wholeNumber(sent, 'expires_in', { max: MAX_SECONDS, unset: DEFAULT_SECONDS }),
    maxUses: wholeNumber(sent, 'max_uses', { max: MAX_USES, unset: 1 }),
  }
}

function wholeNumber(sent: JsonRecord, name: string, { max, unset }: { max: number; unset: number }): number {
  const value = memberOf(sent, name) ?? unset
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value
  throw refuse(name, `a whole number from 1 to ${max}`)
}

const refuse = (name: string, needed: string): OAuthError =>
  new OAuthError('invalid_request', `${name} must be ${needed}`)
