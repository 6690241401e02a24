import type { HashCost } from '../base/passwords.ts'
import type { AuditSettings } from '../model/audit/audit-settings.ts'
import type { CompatibilityMode } from '../model/compatibility.ts'
import type { SystemCors } from '../model/zones/cors-policy.ts'
import type { GlobalPolicies } from '../model/zones/identity-provider.ts'
import type { SmtpSettings } from '../model/mail.ts'
import type { MutualTlsSettings } from '../model/clients/mutual-tls.ts'
import type { RateLimitSettings } from '../model/zones/rate-limit.ts'
import type { PageSettings, TokenSettings } from '../model/zones/settings.ts'
import type { ZoneConfig } from '../model/zones/zone.ts'
import type { DatabaseSettings } from './sections/database.ts'
import type { Environment } from './environment.ts'
import type { LogSettings } from './sections/log.ts'
import type { MasterKeySource } from './keys/master-key.ts'
import type { OperationsSettings } from './sections/operations.ts'
import type { PasskeySettings } from './sections/passkeys.ts'
import type { Bootstrap } from './records/records.ts'
import type { SamlSettings } from './sections/saml.ts'
import type { SigningKeys } from './keys/signing-keys.ts'
import type { ManagementSettings } from './sections/management.ts'
import type { TlsSettings } from './sections/tls.ts'

/** The validated configuration. */
export interface Config {
  /** Without a trailing slash. With port 0 and no base URL given it ends in `:0` until the port is known. */
  readonly baseUrl: string
  readonly listen: {
    readonly host: string
    readonly port: number
    readonly trustedProxies: readonly string[]
    /** Absent: plain HTTP. */
    readonly tls?: TlsSettings
    /** Absent: metrics are not collected. */
    readonly management?: ManagementSettings
  }
  /** `sqlite:<path>`, `sqlite::memory:` or `postgres://…`. */
  readonly database: string
  readonly databaseOptions: DatabaseSettings
  readonly workers: number
  /** The service name; `svc` by default. */
  readonly service: string
  readonly compatibility: CompatibilityMode
  /** Whether the server runs without a configuration file, with public accounts. */
  readonly playground: boolean
  /** The environment of programs that the server runs. */
  readonly programEnv: Environment
  /** If absent, `masterKeysFor` reads or creates a file next to the database. */
  readonly masterKey?: MasterKeySource
  readonly sessionSameSite: 'lax' | 'none'
  /** If absent, mails are kept and logged, not sent. */
  readonly smtp?: SmtpSettings
  /** Keys of the default zone; if absent, one is generated and stored. */
  readonly signingKeys?: SigningKeys
  readonly saml: SamlSettings
  readonly passkeys: PasskeySettings
  /** Absent: no certificate of a client is read. */
  readonly mutualTls?: MutualTlsSettings
  /** Whether URLs of clients and providers may point to private networks. */
  readonly outbound: { readonly allowPrivate: boolean }
  /** Hashing cost of passwords and client secrets. */
  readonly hashCost: HashCost
  /** The policy of cross-origin requests. */
  readonly cors: SystemCors
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  /** For zones whose internal provider has no policy of its own. */
  readonly policies: GlobalPolicies
  /** If absent, only the built-in limits apply. */
  readonly rateLimit?: RateLimitSettings
  readonly operations: OperationsSettings
  readonly log: LogSettings
  /** Whether requests have spans of OpenTelemetry. */
  readonly tracing: boolean
  /** Absent: the audit trail is only written to the log. */
  readonly audit?: AuditSettings
  /** The configuration file, absolute; absent in the playground. */
  readonly file?: string
  /** Settings of the default zone, without keys. */
  readonly zoneConfig: ZoneConfig
  readonly bootstrap: Bootstrap
  /** Warnings for the operator about valid but probably unintended settings. */
  readonly warnings: readonly string[]
}
