// The policy of cross-origin requests (Fetch §3.3), read once into what a request is compared with.
import { PatternError, compilePattern, weightOf } from '../base/pattern.ts'
import type { Matcher } from '../base/pattern.ts'
import type { CorsConfiguration, CorsPolicy } from './zone.ts'

/** One part of a policy, ready to be asked. */
export interface CorsRules {
  allowsOrigin(origin: string): boolean
  /** The path of the URL as it was sent, with the base path and without the query. */
  allowsUri(path: string): boolean
  /** Upper case; HEAD is allowed where GET is. */
  allowsMethod(method: string): boolean
  /** In any case. */
  allowsHeader(name: string): boolean
  readonly credentials: boolean
  /** Values of the headers of an answer to a preflight. */
  readonly methodList: string
  readonly headerList: string
  readonly maxAge: string
}

/** The policy of the server, whole, and whether it holds in every zone. */
export interface SystemCors {
  readonly policy: { readonly [K in keyof CorsPolicy]-?: CorsConfiguration }
  readonly enforced: boolean
}

/** The policy of the server where the configuration says nothing: every origin, and no cookies. */
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
      'X-Requested-With',
    ],
    allowedMethods: ['GET', 'OPTIONS'],
    allowedCredentials: false,
    maxAge: 1_728_000,
  },
  defaultConfiguration: {
    allowedUris: ['.*'],
    allowedOrigins: ['.*'],
    allowedHeaders: ['Accept', 'Authorization', 'Content-Type', 'Accept-Language', 'Content-Language'],
    allowedMethods: ['GET', 'POST', 'PUT', 'OPTIONS', 'DELETE', 'PATCH'],
    allowedCredentials: false,
    maxAge: 1_728_000,
  },
} as const satisfies CorsPolicy

/** What a part of a zone's own policy is where the part is silent. */
const SILENT = {
  allowedHeaders: ['Accept', 'Authorization', 'Content-Type'],
  allowedMethods: ['GET'],
  maxAge: 1_728_000,
} as const

const EVERYTHING: readonly string[] = ['.*']
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/ // RFC 9110 §5.6.2; anything else would tear the header apart
const MAX_ORIGIN_LENGTH = 300
const MAX_PATH_LENGTH = 1024
/**
 * What the patterns of one list may weigh together: a tenant writes them, and each is matched with what anybody sends, on
 * the thread that serves everybody. Some hundred patterns of the usual kind.
 */
const MAX_WEIGHT = 500

/** A pattern that cannot be used allows nothing: what is stored may come from a system with other expressions. */
export function corsRules(configuration: CorsConfiguration): CorsRules {
  const { allowedOrigins, allowedOriginPatterns, allowedUris, allowedUriPatterns } = configuration
  const isOrigin = anyOf(allowedOrigins, allowedOriginPatterns)
  const isUri = anyOf(allowedUris, allowedUriPatterns)
  const methods = tokens(configuration.allowedMethods ?? SILENT.allowedMethods).map(name => name.toUpperCase())
  const headers = tokens(configuration.allowedHeaders ?? SILENT.allowedHeaders)
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
    maxAge: String(Math.trunc(configuration.maxAge ?? SILENT.maxAge)),
  }
}

/** A list of texts and a list of patterns are read alike; that of patterns alone leaves no other way in. */
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

/** Compiles the patterns of one list, as long as they are not too many; what is wrong with one is answered, not thrown. */
function createCompiler(): (pattern: string) => Matcher | PatternError {
  let weight = 0
  return pattern => {
    if (weight > MAX_WEIGHT) return TOO_MUCH
    try {
      weight += weightOf(pattern)
      return weight > MAX_WEIGHT ? TOO_MUCH : compilePattern(pattern)
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      weight += WEIGHT_OF_WRONG
      return error
    }
  }
}

const TOO_MUCH = new PatternError('is too much work beside those before it')
/** To find out that a pattern is wrong is work too. */
const WEIGHT_OF_WRONG = 20

const tokens = (names: readonly string[]): readonly string[] => names.filter(name => TOKEN.test(name))

/** A value of a policy that cannot be used. */
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

/** Everything that is wrong with a policy whose members have the right types. */
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
