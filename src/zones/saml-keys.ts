// Reads the key pairs of a zone's SAML service provider; private keys are never returned.
import { isSameCertificate, readCertifiedKey } from '../base/certificates/certified-key.ts'
import type { FairQueue, Requester } from '../base/concurrency/fair-queue.ts'
import type { JsonRecord } from '../base/json.ts'
import { isJsonRecord } from '../base/json.ts'
import { openingRounds } from '../base/certificates/private-key.ts'
import type { Vault } from '../base/secrets.ts'
import { sealContexts } from '../model/seal-contexts.ts'
import { InvalidZoneConfig } from '../model/zones/zone-rules.ts'
import { WrongShape } from '../records/settings.ts'
import type { SamlConfig, SamlKey } from '../model/zones/zone.ts'

/** Id of the key in the old format. */
export const LEGACY_SAML_KEY = 'legacy-saml-key'

/** A key pair of a request; missing parts are empty. */
interface SentKey {
  readonly key: string
  readonly passphrase: string
  readonly certificate: string
}

const MAX_KEYS = 20
/** Rounds of all key derivations of one request: a fifth of a second. OpenSSL encrypts a key with 2048 rounds. */
const MAX_ROUNDS = 200_000

/** The active key: the chosen one, else the one in the old format. */
export const samlActiveKeyId = ({ activeKeyId, keys = {} }: SamlConfig): string | undefined =>
  activeKeyId ?? (Object.hasOwn(keys, LEGACY_SAML_KEY) ? LEGACY_SAML_KEY : undefined)

/** Dependencies of `readSamlKeys`. */
interface SamlKeyDeps {
  readonly zoneId: string
  readonly before?: SamlConfig
  readonly vault: Vault
  /** The queue in which keys with a passphrase are decrypted. */
  readonly openings: FairQueue
  readonly requester: Requester
}

/**
 * Reads and seals key pairs. One without a private key keeps the zone's private key of the same certificate. Throws
 * `WrongShape`, `InvalidZoneConfig` or `QueueFull`.
 */
export async function readSamlKeys(config: JsonRecord, deps: SamlKeyDeps): Promise<Readonly<Record<string, SamlKey>>> {
  const { before = {}, openings, requester } = deps
  const sent = sentKeys(config)
  const ids = Object.keys(sent)
  if (ids.length === 0) return {}
  const active = textOf(config, 'activeKeyId', 'config.samlConfig') || (LEGACY_SAML_KEY in sent && LEGACY_SAML_KEY)
  if (!active || !Object.hasOwn(sent, active)) {
    const named = active === false || active === '' ? 'null' : active
    throw new InvalidZoneConfig(`Invalid SAML active key ID: '${named}'. Couldn't find any matching keys.`)
  }
  const rounds = Object.values(sent).reduce((sum, { key }) => sum + openingRounds(key), 0)
  if (rounds > MAX_ROUNDS) {
    throw new InvalidZoneConfig(
      `The SAML keys take ${rounds} rounds to decrypt; at most ${MAX_ROUNDS} are allowed in one request.`,
    )
  }
  const read = async (): Promise<Readonly<Record<string, SamlKey>>> => {
    const pairs: [string, SamlKey][] = []
    for (const [id, key] of Object.entries(sent)) {
      const kept = Object.hasOwn(before.keys ?? {}, id) ? before.keys?.[id] : undefined
      pairs.push([id, await sealedPair(id, key, { ...deps, kept })])
    }
    return Object.fromEntries(pairs)
  }
  return rounds === 0 ? read() : openings.run(requester, read)
}

async function sealedPair(
  id: string,
  { key, passphrase, certificate }: SentKey,
  { kept, zoneId, vault }: { readonly kept: SamlKey | undefined; readonly zoneId: string; readonly vault: Vault },
): Promise<SamlKey> {
  if (key === '' && passphrase === '' && kept && isSameCertificate(kept.certificate, certificate)) return kept
  if (key === '' || certificate === '') {
    throw new InvalidZoneConfig('Identity zone cannot be udpated with partial Saml CertKey config.')
  }
  const privatePem = await readCertifiedKey({ key, passphrase, certificate })
  if (privatePem === undefined) {
    throw new InvalidZoneConfig(`There is a security problem with the SAML SP Key configuration for key '${id}'.`)
  }
  return sealSamlKey(zoneId, id, { privateKey: privatePem, certificate }, vault)
}

/** Encrypts a key pair whose private key is PKCS#8 PEM. */
export const sealSamlKey = (
  zoneId: string,
  id: string,
  { privateKey, certificate }: { readonly privateKey: string; readonly certificate: string },
  vault: Vault,
): SamlKey => ({ sealedKey: vault.seal(privateKey, sealContexts.samlKey(zoneId, id)), certificate })

/** Decrypts a key pair to PKCS#8 PEM. Throws if it was altered, or sealed for another zone, name or master key. */
export const openSamlKey = (zoneId: string, id: string, { sealedKey }: SamlKey, vault: Vault): string =>
  vault.open(sealedKey, sealContexts.samlKey(zoneId, id))

/** The entries of `keys`, and the one in the old format, which takes precedence. */
function sentKeys(config: JsonRecord): Readonly<Record<string, SentKey>> {
  const path = 'config.samlConfig.keys'
  const given = (Object.hasOwn(config, 'keys') ? config['keys'] : undefined) ?? {}
  if (!isJsonRecord(given)) throw new WrongShape(path, 'an object')
  if (Object.keys(given).length > MAX_KEYS) throw new WrongShape(path, `an object of at most ${MAX_KEYS} keys`)
  const keys = Object.entries(given).map(([id, entry]): readonly [string, SentKey] => {
    if (!isJsonRecord(entry)) throw new WrongShape(`${path}.${id}`, 'an object')
    const at = `${path}.${id}`
    return [
      id,
      {
        key: textOf(entry, 'key', at),
        passphrase: textOf(entry, 'passphrase', at),
        certificate: textOf(entry, 'certificate', at),
      },
    ]
  })
  const at = 'config.samlConfig'
  const legacy = {
    key: textOf(config, 'privateKey', at),
    passphrase: textOf(config, 'privateKeyPassword', at),
    certificate: textOf(config, 'certificate', at),
  }
  // Next to an entry with a private key, a certificate in the old format repeats what was shown before.
  const entry = keys.find(([id]) => id === LEGACY_SAML_KEY)?.[1]
  const isSaid = legacy.key !== '' || (!entry?.key && (legacy.certificate !== '' || legacy.passphrase !== ''))
  return { ...Object.fromEntries(keys), ...(isSaid && { [LEGACY_SAML_KEY]: legacy }) }
}

/** Longer keys and certificates are refused. */
const MAX_STRING_LENGTH = 65_536

function textOf(record: JsonRecord, name: string, path: string): string {
  const value = (Object.hasOwn(record, name) ? record[name] : undefined) ?? ''
  if (typeof value !== 'string' || value.length > MAX_STRING_LENGTH) throw new WrongShape(`${path}.${name}`, 'a string')
  return value.trim() === '' ? '' : value
}
