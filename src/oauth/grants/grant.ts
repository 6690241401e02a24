import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Identity } from '../../identity/identity.ts'
import type { OwedBy } from '../../identity/owed.ts'
import type { Authorization } from '../../model/authorization.ts'
import type { Client } from '../../model/client.ts'
import type { Confirmation } from '../../model/confirmation.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/event.ts'
import type { TokenGrantType } from '../../model/grant-types.ts'
import type { UserGroups } from '../../model/scopes.ts'
import type { Service } from '../../model/service.ts'
import type { TokenSettings } from '../../model/settings.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/user.ts'
import type { AddressedZone, RequestContext } from '../../model/request.ts'
import type { ProofId } from '../../model/token.ts'
import type { Store } from '../../store/store.ts'
import type { TokenReader, VerifiedToken } from '../../token/reader.ts'
import type { Limits } from '../../web/limits.ts'
import type { Params } from '../params.ts'

/** A token request whose caller is authenticated. */
export interface GrantRequest extends RequestContext {
  readonly client: Client
  readonly params: Params
  /** The claim `client_auth_method`; absent when the client authenticated with a non-empty secret. */
  readonly clientAuthMethod?: string | undefined
  /** What the request proved of its sender: what its tokens will be bound to. */
  readonly confirmation?: Confirmation | undefined
  /** The proof of the request, for a grant with `usesProof`: to be used up together with what it redeems. */
  readonly proof?: ProofId | undefined
  /** The calling user's token; present only for grants with the caller `user-token`. */
  readonly bearer?: VerifiedToken | undefined
}

/** The services that a grant may use. */
export interface GrantDeps {
  readonly store: Store
  readonly identity: Identity
  readonly reader: TokenReader
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly audit: Audit
  readonly limits: Limits
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
  readonly groupsOf: (zone: AddressedZone, user: User) => Promise<UserGroups>
  readonly owedBy: OwedBy
}

/** One `grant_type` (RFC 6749 §1.3). It decides what to grant; the issuer issues the tokens. */
export interface Grant {
  readonly type: TokenGrantType
  /** Who calls: a client that authenticates, or a user by a token. */
  readonly caller: 'client' | 'user-token'
  /** Set for a grant that uses the proof of a request up itself; for all others that is done before. */
  readonly usesProof?: true
  authorize(request: GrantRequest, deps: GrantDeps): Promise<Authorization>
}

/** The error description for a user of a provider that the client does not allow. */
export const PROVIDER_BARRED = "Client is not authorized for specified user's identity provider."
