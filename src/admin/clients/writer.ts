// The way of every change of a client: read and judge the record, hash outside of any transaction, write all or nothing,
// then say so in the trail. Owns that order; refuses to know paths, batches and answers.
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { JsonRecord } from '../../base/json.ts'
import { rightsBeyond } from '../../model/client-caller.ts'
import type { LimitedBearer } from '../../model/client-caller.ts'
import { clientFromJson } from '../../model/client-json.ts'
import type { ClientFromJson, ClientReading } from '../../model/client-json.ts'
import { hasKeys, mergedJson, updatedClient } from '../../model/client-json.ts'
import type { Client } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit, AuditEventType } from '../../model/event.ts'
import { secretPolicy } from '../../model/secret-policy.ts'
import type { Service } from '../../model/service.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'
import type { ClientChange, Store, StoredClient } from '../../store/store.ts'
import { lacksRight } from '../../web/bearer.ts'
import { requesterOf } from '../../web/requester.ts'
import { administrators, invalidClient, isClientAdministrator } from './record.ts'
import { newSecret } from '../../clients/secrets.ts'
import type { SecretDeps } from '../../clients/secrets.ts'

/** What changing clients needs. */
export interface ClientWriterDeps extends SecretDeps {
  readonly store: Store
  readonly clock: Clock
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** A change and what the trail is told once it is made. */
export interface ClientWrite {
  readonly change: ClientChange
  readonly events: readonly AuditEventType[]
}

/** Reads and makes changes of the clients of a request's zone. */
export interface ClientWriter {
  /**
   * The client that is to be changed. Throws 403 for one that has rights which its caller, no administrator, has not: see
   * `rightsBeyond`.
   */
  find(request: FastifyRequest, clientId: string): Promise<StoredClient | undefined>
  /** A new client, its secrets still in the clear. Throws `invalid_client` for the first rule that it breaks. */
  readNew(request: FastifyRequest, json: JsonRecord, options?: { readonly withSecondSecret?: boolean }): ClientFromJson
  /** The client to be written; the slow part of making one. */
  create(request: FastifyRequest, draft: ClientFromJson): Promise<ClientWrite & { readonly client: Client }>
  /** The client after an update, by the merge of §4.4 unless all of it is to be replaced. Throws as `readNew`. */
  readUpdate(
    request: FastifyRequest,
    existing: Client,
    json: JsonRecord,
    options?: { readonly replace?: boolean },
  ): Client
  /** Makes all of the changes or none. Throws `invalid_client` with 409 where somebody else was faster. */
  commit(request: FastifyRequest, writes: readonly ClientWrite[]): Promise<void>
}

/** The write that replaces a record which was read before. */
export const update = (
  { revision }: StoredClient,
  client: Client,
  { events = ['ClientUpdateSuccess'], forgetApprovals = false }: Partial<UpdateOptions> = {},
): ClientWrite => ({ change: { kind: 'update', client, revision, forgetApprovals }, events })

interface UpdateOptions {
  readonly events: readonly AuditEventType[]
  readonly forgetApprovals: boolean
}

/** The write that deletes a record which was read before. */
export const deletion = ({ client: { clientId }, revision }: StoredClient): ClientWrite => ({
  change: { kind: 'delete', clientId, revision },
  events: ['ClientDeleteSuccess'],
})

/** Makes the one writer of all endpoints. */
export function createClientWriter(deps: ClientWriterDeps): ClientWriter {
  const { store, clock, service, behaviour, audit } = deps
  const rules = { service, exactRedirectUri: behaviour.exactRedirectUri }

  /**
   * Whoever is no administrator; a client of another zone counts as nobody, whatever is called alike here. A person gives
   * no more than the token carries: the client's scopes are what its users may have, and not what each of them has.
   */
  function limitedCaller(request: FastifyRequest): LimitedBearer | undefined {
    const { bearer, zone } = request
    if (!bearer || isClientAdministrator(request, service)) return undefined
    const { clientId, zoneId } = bearer.client
    const rights = bearer.scopes
    const scope = bearer.user ? bearer.client.scope.filter(name => rights.includes(name)) : bearer.client.scope
    return { clientId, rights, ...(zoneId === zone.id && { scope }) }
  }

  function readRecord(request: FastifyRequest, json: JsonRecord, as: Omit<ClientReading, 'caller'>): ClientFromJson {
    const read = clientFromJson(json, rules, { ...as, caller: limitedCaller(request) })
    const [problem] = read.problems
    if (problem) throw invalidClient(problem.message)
    return read
  }

  async function creatorOf({ bearer }: FastifyRequest): Promise<string | undefined> {
    if (!bearer || bearer.user) return bearer?.user?.id
    const { zoneId, clientId } = bearer.client
    return (await store.clients.findMetadata(zoneId, clientId))?.createdBy
  }

  async function explain(zoneId: string, writes: readonly ClientWrite[], cause: unknown): Promise<unknown> {
    if (cause instanceof ChangedMeanwhile) return invalidClient(`The ${cause.message}`, 409, cause)
    if (!(cause instanceof AlreadyExists)) return cause
    const inserted = writes.flatMap(({ change }) => (change.kind === 'insert' ? change.client.clientId : []))
    for (const clientId of inserted) {
      if (await store.clients.findForChange(zoneId, clientId)) return alreadyExists(clientId, cause)
    }
    return alreadyExists(inserted.join(', '), cause) // it is gone again
  }

  function report({ zone, bearer, ip: remoteAddress }: FastifyRequest, { change, events }: ClientWrite): void {
    const isWhole = change.kind === 'insert' || change.kind === 'update'
    const principal = isWhole ? change.client.clientId : change.clientId
    const facts = {
      zoneId: zone.id,
      principal,
      remoteAddress,
      ...(bearer && { clientId: bearer.client.clientId }),
    }
    const forgotten = change.kind === 'delete' || (change.kind === 'update' && change.forgetApprovals === true)
    for (const type of events) {
      const told = isWhole && (type === 'ClientCreateSuccess' || type === 'ClientUpdateSuccess')
      const { scope = [], authorities = [] } = told ? change.client : {}
      const data = `scopes=[${scope.join(', ')}], authorities=[${authorities.join(', ')}]`
      audit({ type, ...facts, ...(told && { data }) })
    }
    if (forgotten) audit({ type: 'ClientApprovalsDeleted', ...facts })
  }

  return {
    async find(request, clientId) {
      const found = await store.clients.findForChange(request.zone.id, clientId)
      const caller = limitedCaller(request)
      if (found && caller && rightsBeyond(caller, found.client, service).length > 0) {
        throw lacksRight(request, administrators(service), service)
      }
      return found
    },

    readNew: (request, json, { withSecondSecret = false } = {}) =>
      readRecord(request, json, { as: 'created', withSecondSecret, secretPolicy: secretPolicy(request.zone) }),

    async create(request, { definition, secrets }) {
      const createdBy = await creatorOf(request)
      const hashed = []
      for (const secret of secrets) hashed.push(await newSecret(secret, requesterOf(request), deps))
      const now = clock.now()
      const incarnation = deps.random.urlSafe(22)
      const client = {
        ...definition,
        zoneId: request.zone.id,
        secrets: hashed,
        incarnation,
        createdAt: now,
        updatedAt: now,
      }
      return { client, change: { kind: 'insert', client, createdBy }, events: ['ClientCreateSuccess'] }
    },

    readUpdate(request, existing, json, { replace = false } = {}) {
      const record = replace ? json : mergedJson(existing, json)
      const { definition } = readRecord(request, record, { as: 'updated', withSecondSecret: false })
      // Keys are credentials: as a secret, only an administrator changes those of another client.
      if (hasKeys(definition) && !isClientAdministrator(request, service)) {
        throw lacksRight(request, administrators(service), service)
      }
      return updatedClient(existing, definition, clock.now())
    },

    async commit(request, writes) {
      const zoneId = request.zone.id
      const changes = writes.map(({ change }) => change)
      await store.clients.apply(zoneId, changes).catch(async (cause: unknown) => {
        throw await explain(zoneId, writes, cause)
      })
      for (const write of writes) report(request, write)
      // Their tokens are worth nothing without the client; the rows need not wait until they expire.
      for (const change of changes) {
        if (change.kind !== 'delete') continue
        while ((await store.tokens.deleteSomeOfClient(zoneId, change.clientId)) > 0) continue
      }
    },
  }
}

/** What is told about an id that is taken. */
export const alreadyExists = (clientId: string, cause?: unknown): Error =>
  invalidClient(`Client already exists: ${clientId}`, 409, cause)
