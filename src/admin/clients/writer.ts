// Shared by the endpoints that change clients: the validation of a record, and the errors of the writes in
// clients/changes.ts.
import type { FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import { applyWrites, creation, newClient } from '../../clients/changes.ts'
import type { ClientWrite } from '../../clients/changes.ts'
import { problemInZone } from '../../clients/in-zone.ts'
import { rightsBeyond } from '../../model/clients/client-caller.ts'
import { clientFromJson } from '../../clients/client-json.ts'
import { foreignMembersIn } from '../../clients/foreign-members.ts'
import type { ClientFromJson } from '../../clients/client-json.ts'
import { lengthProblem } from '../../clients/client-rules.ts'
import type { ClientReading } from '../../clients/client-rules.ts'
import { changesKeys, mergedJson, updatedClient } from '../../clients/client-update.ts'
import type { Client } from '../../model/clients/client.ts'
import { secretPolicy } from '../../model/clients/secret-policy.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'
import type { StoredClient } from '../../store/store.ts'
import { lacksRight } from '../../web/callers/bearer.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { administrators, invalidClient, isClientAdministrator } from './record.ts'
import { createClientRights } from './rights.ts'
import type { AdminDeps } from '../deps.ts'

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
export function createClientWriter(deps: AdminDeps): ClientWriter {
  const { store, clock, service, behaviour, audit } = deps
  const { exactRedirectUri, furtherProtocols } = behaviour
  const rules = { service, exactRedirectUri, furtherProtocols }
  const rights = createClientRights(deps)

  function readRecord(request: FastifyRequest, json: JsonRecord, as: Omit<ClientReading, 'caller'>): ClientFromJson {
    const read = clientFromJson(json, rules, { ...as, caller: rights.limitedCaller(request) })
    const [problem] = read.problems
    if (!problem) return read
    const hints = behaviour.namesBadSetting ? foreignMembersIn(json) : []
    const suggestions = hints.map(({ foreign, own }) => `${foreign} is not supported; use ${own}.`)
    throw invalidClient([problem.message, ...suggestions].join(' '))
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
      const caller = rights.limitedCaller(request)
      if (found && caller && rightsBeyond(caller, found.client, service).length > 0) {
        throw lacksRight(request, administrators(service))
      }
      return found
    },

    readNew(request, json, { withSecondSecret = false } = {}) {
      const as = { as: 'created', withSecondSecret, secretPolicy: secretPolicy(request.zone) } as const
      const draft = readRecord(request, json, as)
      rights.checkResources(request, draft.definition)
      checkLength(draft.definition)
      return draft
    },

    async create(request, draft) {
      const createdBy = await creatorOf(request)
      const client = await newClient(draft, { zoneId: request.zone.id, requester: requesterOf(request) }, deps)
      return { client, ...creation(client, createdBy) }
    },

    readUpdate(request, existing, json, { replace = false } = {}) {
      // Without the salt, tokens that it revoked would be valid again.
      const record = replace ? { token_salt: existing.tokenSalt, ...json } : mergedJson(existing, json)
      const { definition } = readRecord(request, record, { as: 'updated', withSecondSecret: false })
      // Keys are credentials: like secrets, only an administrator may change those of another client.
      if (changesKeys(existing, definition) && !isClientAdministrator(request, service)) {
        throw lacksRight(request, administrators(service))
      }
      rights.checkResources(request, definition, existing)
      const client = updatedClient(existing, definition, clock.now())
      checkLength(client, existing)
      return client
    },

    async commit(request, writes) {
      const zoneId = request.zone.id
      for (const { change } of writes) {
        if (change.kind !== 'insert' && change.kind !== 'update') continue
        const problem = await problemInZone(request.zone, change.client, deps)
        if (problem !== undefined) throw invalidClient(problem)
      }
      for (const write of writes) await rights.checkSharedSecrets(request, write)
      await applyWrites(zoneId, writes, { store, audit, origin: auditOriginOf(request) }).catch(
        async (cause: unknown) => {
          throw await explain(zoneId, writes, cause)
        },
      )
    },
  }
}

function checkLength(client: object, before?: Client): void {
  const problem = lengthProblem(client, before)
  if (problem !== undefined) throw invalidClient(problem)
}

/** The error for an id that is taken. */
export const alreadyExists = (clientId: string, cause?: unknown): Error =>
  invalidClient(`Client already exists: ${clientId}`, 409, cause)
