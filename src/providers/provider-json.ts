// The identity provider's record between the wire and the model: the bootstrap and the provider API read it here, so that
// both understand the same.
import { isJsonRecord, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import { providerFields } from '../records/provider.ts'
import { readRecord, showRecord, wireNames } from '../records/record.ts'
import { readAllSettings, showSettings } from '../records/settings.ts'
import { withKeptSecrets, withoutSecrets, withoutSuspects } from './provider-secrets.ts'
import { providerTypes } from './provider-types.ts'
import type { ProviderProblem, ProviderType } from './provider-types.ts'

/** What a request or the configuration says about a provider: all of it but its zone, its id and its dates. */
export interface ProviderDefinition {
  readonly originKey: string
  readonly type: string
  readonly name: string
  readonly active: boolean
  /** The version that the body has; the next one is one more. */
  readonly version: number
  /** Only members that are set, with secrets in the clear. */
  readonly config: JsonRecord
  readonly externalKey?: string
  readonly aliasId?: string
  readonly aliasZoneId?: string
}

/** What was read; the definition may only be used when there are no problems. */
export interface ProviderFromJson {
  readonly definition: ProviderDefinition
  readonly problems: readonly ProviderProblem[]
}

/** What the reading depends on. */
export interface ProviderRules {
  readonly serviceName: string
  /** The record that is replaced, with its secrets readable: its origin stays, and so do secrets that are not named. */
  readonly before?: IdentityProvider
}

const MAX_ORIGIN_LENGTH = 36
const MAX_NAME_LENGTH = 255

/** Reads a provider in the shape of `POST /identity-providers`; `config` may be an object or JSON text of one. */
export function providerFromJson(json: JsonRecord, { serviceName, before }: ProviderRules): ProviderFromJson {
  const problems: ProviderProblem[] = []
  const refuse = (key: string, message: string, kind: ProviderProblem['kind']): void => {
    problems.push({ key, message, kind })
  }
  const { values, problems: malformed } = readRecord(providerFields, json)
  for (const { key, message } of malformed) refuse(key, message.slice(key.length + 1), 'malformed')
  const { active = true, version = 0 } = values
  const type = values.type || 'unknown'
  const named = values.originKey || undefined
  const name = values.name || undefined
  const aliasId = values.aliasId || undefined
  const aliasZoneId = values.aliasZoneId || undefined
  // The origin of a record never changes; only a SAML provider may leave it out (§6.5).
  if (named === undefined && !(before && type === 'saml')) refuse('originKey', 'must be given', 'invalid')
  const originKey = before?.originKey ?? named ?? ''
  if ((named ?? originKey).length > MAX_ORIGIN_LENGTH)
    refuse('originKey', `has more than ${MAX_ORIGIN_LENGTH} characters`, 'invalid')
  if (type.length > MAX_NAME_LENGTH) refuse('type', `has more than ${MAX_NAME_LENGTH} characters`, 'invalid')
  if (name === undefined) refuse('name', 'must be given', 'invalid')
  else if (name.length > MAX_NAME_LENGTH) refuse('name', `has more than ${MAX_NAME_LENGTH} characters`, 'invalid')
  for (const reserved of [serviceName, 'ldap']) {
    if ((type === reserved) !== (originKey === reserved)) {
      refuse('originKey', `${reserved} is the origin of type ${reserved} and of no other`, 'invalid')
    }
  }

  const given = configOf(json)
  if (given === 'unreadable') refuse('config', 'is not JSON text of an object', 'unreadable')
  const recordType = recordTypeOf(type, serviceName)
  if (given === undefined && recordType?.needsConfig === true) refuse('config', 'must be given', 'unusable')
  const members = isJsonRecord(given) ? given : {}
  const known = recordType && readAllSettings(recordType.settings, members, 'config')
  for (const problem of known?.problems ?? []) refuse(problem.key, problem.message, 'unreadable')
  const own: JsonRecord = known?.kept ?? members
  const config = withoutEmptySecret(before?.type === type ? withKeptSecrets(own, before.config) : own)
  for (const { key, message, kind } of recordType?.check?.(config) ?? []) {
    const isSaid = problems.some(problem => problem.key === `config.${key}` && problem.message === message)
    if (!isSaid) refuse(`config.${key}`, message, kind)
  }
  const externalKey = recordType?.externalKey?.(config)
  const definition: ProviderDefinition = {
    originKey,
    type,
    name: name ?? '',
    active,
    version,
    config,
    ...(externalKey !== undefined && { externalKey }),
    ...(aliasId !== undefined && { aliasId }),
    ...(aliasZoneId !== undefined && { aliasZoneId }),
  }
  return { definition, problems }
}

const recordTypeOf = (type: string, serviceName: string): ProviderType | undefined =>
  providerTypes(serviceName).find(each => each.type === type)

/** The settings, whether they stand there as they are or as JSON text; undefined when there are none. */
function configOf(json: JsonRecord): JsonRecord | 'unreadable' | undefined {
  const given = Object.hasOwn(json, 'config') ? (json['config'] ?? undefined) : undefined
  if (given === undefined || given === '') return undefined
  const value = typeof given === 'string' ? parseJson(given) : given
  if (value === null) return undefined
  return isJsonRecord(value) && isModest(value) ? value : 'unreadable'
}

/** More levels than any record has; whoever walks a record may do so by recursion. */
const MAX_DEPTH = 32

/** Whether no member reaches into a prototype, or too deep. */
function isModest(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth >= MAX_DEPTH) return false
  return Object.entries(value).every(([name, each]) => name !== '__proto__' && isModest(each, depth + 1))
}

/** An empty secret is none; it differs from an absent one only while one that is kept could take its place. */
const withoutEmptySecret = (config: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(config).filter(([name, value]) => !(name === 'relyingPartySecret' && value === '')))

/** How a record is shown. */
export interface ProviderView {
  readonly serviceName: string
  /** Whether `config` is an object; otherwise it is JSON text. */
  readonly raw: boolean
}

const shownConfig = (config: unknown, raw: boolean): unknown =>
  raw || !isJsonRecord(config) ? (config ?? null) : JSON.stringify(config)

/** The record as the API answers it: every member of its type, and no secret. */
export function providerToJson(provider: IdentityProvider, { serviceName, raw }: ProviderView): JsonRecord {
  const recordType = recordTypeOf(provider.type, serviceName)
  const all = { ...provider.config, ...recordType?.computed?.(provider) }
  const settings = recordType ? showSettings(recordType.settings, all) : all
  return {
    ...showRecord(providerFields, provider),
    config: shownConfig(withoutSecrets(settings), raw),
    aliasId: provider.aliasId ?? null,
    aliasZid: provider.aliasZoneId ?? null,
  }
}

/** Members of a record, in their order; a refused one is repeated with these and no others. */
const ENVELOPE = [...wireNames(providerFields)]

/** A record as somebody sent it, without the secrets in it; `config` that cannot be read is left out. */
export function echoOf(json: JsonRecord, { raw }: Pick<ProviderView, 'raw'>): JsonRecord {
  const config = configOf(json)
  return Object.fromEntries(
    ENVELOPE.filter(name => Object.hasOwn(json, name)).map(name => [
      name,
      name === 'config'
        ? shownConfig(config === 'unreadable' ? null : withoutSuspects(config), raw)
        : withoutSuspects(json[name]),
    ]),
  )
}

/** What the provider calls itself, also for a record that was written when nobody kept it. */
export const externalKeyOf = (provider: IdentityProvider, serviceName: string): string | undefined =>
  provider.externalKey ?? recordTypeOf(provider.type, serviceName)?.externalKey?.(provider.config)
