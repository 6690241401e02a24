// Changes a client's secrets. A client has at most two, so that a secret can be replaced without downtime.
import type { FastifyRequest } from 'fastify'
import { memberOf } from '../../base/json.ts'
import { update } from '../../clients/changes.ts'
import { isSecretOf, newSecret } from '../../clients/secrets.ts'
import type { Client, ClientSecret } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isBlank, secretPolicy, secretProblem } from '../../model/clients/secret-policy.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { StoredClient } from '../../store/store.ts'
import type { JsonObject } from '../../web/requests/json.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { isKeepable, UNKEEPABLE } from '../../records/kinds.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { invalidClient, isClientAdministrator, sendNotFound, unknownPrincipal } from './record.ts'
import type { ClientWriter } from './writer.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ClientRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** A change of secrets; `UPDATE` without a secret removes all. */
type SecretChange =
  | { readonly mode: 'UPDATE'; readonly secret: string | undefined }
  | { readonly mode: 'ADD'; readonly secret: string }
  | { readonly mode: 'DELETE' }

const MESSAGES = { UPDATE: 'secret updated', ADD: 'Secret is added', DELETE: 'Secret is deleted' } as const

/** `PUT /oauth/clients/{client_id}/secret`. */
export function clientSecretHandler(on: On<ClientRoute>, writer: ClientWriter, deps: AdminDeps): void {
  const { store, service, behaviour, audit, limits } = deps

  /** Limits guesses: the holder of a token must not be able to find out the client's secret. */
  async function checkOldSecret(request: FastifyRequest, client: Client, oldSecret: string | undefined) {
    const { zone } = request
    const refusal = invalidClient('Previous secret is required and must be valid')
    if (oldSecret === undefined) throw refusal
    // Limited per client, not per address: all holders of its tokens guess the same secret.
    const key = callerKey({ zone, remoteAddress: undefined }, 'client secret', client.clientId)
    const isCorrect = await limits.wrongSecrets.attempt(
      key,
      () =>
        isSecretOf(client.secrets, oldSecret, { clientSecrets: deps.clientSecrets, requester: requesterOf(request) }),
      found => !found,
    )
    if (!isCorrect) throw refusal
  }

  async function changeSecret(
    request: FastifyRequest,
    clientId: string,
    existing: StoredClient | undefined,
  ): Promise<string | undefined> {
    const isAdministrator = isClientAdministrator(request, service)
    if (!isAdministrator) checkCaller(request, clientId)
    if (!existing) return undefined
    const body = jsonBody(request)
    const oldSecret = textOf(body, 'oldSecret')
    if (!isAdministrator) await checkOldSecret(request, existing.client, oldSecret)
    const change = readChange(body)
    checkCount(existing.client, change)
    if (change.mode !== 'DELETE') checkPolicy(request.zone, change.secret)
    const secrets = await secretsAfter(request, existing.client, change)
    await writer.commit(request, [
      update(existing, { ...existing.client, secrets }, { events: ['SecretChangeSuccess'] }),
    ])
    return MESSAGES[change.mode]
  }

  async function secretsAfter(
    request: FastifyRequest,
    { secrets }: Client,
    change: SecretChange,
  ): Promise<readonly ClientSecret[]> {
    switch (change.mode) {
      case 'UPDATE':
        return change.secret === undefined ? [] : [await newSecret(change.secret, requesterOf(request), deps)]
      case 'ADD':
        return [...secrets, await newSecret(change.secret, requesterOf(request), deps)]
      case 'DELETE':
        return secrets.slice(1) // the older one
    }
  }

  on<{ Params: { client_id: string } }>('PUT /oauth/clients/:client_id/secret', async (request, reply) => {
    const clientId = request.params.client_id
    const existing = await store.clients.findForChange(request.zone.id, clientId)
    const reportFailure = (data: string): void =>
      audit({
        type: 'SecretChangeFailure',
        zoneId: request.zone.id,
        principal: existing ? clientId : unknownPrincipal(clientId),
        data,
        ...auditOriginOf(request),
      })
    try {
      const message = await changeSecret(request, clientId, existing)
      if (message !== undefined) return sendJson(reply, { status: 'ok', message })
    } catch (error) {
      reportFailure(error instanceof OAuthError ? error.message : 'the change failed')
      throw error
    }
    reportFailure('client not found')
    return sendNotFound(reply, behaviour)
  })
}

/**
 * Allows only the client itself, not a client with the same id in another zone. A user with a token of the client is
 * allowed as well: who knows the old secret could get a token of the client itself.
 */
function checkCaller(request: FastifyRequest, clientId: string): void {
  const { bearer, zone } = request
  const isItself = bearer?.client.clientId === clientId && bearer.client.zoneId === zone.id
  if (!isItself) throw invalidClient("Bad request. Not permitted to change another client's secret")
}

function checkCount({ secrets }: Client, { mode }: SecretChange): void {
  // With an empty one and another, the client would count as one with a secret, and every caller could authenticate.
  if (mode === 'ADD' && (secrets.length !== 1 || secrets[0]?.empty)) {
    throw invalidClient('client secret is either empty or client already has two secrets.')
  }
  if (mode === 'DELETE' && secrets.length !== 2) {
    throw invalidClient('client secret is either empty or client has only one secret.')
  }
}

/** Throws `invalid_client` for a new secret that the zone's policy does not allow. */
export function checkPolicy(zone: Zone, secret: string | undefined): void {
  const problem = secret === undefined ? undefined : secretProblem(secretPolicy(zone), secret)
  if (problem !== undefined) throw invalidClient(problem)
}

/** A string of the body; undefined if absent or null. Throws `invalid_client` for another type. */
export function textOf(body: JsonObject, name: string): string | undefined {
  const value = memberOf(body, name) ?? undefined
  if (value !== undefined && typeof value !== 'string') throw invalidClient(`${name} must be a string`)
  if (!isKeepable(value)) throw invalidClient(`${name} ${UNKEEPABLE}`)
  return value
}

/** The secret that replaces all others: null means none, absence is an error. */
export function replacementOf(body: JsonObject): string | undefined {
  const secret = textOf(body, 'secret')
  if (secret === undefined && memberOf(body, 'secret') !== null) throw invalidClient('A new secret must be provided.')
  return secret
}

function readChange(body: JsonObject): SecretChange {
  const mode: unknown = memberOf(body, 'changeMode') ?? 'UPDATE'
  switch (mode) {
    case 'UPDATE':
      return { mode, secret: replacementOf(body) }
    case 'ADD': {
      const secret = textOf(body, 'secret') ?? ''
      // A blank second secret would let every caller authenticate.
      if (isBlank(secret)) throw invalidClient('A new secret must be provided.')
      return { mode, secret }
    }
    case 'DELETE':
      return { mode }
    default:
      throw invalidClient('changeMode must be one of: [UPDATE, ADD, DELETE]')
  }
}
