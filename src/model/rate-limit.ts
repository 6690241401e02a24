/** The rate limiter as its operator configured it (`ratelimit`); the names are those of the reference system. */
export interface RateLimitSettings {
  /** Which requests leave a line in the log. */
  readonly logging: RateLimitLogging
  /** What of a bearer token tells one caller from another; absent: callers are told apart by their addresses only. */
  readonly credential?: CredentialPart
  readonly mappings: readonly LimiterMapping[]
}

/** `loggingOption`, in the spelling that the status shows. */
export const RATE_LIMIT_LOGGING = ['OnlyLimited', 'AllCalls', 'AllCallsWithDetails'] as const
/** One of `RATE_LIMIT_LOGGING`. */
export type RateLimitLogging = (typeof RATE_LIMIT_LOGGING)[number]

/** A part of a JWT: header, payload, signature. */
export type TokenSection = 0 | 1 | 2

/** `credentialID`: the token, one of its sections, the groups of a pattern in the decoded section, or a claim. */
export type CredentialPart =
  | { readonly kind: 'token' }
  | { readonly kind: 'section'; readonly section: TokenSection }
  | { readonly kind: 'pattern'; readonly section: TokenSection; readonly pattern: string }
  | { readonly kind: 'claim'; readonly section: 0 | 1; readonly claim: string }

/** Limits for the paths that its selectors choose. */
export interface LimiterMapping {
  /** Unique; told to whoever is limited. */
  readonly name: string
  readonly selectors: readonly PathSelector[]
  readonly limits: Readonly<Partial<Record<LimitKind, Rate>>>
}

/** Which paths; `other` are those that nothing else chooses, `all` applies besides what was chosen. */
export type PathSelector =
  | { readonly kind: 'equals' | 'startsWith' | 'contains'; readonly text: string }
  | { readonly kind: 'other' | 'all' }

/** What a limit counts by. */
export const LIMIT_KINDS = [
  'withCallerCredentialsID',
  'withCallerRemoteAddressID',
  'withoutCallerID',
  'global',
] as const
/** One of `LIMIT_KINDS`. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** So many requests in so many seconds; 0 requests shut the path. */
export interface Rate {
  readonly requests: number
  readonly seconds: number
}

/** The credential part as the status shows it. */
export function describeCredential(part: CredentialPart): string {
  switch (part.kind) {
    case 'token':
      return 'JWT'
    case 'section':
      return `JWT[${part.section}]`
    case 'pattern':
      return `JWT[${part.section}]:regex='${part.pattern}'`
    case 'claim':
      return `JWT[${part.section}]:field='${part.claim}'`
  }
}
