// What a sign-in still owes before anything else is allowed. Derived from account and policy at each request, so that no
// state is stored. A new demand is one entry in the list, and a page at its path.
import type { IdentityProvider } from './identity-provider.ts'
import { mustChangePassword, passwordPolicy } from './password-policy.ts'
import type { User } from './user.ts'

/** What demands depend on. */
export interface SignInFacts {
  readonly user: User
  /** The provider of the user's origin. */
  readonly provider: IdentityProvider | undefined
  readonly now: Date
}

/** Something that the person must do first. */
export interface SignInDemand {
  readonly name: 'password-change'
  /** The page where it is done, below the zone's base URL. */
  readonly path: string
  /** Why a sign-in without a browser is refused. */
  readonly refusal: 'password-change-required'
  /** Description of `interaction_required`, where a browser may show nothing (OpenID Connect Core §3.1.2.6). */
  readonly description: string
  readonly isOpen: (facts: SignInFacts) => boolean
}

/** The page of a required new password. */
export const PASSWORD_CHANGE_PATH = '/force_password_change'

/** Every demand, in the order in which they are met. */
export const SIGN_IN_DEMANDS: readonly SignInDemand[] = [
  {
    name: 'password-change',
    path: PASSWORD_CHANGE_PATH,
    refusal: 'password-change-required',
    description: 'password change required',
    isOpen: ({ user, provider, now }) => mustChangePassword(user, passwordPolicy(provider), now),
  },
]

/** The first demand that is not met. */
export const openDemand = (facts: SignInFacts): SignInDemand | undefined =>
  SIGN_IN_DEMANDS.find(({ isOpen }) => isOpen(facts))
