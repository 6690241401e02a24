// The key `cors`: the server's policy of cross-origin requests, with UAA's names.
import { DEFAULT_CORS, corsProblems, corsRules } from '../../model/zones/cors-policy.ts'
import type { CorsProblem, SystemCors } from '../../model/zones/cors-policy.ts'
import type { CorsConfiguration, CorsPolicy } from '../../model/zones/zone.ts'
import type { Problems } from '../problems.ts'

/** `cors` in the file. */
export interface CorsFile {
  readonly xhr?: CorsPartFile
  readonly default?: CorsPartFile
  readonly enforceSystemZonePolicyInAllZones?: boolean
}

interface CorsPartFile {
  readonly allowed?: {
    readonly uris?: readonly string[]
    readonly origins?: readonly string[]
    readonly headers?: readonly string[]
    readonly methods?: readonly string[]
    readonly credentials?: boolean
  }
  readonly max_age?: number
}

const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description }) as const

const part = (description: string, usual: (typeof DEFAULT_CORS)[keyof typeof DEFAULT_CORS]) =>
  ({
    type: 'object',
    additionalProperties: false,
    description,
    properties: {
      allowed: {
        type: 'object',
        additionalProperties: false,
        description: 'What is allowed.',
        properties: {
          uris: {
            ...texts('Regular expressions for the whole path, base path included, without the query.'),
            default: usual.allowedUris,
          },
          origins: { ...texts('Regular expressions for the whole origin.'), default: usual.allowedOrigins },
          headers: { ...texts('Request headers that a page may set.'), default: usual.allowedHeaders },
          methods: { ...texts('Methods that a page may use.'), default: usual.allowedMethods },
          credentials: {
            type: 'boolean',
            default: usual.allowedCredentials,
            description: "Whether a page may call with the user's cookies.",
          },
        },
      },
      max_age: {
        type: 'integer',
        minimum: -1,
        maximum: 2_147_483_647,
        default: usual.maxAge,
        description: 'Seconds that a browser may cache the response to a preflight.',
      },
    },
  }) as const

/** JSON Schema of `cors`. */
export const corsSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Which pages of other origins may call. A zone can have its own policy in its settings.',
  properties: {
    xhr: part(
      'For requests that carry the header X-Requested-With, and preflights that announce it.',
      DEFAULT_CORS.xhrConfiguration,
    ),
    default: part('For all others.', DEFAULT_CORS.defaultConfiguration),
    enforceSystemZonePolicyInAllZones: {
      type: 'boolean',
      default: false,
      description: 'Whether this policy applies to every zone, even to one with its own policy.',
    },
  },
} as const

/** The server's policy; reports unusable values as problems of their key. */
export function corsOf(file: CorsFile | undefined, problems: Problems): SystemCors {
  if (file === undefined || !problems.hasValidTypes('cors')) return { policy: DEFAULT_CORS, enforced: false }
  const policy = {
    xhrConfiguration: configurationOf(file.xhr, DEFAULT_CORS.xhrConfiguration),
    defaultConfiguration: configurationOf(file.default, DEFAULT_CORS.defaultConfiguration),
  }
  for (const problem of corsProblems(policy)) {
    const name = problem.part === 'xhrConfiguration' ? 'xhr' : 'default'
    problems.add(`cors.${name}.allowed.${KEYS[problem.member] ?? problem.member}[${problem.index}]`, sentence(problem))
  }
  return { policy, enforced: file.enforceSystemZonePolicyInAllZones ?? false }
}

/** What is wrong with the value of `cors.xhr.allowed.<name>`; undefined for a usable one, and for any other key. */
export function corsListProblem(key: string, value: unknown): string | undefined {
  const [, name] = /^cors\.\w+\.allowed\.(\w+)$/.exec(key) ?? []
  const member = (['allowedUris', 'allowedOrigins', 'allowedHeaders', 'allowedMethods'] as const).find(
    each => KEYS[each] === name,
  )
  if (member === undefined || !Array.isArray(value)) return undefined
  const [problem] = corsProblems({ xhrConfiguration: { [member]: value.map(String) } })
  return problem && sentence(problem)
}

/** Checks the policy in the settings of a zone; `path` is their key. */
export function checkZoneCors(policy: CorsPolicy | null | undefined, path: string, problems: Problems): void {
  if (!policy || !problems.hasValidTypes(`${path}.corsPolicy`)) return
  for (const problem of corsProblems(policy)) {
    problems.add(`${path}.corsPolicy.${problem.part}.${problem.member}[${problem.index}]`, sentence(problem))
  }
}

/** Parts of the policy that let any page read with the user's cookies. */
export const openToEveryPage = ({ policy }: SystemCors): readonly string[] =>
  [
    ['cors.xhr', corsRules(policy.xhrConfiguration)] as const,
    ['cors.default', corsRules(policy.defaultConfiguration)] as const,
  ]
    .filter(([, rules]) => rules.credentials && rules.allowsOrigin('https://anywhere.invalid'))
    .map(([name]) => name)

const KEYS: { readonly [K in keyof CorsConfiguration]?: string } = {
  allowedUris: 'uris',
  allowedOrigins: 'origins',
  allowedHeaders: 'headers',
  allowedMethods: 'methods',
}

const sentence = ({ value, message }: CorsProblem): string => `${JSON.stringify(value)} ${message}`

const configurationOf = (
  { allowed = {}, max_age: maxAge }: CorsPartFile = {},
  usual: (typeof DEFAULT_CORS)[keyof typeof DEFAULT_CORS],
): CorsConfiguration => ({
  allowedUris: allowed.uris ?? usual.allowedUris,
  allowedOrigins: allowed.origins ?? usual.allowedOrigins,
  allowedHeaders: allowed.headers ?? usual.allowedHeaders,
  allowedMethods: allowed.methods ?? usual.allowedMethods,
  allowedCredentials: allowed.credentials ?? usual.allowedCredentials,
  maxAge: maxAge ?? usual.maxAge,
})
