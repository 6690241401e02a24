// Recent events of an account as shown to its owner: a small, temporary part of the audit trail.
import { canonicalAddress, withoutPort } from '../../base/network-address.ts'
import { ALL_REVOKED } from '../audit/event.ts'
import type { AuditEvent, AuditEventType } from '../audit/event.ts'

/** The type of an event. */
export type AccountEventType =
  | 'signed-in'
  | 'sign-in-failed'
  | 'password-changed'
  | 'email-changed'
  | 'details-changed'
  | 'unlocked'
  | 'sessions-ended'
  | 'access-changed'
  | 'access-revoked'
  | 'second-factor-failed'
  | 'factor-added'
  | 'factor-changed'
  | 'factor-removed'

/** One event of one account. */
export interface AccountEvent {
  readonly userId: string
  readonly type: AccountEventType
  readonly at: Date
  /** Whether an administrator or a client did it for the user; it then has neither address nor device. */
  readonly byOther: boolean
  readonly remoteAddress?: string
  /** See `keptUserAgent`. */
  readonly userAgent?: string
  /** The client that the user signed in to, or whose approvals changed. */
  readonly clientId?: string
}

/** Each type has its own limit: failed sign-ins, which anonymous callers can cause, displace no other events. */
export const MAX_EVENTS_PER_TYPE = 10
/** Older events are purged. */
export const ACCOUNT_EVENT_DAYS = 90

const TYPES: Readonly<Partial<Record<AuditEventType, AccountEventType>>> = {
  UserAuthenticationSuccess: 'signed-in',
  UserAuthenticationFailure: 'sign-in-failed',
  PasswordChangeSuccess: 'password-changed',
  EmailChangedEvent: 'email-changed',
  UserModifiedEvent: 'details-changed',
  UserAccountUnlockedEvent: 'unlocked',
  SessionsEndedEvent: 'sessions-ended',
  ApprovalModifiedEvent: 'access-changed',
  MfaAuthenticationFailure: 'second-factor-failed',
  MfaFactorAddedEvent: 'factor-added',
  MfaFactorModifiedEvent: 'factor-changed',
  MfaFactorRemovedEvent: 'factor-removed',
}
/** Events whose client matters to the user. */
const WITH_CLIENT: ReadonlySet<AccountEventType> = new Set(['signed-in', 'access-changed', 'access-revoked'])

/** The part of an audit event that the owner of the account sees; undefined for none. Cheap for all other events. */
export function accountEventOf(event: AuditEvent, at: Date): AccountEvent | undefined {
  const shown = TYPES[event.type]
  if (shown === undefined) return undefined
  const type = shown === 'access-changed' && event.data?.startsWith(ALL_REVOKED) ? 'access-revoked' : shown
  const byOther = event.byOther === true
  const { clientId, userAgent } = event
  const remoteAddress = canonicalAddress(withoutPort(event.remoteAddress ?? ''))
  return {
    userId: event.principal,
    type,
    at,
    byOther,
    // The address of an administrator must not be shown to the user.
    ...(!byOther && remoteAddress !== undefined && { remoteAddress }),
    ...(!byOther && userAgent !== undefined && { userAgent }),
    ...(clientId !== undefined && WITH_CLIENT.has(type) && { clientId }),
  }
}
