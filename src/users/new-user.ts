import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { User } from '../model/users/user.ts'
import { PASSWORD_REVISION_LENGTH } from './password.ts'

/** The values of a new user that the caller sets; the server sets everything else. */
export type UserDraft = Pick<
  User,
  | 'userName'
  | 'origin'
  | 'email'
  | 'givenName'
  | 'familyName'
  | 'phoneNumber'
  | 'externalId'
  | 'profile'
  | 'active'
  | 'verified'
  | 'salt'
  | 'aliasId'
  | 'aliasZoneId'
> & {
  /** UAA: the body may set the first version of a user. */
  readonly version?: number
}

/** The record of a new user. */
export function newUser(
  { version = 0, ...draft }: UserDraft,
  { zoneId, passwordHash }: { readonly zoneId: string; readonly passwordHash?: string | undefined },
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): User {
  const now = clock.now()
  return {
    ...draft,
    zoneId,
    id: random.uuid(),
    ...(passwordHash !== undefined && { passwordHash }),
    passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH),
    passwordChangedAt: now,
    passwordChangeRequired: false,
    version,
    createdAt: now,
    updatedAt: now,
  }
}
