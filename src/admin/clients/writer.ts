// Shared by the endpoints that change clients: the rights of callers, the validation of a record, and the errors
// of the writes in clients/changes.ts.
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { JsonRecord } from '../../base/json.ts'
import { applyWrites, creation, newClient } from '../../clients/changes.ts'
import type { ClientWrite } from '../../clients/changes.ts'
import { problemInZone } from '../../clients/in-zone.ts'
import type { SecretDeps } from '../../clients/secrets.ts'
import { rightsBeyond } from '../../model/clients/client-caller.ts'
import type { LimitedBearer } from '../../model/clients/client-caller.ts'
import { clientFromJson } from '../../clients/client-json.ts'
import { foreignMembersIn } from '../../clients/foreign-members.ts'
import type { ClientFromJson } from '../../clients/client-json.ts'
import type { ClientReading } from '../../clients/client-rules.ts'
import { changesKeys, mergedJson, updatedClient } from '../../clients/client-update.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/audit/event.ts'
import type { MutualTlsSettings } from '../../model/clients/mutual-tls.ts'
import { secretPolicy } from '../../model/clients/secret-policy.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'
import type { KeyRing } from '../../token/keys.ts'
import { isPublic } from '../../token/zone-key.ts'
import type { Store, StoredClient } from '../../store/store.ts'
import { lacksRight } from '../../web/callers/bearer.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { administrators, invalidClient, isClientAdministrator } from './record.ts'

/** Shared by every endpoint that changes clients. */
export interface ClientWriterDeps extends SecretDeps {
  readonly store: Store
  readonly clock: Clock
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
  readonly keys: KeyRing
  readonly urls: Urls
  /** Absent: no certificates are requested. */
  readonly mutualTls?: MutualTlsSettings | undefined
}

/** Reads and changes clients of the request's zone. */
export interface ClientWriter {
  /**
   * The client to change. Throws 403 if the caller is not an administrator and the client has rights that the caller
   * lacks (`rightsBeyond`).
   */
  find(request: FastifyRequest, clientId: string): Promise<StoredClient | undefined>
  /** Validates a new client, its secrets still in plain text. Throws `invalid_client` for the first problem. */
  readNew(request: FastifyRequest, json: JsonRecord, options?: { readonly withSecondSecret?: boolean }): ClientFromJson
  /** Creates the record and its write. Slow, because it hashes the secrets. */
  create(request: FastifyRequest, draft: ClientFromJson): Promise<ClientWrite & { readonly client: Client }>
  /** The client after an update, merged with the existing record unless `replace` is set. Throws as `readNew`. */
  readUpdate(
    request: FastifyRequest,
    existing: Client,
    json: JsonRecord,
    options?: { readonly replace?: boolean },
  ): Client
  /** Applies all of the changes or none. Throws `invalid_client`, with 409 for a conflict with another change. */
  commit(request: FastifyRequest, writes: readonly ClientWrite[]): Promise<void>
}

/** Creates the writer that all client endpoints use. */
export function createClientWriter(deps: ClientWriterDeps): ClientWriter {
  const { store, clock, service, behaviour, audit } = deps
  const { exactRedirectUri, furtherProtocols } = behaviour
  const rules = { service, exactRedirectUri, furtherProtocols }

  /**
   * The rights of a caller who is not an administrator. A client of another zone has no scopes here, even if a client
   * here has the same id. A user's rights are those of the token, not all scopes of its client.
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
    if (!problem) return read
    const hints = behaviour.namesBadSetting ? foreignMembersIn(json) : []
    const told = hints.map(({ foreign, own }) => `${foreign} is not supported; use ${own}.`)
    throw invalidClient([problem.message, ...told].join(' '))
  }

  /** An API that checks the audience alone trusts every client that may name it, as it trusts a scope. */
  function checkResources(
    request: FastifyRequest,
    { resources = [] }: Pick<Client, 'resources'>,
    before: Pick<Client, 'resources'> = {},
  ): void {
    if (isClientAdministrator(request, service)) return
    const { bearer, zone } = request
    const own = bearer?.client.zoneId === zone.id ? bearer.client.resources : []
    const known = new Set([...(before.resources ?? []), ...(own ?? [])])
    const added = resources.find(resource => !known.has(resource))
    if (added !== undefined) throw invalidClient(`${added} is not an allowed resource for non-admin caller.`)
  }

  /** UAA: shows the shared secrets of a zone to its clients with this authority, which could sign tokens with them. */
  async function checkSharedSecrets(request: FastifyRequest, { change }: ClientWrite): Promise<void> {
    const resource = service.scope('resource')
    const caller = limitedCaller(request)
    if (behaviour.allPublicKeys || !caller || caller.rights.includes(resource)) return
    if (!('client' in change) || !change.client.authorities.includes(resource)) return
    const { id } = request.zone
    const before = change.kind === 'update' ? await store.clients.find(id, change.client.clientId) : undefined
    if (before?.authorities.includes(resource) === true) return
    if ((await deps.keys.list(id)).some(key => !isPublic(key) && key.zoneId === id)) {
      throw invalidClient(`${resource} is not an allowed authority for non-admin caller: the zone has a shared secret.`)
    }
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
    return alreadyExists(inserted.join(', '), cause) // deleted in between
  }

  return {
    async find(request, clientId) {
      const found = await store.clients.findForChange(request.zone.id, clientId)
      const caller = limitedCaller(request)
      if (found && caller && rightsBeyond(caller, found.client, service).length > 0) {
        throw lacksRight(request, administrators(service), deps)
      }
      return found
    },

    readNew(request, json, { withSecondSecret = false } = {}) {
      const as = { as: 'created', withSecondSecret, secretPolicy: secretPolicy(request.zone) } as const
      const draft = readRecord(request, json, as)
      checkResources(request, draft.definition)
      return draft
    },

    async create(request, draft) {
      const createdBy = await creatorOf(request)
      const client = await newClient(draft, { zoneId: request.zone.id, requester: requesterOf(request) }, deps)
      return { client, ...creation(client, createdBy) }
    },

    readUpdate(request, existing, json, { replace = false } = {}) {
      const record = replace ? json : mergedJson(existing, json)
      const { definition } = readRecord(request, record, { as: 'updated', withSecondSecret: false })
      // Keys are credentials: like secrets, only an administrator may change those of another client.
      if (changesKeys(existing, definition) && !isClientAdministrator(request, service)) {
        throw lacksRight(request, administrators(service), deps)
      }
      checkResources(request, definition, existing)
      return updatedClient(existing, definition, clock.now())
    },

    async commit(request, writes) {
      const zoneId = request.zone.id
      for (const { change } of writes) {
        if (change.kind !== 'insert' && change.kind !== 'update') continue
        const problem = await problemInZone(request.zone, change.client, deps)
        if (problem !== undefined) throw invalidClient(problem)
      }
      for (const write of writes) await checkSharedSecrets(request, write)
      await applyWrites(zoneId, writes, { store, audit, origin: auditOriginOf(request) }).catch(
        async (cause: unknown) => {
          throw await explain(zoneId, writes, cause)
        },
      )
    },
  }
}

/** The error for an id that is taken. */
export const alreadyExists = (clientId: string, cause?: unknown): Error =>
  invalidClient(`Client already exists: ${clientId}`, 409, cause)
