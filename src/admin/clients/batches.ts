// Batches of clients: all entries are validated first, then written in one transaction.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { deletion, update } from '../../clients/changes.ts'
import { isSecretOf, newSecret } from '../../clients/secrets.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonListOrNull, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { entriesOf, findAllExisting, findClients, mapLimited, refuseExisting } from './batch-entries.ts'
import type { EntryResult, ExistingEntry } from './batch-entries.ts'
import { actionOf, prepareModification } from './batch-modifications.ts'
import { clientToJson, invalidClient, sendNotFound } from './record.ts'
import type { ClientRoute } from './routes.ts'
import { checkPolicy, replacementOf, textOf } from './secret.ts'
import { alreadyExists } from './writer.ts'
import type { ClientWriter } from './writer.ts'
import type { AdminDeps } from '../deps.ts'

/** The writer, and the dependencies that it was made of. */
interface Batches {
  readonly writer: ClientWriter
  readonly deps: AdminDeps
}

/** The result of each entry; undefined if a client does not exist. */
type Results = Promise<readonly EntryResult[] | undefined>

/** `/oauth/clients/tx` and below. */
export function batchHandlers(on: On<ClientRoute>, writer: ClientWriter, deps: AdminDeps): void {
  const batches = { writer, deps }

  async function finish(
    request: FastifyRequest,
    reply: FastifyReply,
    { results, status = 200 }: { readonly results: Awaited<Results>; readonly status?: number },
  ): Promise<FastifyReply> {
    if (!results) return sendNotFound(reply, deps.behaviour)
    const writes = results.flatMap(({ write }) => write ?? [])
    if (writes.length > 0) await writer.commit(request, writes)
    const answers = results.map(({ answer }) => answer)
    return sendJson(reply, answers, status)
  }

  on('POST /oauth/clients/tx', async (request, reply) =>
    finish(request, reply, { results: await createAll(request, batches), status: 201 }),
  )
  on('PUT /oauth/clients/tx', async (request, reply) =>
    finish(request, reply, { results: await updateAll(request, batches) }),
  )
  on('POST /oauth/clients/tx/delete', async (request, reply) =>
    finish(request, reply, { results: await deleteAll(request, batches) }),
  )
  on('POST /oauth/clients/tx/secret', async (request, reply) => {
    const found = await findAllExisting(request, entriesOf(request, 'clientId'), writer)
    if (!found) return sendNotFound(reply, deps.behaviour)
    try {
      return await finish(request, reply, { results: await replaceSecrets(request, found, deps) })
    } catch (error) {
      reportFailures(request, { found, error }, deps)
      throw error
    }
  })
  on('POST /oauth/clients/tx/modify', async (request, reply) =>
    finish(request, reply, { results: await modifyAll(request, batches) }),
  )

  for (const name of ['GET /oauth/clients/tx', 'DELETE /oauth/clients/tx'] as const) {
    on(name, (_, reply) => {
      reply.header('allow', 'POST, PUT')
      throw new OAuthError('method_not_allowed', 'Request method is not supported')
    })
  }
}

async function createAll(request: FastifyRequest, { writer }: Batches): Results {
  const entries = entriesOf(request, 'client_id', 409)
  if (entries.length === 0) return undefined
  const drafts = entries.map(({ json }) => writer.readNew(request, json))
  await refuseExisting(request, entries, writer)
  return mapLimited(drafts, async draft => {
    const write = await writer.create(request, draft)
    return { write, answer: clientToJson(write.client) }
  })
}

async function updateAll(request: FastifyRequest, { writer }: Batches): Results {
  const entries = entriesOf(request, 'client_id')
  if (entries.length === 0) throw invalidClient('No clients specified for update.')
  const found = await findAllExisting(request, entries, writer)
  return found?.map(({ json, existing }) => {
    const client = writer.readUpdate(request, existing.client, json)
    return { write: update(existing, client), answer: clientToJson(client) }
  })
}

async function deleteAll(request: FastifyRequest, { writer }: Batches): Results {
  const found = await findAllExisting(request, entriesOf(request, 'client_id'), writer)
  return found?.map(({ existing }) => ({
    write: deletion(existing),
    answer: { ...clientToJson(existing.client), approvals_deleted: true },
  }))
}

async function replaceSecrets(
  request: FastifyRequest,
  found: readonly ExistingEntry[],
  deps: AdminDeps,
): Promise<readonly EntryResult[]> {
  const { clientSecrets } = deps
  const requester = requesterOf(request)
  const changes = found.map(({ json, existing }) => {
    const secret = replacementOf(json)
    checkPolicy(request.zone, secret)
    return { existing, secret, oldSecret: textOf(json, 'oldSecret') }
  })
  return mapLimited(changes, async ({ existing, secret, oldSecret }) => {
    const { client } = existing
    const isKnown =
      oldSecret !== undefined && (await isSecretOf(client.secrets, oldSecret, { clientSecrets, requester }))
    const secrets = secret === undefined ? [] : [await newSecret(secret, requester, deps)]
    const options = { events: ['SecretChangeSuccess'], forgetApprovals: !isKnown } as const
    const answer = { ...clientToJson(client), approvals_deleted: !isKnown }
    return { write: update(existing, { ...client, secrets }, options), answer }
  })
}

function reportFailures(
  request: FastifyRequest,
  { found, error }: { readonly found: readonly ExistingEntry[]; readonly error: unknown },
  { audit }: AdminDeps,
): void {
  const data = error instanceof OAuthError ? error.message : 'the change failed'
  const facts = { zoneId: request.zone.id, data, ...auditOriginOf(request) }
  for (const { clientId } of found) audit({ type: 'SecretChangeFailure', principal: clientId, ...facts })
}

async function modifyAll(request: FastifyRequest, batches: Batches): Results {
  const isAdding = jsonListOrNull(request).map(actionOf).includes('add')
  const entries = entriesOf(request, 'client_id', isAdding ? 409 : 400)
  const found = await findClients(request, entries, batches.writer)
  const tasks = []
  for (const [index, { json, clientId }] of entries.entries()) {
    const action = actionOf(json)
    const existing = found[index]
    if (action === 'add' && existing) throw alreadyExists(clientId)
    if (action !== 'add' && !existing) return undefined
    tasks.push(prepareModification(request, { json, clientId, action, ...(existing && { existing }) }, batches))
  }
  return mapLimited(tasks, task => task())
}
