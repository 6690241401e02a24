// Translates the settings of UAA's configuration file (`uaa.yml`). Many have the same names here; what UAA writes into its database
// at each start comes with `latchkey import-uaa`; every other one is named.
import { isJsonRecord, memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { samlAliasOf } from '../../model/zones/zone.ts'
import type { Schema } from '../check-schema.ts'
import { checkSchema } from '../check-schema.ts'
import { CONFIG_SCHEMA } from '../schema.ts'
import { corsListProblem } from '../sections/cors.ts'
import { outcomeOf } from './uaa-setting-rules.ts'
import type { Outcome } from './uaa-setting-rules.ts'

/** What became of a setting: `translated`, or as `uaa-setting-rules.ts` says. Never its value. */
export interface SettingOutcome {
  readonly key: string
  readonly outcome: 'translated' | Outcome
  readonly why: string
}

/** The translated settings. */
export interface Translation {
  /** Members of the configuration file, nested. */
  readonly config: JsonRecord
  /** In the order of the file; those of one rule once. */
  readonly outcomes: readonly SettingOutcome[]
}

/** More levels than any setting has; an alias of YAML can contain itself. */
const MAX_DEPTH = 32

/** The settings by their names with dots; of several files, a later one wins. Throws `RangeError` for endless nesting. */
export function flatSettings(files: readonly unknown[]): ReadonlyMap<string, unknown> {
  const flat = new Map<string, unknown>()
  const add = (key: string, value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) throw new RangeError(`has more than ${MAX_DEPTH} levels of nesting`)
    if (!isJsonRecord(value)) return void flat.set(key, value)
    for (const [name, member] of Object.entries(value)) add(key === '' ? name : `${key}.${name}`, member, depth + 1)
  }
  for (const file of files) add('', file, 0)
  return flat
}

/** Sections that mean the same in both files; others of the same name do not. */
const SAME_SECTIONS: ReadonlySet<string> = new Set([
  'authentication',
  'clientMaxCount',
  'cors',
  'groupMaxCount',
  'jwt',
  'links',
  'login',
  'metrics',
  'oauth',
  'password',
  'ratelimit',
  'scim',
  'servlet',
  'statsd',
  'uaa',
  'userMaxCount',
  'zones',
])

/** Settings with another name here. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['issuer.uri', 'base_url'],
  ['login.entityID', 'saml.entity_id'],
  ['login.saml.maxAuthenticationAge', 'saml.max_authentication_age'],
  ['smtp.from_address', 'smtp.from'],
  ['smtp.host', 'smtp.host'],
  ['smtp.port', 'smtp.port'],
  ['smtp.starttls', 'smtp.starttls'],
  ['smtp.user', 'smtp.user'],
])

/** Values that are the default here. */
const AS_HERE: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['allowUnverifiedUsers', false],
  ['csp.script-src', ["'self'"]],
  ['jwt.token.policy.global.accessTokenValiditySeconds', 43_200],
  ['jwt.token.policy.global.refreshTokenValiditySeconds', 2_592_000],
  ['login.saml.signMetaData', true],
  ['login.saml.signRequest', true],
  ['login.saml.signatureAlgorithm', 'SHA256'],
  ['login.saml.wantAssertionSigned', true],
  ['scim.delete.deactivate', false],
])

/** URLs of UAA that `base_url` replaces, or further host names of it. */
const ADDRESSES: ReadonlySet<string> = new Set(['uaa.url', 'login.url', 'login.entityBaseURL'])

/** Translates the settings; their values are checked by the schema of the configuration file. */
export function translateSettings(settings: ReadonlyMap<string, unknown>): Translation {
  const config: Record<string, unknown> = { service: 'uaa', compatibility: 'uaa' }
  const outcomes = new Map<string, SettingOutcome>()
  const furtherHosts: string[] = []
  const say = (key: string, outcome: SettingOutcome['outcome'], why = ''): void => {
    if (!outcomes.has(key)) outcomes.set(key, { key, outcome, why })
  }
  for (const [key, value] of settings) {
    const target = RENAMED.get(key) ?? (SAME_SECTIONS.has(key.split('.')[0] ?? '') ? key : undefined)
    const schema = target === undefined ? undefined : schemaAt(target)
    const host = ADDRESSES.has(key) ? furtherHostOf(value, settings.get('issuer.uri')) : undefined
    if (value === null || value === '') say(key, 'unused', 'it is empty')
    else if (key === 'smtp.password') {
      place(config, 'smtp.password', '${SMTP_PASSWORD}')
      say(key, 'manual', 'set SMTP_PASSWORD in the environment of the server')
    } else if (isAsHere(key, value)) say(key, 'unused', 'it is the default here')
    else if (ADDRESSES.has(key) && value === settings.get('issuer.uri')) say(key, 'unused', 'base_url replaces it')
    else if (host !== undefined) {
      furtherHosts.push(host)
      say(key, 'translated')
    } else if (key === 'login.saml.entityIDAlias' && value === aliasFor(settings))
      say(key, 'unused', 'it is the default here')
    else if (target === undefined || schema === undefined) {
      const { rule, outcome, why } = outcomeOf(key)
      say(rule, outcome, why)
    } else if (JSON.stringify(value).includes('${')) say(key, 'manual', 'it refers to another setting')
    else if (/^cors\.\w+\.allowed\.origins$/.test(key) && !textsOf(value).every(isOrigin))
      say(key, 'manual', 'UAA looks for the patterns anywhere in an origin; here they are for the whole of it')
    else {
      const converted = /^cors\.\w+\.allowed\.uris$/.test(key) ? textsOf(value).map(whole) : convert(value, schema)
      const [mistyped] = checkSchema(converted, { ...schema, definitions: CONFIG_SCHEMA.definitions })
      const problem = mistyped?.message ?? corsListProblem(target, converted)
      if (problem !== undefined) say(key, 'manual', problem)
      else place(config, target, converted)
      if (problem === undefined) say(key, 'translated')
    }
  }
  if (furtherHosts.length > 0) {
    const named = new Set([...hostNamesIn(config), ...furtherHosts])
    place(config, 'zones.internal.hostnames', [...named])
  }
  // A mail server is needed for the rest of its section.
  if (isJsonRecord(config['smtp']) && config['smtp']['host'] === undefined) delete config['smtp']
  return { config, outcomes: [...outcomes.values()] }
}

const isAsHere = (key: string, value: unknown): boolean =>
  AS_HERE.has(key) && JSON.stringify(AS_HERE.get(key)) === JSON.stringify(value)

/** The host name of a URL that differs from the issuer's in nothing else: UAA serves the same zone there. */
function furtherHostOf(value: unknown, issuer: unknown): string | undefined {
  const [url, base] = [URL.parse(String(value)), URL.parse(String(issuer))]
  if (!url || !base || url.hostname === base.hostname) return undefined
  const { hostname } = url
  url.hostname = base.hostname
  return withoutSlash(url) === withoutSlash(base) ? hostname : undefined
}

const withoutSlash = ({ href }: URL): string => href.replace(/\/+$/, '')

/** The host names that were translated as they are. */
function hostNamesIn(config: Readonly<Record<string, unknown>>): readonly string[] {
  const listed = memberOf(memberOf(config['zones'], 'internal'), 'hostnames')
  return textsOf(listed ?? []).map(name => name.toLowerCase())
}

const textsOf = (value: unknown): readonly string[] => [convert(value, { type: 'array' })].flat().map(String)

/** Whether a pattern means the same for a part of a text and for the whole of it. */
const isWhole = (pattern: string): boolean =>
  pattern === '.*' || (/^\^.*\$$/s.test(pattern) && !/[|]|\\\$$/.test(pattern))

/** Whether a pattern is for a whole origin, in effect or because it begins with a scheme. */
const isOrigin = (pattern: string): boolean => isWhole(pattern) || /^\^?https?:\/\//.test(pattern)

/** For the whole of a path: what a pattern means for any part of it. */
const whole = (pattern: string): string => (isWhole(pattern) ? pattern : `.*(?:${pattern}).*`)

/** The alias of the SAML endpoints, where UAA's other zones put their subdomain, too. */
const aliasFor = (settings: ReadonlyMap<string, unknown>): string =>
  samlAliasOf({ subdomain: '' }, String(settings.get('login.entityID')))

/** The schema of a setting that has no settings below it; undefined if the configuration has no such setting. */
function schemaAt(key: string): Schema | undefined {
  let at: Schema | undefined = CONFIG_SCHEMA
  for (const name of key.split('.')) {
    const members: Readonly<Record<string, Schema>> = at?.properties ?? {}
    at = Object.hasOwn(members, name) ? members[name] : undefined
  }
  return at?.properties === undefined ? at : undefined
}

/** UAA converts text to what a setting needs, and splits lists at commas. */
function convert(value: unknown, { type }: Schema): unknown {
  if (typeof value !== 'string') return value
  const text = value.trim()
  if (type === 'array') return text.split(',').flatMap(item => item.trim() || [])
  if (type === 'integer' && /^-?\d{1,9}$/.test(text)) return Number(text)
  return type === 'boolean' && /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : value
}

function place(config: Record<string, unknown>, key: string, value: unknown): void {
  const names = key.split('.')
  const last = names.pop() ?? ''
  let at = config
  for (const name of names) {
    const inner = at[name]
    const next: Record<string, unknown> = isJsonRecord(inner) ? { ...inner } : {}
    at[name] = next
    at = next
  }
  at[last] = value
}
