// The interface of a client authentication method, which reads a credential from a request and verifies it.
import type { Clock } from '../../base/clock.ts'
import type { Passwords } from '../../base/passwords.ts'
import type { SecretMemory } from '../../base/secrets.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { MutualTlsSettings, TlsAuthMethod } from '../../model/clients/mutual-tls.ts'
import type { Urls } from '../../model/urls.ts'
import type { RequestOrigin } from '../../model/request.ts'
import type { Store } from '../../store/store.ts'
import type { ForeignKeys } from '../../token/foreign-keys.ts'

/** The parts of a request that can carry a credential. */
export interface ClientAuthRequest {
  readonly authorization: string | undefined
  readonly params: CredentialParams
  readonly endpoint: AuthenticatingEndpoint
  /** What a trusted proxy wrote about the caller's certificate, in a zone that supports RFC 8705. */
  readonly certificate?: string | undefined
}

/** The parameters of a request, as far as client authentication reads them. */
export interface CredentialParams {
  /** The value, or undefined when it is absent or empty. */
  get(name: string): string | undefined
  /** The value as it was sent: an empty client secret is a secret. */
  raw(name: string): string | undefined
}

/** What an endpoint accepts besides client secrets. */
export interface AuthenticatingEndpoint {
  /** Its path below the base URL, which an assertion may name as its audience (row C3). */
  readonly path: string
  /** Whether clients without a credential are accepted: not by the endpoints that inspect tokens and publish keys (row C1). */
  readonly allowsNone: boolean
  /** Whether signed assertions are accepted; UAA accepts them at /oauth/token only (row C1). */
  readonly allowsAssertion: boolean
}

/** The values of the claim `client_auth_method`. */
export type ClientAuthMethodClaim = 'none' | 'private_key_jwt' | TlsAuthMethod

/** A credential as sent, not yet verified. */
export interface Attempt {
  /** The client id that was sent. */
  readonly clientId: string
  /** The claim `client_auth_method` of the tokens issued; undefined for a non-empty secret. */
  readonly clientAuthMethod: ClientAuthMethodClaim | undefined
  /** The issuer that asserted the client, if not the client itself: for the audit trail, once verified. */
  readonly evidence?: string
  /**
   * Whether the credential is the client's. For an unknown client, returns false after the same time. Throws
   * `invalid_client` if the method describes the failure itself.
   */
  verify(client: Client | undefined, from: RequestOrigin, deps: ClientAuthDeps): Promise<boolean>
}

/** Limits wrong secrets; both throw when there were too many. */
export interface SecretGuesses {
  /** For a secret that was verified before. */
  check(from: RequestOrigin, clientId: string): void
  /** Counts the attempt unless it verifies; concurrent attempts with the same secret and client record count once. */
  attempt(
    from: RequestOrigin,
    tried: { readonly clientId: string; readonly secret: string; readonly client: Client | undefined },
    verify: () => Promise<boolean>,
  ): Promise<boolean>
}

/** The dependencies of the methods. */
export interface ClientAuthDeps {
  readonly store: Store
  readonly guesses: SecretGuesses
  readonly passwords: Passwords
  readonly memory: SecretMemory
  readonly foreignKeys: ForeignKeys
  /** Absent if client certificates are not read. */
  readonly mutualTls?: MutualTlsSettings | undefined
  readonly clock: Clock
  readonly urls: Urls
  readonly behaviour: Behaviour
}

/** One method of client authentication (RFC 6749 §2.3, OpenID Connect Core §9). */
export interface ClientAuthMethod {
  /** Its name in `token_endpoint_auth_methods_supported`. */
  readonly name: string
  /** Whether the request uses the method, correctly or not. */
  recognises(request: ClientAuthRequest): boolean
  /** Reads the credential of a request that uses the method. Throws `invalid_client` for a malformed one. */
  read(request: ClientAuthRequest): Attempt
  /** The method for this client, if the request alone does not determine it. */
  forClient?(client: Client | undefined, request: ClientAuthRequest): ClientAuthMethod
}
