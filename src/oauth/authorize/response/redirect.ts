// How the parameters of an authorization response are returned to the client, in success and in error.
import type { Behaviour } from '../../../model/compatibility.ts'
import type { OAuthError } from '../../../model/oauth-error.ts'
import type { ResponseMode, ResponseType } from './response-type.ts'

/** Where an authorization response goes; made only after the redirect URI was verified. */
export interface ResponseTarget {
  readonly clientId: string
  readonly redirectUri: string
  readonly mode: ResponseMode
  /** Whether the parameters are in a JWT (JARM). */
  readonly isSigned: boolean
  /** The requested response type; undefined when it is missing or unknown. */
  readonly type?: ResponseType | undefined
  readonly state?: string
}

/** Parameters in their order; those without a value are left out. */
export type ResponseParameters = Readonly<Record<string, string | undefined>>

/** A mode in which the response is a Location header. */
type LocationMode = Exclude<ResponseMode, 'form_post'>

/** A refusal that goes to the client by a redirect (RFC 6749 §4.1.2.1). */
export class RedirectRefusal extends Error {
  override name = 'RedirectRefusal'
  readonly target: ResponseTarget
  readonly refusal: OAuthError
  /** How it is returned, if not in the target's default way for errors. */
  readonly mode: LocationMode | undefined
  constructor(target: ResponseTarget, refusal: OAuthError, mode?: LocationMode) {
    super(refusal.message, { cause: refusal })
    this.target = target
    this.refusal = refusal
    this.mode = mode
  }
}

/** How an error is returned: like a success (row R1). UAA: in the query unless an access token was requested. */
export function errorMode(
  { mode, type, isSigned }: ResponseTarget,
  { errorsLikeSuccess }: Pick<Behaviour, 'errorsLikeSuccess'>,
): ResponseMode {
  if (errorsLikeSuccess || isSigned) return mode
  return type?.has('token') === true ? 'fragment' : 'query'
}

/** UAA: how the error is returned if the user has to sign in or choose a new password (row R7). */
export const signInErrorMode = ({ type }: Pick<ResponseTarget, 'type'>): LocationMode =>
  type?.has('code') === false ? 'fragment' : 'query'

/**
 * UAA: the Location of an error of a silent request: no description, no state, and all but a missing sign-in in the
 * fragment. Undefined for errors that travel as without silence. See docs/compatibility.md, R7.
 */
export function bareLocation(
  { redirectUri, type }: ResponseTarget,
  error: string,
  others: ResponseParameters,
): string | undefined {
  switch (error) {
    case 'login_required':
      return locationFor(redirectUri, signInErrorMode({ type }), { error, ...others })
    case 'interaction_required':
      return locationFor(redirectUri, 'fragment', { error })
    case 'server_error':
    case 'temporarily_unavailable':
      return locationFor(redirectUri, 'fragment', { error: 'internal_server_error' })
    default:
      return undefined
  }
}

/** The Location of a response in the query or the fragment. */
export function locationFor(redirectUri: string, mode: LocationMode, parameters: ResponseParameters): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  )
  const text = pairs.join('&')
  switch (mode) {
    case 'query': {
      const [, address = '', fragment = ''] = /^([^#]*)(.*)$/s.exec(redirectUri) ?? []
      return address + (address.includes('?') ? '&' : '?') + text + fragment
    }
    case 'fragment':
      return redirectUri + (redirectUri.includes('#') ? '&' : '#') + text
  }
}
