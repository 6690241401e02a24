import { statement } from './database.ts'
import type { Database, Statement } from './database.ts'
import type { LeaseStore } from './lease-store.ts'

interface Lease {
  name: string
  holder: string
  milliseconds: number
}

/** Takes or renews a lease, which changes a row, or changes none. */
export const takeLease = ({ now }: Database): Statement<Lease, never> =>
  statement<Lease>(
    `insert into leases (name, holder, expires_at) values (:name, :holder, ${now} + :milliseconds)
     on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
     where leases.holder = excluded.holder or leases.expires_at <= ${now}`,
  )
const RELEASE = statement<{ name: string; holder: string }>(
  `delete from leases where name = :name and holder = :holder`,
)

/** Implements `LeaseStore` for both databases. */
export function createLeases(db: Database): LeaseStore {
  const take = takeLease(db)
  return {
    async take(name, holder, milliseconds) {
      return (await db.write(take, { name, holder, milliseconds })).changes > 0
    },
    async release(name, holder) {
      await db.write(RELEASE, { name, holder })
    },
  }
}
