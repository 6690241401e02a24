import type { Rule } from './rules.ts'

/** The text with `?` for each character that a description must not have (RFC 6749 appendix A.8); safe in a header, too. */
export const descriptionText = (text: string): string => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')

/** The default status of each error code (RFC 6749 §5.2 and others). */
export const OAUTH_ERROR_STATUS = {
  invalid_request: 400,
  invalid_grant: 400,
  invalid_scope: 400,
  unsupported_grant_type: 400,
  /** RFC 8693 §2.2.2, RFC 8707 §2. */
  invalid_target: 400,
  // RFC 8628 §3.5.
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  unsupported_response_type: 400,
  unsupported_token_type: 400,
  access_denied: 403,
  invalid_client: 401,
  unauthorized_client: 401,
  invalid_token: 401,
  unauthorized: 401,
  insufficient_scope: 403,
  method_not_allowed: 405,
  query_string_not_allowed: 406,
  server_error: 500,
  temporarily_unavailable: 503,
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  /** OpenID Connect Core Unmet Authentication Requirements 1.0. */
  unmet_authentication_requirements: 400,
  /** A second factor of the user, which the request cannot provide. */
  mfa_required: 400,
  // RFC 9449 §5, §8.
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  /** RFC 9101 §7. */
  invalid_request_object: 400,
  invalid_request_uri: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  registration_not_supported: 400,
  // RFC 7591 §3.2.2.
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  unapproved_software_statement: 400,
  parameter_parsing_error: 400,
  client_metadata: 400,
  unknown_error: 400,
  not_found: 404,
  /** No standard has a code for 429; RFC 9126 §2.3 and others leave it open. */
  too_many_requests: 429,
  zone_exists: 409,
  invalid_identity_zone: 422,
  /** In limited mode. */
  uaa_unavailable: 503,
  /** By the API of approvals. */
  uaa: 400,
  /** By `/Codes`. */
  code_store: 400,
  // By the API of users and groups (UAA's SCIM 1).
  scim: 400,
  invalid_scim_resource: 400,
  invalid_code: 422,
  invalid_password: 400,
  bad_credentials: 401,
  internal_user_management_disabled: 403,
  invalid_self_edit: 403,
  scim_resource_not_found: 404,
  member_not_found: 404,
  user_already_verified: 405,
  scim_resource_already_exists: 409,
  scim_resource_conflict: 409,
  member_already_exists: 409,
  scim_resource_constraint_failed: 412,
} as const

/** An error code of the interface. */
export type OAuthErrorCode = keyof typeof OAUTH_ERROR_STATUS

/** The body of an error response that is not `error` and `error_description`. */
export type RefusalBody =
  /** Empty. */
  | { readonly kind: 'none' }
  /** The description as plain text. */
  | { readonly kind: 'text' }
  /** The request's record without its secrets, which the route supplies. */
  | { readonly kind: 'sent' }
  | { readonly kind: 'json'; readonly value: unknown }

/** An error response: code, status and a stable description; `detail` is for the log only. */
export class OAuthError extends Error {
  override name = 'OAuthError'
  readonly error: OAuthErrorCode
  readonly status: number
  readonly detail: string | undefined
  /** Members in addition to `error` and `error_description`, such as `scope`. */
  readonly extra: Readonly<Record<string, string>>
  /** The `WWW-Authenticate` header, if it is not the default one. */
  readonly challenge: string | undefined
  readonly body: RefusalBody | undefined
  /** The rule that refuses, for `/explain`; never sent with the refusal. */
  readonly rule: Rule | undefined
  /** The user concerned, if known: for the audit trail. */
  userId: string | undefined

  constructor(
    refusal: OAuthErrorCode | { readonly error: OAuthErrorCode; readonly status: number },
    description: string,
    options: {
      detail?: string | undefined
      extra?: Readonly<Record<string, string>>
      challenge?: string | undefined
      body?: RefusalBody
      rule?: Rule | undefined
      cause?: unknown
    } = {},
  ) {
    super(description, options.cause === undefined ? undefined : { cause: options.cause })
    this.error = typeof refusal === 'string' ? refusal : refusal.error
    this.status = typeof refusal === 'string' ? OAUTH_ERROR_STATUS[refusal] : refusal.status
    this.detail = options.detail
    this.extra = options.extra ?? {}
    this.challenge = options.challenge
    this.body = options.body
    this.rule = options.rule
  }
}

/** The error, with the user added to a refusal. */
export function concerning(error: unknown, userId: string | undefined): unknown {
  if (error instanceof OAuthError) error.userId ??= userId
  return error
}

/** Does the work; a refusal of it concerns the user. */
export async function concerningUser<T>({ id }: { readonly id: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw concerning(error, id)
  }
}

/** The same refusal with another body. */
export function withBody(refusal: OAuthError, body: RefusalBody): OAuthError {
  const { error, status, message, detail, extra, challenge, rule } = refusal
  return new OAuthError({ error, status }, message, { detail, extra, challenge, body, rule, cause: refusal })
}
