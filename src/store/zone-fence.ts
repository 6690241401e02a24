// Refuses writes of a request to its zone after the zone was deleted, and perhaps created again with the same id: the request was
// authorized by the former zone. Rows do not name the zone's incarnation, and callers only its id, so the request is remembered
// while it runs, and its zone is compared with the cached one, which is dropped by the deletion.
import { AsyncLocalStorage } from 'node:async_hooks'
import { stopwatch } from '../base/clock.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Database, Transaction } from './database.ts'
import { ZoneDeleted } from './store.ts'

/** No request takes as long; a task that it started in the background may. */
const MAX_REQUEST_MS = 5 * 60_000

/** Distinguishes a zone from an earlier one with the same id. */
type Incarnation = Pick<Zone, 'id' | 'createdAt'>

interface Begun {
  readonly zone: () => Incarnation | undefined
  readonly elapsed: () => number
}

/** The fence around the database, and the requests that it knows. */
interface ZoneFence {
  readonly db: Database
  /** Runs the work of a request; `zone` is asked at each write, and is undefined until the zone is known. */
  during<T>(zone: Begun['zone'], work: () => T): T
}

/** `find` must not use the database inside of the fence for a write. */
export function createZoneFence(db: Database, find: (zoneId: string) => Promise<Zone | undefined>): ZoneFence {
  const storage = new AsyncLocalStorage<Begun>()

  /** The zone of the current request, as the request found it. */
  function zoneOfRequest(): Incarnation | undefined {
    const begun = storage.getStore()
    return begun && begun.elapsed() <= MAX_REQUEST_MS ? begun.zone() : undefined
  }

  /** The id of the zone, if it no longer exists as the request found it. */
  async function idIfDeleted(zone: Incarnation): Promise<string | undefined> {
    const current = await find(zone.id)
    return current?.createdAt.getTime() === zone.createdAt.getTime() ? undefined : zone.id
  }

  function refuse(verb: string, args: object, deleted: string | undefined): void {
    if (deleted === undefined || verb === 'select' || verb === 'delete') return
    if (Reflect.get(args, 'zone_id') === deleted) throw new ZoneDeleted()
  }

  async function transactionIn<T>(zone: Incarnation, work: (within: Transaction) => Promise<T>): Promise<T> {
    const deleted = await idIfDeleted(zone)
    const fenced = (within: Transaction): Transaction => ({
      ...within,
      run(of, args) {
        refuse(of.verb, args, deleted)
        return within.run(of, args)
      },
    })
    return db.transaction(deleted === undefined ? work : within => work(fenced(within)))
  }

  return {
    during: (zone, work) => storage.run({ zone, elapsed: stopwatch() }, work),
    // Outside of a request, a write is with the database at once, and so before a later `close`.
    db: {
      ...db,
      write(of, args) {
        const zone = zoneOfRequest()
        if (!zone) return db.write(of, args)
        return idIfDeleted(zone).then(deleted => {
          refuse(of.verb, args, deleted)
          return db.write(of, args)
        })
      },
      transaction(work) {
        const zone = zoneOfRequest()
        return zone ? transactionIn(zone, work) : db.transaction(work)
      },
    },
  }
}
