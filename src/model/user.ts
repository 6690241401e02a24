/** A person's account. Those of the internal provider have a password here; the others are shadows of a directory's. */
export interface User {
  readonly zoneId: string
  readonly id: string
  /** As written; unique with the origin inside the zone, whatever the case. */
  readonly userName: string
  readonly origin: string
  /** Absent for accounts of other providers: they never sign in with a password here. */
  readonly passwordHash?: string
  /** The value that `rev_sig` uses: fixed when the password was last really changed. */
  readonly passwordRevision: string
  readonly email: string
  readonly givenName?: string
  readonly familyName?: string
  readonly phoneNumber?: string
  readonly externalId?: string
  readonly active: boolean
  readonly verified: boolean
  readonly salt?: string
  readonly passwordChangedAt: Date
  readonly passwordChangeRequired: boolean
  readonly lastLogonAt?: Date
  readonly previousLogonAt?: Date
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Names of the groups that the user is in, directly or through others, where they were read with the account. */
  readonly groupNames?: readonly string[]
}

/** Given and family name with a blank between, or undefined when neither is known: never an empty text. */
export function fullName(user: User): string | undefined {
  const parts = [user.givenName, user.familyName].filter(part => part !== undefined && part !== '')
  return parts.length > 0 ? parts.join(' ') : undefined
}
