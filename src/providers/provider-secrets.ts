// Secrets in a provider's settings: encrypted at rest, each bound to its record and member, decrypted only for use, and
// never returned.
import { isJsonRecord } from '../base/json.ts'
import { withoutLikelySecrets } from '../base/secret-names.ts'
import type { JsonRecord } from '../base/json.ts'
import { isSealed } from '../base/secrets.ts'
import type { Vault } from '../base/secrets.ts'
import { sealContexts } from '../model/seal-contexts.ts'
import { secretsOf } from '../records/settings.ts'
import type { Secret } from '../records/settings.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { providerTypes } from './provider-types.ts'

/** The secrets of all types by name: a record of an unknown type may have any of them. */
const SECRETS: ReadonlyMap<string, Secret> = new Map(
  providerTypes('').flatMap(({ settings }) => [...secretsOf(settings)]),
)

const isText = (value: unknown): value is string => typeof value === 'string'

function isSecret(name: string, value: unknown): value is string {
  const secret = SECRETS.get(name)
  return isText(value) && (secret === true || (typeof secret === 'function' && secret(value)))
}

/** The secret member of a setting that is an object. */
function secretMemberOf(name: string): string | undefined {
  const secret = SECRETS.get(name)
  return typeof secret === 'object' ? secret.member : undefined
}

/** The settings with every secret encrypted, for the store. */
export const sealProviderSecrets = (provider: IdentityProvider, vault: Vault): IdentityProvider =>
  withSecrets(provider, (text, context) => vault.seal(text, context))

/** Decrypts every secret; throws if one was altered or sealed with another master key. */
export const openProviderSecrets = (provider: IdentityProvider, vault: Vault): IdentityProvider =>
  withSecrets(provider, (text, context, name) =>
    // Earlier versions stored shared verification keys unencrypted.
    name === 'tokenKey' && !isSealed(text) ? text : vault.open(text, context),
  )

/** The provider with each of its secrets changed; `context` is what it is sealed with. */
export function withSecrets<P extends Pick<IdentityProvider, 'zoneId' | 'originKey' | 'config'>>(
  provider: P,
  change: (text: string, context: string, name: string) => string,
): P {
  const mapped = (settings: JsonRecord, isOne: (name: string, value: unknown) => value is string): JsonRecord =>
    mapMembers(settings, (name, value) =>
      isOne(name, value) ? change(value, sealContexts.providerSecret(provider, name), name) : value,
    )
  const config = mapMembers(mapped(provider.config, isSecret), (name, value) => {
    const member = secretMemberOf(name)
    if (member === undefined || !isJsonRecord(value)) return value
    return mapped(value, (each, text): text is string => each === member && isText(text))
  })
  return { ...provider, config }
}

const mapMembers = (record: JsonRecord, change: (name: string, value: unknown) => unknown): JsonRecord =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(name, value)]))

/** The settings without free-form members that look like secrets and would be stored unencrypted; `isFree` names such members. */
export const withoutReadableSecrets = (config: JsonRecord, isFree: (name: string) => boolean): JsonRecord =>
  Object.fromEntries(
    Object.entries(config).flatMap(([name, value]) => {
      if (!isFree(name) || isSecret(name, value) || secretMemberOf(name) !== undefined) return [[name, value]]
      return Object.entries(Object(withoutLikelySecrets({ [name]: value })))
    }),
  )

/** Names of secrets at any depth. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...[...SECRETS].flatMap(([name, secret]) => (secret === true ? [name] : [])),
  'assertion',
  'actor_token',
  'client_assertion',
  'client_secret',
  'clientSecret',
  'code',
  'code_verifier',
  'password',
  'privateKey',
  'private_key',
  'secret',
  'subject_token',
])

/** A record's settings without secrets at any depth. */
export const withoutSecrets = (value: unknown): unknown => without(value, isHidden)

/** Refused settings without secrets, even at unexpected places. */
export const withoutSuspects = (value: unknown): unknown =>
  without(value, (name, each) => SECRET_NAMES.has(name) || isHidden(name, each))

/** Matches any value at a secret's place. */
const isHidden = (name: string, value: unknown): boolean => SECRETS.get(name) === true || isSecret(name, value)

function without(value: unknown, isOne: (name: string, value: unknown) => boolean): unknown {
  if (Array.isArray(value)) return value.map(each => without(each, isOne))
  if (!isJsonRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, each]) => !isOne(name, each))
      .map(([name, each]) => [name, withoutMember(each, secretMemberOf(name), isOne)]),
  )
}

/** Without the secret member, and without values of the wrong type. */
function withoutMember(
  value: unknown,
  member: string | undefined,
  isOne: (name: string, value: unknown) => boolean,
): unknown {
  if (member === undefined) return without(value, isOne)
  if (!isJsonRecord(value)) return typeof value === 'boolean' ? value : null
  return without(Object.fromEntries(Object.entries(value).filter(([name]) => name !== member)), isOne)
}

const isAbsent = (config: JsonRecord, name: string): boolean => (config[name] ?? undefined) === undefined

/**
 * Adds the secrets of the replaced record that the settings omit: secrets are never shown, so callers cannot send them
 * back. Both records must have the same type and unencrypted secrets.
 */
export function withKeptSecrets(config: JsonRecord, before: JsonRecord): JsonRecord {
  const method = config['authMethod'] ?? undefined
  const usesSecret = method === undefined || method === 'client_secret_basic' || method === 'client_secret_post'
  const kept: Record<string, unknown> = { ...config }
  for (const name of SECRETS.keys()) {
    const earlier = before[name]
    const member = secretMemberOf(name)
    if (member !== undefined && Object.hasOwn(config, name)) kept[name] = withKeptMember(config[name], earlier, member)
    if (name === 'relyingPartySecret' && !usesSecret) continue
    if (isAbsent(config, name) && isSecret(name, earlier)) kept[name] = earlier
  }
  return kept
}

/** A key with another id does not match; null removes the key. */
function withKeptMember(own: unknown, earlier: unknown, member: string): unknown {
  const isSameKey = isJsonRecord(own) && isJsonRecord(earlier) && own['kid'] === earlier['kid']
  if (!isSameKey || Object.hasOwn(own, member) || !Object.hasOwn(earlier, member)) return own
  return { ...own, [member]: earlier[member] }
}

/** The settings whose URLs determine where a secret is sent and how the server is authenticated, with their unset values. */
const SENT: Readonly<Record<string, { readonly to: readonly string[]; readonly by: JsonRecord }>> = {
  bindPassword: {
    to: ['baseUrl'],
    by: { tlsConfiguration: 'none', skipSSLVerification: false, caCertificates: undefined },
  },
  relyingPartySecret: { to: ['tokenUrl', 'checkTokenUrl', 'discoveryUrl'], by: {} },
}

/** Secrets present in both that the changed settings would send to another server, or to one that is authenticated less strictly. */
export const movedSecrets = (before: JsonRecord, after: JsonRecord): readonly string[] =>
  Object.entries(SENT).flatMap(([secret, { to, by }]) => {
    if (!isText(before[secret]) || before[secret] !== after[secret]) return []
    const former = new Set(to.flatMap(name => placesIn(name, before)))
    const isMoved = to.some(name => placesIn(name, after).some(place => !former.has(place)))
    return isMoved || Object.entries(by).some(([name, unset]) => (before[name] ?? unset) !== (after[name] ?? unset))
      ? [secret]
      : []
  })

/**
 * Scheme, host and port of each URL; other text as it is. A discovery document with all of its URL: it names another server, and users
 * of its host may publish documents there, too.
 */
function placesIn(name: string, { [name]: urls }: JsonRecord): readonly string[] {
  const places = isText(urls) ? urls.split(/\s+/).filter(url => url !== '') : []
  if (name === 'discoveryUrl') return places
  return places.map(url => (URL.canParse(url) ? `${new URL(url).protocol}//${new URL(url).host}` : url))
}
