// Refusals of `/approvals`.
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import { refuseResource } from '../../users/refusal.ts'
import { MalformedInput } from '../../web/requests/form.ts'

/** UAA: the same sentence for every malformed request (row M11). */
export const UNREADABLE = "Error accessing user's approvals"

/** A request that cannot be read; the problem is for the log, and for the caller where the mode explains it. */
export const refuseUnreadable = (problem: string, { explainedApprovalErrors }: Behaviour): OAuthError =>
  refuseResource('uaa', explainedApprovalErrors ? problem : UNREADABLE, { detail: problem })

/** Makes the `errorHandler` of every route of this API. */
export const createApprovalRefusals =
  (behaviour: Behaviour): ((thrown: unknown) => never) =>
  thrown => {
    throw thrown instanceof MalformedInput ? refuseUnreadable(thrown.message, behaviour) : thrown
  }
