import type { AccessTokenType } from '../records/client.ts'
import { MAX_SECONDS } from '../records/kinds.ts'

/** An isolated realm with its own clients, users, keys and issuer, found by the host name or the path of a request. */
export interface Zone {
  readonly id: string
  /** Lower case; empty for the default zone. */
  readonly subdomain: string
  /** Set by a request that found the zone by its path, and never stored: its URLs are to stay there. */
  readonly address?: 'path'
  readonly name: string
  readonly description?: string
  readonly active: boolean
  readonly version: number
  readonly config: ZoneConfig
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A zone's settings in the shape of the zone API; an absent member has the default of the functions below. */
export interface ZoneConfig {
  readonly tokenPolicy?: TokenPolicy
  readonly samlConfig?: SamlConfig
  readonly branding?: Branding
  readonly links?: ZoneLinks
  readonly prompts?: readonly Prompt[]
  readonly userConfig?: UserConfig
  /** Which pages of other origins may call the zone; an absent part is that of the server. */
  readonly corsPolicy?: CorsPolicy | null
  /** Base of the issuer instead of the zone's own URL. */
  readonly issuer?: string
  /** Origin of the provider that takes passwords when nothing else chooses one. */
  readonly defaultIdentityProvider?: string
  /** Members that have no effect yet are kept as they were written. */
  readonly [other: string]: unknown
}

/** Lifetimes in seconds and the policies of refresh tokens; -1 means not set. */
export interface TokenPolicy {
  readonly accessTokenValidity?: number
  readonly refreshTokenValidity?: number
  readonly jwtRevocable?: boolean
  readonly refreshTokenUnique?: boolean
  readonly refreshTokenRotate?: boolean
  readonly refreshTokenFormat?: 'opaque' | 'jwt'
  /** The `typ` of JWT access tokens, `JWT` unless set (row T7). */
  readonly accessTokenType?: AccessTokenType
  readonly activeKeyId?: string
}

/** The SAML service provider of the zone. */
export interface SamlConfig {
  /** Instead of the one that is made of the server's and the subdomain. */
  readonly entityID?: string | null
  readonly activeKeyId?: string | null
  readonly keys?: Readonly<Record<string, SamlKey>>
}

/** A key pair of the service provider; what signs is readable only with the master key. */
export interface SamlKey {
  /** Sealed: PKCS#8 PEM. */
  readonly sealedKey: string
  /** X.509 certificates in PEM, its own first. */
  readonly certificate: string
}

/** Cross-origin resource sharing: for requests that say they are an XMLHttpRequest, and for all others. */
export interface CorsPolicy {
  readonly xhrConfiguration?: CorsConfiguration | null
  readonly defaultConfiguration?: CorsConfiguration | null
}

/** One part of the policy; the patterns are regular expressions for the whole origin and the whole path. */
export interface CorsConfiguration {
  readonly allowedOrigins?: readonly string[] | null
  readonly allowedOriginPatterns?: readonly string[] | null
  readonly allowedUris?: readonly string[] | null
  readonly allowedUriPatterns?: readonly string[] | null
  readonly allowedHeaders?: readonly string[] | null
  readonly allowedMethods?: readonly string[] | null
  /** Whether a page may call with the person's cookies. */
  readonly allowedCredentials?: boolean | null
  /** Seconds that a browser may keep the answer to a preflight. */
  readonly maxAge?: number | null
}

/** What a zone's pages look like; logos are base64 PNG. */
export interface Branding {
  readonly companyName?: string
  readonly productLogo?: string
  readonly squareLogo?: string
  readonly footerLegalText?: string
  readonly footerLinks?: Readonly<Record<string, string>>
  readonly banner?: {
    readonly text?: string
    readonly logo?: string
    readonly link?: string
    readonly textColor?: string
    readonly backgroundColor?: string
  }
  /** What a person has to agree to before getting an account; the text is never blank. */
  readonly consent?: { readonly text?: string; readonly link?: string }
}

/** Where a zone's pages lead. */
export interface ZoneLinks {
  readonly selfService?: {
    readonly selfServiceLinksEnabled?: boolean
    readonly signup?: string | null
    readonly passwd?: string | null
  }
  readonly homeRedirect?: string | null
  readonly logout?: {
    readonly redirectUrl?: string
    readonly redirectParameterName?: string
    readonly whitelist?: readonly string[] | null
  }
}

/** One field of the sign-in form. */
export interface Prompt {
  readonly name: string
  readonly type: string
  readonly text: string
}

/** What every user of a zone gets and may get. */
export interface UserConfig {
  readonly defaultGroups?: readonly string[]
  /** When present, users have only these groups and the default ones. */
  readonly allowedGroups?: readonly string[] | null
  /** -1 is no limit. */
  readonly maxUsers?: number
}

/** Names of the groups that every user of the zone has (`userConfig.defaultGroups`). */
export const defaultGroups = ({ config }: Pick<Zone, 'config'>, serviceName: string): readonly string[] =>
  config.userConfig?.defaultGroups ?? usualDefaultGroups(serviceName)

/** What `defaultGroups` is where the zone says nothing. */
export const usualDefaultGroups = (serviceName: string): readonly string[] => [
  'openid',
  'password.write',
  `${serviceName}.user`,
  'approvals.me',
  'profile',
  'roles',
  'user_attributes',
  `${serviceName}.offline_token`,
]

/**
 * The zone's SAML entity id: its own, or the server's with the subdomain in front. It ends the URL of the bearer endpoint.
 */
export function samlEntityIdOf({ config, subdomain }: Zone, serverEntityId: string): string {
  const own = config.samlConfig?.entityID ?? ''
  if (own.trim() !== '') return own
  return subdomain === '' ? serverEntityId : `${subdomain}.${serverEntityId}`
}

/** The zone's own lifetime when it is set, that is present and not -1 (nor anything else that is no lifetime). */
export function setting(value: number | undefined): number | undefined {
  return value !== undefined && value >= 1 && value <= MAX_SECONDS ? value : undefined
}

/** A link of the zone with its variables filled in: `{zone.id}` and `{zone.subdomain}`. */
export const linkOf = (zone: Zone, link: string): string =>
  link
    .replaceAll('{zone.id}', encodeURIComponent(zone.id))
    .replaceAll('{zone.subdomain}', encodeURIComponent(zone.subdomain))

/** Pages for who has no account, and for who forgot the password. */
export interface SelfServiceLinks {
  readonly signup?: string
  readonly passwd?: string
}

/** The zone's own links, else those that all zones share; none where the zone switched them off. */
export function selfServiceLinks(zone: Zone, shared: SelfServiceLinks): SelfServiceLinks {
  const { selfServiceLinksEnabled, ...own } = zone.config.links?.selfService ?? {}
  if (selfServiceLinksEnabled === false) return {}
  const signup = own.signup || shared.signup
  const passwd = own.passwd || shared.passwd
  return { ...(signup && { signup: linkOf(zone, signup) }), ...(passwd && { passwd: linkOf(zone, passwd) }) }
}

const DEFAULT_PROMPTS: readonly Prompt[] = [
  { name: 'username', type: 'text', text: 'Email' },
  { name: 'password', type: 'password', text: 'Password' },
]

/** The fields of the zone's sign-in form. */
export const promptsOf = (zone: Zone): readonly Prompt[] => zone.config.prompts ?? DEFAULT_PROMPTS
