// The pages of second factors and passkeys.
import type { Facts, Fields, Operation } from '../description.ts'
import { json, may, must, oneOf, open, page, redirect, text } from '../description.ts'

const forged = 'The anti-forgery value is missing or wrong.'
const continued = redirect('To the page that was requested first, or to the sign-in page.')

/** `/second_factor`, `/login/passkey`, `/profile/security` and what is below them. */
export function secondFactorPages({ service }: Facts): Readonly<Record<string, Operation>> {
  const csrf: Fields = {
    [service.csrfName]: must(
      'The anti-forgery value from the page or the cookie of the same name; valid for one browser and session.',
    ),
  }
  const credential = may('The browser’s response as JSON: `PublicKeyCredential.toJSON()`.')
  const target: Fields = { form_redirect_uri: may('URL to continue with.') }
  const away = redirect('To the page that was requested first, if there is nothing to do.')
  return {
    'GET /second_factor': {
      summary: 'Show the page of the second factor',
      query: { way: may('`passkey`, `app` or `recovery`: what to prove.'), ...target },
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
        ...target,
      },
      answers: {
        302: continued,
        403: forged,
        422: page('The page, with the reason for the refusal.'),
        429: 'Too many wrong codes.',
      },
    },
    'GET /second_factor/app': {
      summary: 'Show the secret for an authenticator app',
      query: target,
      answers: { 200: page('The secret as QR code and as text.'), 302: redirect('To `/second_factor`.') },
    },
    'POST /second_factor/app': {
      summary: 'Set up an authenticator app',
      form: {
        ...csrf,
        secret: must('The sealed secret, from the page.'),
        code: must('What the app shows.'),
        ...target,
      },
      answers: {
        200: page('The recovery codes of a user who had none.'),
        302: continued,
        403: forged,
        422: page('The page, with the reason for the refusal.'),
      },
    },
    'POST /second_factor/passkey': {
      summary: 'Set up a passkey',
      form: { ...csrf, credential: must('The response of the browser, as JSON.'), ...target },
      answers: {
        200: page('The recovery codes of a user who had none.'),
        302: continued,
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
      summary: 'Use a passkey alone',
      form: { ...csrf, credential, ...target },
      answers: {
        302: redirect('To the next page, or back to the sign-in page with an error.'),
        403: forged,
        404: 'The zone has no passkeys.',
        429: 'Too many refused passkeys.',
      },
    },
    ...securityPages(csrf),
  }
}

const gone = 'The zone requires no second factor of this user.'
const ownPage = page('The page.')
const signIn = redirect('To the sign-in page, the second factor, or the list.')
const passkeyId: Fields = { passkey: may('Id of the passkey.') }
const target: Fields = { ...passkeyId, factor: may('`app` for the authenticator app.', oneOf(['app'])) }
const refused = page('The page, with the reason for the refusal.')

/** What users do with their own factors. All but the list need a sign-in that is at most five minutes old. */
function securityPages(csrf: Fields): Readonly<Record<string, Operation>> {
  const shows = (summary: string, query: Fields = {}): Operation => ({
    summary,
    query,
    answers: { 200: ownPage, 302: signIn, 404: gone },
  })
  const posts = (summary: string, form: Fields = {}, shown?: string): Operation => ({
    summary,
    form: { ...csrf, ...form },
    answers: {
      ...(shown !== undefined && { 200: page(shown) }),
      302: signIn,
      403: forged,
      404: gone,
      422: refused,
      429: 'Too many changes of this account in the last hour.',
    },
  })
  const firstCodes = 'The recovery codes of a user who had none.'
  return {
    'GET /profile/security': {
      summary: 'Show the second factors of the user',
      query: { done: may('Key of what was done.'), error: may('Key of what failed.') },
      answers: { 200: ownPage, 404: gone },
    },
    'GET /profile/security/passkey': shows('Show the page for a new passkey'),
    'POST /profile/security/passkey': posts(
      'Add a passkey',
      {
        credential: must('The response of the browser, as JSON.'),
        name: may('Name of the passkey.'),
        offered: may('`true` if it was offered after the sign-in.'),
        is_known: may('`true` if the authenticator has a passkey of the user already.'),
      },
      firstCodes,
    ),
    'GET /profile/security/app': shows('Show the secret for an authenticator app'),
    'POST /profile/security/app': posts(
      'Add an authenticator app, or replace it',
      { secret: must('The sealed secret, from the page.'), code: must('What the app shows.') },
      firstCodes,
    ),
    'GET /profile/security/codes': shows('Show the page for new recovery codes'),
    'POST /profile/security/codes': posts('Make new recovery codes', {}, 'The codes, which are shown this once.'),
    'GET /profile/security/rename': shows('Show the page for the name of a passkey', passkeyId),
    'POST /profile/security/rename': posts('Rename a passkey', { ...passkeyId, name: must('The new name.') }),
    'GET /profile/security/remove': shows('Ask whether to remove a factor', target),
    'POST /profile/security/remove': posts('Remove a factor', target),
    'POST /profile/security/devices': posts('Ask in every browser again'),
    'GET /profile/security/offer': shows('Offer a passkey after a sign-in'),
    'POST /profile/security/offer': posts('Decline the offer'),
  }
}
