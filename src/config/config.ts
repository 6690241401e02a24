import type { HashCost } from '../base/passwords.ts'
import type { CompatibilityMode } from '../model/compatibility.ts'
import type { SystemCors } from '../model/cors-policy.ts'
import type { RateLimitSettings } from '../model/rate-limit.ts'
import type { PageSettings, TokenSettings } from '../model/settings.ts'
import type { ZoneConfig } from '../model/zone.ts'
import type { OperationsSettings } from './operations.ts'
import type { Bootstrap } from './records.ts'
import type { SigningKeys } from './signing-keys.ts'

/** Everything that a start needs to know. */
export interface Config {
  /** Without a trailing slash. With port 0 and no base URL given it ends in `:0` until the port is known. */
  readonly baseUrl: string
  readonly listen: { readonly host: string; readonly port: number; readonly trustedProxies: readonly string[] }
  /** `sqlite:<path>`, `sqlite::memory:` or `postgres://…`. */
  readonly database: string
  readonly workers: number
  /** The service name, `svc` unless told otherwise. */
  readonly service: string
  readonly compatibility: CompatibilityMode
  /** Whether there is no configuration file, and the accounts are the public ones. */
  readonly playground: boolean
  /** 32 bytes; absent: `masterKeyFor` finds or makes one. */
  readonly masterKey?: Buffer
  readonly sessionSameSite: 'lax' | 'none'
  readonly smtp?: SmtpConfig
  /** Keys of the default zone; absent: one is made and kept in the database. */
  readonly signingKeys?: SigningKeys
  readonly saml: { readonly entityId: string }
  /** Whether addresses that clients and providers name may lead into private networks. */
  readonly outbound: { readonly allowPrivate: boolean }
  /** Of passwords and client secrets. */
  readonly hashCost: HashCost
  /** Of requests by pages of other origins. */
  readonly cors: SystemCors
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  /** Absent: nothing is limited but what always is. */
  readonly rateLimit?: RateLimitSettings
  readonly operations: OperationsSettings
  /** The configuration file, absolute; absent in the playground. */
  readonly file?: string
  /** Settings of the default zone, without keys. */
  readonly zoneConfig: ZoneConfig
  readonly bootstrap: Bootstrap
  /** Sentences for the operator: usable, but probably not meant. */
  readonly warnings: readonly string[]
}

/** How mail is sent. */
export interface SmtpConfig {
  readonly host: string
  readonly port: number
  readonly from: string
  readonly user?: string
  readonly password?: string
  /** TLS from the first byte. */
  readonly secure: boolean
  /** Refuse to send without an upgrade to TLS. */
  readonly starttls: boolean
}
