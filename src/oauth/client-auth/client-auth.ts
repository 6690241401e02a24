// Who is the client that calls? Each method of client authentication is one file and one entry in the list below; the
// metadata document reads the same list.
import type { Passwords } from '../../base/passwords.ts'
import { digest } from '../../base/secrets.ts'
import type { SecretMemory } from '../../base/secrets.ts'
import type { Client } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { Zone } from '../../model/zone.ts'
import type { Store } from '../../store/store.ts'
import type { Params } from '../params.ts'
import { clientSecretBasic, clientSecretPost } from './client-secret.ts'
import { none } from './none.ts'

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

/** A credential as it was sent, not yet verified. */
export interface Credential {
  readonly clientId: string
  readonly secret: string
}

/** What the methods may use. */
export interface ClientAuthDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly memory: SecretMemory
}

/** One method of client authentication (RFC 6749 §2.3, OpenID Connect Core §9). */
export interface ClientAuthMethod {
  /** Its name in `token_endpoint_auth_methods_supported`. */
  readonly name: string
  /** The credential of this method, or undefined when the request carries none. Throws for a malformed one. */
  read(request: ClientAuthRequest): Credential | undefined
  /** Whether the credential is the client's. */
  verify(credential: Credential, client: Client, deps: ClientAuthDeps): Promise<boolean>
}

/** Every method; discovery lists them in this order. */
export const CLIENT_AUTH_METHODS: readonly ClientAuthMethod[] = [clientSecretBasic, clientSecretPost, none]

/** A client that proved who it is. */
export interface AuthenticatedClient {
  readonly client: Client
  /** The claim `client_auth_method`: `none` without a real secret, else absent. */
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
  deps: ClientAuthDeps & { service: Service; behaviour: Behaviour; audit: Audit },
): ClientAuthenticator {
  const { store, passwords, behaviour, audit } = deps
  const realm = basicChallenge(deps.service)
  // UAA: the header says "Bad credentials" whatever the body says.
  const challenge = basicChallenge(deps.service, 'Bad credentials')
  const badClient = (description: string): OAuthError => new OAuthError('invalid_client', description, { challenge })

  function choose(request: ClientAuthRequest): { method: ClientAuthMethod; credential: Credential } | undefined {
    let found: { method: ClientAuthMethod; credential: Credential } | undefined
    for (const method of CLIENT_AUTH_METHODS) {
      const credential = readWith(method, request)
      if (credential && found && behaviour.refuseTwoMethods) {
        // RFC 6749 §2.3: a client must not use more than one method in each request.
        throw new OAuthError('invalid_request', 'Only one method of client authentication may be used')
      }
      if (credential) found ??= { method, credential }
    }
    return found
  }

  function readWith(method: ClientAuthMethod, request: ClientAuthRequest): Credential | undefined {
    try {
      return method.read(request)
    } catch (cause) {
      if (cause instanceof OAuthError) throw badClient(cause.message)
      throw cause
    }
  }

  /** Nothing usable was sent: say what is missing. That a client has no secret is none; /oauth/authorize tells it too. */
  async function refuseBare({ id }: Zone, { authorization, params }: ClientAuthRequest): Promise<OAuthError> {
    const clientId = params.get('client_id')
    if (clientId !== undefined && authorization === undefined) {
      const client = await store.clients.find(id, clientId)
      return badClient(client?.secrets.length === 0 ? 'Missing credentials' : 'Bad credentials')
    }
    const description = 'An Authentication object was not found in the SecurityContext'
    return new OAuthError(behaviour.missingClientCredentials, description, {
      challenge: behaviour.bareChallenge ? realm : basicChallenge(deps.service, description),
    })
  }

  return {
    async authenticate(zone, request, remoteAddress) {
      const chosen = choose(request)
      if (!chosen) throw await refuseBare(zone, request)
      const { method, credential } = chosen
      const client = await store.clients.find(zone.id, credential.clientId)
      const proven = client
        ? await method.verify(credential, client, deps)
        : credential.secret !== '' && (await passwords.verifyNothing(credential.secret))
      const zoneId = zone.id
      if (!client || !proven) {
        // What is no client's id may be a secret in the wrong place: the trail gets a digest of it.
        const principal = client?.clientId ?? digest(credential.clientId)
        audit({ type: 'ClientAuthenticationFailure', zoneId, principal, remoteAddress })
        throw badClient('Bad credentials')
      }
      const named = request.params.get('client_id')
      if (named !== undefined && named !== client.clientId) {
        throw badClient('Given client ID does not match authenticated client')
      }
      audit({ type: 'ClientAuthenticationSuccess', zoneId, principal: client.clientId, remoteAddress })
      return credential.secret === '' ? { client, claim: 'none' } : { client }
    },
  }
}
