// Assembles the management API.
import type { FastifyInstance } from 'fastify'
import { emailChangeEndpoints } from '../admin/accounts/email-changes.ts'
import { codeEndpoints, invitationEndpoints, passwordEndpoints } from '../admin/accounts/routes.ts'
import { approvalEndpoints } from '../admin/approvals/routes.ts'
import { auditEndpoint } from '../admin/audit/routes.ts'
import { clientInfoEndpoint } from '../admin/clients/client-info.ts'
import { clientEndpoints } from '../admin/clients/routes.ts'
import { groupEndpoints } from '../admin/groups/routes.ts'
import { infoEndpoint } from '../admin/info.ts'
import type { DescribeServer } from '../admin/info.ts'
import { openApiEndpoints } from '../admin/openapi/openapi.ts'
import { providerEndpoints } from '../admin/providers/routes.ts'
import { scimEndpoints } from '../admin/scim/scim.ts'
import { userEndpoints } from '../admin/users/routes.ts'
import { zoneEndpoints } from '../admin/zones/routes.ts'
import type { Clock } from '../base/clock.ts'
import type { OutboundByPurpose } from '../base/outbound.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { Config } from '../config.ts'
import type { Directories } from '../identity/directory/directory.ts'
import type { GroupsOf } from '../identity/user-groups.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Service } from '../model/service.ts'
import type { PageSettings, TokenSettings } from '../model/zones/settings.ts'
import type { Urls } from '../model/urls.ts'
import { SUPPORTED } from '../oauth/metadata.ts'
import type { AuditTrail } from '../ops/audit/trail.ts'
import type { Log } from '../ops/log.ts'
import type { Store } from '../store/store.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { CommonPasswords } from '../users/common-passwords.ts'
import { createDefaultGroupFilter } from '../users/groups/default-group-filter.ts'
import { createGroupsShown } from '../users/groups/default-groups.ts'
import { createGroups } from '../users/groups/groups.ts'
import type { Users } from '../users/users.ts'
import type { Assets } from '../web/assets.ts'
import type { Limits } from '../web/limits/limits.ts'
import type { PageWriter } from '../web/pages.ts'
import type { RegisteredRoute } from '../web/route.ts'

/** Dependencies of this API. */
interface AdminParts {
  readonly config: Config
  readonly store: Store
  /** Without clients described by metadata documents, which are not stored. */
  readonly stored: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly log: Log
  /** Version of this program. */
  readonly version: string
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  readonly audit: Audit
  /** Absent if the audit trail is only in the log. */
  readonly trail: AuditTrail | undefined
  readonly defaultZoneId: string
  readonly passwords: Passwords
  readonly commonPasswords: CommonPasswords
  readonly clientSecrets: Passwords
  readonly outbound: OutboundByPurpose
  readonly mailer: Mailer
  readonly keys: KeyRing
  readonly directories: Directories
  readonly users: Users
  readonly groupsOf: GroupsOf
  readonly authenticator: ClientAuthenticator
  readonly assets: Assets
  readonly limits: Limits
  readonly pages: PageWriter
  readonly serverInfo: DescribeServer
  /** Every route of the server, which the API describes. */
  readonly routes: readonly RegisteredRoute[]
}

/** Registers its routes; `app` prefixes each with the path of the base URL. */
export function assembleAdmin(app: FastifyInstance, given: AdminParts): void {
  const { config, stored } = given
  const parts = { ...given, mutualTls: config.mutualTls, samlEntityId: config.saml.entityId }
  infoEndpoint(app, parts)
  clientInfoEndpoint(app, parts)
  clientEndpoints(app, { ...parts, store: stored })
  approvalEndpoints(app, parts)
  auditEndpoint(app, parts)
  codeEndpoints(app, parts)
  invitationEndpoints(app, { ...parts, store: stored })
  passwordEndpoints(app, parts)
  providerEndpoints(app, { ...parts, policies: config.policies, outbound: given.outbound.for('provider') })
  userEndpoints(app, parts)
  emailChangeEndpoints(app, parts)
  const groups = createGroups(parts)
  groupEndpoints(app, { ...parts, groups })
  zoneEndpoints(app, { ...parts, store: stored })
  const inDefaultGroups = createDefaultGroupFilter(parts, 'scim')
  scimEndpoints(app, { ...parts, groups, groupsShown: createGroupsShown(parts), inDefaultGroups })
  openApiEndpoints(app, { ...parts, isRateLimited: config.rateLimit !== undefined, lists: SUPPORTED })
}
