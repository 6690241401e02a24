import type { Client } from '../model/clients/client.ts'
import { displayName } from '../model/clients/client.ts'
import type { Zone } from '../model/zones/zone.ts'
import { documentUrlProblem } from '../model/clients/document-address.ts'
import type { Store } from '../store/store.ts'

/** The part of a client that is shown to users, and that suffices to revoke its access. */
export interface ClientSummary {
  readonly clientId: string
  readonly name: string
  /** Absent for a client with a metadata document, which is not fetched for this. */
  readonly client?: Client
}

/**
 * The client of an approval. One with a metadata document is identified by its URL alone: its owner must not be able to hide
 * an approval by removing the document for a while.
 */
export async function findClientSummary(
  { clients }: Pick<Store, 'clients'>,
  zone: Pick<Zone, 'id'>,
  clientId: string,
): Promise<ClientSummary | undefined> {
  if (documentUrlProblem(clientId) === undefined) return { clientId, name: new URL(clientId).host }
  const client = await clients.find(zone.id, clientId)
  return client && { clientId, name: displayName(client), client }
}
