// The entries of a batch, and the clients that they name.
import type { FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import type { ClientWrite } from '../../clients/changes.ts'
import type { StoredClient } from '../../store/store.ts'
import { jsonListOrNull } from '../../web/requests/json.ts'
import { invalidClient } from './record.ts'
import { textOf } from './secret.ts'
import { alreadyExists } from './writer.ts'
import type { ClientWriter } from './writer.ts'

const MAX_ENTRIES = 1000
/** Leaves room in the queue of hashes for other requests. */
const MAX_CONCURRENT = 4

/** An entry with the ID of its client. */
export interface Entry {
  readonly json: JsonRecord
  readonly clientId: string
}

/** The same with the client. */
export interface ExistingEntry extends Entry {
  readonly existing: StoredClient
}

/** The result of an entry: a write, if one is needed, and its part of the response. */
export interface EntryResult {
  readonly write?: ClientWrite | undefined
  readonly answer: JsonRecord
}

/** The entries of the body. Throws for too many, and for a repeated id, whose result would depend on the order. */
export function entriesOf(
  request: FastifyRequest,
  idName: 'client_id' | 'clientId',
  repeatedStatus: 400 | 409 = 400,
): readonly Entry[] {
  const list = jsonListOrNull(request)
  if (list.length > MAX_ENTRIES) throw invalidClient(`At most ${MAX_ENTRIES} clients can be changed at once.`)
  const seen = new Set<string>()
  return list.map(json => {
    const clientId = textOf(json, idName) ?? ''
    if (clientId === '') throw invalidClient(`A ${idName} must be provided.`)
    if (seen.has(clientId)) {
      throw repeatedStatus === 409 ? alreadyExists(clientId) : invalidClient(`Client is named twice: ${clientId}`)
    }
    seen.add(clientId)
    return { json, clientId }
  })
}

/** The client of each entry, in their order. */
export const findClients = (
  request: FastifyRequest,
  entries: readonly Entry[],
  writer: ClientWriter,
): Promise<readonly (StoredClient | undefined)[]> =>
  mapLimited(entries, ({ clientId }) => writer.find(request, clientId))

/** Every entry with its client; undefined if any client does not exist. */
export async function findAllExisting(
  request: FastifyRequest,
  entries: readonly Entry[],
  writer: ClientWriter,
): Promise<readonly ExistingEntry[] | undefined> {
  const found = await findClients(request, entries, writer)
  const existing = entries.flatMap((entry, index) => {
    const client = found[index]
    return client ? { ...entry, existing: client } : []
  })
  return existing.length === entries.length ? existing : undefined
}

/** Throws for the first entry whose client exists. */
export async function refuseExisting(
  request: FastifyRequest,
  entries: readonly Entry[],
  writer: ClientWriter,
): Promise<void> {
  const existing = await findClients(request, entries, writer)
  const taken = entries.find((_, index) => existing[index] !== undefined)
  if (taken) throw alreadyExists(taken.clientId)
}

/** Maps with limited concurrency, keeping order. */
export async function mapLimited<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += MAX_CONCURRENT) {
    results.push(...(await Promise.all(items.slice(start, start + MAX_CONCURRENT).map(work))))
  }
  return results
}
