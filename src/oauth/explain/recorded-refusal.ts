// Explains a refusal that the audit trail has: what was asked, why it was refused, and what the same request would get now.
import { isJsonRecord, memberOf, parseJson } from '../../base/json.ts'
import { auditEntryToJson } from '../../model/audit/audit-entry.ts'
import type { AuditEntry } from '../../model/audit/audit-entry.ts'
import { TOKEN_EXCHANGE, TOKEN_GRANT_TYPES } from '../../model/clients/grant-types.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { ExplainDeps } from './deps.ts'
import { emptyExplanation } from './explanation.ts'
import type { Explanation, RecordedEvent } from './explanation.ts'
import { explainPlanned } from './planned.ts'
import type { PlannedRequest } from './planned-request.ts'

/** Names an event: by its number, or by the request that caused it. */
interface RefusalQuestion {
  readonly requestId?: string
  readonly event?: number
}

/** The refused request, and the result that it would have now. Throws `not_found` with the reason where nothing is known. */
export async function explainRecorded(
  zone: AddressedZone,
  question: RefusalQuestion,
  deps: ExplainDeps,
): Promise<Explanation> {
  const { trail, namesRequests } = deps
  if (!trail) throw notFound('This server does not store the audit trail (audit.enabled), so refusals are not kept')
  if (question.requestId !== undefined && !namesRequests) {
    throw notFound('This server does not assign request ids (log.requests), so events have none: use event')
  }
  await trail.flush()
  const entry = await findEntry(zone, question, deps)
  const event = recordedEvent(entry)
  const facts = factsOf(event)
  const planned = facts && plannedFrom(entry, facts)
  const decision = auditEntryToJson(entry)['outcome'] === 'success' ? 'granted' : 'refused'
  const explanation = { ...emptyExplanation(decision), ...(planned && (await explainPlanned(zone, planned, deps))) }
  return {
    ...explanation,
    ...(!planned && { not_checked: [missingIn(entry, facts)] }),
    recorded: { ...event, ...(facts && { refusal: facts }) },
  }
}

const notFound = (description: string): OAuthError => new OAuthError('not_found', description)

/** Pages of failures that are searched for the id of a request. */
const MAX_PAGES = 10
const PAGE = 500

async function findEntry(
  zone: AddressedZone,
  { requestId, event }: RefusalQuestion,
  { store }: Pick<ExplainDeps, 'store'>,
): Promise<AuditEntry> {
  if (event !== undefined) {
    const { entries } = await store.audit.find(zone.id, { before: event + 1, count: 1 })
    const [entry] = entries
    if (entry?.number === event) return entry
    throw notFound(
      `The audit trail of the zone has no event ${event}: it is excluded, older than the retention period, or never existed`,
    )
  }
  let before: number | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { entries, next } = await store.audit.find(zone.id, { outcome: 'failure', count: PAGE, before })
    const own = entries.filter(entry => requestIdOf(entry) === requestId)
    const entry = own.find(({ type }) => type === 'TokenRefusedEvent') ?? own[0]
    if (entry) return entry
    if (next === undefined) break
    before = next
  }
  throw notFound('None of the newest failures in the audit trail of the zone has this request id')
}

const requestIdOf = ({ facts }: AuditEntry): unknown => memberOf(parseJson(facts), 'requestId')

function recordedEvent(entry: AuditEntry): RecordedEvent {
  const { requestId, data, userAgent, origin } = auditEntryToJson(entry)
  const { number, type, happenedAt, principal, clientId, remoteAddress } = entry
  const texts = {
    request_id: requestId,
    client_id: clientId,
    remote_address: remoteAddress,
    user_agent: userAgent,
    origin,
    data,
  }
  return {
    number,
    type,
    time: new Date(happenedAt).toISOString(),
    principal,
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => typeof value === 'string')),
  }
}

/** The text of a refusal. */
function factsOf({ type, data }: RecordedEvent): Readonly<Record<string, string>> | undefined {
  const facts = type === 'TokenRefusedEvent' && data !== undefined ? parseJson(data) : undefined
  if (!isJsonRecord(facts)) return undefined
  return Object.fromEntries(
    Object.entries(facts).filter((fact): fact is [string, string] => typeof fact[1] === 'string'),
  )
}

/** The same request, unless it needs a token that is not stored. */
function plannedFrom({ clientId }: AuditEntry, facts: Readonly<Record<string, string>>): PlannedRequest | undefined {
  const grantType = facts['grant_type'] ?? (facts['response_type'] === 'code' ? 'authorization_code' : undefined)
  if (clientId === null || grantType === undefined) return undefined
  if (!TOKEN_GRANT_TYPES.some(type => type === grantType) || NEEDS_TOKEN.has(grantType)) return undefined
  const { user_id: id, scope, resource, acr_values: acrValues } = facts
  return {
    clientId,
    grantType,
    ...(id !== undefined && { user: { id } }),
    scope,
    acrValues,
    ...(resource !== undefined && { resources: [resource] }),
  }
}

const NEEDS_TOKEN: ReadonlySet<string> = new Set(['refresh_token', TOKEN_EXCHANGE])

function missingIn({ type }: AuditEntry, facts: Readonly<Record<string, string>> | undefined): string {
  if (!facts) return `An event ${type} does not have the request: only TokenRefusedEvent does.`
  const grantType = facts['grant_type']
  if (grantType !== undefined && NEEDS_TOKEN.has(grantType)) {
    return `The current result of ${grantType}: the token that was sent is not stored. Send it as token.`
  }
  return 'The current result of the request: the event names no grant that can be planned.'
}
