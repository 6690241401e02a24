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
  problem: OAuthError,
): Error {
  const { error, message, status, rule, detail } = problem
  const onPage = error === 'invalid_request' || error === 'unauthorized_client'
  if (!behaviour.redirectErrors && onPage) return new PageError(status, message, { code: error, cause: problem })
  return new RedirectRefusal(found(asked.target), new OAuthError(error, message, { rule, detail }))
}

/** The refusal that an error stands for; undefined for any other error. */
export function refusalIn(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error
  if (error instanceof RedirectRefusal) return error.refusal
  if (!(error instanceof PageError)) return undefined
  if (error.cause instanceof OAuthError) return error.cause
  return error.code && new OAuthError({ error: error.code, status: error.status }, error.message)
}
