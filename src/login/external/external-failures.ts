// The page and the log line for each failure of a sign-in at another provider.
import type { RedirectResult } from '../../identity/redirect-sign-in.ts'
import { NOT_USABLE } from '../../identity/unbound-account.ts'
import type { Behaviour } from '../../model/compatibility.ts'

/** The answer to a failed sign-in. */
export interface Failure {
  readonly status: number
  /** In English. */
  readonly description: string
  readonly code?: string
}

/** A sign-in that failed. */
export type Refused = Exclude<RedirectResult, { readonly outcome: 'signed-in' }>

/** No sign-in is waiting for the answer. */
export const LOST: Failure = {
  status: 400,
  description: 'This sign-in was started in another browser, has expired or is already complete. Please start again.',
}

/** Instead of UAA's words, which programs get; the log has the reason. */
const UNUSABLE = 'Your account cannot be used here. Contact your administrator.'

/** The answer to it; `name` is what users call the provider. */
export function failureOf(result: Refused, name: string, { ownWords }: Pick<Behaviour, 'ownWords'>): Failure {
  switch (result.outcome) {
    case 'no-provider':
      return { status: 404, description: 'That sign-in method is not available here. Please use another one.' }
    case 'declined':
      return { ...declined(result.error, name), ...(/^[a-z_]{1,60}$/.test(result.error) && { code: result.error }) }
    case 'unavailable':
      return { status: 502, description: `${name} did not respond correctly. Please try again in a few minutes.` }
    case 'refused':
      if (result.reason !== 'untrusted') {
        const isTranslated = ownWords && result.description === NOT_USABLE.description
        return { status: 403, description: isTranslated ? UNUSABLE : result.description }
      }
      return {
        status: 502,
        description: `The sign-in data from ${name} could not be verified. Please try again; if that does not help, contact your administrator.`,
      }
  }
}

/** Explains the provider's error code (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6); omits its description. */
function declined(error: string, name: string): Failure {
  switch (error) {
    case 'access_denied':
      return { status: 403, description: `The sign-in at ${name} was cancelled or refused.` }
    case 'server_error':
    case 'temporarily_unavailable':
      return { status: 502, description: `${name} has a problem at the moment. Please try again in a few minutes.` }
    case 'login_required':
    case 'interaction_required':
    case 'account_selection_required':
    case 'consent_required':
      return { status: 403, description: `${name} needs to ask you something first. Please try again.` }
    default:
      return { status: 502, description: `${name} refused to sign you in. Please contact your administrator.` }
  }
}

/** For the log; strings from the provider are quoted and truncated. */
export function detailOf(result: Refused): string {
  switch (result.outcome) {
    case 'no-provider':
      return result.detail ?? 'the provider is inactive or was deleted, or the client does not allow it'
    case 'declined':
      return result.detail ?? `the provider returned ${JSON.stringify(result.error.slice(0, 60))}`
    case 'unavailable':
      return result.detail
    case 'refused':
      return result.detail === undefined ? result.description : `${result.description} ${result.detail}`
  }
}
