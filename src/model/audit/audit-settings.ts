import type { AuditEventType } from './event.ts'

/** A program that is sent the audit trail. */
export interface AuditWebhook {
  /** What it has received is kept under this name. */
  readonly name: string
  readonly url: string
  /** Signs what is sent. */
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
