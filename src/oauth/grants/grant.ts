import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import { allowsProvider, PROVIDER_BARRED } from '../../model/clients/client.ts'
import type { Confirmation } from '../../model/tokens/confirmation.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { TokenGrantType } from '../../model/clients/grant-types.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { ScopeTrace } from '../../model/rules.ts'
import type { User } from '../../model/users/user.ts'
import type { AddressedZone, RequestContext } from '../../model/request.ts'
import type { ProofId } from '../../model/tokens/token.ts'
import type { VerifiedToken } from '../../token/token-validity.ts'
import type { Params } from '../params.ts'
import type { OAuthDeps } from '../deps.ts'

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
  /** Registers what to report once the tokens are issued: other rules may still refuse what a grant decides. */
  readonly onIssued: (report: () => void) => void
  /** The calling user's token; present only for grants with the caller `user-token`. */
  readonly bearer?: VerifiedToken | undefined
}

/** Read-only services for a decision: `/explain` makes the same decision without a request. */
export type DecisionDeps = Pick<
  OAuthDeps,
  'store' | 'reader' | 'clock' | 'random' | 'service' | 'behaviour' | 'settings' | 'groupsOf' | 'findOutstandingDemand'
>

/** The services that a grant may use. */
export type GrantDeps = DecisionDeps & Pick<OAuthDeps, 'identity' | 'urls' | 'audit' | 'limits' | 'samlEntityId'>

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
