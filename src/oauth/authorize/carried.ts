// What a URL of this server may repeat of an authorization request. A form can hold anything, also secrets by mistake, and URLs
// are kept in histories and logs.
import type { Form } from '../../web/requests/form.ts'
import { encodeNamed } from '../../web/requests/query.ts'

/** Marks a request whose `id_token_hint` has led to a sign-in, so that the user is not asked a second time. */
export const ASKED_FOR_HINT = 'hint_was_asked'

/** Marks a request whose client's `default_max_age` has led to a sign-in. */
export const ASKED_FOR_AGE = 'age_was_asked'

/** Marks a request whose question for the account was answered. */
export const ACCOUNT_WAS_CHOSEN = 'account_was_chosen'

/** What this endpoint adds to the URL of a request with which the browser comes back. */
export const MARKS: readonly string[] = [ASKED_FOR_HINT, ASKED_FOR_AGE, ACCOUNT_WAS_CHOSEN]

/**
 * When a request with `prompt=login` or `max_age` led to a sign-in, in milliseconds. Not protected: whoever can change it can
 * also remove these parameters.
 */
export const ASKED_AT = 'asked_at'

/** When and how the request first arrived, encrypted, so that a URL cannot forge it; valid in one browser only. */
export const BEGUN = 'begun'

/** The parameters that the endpoint or a page of the sign-in reads, including those that are refused after the sign-in. */
const CARRIED: readonly string[] = [
  'response_type',
  'grant_type', // read nowhere; UAA's clients send it, and UAA repeats it
  'response_mode',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'nonce',
  'request',
  'request_uri',
  'registration',
  'code_challenge',
  'code_challenge_method',
  'dpop_jkt',
  'resource',
  'prompt',
  'max_age',
  'acr_values',
  'login_hint',
  'id_token_hint',
  'ui_locales',
  'token_format',
  'authorities',
  ...MARKS,
  ASKED_AT,
  BEGUN,
]

/** The query for the browser to come back with, without the omitted parameters. */
export const carriedQuery = (form: Form, omitted: readonly string[] = []): string =>
  encodeNamed(
    form,
    CARRIED.filter(name => !omitted.includes(name)),
  )
