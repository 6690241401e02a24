// Compiles a policy of cross-origin requests (Fetch §3.3) for matching requests.
import { PatternError, compilePattern, weightOf } from '../../base/text/pattern.ts'
import type { Matcher } from '../../base/text/pattern.ts'
import type { CorsConfiguration, CorsPolicy } from './zone.ts'

/** One part of a policy, compiled. */
export interface CorsRules {
  allowsOrigin(origin: string): boolean
  /** The path of the URL as sent, with the base path and without the query. */
  allowsUri(path: string): boolean
  /** Upper case; HEAD is allowed where GET is. */
  allowsMethod(method: string): boolean
  /** Ignores case. */
  allowsHeader(name: string): boolean
  readonly credentials: boolean
  /** Header values of the response to a preflight. */
  readonly methodList: string
  readonly headerList: string
  readonly maxAge: string
}

/** The complete policy of the server, and whether it applies to every zone. */
export interface SystemCors {
  readonly policy: { readonly [K in keyof CorsPolicy]-?: CorsConfiguration }
  readonly enforced: boolean
}

/** The server's default policy: every origin, without cookies. */
export const DEFAULT_CORS = {
  xhrConfiguration: {
    allowedUris: ['.*'],
    allowedOrigins: ['.*'],
    allowedHeaders: [
      'Accept',
      'Authorization',
      'Content-Type',
      'Accept-Language',
      'Content-Language',
      'DPoP',
      'X-Requested-With',
    ],
    allowedMethods: ['GET', 'OPTIONS'],
    allowedCredentials: false,
    maxAge: 1_728_000,
  },
  defaultConfiguration: {
    allowedUris: ['.*'],
    allowedOrigins: ['.*'],
    allowedHeaders: ['Accept', 'Authorization', 'Content-Type', 'Accept-Language', 'Content-Language', 'DPoP'],
    allowedMethods: ['GET', 'POST', 'PUT', 'OPTIONS', 'DELETE', 'PATCH'],
    allowedCredentials: false,
    maxAge: 1_728_000,
  },
} as const satisfies CorsPolicy

/** Defaults of a part of a zone's own policy. */
const PART_DEFAULTS = {
  allowedHeaders: ['Accept', 'Authorization', 'Content-Type'],
  allowedMethods: ['GET'],
  maxAge: 1_728_000,
} as const

const EVERYTHING: readonly string[] = ['.*']
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/ // RFC 9110 §5.6.2; anything else would break the header
const MAX_ORIGIN_LENGTH = 300
const MAX_PATH_LENGTH = 1024
/**
 * Maximum total cost of the patterns of one list, some hundred ordinary ones: tenants define them, and matching them
 * with untrusted input blocks the main thread.
 */
const MAX_WEIGHT = 500

/** Unusable patterns match nothing: stored ones may come from a system with another regular expression syntax. */
export function corsRules(configuration: CorsConfiguration): CorsRules {
  const { allowedOrigins, allowedOriginPatterns, allowedUris, allowedUriPatterns } = configuration
  const isOrigin = anyOf(allowedOrigins, allowedOriginPatterns)
  const isUri = anyOf(allowedUris, allowedUriPatterns)
  const methods = tokens(configuration.allowedMethods ?? PART_DEFAULTS.allowedMethods).map(name => name.toUpperCase())
  const headers = tokens(configuration.allowedHeaders ?? PART_DEFAULTS.allowedHeaders)
  const methodSet = new Set(methods)
  if (methodSet.has('GET')) methodSet.add('HEAD')
  const headerSet = new Set(headers.map(name => name.toLowerCase()))
  return {
    allowsOrigin: origin => origin.length <= MAX_ORIGIN_LENGTH && isOrigin(origin),
    allowsUri: path => path.length <= MAX_PATH_LENGTH && isUri(path),
    allowsMethod: method => methodSet.has(method),
    allowsHeader: name => headerSet.has(name.toLowerCase()),
    credentials: configuration.allowedCredentials === true,
    methodList: methods.join(', '),
    headerList: headers.join(', '),
    maxAge: String(Math.trunc(configuration.maxAge ?? PART_DEFAULTS.maxAge)),
  }
}

/** Both lists are treated as patterns. If there are only patterns, the other list does not default to everything. */
function anyOf(texts: readonly string[] | null | undefined, patterns: readonly string[] | null | undefined): Matcher {
  const named = [...(texts ?? []), ...(patterns ?? [])]
  const hasOnlyPatterns = (texts === undefined || texts === null) && (patterns ?? []).length > 0
  const compile = createCompiler()
  const matchers = (texts || hasOnlyPatterns ? named : EVERYTHING).flatMap(pattern => {
    const compiled = compile(pattern)
    return compiled instanceof PatternError ? [] : [compiled]
  })
  return text => matchers.some(matches => matches(text))
}

/** Compiles the patterns of one list within `MAX_WEIGHT`; returns errors instead of throwing them. */
function createCompiler(): (pattern: string) => Matcher | PatternError {
  let weight = 0
  return pattern => {
    if (weight > MAX_WEIGHT) return TOO_MUCH
    try {
      weight += weightOf(pattern)
      return weight > MAX_WEIGHT ? TOO_MUCH : compilePattern(pattern)
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      weight += INVALID_PATTERN_WEIGHT
      return error
    }
  }
}

const TOO_MUCH = new PatternError('exceeds the total cost limit of its list')
/** Detecting an invalid pattern costs time, too. */
const INVALID_PATTERN_WEIGHT = 20

const tokens = (names: readonly string[]): readonly string[] => names.filter(name => TOKEN.test(name))

/** An unusable value of a policy. */
export interface CorsProblem {
  readonly part: keyof CorsPolicy
  readonly member: keyof CorsConfiguration
  readonly index: number
  readonly value: string
  readonly message: string
}

const PARTS = ['xhrConfiguration', 'defaultConfiguration'] as const
const PATTERN_LISTS = ['allowedOrigins', 'allowedOriginPatterns', 'allowedUris', 'allowedUriPatterns'] as const
const TOKEN_LISTS = ['allowedHeaders', 'allowedMethods'] as const

/** All problems of a policy whose members have the right types. */
export function corsProblems(policy: CorsPolicy): readonly CorsProblem[] {
  return PARTS.flatMap(part => {
    const configuration = policy[part] ?? {}
    const found = (member: keyof CorsConfiguration, values: readonly string[], wrong: (value: string) => string) =>
      values.flatMap((value, index) => {
        const message = wrong(value)
        return message === '' ? [] : [{ part, member, index, value, message }]
      })
    return [
      ...PATTERN_LISTS.flatMap(member => found(member, configuration[member] ?? [], wrongPatterns())),
      ...TOKEN_LISTS.flatMap(member =>
        found(member, configuration[member] ?? [], value => (TOKEN.test(value) ? '' : 'is not an HTTP token')),
      ),
    ]
  })
}

function wrongPatterns(): (pattern: string) => string {
  const compile = createCompiler()
  return pattern => {
    const compiled = compile(pattern)
    return compiled instanceof PatternError ? `is not a usable regular expression: it ${compiled.message}` : ''
  }
}
