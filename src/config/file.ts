import { dirname, resolve } from 'node:path'
import { looksSecret } from '../base/secret-names.ts'
import { reasonOf } from '../base/files/file-error.ts'
import { readTextFile } from '../base/files/text-file.ts'
import { isStorable } from '../base/text/storable-text.ts'
import type { ZoneConfig } from '../model/zones/zone.ts'
import { UNKEEPABLE } from '../records/kinds.ts'
import { checkSchema } from './check-schema.ts'
import type { Schema, SchemaProblem } from './check-schema.ts'
import type { AuditFile } from './sections/audit.ts'
import type { CorsFile } from './sections/cors.ts'
import type { HashCostFile } from './sections/hash-cost.ts'
import type { LogFile } from './sections/log.ts'
import type { DatabaseOptionsFile } from './sections/database.ts'
import type { ManagementFile } from './sections/management.ts'
import type { MasterKeyFile } from './keys/master-key.ts'
import type { SigningKeysFile } from './keys/signing-keys.ts'
import type { MutualTlsFile } from './sections/mutual-tls.ts'
import type { OperationsFile } from './sections/operations.ts'
import type { PagesFile } from './sections/pages.ts'
import type { PasskeysFile } from './sections/passkeys.ts'
import type { PoliciesFile } from './sections/policies.ts'
import { createProblems } from './problems.ts'
import type { Problems } from './problems.ts'
import { CUT_OFF, haveSecret, isWrittenSecret, SECRETS_IN_FILES } from './environment.ts'
import type { Environment } from './environment.ts'
import type { SecretFile } from './secret-files.ts'
import type { RateLimitFile } from './sections/ratelimit.ts'
import type { SamlFile } from './sections/saml.ts'
import type { BootstrapFile } from './records/records.ts'
import type { SettingsFile } from './sections/settings.ts'
import type { SmtpFile } from './sections/smtp.ts'
import type { TlsFile } from './sections/tls.ts'
import type { TracingFile } from './sections/tracing.ts'
import { fillVariables, nameOf } from './variables.ts'
import type { VariableSources } from './variables.ts'

/** The configuration file, with variables replaced and secrets read from their files. */
export interface ConfigFile
  extends SettingsFile,
    OperationsFile,
    PagesFile,
    Pick<PoliciesFile, 'password'>,
    MasterKeyFile {
  readonly base_url?: string
  readonly service?: string
  readonly compatibility?: string
  readonly database?: string
  readonly workers?: number
  readonly listen?: {
    readonly host?: string
    readonly port?: number
    readonly trusted_proxies?: readonly string[]
    readonly tls?: TlsFile
    readonly management?: ManagementFile
  }
  readonly smtp?: SmtpFile
  readonly signing_keys?: SigningKeysFile
  readonly saml?: SamlFile
  readonly passkeys?: PasskeysFile
  readonly mutual_tls?: MutualTlsFile
  readonly audit?: AuditFile
  readonly log?: LogFile
  readonly tracing?: TracingFile
  readonly database_options?: DatabaseOptionsFile
  readonly outbound?: { readonly allow_private?: boolean }
  readonly passwords?: HashCostFile
  readonly session?: { readonly same_site?: string }
  readonly cors?: CorsFile
  readonly ratelimit?: RateLimitFile
  readonly zone_config?: ZoneConfig
  readonly bootstrap?: BootstrapFile
}

/** Members that may be given as `<name>_file`. */
const IN_FILES = new Set([...SECRETS_IN_FILES, 'attestation_roots', 'cert', 'trusted_ca'])

/** Where the secrets of the file come from. */
export interface SecretOrigins {
  /** Environment variables. */
  readonly variables: Set<string>
  /** Keys whose value is in the file itself. */
  readonly written: string[]
  readonly files: SecretFile[]
  /** Keys, with their lines, whose value may have been meant to go on after a `#`. */
  readonly cutOff: string[]
}

/**
 * Reads a YAML or JSON file, or only these keys of it, replaces variables and checks its types. Problems are added to the list; only values that
 * `problems.hasValidTypes` accepts have the declared type. Origins of secrets are added to `secrets`.
 */
export async function readConfigFile(
  path: string,
  env: Environment,
  {
    problems,
    secrets = { variables: new Set(), written: [], files: [], cutOff: [] },
    keys,
  }: { readonly problems: Problems; readonly secrets?: SecretOrigins; readonly keys?: readonly string[] | undefined },
): Promise<ConfigFile> {
  const parsed = await parseFile(path, problems, secrets.cutOff)
  if (parsed === undefined) return {}
  const filledKeys = new Set<string>()
  const fileKeys = new Set<string>()
  const found = createProblems()
  const whole = fill(parsed, {
    env,
    problems: found,
    folder: dirname(path),
    key: '',
    depth: 0,
    filledKeys,
    fileKeys,
    secrets,
  })
  const isRead = keys ? await readerOf(keys) : () => true
  for (const { key, message } of found.list) if (isRead(key.replace(/[.[][^]*$/, ''))) problems.add(key, message)
  const filled = Object.fromEntries(Object.entries(Object(whole)).filter(([key]) => isRead(key)))
  await checkTypes(filled, { filledKeys, fileKeys, problems })
  return filled // as the schema ensures, except at the reported problems
}

/** Whether a key of the file is one of these, or unknown: then it is refused, because it may be a mistyped one of them. */
async function readerOf(keys: readonly string[]): Promise<(key: string) => boolean> {
  const { CONFIG_SCHEMA } = await import('./schema.ts')
  return key => keys.includes(key) || !Object.hasOwn(CONFIG_SCHEMA.properties ?? {}, key)
}

/** The object in a YAML or JSON file as it is; undefined where a problem is added. */
export async function parseFile(
  path: string,
  problems: Problems,
  cutOff: SecretOrigins['cutOff'] = [],
): Promise<object | undefined> {
  let content: string
  try {
    content = readTextFile(path)
  } catch (error) {
    problems.add(path, `cannot be read: ${reasonOf(error)}`)
    return undefined
  }
  const { isScalar, parseDocument, visit } = await import('yaml')
  // Without the tags of sets, dates and binary data: none has a meaning here.
  const document = parseDocument(content, { prettyErrors: true, logLevel: 'error', resolveKnownTags: false })
  for (const { code, message, linePos } of [...document.errors, ...document.warnings]) {
    const line = content.split('\n')[(linePos?.[0].line ?? 0) - 1] ?? ''
    problems.add(
      path,
      code === 'MULTIPLE_DOCS'
        ? SEVERAL_DOCUMENTS
        : `${withoutQuotes(message)}${yamlHint(message, line, (linePos?.[0].col ?? 1) - 1)}`,
    )
  }
  let isResolved = true
  const lineOf = (offset: number | undefined): number => content.slice(0, offset).split('\n').length
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !isScalar(value) || value.type !== 'PLAIN' || !looksSecret(String(key.value), '')) return
      // A comment that is meant as one has a blank after the #.
      const rest = content.slice(value.range?.[1])
      if (/^[ \t]+#\S/.test(rest)) cutOff.push(`${String(key.value)} at line ${lineOf(value.range?.[0])}`)
    },
    Alias(_, alias) {
      if (alias.resolve(document)) return
      isResolved = false
      problems.add(path, `Unresolved alias at line ${lineOf(alias.range?.[0])}; ${QUOTES} *`)
    },
  })
  if (document.errors.length > 0 || !isResolved) return undefined
  try {
    const value: unknown = document.toJS() ?? {}
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
    problems.add(path, 'must have keys with values, like base_url: https://id.example.org')
  } catch (error) {
    problems.add(path, reasonOf(error)) // for example an endlessly expanding alias
  }
  return undefined
}

/** The parser's own sentence, without what it quotes: a secret may begin with a character that has a meaning in YAML. */
const withoutQuotes = (message: string): string =>
  message
    .replace(/:?\n[^]*$/, '')
    .replace(/(?<=\S: |Invalid escape sequence ).*?(?= at line \d+, column \d+$)/, '')
    .replace(/:? +at line/, ' at line')

const QUOTES = 'put quotes around a value that begins with'

/** What to do about the parser's less obvious sentences. */
function yamlHint(message: string, line: string, column: number): string {
  const opening = line.search(/[[{]/)
  if (message.includes('flow-map') && opening >= 0 && line.lastIndexOf('${') > opening)
    return `; inside { } and [ ] put quotes around a value with \${`
  if (message.startsWith('Unresolved tag')) return `; ${QUOTES} !`
  if (message.startsWith('Block scalar header includes')) return `; ${QUOTES} | or >`
  if (message.startsWith('Nested mappings are not allowed'))
    return '; check the indentation of the next line, and put quotes around a value with a colon before a space or at its end'
  if (!message.startsWith('Map keys must be unique')) return ''
  const [, key] = /^["']?([\w.-]+)/.exec(line.slice(column)) ?? []
  return key === undefined ? '' : `; ${key} is there already: join the two parts`
}

const SEVERAL_DOCUMENTS = 'has several documents, separated by ---; only one is allowed'

/** More than any setting has, and less than the stack allows; an alias can contain itself. */
const MAX_DEPTH = 64

interface Filling extends VariableSources {
  readonly folder: string
  readonly depth: number
  /** Keys whose value was given as `<key>_file`. */
  readonly fileKeys: Set<string>
}

function fill(value: unknown, outer: Filling): unknown {
  if (typeof value === 'string') return textOf(value, outer)
  if (typeof value !== 'object' || value === null) return value
  const filling = { ...outer, depth: outer.depth + 1 }
  if (filling.depth > MAX_DEPTH) {
    filling.problems.add('config', `has more than ${MAX_DEPTH} levels of nesting`)
    return undefined
  }
  // A member of YAML 1.1. A client would get it as an attribute, and none of the members that it stands for.
  if (Object.hasOwn(value, '<<'))
    filling.problems.add(keyBelow(filling.key, '<<'), 'is not supported: repeat the members')
  if (Array.isArray(value)) {
    return value.map((item, index) => fill(item, { ...filling, key: `${filling.key}[${index}]` }))
  }
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    fill(member, { ...filling, key: keyBelow(filling.key, name) }),
  ])
  return Object.fromEntries(members.map(([name, member]) => readSecret(name, member, Object.keys(value), filling)))
}

function textOf(text: string, filling: Filling): string {
  const filled = fillVariables(text, filling)
  if (isWrittenSecret(filling.key, text)) filling.secrets.written.push(filling.key)
  if (!isStorable(filled)) filling.problems.add(nameOf(filling.key), `${UNKEEPABLE}: NUL, or half of a surrogate pair`)
  return filled
}

/** Turns `<secret>_file: path` into `<secret>: content`. */
function readSecret(
  name: string,
  value: unknown,
  siblings: readonly string[],
  { folder, problems, secrets, key, fileKeys }: Filling,
): [string, unknown] {
  const secret = name.slice(0, -'_file'.length)
  if (!name.endsWith('_file') || !IN_FILES.has(secret) || typeof value !== 'string') return [name, value]
  const path = keyBelow(key, name)
  if (siblings.includes(secret)) {
    problems.add(path, `cannot be given together with ${secret}`)
    return [secret, value]
  }
  fileKeys.add(keyBelow(key, secret))
  try {
    const file = resolve(folder, value)
    const content = readTextFile(file).replace(/\r?\n$/, '')
    if (content === '') problems.add(path, `${value} is empty`)
    if (SECRETS_IN_FILES.includes(secret)) secrets.files.push({ key: path, path: file, content })
    return [secret, content]
  } catch (error) {
    problems.add(path, `${value} cannot be read: ${reasonOf(error)}`)
    return [secret, value]
  }
}

interface TypeCheck extends Pick<Filling, 'fileKeys' | 'problems'> {
  readonly filledKeys: ReadonlySet<string>
}

async function checkTypes(value: unknown, { filledKeys, fileKeys, problems }: TypeCheck): Promise<void> {
  const { CONFIG_SCHEMA } = await import('./schema.ts') // only needed with a file
  const first = checkSchema(value, CONFIG_SCHEMA)
  const found = convertStrings(value, first, filledKeys) ? checkSchema(value, CONFIG_SCHEMA) : first
  for (const { key, steps, keyword, message } of found) {
    if (keyword === 'additionalProperties' && isCutOff(value, steps)) {
      problems.add(nameOf(key.slice(0, -1 - String(steps.at(-1)).length)), CUT_OFF)
      continue
    }
    const name = nameOf(keyword === 'additionalProperties' && fileKeys.has(key) ? `${key}_file` : key)
    const parent = keyword === 'additionalProperties' ? placeOf(key, CONFIG_SCHEMA) : undefined
    if (keyword === 'type' || keyword === 'required') problems.addType(name, message)
    else problems.add(name, parent === undefined ? message : `is not a known key here: it belongs below ${parent}`)
  }
}

/** Whether it may be the rest of a secret, whose message must not quote it. */
function isCutOff(root: unknown, steps: SchemaProblem['steps']): boolean {
  const parent = Object(parentOf(root, steps))
  return Reflect.get(parent, steps.at(-1) ?? '') === null && haveSecret(Object.keys(parent))
}

const parentOf = (root: unknown, steps: SchemaProblem['steps']): unknown =>
  steps.slice(0, -1).reduce<unknown>((at, step) => Reflect.get(Object(at), step), root)

/** More would not help. */
const MAX_PLACES = 4

/** The right places of a key that does not belong at the top of the file. */
function placeOf(key: string, { properties, definitions }: Schema): string | undefined {
  const sections = Object.entries({ ...properties, zone_config: definitions?.['zoneConfig'] ?? {} })
  const found = sections.filter(([, schema]) => Object.hasOwn(schema.properties ?? {}, key)).map(([name]) => name)
  return found.length > 0 && found.length <= MAX_PLACES ? found.join(', ').replace(/, (\w+)$/, ' or $1') : undefined
}

/**
 * Converts strings with variables where a number or boolean is expected: YAML is parsed before variables are replaced.
 */
function convertStrings(root: unknown, found: readonly SchemaProblem[], filledKeys: ReadonlySet<string>): boolean {
  let converted = false
  for (const { key, steps, keyword } of found) {
    if (keyword !== 'type' || !filledKeys.has(key)) continue
    const parent = parentOf(root, steps)
    const text: unknown = Reflect.get(Object(parent), steps.at(-1) ?? '')
    const value = typeof text === 'string' ? scalarOf(text) : undefined
    if (value !== undefined) converted = Reflect.set(Object(parent), steps.at(-1) ?? '', value) || converted
  }
  return converted
}

function scalarOf(text: string): number | boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+$/.test(text) ? Number(text) : undefined
}

const keyBelow = (key: string, member: string): string => (key === '' ? member : `${key}.${member}`)
