import type { Problems } from '../problems.ts'

/** As in the file. */
export interface SamlFile {
  readonly entity_id?: string
  readonly max_authentication_age?: number
  readonly active?: string
  readonly keys?: Readonly<
    Record<string, { readonly pem?: string; readonly passphrase?: string; readonly cert?: string }>
  >
}

/** The SAML service provider of the default zone in the configuration. */
export interface SamlSettings {
  readonly entityId: string
  /** Seconds that a sign-in at a provider may be ago. */
  readonly maxAuthenticationAge: number
  /** Absent: what is in the database stays. */
  readonly keys?: SamlKeys
}

/** Key pairs, unencrypted, by id. */
export interface SamlKeys {
  /** Id of the key that signs. */
  readonly active: string
  readonly pairs: Readonly<Record<string, SamlKeyPair>>
}

interface SamlKeyPair {
  /** PKCS#8. */
  readonly privateKey: string
  /** X.509 certificates, its own first. */
  readonly certificate: string
}

/** UAA's. */
const TEN_DAYS = 864_000

/** Reads `saml`; an invalid key is a problem of its path. */
export async function samlOf(file: SamlFile | undefined, problems: Problems): Promise<SamlSettings> {
  const settings = {
    entityId: (problems.hasValidTypes('saml.entity_id') ? file?.entity_id : undefined) ?? 'latchkey',
    maxAuthenticationAge: file?.max_authentication_age ?? TEN_DAYS,
  }
  if (!problems.hasValidTypes('saml.keys') || !problems.hasValidTypes('saml.active')) return settings
  const { active, keys: given } = file ?? {}
  const ids = Object.keys(given ?? {})
  if (given === undefined || ids.length === 0) {
    if (active !== undefined) problems.add('saml.active', 'names a key, but there are no saml.keys')
    return { ...settings, ...(given && { keys: { active: '', pairs: {} } }) }
  }
  const [only = ''] = ids
  if (active === undefined && ids.length > 1) problems.add('saml.active', 'is missing')
  else if (active !== undefined && !ids.includes(active)) problems.add('saml.active', `${active} is not among the keys`)
  const { readCertifiedKey } = await import('../../base/certificates/certified-key.ts') // only needed with keys
  const pairs: [string, SamlKeyPair][] = []
  for (const [id, key] of Object.entries(given)) {
    const path = `saml.keys.${id}`
    for (const part of ['pem', 'cert'] as const) {
      if (key[part] === undefined) problems.add(path, `needs ${part} or ${part}_file`)
    }
    const { pem, passphrase, cert: certificate } = key
    if (pem === undefined || certificate === undefined) continue
    if (problems.list.some(problem => problem.key.startsWith(`${path}.`))) continue // such as a file that cannot be read
    const privateKey = await readCertifiedKey({ key: pem, passphrase, certificate })
    if (privateKey === undefined) {
      problems.add(path, 'must be an RSA or EC key with its passphrase, if it has one, and its own certificate first')
    } else pairs.push([id, { privateKey, certificate }])
  }
  return { ...settings, keys: { active: active ?? only, pairs: Object.fromEntries(pairs) } }
}

/** Refuses an `activeKeyId` of the zone's settings, which takes the place of `saml.active`, that is not among the keys. */
export function checkChosenKey(
  activeKeyId: string | null | undefined,
  { keys }: Pick<SamlSettings, 'keys'>,
  problems: Problems,
): void {
  if (typeof activeKeyId !== 'string' || !keys || Object.hasOwn(keys.pairs, activeKeyId)) return
  if (problems.list.some(({ key }) => key.startsWith('saml.'))) return // perhaps it is one of those that cannot be read
  problems.add('zone_config.samlConfig.activeKeyId', `${activeKeyId} is not among saml.keys`)
}
