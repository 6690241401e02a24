// How an authorization request is refused: on a page while there is nowhere to redirect to, then by a redirect.
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { PageError } from '../../web/answers.ts'
import { found } from './context.ts'
import type { AuthorizeContext } from './context.ts'
import { RedirectRefusal } from './response/redirect.ts'
import type { OAuthDeps } from '../deps.ts'

/** A refusal before the client and its redirect URI are verified. */
export const pageError = (status: number, code: OAuthErrorCode, description: string): PageError =>
  new PageError(status, description, { code })

/** The refusal of a request whose client and redirect URI are verified: a redirect, in `uaa` sometimes a page (row R2). */
export function refusal(
  { asked }: AuthorizeContext,
  { behaviour }: Pick<OAuthDeps, 'behaviour'>,
  { error, message, status, rule }: OAuthError,
): Error {
  const onPage = error === 'invalid_request' || error === 'unauthorized_client'
  if (!behaviour.redirectErrors && onPage) return pageError(status, error, message)
  return new RedirectRefusal(found(asked.target), new OAuthError(error, message, { rule }))
}
