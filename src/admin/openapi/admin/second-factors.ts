// Second factors: the pages where users prove them, and the API of administrators.
import type { Area, Facts, Operation } from '../description.ts'
import { closed, described, empty, flag, json, listOf, must, oneOf, ref, sent, text, whole } from '../description.ts'
import { secondFactorPages } from '../login/second-factor-pages.ts'

const path = { id: must('Id of the user.') }
const missing = 'User not found.'
const REFUSED = 'The caller lacks the right, or the user is the caller, or has more rights than the caller.'

const removed = (summary: string, nothing: string): Operation => ({
  summary,
  path,
  answers: { 204: empty('Removed.'), 403: REFUSED, 404: `User not found, or ${nothing}.` },
})

const moment = described(text, 'ISO 8601.')

/** The pages of second factors, and `/Users/{id}/mfa` and below. */
export function secondFactorsArea(facts: Facts): Area {
  return {
    name: 'Second factors',
    about: 'Second factors: the pages on which users prove and add them, and the API for administrators. Not in UAA.',
    operations: {
      ...secondFactorPages(facts),
      'GET /Users/:id/mfa': {
        summary: 'List the second factors of a user',
        about: 'The response has no secrets that could be used to sign in.',
        path,
        answers: { 200: json('The factors.', ref('SecondFactors')), 404: missing },
      },
      'DELETE /Users/:id/mfa': {
        summary: 'Reset the second factors of a user',
        about:
          'Removes passkeys, authenticator app and all codes, and remembered browsers. Where the policy requires a factor, the next sign-in asks to set one up. Sessions stay; `DELETE /Users/{id}/sessions` ends them.',
        path,
        answers: { 204: empty('Removed.'), 403: REFUSED, 404: missing },
      },
      'DELETE /Users/:id/mfa/passkeys/:passkey': {
        ...removed('Remove a passkey', 'has no such passkey'),
        path: { ...path, passkey: must('Id of the passkey, as the list has it.') },
      },
      'DELETE /Users/:id/mfa/totp': removed('Remove the authenticator app', 'has none'),
      'DELETE /Users/:id/mfa/recovery-codes': removed('Remove the recovery codes', 'has none'),
      'POST /Users/:id/mfa/bypass': {
        summary: 'Create a single-use code that replaces a second factor',
        about:
          'For a user who has lost the factor: it is entered in place of a recovery code. Do not send it by mail. It replaces an earlier code, and also works for users without a factor.',
        path,
        json: {
          schema: sent({
            type: 'object',
            additionalProperties: false,
            properties: {
              expires_in: {
                type: 'integer',
                minimum: 60,
                maximum: 604_800,
                default: 3600,
                description: 'Seconds until it expires.',
              },
            },
          }),
          example: { expires_in: 3600 },
        },
        answers: {
          201: json('The code, which is shown this once.', closed({ code: text, expires_at: moment })),
          400: 'A member is unknown or out of range, or the zone requires no second factor of this user.',
          403: REFUSED,
          404: missing,
        },
      },
      'DELETE /Users/:id/mfa/bypass': removed('Revoke that code', 'there is none'),
    },
    schemas: {
      SecondFactors: closed(
        {
          required: described(flag, 'Whether a sign-in with only the password needs a second factor.'),
          methods: described(listOf(oneOf(['passkey', 'totp'])), 'The factors of the user.'),
          passkeys: listOf(
            closed(
              {
                id: text,
                name: described(text, 'What the user calls it.'),
                created_at: moment,
                last_used_at: moment,
                backed_up: described(flag, 'Whether other devices of the user have it, too.'),
                attested: described(flag, 'Whether it is known to be protected by hardware.'),
              },
              ['last_used_at'],
            ),
          ),
          totp: described(
            closed({ created_at: moment, last_used_at: moment }, ['last_used_at']),
            'An authenticator app.',
          ),
          recovery_codes: closed({ left: whole, created_at: moment }, ['created_at']),
          bypass: described(closed({ expires_at: moment }), 'A code of an administrator that was not used yet.'),
        },
        ['totp', 'bypass'],
      ),
    },
  }
}
