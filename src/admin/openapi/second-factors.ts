// Second factors: the pages where people prove them, and the API of administrators.
import type { Area, Facts, Fields, Operation } from './description.ts'
import {
  closed,
  described,
  empty,
  flag,
  json,
  listOf,
  may,
  must,
  oneOf,
  open,
  page,
  redirect,
  ref,
  sent,
  text,
  whole,
} from './description.ts'

const path = { id: must('Id of the user.') }
const missing = 'User not found.'
const REFUSED = 'The caller lacks the right, or the user is the caller, or has more rights than the caller.'

const removed = (summary: string, nothing: string): Operation => ({
  summary,
  path,
  answers: { 204: empty('Removed.'), 403: REFUSED, 404: `User not found, or ${nothing}.` },
})

const moment = described(text, 'ISO 8601.')

const forged = 'The anti-forgery value is missing or wrong.'
const onward = redirect('To the page that was requested first, or to the sign-in page.')

/** The pages where a factor is proven or set up. */
function pages({ service }: Facts): Readonly<Record<string, Operation>> {
  const csrf: Fields = {
    [service.csrfName]: must(
      'The anti-forgery value from the page or the cookie of the same name; valid for one browser and session.',
    ),
  }
  const credential = may('What the browser answered, as JSON: `PublicKeyCredential.toJSON()`.')
  const away = redirect('To the page that was requested first, if there is nothing to do.')
  return {
    'GET /second_factor': {
      summary: 'Show the page of the second factor',
      query: { way: may('`passkey`, `app` or `recovery`: what to prove.') },
      answers: { 200: page('What to prove, or what to set up.'), 302: away },
    },
    'POST /second_factor': {
      summary: 'Prove a second factor',
      form: {
        ...csrf,
        way: may('`app` or `recovery`: what the code is.'),
        code: may('A one-time password, a recovery code, or a code of an administrator.'),
        credential,
        remember: may('`true` to be remembered in this browser.'),
      },
      answers: {
        302: onward,
        403: forged,
        422: page('The page, with the reason for the refusal.'),
        429: 'Too many wrong codes.',
      },
    },
    'GET /second_factor/app': {
      summary: 'Show the secret for an authenticator app',
      answers: { 200: page('The secret as QR code and as text.'), 302: redirect('To `/second_factor`.') },
    },
    'POST /second_factor/app': {
      summary: 'Set up an authenticator app',
      form: { ...csrf, secret: must('The sealed secret, from the page.'), code: must('What the app shows.') },
      answers: {
        200: page('The recovery codes of a person who had none.'),
        302: onward,
        403: forged,
        422: page('The page, with the reason for the refusal.'),
      },
    },
    'POST /second_factor/passkey': {
      summary: 'Set up a passkey',
      form: { ...csrf, credential: must('What the browser answered, as JSON.') },
      answers: {
        200: page('The recovery codes of a person who had none.'),
        302: onward,
        403: forged,
        422: page('The page, with the reason for the refusal.'),
      },
    },
    'POST /login/passkey/options': {
      summary: 'Begin a sign-in with a passkey alone',
      about: 'For the script of the sign-in page.',
      form: csrf,
      answers: {
        200: json(
          'Options for `navigator.credentials.get` (Web Authentication §5.5).',
          open({ challenge: text }, ['challenge']),
        ),
        400: 'The anti-forgery value is missing or wrong.',
        404: 'The zone has no passkeys.',
      },
    },
    'POST /login/passkey': {
      summary: 'Sign in with a passkey alone',
      form: { ...csrf, credential, form_redirect_uri: may('URL to continue with.') },
      answers: {
        302: redirect('To the next page, or back to the sign-in page with an error.'),
        403: forged,
        404: 'The zone has no passkeys.',
        429: 'Too many refused passkeys.',
      },
    },
  }
}

/** The pages of second factors, and `/Users/{id}/mfa` and below. */
export function secondFactorsArea(facts: Facts): Area {
  return {
    name: 'Second factors',
    about:
      'What people sign in with besides the password: the pages where they prove and add it, and the API of administrators. UAA has nothing like it.',
    operations: {
      ...pages(facts),
      'GET /Users/:id/mfa': {
        summary: 'List the second factors of a user',
        about: 'Nothing of it can sign anybody in.',
        path,
        answers: { 200: json('The factors.', ref('SecondFactors')), 404: missing },
      },
      'DELETE /Users/:id/mfa': {
        summary: 'Reset the second factors of a user',
        about:
          'Removes passkeys, authenticator app and all codes, and forgets remembered browsers. Where the policy requires a factor, the next sign-in asks to set one up. Sessions stay; `DELETE /Users/{id}/sessions` ends them.',
        path,
        answers: { 204: empty('There is none now.'), 403: REFUSED, 404: missing },
      },
      'DELETE /Users/:id/mfa/passkeys/:passkey': {
        ...removed('Remove a passkey', 'has no such passkey'),
        path: { ...path, passkey: must('Id of the passkey, as the list has it.') },
      },
      'DELETE /Users/:id/mfa/totp': removed('Remove the authenticator app', 'has none'),
      'DELETE /Users/:id/mfa/recovery-codes': removed('Remove the recovery codes', 'has none'),
      'POST /Users/:id/mfa/bypass': {
        summary: 'Make a code that stands in for a second factor once',
        about:
          'For somebody who has no factor at hand: it is entered where a recovery code is. Tell it to the person by another way than mail. It takes the place of an earlier one, and works for people without a factor, too.',
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
          400: 'A member is unknown or out of range, or the zone asks this person for no second factor.',
          403: REFUSED,
          404: missing,
        },
      },
      'DELETE /Users/:id/mfa/bypass': removed('Take back that code', 'there is none'),
    },
    schemas: {
      SecondFactors: closed(
        {
          required: described(flag, 'Whether a sign-in with the password alone is asked for a second factor.'),
          methods: described(listOf(oneOf(['passkey', 'totp'])), 'What the user has.'),
          passkeys: listOf(
            closed(
              {
                id: text,
                name: described(text, 'What the user calls it.'),
                created_at: moment,
                last_used_at: moment,
                backed_up: described(flag, 'Whether other devices of the user have it, too.'),
                attested: described(flag, 'Whether it is known to be kept by hardware.'),
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
