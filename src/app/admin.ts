// Assembles the management API.
import type { FastifyInstance } from 'fastify'
import { emailChangeEndpoints } from '../admin/accounts/email-changes.ts'
import { codeEndpoints, invitationEndpoints, passwordEndpoints } from '../admin/accounts/routes.ts'
import { approvalEndpoints } from '../admin/approvals/routes.ts'
import { auditEndpoint } from '../admin/audit/routes.ts'
import { clientInfoEndpoint } from '../admin/clients/client-info.ts'
import { clientEndpoints } from '../admin/clients/routes.ts'
import { groupEndpoints } from '../admin/groups/routes.ts'
import type { AdminDeps } from '../admin/deps.ts'
import { infoEndpoint } from '../admin/info.ts'
import { openApiEndpoints } from '../admin/openapi/openapi.ts'
import { providerEndpoints } from '../admin/providers/routes.ts'
import { scimEndpoints } from '../admin/scim/scim.ts'
import { userEndpoints } from '../admin/users/routes.ts'
import { zoneEndpoints } from '../admin/zones/routes.ts'
import type { Config } from '../config.ts'
import { SUPPORTED } from '../oauth/metadata.ts'
import type { Store } from '../store/store.ts'
import { createDefaultGroupFilter } from '../users/groups/default-group-filter.ts'
import { createGroupsShown } from '../users/groups/default-groups.ts'
import { createGroups } from '../users/groups/groups.ts'

/** The dependencies that are not derived from these others. */
interface AdminParts
  extends Omit<AdminDeps, 'policies' | 'mutualTls' | 'samlEntityId' | 'groups' | 'groupsShown' | 'inDefaultGroups'> {
  readonly config: Config
  /** Without clients described by metadata documents, which are not stored. */
  readonly stored: Store
}

/** Registers its routes; `app` prefixes each with the path of the base URL. */
export function assembleAdmin(app: FastifyInstance, parts: AdminParts): void {
  const { config } = parts
  const deps = {
    ...parts,
    policies: config.policies,
    mutualTls: config.mutualTls,
    samlEntityId: config.saml.entityId,
    groups: createGroups(parts),
    groupsShown: createGroupsShown(parts),
    inDefaultGroups: createDefaultGroupFilter(parts, 'scim'),
  }
  const ofStored = { ...deps, store: parts.stored }
  infoEndpoint(app, deps)
  clientInfoEndpoint(app, deps)
  clientEndpoints(app, ofStored)
  approvalEndpoints(app, deps)
  auditEndpoint(app, deps)
  codeEndpoints(app, deps)
  invitationEndpoints(app, ofStored)
  passwordEndpoints(app, deps)
  providerEndpoints(app, deps)
  userEndpoints(app, deps)
  emailChangeEndpoints(app, deps)
  groupEndpoints(app, deps)
  zoneEndpoints(app, ofStored)
  scimEndpoints(app, deps)
  openApiEndpoints(app, { ...deps, isRateLimited: config.rateLimit !== undefined, lists: SUPPORTED })
}
