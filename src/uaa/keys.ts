// The signing keys of a zone, which UAA stores unencrypted in its settings (`tokenPolicy.keys`). Each keeps its id, so that tokens
// stay valid.
import { isJsonRecord, memberOf } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { readKeyMaterial, ZONE_KEY_LIMITS } from '../model/tokens/key-material.ts'
import type { KeyMaterial } from '../model/tokens/key-material.ts'
import { sealedKey } from '../token/keys/zone-key.ts'
import type { ImportDeps } from './import-deps.ts'

/** The keys that can be used, and which of them signs. */
interface StoredKeys {
  readonly activeKeyId: string | undefined
  readonly keys: ReadonlyMap<string, KeyMaterial>
}

/** UAA has a single key in its configuration file only (`jwt.token.signing-key`). */
const WITHOUT_KEYS =
  'the default zone has no signing keys in the database: tokens of UAA are not valid until you add its key legacy-token-key (docs/moving-from-uaa.md)'

/** Reads `tokenPolicy`, and reports what cannot be taken. */
export function readKeys(
  policy: JsonRecord,
  zoneId: string,
  { report, rules }: Pick<ImportDeps, 'report' | 'rules'>,
): StoredKeys {
  const given = memberOf(policy, 'keys') ?? {}
  const entries = isJsonRecord(given) ? Object.entries(given) : []
  const keys = new Map<string, KeyMaterial>()
  if (!isJsonRecord(given) || entries.length > ZONE_KEY_LIMITS.count) {
    report.refused(
      'signing key',
      `(zone ${zoneId})`,
      `tokenPolicy.keys must be an object of at most ${ZONE_KEY_LIMITS.count} keys`,
    )
    return { activeKeyId: undefined, keys }
  }
  for (const [keyId, entry] of entries) {
    const read = materialOf(keyId, entry)
    if (typeof read === 'string') report.refused('signing key', `${keyId} (zone ${zoneId})`, read)
    else keys.set(keyId, read.material)
    if (typeof read !== 'string' && read.note) report.note(`signing key ${keyId} (zone ${zoneId}): ${read.note}`)
  }
  const chosen = memberOf(policy, 'activeKeyId')
  // UAA signs with the only key where none is named.
  const active =
    typeof chosen === 'string' && chosen !== '' ? chosen : entries.length === 1 ? entries[0]?.[0] : undefined
  if (active !== undefined && keys.has(active)) return { activeKeyId: active, keys }
  const isDefault = zoneId === rules.service.name
  if (entries.length > 0) {
    const signer = isDefault ? 'a new one will sign' : 'that of the default zone signs'
    report.note(`zone ${zoneId}: none of its signing keys can be active, so ${signer}; latchkey keys lists them`)
  } else if (isDefault) report.note(WITHOUT_KEYS)
  return { activeKeyId: undefined, keys }
}

function materialOf(
  keyId: string,
  entry: unknown,
): { readonly material: KeyMaterial; readonly note?: string } | string {
  if (keyId.trim() === '' || keyId.length > ZONE_KEY_LIMITS.id)
    return `an id must have 1 to ${ZONE_KEY_LIMITS.id} characters`
  const text = textOf(entry, 'signingKey')
  if (text === undefined || text.length > ZONE_KEY_LIMITS.key) {
    return `signingKey must be a string of at most ${ZONE_KEY_LIMITS.key} characters`
  }
  const algorithm = textOf(entry, 'signingAlg')
  const certificate = textOf(entry, 'signingCert')
  const isLong = certificate !== undefined && certificate.length > ZONE_KEY_LIMITS.certificate
  const read = readKeyMaterial({ text, algorithm, certificate: isLong ? undefined : certificate })
  if (!('problem' in read))
    return { material: read, ...(isLong && { note: 'without its certificate, which is too long' }) }
  if (read.part !== 'certificate') return `its ${read.part} ${read.problem}`
  // UAA leaves out a certificate that is not usable.
  const material = readKeyMaterial({ text, algorithm })
  if ('problem' in material) return `its ${material.part} ${material.problem}`
  return { material, note: `without its certificate, which ${read.problem}` }
}

const textOf = (entry: unknown, name: string): string | undefined => {
  const value = memberOf(entry, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Writes those that the zone does not have yet; the active one last, so that there is one at any time. */
export async function saveKeys(
  zoneId: string,
  { activeKeyId, keys }: StoredKeys,
  { store, vault, clock, report }: Pick<ImportDeps, 'store' | 'vault' | 'clock' | 'report'>,
): Promise<void> {
  const known = new Set((await store.keys.list(zoneId)).map(({ keyId }) => keyId))
  const ordered = [...keys].toSorted(([left], [right]) => Number(left === activeKeyId) - Number(right === activeKeyId))
  for (const [keyId, material] of ordered) {
    if (known.has(keyId)) {
      report.same('signing key')
      continue
    }
    const of = { zoneId, keyId, active: keyId === activeKeyId, createdAt: clock.now() }
    await store.keys.save(zoneId, sealedKey(of, material, vault))
    report.imported('signing key')
  }
}
