import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'

/** A refusal that UAA sends without a body (row M10). */
export const bare = (
  error: OAuthErrorCode,
  { status, message }: { readonly status: number; readonly message: string },
  { bodyInEveryRefusal }: Pick<Behaviour, 'bodyInEveryRefusal'>,
): OAuthError => new OAuthError({ error, status }, message, bodyInEveryRefusal ? {} : { body: { kind: 'none' } })
