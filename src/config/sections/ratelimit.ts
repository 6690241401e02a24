// The key `ratelimit`: the rate limits, with UAA's names.
import { compileSearch, PatternError } from '../../base/text/pattern.ts'

import { LIMIT_KINDS, RATE_LIMIT_LOGGING } from '../../model/zones/rate-limit.ts'
import type {
  CredentialPart,
  LimitKind,
  LimiterMapping,
  PathSelector,
  Rate,
  RateLimitLogging,
  RateLimitSettings,
  TokenSection,
} from '../../model/zones/rate-limit.ts'
import type { Problems } from '../problems.ts'

/** `ratelimit` in the file. */
export interface RateLimitFile {
  readonly loggingOption?: string
  readonly credentialID?: string
  readonly limiterMappings: readonly MappingFile[]
}

type MappingFile = { readonly name: string; readonly pathSelectors: readonly string[] } & {
  readonly [K in LimitKind]?: string
}

const text = (description: string) => ({ type: 'string', minLength: 1, description }) as const
const rate = (description: string) => text(`${description} \`<n>r/<s>s\`; the seconds, 1 to 1800, are optional: 50r/s.`)

/** JSON Schema of `ratelimit`. */
export const rateLimitSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Rate limits. Absent: no limits.',
  required: ['limiterMappings'],
  properties: {
    loggingOption: {
      ...text(`What is logged, ignoring case: ${RATE_LIMIT_LOGGING.join(', ')}.`),
      default: RATE_LIMIT_LOGGING[0],
    },
    credentialID: text(
      'The part of a bearer token that identifies callers: JWT, JWT:<section>, JWT:<section>+<regular expression with groups>, or JWTjsonField:<section>:<claim>. Sections: Header or 0, Payload, Claims or 1, Signature or 2.',
    ),
    limiterMappings: {
      type: 'array',
      minItems: 1,
      description: 'Limits by path.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'pathSelectors'],
        properties: {
          name: text('Unique; shown to callers that are limited.'),
          pathSelectors: {
            type: 'array',
            minItems: 1,
            items: { type: 'string' },
            description:
              'equals:/path, startsWith:/path, contains:text, other or all, each in one mapping only; paths are below the base URL.',
          },
          withCallerCredentialsID: rate('For each caller that sends a token.'),
          withCallerRemoteAddressID: rate('For each address, if the token does not identify the caller.'),
          withoutCallerID: rate('For all callers without token and address together.'),
          global: rate('For all callers together.'),
        },
      },
    },
  },
} as const

/** The rate limits; reports unusable values as problems of their key. */
export function rateLimitOf(file: RateLimitFile | undefined, problems: Problems): RateLimitSettings | undefined {
  if (file === undefined || !problems.hasValidTypes('ratelimit')) return undefined
  const { loggingOption = RATE_LIMIT_LOGGING[0], credentialID, limiterMappings } = file
  const credential = credentialID === undefined ? undefined : credentialOf(credentialID, problems)
  const used = new Map<string, string>()
  const names = new Map<string, string>()
  const mappings = limiterMappings.map((mapping, index) => {
    const key = `ratelimit.limiterMappings[${index}]`
    refuseDuplicate(names, { value: mapping.name, key: `${key}.name`, problems })
    const selectors = selectorsOf(mapping, { key: `${key}.pathSelectors`, problems, used })
    return { ...limitsOf(mapping, { key, problems, hasCredential: credentialID !== undefined }), selectors }
  })
  return { logging: loggingOf(loggingOption, problems), ...(credential && { credential }), mappings }
}

function loggingOf(option: string, problems: Problems): RateLimitLogging {
  const chosen = RATE_LIMIT_LOGGING.find(each => each.toLowerCase() === option.toLowerCase())
  if (chosen === undefined) problems.add('ratelimit.loggingOption', `must be one of ${RATE_LIMIT_LOGGING.join(', ')}`)
  return chosen ?? RATE_LIMIT_LOGGING[0]
}

function selectorsOf(
  { pathSelectors }: MappingFile,
  { key, problems, used }: { key: string; problems: Problems; used: Map<string, string> },
): readonly PathSelector[] {
  return pathSelectors.flatMap((text, index) => {
    const place = { key: `${key}[${index}]`, problems }
    const selector = selectorOf(text)
    if (selector) refuseDuplicate(used, { value: JSON.stringify(selector), ...place })
    else problems.add(place.key, 'must be equals:/path, startsWith:/path, contains:text, other or all')
    return selector ?? []
  })
}

function limitsOf(
  mapping: MappingFile,
  { key, problems, hasCredential }: { key: string; problems: Problems; hasCredential: boolean },
): Omit<LimiterMapping, 'selectors'> {
  const limits = LIMIT_KINDS.flatMap(kind => {
    const text = mapping[kind]
    const rate = text === undefined ? undefined : rateOf(text, `${key}.${kind}`, problems)
    return rate ? [[kind, rate] as const] : []
  })
  if (LIMIT_KINDS.every(kind => mapping[kind] === undefined)) {
    problems.add(key, `must have at least one of ${LIMIT_KINDS.join(', ')}`)
  }
  if (mapping.withCallerCredentialsID !== undefined && !hasCredential) {
    problems.add(`${key}.withCallerCredentialsID`, 'needs ratelimit.credentialID')
  }
  return { name: mapping.name, limits: Object.fromEntries(limits) }
}

function refuseDuplicate(
  seen: Map<string, string>,
  { value, key, problems }: { value: string; key: string; problems: Problems },
): void {
  const other = seen.get(value)
  if (other === undefined) seen.set(value, key)
  else problems.add(key, `is already used by ${other}`)
}

/** As in UAA, the kind in any case, with spaces around both parts. */
function selectorOf(selector: string): PathSelector | undefined {
  const [, name = '', rest = ''] = /^\s*(\w+)\s*(?::(.*))?$/s.exec(selector) ?? []
  const text = rest.trim()
  switch (name.toLowerCase()) {
    case 'equals':
      return text.startsWith('/') ? { kind: 'equals', text } : undefined
    case 'startswith':
      return text.startsWith('/') ? { kind: 'startsWith', text } : undefined
    case 'contains':
      return text === '' ? undefined : { kind: 'contains', text }
    case 'other':
      return text === '' ? { kind: 'other' } : undefined
    case 'all':
      return text === '' ? { kind: 'all' } : undefined
    default:
      return undefined
  }
}

const MAX_SECONDS = 1800

function rateOf(text: string, key: string, problems: Problems): Rate | undefined {
  const [, requests = '', seconds = '1'] = /^(\d{1,9})r\/(\d{1,4})?s$/.exec(text) ?? []
  const rate = { requests: Number(requests), seconds: Number(seconds) }
  if (requests !== '' && rate.seconds >= 1 && rate.seconds <= MAX_SECONDS) return rate
  problems.add(key, `must be <n>r/<s>s with 1 to ${MAX_SECONDS} seconds, such as 50r/s or 1r/60s`)
  return undefined
}

const SECTIONS: Readonly<Record<string, TokenSection>> = {
  '0': 0,
  header: 0,
  headers: 0,
  '1': 1,
  payload: 1,
  claims: 1,
  '2': 2,
  signature: 2,
}

const CREDENTIAL = 'ratelimit.credentialID'
const FORMS = 'must be JWT, JWT:<section>, JWT:<section>+<regular expression> or JWTjsonField:<section>:<claim>'

function credentialOf(value: string, problems: Problems): CredentialPart | undefined {
  if (value === 'JWT') return { kind: 'token' }
  const [, type, name = '', separator, rest = ''] =
    /^(JWT|JWTjsonField):([A-Za-z0-9]+)(?:([+:])(.+))?$/s.exec(value) ?? []
  const section = Object.hasOwn(SECTIONS, name.toLowerCase()) ? SECTIONS[name.toLowerCase()] : undefined
  if (section === undefined) {
    problems.add(CREDENTIAL, FORMS)
    return undefined
  }
  if (type === 'JWT' && separator === undefined) return { kind: 'section', section }
  if (type === 'JWT' && separator === '+') return patternOf(section, rest, problems)
  if (type === 'JWTjsonField' && separator === ':' && section !== 2) return { kind: 'claim', section, claim: rest }
  problems.add(CREDENTIAL, FORMS)
  return undefined
}

function patternOf(section: TokenSection, pattern: string, problems: Problems): CredentialPart | undefined {
  try {
    if (compileSearch(pattern).groups > 0) return { kind: 'pattern', section, pattern }
    problems.add(CREDENTIAL, 'the regular expression must have a group (…) that identifies the caller')
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    problems.add(CREDENTIAL, `the regular expression ${error.message}`)
  }
  return undefined
}
