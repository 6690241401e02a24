import type { AuditOrigin } from '../model/event.ts'

/** Who asks for a change, for the audit trail. */
export interface Caller extends AuditOrigin {
  /** Where it is a person. */
  readonly userId?: string
  /** Whether they administer the whole server, and so may change copies of users in other zones. */
  readonly isServerAdmin?: boolean
}
