// Reads and shows the JSON of identity providers for the bootstrap and the provider API, so that both accept the same.
import { hasControlCharacter } from '../base/text/control-characters.ts'
import { isJsonRecord, memberOf, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { providerFields } from '../records/provider.ts'
import { readRecord, showRecord, wireNames } from '../records/record.ts'
import { readAllSettings, showSettings } from '../records/settings.ts'
import { withKeptSettings } from './kept-settings.ts'
import {
  movedSecrets,
  withKeptSecrets,
  withoutReadableSecrets,
  withoutSecrets,
  withoutSuspects,
} from './provider-secrets.ts'
import { providerTypes } from './provider-types.ts'
import type { ProviderProblem, ProviderType } from './provider-types.ts'

/** A provider as a request or the configuration defines it, without its zone, id and dates. */
export interface ProviderDefinition {
  readonly originKey: string
  readonly type: string
  readonly name: string
  readonly active: boolean
  /** The version of the body; the stored one is incremented. */
  readonly version: number
  /** Only members that are set, with unencrypted secrets. */
  readonly config: JsonRecord
  readonly externalKey?: string
  readonly aliasId?: string
  readonly aliasZoneId?: string
}

/** The result of reading; use the definition only if there are no problems. */
export interface ProviderFromJson {
  readonly definition: ProviderDefinition
  readonly problems: readonly ProviderProblem[]
}

/** Inputs of the rules. */
export interface ProviderRules {
  readonly serviceName: string
  /**
   * The replaced record with unencrypted secrets: keeps its origin, and of what the new one omits, secrets and the settings
   * that UAA does not have.
   */
  readonly before?: IdentityProvider
}

const MAX_ORIGIN_LENGTH = 36
const MAX_NAME_LENGTH = 255

type Refuse = (key: string, message: string, kind: ProviderProblem['kind']) => void

/** Reads a provider in the shape of `POST /identity-providers`; `config` may be an object or a JSON string. */
export function providerFromJson(json: JsonRecord, rules: ProviderRules): ProviderFromJson {
  const problems: ProviderProblem[] = []
  const refuse: Refuse = (key, message, kind) => {
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
  const originKey = rules.before?.originKey ?? named ?? ''
  checkNames({ type, named, originKey, name }, rules, refuse)
  const settings = readSettings(json, { ...rules, type }, { problems, refuse })
  const definition: ProviderDefinition = {
    originKey,
    type,
    name: name ?? '',
    active,
    version,
    ...settings,
    ...(aliasId !== undefined && { aliasId }),
    ...(aliasZoneId !== undefined && { aliasZoneId }),
  }
  return { definition, problems }
}

interface SentNames {
  readonly type: string
  /** The origin that was sent. */
  readonly named: string | undefined
  readonly originKey: string
  readonly name: string | undefined
}

/** The rules of origin, type and name. */
function checkNames(
  { type, named, originKey, name }: SentNames,
  { serviceName, before }: ProviderRules,
  refuse: Refuse,
): void {
  // The origin of a record never changes; only a SAML provider may omit it.
  if (named === undefined && !(before && type === 'saml')) refuse('originKey', 'must be given', 'invalid')
  if ((named ?? originKey).length > MAX_ORIGIN_LENGTH)
    refuse('originKey', `has more than ${MAX_ORIGIN_LENGTH} characters`, 'invalid')
  // Existing records with such an origin remain valid.
  if (!before && named !== undefined && !canStandInPath(named))
    refuse('originKey', 'must not consist only of dots or contain control characters', 'invalid')
  if (type.length > MAX_NAME_LENGTH) refuse('type', `has more than ${MAX_NAME_LENGTH} characters`, 'invalid')
  if (name === undefined) refuse('name', 'must be given', 'invalid')
  else if (name.length > MAX_NAME_LENGTH) refuse('name', `has more than ${MAX_NAME_LENGTH} characters`, 'invalid')
  for (const reserved of [serviceName, 'ldap']) {
    const isElsewhere = type === reserved && named !== undefined && named !== reserved
    if (isElsewhere || (type === reserved) !== (originKey === reserved)) {
      refuse('originKey', `${reserved} is reserved for providers of type ${reserved}`, 'invalid')
    }
  }
}

/** The settings by the description of the type, and the key that is unique among its providers. */
function readSettings(
  json: JsonRecord,
  { type, serviceName, before }: ProviderRules & { readonly type: string },
  { problems, refuse }: { readonly problems: readonly ProviderProblem[]; readonly refuse: Refuse },
): Pick<ProviderDefinition, 'config' | 'externalKey'> {
  const given = configOf(json)
  if (given === 'unreadable') refuse('config', 'is not JSON text of an object', 'unreadable')
  const recordType = recordTypeOf(type, serviceName)
  if (given === undefined && recordType?.needsConfig === true) refuse('config', 'must be given', 'unusable')
  const members = isJsonRecord(given) ? given : {}
  const reading = recordType && readAllSettings(recordType.settings, members, 'config')
  for (const problem of reading?.problems ?? []) refuse(problem.key, problem.message, 'unreadable')
  // Settings of an unknown type have no effect here, nor does `additionalConfiguration` of any type.
  const isFree = (member: string): boolean => reading === undefined || member === 'additionalConfiguration'
  const own = withoutReadableSecrets(reading?.kept ?? members, isFree)
  const config = withoutEmptySecret(before?.type === type ? completed(own, members, before.config) : own)
  for (const { key, message, kind } of recordType?.check?.(config) ?? []) {
    const isSaid = problems.some(problem => problem.key === `config.${key}` && problem.message === message)
    if (!isSaid) refuse(`config.${key}`, message, kind)
  }
  const externalKey = recordType?.externalKey?.(config)
  return { config, ...(externalKey !== undefined && { externalKey }) }
}

/** The settings, with those of the replaced record that the request does not name. */
const completed = (config: JsonRecord, sent: JsonRecord, before: JsonRecord): JsonRecord =>
  withKeptSettings({ sent, config: withKeptSecrets(config, before), before })

/** Browsers resolve a segment of dots, even in an encoded form: no callback would arrive. */
const canStandInPath = (origin: string): boolean => !/^\.{1,2}$/.test(origin) && !hasControlCharacter(origin)

/** The name of a secret that the request omits, but that would be sent to a different server than before. */
export function movedSecret(json: JsonRecord, before: JsonRecord, after: JsonRecord): string | undefined {
  const sent = configOf(json)
  const isSent = (name: string): boolean => isJsonRecord(sent) && (memberOf(sent, name) ?? undefined) !== undefined
  return movedSecrets(before, after).find(name => !isSent(name))
}

const recordTypeOf = (type: string, serviceName: string): ProviderType | undefined =>
  providerTypes(serviceName).find(each => each.type === type)

/** The settings, given as an object or a JSON string; undefined if absent. */
function configOf(json: JsonRecord): JsonRecord | 'unreadable' | undefined {
  const given = Object.hasOwn(json, 'config') ? (json['config'] ?? undefined) : undefined
  if (given === undefined || given === '') return undefined
  const value = typeof given === 'string' ? parseJson(given) : given
  if (value === null) return undefined
  return isJsonRecord(value) && isModest(value) ? value : 'unreadable'
}

/** More levels than any record has; limits recursion. */
const MAX_DEPTH = 32

/** Whether the value has no prototype members and is not too deep. */
function isModest(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth >= MAX_DEPTH) return false
  return Object.entries(value).every(([name, each]) => name !== '__proto__' && isModest(each, depth + 1))
}

/** An empty secret means none; it differs from an absent one only where the previous secret would be kept. */
const withoutEmptySecret = (config: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(config).filter(([name, value]) => !(name === 'relyingPartySecret' && value === '')))

/** Options of `providerJson`. */
interface ProviderView {
  readonly serviceName: string
  /** Whether `config` is an object; otherwise a JSON string. */
  readonly raw: boolean
}

const shownConfig = (config: unknown, raw: boolean): unknown =>
  raw || !isJsonRecord(config) ? (config ?? null) : JSON.stringify(config)

/** The record as shown by the API: every member of its type, without secrets. */
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

/** A submitted record without its secrets; omits an unreadable `config`. */
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

/** The provider's issuer or entity id; derived for older records, which do not store it. */
export const externalKeyOf = (provider: IdentityProvider, serviceName: string): string | undefined =>
  provider.externalKey ?? recordTypeOf(provider.type, serviceName)?.externalKey?.(provider.config)
