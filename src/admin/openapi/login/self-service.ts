// The pages where users create an account, change its e-mail address and set its password.
import type { Answer, Area, Facts, Fields } from '../description.ts'
import { may, must, page, redirect, ref, text } from '../description.ts'

const returnFields: Fields = {
  client_id: may('The application to go to afterwards.'),
  redirect_uri: may('Where to go in it; followed only if the client has registered it.'),
}
const code: Fields = { code: must('The code of the mailed link.') }
const FORGED = 'The anti-forgery value or the origin of the form is invalid.'
const KEPT_ELSEWHERE = 'Self-service for internal accounts is disabled.'
const MISSING = 'A field is missing.'
const OFF = 'Self-service is off in this zone.'
const MANY = 'Too many mails to this address, or caused from this one.'
const BUSY = 'Too many tasks are queued.'
/** Answers of pages that mailed links lead to. */
const LINK_ANSWERS = {
  200: page('The page.'),
  400: MISSING,
  403: KEPT_ELSEWHERE,
  422: page('The link is unknown, used or expired.'),
}

/** The error page, or JSON for a program. */
const gone = (about: string): Answer => ({ about, content: { 'text/html': text, 'application/json': ref('Error') } })

type Operations = Area['operations']

/** The pages of self-service. */
export function selfServiceArea({ service }: Facts): Area {
  const csrf: Fields = {
    [service.csrfName]: must('The anti-forgery value from the page or the cookie of the same name.'),
  }
  return {
    name: 'User accounts',
    about:
      'Pages on which users create an account, change its address and set its password. The responses do not reveal whether an account exists.',
    operations: {
      ...signUpOperations(csrf),
      ...emailOperations(csrf),
      ...passwordOperations(csrf),
    },
  }
}

/** Creating an account, and verifying it. */
const signUpOperations = (csrf: Fields): Operations => ({
  'GET /create_account': {
    summary: 'Show the form for a new account',
    query: returnFields,
    answers: {
      200: page('The page.'),
      302: redirect('To the home page if the user is signed in.'),
      403: KEPT_ELSEWHERE,
      404: OFF,
    },
  },
  'POST /create_account.do': {
    summary: 'Sign up',
    about: 'Sends a mail to the address, also if it has an account already.',
    form: {
      ...csrf,
      email: must('The address, which becomes the user name.'),
      password: must('The password.'),
      password_confirmation: must('The password again.'),
      does_user_consent: may('`true` if the user agrees to the terms of the zone.'),
      ...returnFields,
    },
    answers: {
      302: redirect('To `/accounts/email_sent`.'),
      400: MISSING,
      403: `${FORGED} Or: ${KEPT_ELSEWHERE}`,
      404: OFF,
      422: page('The form, with the reason for the refusal.'),
      429: MANY,
      503: BUSY,
    },
  },
  'GET /accounts/email_sent': {
    summary: 'Show that a mail was sent',
    answers: { 200: page('The page.'), 403: KEPT_ELSEWHERE },
  },
  'GET /verify_user': {
    summary: 'Show the button that verifies a new account',
    about: 'Verifies nothing, because programs open mailed links, too.',
    query: code,
    answers: LINK_ANSWERS,
  },
  'POST /verify_user': {
    summary: 'Verify a new account',
    form: {
      ...csrf,
      ...code,
      password: may('The password of the sign-up, in another browser than that of the sign-up.'),
    },
    answers: {
      302: redirect('To the sign-in page.'),
      400: MISSING,
      403: `${FORGED} Or: ${KEPT_ELSEWHERE}`,
      422: page('The link is unknown, used or expired, or the password is wrong.'),
      429: 'Too many wrong passwords.',
    },
  },
})

/** Changing the e-mail address. */
const emailOperations = (csrf: Fields): Operations => ({
  'GET /change_email': {
    summary: 'Show the form for another e-mail address',
    query: returnFields,
    answers: {
      200: page('The page.'),
      302: redirect('To the profile if the user’s provider manages the address.'),
      403: KEPT_ELSEWHERE,
    },
  },
  'POST /change_email.do': {
    summary: 'Request another e-mail address',
    about: 'Sends a mail to the new address, also if another account has it, and a notice to the old one.',
    form: { ...csrf, newEmail: must('The new address.'), ...returnFields },
    answers: {
      302: redirect('To `/email_sent`, or to the profile if the user’s provider manages the address.'),
      400: MISSING,
      403: `${FORGED} Or: ${KEPT_ELSEWHERE}`,
      422: page('The form, with the reason for the refusal.'),
      429: MANY,
      503: BUSY,
    },
  },
  'GET /email_sent': {
    summary: 'Show that a mail was sent',
    query: { code: may('What it was about.') },
    answers: { 200: page('The page.'), 403: KEPT_ELSEWHERE },
  },
  'GET /continue': {
    summary: 'Go on to the application after self-service and a sign-in',
    query: returnFields,
    answers: { 302: redirect('To the URL if the client has registered it, else to the home page.') },
  },
  'GET /verify_email': {
    summary: 'Show the button that changes an e-mail address',
    about: 'Changes nothing, because programs open mailed links, too.',
    query: code,
    answers: {
      200: page('The page.'),
      302: redirect('To the profile if the link is unknown, used or expired and a user is signed in.'),
      400: MISSING,
      403: KEPT_ELSEWHERE,
      422: gone('The link is unknown, used or expired.'),
    },
  },
  'POST /verify_email': {
    summary: 'Change an e-mail address',
    form: { ...csrf, ...code },
    answers: {
      302: redirect('To the application, the profile or the sign-in page.'),
      400: MISSING,
      403: `${FORGED} Or: ${KEPT_ELSEWHERE}`,
      422: gone('The link is unknown, used or expired, or another account has taken the name.'),
    },
  },
})

/** Forgotten passwords, and changing one. */
const passwordOperations = (csrf: Fields): Operations => ({
  'GET /forgot_password': {
    summary: 'Show the form for a forgotten password',
    query: returnFields,
    answers: { 200: page('The page.'), 403: KEPT_ELSEWHERE, 404: OFF },
  },
  'POST /forgot_password.do': {
    summary: 'Request a password reset',
    about: 'Sends a mail to the address of the account, if there is one, with a link that works for half an hour.',
    form: { username: must('The user name, or the e-mail address of one account.'), ...returnFields },
    answers: {
      302: redirect('To `/email_sent`.'),
      400: MISSING,
      403: KEPT_ELSEWHERE,
      404: OFF,
      429: MANY,
      503: BUSY,
    },
  },
  'GET /reset_password': {
    summary: 'Show the form for a new password',
    about: 'Consumes nothing, because programs open mailed links, too.',
    query: code,
    answers: LINK_ANSWERS,
  },
  'POST /reset_password.do': {
    summary: 'Set a new password',
    about: 'Ends every session of the account and starts none.',
    form: {
      ...csrf,
      ...code,
      email: may('Ignored: the code says whose password it is.'),
      password: must('The new password.'),
      password_confirmation: must('The new password again.'),
    },
    answers: {
      302: redirect('To the sign-in page.'),
      400: MISSING,
      403: `${FORGED} Or: ${KEPT_ELSEWHERE}`,
      422: page('The form with the reason for the refusal, or the form for another link.'),
    },
  },
  'GET /.well-known/change-password': {
    summary: 'Find the form for another password',
    about: 'For password managers. If the base URL has a path, also at the origin.',
    answers: { 302: redirect('To `/change_password`.'), 404: 'Passwords are managed elsewhere.' },
  },
  'GET /change_password': {
    summary: 'Show the form for another password',
    answers: { 200: page('The page.'), 403: `${KEPT_ELSEWHERE} Or another provider manages the password.` },
  },
  'POST /change_password.do': {
    summary: 'Change the password',
    about: 'Ends every other session of the account.',
    form: {
      ...csrf,
      current_password: must('The current password.'),
      new_password: must('The new password.'),
      confirm_password: must('The new password again.'),
    },
    answers: {
      302: redirect('To the profile.'),
      400: MISSING,
      403: `${FORGED} Or: ${KEPT_ELSEWHERE} Or another provider manages the password.`,
      422: page('The form, with the reason for the refusal.'),
      429: 'Too many wrong passwords, or changes in the last hour.',
    },
  },
})
