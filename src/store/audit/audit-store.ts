// The part of the store's interface that is about the audit trail.
import type { AuditChain, AuditEntry, AuditOutcome, AuditPosition } from '../../model/audit/audit-entry.ts'
import type { AuditWebhook } from '../../model/audit/audit-settings.ts'
import type { AuditEventType } from '../../model/audit/event.ts'

/** The stored state of a zone's chain, and its last entry. */
export interface AuditState {
  /** Absent before the first entry. */
  readonly chain: AuditChain | undefined
  readonly last: AuditPosition | undefined
  /** The number, in digits, of an entry that no trail can have; what `read` and `find` return does not include it. */
  readonly impossible?: string | undefined
}

/** Which entries to find; the newest come first. */
export interface AuditQuery {
  readonly principal?: string | undefined
  readonly actor?: string | undefined
  readonly clientId?: string | undefined
  readonly types?: readonly AuditEventType[] | undefined
  readonly outcome?: AuditOutcome | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** Only entries with a lower number. */
  readonly before?: number | undefined
  readonly count: number
}

/** A page of entries; it may have fewer than requested, or none, although others follow. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  /** The `before` of the next page; absent on the last one. */
  readonly next?: number
}

/** What one webhook has been sent of one zone. */
export interface AuditDelivery {
  readonly zoneId: string
  readonly webhook: string
  /** The number of the last entry that it has accepted. */
  readonly number: number
  /** Identifies the claim. */
  readonly claimedUntil: Date
  /** This one included. */
  readonly attempts: number
}

type WebhookZones = Pick<AuditWebhook, 'name' | 'zones'>

/** The audit trail; one chain for each zone. */
export interface AuditStore {
  /**
   * Appends the entries that `link` makes, with the new state of the chain, in one transaction; no other process appends to
   * the zone meanwhile. Does nothing if the zone does not exist. `link` may be called again after a conflict.
   */
  append(
    zoneId: string,
    link: (state: AuditState) => { readonly entries: readonly AuditEntry[]; readonly chain: AuditChain },
  ): Promise<void>
  /** Whether this entry is there, unless retention has deleted it. */
  has(zoneId: string, place: AuditPosition): Promise<boolean>
  /** The state of the chain; both parts are undefined where there is none. */
  state(zoneId: string): Promise<AuditState>
  /** At most `count` ids of zones and of chains, in order, after `after`. */
  listZones(page: { readonly count: number; readonly after?: string | undefined }): Promise<readonly string[]>
  /** At most `count` entries with a higher number than `after`, in order. */
  read(zoneId: string, page: { readonly after: number; readonly count: number }): Promise<readonly AuditEntry[]>
  find(zoneId: string, query: AuditQuery): Promise<AuditPage>
  /** At most 100 zones whose oldest entry is older than `before`. */
  listExpired(before: Date): Promise<readonly string[]>
  /**
   * Deletes a batch of the oldest entries: those up to the base that `choose` moves the chain to, and those that are left
   * from before the base. Returns the number of deleted entries.
   */
  shorten(
    zoneId: string,
    before: Date,
    choose: (chain: AuditChain, oldest: readonly AuditEntry[]) => AuditChain | undefined,
  ): Promise<number>
  /** Claims one zone that has entries for the webhook; no other process gets it before `until`. */
  claimDelivery(webhook: WebhookZones, now: Date, until: Date): Promise<AuditDelivery | undefined>
  /** Ends a claim: the webhook has accepted everything up to `number`. */
  finishDelivery(claimed: AuditDelivery, number: number): Promise<void>
  /** Ends a claim without a success. */
  retryDelivery(claimed: AuditDelivery, nextAttemptAt: Date): Promise<void>
  /** The entries that the webhook is still to be sent, of at most 1,000 zones, and when the oldest of them was written. */
  waiting(webhook: WebhookZones): Promise<{ readonly count: number; readonly since: Date | undefined }>
}
