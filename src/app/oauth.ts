// Assembles the endpoints of OAuth and OpenID Connect, and notifies applications of ended sessions.
import type { FastifyInstance } from 'fastify'
import { createCache } from '../base/cache.ts'
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { Config } from '../config.ts'
import { authorizeEndpoint } from '../oauth/authorize/routes.ts'
import type { ClientDocuments } from '../oauth/client-documents/documents.ts'
import { deviceEndpoints } from '../oauth/device/routes.ts'
import { explainEndpoint } from '../oauth/explain/routes.ts'
import { checkTokenEndpoint } from '../oauth/check-token.ts'
import { introspectEndpoint } from '../oauth/introspect.ts'
import { logoutEndpoint } from '../oauth/logout/routes.ts'
import type { BackChannel } from '../oauth/logout/back-channel.ts'
import type { OAuthDeps } from '../oauth/deps.ts'
import { metadataAtOrigin, metadataEndpoints } from '../oauth/metadata.ts'
import { pushedRequestEndpoint } from '../oauth/pushed-requests.ts'
import { registrationEndpoints } from '../oauth/registration/routes.ts'
import { resourceMetadataAtOrigin, resourceMetadataEndpoint } from '../oauth/resource-metadata.ts'
import { revokeEndpoint } from '../oauth/revoke.ts'
import { sessionFrames } from '../oauth/session-frames.ts'
import { tokenKeysEndpoints } from '../oauth/token-keys.ts'
import { tokenListEndpoints } from '../oauth/token-list.ts'
import { tokenEndpoint } from '../oauth/token.ts'
import { tokenRevokeEndpoints } from '../oauth/token-revoke.ts'
import { userinfoEndpoint } from '../oauth/userinfo.ts'
import type { AuditTrail } from '../ops/audit/trail.ts'
import type { Store } from '../store/store.ts'

/** The dependencies that are not derived from these others. */
interface OAuthParts
  extends Omit<OAuthDeps, 'mutualTls' | 'samlEntityId' | 'verifiesAttestation' | 'recordEvent' | 'fetchedObjects'> {
  readonly config: Config
  /** Without clients described by metadata documents, which are not stored. */
  readonly stored: Store
  readonly trail: AuditTrail | undefined
}

function depsOf(parts: OAuthParts): OAuthDeps {
  const { mutualTls, saml, passkeys } = parts.config
  return {
    ...parts,
    mutualTls,
    samlEntityId: saml.entityId,
    verifiesAttestation: passkeys.attestationRoots !== undefined,
    recordEvent: parts.trail?.record, // otherwise only the log has events
    fetchedObjects: createCache({ capacity: 200 }),
  }
}

/** Registers their routes; `app` prefixes each with the path of the base URL. */
export function assembleOAuth(app: FastifyInstance, parts: OAuthParts): void {
  const deps = depsOf(parts)
  const ofStored = { ...deps, store: parts.stored }
  metadataEndpoints(app, deps)
  resourceMetadataEndpoint(app, deps)
  tokenKeysEndpoints(app, deps)
  tokenEndpoint(app, deps)
  userinfoEndpoint(app, deps)
  introspectEndpoint(app, deps)
  checkTokenEndpoint(app, deps)
  revokeEndpoint(app, deps)
  tokenRevokeEndpoints(app, deps)
  tokenListEndpoints(app, deps)
  deviceEndpoints(app, deps)
  registrationEndpoints(app, ofStored)
  explainEndpoint(app, { ...ofStored, namesRequests: parts.log.requests !== undefined })
  authorizeEndpoint(app, deps)
  pushedRequestEndpoint(app, deps)
  sessionFrames(app, deps)
  logoutEndpoint(app, deps)
}

/** If the base URL has a path: its metadata at the well-known URLs at the origin, before that path. */
export function oauthAtOrigin(http: FastifyInstance, parts: OAuthParts): void {
  const deps = depsOf(parts)
  resourceMetadataAtOrigin(http, deps)
  metadataAtOrigin(http, deps)
}

/** Notifies applications of ended sessions; loaded when the first notification is due. */
export function deferredBackChannel(
  parts: Pick<
    OAuthParts,
    'store' | 'clock' | 'random' | 'urls' | 'behaviour' | 'audit' | 'keys' | 'subjects' | 'outbound' | 'log'
  > & { readonly documents: Pick<ClientDocuments, 'isGone'> },
): () => Promise<BackChannel> {
  return loadOnce(async () => {
    const { createBackChannel } = await import('../oauth/logout/back-channel.ts')
    return createBackChannel({ ...parts, outbound: parts.outbound.for('logout') })
  })
}
