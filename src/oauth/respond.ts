// Writes authorization responses: one place that knows how parameters travel back to a client, in success and in error.
import type { OAuthError } from '../model/oauth-error.ts'

/** How parameters travel (OAuth 2.0 Multiple Response Type Encoding Practices §2.1). */
export type ResponseMode = 'query' | 'fragment'

/** Where an authorization response goes; made only after the redirect URI was verified. */
export interface ResponseTarget {
  readonly clientId: string
  readonly redirectUri: string
  readonly mode: ResponseMode
  readonly state?: string
}

/** A refusal that is told to the client by a redirect (RFC 6749 §4.1.2.1). */
export class RedirectRefusal extends Error {
  readonly target: ResponseTarget
  readonly refusal: OAuthError
  constructor(target: ResponseTarget, refusal: OAuthError) {
    super(refusal.message, { cause: refusal })
    this.name = 'RedirectRefusal'
    this.target = target
    this.refusal = refusal
  }
}

/**
 * UAA: the Location of an error of a silent request: no description, no state, and all but a missing sign-in in the
 * fragment. Undefined for errors that are told as without silence. See docs/compatibility.md, R7.
 */
export function bareLocation(
  target: ResponseTarget,
  error: string,
  others: Readonly<Record<string, string | undefined>>,
): string | undefined {
  switch (error) {
    case 'login_required':
      return locationFor(target, { error, ...others })
    case 'interaction_required':
      return locationFor({ ...target, mode: 'fragment' }, { error })
    case 'server_error':
    case 'temporarily_unavailable':
      return locationFor({ ...target, mode: 'fragment' }, { error: 'internal_server_error' })
    default:
      return undefined
  }
}

/** The Location of a response: the parameters in their order, those without a value left out. */
export function locationFor(
  { redirectUri, mode }: ResponseTarget,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
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
