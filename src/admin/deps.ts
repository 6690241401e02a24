import type { DescribeServer } from './info.ts'
import type { OutboundByPurpose } from '../base/outbound.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Directories } from '../identity/directory/directory.ts'
import type { GroupsOf } from '../identity/user-groups.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { AuditTrail } from '../ops/audit/trail.ts'
import type { Log } from '../ops/log.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { CommonPasswords } from '../users/common-passwords.ts'
import type { Users } from '../users/users.ts'
import type { WebDeps } from '../web/deps.ts'
import type { RegisteredRoute } from '../web/route.ts'
import type { GlobalPolicies } from '../model/zones/identity-provider.ts'
import type { MutualTlsSettings } from '../model/clients/mutual-tls.ts'
import type { Groups } from '../users/groups/groups.ts'
import type { GroupsShown } from '../users/groups/default-groups.ts'
import type { DefaultGroupFilter } from '../users/groups/default-group-filter.ts'

/** The parts of the server that this API uses; each endpoint takes from it what it uses. */
export interface AdminDeps extends WebDeps {
  readonly log: Log
  /** Version of this program. */
  readonly version: string
  /** The server's policies, for internal providers without their own. */
  readonly policies: GlobalPolicies
  /** Absent: no certificates are requested. */
  readonly mutualTls?: MutualTlsSettings | undefined
  /** Absent if the audit trail is only in the log. */
  readonly trail: Pick<AuditTrail, 'flush'> | undefined
  readonly defaultZoneId: string
  readonly passwords: Passwords
  readonly commonPasswords: CommonPasswords
  readonly clientSecrets: Passwords
  readonly outbound: OutboundByPurpose
  readonly mailer: Mailer
  readonly keys: KeyRing
  readonly directories: Directories
  readonly users: Users
  readonly groups: Groups
  readonly groupsShown: GroupsShown
  readonly inDefaultGroups: DefaultGroupFilter
  readonly groupsOf: GroupsOf
  readonly serverInfo: DescribeServer
  /** Every route of the server, which the API describes. */
  readonly routes: readonly RegisteredRoute[]
}
