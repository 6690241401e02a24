// Assembles the endpoints of OAuth and OpenID Connect, and notifies applications of ended sessions.
import type { FastifyInstance } from 'fastify'
import type { Background } from '../base/concurrency/background.ts'
import { createCache } from '../base/cache.ts'
import type { Clock } from '../base/clock.ts'
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { OutboundByPurpose } from '../base/outbound.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { Config } from '../config.ts'
import type { Identity } from '../identity/identity.ts'
import type { DemandFinder } from '../identity/outstanding-demand.ts'
import type { GroupsOf } from '../identity/user-groups.ts'
import type { Vouching } from '../identity/vouched.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Service } from '../model/service.ts'
import type { PageSettings, TokenSettings } from '../model/zones/settings.ts'
import type { Subjects } from '../model/tokens/subject.ts'
import type { Urls } from '../model/urls.ts'
import { authorizeEndpoint } from '../oauth/authorize/routes.ts'
import type { ClientDocuments } from '../oauth/client-documents/documents.ts'
import { deviceEndpoints } from '../oauth/device/routes.ts'
import { explainEndpoint } from '../oauth/explain/routes.ts'
import { checkTokenEndpoint } from '../oauth/check-token.ts'
import { introspectEndpoint } from '../oauth/introspect.ts'
import { logoutEndpoint } from '../oauth/logout/routes.ts'
import type { BackChannel } from '../oauth/logout/back-channel.ts'
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
import { createUpstreamLogout } from '../oauth/upstream-logout.ts'
import type { AuditTrail } from '../ops/audit/trail.ts'
import type { Log } from '../ops/log.ts'
import type { Store } from '../store/store.ts'
import type { ForeignKeys } from '../token/foreign-keys.ts'
import type { TokenIssuer } from '../token/issuer.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { TokenReader } from '../token/reader.ts'
import type { Senders } from '../token/sender/sender.ts'
import type { Verifications } from '../token/verifications.ts'
import type { Assets } from '../web/assets.ts'
import type { BearerGate } from '../web/callers/bearer.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import type { Denial } from '../web/sessions/denial.ts'
import type { Limits } from '../web/limits/limits.ts'
import type { PageWriter } from '../web/pages.ts'
import type { Sessions } from '../web/sessions/session.ts'
import type { SignInDemands } from '../web/sessions/sign-in-demands.ts'

/** Dependencies of these endpoints. */
interface OAuthParts {
  readonly config: Config
  readonly store: Store
  /** Without clients described by metadata documents, which are not stored. */
  readonly stored: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly log: Log
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  readonly audit: Audit
  /** Absent if the audit trail is only in the log. */
  readonly trail: AuditTrail | undefined
  readonly clientSecrets: Passwords
  readonly outbound: OutboundByPurpose
  readonly background: Background
  readonly keys: KeyRing
  readonly foreignKeys: ForeignKeys
  readonly senders: Senders
  readonly verifications: Verifications
  readonly subjects: Subjects
  readonly issuer: TokenIssuer
  readonly reader: TokenReader
  readonly authenticator: ClientAuthenticator
  readonly identity: Identity
  readonly groupsOf: GroupsOf
  readonly findOutstandingDemand: DemandFinder
  readonly vouching: Vouching
  readonly bearerGate: BearerGate
  readonly assets: Assets
  readonly csrf: Csrf
  readonly denial: Denial
  readonly limits: Limits
  readonly pages: PageWriter
  readonly sessions: Sessions
  readonly signInDemands: SignInDemands
}

/** Registers their routes; `app` prefixes each with the path of the base URL. */
export function assembleOAuth(app: FastifyInstance, given: OAuthParts): void {
  const { config, stored, trail, log, outbound } = given
  const { mutualTls, saml } = config
  const parts = {
    ...given,
    mutualTls,
    verifiesAttestation: verifiesAttestation(config),
    recordEvent: trail?.record, // otherwise only the log has events
  }
  metadataEndpoints(app, parts)
  resourceMetadataEndpoint(app, { ...parts, readsCertificates: mutualTls !== undefined })
  tokenKeysEndpoints(app, parts)
  tokenEndpoint(app, { ...parts, samlEntityId: saml.entityId })
  userinfoEndpoint(app, parts)
  introspectEndpoint(app, parts)
  checkTokenEndpoint(app, parts)
  revokeEndpoint(app, parts)
  tokenRevokeEndpoints(app, parts)
  tokenListEndpoints(app, parts)
  deviceEndpoints(app, parts)
  registrationEndpoints(app, { ...parts, store: stored, outbound: outbound.for('client_metadata') })
  explainEndpoint(app, { ...parts, store: stored, namesRequests: log.requests !== undefined })
  const authorizing = {
    ...parts,
    outbound: outbound.for('request_uri'),
    fetchedObjects: createCache<{ readonly content: string }>({ capacity: 200 }),
  }
  authorizeEndpoint(app, authorizing)
  pushedRequestEndpoint(app, authorizing)
  sessionFrames(app, parts)
  logoutEndpoint(app, { ...parts, upstream: createUpstreamLogout(parts) })
}

/** If the base URL has a path: its metadata at the well-known URLs at the origin, before that path. */
export function oauthAtOrigin(
  http: FastifyInstance,
  parts: Pick<OAuthParts, 'config' | 'keys' | 'urls' | 'service' | 'behaviour'>,
): void {
  const { mutualTls } = parts.config
  resourceMetadataAtOrigin(http, { ...parts, readsCertificates: mutualTls !== undefined })
  metadataAtOrigin(http, { ...parts, verifiesAttestation: verifiesAttestation(parts.config), mutualTls })
}

const verifiesAttestation = ({ passkeys }: Config): boolean => passkeys.attestationRoots !== undefined

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
