import type { Background } from '../base/concurrency/background.ts'
import type { OutboundByPurpose } from '../base/outbound.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Identity } from '../identity/identity.ts'
import type { DemandFinder } from '../identity/outstanding-demand.ts'
import type { GroupsOf } from '../identity/user-groups.ts'
import type { Vouching } from '../identity/vouched.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Subjects } from '../model/tokens/subject.ts'
import type { AuditTrail } from '../ops/audit/trail.ts'
import type { Log } from '../ops/log.ts'
import type { ForeignKeys } from '../token/foreign-keys.ts'
import type { TokenIssuer } from '../token/issuer.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { TokenReader } from '../token/reader.ts'
import type { Senders } from '../token/sender/sender.ts'
import type { Verifications } from '../token/verifications.ts'
import type { BearerGate } from '../web/callers/bearer.ts'
import type { WebDeps } from '../web/deps.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import type { Denial } from '../web/sessions/denial.ts'
import type { Sessions } from '../web/sessions/session.ts'
import type { SignInDemands } from '../web/sessions/sign-in-demands.ts'
import type { Cache } from '../base/cache.ts'
import type { MutualTlsSettings } from '../model/clients/mutual-tls.ts'

/** The parts of the server that these endpoints use; each takes from it what it uses. */
export interface OAuthDeps extends WebDeps {
  readonly log: Log
  /** Absent if client certificates are not read. */
  readonly mutualTls?: MutualTlsSettings | undefined
  /** Whether passkeys can be attested as hardware-bound (`phrh`). */
  readonly verifiesAttestation: boolean
  /** Absent if the audit trail is only in the log. */
  readonly trail: Pick<AuditTrail, 'flush'> | undefined
  /** Absent where the trail is not stored. */
  readonly recordEvent?: Audit | undefined
  readonly clientSecrets: Passwords
  readonly outbound: OutboundByPurpose
  /** Request objects at addresses that name the SHA-256 of the content in their fragment (OpenID Connect Core §6.2). */
  readonly fetchedObjects: Cache<{ readonly content: string }>
  readonly background: Background
  readonly keys: KeyRing
  readonly foreignKeys: ForeignKeys
  readonly senders: Senders
  readonly verifications: Verifications
  readonly subjects: Subjects
  readonly issuer: TokenIssuer
  readonly reader: TokenReader
  readonly identity: Identity
  readonly groupsOf: GroupsOf
  readonly findOutstandingDemand: DemandFinder
  readonly vouching: Vouching
  readonly bearerGate: BearerGate
  readonly csrf: Csrf
  readonly denial: Denial
  readonly sessions: Sessions
  readonly signInDemands: SignInDemands
}
