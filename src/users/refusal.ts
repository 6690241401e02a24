// Refusals of changes to users and groups, in the words of UAA's API, which repeats the description in `message`. SCIM 2.0
// translates the codes.
import { OAuthError } from '../model/oauth-error.ts'
import type { OAuthErrorCode } from '../model/oauth-error.ts'

/** A refusal with `message`, and with further members if given; the status is that of the code unless given. */
export function refuseResource(
  error: OAuthErrorCode,
  message: string,
  {
    status,
    extra,
    cause,
    detail,
  }: {
    readonly status?: number
    readonly extra?: Readonly<Record<string, string>>
    readonly cause?: unknown
    readonly detail?: string | undefined
  } = {},
): OAuthError {
  const refusal = status === undefined ? error : { error, status }
  return new OAuthError(refusal, message, { extra: { message, ...extra }, cause, detail })
}

/** The refusal of an id without a record in the zone. */
export const noSuchResource = (kind: 'User' | 'Group', id: string): OAuthError =>
  refuseResource('scim_resource_not_found', `${kind} ${id} does not exist`)

/** The refusal of a version that the record no longer has. */
export const staleVersion = (
  kind: 'user' | 'group',
  id: string,
  { stored, sent }: { readonly stored: number; readonly sent: number },
): OAuthError =>
  refuseResource(
    'scim_resource_conflict',
    `Attempt to update a ${kind} (${id}) with wrong version: expected=${stored} but found=${sent}`,
  )

/** The refusal of a change that lost against other changes at every attempt. */
export const tooManyConflicts = (kind: 'user' | 'group', id: string): OAuthError =>
  refuseResource('scim_resource_conflict', `The ${kind} ${id} was changed concurrently`)
