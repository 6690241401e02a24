// The stored audit trail of a process: loaded only where the configuration turns it on.
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound.ts'
import type { AuditSettings } from '../../model/audit/audit-settings.ts'
import type { Audit } from '../../model/audit/event.ts'
import type { Store } from '../../store/store.ts'
import type { AuditHashes } from './chain.ts'
import { createAuditRecorder } from './recorder.ts'
import type { AuditRecorder } from './recorder.ts'
import { deleteExpired } from './retention.ts'
import { createAuditWebhooks } from './webhooks.ts'
import type { WebhookTotals } from './webhooks.ts'

/** The stored trail, with what one process of a server does for all. */
export interface AuditTrail extends AuditRecorder {
  /** Deletes a batch of entries that expired before `now`; returns their number. */
  deleteExpired(now?: Date): Promise<number>
  readonly hasWebhooks: boolean
  /** Sends due entries to the webhooks that no earlier call still serves; starts no delivery after the signal is aborted. */
  deliver(signal?: AbortSignal): Promise<void>
  /** For metrics. */
  webhookTotals(): Promise<readonly WebhookTotals[]>
}

/** Dependencies of `createAuditTrail`. */
export interface AuditTrailDeps {
  readonly store: Pick<Store, 'audit' | 'now'>
  readonly hashes: AuditHashes
  readonly outbound: Outbound
  readonly clock: Clock
  readonly settings: AuditSettings
  readonly requestId?: (() => string | undefined) | undefined
  readonly audit?: Audit | undefined
  readonly log: { warn(message: string): void; fault(message: string, cause: unknown): void }
}

/** One instance serves every zone. */
export function createAuditTrail(deps: AuditTrailDeps): AuditTrail {
  const { store, hashes, clock, settings } = deps
  const sender = createAuditWebhooks({ ...deps, webhooks: settings.webhooks })
  return {
    ...createAuditRecorder({ ...deps, excluded: new Set(settings.excluded) }),
    hasWebhooks: settings.webhooks.length > 0,
    deleteExpired: (now = clock.now()) => deleteExpired({ store, hashes }, now, settings.days),
    deliver: signal => sender.deliver(signal),
    webhookTotals: () => sender.totals(),
  }
}
