import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Identity } from '../../identity/identity.ts'
import type { DemandFinder } from '../../identity/outstanding-demand.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import { allowsProvider, PROVIDER_BARRED } from '../../model/clients/client.ts'
import type { Confirmation } from '../../model/tokens/confirmation.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/audit/event.ts'
import type { TokenGrantType } from '../../model/clients/grant-types.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { ScopeTrace } from '../../model/rules.ts'
import type { UserGroups } from '../../model/tokens/scopes.ts'
import type { Service } from '../../model/service.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/users/user.ts'
import type { AddressedZone, RequestContext } from '../../model/request.ts'
import type { ProofId } from '../../model/tokens/token.ts'
import type { Store } from '../../store/store.ts'
import type { TokenReader } from '../../token/reader.ts'
import type { VerifiedToken } from '../../token/token-validity.ts'
import type { Limits } from '../../web/limits/limits.ts'
import type { Params } from '../params.ts'

/** What the decision of a grant depends on. */
export interface DecidedRequest {
  readonly zone: AddressedZone
  readonly client: Client
  readonly params: Params
  /** The claim `client_auth_method`; absent when the client authenticated with a non-empty secret. */
  readonly clientAuthMethod?: string | undefined
  /** The proven key or certificate of the sender, to which the tokens will be bound. */
  readonly confirmation?: Confirmation | undefined
  /** Set where the request is explained. */
  readonly because?: ScopeTrace | undefined
}

/** A token request whose caller is authenticated. */
export interface GrantRequest extends RequestContext, DecidedRequest {
  readonly zone: AddressedZone
  /** The proof of the request, for a grant with `usesProof`, which consumes it together with the code or token. */
  readonly proof?: ProofId | undefined
  /**
   * Registers how to undo what the grant has consumed. That is done if no tokens are issued because of a failure, so that a
   * repeated request does not look like a reused code or token. A refusal by the grant undoes nothing.
   */
  readonly undoOnFailure: (undo: () => Promise<void>) => void
  /** The calling user's token; present only for grants with the caller `user-token`. */
  readonly bearer?: VerifiedToken | undefined
}

/** Read-only services for a decision: `/explain` makes the same decision without a request. */
export interface DecisionDeps {
  readonly store: Store
  readonly reader: TokenReader
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly groupsOf: (zone: AddressedZone, user: User) => Promise<UserGroups>
  readonly findOutstandingDemand: DemandFinder
}

/** The services that a grant may use. */
export interface GrantDeps extends DecisionDeps {
  readonly identity: Identity
  readonly urls: Urls
  readonly audit: Audit
  readonly limits: Limits
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
}

/** One `grant_type` (RFC 6749 §1.3). It decides what to grant; the issuer issues the tokens. */
export interface Grant {
  readonly type: TokenGrantType
  /** Who calls: a client that authenticates, or a user by a token. */
  readonly caller: 'client' | 'user-token'
  /** Set for a grant that marks the request's DPoP proof as used itself; for the others that is done beforehand. */
  readonly usesProof?: true
  authorize(request: GrantRequest, deps: GrantDeps): Promise<Authorization>
}

/** Refuses users of a provider that the client does not allow. */
export function requireAllowedProvider(client: Client, { origin }: Pick<User, 'origin'>, behaviour: Behaviour): void {
  if (allowsProvider(client, origin)) return
  throw new OAuthError(behaviour.userProviderBarred, PROVIDER_BARRED, { rule: 'provider-not-allowed' })
}
