// The stored audit trail: one chain of entries per zone, numbered from 1. The hash of an entry covers the one before it, so
// that changes, deletions and insertions can be detected.
import { isStorable } from '../../base/text/storable-text.ts'
import type { AuditEvent, AuditEventType } from './event.ts'

/** An event with its time, in the form in which it is stored and hashed. */
export interface AuditRecord {
  readonly type: AuditEventType
  /** Milliseconds since 1970. */
  readonly happenedAt: number
  /** The id of the affected user, client or record. */
  readonly principal: string
  readonly clientId: string | null
  readonly remoteAddress: string | null
  /** The id of the acting user, if not the principal. */
  readonly actor: string | null
  /** JSON of the other facts. */
  readonly facts: string
}

/** The facts that need no column of their own. */
type AuditFacts = Pick<AuditEvent, 'origin' | 'userAgent' | 'byOther' | 'authenticationType' | 'requestId' | 'data'>

/** A record with its place in the chain of its zone. */
export interface AuditEntry extends AuditRecord {
  readonly zoneId: string
  readonly number: number
  /** Covers the entry before it and this one. */
  readonly hash: string
}

/** A place in a chain: the number of an entry and its hash. */
export interface AuditPosition {
  readonly number: number
  readonly hash: string
}

/** The state of the chain of a zone besides its entries. */
export interface AuditChain {
  readonly zoneId: string
  /** The last entry that retention deleted; number 0 before the first. */
  readonly base: AuditPosition
  /** The newest entry. */
  readonly head: AuditPosition
  /** A keyed digest of all of this. */
  readonly seal: string
}

/** Whether the attempt succeeded that an event reports. */
export type AuditOutcome = 'success' | 'failure'

const FAILURES: ReadonlySet<AuditEventType> = new Set([
  'UserAuthenticationFailure',
  'UserNotFound',
  'UnverifiedUserAuthentication',
  'IdentityProviderAuthenticationFailure',
  'PrincipalAuthenticationFailure',
  'ClientAuthenticationFailure',
  'MfaAuthenticationFailure',
  'PasswordChangeFailure',
  'ClientJwtChangeFailure',
  'SecretChangeFailure',
  'TokenRefusedEvent',
  'AuditEventsLostEvent',
  'AuditTrailAlteredEvent',
])

/** The types of failures. */
export const FAILURE_TYPES: readonly AuditEventType[] = [...FAILURES]

/** The outcome that an event of this type reports. */
const outcomeOf = (type: AuditEventType): AuditOutcome => (FAILURES.has(type) ? 'failure' : 'success')

/** Whether anonymous callers can cause any number of events of this type. */
export const canBeAnonymous = (type: AuditEventType): boolean => FAILURES.has(type) || type === 'PasswordResetRequest'

const MAX_ID_LENGTH = 255
const MAX_DATA_LENGTH = 4000

/** The record of an event; shortened, and without what a database cannot store. */
export function auditRecordOf(event: AuditEvent, at: Date): AuditRecord {
  const { type, origin, userAgent, byOther, authenticationType, requestId, data } = event
  const facts: AuditFacts = {
    ...(origin !== undefined && { origin: kept(origin, MAX_ID_LENGTH) }),
    ...(userAgent !== undefined && { userAgent: kept(userAgent, MAX_ID_LENGTH) }),
    ...(byOther && { byOther }),
    ...(authenticationType !== undefined && { authenticationType: kept(authenticationType, MAX_ID_LENGTH) }),
    ...(requestId !== undefined && { requestId: kept(requestId, MAX_ID_LENGTH) }),
    ...(data !== undefined && { data: kept(data, MAX_DATA_LENGTH) }),
  }
  return {
    type,
    happenedAt: at.getTime(),
    principal: kept(principalOf(event), MAX_ID_LENGTH),
    clientId: event.clientId === undefined ? null : kept(event.clientId, MAX_ID_LENGTH),
    remoteAddress: event.remoteAddress === undefined ? null : kept(event.remoteAddress, MAX_ID_LENGTH),
    actor: event.actor === undefined || event.actor === event.principal ? null : kept(event.actor, MAX_ID_LENGTH),
    facts: JSON.stringify(facts),
  }
}

/** Revocations name client and user in one text; they are found by the user's id, or else by the client's. */
function principalOf({ type, principal }: AuditEvent): string {
  if (type !== 'TokenRevocationEvent') return principal
  const [, user] = /(?:^|,)userId:([^]*)$/.exec(principal) ?? []
  return user ?? principal.replace(/^clientId:/, '')
}

function kept(text: string, maxLength: number): string {
  const short = text.length > maxLength ? text.slice(0, maxLength) : text
  return isStorable(short) ? short : short.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The part of an entry that its hash covers, in addition to the hash before it. */
export const hashedText = (zoneId: string, number: number, record: AuditRecord): string =>
  JSON.stringify([
    zoneId,
    number,
    record.happenedAt,
    record.type,
    record.principal,
    record.clientId,
    record.remoteAddress,
    record.facts,
    ...(record.actor === null ? [] : [record.actor]),
  ])

/** An entry for programs: the answer of the API, and what webhooks are sent. */
export function auditEntryToJson({
  number,
  happenedAt,
  type,
  principal,
  clientId,
  remoteAddress,
  actor,
  facts,
  hash,
}: AuditEntry): Readonly<Record<string, unknown>> {
  return {
    number,
    time: new Date(happenedAt).toISOString(),
    type,
    outcome: outcomeOf(type),
    principal,
    ...(clientId !== null && { clientId }),
    ...(actor !== null && { actor }),
    ...(remoteAddress !== null && { remoteAddress }),
    ...readFacts(facts),
    hash,
  }
}

/** The row may have been altered. */
function readFacts(text: string): AuditFacts {
  try {
    const facts: unknown = JSON.parse(text)
    return typeof facts === 'object' && facts !== null && !Array.isArray(facts) ? facts : {}
  } catch {
    return {}
  }
}
