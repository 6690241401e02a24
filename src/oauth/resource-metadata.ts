// Metadata of the server's own APIs as a protected resource (RFC 9728). The server is its own authorization server.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { supportsProtocol } from '../model/zones/protocols.ts'
import { FOREIGN_ALGORITHMS } from '../token/foreign-keys.ts'
import { turnedOff } from '../web/answers.ts'
import { sendJson } from '../web/requests/json.ts'
import { RESOURCE_METADATA_AT_ORIGIN } from '../web/zones/zone.ts'
import { listedScopes } from './metadata.ts'
import { withinProfile } from './profile-metadata.ts'
import type { OAuthDeps } from './deps.ts'

const config = {
  access: { by: 'anyone', because: 'public by definition: RFC 9728 §3' },
  audience: 'open',
  withoutDatabase: true,
} as const

/** Below the base URL; if that has a path, also at the origin (RFC 9728 §3.1). */
export const resourceMetadataEndpoint = (app: FastifyInstance, deps: OAuthDeps): void =>
  void app.get(RESOURCE_METADATA_AT_ORIGIN, { config }, (request, reply) => answer(request, reply, deps))

/** Where a base URL has a path, outside of everything else. */
export const resourceMetadataAtOrigin = (app: FastifyInstance, deps: OAuthDeps): void =>
  void app.get(RESOURCE_METADATA_AT_ORIGIN + deps.urls.basePath, { config }, (request, reply) =>
    answer(request, reply, deps),
  )

function answer(
  { zone }: FastifyRequest,
  reply: FastifyReply,
  { urls, behaviour, mutualTls }: OAuthDeps,
): FastifyReply {
  if (!supportsProtocol(zone, 'protectedResourceMetadata', behaviour)) throw turnedOff()
  const base = urls.ofZone(zone)
  const isBound = supportsProtocol(zone, 'dpop', behaviour)
  const isCertified = mutualTls !== undefined && supportsProtocol(zone, 'mutualTls', behaviour)
  const document = {
    resource: base,
    authorization_servers: [urls.issuer(zone)],
    scopes_supported: listedScopes(behaviour),
    bearer_methods_supported: ['header', 'body'],
    resource_documentation: `${base}/docs`,
    ...(isBound && { dpop_signing_alg_values_supported: FOREIGN_ALGORITHMS }),
    ...(isCertified && { tls_client_certificate_bound_access_tokens: true }),
  }
  return sendJson(reply, withinProfile(zone, document))
}
