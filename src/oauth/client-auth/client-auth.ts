// Who is the client that calls? Each method of client authentication is one file and one entry in the list below; the
// metadata document reads the same list.
import type { Clock } from '../../base/clock.ts'
import type { Passwords } from '../../base/passwords.ts'
import { digest } from '../../base/secrets.ts'
import type { SecretMemory } from '../../base/secrets.ts'
import type { Client } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import type { Zone } from '../../model/zone.ts'
import type { Store } from '../../store/store.ts'
import type { ForeignKeys } from '../../token/foreign-keys.ts'
import type { Params } from '../params.ts'
import { bearerChallenge } from '../../web/bearer.ts'
import { clientSecretBasic, clientSecretPost } from './client-secret.ts'
import { none } from './none.ts'
import { privateKeyJwt } from './private-key-jwt.ts'

/** The parts of a request that can carry a credential. */
export interface ClientAuthRequest {
  readonly authorization: string | undefined
  readonly params: Params
  readonly endpoint: AuthenticatingEndpoint
}

/** What an endpoint takes besides secrets. */
export interface AuthenticatingEndpoint {
  /** Its path below the base URL, which an assertion may name as its audience (row C3). */
  readonly path: string
  /** Whether clients without a credential may come: the token and revocation endpoints take them (row C1). */
  readonly allowsNone: boolean
  /** Whether signed assertions are taken; UAA takes them at the token endpoint only (row C1). */
  readonly allowsAssertion: boolean
}

/** A proof of who the client is, as it was sent and not yet verified. */
export interface Attempt {
  /** Whom the client says to be. */
  readonly clientId: string
  /** What tokens say in `client_auth_method` after a success; undefined for a real secret. */
  readonly claim: 'none' | 'private_key_jwt' | undefined
  /**
   * Whether the proof is the client's. Takes as long without a client, and then answers false. Throws `invalid_client`
   * where a method has another description than that of bad credentials.
   */
  verify(client: Client | undefined, from: AttemptOrigin, deps: ClientAuthDeps): Promise<boolean>
}

/** Where an attempt was made, and from where. */
export interface AttemptOrigin {
  readonly zone: Zone
  readonly remoteAddress: string | undefined
}

/** What the methods may use. */
export interface ClientAuthDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly memory: SecretMemory
  readonly foreignKeys: ForeignKeys
  readonly clock: Clock
  readonly urls: Urls
  readonly behaviour: Behaviour
}

/** One method of client authentication (RFC 6749 §2.3, OpenID Connect Core §9). */
export interface ClientAuthMethod {
  /** Its name in `token_endpoint_auth_methods_supported`. */
  readonly name: string
  /** Whether the request uses it, well or badly. */
  recognises(request: ClientAuthRequest): boolean
  /** What was sent, of a request that uses the method. Throws `invalid_client` for what is malformed. */
  read(request: ClientAuthRequest): Attempt
}

/** Every method; discovery lists them in this order, and where two are lenient neighbours the earlier one wins. */
export const CLIENT_AUTH_METHODS: readonly ClientAuthMethod[] = [
  clientSecretBasic,
  clientSecretPost,
  privateKeyJwt,
  none,
]

/** A client that proved who it is. */
export interface AuthenticatedClient {
  readonly client: Client
  /** The claim `client_auth_method`: how the client proved it, unless it was by a real secret. */
  readonly claim?: string
}

/** Authenticates the client of a request. */
export interface ClientAuthenticator {
  /** Throws `invalid_client` with a Basic challenge, or `invalid_request` for two methods at once. */
  authenticate(zone: Zone, request: ClientAuthRequest, remoteAddress: string | undefined): Promise<AuthenticatedClient>
}

/** The challenge of client authentication (RFC 7617 §2); UAA adds what went wrong, always under the same code. */
export const basicChallenge = ({ clientRealm }: Service, failure?: string): string =>
  `Basic realm="${clientRealm}"${failure === undefined ? '' : `, error="unauthorized", error_description="${failure}"`}`

/** A wrong secret looks and lasts the same whether or not there is such a client. */
export function createClientAuthenticator(
  deps: ClientAuthDeps & { service: Service; audit: Audit },
): ClientAuthenticator {
  const { store, behaviour, audit } = deps
  const realm = basicChallenge(deps.service)
  // UAA: the header says "Bad credentials" whatever the body says.
  const challenge = basicChallenge(deps.service, 'Bad credentials')
  const badClient = (description: string): OAuthError => new OAuthError('invalid_client', description, { challenge })

  /** The refusal with the challenge of client authentication; anything else that was thrown is thrown on. */
  function challenged(cause: unknown): OAuthError {
    if (!(cause instanceof OAuthError)) throw cause
    return new OAuthError('invalid_client', cause.message, { challenge, detail: cause.detail, cause })
  }

  function choose(request: ClientAuthRequest): Attempt | undefined {
    let chosen: ClientAuthMethod | undefined
    for (const method of CLIENT_AUTH_METHODS) {
      if (!method.recognises(request)) continue
      if (chosen) {
        // RFC 6749 §2.3: a client must not use more than one method in each request.
        throw new OAuthError('invalid_request', 'Only one method of client authentication may be used')
      }
      chosen = method
      if (!behaviour.refuseTwoMethods) break
    }
    try {
      return chosen?.read(request)
    } catch (cause) {
      throw challenged(cause)
    }
  }

  /** Nothing usable was sent: say what is missing. That a client has no secret is none; /oauth/authorize tells it too. */
  async function refuseBare({ id }: Zone, { authorization, params, endpoint }: ClientAuthRequest): Promise<OAuthError> {
    const clientId = params.get('client_id')
    if (clientId !== undefined && authorization === undefined) {
      const client = await store.clients.find(id, clientId)
      return badClient(client?.secrets.length === 0 ? 'Missing credentials' : 'Bad credentials')
    }
    const isToken = endpoint.path.startsWith('/oauth/token')
    if (isToken && authorization === undefined && !behaviour.tellMissingCredentials) return badClient('Bad credentials')
    const description = 'An Authentication object was not found in the SecurityContext'
    return new OAuthError(behaviour.missingClientCredentials, description, {
      challenge: behaviour.bareChallenge ? realm : basicChallenge(deps.service, description),
    })
  }

  return {
    async authenticate(zone, request, remoteAddress) {
      const attempt = choose(request)
      if (!attempt) throw await refuseBare(zone, request)
      const zoneId = zone.id
      const client = await store.clients.find(zoneId, attempt.clientId)
      let refusal: OAuthError | undefined
      try {
        if (!(await attempt.verify(client, { zone, remoteAddress }, deps))) refusal = badClient('Bad credentials')
      } catch (cause) {
        refusal = challenged(cause)
      }
      if (!client || refusal) {
        // What is no client's id may be a secret in the wrong place: the trail gets a digest of it.
        const principal = client?.clientId ?? digest(attempt.clientId)
        audit({ type: 'ClientAuthenticationFailure', zoneId, principal, remoteAddress })
        throw refusal ?? badClient('Bad credentials')
      }
      const named = request.params.get('client_id')
      if (named !== undefined && named !== client.clientId) {
        const description = 'Given client ID does not match authenticated client'
        if (behaviour.basicForForeignId) throw badClient(description)
        const bearer = bearerChallenge(undefined, { error: 'invalid_client', description })
        throw new OAuthError('invalid_client', description, { challenge: bearer })
      }
      audit({ type: 'ClientAuthenticationSuccess', zoneId, principal: client.clientId, remoteAddress })
      return attempt.claim === undefined ? { client } : { client, claim: attempt.claim }
    },
  }
}
