// Batches of clients: all entries are validated first, then written in one transaction.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { deletion, update } from '../../clients/changes.ts'
import type { ClientWrite } from '../../clients/changes.ts'
import { isSecretOf, newSecret } from '../../clients/secrets.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { StoredClient } from '../../store/store.ts'
import { jsonListOrNull, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { clientToJson, invalidClient, sendNotFound } from './record.ts'
import { checkPolicy, replacementOf, textOf } from './secret.ts'
import { alreadyExists } from './writer.ts'
import type { ClientWriter, ClientWriterDeps } from './writer.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ClientRoute } from './routes.ts'

const MAX_ENTRIES = 1000
/** Leaves room in the queue of hashes for other requests. */
const MAX_CONCURRENT = 4

/** An entry of a batch with the client that it names. */
interface Entry {
  readonly json: JsonRecord
  readonly clientId: string
}
interface ExistingEntry extends Entry {
  readonly existing: StoredClient
}

/** The result of an entry: a write, if one is needed, and its part of the response. */
interface Result {
  readonly write?: ClientWrite | undefined
  readonly answer: JsonRecord
}

const ACTIONS = ['add', 'update', 'update,secret', 'secret', 'delete'] as const
type Action = (typeof ACTIONS)[number]

/** `/oauth/clients/tx` and below. */
export function batchHandlers(on: On<ClientRoute>, writer: ClientWriter, deps: ClientWriterDeps): void {
  const { behaviour, audit, clientSecrets } = deps

  /** The entries with their ids. Throws for too many, and for a repeated id, whose result would depend on the order. */
  function entriesOf(request: FastifyRequest, idName: 'client_id' | 'clientId', twiceStatus = 400): readonly Entry[] {
    const list = jsonListOrNull(request)
    if (list.length > MAX_ENTRIES) throw invalidClient(`At most ${MAX_ENTRIES} clients can be changed at once.`)
    const seen = new Set<string>()
    return list.map(json => {
      const clientId = textOf(json, idName) ?? ''
      if (clientId === '') throw invalidClient(`A ${idName} must be provided.`)
      if (seen.has(clientId)) {
        throw twiceStatus === 409 ? alreadyExists(clientId) : invalidClient(`Client is named twice: ${clientId}`)
      }
      seen.add(clientId)
      return { json, clientId }
    })
  }

  const queueFor = (request: FastifyRequest) => ({ clientSecrets, requester: requesterOf(request) })

  const find = (request: FastifyRequest, { clientId }: Entry): Promise<StoredClient | undefined> =>
    writer.find(request, clientId)

  /** Every entry with its client; undefined if any client does not exist. */
  async function findAll(
    request: FastifyRequest,
    entries: readonly Entry[],
  ): Promise<readonly ExistingEntry[] | undefined> {
    const found = await mapLimited(entries, async entry => {
      const existing = await find(request, entry)
      return existing && { ...entry, existing }
    })
    const existing = found.filter(entry => entry !== undefined)
    return existing.length === entries.length ? existing : undefined
  }

  async function refuseExisting(request: FastifyRequest, entries: readonly Entry[]): Promise<void> {
    const existing = await mapLimited(entries, entry => find(request, entry))
    const index = existing.findIndex(client => client !== undefined)
    const taken = entries[index]
    if (taken) throw alreadyExists(taken.clientId)
  }

  async function finish(
    request: FastifyRequest,
    reply: FastifyReply,
    { results, status = 200 }: { results: readonly Result[]; status?: number },
  ): Promise<FastifyReply> {
    const writes = results.flatMap(({ write }) => write ?? [])
    if (writes.length > 0) await writer.commit(request, writes)
    const answers = results.map(({ answer }) => answer)
    return sendJson(reply, answers, status)
  }

  on('POST /oauth/clients/tx', async (request, reply) => {
    const entries = entriesOf(request, 'client_id', 409)
    if (entries.length === 0) return sendNotFound(reply, behaviour)
    const drafts = entries.map(({ json }) => writer.readNew(request, json))
    await refuseExisting(request, entries)
    const results = await mapLimited(drafts, async draft => {
      const write = await writer.create(request, draft)
      return { write, answer: clientToJson(write.client) }
    })
    return finish(request, reply, { results, status: 201 })
  })

  on('PUT /oauth/clients/tx', async (request, reply) => {
    const entries = entriesOf(request, 'client_id')
    if (entries.length === 0) throw invalidClient('No clients specified for update.')
    const found = await findAll(request, entries)
    if (!found) return sendNotFound(reply, behaviour)
    const results = found.map(({ json, existing }) => {
      const client = writer.readUpdate(request, existing.client, json)
      return { write: update(existing, client), answer: clientToJson(client) }
    })
    return finish(request, reply, { results })
  })

  on('POST /oauth/clients/tx/delete', async (request, reply) => {
    const found = await findAll(request, entriesOf(request, 'client_id'))
    if (!found) return sendNotFound(reply, behaviour)
    const results = found.map(({ existing }) => ({
      write: deletion(existing),
      answer: { ...clientToJson(existing.client), approvals_deleted: true },
    }))
    return finish(request, reply, { results })
  })

  on('POST /oauth/clients/tx/secret', async (request, reply) => {
    const found = await findAll(request, entriesOf(request, 'clientId'))
    if (!found) return sendNotFound(reply, behaviour)
    try {
      const changes = found.map(({ json, existing }) => {
        const secret = replacementOf(json)
        checkPolicy(request.zone, secret)
        return { existing, secret, oldSecret: textOf(json, 'oldSecret') }
      })
      const results = await mapLimited(changes, async ({ existing, secret, oldSecret }) => {
        const { client } = existing
        const isKnown = oldSecret !== undefined && (await isSecretOf(client.secrets, oldSecret, queueFor(request)))
        const secrets = secret === undefined ? [] : [await newSecret(secret, requesterOf(request), deps)]
        const options = { events: ['SecretChangeSuccess'], forgetApprovals: !isKnown } as const
        const answer = { ...clientToJson(client), approvals_deleted: !isKnown }
        return { write: update(existing, { ...client, secrets }, options), answer }
      })
      return await finish(request, reply, { results })
    } catch (error) {
      const data = error instanceof OAuthError ? error.message : 'the change failed'
      const facts = { zoneId: request.zone.id, data, ...auditOriginOf(request) }
      for (const { clientId } of found) audit({ type: 'SecretChangeFailure', principal: clientId, ...facts })
      throw error
    }
  })

  /** Validates an entry. Returns the slow part, which runs once all entries are valid. */
  function modification(
    request: FastifyRequest,
    entry: Entry & { readonly action: Action; readonly existing?: StoredClient },
  ): () => Promise<Result> {
    const { json, action, existing } = entry
    if (action === 'add' || !existing) {
      const draft = writer.readNew(request, json)
      return async () => {
        const write = await writer.create(request, draft)
        return { write, answer: { ...clientToJson(write.client), action } }
      }
    }
    const before = { ...clientToJson(existing.client), action }
    switch (action) {
      case 'delete':
        return async () => ({ write: deletion(existing), answer: { ...before, approvals_deleted: true } })
      case 'update': {
        const client = writer.readUpdate(request, existing.client, json, { replace: true })
        return async () => ({ write: update(existing, client), answer: before })
      }
      case 'update,secret': {
        const secret = secretOf(json)
        const client = writer.readUpdate(request, existing.client, json, { replace: true })
        return async () => {
          const secrets = await replacedSecrets(request, existing, secret)
          const write = secrets
            ? update(
                existing,
                { ...client, secrets },
                { events: ['ClientUpdateSuccess', 'SecretChangeSuccess'], forgetApprovals: true },
              )
            : update(existing, client)
          return { write, answer: { ...before, approvals_deleted: secrets !== undefined } }
        }
      }
      case 'secret': {
        const secret = secretOf(json)
        return async () => {
          const secrets = await replacedSecrets(request, existing, secret)
          const options = { events: ['SecretChangeSuccess'], forgetApprovals: true } as const
          const write = secrets && update(existing, { ...existing.client, secrets }, options)
          return { write, answer: { ...withoutSecrets(json), approvals_deleted: secrets !== undefined } }
        }
      }
    }
  }

  /** The new secrets; undefined if the given one is already valid, in which case nothing changes. */
  async function replacedSecrets(request: FastifyRequest, { client }: StoredClient, secret: string) {
    if (await isSecretOf(client.secrets, secret, queueFor(request))) return undefined
    return [await newSecret(secret, requesterOf(request), deps)]
  }

  on('POST /oauth/clients/tx/modify', async (request, reply) => {
    const actions = jsonListOrNull(request).map(actionOf)
    const entries = entriesOf(request, 'client_id', actions.includes('add') ? 409 : 400)
    const found = await mapLimited(entries, entry => find(request, entry))
    const tasks = []
    for (const [index, { json, clientId }] of entries.entries()) {
      const action = actions[index] ?? 'add'
      const existing = found[index]
      if (action === 'add' && existing) throw alreadyExists(clientId)
      if (action !== 'add' && !existing) return sendNotFound(reply, behaviour)
      tasks.push(modification(request, { json, clientId, action, ...(existing && { existing }) }))
    }
    return finish(request, reply, { results: await mapLimited(tasks, task => task()) })
  })

  for (const name of ['GET /oauth/clients/tx', 'DELETE /oauth/clients/tx'] as const) {
    on(name, (_, reply) => {
      reply.header('allow', 'POST, PUT')
      throw new OAuthError('method_not_allowed', 'Request method is not supported')
    })
  }
}

function actionOf(json: JsonRecord): Action {
  const action = ACTIONS.find(each => each === memberOf(json, 'action'))
  if (!action) throw invalidClient('Invalid action.')
  return action
}

function secretOf(json: JsonRecord): string {
  const secret = textOf(json, 'client_secret')
  if (memberOf(json, 'secondary_client_secret') !== undefined) {
    throw invalidClient('secondary_client_secret is not allowed here')
  }
  if (secret === undefined) throw invalidClient('A new secret must be provided.')
  return secret
}

const SECRETS = new Set(['client_secret', 'jwks', 'client_jwt_config'])

const withoutSecrets = (json: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(json).filter(([key]) => !SECRETS.has(key)))

/** Maps with limited concurrency, keeping order. */
async function mapLimited<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += MAX_CONCURRENT) {
    results.push(...(await Promise.all(items.slice(start, start + MAX_CONCURRENT).map(work))))
  }
  return results
}
