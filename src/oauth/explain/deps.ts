import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import { createTokenReader } from '../../token/reader.ts'
import type { Senders } from '../../token/sender/sender.ts'
import type { Verifications } from '../../token/verifications.ts'
import type { PlanDeps } from '../../token/plan.ts'
import type { KeyRing } from '../../token/keys/keys.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { DecisionDeps } from '../grants/grant.ts'

/** The services that `ExplainDeps` is made of. */
export interface ExplainServices extends Omit<ExplainDeps, 'reader'> {
  readonly urls: Urls
  readonly senders: Senders
  readonly verifications: Verifications
}

/** Makes the dependencies of explanations. The store must not fetch client metadata documents. */
export const explainDeps = (services: ExplainServices): ExplainDeps => ({
  ...services,
  reader: createTokenReader(services),
})

/** Dependencies of explanations: services that decide, none that issues, counts, reports or contacts providers. */
export interface ExplainDeps extends DecisionDeps, Omit<PlanDeps, 'settings'> {
  readonly service: Service
  readonly settings: TokenSettings
  readonly keys: KeyRing
  /** Whether passkeys can be attested as hardware-bound (`phrh`). */
  readonly verifiesAttestation: boolean
  /** Absent where the audit trail is not stored. */
  readonly trail: { flush(): Promise<void> } | undefined
  /** Whether events have the id of their request. */
  readonly namesRequests: boolean
}
