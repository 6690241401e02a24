// Shared by the account APIs of login servers: strings of a body, and refusals without a body.
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { isKeepable } from '../../records/kinds.ts'
import { refuseResource } from '../../users/refusal.ts'

/** The string member; undefined if absent or null. Throws `scim` for any other type. */
export function textIn(body: JsonRecord, name: string): string | undefined {
  const value = memberOf(body, name) ?? undefined
  if (value === undefined || (typeof value === 'string' && isKeepable(value))) return value
  throw refuseResource('scim', `The value of ${name} must be a string`)
}

/** A refusal that UAA sends without a body (row M10). */
export const bare = (
  error: OAuthErrorCode,
  { status, message }: { readonly status: number; readonly message: string },
  { bodyInEveryRefusal }: Pick<Behaviour, 'bodyInEveryRefusal'>,
): OAuthError => new OAuthError({ error, status }, message, bodyInEveryRefusal ? {} : { body: { kind: 'none' } })
