// Secrets inside a provider's settings: encrypted at rest, each bound to its place, readable only to the sign-in that needs
// them, and in no answer.
import { isJsonRecord, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import type { Vault } from '../base/secrets.ts'
import type { IdentityProvider } from './identity-provider.ts'

/** Members of `config`, and of `config.jwtClientAuthentication`, that nobody but the provider may learn. */
const BIND_PASSWORD = 'bindPassword'
const CLIENT_SECRET = 'relyingPartySecret'
const VERIFICATION_KEY = 'tokenKey'
const NESTED = 'jwtClientAuthentication'
const NESTED_SECRET = 'key'

/** A verification key in PEM or as JWK is public; any other text is a secret that is shared with the provider. */
function isSharedKey(value: string): boolean {
  if (value.includes('-----BEGIN ')) return false
  const parsed = parseJson(value)
  const keys: readonly unknown[] = isJsonRecord(parsed) && Array.isArray(parsed['keys']) ? parsed['keys'] : [parsed]
  return !keys.every(key => isJsonRecord(key) && !Object.hasOwn(key, 'k'))
}

const isSecret = (name: string, value: unknown): value is string =>
  typeof value === 'string' &&
  (name === BIND_PASSWORD || name === CLIENT_SECRET || (name === VERIFICATION_KEY && isSharedKey(value)))

/** The settings with every secret encrypted, for the store. */
export const sealProviderSecrets = (provider: IdentityProvider, vault: Vault): IdentityProvider =>
  withSecrets(provider, (text, context) => vault.seal(text, context))

/** The settings with every secret readable; throws when one was altered or sealed with another master key. */
export const openProviderSecrets = (provider: IdentityProvider, vault: Vault): IdentityProvider =>
  withSecrets(provider, (text, context, name) =>
    // Earlier versions kept shared verification keys as they were.
    name === VERIFICATION_KEY && !text.startsWith('v1.') ? text : vault.open(text, context),
  )

function withSecrets(
  provider: IdentityProvider,
  change: (text: string, context: string, name: string) => string,
): IdentityProvider {
  const place = `provider-secret ${provider.zoneId} ${provider.originKey}`
  const mapped = (settings: JsonRecord, isOne: (name: string, value: unknown) => value is string): JsonRecord =>
    Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [
        name,
        isOne(name, value) ? change(value, `${place} ${name}`, name) : value,
      ]),
    )
  const config = mapped(provider.config, isSecret)
  const nested = config[NESTED]
  if (!isJsonRecord(nested)) return { ...provider, config }
  const isNested = (name: string, value: unknown): value is string => name === NESTED_SECRET && isText(value)
  return { ...provider, config: { ...config, [NESTED]: mapped(nested, isNested) } }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Names that stand for a secret wherever somebody may have put one. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  BIND_PASSWORD,
  CLIENT_SECRET,
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

/** A record's settings without the secrets in them, however deep. */
export const withoutSecrets = (value: unknown): unknown => without(value, isHidden)

/** The same for what somebody sent that was refused: also without secrets at places where none belongs. */
export const withoutSuspects = (value: unknown): unknown =>
  without(value, (name, each) => SECRET_NAMES.has(name) || isHidden(name, each))

/** Whatever stands at a secret's place, even if it cannot be one. */
const isHidden = (name: string, value: unknown): boolean =>
  name === BIND_PASSWORD || name === CLIENT_SECRET || isSecret(name, value)

function without(value: unknown, isOne: (name: string, value: unknown) => boolean): unknown {
  if (Array.isArray(value)) return value.map(each => without(each, isOne))
  if (!isJsonRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, each]) => !isOne(name, each))
      .map(([name, each]) => [name, name === NESTED ? withoutKey(each, isOne) : without(each, isOne)]),
  )
}

/** Without the private key, and without whatever stands where only `true` or an object belongs. */
function withoutKey(value: unknown, isOne: (name: string, value: unknown) => boolean): unknown {
  if (!isJsonRecord(value)) return typeof value === 'boolean' ? value : null
  return without(Object.fromEntries(Object.entries(value).filter(([name]) => name !== NESTED_SECRET)), isOne)
}

const isAbsent = (config: JsonRecord, name: string): boolean => (config[name] ?? undefined) === undefined

/**
 * The settings with the secrets of the record that they replace, as far as they name none of their own: who reads a record
 * never gets them, and so cannot send them back. Both records must be of one type, and readable.
 */
export function withKeptSecrets(config: JsonRecord, before: JsonRecord): JsonRecord {
  const kept = (names: readonly string[]): JsonRecord =>
    Object.fromEntries(
      names.flatMap(name => (isAbsent(config, name) && isSecret(name, before[name]) ? [[name, before[name]]] : [])),
    )
  const method = config['authMethod'] ?? undefined
  const usesSecret = method === undefined || method === 'client_secret_basic' || method === 'client_secret_post'
  const [own, earlier] = [config[NESTED], before[NESTED]]
  // Of another key's id it would be the wrong one; null says that it is to be forgotten.
  const isSameKey = isJsonRecord(own) && isJsonRecord(earlier) && own['kid'] === earlier['kid']
  const keepsKey = isSameKey && !Object.hasOwn(own, NESTED_SECRET) && Object.hasOwn(earlier, NESTED_SECRET)
  return {
    ...config,
    ...kept([BIND_PASSWORD, ...(usesSecret ? [CLIENT_SECRET] : []), VERIFICATION_KEY]),
    ...(keepsKey && { [NESTED]: { ...own, [NESTED_SECRET]: earlier[NESTED_SECRET] } }),
  }
}
