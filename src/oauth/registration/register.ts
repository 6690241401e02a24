// Registers a client (RFC 7591 §3).
import type { FastifyRequest } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { newClient, recordCreation } from '../../clients/changes.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { siteKey } from '../../web/limits/limits.ts'
import { jsonBody } from '../../web/requests/json.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import type { SubstituteAlgorithms } from './answer.ts'
import { defineClient } from './definition.ts'
import { linksOf, refuseForeignLinks, refuseForeignRedirects } from './foreign-hosts.ts'
import { readMetadata } from './metadata.ts'
import { findInitialToken, initialTokenUsedUp, openPolicy, TOKEN_LENGTH } from './registration-access.ts'
import { substitutesFor } from './substitutes.ts'
import type { OAuthDeps } from '../deps.ts'

/** A client with its registration access token, and with its secret if that is new. */
export interface RegisteredClient {
  readonly client: Client
  readonly token: string
  readonly secret?: string | undefined
  readonly substitutes: SubstituteAlgorithms
}

/** Creates the client that the request describes, if the zone lets it register. */
export async function registerClient(request: FastifyRequest, deps: OAuthDeps): Promise<RegisteredClient> {
  const { store, clock, random, service, behaviour, audit, limits } = deps
  const { zone } = request
  const policy = openPolicy(zone, deps)
  const initial = await findInitialToken(request, policy.mode, deps)
  const requested = readMetadata(jsonBody(request), { zone, policy, behaviour })
  if (!initial) await limits.registrations.take(siteKey({ zone, remoteAddress: request.ip }, 'registration'))
  const clientId = random.urlSafe(22)
  const secret = requested.needsSecret ? random.urlSafe(TOKEN_LENGTH) : undefined
  const definition = await defineClient(zone, { requested, clientId, secret }, deps)
  if (!initial) {
    await refuseForeignRedirects(zone.id, definition.redirectUris, deps)
    await refuseForeignLinks(zone.id, linksOf(definition), deps)
  }
  const draft = { definition, secrets: secret === undefined ? [] : [secret] }
  const token = random.urlSafe(TOKEN_LENGTH)
  const client: Client = {
    ...(await newClient(draft, { zoneId: zone.id, requester: requesterOf(request) }, deps)),
    registration: { tokenDigest: digest(token), responseTypes: requested.responseTypes },
  }
  const substitutes = await substitutesFor(zone, client, deps) // first: if this fails, nothing must be stored
  const createdBy = initial ? `registration:${initial.id}` : 'registration'
  const registration = { client, createdBy, maxClients: policy.maxClients, tokenId: initial?.id }
  const outcome = await store.registrations.register(zone.id, registration, clock.now())
  if (outcome === 'used') throw initialTokenUsedUp(service)
  if (outcome === 'full') throw new OAuthError('access_denied', 'The zone has reached its limit of registered clients')
  recordCreation(client, { audit, origin: auditOriginOf(request) })
  return { client, token, secret, substitutes }
}
