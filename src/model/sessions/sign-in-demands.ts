// What a signed-in user must still do before anything else is allowed. Derived from account and policy at each request, so that
// no state is stored. A new demand is one entry in the list, and a page at its path.
import { levelOf, reaches } from './assurance.ts'
import type { IdentityProvider } from '../zones/identity-provider.ts'
import { mustChangePassword, passwordPolicy } from '../users/password-policy.ts'
import { asksForSecondFactor } from '../users/second-factor.ts'
import type { SecondFactorPolicy } from '../users/second-factor.ts'
import type { User } from '../users/user.ts'

/** Inputs of demands. */
interface SignInFacts {
  readonly user: User
  /** Names of the groups that the user is in, directly or through others. */
  readonly groupNames: readonly string[]
  /** The provider of the user's origin. */
  readonly provider: IdentityProvider | undefined
  readonly secondFactor: SecondFactorPolicy
  /** The classes of the sign-in, with its level first (`model/sessions/assurance.ts`). */
  readonly acr: readonly string[] | undefined
  /** Whether the user chose to have this browser remembered. */
  readonly isRemembered: boolean
  readonly now: Date
}

/** Something that the user must do first. */
export interface SignInDemand {
  readonly name: 'second-factor' | 'password-change'
  /** The page where it is done, below the zone's base URL. */
  readonly path: string
  /** Why a sign-in without a browser is refused. */
  readonly refusal: 'second-factor-required' | 'password-change-required'
  /** Description of `interaction_required`, where a browser may show nothing (OpenID Connect Core §3.1.2.6). */
  readonly description: string
  readonly isOpen: (facts: SignInFacts) => boolean
}

/** The page of a second factor. */
export const SECOND_FACTOR_PATH = '/second_factor'
/** The page of a required new password. */
export const PASSWORD_CHANGE_PATH = '/force_password_change'

/** The second factor, which `/oauth/authorize` also requires for the level of a request (step-up). */
export const SECOND_FACTOR: SignInDemand = {
  name: 'second-factor',
  path: SECOND_FACTOR_PATH,
  refusal: 'second-factor-required',
  description: 'second factor required',
  isOpen: ({ user, groupNames, secondFactor, acr, isRemembered }) =>
    !reaches(levelOf(acr), '2') && !isRemembered && asksForSecondFactor(secondFactor, user, groupNames),
}

/** Every demand, in the order in which they are met: knowing the password alone must not be enough to change it. */
export const SIGN_IN_DEMANDS: readonly SignInDemand[] = [
  SECOND_FACTOR,
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
