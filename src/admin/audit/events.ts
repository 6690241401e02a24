// The stored audit trail of a zone, for auditors: newest first, by user, administrator, client, type, outcome and time.
import { timeOf } from '../../base/text/date-time.ts'
import { auditEntryToJson } from '../../model/audit/audit-entry.ts'
import type { AuditEventType } from '../../model/audit/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AuditQuery } from '../../store/store.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Form } from '../../web/requests/form.ts'
import { sendJson } from '../../web/requests/json.ts'
import { queryForm, refuseRepeated } from '../../web/requests/query.ts'
import type { AuditRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const DEFAULT_COUNT = 100
const MAX_COUNT = 500
const MAX_TYPES = 20
const ONCE: readonly string[] = ['principal', 'actor', 'client_id', 'outcome', 'from', 'to', 'before', 'count']

/** Answers `GET /audit/events`, including the events of this process that are not stored yet. */
export function auditHandlers(on: On<AuditRoute>, { store, behaviour, trail }: AdminDeps): void {
  on('GET /audit/events', async (request, reply) => {
    if (!trail) throw new OAuthError('not_found', 'This server does not store the audit trail')
    const query = queryForm(request)
    refuseRepeated(query, ONCE, behaviour)
    refuseUnknown(query)
    const wanted = readQuery(query)
    await trail.flush()
    const { entries, next } = await store.audit.find(request.zone.id, wanted)
    const answer = { events: entries.map(auditEntryToJson), ...(next !== undefined && { next }) }
    return sendJson(reply.header('cache-control', 'no-store'), answer)
  })
}

/** Refuses unknown parameters: a mistyped filter would return unrelated events. */
function refuseUnknown({ names }: Form): void {
  const unknown = names.find(name => name !== 'type' && !ONCE.includes(name))
  if (unknown === undefined) return
  const known = [...ONCE, 'type'].join(', ')
  throw new OAuthError('invalid_request', `Unknown parameter ${unknown.slice(0, 100)}: use ${known}`)
}

function readQuery(query: Form): AuditQuery {
  const outcome = query.get('outcome') || undefined
  if (outcome !== undefined && outcome !== 'success' && outcome !== 'failure') {
    throw refuse('outcome', 'success or failure')
  }
  const types = query.all('type').filter(type => type !== '')
  if (types.length > MAX_TYPES) throw refuse('type', `given at most ${MAX_TYPES} times`)
  return {
    principal: query.get('principal') || undefined,
    actor: query.get('actor') || undefined,
    clientId: query.get('client_id') || undefined,
    types: types as readonly AuditEventType[], // only compared
    outcome,
    from: timeIn(query, 'from'),
    to: timeIn(query, 'to'),
    before: integerIn(query, 'before', Number.MAX_SAFE_INTEGER),
    count: integerIn(query, 'count', MAX_COUNT) ?? DEFAULT_COUNT,
  }
}

function timeIn(query: Form, name: string): Date | undefined {
  const text = query.get(name) || undefined
  if (text === undefined) return undefined
  const time = timeOf(text)
  if (time === undefined) throw refuse(name, 'a time such as 2026-01-31T12:00:00Z')
  return new Date(time)
}

function integerIn(query: Form, name: string, max: number): number | undefined {
  const text = query.get(name) || undefined
  if (text === undefined) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > max) throw refuse(name, `a whole number from 1 to ${max}`)
  return number
}

const refuse = (name: string, needed: string): OAuthError =>
  new OAuthError('invalid_request', `${name} must be ${needed}`)
