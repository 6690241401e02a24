// Every place in the database with values sealed under the master key, so that they can be sealed again. Does no sealing itself.
import type { Change } from '../changes.ts'
import { statement } from '../database.ts'
import type { Database, Statement } from '../database.ts'
import type { SealedKind, SealedRow, SealedStore } from './sealed-store.ts'

interface Place {
  zone_id: string
  id: string
}
interface Row extends Place {
  sealed: string
  about: string
}

/** A table with sealed values. */
interface Table {
  readonly page: Statement<Place & { most: number }, Row>
  readonly replace: Statement<Place & { sealed: string; before: string }, never>
  /** The part that caches hold. */
  readonly change?: Change['kind']
}

/** `zone` and `id` are the primary key; `about` is what else the context of the values needs. */
function table(
  name: string,
  columns: { readonly zone: string; readonly id: string; readonly sealed: string; readonly about?: string },
  { where = '', change }: { readonly where?: string; readonly change?: Change['kind'] } = {},
): Table {
  const { zone, id, sealed, about = `''` } = columns
  return {
    page: statement(
      `select ${zone} as zone_id, ${id} as id, ${sealed} as sealed, ${about} as about from ${name}
       where (${zone}, ${id}) > (:zone_id, :id) ${where} order by ${zone}, ${id} limit :most`,
    ),
    replace: statement(
      `update ${name} set ${sealed} = :sealed where ${zone} = :zone_id and ${id} = :id and ${sealed} = :before`,
    ),
    ...(change && { change }),
  }
}

const inZone = (id: string, sealed: string) => ({ zone: 'zone_id', id, sealed })

const TABLES: Readonly<Record<SealedKind, Table>> = {
  'signing-key': table('signing_keys', inZone('key_id', 'sealed_private_key'), {
    where: 'and sealed_private_key is not null',
    change: 'keys',
  }),
  provider: table(
    'identity_providers',
    { ...inZone('id', 'config'), about: 'origin_key' },
    { where: `and (config like '%"v1.%' or config like '%"v2.%')`, change: 'providers' },
  ),
  'saml-key': table(
    'zones',
    { zone: 'id', id: 'id', sealed: 'config' },
    { where: `and config like '%"sealedKey"%'`, change: 'zones' },
  ),
  'one-time-passwords': table('totp_secrets', inZone('user_id', 'sealed_secret')),
  session: table(
    'sessions',
    { ...inZone('id_digest', 'sealed_id_token'), about: 'session_salt' },
    { where: 'and sealed_id_token is not null' },
  ),
  mail: table('outgoing_mails', inZone('id', 'sealed')),
  'server-key': table('server_keys', { zone: 'name', id: 'name', sealed: 'sealed_private_key' }),
}

/** Implements `SealedStore` for both databases. */
export function createSealed(db: Database): SealedStore {
  return {
    async page(kind, { count, after }) {
      const rows = await db.scan(TABLES[kind].page, {
        zone_id: after?.zoneId ?? '',
        id: after?.id ?? '',
        most: count,
      })
      return rows.map(({ zone_id, id, sealed, about }): SealedRow => ({ zoneId: zone_id, id, sealed, about }))
    },
    replace(kind, changes) {
      const { replace, change } = TABLES[kind]
      return db.transaction(async within => {
        const zones = new Set<string>()
        let count = 0
        for (const { zoneId, id, sealed, replacement } of changes) {
          const outcome = await within.run(replace, { zone_id: zoneId, id, sealed: replacement, before: sealed })
          count += outcome.changes
          if (outcome.changes > 0) zones.add(zoneId)
        }
        if (change) for (const zoneId of zones) await within.announce({ kind: change, zoneId, key: '' })
        return count
      })
    },
  }
}
