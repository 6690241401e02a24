// Decides whether a session may change second factors, and the e-mail address to which a new password is sent: a session alone
// is not enough, since it may be open on a lost or shared device.
import { levelOf, reaches } from './assurance.ts'
import { isFresh, isRecent, trustedSignInTime } from './session.ts'
import type { Session } from './session.ts'
import type { User } from '../users/user.ts'

/**
 * `fresh`: may change them. `old`: must sign in again; so must a user who signed in at an unknown time. `unproven`: a user with a
 * second factor, whether or not it counts, signed in without it: in a remembered browser, for example.
 */
type Freshness = 'fresh' | 'old' | 'unproven'

/** How fresh the sign-in is. */
export function freshnessOf(
  session: Pick<Session, 'signIn' | 'createdAt'>,
  user: Pick<User, 'factors'>,
  now: Date,
): Freshness {
  const signedInAt = trustedSignInTime(session)
  if (!signedInAt || !isRecent(signedInAt, now)) return 'old'
  return hasFactor(user) && !reaches(levelOf(session.signIn?.acr), '2') ? 'unproven' : 'fresh'
}

/** Whether the user has a second factor, whether or not it counts. */
export const hasFactor = ({ factors }: Pick<User, 'factors'>): boolean => (factors?.methods ?? []).length > 0

/**
 * Whether a user may add a factor during a sign-in. Without the first one users could not continue, so a new session is enough for
 * it; a further one is a change.
 */
export const mayAddAtSignIn = (
  session: Pick<Session, 'signIn' | 'createdAt'>,
  user: Pick<User, 'factors'>,
  now: Date,
): boolean => (hasFactor(user) ? freshnessOf(session, user, now) === 'fresh' : isFresh(session, now))

/** The page where users manage their second factors; others are below it. */
export const SECURITY_PATH = '/profile/security'

/** Whether the path is one where factors are changed: visitors have to prove one. */
export const changesFactors = (path: string | undefined): boolean => path?.startsWith(`${SECURITY_PATH}/`) ?? false

/** The page where users change their e-mail address. */
export const EMAIL_CHANGE_PATH = '/change_email'

/** Whether visitors of the path have to prove the factor that they have, also in a remembered browser. */
export const needsProof = (path: string | undefined): boolean =>
  changesFactors(path) || path?.replace(/[?#].*/s, '') === EMAIL_CHANGE_PATH

/** The page that offers a passkey after a sign-in with a password. */
export const OFFER_PATH = `${SECURITY_PATH}/offer`
