// The work of `latchkey explain`: the same explanations as the API gives, from the database itself.
import { refuseForeignDatabase } from '../../bootstrap.ts'
import type { Config } from '../../config.ts'
import { createDemandFinder } from '../../identity/outstanding-demand.ts'
import { createGroupsOf } from '../../identity/user-groups.ts'
import { behaviourOf } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { serviceNamed } from '../../model/service.ts'
import { createSubjects } from '../../model/tokens/subject.ts'
import { createUrls } from '../../model/urls.ts'
import { explainDeps } from '../../oauth/explain/deps.ts'
import type { ExplainDeps } from '../../oauth/explain/deps.ts'
import { explain } from '../../oauth/explain/explain.ts'
import { createKeyRing } from '../../token/keys/keys.ts'
import { createDpopNonces } from '../../token/sender/dpop-nonce.ts'
import { createSenders } from '../../token/sender/sender.ts'
import { createVerifications } from '../../token/verifications.ts'
import { withGlobalPolicies } from '../../users/global-policies.ts'
import { CommandFailure } from '../command.ts'
import type { ExplainCall } from './explain.ts'
import { explanationTable } from './explanation-table.ts'
import { openStorageBeside } from '../database/storage.ts'
import type { Storage } from '../database/storage.ts'

/** Answers the question. */
export async function runExplain(config: Config, { zoneId, question, asJson }: ExplainCall): Promise<string> {
  const storage = await openStorageBeside(config)
  try {
    await refuseForeignDatabase({ ...storage, config })
    const id = zoneId ?? config.service
    const zone = await storage.store.zones.find(id)
    if (!zone) throw new CommandFailure(`there is no zone ${id}`)
    const explanation = await explain({ ...zone, address: 'host' }, question, servicesOf(config, storage))
    return asJson ? `${JSON.stringify(explanation, undefined, 2)}\n` : explanationTable(explanation)
  } catch (error) {
    throw error instanceof OAuthError ? new CommandFailure(error.message, { cause: error }) : error
  } finally {
    await storage.store.close()
  }
}

function servicesOf(config: Config, { vault, clock, random, ...storage }: Storage): ExplainDeps {
  const behaviour = behaviourOf(config.compatibility)
  const service = serviceNamed(config.service)
  const { mutualTls, settings } = config
  const store = withGlobalPolicies(storage.store, config.service, config.policies)
  const urls = createUrls(config.baseUrl, behaviour, mutualTls?.endpointBase)
  const shared = { store, clock, random, urls, service, behaviour, settings, mutualTls }
  const groupsOf = createGroupsOf(shared)
  return explainDeps({
    ...shared,
    keys: createKeyRing({ store, vault, clock, random, defaultZoneId: service.name }),
    subjects: createSubjects({ vault, behaviour }),
    senders: createSenders({ ...shared, nonces: createDpopNonces({ vault, clock }) }),
    verifications: createVerifications(),
    groupsOf,
    findOutstandingDemand: createDemandFinder({ ...shared, groupsOf }),
    verifiesAttestation: config.passkeys.attestationRoots !== undefined,
    // A running server writes its events within a quarter of a second.
    trail: config.audit && { flush: () => Promise.resolve() },
    namesRequests: config.log.requests !== 'none',
  })
}
