// A registered client changes its metadata (RFC 7592 §2.2).
import type { FastifyRequest } from 'fastify'
import type { Requester } from '../../base/concurrency/fair-queue.ts'
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { digest } from '../../base/secrets.ts'
import { applyWrites, update } from '../../clients/changes.ts'
import type { ClientWrite } from '../../clients/changes.ts'
import type { ClientDefinition } from '../../clients/client-json.ts'
import { isSecretOf, newSecret } from '../../clients/secrets.ts'
import type { SecretDeps } from '../../clients/secrets.ts'
import type { Client } from '../../model/clients/client.ts'
import { isElevated } from '../../model/clients/registration.ts'
import type { RegistrationPolicy } from '../../model/clients/registration.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { ChangedMeanwhile } from '../../store/store.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { jsonBody } from '../../web/requests/json.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { defineClient, withMembersOf } from './definition.ts'
import { linksOf, refuseForeignLinks, refuseForeignRedirects } from './foreign-hosts.ts'
import { invalidMetadata, readMetadata } from './metadata.ts'
import type { RegisteredClient } from './register.ts'
import { findRegisteredCaller, openPolicy, TOKEN_LENGTH } from './registration-access.ts'
import type { OfClient } from './registration-access.ts'
import { substitutesFor } from './substitutes.ts'
import type { OAuthDeps } from '../deps.ts'

/** Members of an answer, which a request must not have (RFC 7592 §2.2). */
const OF_ANSWERS = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
]

/** Replaces the metadata of the calling client, and its registration access token. */
export async function changeRegistration(
  request: FastifyRequest<OfClient>,
  deps: OAuthDeps,
): Promise<RegisteredClient> {
  const { clock, random, behaviour, limits } = deps
  const { zone } = request
  const policy = openPolicy(zone, deps)
  const stored = await findRegisteredCaller(request, deps)
  const { client: existing } = stored
  const { clientId } = existing
  const sent = jsonBody(request)
  const requester = requesterOf(request)
  await limits.registrations.take(callerKey({ zone, remoteAddress: undefined }, 'registration', clientId))
  checkMembers(sent, existing)
  checkElevation(existing, policy, deps.service)
  await checkSecret(sent, { existing, requester }, deps)
  const requested = readMetadata(sent, { zone, policy, behaviour })
  const keepsSecret = requested.needsSecret && existing.secrets.length > 0
  const secret = requested.needsSecret && !keepsSecret ? random.urlSafe(TOKEN_LENGTH) : undefined
  const definition = await defineClient(zone, { requested, clientId, secret }, deps)
  const addedUris = definition.redirectUris.filter(uri => !existing.redirectUris.includes(uri))
  const isTrusted = (await deps.store.clients.findMetadata(zone.id, clientId))?.createdBy !== 'registration'
  if (!isTrusted) {
    await refuseForeignRedirects(zone.id, addedUris, deps)
    await refuseForeignLinks(zone.id, addedLinks(existing, definition), deps)
  }
  const token = random.urlSafe(TOKEN_LENGTH)
  const secrets = secret === undefined ? [] : [await newSecret(secret, requester, deps)]
  const client: Client = {
    ...withMembersOf(existing, definition),
    secrets: keepsSecret ? existing.secrets : secrets,
    registration: { tokenDigest: digest(token), responseTypes: requested.responseTypes },
    updatedAt: clock.now(),
  }
  const substitutes = await substitutesFor(zone, client, deps) // first: the old token is invalid once this is stored
  // Users approved the client by its redirect URIs and its name.
  const forgetApprovals = addedUris.length > 0 || client.name !== existing.name
  await commitRegistration(request, update(stored, client, { forgetApprovals }), deps)
  return { client, token, secret, substitutes }
}

function addedLinks(existing: Client, definition: ClientDefinition): readonly string[] {
  const shown = linksOf(existing)
  return linksOf(definition).filter(link => !shown.includes(link))
}

function checkMembers(sent: JsonRecord, { clientId }: Client): void {
  if (memberOf(sent, 'client_id') !== clientId) throw invalidMetadata('client_id must be that of the client')
  const unwanted = OF_ANSWERS.find(name => (memberOf(sent, name) ?? undefined) !== undefined)
  if (unwanted !== undefined) throw invalidMetadata(`${unwanted} must not be sent`)
}

function checkElevation(existing: Client, policy: RegistrationPolicy, service: Service): void {
  if (!isElevated(existing, policy, service)) return
  throw new OAuthError('access_denied', 'An administrator has taken over this client')
}

/** A secret may be sent again, but not chosen. */
async function checkSecret(
  sent: JsonRecord,
  { existing, requester }: { readonly existing: Client; readonly requester: Requester },
  { clientSecrets }: SecretDeps,
): Promise<void> {
  const sentSecret = memberOf(sent, 'client_secret') ?? undefined
  if (sentSecret === undefined) return
  const isOwn =
    typeof sentSecret === 'string' && (await isSecretOf(existing.secrets, sentSecret, { clientSecrets, requester }))
  if (!isOwn) throw invalidMetadata('client_secret must be that of the client')
}

/** Applies the change or deletion. Throws 409 if another change came first. */
export async function commitRegistration(
  request: FastifyRequest,
  write: ClientWrite,
  { store, audit }: Pick<OAuthDeps, 'store' | 'audit'>,
): Promise<void> {
  const facts = { store, audit, origin: auditOriginOf(request) }
  await applyWrites(request.zone.id, [write], facts).catch((cause: unknown) => {
    if (!(cause instanceof ChangedMeanwhile)) throw cause
    throw new OAuthError({ error: 'invalid_request', status: 409 }, 'The client has been changed by another request', {
      cause,
    })
  })
}
