// The signing keys of a zone (`tokenPolicy.keys`), which are part of the settings in requests, but stored separately.
import type { Clock } from '../../base/clock.ts'
import type { JsonRecord } from '../../base/json.ts'
import { isJsonRecord } from '../../base/json.ts'
import type { Vault } from '../../base/secrets.ts'
import type { KeyProblem } from '../../model/tokens/key-material.ts'
import { readKeyMaterial, ZONE_KEY_LIMITS } from '../../model/tokens/key-material.ts'
import type { SigningKeyRecord } from '../../model/tokens/signing-key.ts'
import { InvalidZoneConfig } from '../../model/zones/zone-rules.ts'
import { WrongShape } from '../../records/settings.ts'
import type { Store, ZoneAdditions, ZoneState } from '../../store/store.ts'
import { sealedKey } from '../../token/keys/zone-key.ts'
import type { AdminDeps } from '../deps.ts'

/** The signing keys of a request. */
export interface SentKeys {
  /** The active key of the zone; undefined if it has none. */
  readonly activeKeyId: string | undefined
  /** Absent if the keys do not change. */
  readonly change?: NonNullable<ZoneAdditions['keys']>
}

const PATH = 'config.tokenPolicy.keys'

/**
 * Reads `tokenPolicy`: keys replace the existing ones, no keys keep them; without `activeKeyId` the first new key
 * becomes active. Throws `WrongShape` or `InvalidZoneConfig`.
 */
export async function readSigningKeys(
  policy: JsonRecord,
  zoneId: string,
  { store, vault, clock, before }: { store: Store; vault: Vault; clock: Clock; before?: ZoneState },
): Promise<SentKeys> {
  const wanted = textOf(policy, 'activeKeyId', { path: 'config.tokenPolicy', maxLength: ZONE_KEY_LIMITS.id })
  const sent = (Object.hasOwn(policy, 'keys') ? policy['keys'] : undefined) ?? {}
  if (!isJsonRecord(sent)) throw new WrongShape(PATH, 'an object')
  const ids = Object.keys(sent)
  if (ids.length === 0) {
    return keepKeys(wanted, before, { store, clock })
  }
  if (ids.length > ZONE_KEY_LIMITS.count || ids.some(id => id.trim() === '' || id.length > ZONE_KEY_LIMITS.id)) {
    throw new WrongShape(
      PATH,
      `an object of at most ${ZONE_KEY_LIMITS.count} keys, each with a name of at most ${ZONE_KEY_LIMITS.id} characters`,
    )
  }
  const activeKeyId = wanted ?? ids[0]
  if (activeKeyId === undefined || !ids.includes(activeKeyId)) throw notPresent(activeKeyId ?? '')
  const createdAt = clock.now()
  const change = ids.map((keyId): SigningKeyRecord => {
    const material = materialOf(keyId, sent[keyId])
    return sealedKey({ zoneId, keyId, active: keyId === activeKeyId, createdAt }, material, vault)
  })
  return { activeKeyId, change }
}

const notPresent = (id: string): InvalidZoneConfig =>
  new InvalidZoneConfig(`The specified active key ID is not present in the configured keys: ${id}`)

async function keepKeys(
  wanted: string | undefined,
  before: ZoneState | undefined,
  { store, clock }: Pick<AdminDeps, 'store' | 'clock'>,
): Promise<SentKeys> {
  const chosen = before?.zone.config.tokenPolicy?.activeKeyId ?? undefined
  if (wanted === undefined) return { activeKeyId: chosen }
  const keys = before ? await store.keys.list(before.zone.id) : []
  if (keys.length === 0) {
    throw new InvalidZoneConfig('Identity zone cannot specify an active key ID with no keys configured for the zone.')
  }
  const now = clock.now()
  const key = keys.find(({ keyId }) => keyId === wanted)
  if (key?.sealedPrivateKey === undefined || (key.expiresAt && key.expiresAt <= now)) throw notPresent(wanted)
  return { activeKeyId: wanted, ...(!key.active && { change: { activate: wanted, now } }) }
}

const PARTS: Readonly<Record<KeyProblem['part'], string>> = {
  key: 'signingKey',
  algorithm: 'signingAlg',
  certificate: 'signingCert',
}

function materialOf(keyId: string, entry: unknown) {
  const path = `${PATH}.${keyId}`
  if (!isJsonRecord(entry)) throw new WrongShape(path, 'an object')
  const text = textOf(entry, 'signingKey', { path, maxLength: ZONE_KEY_LIMITS.key })
  if (text === undefined) throw new WrongShape(`${path}.signingKey`, 'a string that is not empty')
  const read = readKeyMaterial({
    text,
    algorithm: textOf(entry, 'signingAlg', { path, maxLength: ZONE_KEY_LIMITS.id }),
    certificate: textOf(entry, 'signingCert', { path, maxLength: ZONE_KEY_LIMITS.certificate }),
  })
  if (!('problem' in read)) return read
  throw new InvalidZoneConfig(`${PARTS[read.part]} of the token key '${keyId}': ${read.problem}.`)
}

/** Undefined if missing, null or empty. */
function textOf(
  record: JsonRecord,
  name: string,
  { path, maxLength }: { readonly path: string; readonly maxLength: number },
): string | undefined {
  const value = (Object.hasOwn(record, name) ? record[name] : undefined) ?? ''
  if (typeof value !== 'string' || value.length > maxLength) {
    throw new WrongShape(`${path}.${name}`, `a string of at most ${maxLength} characters`)
  }
  return value === '' ? undefined : value
}
