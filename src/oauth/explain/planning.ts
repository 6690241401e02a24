// The state of a plan while it is made, and the checks that several grants share.
import { addSeconds } from '../../base/clock.ts'
import { lockedUntil, lockoutPolicy } from '../../model/zones/identity-provider.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { User } from '../../model/users/user.ts'
import type { DecidedRequest } from '../grants/grant.ts'
import type { ExplainDeps } from './deps.ts'
import type { Reason } from './explanation.ts'
import type { ApprovalRule, DecidedScopes } from './scope-reasons.ts'

/** Facts found before the decision; also reported with a refusal. */
export interface Findings {
  user?: User | undefined
  approvals?: Map<string, ApprovalRule>
  within?: DecidedScopes['within']
  /** Whether a requirement is outstanding without which nothing is granted. */
  isPending: boolean
  readonly outstanding: Reason[]
  readonly notChecked: string[]
}

/** The state of a plan while it is made. */
export interface Planning {
  readonly request: DecidedRequest
  readonly acrValues: string | undefined
  /** The provider that the request names. */
  readonly origin: string | undefined
  readonly findings: Findings
}

/** The user of the request, required by this grant. */
export function namedUser({ findings: { user } }: Planning): User {
  if (!user) throw missing('The body names no user, which this grant requires.')
  return user
}

/** The active user of the request. */
export function userOf(planning: Planning): User {
  const user = namedUser(planning)
  if (user.active) return user
  throw new OAuthError('invalid_grant', 'Bad credentials', inactive(user))
}

/** Why a deactivated user gets nothing. */
export const inactive = ({ userName }: User): Reason => ({
  rule: 'user-inactive',
  detail: `The account ${userName} is not active.`,
})

/** The refusal of an incomplete request. */
export const missing = (detail: string): OAuthError =>
  new OAuthError('invalid_request', 'A parameter is missing', { rule: 'missing-parameter', detail })

/** What a plan cannot check about users of other providers. */
export const FROM_PROVIDER =
  'Which memberships and roles the provider gives the user at the next sign-in: it is not asked.'

/** Until when passwords of the account are refused. */
export async function lockOf(
  { request: { zone } }: Planning,
  user: User,
  deps: ExplainDeps,
): Promise<Date | undefined> {
  const { store, clock, service } = deps
  if (user.origin !== service.name) return undefined
  const provider = await store.providers.findByOrigin(zone.id, user.origin)
  const policy = provider && lockoutPolicy(provider)
  if (!policy) return undefined
  const now = clock.now()
  const failuresSince = addSeconds(now, -policy.countFailuresWithin)
  const found = await store.users.findForSignIn(zone.id, user.origin, { userName: user.userName, failuresSince })
  return lockedUntil(policy, found?.failures ?? [], now)
}
