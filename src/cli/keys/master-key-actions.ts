// The work of `latchkey master-key`. Running servers receive changed records like any other change. An interrupted run leaves
// no inconsistent state: the next one continues.
import { isJsonRecord, parseJson } from '../../base/json.ts'
import type { MasterVault } from '../../base/secrets.ts'
import { isSealed } from '../../base/secrets.ts'
import { refuseForeignDatabase } from '../../bootstrap.ts'
import { claimDatabase } from '../../bootstrap/vault.ts'
import type { Config, StorageConfig } from '../../config.ts'
import { sealContexts } from '../../model/seal-contexts.ts'
import { withSecrets } from '../../providers/provider-secrets.ts'
import type { SealedKind, SealedRow } from '../../store/keys/sealed-store.ts'
import { SEALED_KINDS } from '../../store/keys/sealed-store.ts'
import type { Store } from '../../store/store.ts'
import type { MasterKeyAction } from './master-key.ts'
import { recordOperatorEvent } from '../operator-events.ts'
import { openStorageBeside } from '../database/storage.ts'

const ROWS_AT_ONCE = 100
/** More than one, because servers may still seal with another key meanwhile. */
const MAX_PASSES = 5
const MAX_NAMED = 20

/** Runs the action; `isDone` says that every value is sealed with the first master key. */
export async function runMasterKeyAction(
  config: StorageConfig & Pick<Config, 'audit'>,
  action: MasterKeyAction,
): Promise<{ readonly output: string; readonly isDone: boolean }> {
  const storage = await openStorageBeside(config)
  const { store, vault } = storage
  try {
    await refuseForeignDatabase({ ...storage, config })
    let output = ''
    if (action === 'reseal') {
      await claimDatabase(storage, config.service) // a database of an earlier version has no key of digests yet
      const count = await resealAll(store, vault)
      output = `Re-encrypted ${count} records.\n`
      if (count > 0) {
        const [first = ''] = vault.keyIds
        const event = { zoneId: config.service, principal: first, data: `${count} records` }
        await recordOperatorEvent({ ...event, type: 'MasterKeyResealedEvent' }, 'latchkey master-key', {
          ...storage,
          config,
        })
      }
    }
    const { counts, lost, lostCount } = await countAll(store, vault)
    const [first = ''] = vault.keyIds
    const isDone = [...counts].every(([keyId, count]) => keyId === first || count === 0)
    return { output: `${output}${table(counts, vault)}${lines(lost, lostCount)}`, isDone }
  } finally {
    await store.close()
  }
}

async function resealAll(store: Store, vault: MasterVault): Promise<number> {
  const [first = ''] = vault.keyIds
  let total = 0
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    let count = 0
    for (const kind of SEALED_KINDS) {
      await eachPage(store, kind, async rows => {
        const changes = rows.flatMap(row => {
          const replacement = mapped(kind, row, (sealed, context) =>
            vault.keyOf(sealed, context) === undefined || sealed.startsWith(`v2.${first}.`)
              ? sealed
              : vault.seal(vault.open(sealed, context), context),
          )
          return replacement === row.sealed ? [] : [{ ...row, replacement }]
        })
        if (changes.length > 0) count += await store.sealed.replace(kind, changes)
      })
    }
    total += count
    if (count === 0) break
  }
  return total
}

/** Values that no key opens are counted under the key that they name. */
interface Found {
  readonly counts: ReadonlyMap<string, number>
  /** The first of them. */
  readonly lost: readonly string[]
  readonly lostCount: number
}

async function countAll(store: Store, vault: MasterVault): Promise<Found> {
  const counts = new Map(vault.keyIds.map(keyId => [keyId, 0]))
  const lost: string[] = []
  let lostCount = 0
  for (const kind of SEALED_KINDS) {
    await eachPage(store, kind, async rows => {
      for (const row of rows) {
        mapped(kind, row, (sealed, context) => {
          const keyId = vault.keyOf(sealed, context)
          const named = keyId ?? /^v2\.([^.]+)\./.exec(sealed)?.[1] ?? 'unknown'
          // A damaged value names a key that is there.
          const name = keyId === undefined && vault.keyIds.includes(named) ? 'damaged' : named
          counts.set(name, (counts.get(name) ?? 0) + 1)
          if (keyId === undefined) {
            lostCount += 1
            if (lost.length < MAX_NAMED) lost.push(`${kind} ${row.zoneId} ${row.id}`)
          }
          return sealed
        })
      }
    })
  }
  return { counts, lost, lostCount }
}

async function eachPage(
  store: Store,
  kind: SealedKind,
  work: (rows: readonly SealedRow[]) => Promise<void>,
): Promise<void> {
  let after: SealedRow | undefined
  for (;;) {
    const rows = await store.sealed.page(kind, { count: ROWS_AT_ONCE, after })
    if (rows.length === 0) return
    await work(rows)
    after = rows.at(-1)
  }
}

type Change = (sealed: string, context: string) => string

/** The row's column with each sealed value in it changed. */
function mapped(kind: SealedKind, row: SealedRow, change: Change): string {
  const { zoneId, id, sealed, about } = row
  switch (kind) {
    case 'signing-key':
      return change(sealed, sealContexts.signingKey(zoneId, id))
    case 'server-key':
      return change(sealed, sealContexts.serverKey(id))
    case 'one-time-passwords':
      return change(sealed, sealContexts.oneTimePasswords(zoneId, id))
    case 'session':
      return change(sealed, sealContexts.idTokenOfSession(zoneId, about))
    case 'mail':
      return change(sealed, sealContexts.mail({ zoneId, id }))
    case 'provider': {
      const config = parseJson(sealed)
      if (!isJsonRecord(config)) return sealed
      const provider = { zoneId, originKey: about, config }
      // Earlier versions stored shared verification keys unencrypted.
      return same(
        sealed,
        config,
        withSecrets(provider, (text, context) => (isSealed(text) ? change(text, context) : text)).config,
      )
    }
    case 'saml-key': {
      const config = parseJson(sealed)
      const saml = isJsonRecord(config) ? config['samlConfig'] : undefined
      const keys = isJsonRecord(saml) ? saml['keys'] : undefined
      if (!isJsonRecord(config) || !isJsonRecord(saml) || !isJsonRecord(keys)) return sealed
      const changed = Object.entries(keys).map(([keyId, key]) => {
        if (!isJsonRecord(key) || typeof key['sealedKey'] !== 'string') return [keyId, key]
        return [keyId, { ...key, sealedKey: change(key['sealedKey'], sealContexts.samlKey(zoneId, keyId)) }]
      })
      return same(sealed, config, { ...config, samlConfig: { ...saml, keys: Object.fromEntries(changed) } })
    }
  }
}

/** The original text if nothing changed, regardless of its formatting. */
function same(text: string, before: unknown, after: unknown): string {
  const written = JSON.stringify(after)
  return written === JSON.stringify(before) ? text : written
}

function table(counts: ReadonlyMap<string, number>, { keyIds }: MasterVault): string {
  const rows = [...counts].map(([keyId, count]) => [keyId, String(count), stateOf(keyId, keyIds)])
  const cells = [['KEY', 'VALUES', 'STATE'], ...rows]
  return cells.map(([key = '', count = '', state = '']) => `${key.padEnd(10)}${count.padStart(8)}  ${state}\n`).join('')
}

function stateOf(keyId: string, [first, ...others]: readonly string[]): string {
  if (keyId === first) return 'seals'
  if (others.includes(keyId)) return 'opens'
  return keyId === 'damaged' ? 'was altered' : 'missing'
}

function lines(lost: readonly string[], lostCount: number): string {
  if (lost.length === 0) return ''
  const named = lost.map(each => `  ${each.replace(/[^\x20-\x7e]/g, '?')}\n`)
  const more = lostCount > lost.length ? `  and ${lostCount - lost.length} more\n` : ''
  return `No master key opens:\n${named.join('')}${more}`
}
