// The settings of the internal provider (§6.3): password and lockout policy.
import * as v from 'valibot'
import { readMoment } from './kinds.ts'
import { commonMembers, number, boolean } from './provider.ts'
import { section, setting } from './settings.ts'
import type { SettingsOf } from './settings.ts'

// Every number must be sent, or the policy would count as absent: see providers/provider-types.ts.
const count = number(undefined, { needs: 'a whole number that is not negative' })

/** Further from 1970 than this no date reaches (ECMA-262 §21.4.1.1). */
const LAST_MOMENT = 8.64e15

const moment = setting({
  kind: v.pipe(
    v.union([v.number(), v.string()]),
    v.transform(value => (typeof value === 'number' ? value : (readMoment(value)?.getTime() ?? Number.NaN))),
    v.integer(),
    v.minValue(-LAST_MOMENT),
    v.maxValue(LAST_MOMENT),
  ),
  needs: 'a date',
  unset: null,
  about: 'Passwords set before it have expired: milliseconds since 1970, or a date in ISO 8601 with a zone.',
})

/** The settings of this server's own accounts. */
export const internalSettings = section({
  unknown: 'ignored',
  members: {
    ...commonMembers,
    passwordPolicy: section({
      optional: 'null',
      unknown: 'refused',
      members: {
        minLength: count,
        maxLength: count,
        requireUpperCaseCharacter: count,
        requireLowerCaseCharacter: count,
        requireDigit: count,
        requireSpecialCharacter: count,
        expirePasswordInMonths: count,
        passwordNewerThan: moment,
        refuseCommonPasswords: boolean(undefined, {
          about: 'Whether the most common passwords are refused, also with digits or marks before or after them.',
        }),
        refuseOwnWords: boolean(undefined, {
          about:
            'Whether passwords are refused that are made of the user name, the e-mail address, the given or family name, or the name of the zone or the service.',
        }),
      },
    }),
    lockoutPolicy: section({
      optional: 'null',
      unknown: 'ignored',
      members: { countFailuresWithin: count, lockoutAfterFailures: count, lockoutPeriodSeconds: count },
    }),
    disableInternalUserManagement: boolean(false),
  },
})

/** The stored settings. */
export type InternalProviderConfig = SettingsOf<typeof internalSettings>
