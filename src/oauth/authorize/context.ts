// The context of an authorization request in the checks of authorize.ts: its input, and the results of the checks so far.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Approval } from '../../model/users/approval.ts'
import type { Client } from '../../model/clients/client.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import type { PushedRequest } from '../../model/tokens/pushed-request.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { PROVIDER_SKEW_SECONDS, signInTime } from '../../model/sessions/session.ts'
import type { RequiredLevel } from '../../model/sessions/step-up.ts'
import type { TokenFormat } from '../../model/tokens/token.ts'
import type { User } from '../../model/users/user.ts'
import type { VerifiedToken } from '../../token/token-validity.ts'
import type { Form } from '../../web/requests/form.ts'
import type { Params } from '../params.ts'
import type { CodeChallengeMethod } from '../pkce.ts'
import type { ResponseTarget } from './response/redirect.ts'
import type { ResponseType } from './response/response-type.ts'

/** Where the endpoint is, below the base URL. */
export const AUTHORIZE_PATH = '/oauth/authorize'

/** Secrets of other endpoints, which must not appear in a URL when they are posted here by mistake. */
export const SECRETS: readonly string[] = [
  'password',
  'credentials',
  'client_secret',
  'client_assertion',
  'assertion',
  'code_verifier',
  'code',
  'passcode',
  'refresh_token',
  'access_token',
  'token',
]

/** What `prompt` and `max_age` require of the sign-in (OpenID Connect Core §3.1.2.1). */
export interface Demands {
  /** No page may be shown. */
  readonly silent: boolean
  readonly forceLogin: boolean
  readonly forceConsent: boolean
  /** The user selects the account to continue with. */
  readonly chooseAccount: boolean
  /** Seconds. */
  readonly maxAge?: number | undefined
}

/** A checked authorization request. */
export interface AuthorizationRequest extends Demands {
  readonly client: Client
  readonly target: ResponseTarget
  readonly responseType: ResponseType
  /** As the request named it; absent when the client's only one is meant. The code exchange must repeat it. */
  readonly namedRedirectUri?: string
  readonly requestedScopes: readonly string[]
  /** The scopes as the request named them, including those that were dropped; empty when it named none. */
  readonly namedScopes: readonly string[]
  readonly nonce?: string
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: CodeChallengeMethod
  readonly tokenFormat?: TokenFormat
  /** Thumbprint of the key that must redeem the code (RFC 9449 §10). */
  readonly jkt?: string
  /** Who may read the access tokens (RFC 8707 §2.1). */
  readonly resources?: readonly string[]
  readonly azAttr?: Readonly<Record<string, string>>
  /** Levels that are enough, in one string; others are ignored. */
  readonly acrValues?: string
}

/** The user that the response is about, and how they signed in. */
interface AuthenticatedUser {
  readonly user: User
  /** Undefined for a token that does not say when its user signed in. */
  readonly authenticatedAt: Date | undefined
  readonly amr: readonly string[]
  readonly acr?: readonly string[] | undefined
  /** The `sid` of the browser session for this client; absent without a session. */
  readonly sessionId?: string
}

/** Where the parameters come from, if not from the request itself. */
export interface RequestSource {
  readonly kind: 'object' | 'pushed'
  /** Whether a key of the client signed the parameters. */
  readonly isSigned: boolean
  /** What the browser sent, including our own marks, which are never among the parameters. */
  readonly sent: Form
  /** When the request first arrived; undefined if this is the first time. */
  readonly begunAt?: Date | undefined
  /** The pushed request, which the response consumes. */
  readonly pushed?: PushedRequest
  /** For a signed request with a `jti`, which is answered once: its digest, and until when that is stored. */
  readonly once?: { readonly idDigest: string; readonly until: Date }
}

/** One request at the endpoint. The mutable members are what the checks found. */
export interface AuthorizeContext {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly form: Form
  /** The query for the browser to come back with; most requests are answered without. */
  readonly query: () => string
  readonly params: Params
  readonly source?: RequestSource
  /** `prompt=none`: no page may be shown. */
  readonly silent: boolean
  /** Set when the request itself authenticates the user: no session, no cookie, no page. */
  readonly program?:
    | { readonly by: 'token'; readonly bearer: VerifiedToken }
    | { readonly by: 'password' }
    | { readonly by: 'login-server'; readonly server: Client }
  /** The answer to the question for approval, and the scopes that the question listed; all, if a login server asked. */
  readonly answer?: { readonly form: Form; readonly listed?: readonly string[] }

  asked: Partial<AuthorizationRequest>
  authenticatedUser?: AuthenticatedUser | undefined
  /** The `sub` of `id_token_hint`, and the client that it was issued to. */
  hinted?: { readonly subject: string; readonly client: Client }
  /** What the scope rules leave of the request for this user, or their refusal. */
  scopes?: GrantedScopes | OAuthError
  /** The level that the sign-in lacks for this request. */
  lacking?: RequiredLevel | undefined
  approvals?: readonly Approval[]
  /** What the response grants. */
  granted?: GrantedScopes
}

/** Whether a mark of ours is on the URL with which the browser came back. */
export const isMarked = ({ form, source }: Pick<AuthorizeContext, 'form' | 'source'>, mark: string): boolean =>
  (source?.sent ?? form).get(mark) !== undefined

/**
 * Whether the user has signed in since the request first arrived, which satisfies `prompt=login` and `max_age`. The sign-in at
 * another provider may be earlier: at most so many seconds before the request, where they are given.
 */
export function signedInSince(
  { request: { visit }, begunAt }: { readonly request: FastifyRequest; readonly begunAt: Date | undefined },
  behaviour: Behaviour,
  seconds = Number.POSITIVE_INFINITY,
): boolean {
  if (begunAt === undefined || !visit?.signIn || visit.createdAt < begunAt) return false
  if (seconds === Number.POSITIVE_INFINITY) return true
  const signedInAt = signInTime(visit, behaviour)
  return (
    signedInAt !== undefined && (begunAt.getTime() - signedInAt.getTime()) / 1000 <= seconds + PROVIDER_SKEW_SECONDS
  )
}

/** The result of an earlier check; throws if the checks are in the wrong order. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a check reads a result that no earlier check has set')
  return value
}

/** The request, once its parameters were checked. */
export function checkedRequest({ asked }: AuthorizeContext): AuthorizationRequest {
  return {
    ...asked,
    silent: found(asked.silent),
    client: found(asked.client),
    target: found(asked.target),
    responseType: found(asked.responseType),
    requestedScopes: found(asked.requestedScopes),
    namedScopes: found(asked.namedScopes),
    forceLogin: found(asked.forceLogin),
    forceConsent: found(asked.forceConsent),
    chooseAccount: found(asked.chooseAccount),
  }
}
