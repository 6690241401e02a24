// The display metadata of clients on the home page: name, icon and launch URL.
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { memberOf } from '../../base/json.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { isIcon, isLaunchUrl } from '../../model/clients/client-metadata.ts'
import type { ClientDescription, ClientMetadata } from '../../model/clients/client-metadata.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Store } from '../../store/store.ts'
import type { JsonObject } from '../../web/requests/json.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import type { ClientWriter } from './writer.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ClientRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'
import { stringIn } from '../resources/body.ts'

/** UAA: the description is repeated as `message`. */
const refuse = (message: string, status = 400): OAuthError =>
  new OAuthError({ error: 'client_metadata', status }, message, { extra: { message } })

interface OfClient {
  readonly Params: { readonly client_id: string }
}

/** `/oauth/clients/meta` and `/oauth/clients/{client_id}/meta`. */
export function metadataHandlers(
  on: On<ClientRoute>,
  writer: ClientWriter,
  { store, behaviour }: Pick<AdminDeps, 'store' | 'behaviour'>,
): void {
  on('GET /oauth/clients/meta', async (request, reply) =>
    reply.type('application/json').send(await listOfMetadata(store, request.zone.id, behaviour)),
  )

  on<OfClient>('GET /oauth/clients/:client_id/meta', async (request, reply) => {
    const clientId = request.params.client_id
    const found = await store.clients.findMetadata(request.zone.id, clientId)
    if (!found) throw refuse(`No client metadata found for ${clientId}`, 404)
    return sendJson(reply, shownAs(found, behaviour))
  })

  on<OfClient>('PUT /oauth/clients/:client_id/meta', async (request, reply) => {
    const clientId = request.params.client_id
    const body = jsonBody(request)
    const named = textOf(body, 'clientId')?.trim() ? textOf(body, 'clientId') : clientId
    if (named !== clientId) throw refuse(`Client ID in body {${named}} does not match URL path {${clientId}}`)
    const description = readDescription(body)
    const existing = await writer.find(request, clientId)
    if (!existing) throw refuse(`No client with ID ${clientId}`, 404)
    const change = { kind: 'describe', clientId, description, revision: existing.revision } as const
    await writer.commit(request, [{ change, events: ['ClientUpdateSuccess'] }])
    return sendJson(reply, await store.clients.findMetadata(request.zone.id, clientId))
  })
}

/** UAA gives an icon to each client of its configuration, if only an empty one. See docs/compatibility.md, C13. */
const shownAs = (found: ClientMetadata, { describedClientsOnly }: Behaviour): ClientMetadata =>
  describedClientsOnly ? found : { ...found, appIcon: found.appIcon ?? '' }

/** Clients read and written at a time. */
const CHUNK_SIZE = 50

/**
 * Streams the metadata of all clients as a JSON array, at the pace of the reader. Icons are large and any token of the
 * zone may call this, so they are never all in memory.
 */
async function listOfMetadata(
  { clients }: Pick<Store, 'clients'>,
  zoneId: string,
  behaviour: Behaviour,
): Promise<Readable> {
  const page = { count: CHUNK_SIZE, all: !behaviour.describedClientsOnly }
  const first = await clients.listMetadata(zoneId, page)
  async function* chunks(): AsyncGenerator<string> {
    let separator = '['
    let chunk = first
    while (chunk.length > 0) {
      yield separator + chunk.map(client => JSON.stringify(shownAs(client, behaviour))).join(',')
      separator = ','
      await nextTurn()
      chunk = await clients.listMetadata(zoneId, { ...page, after: chunk.at(-1)?.clientId })
    }
    yield separator === '[' ? '[]' : ']'
  }
  return Readable.from(chunks())
}

const textOf = (body: JsonObject, name: string): string | undefined =>
  stringIn(body, name, () => refuse(`${name} must be a string`))

function readDescription(body: JsonObject): ClientDescription {
  const clientName = textOf(body, 'clientName')
  const showOnHomePage = memberOf(body, 'showOnHomePage') ?? false
  if (typeof showOnHomePage !== 'boolean') throw refuse('showOnHomePage must be a boolean')
  const appLaunchUrl = textOf(body, 'appLaunchUrl') || undefined
  if (appLaunchUrl !== undefined && !isLaunchUrl(appLaunchUrl)) throw refuse('appLaunchUrl must be a valid URL')
  const appIcon = textOf(body, 'appIcon') ?? ''
  if (!isIcon(appIcon)) throw refuse('appIcon must be base64')
  return {
    // A blank name does not remove the name.
    ...(clientName !== undefined && clientName.trim() !== '' && { clientName }),
    showOnHomePage,
    ...(appLaunchUrl !== undefined && { appLaunchUrl }),
    appIcon,
  }
}
