/** The configured rate limits (`ratelimit`), with UAA's names. */
export interface RateLimitSettings {
  /** Which requests are logged. */
  readonly logging: RateLimitLogging
  /** The part of a bearer token that identifies the caller; if absent, only addresses do. */
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

/** Limits of the paths that its selectors match. */
export interface LimiterMapping {
  /** Unique; shown to limited callers. */
  readonly name: string
  readonly selectors: readonly PathSelector[]
  readonly limits: Readonly<Partial<Record<LimitKind, Rate>>>
}

/** Matches paths; `other`: those that no other selector matches; `all`: every path, in addition to other mappings. */
export type PathSelector =
  | { readonly kind: 'equals' | 'startsWith' | 'contains'; readonly text: string }
  | { readonly kind: 'other' | 'all' }

/** The kinds of limits, by what they count. */
export const LIMIT_KINDS = [
  'withCallerCredentialsID',
  'withCallerRemoteAddressID',
  'withoutCallerID',
  'global',
] as const
/** One of `LIMIT_KINDS`. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** A number of requests in a number of seconds; 0 requests block the path. */
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
