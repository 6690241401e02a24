import { createTokenReader } from '../../token/reader.ts'
import type { PlanDeps } from '../../token/plan.ts'
import type { OAuthDeps } from '../deps.ts'
import type { DecisionDeps } from '../grants/grant.ts'

/** The services that `ExplainDeps` is made of. */
export type ExplainServices = Omit<ExplainDeps, 'reader'> & Pick<OAuthDeps, 'urls' | 'senders' | 'verifications'>

/** Makes the dependencies of explanations. The store must not fetch client metadata documents. */
export const explainDeps = (services: ExplainServices): ExplainDeps => ({
  ...services,
  reader: createTokenReader(services),
})

/** Dependencies of explanations: services that decide, none that issues, counts, reports or contacts providers. */
export interface ExplainDeps
  extends DecisionDeps,
    Omit<PlanDeps, 'settings'>,
    Pick<OAuthDeps, 'keys' | 'verifiesAttestation' | 'trail'> {
  /** Whether events have the id of their request. */
  readonly namesRequests: boolean
}
