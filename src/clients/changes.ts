// Creates, changes and deletes clients: hashes secrets before any transaction, applies all writes of a request or none,
// then records audit events. Does not know requests and responses.
import type { Clock } from '../base/clock.ts'
import type { Requester } from '../base/concurrency/fair-queue.ts'
import type { ClientDefinition } from './client-json.ts'
import type { Client } from '../model/clients/client.ts'
import type { Audit, AuditEventType, AuditOrigin } from '../model/audit/event.ts'
import type { ChangedClient, ClientChange, Store, StoredClient } from '../store/store.ts'
import { freeRows } from '../token/free-rows.ts'
import { newSecret } from './secrets.ts'
import type { SecretDeps } from './secrets.ts'

/** 132 bits. */
export const INCARNATION_LENGTH = 22

/** A validated client definition, its secrets still in plain text. */
interface ClientDraft {
  readonly definition: ClientDefinition
  readonly secrets: readonly string[]
}

/** The record of a new client; slow, because it hashes the secrets. `requester` is absent for the server itself. */
export async function newClient(
  { definition, secrets }: ClientDraft,
  { zoneId, requester }: { readonly zoneId: string; readonly requester?: Requester | undefined },
  deps: SecretDeps & { readonly clock: Clock },
): Promise<Client> {
  const hashed = []
  for (const secret of secrets) hashed.push(await newSecret(secret, requester, deps))
  const now = deps.clock.now()
  const incarnation = deps.random.urlSafe(INCARNATION_LENGTH)
  return { ...definition, zoneId, secrets: hashed, incarnation, createdAt: now, updatedAt: now }
}

/** A change with the audit events that follow it. */
export interface ClientWrite {
  readonly change: ClientChange
  readonly events: readonly AuditEventType[]
}

/** The write of a new client; `createdBy` is shown with its metadata. */
export const creation = (client: Client, createdBy?: string): ClientWrite => ({
  change: { kind: 'insert', client, createdBy },
  events: ['ClientCreateSuccess'],
})

/** The write that replaces the record as it was read. */
export const update = (
  { revision }: StoredClient,
  client: Client,
  {
    events = ['ClientUpdateSuccess'],
    forgetApprovals = false,
  }: { readonly events?: readonly AuditEventType[]; readonly forgetApprovals?: boolean } = {},
): ClientWrite => ({ change: { kind: 'update', client, revision, forgetApprovals }, events })

/** The write that deletes the record as it was read. */
export const deletion = ({ client: { clientId }, revision }: StoredClient): ClientWrite => ({
  change: { kind: 'delete', clientId, revision },
  events: ['ClientDeleteSuccess'],
})

/**
 * Applies all of the changes or none, then records their events. Throws `AlreadyExists` for an id that is taken, and
 * `ChangedMeanwhile` for a record that was changed or deleted since it was read.
 */
export async function applyWrites(
  zoneId: string,
  writes: readonly ClientWrite[],
  { store, audit, origin }: { readonly store: Store; readonly audit: Audit; readonly origin: AuditOrigin },
): Promise<void> {
  const changes = writes.map(({ change }) => change)
  await store.clients.apply(zoneId, changes)
  for (const write of writes) report(write, { zoneId, audit, origin })
  for (const change of changes) {
    if (change.kind === 'delete') await freeRows(() => store.tokens.deleteSomeOfClient(zoneId, change.clientId))
  }
}

/** Records the event of a client that registered itself, which was stored already. */
export const recordCreation = (
  client: Client,
  { audit, origin }: { readonly audit: Audit; readonly origin: AuditOrigin },
): void => report(creation(client), { zoneId: client.zoneId, audit, origin })

function report(
  { change, events }: ClientWrite,
  { zoneId, audit, origin }: { readonly zoneId: string; readonly audit: Audit; readonly origin: AuditOrigin },
): void {
  const client = change.kind === 'insert' || change.kind === 'update' ? change.client : undefined
  const clientId = change.kind === 'insert' || change.kind === 'update' ? change.client.clientId : change.clientId
  const facts = { zoneId, principal: clientId, ...origin }
  for (const type of events) {
    const showsScopes = client && (type === 'ClientCreateSuccess' || type === 'ClientUpdateSuccess')
    audit({ type, ...facts, ...(showsScopes && { data: scopesOf(client) }) })
  }
  const forgetsApprovals = change.kind === 'delete' || (change.kind === 'update' && change.forgetApprovals === true)
  if (forgetsApprovals) audit({ type: 'ClientApprovalsDeleted', ...facts })
}

/** Records that the deletion of a zone has taken authorities from clients. */
export function recordLostRights(
  clients: readonly ChangedClient[],
  { zoneId, audit, origin }: { readonly zoneId: string; readonly audit: Audit; readonly origin: AuditOrigin },
): void {
  for (const client of clients) {
    audit({ type: 'ClientUpdateSuccess', zoneId, principal: client.clientId, ...origin, data: scopesOf(client) })
  }
}

const scopesOf = ({ scope, authorities }: Pick<Client, 'scope' | 'authorities'>): string =>
  `scopes=[${scope.join(', ')}], authorities=[${authorities.join(', ')}]`
