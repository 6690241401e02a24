import type { AuditEventType } from './event.ts'

/** A webhook that receives the audit trail. */
export interface AuditWebhook {
  /** Its position in the trail is stored under this name. */
  readonly name: string
  readonly url: string
  /** Signs the requests. */
  readonly key: Buffer
  /** Ids of zones; absent: all. */
  readonly zones?: readonly string[]
}

/** How the audit trail is stored. */
export interface AuditSettings {
  /** How long entries are kept. */
  readonly days: number
  /** Types that are not stored. */
  readonly excluded: readonly AuditEventType[]
  readonly webhooks: readonly AuditWebhook[]
}
