// The pages of people: signing in, and what they see of their own account.
import type { Area, Facts, Fields, Operation } from './description.ts'
import { may, must, oneOf, page, redirect, ref, text } from './description.ts'

const loginQuery: Fields = {
  error: may('What went wrong before.'),
  success: may('What went well before.'),
  login_hint: may('A provider or a name.'),
  username: may('The name to begin with.'),
  email: may('The address to begin with.'),
  origin: may('Origin of the provider whose fields are wanted.'),
  discoveryPerformed: may('`true` where the provider is chosen already.'),
  otherAccountSignIn: may('`true` where another account than the remembered ones is wanted.'),
  ui_locales: may('Languages of the pages, the best first.'),
}

const own = (about: string): Operation => ({ summary: about, answers: { 200: page('The page.') } })

const errorPage = (summary: string, status = 200): Operation => ({
  summary,
  answers: {
    [status]: { about: 'The page.', content: { 'text/html': text, 'application/json': ref('Error') } },
  },
})

/** The pages. */
export function loginArea({ service, behaviour }: Facts): Area {
  const csrf = {
    [service.csrfName]: must(
      'The anti-forgery value of the page or of the cookie of this name; good for one browser and session.',
    ),
  }
  const forged = 'The form is not one of ours.'
  const callback = { path: { origin: must('Origin of the provider.') } }
  const answerOfProvider: Fields = {
    state: may('That of the attempt.'),
    code: may('What the provider gave.'),
    error: may('Why it refused.'),
    iss: may('RFC 9207.'),
  }
  const forget = { userId: may('Id of the account.') }
  const signInError = {
    302: redirect('To the application, the home page or the page for a new password.'),
    400: 'The attempt is unknown, or used up.',
    403: 'The provider or the zone refused.',
    404: 'The provider is gone.',
    502: 'The provider did not answer as it should.',
  }
  return {
    name: 'Sign-in and pages',
    about: 'Pages for people; forms carry an anti-forgery value, and what is asked for as JSON is answered as JSON.',
    operations: {
      'GET /login': {
        summary: 'The sign-in page',
        query: loginQuery,
        answers: {
          200: {
            about: 'The page, or for a program what it would show.',
            content: { 'text/html': text, 'application/json': ref('ServerInfo') },
          },
          302: redirect('To the home page of who is signed in, or to a provider.'),
          406: 'Neither a page nor JSON is wanted.',
        },
      },
      'POST /login.do': {
        summary: 'Sign in with a password',
        form: {
          ...csrf,
          username: may('The name.'),
          password: may('The password.'),
          login_hint: may('`{"origin":"…"}` names the provider.'),
          form_redirect_uri: may('Where to go on.'),
        },
        answers: {
          302: redirect('On, or back to the sign-in page with an error.'),
          403: forged,
          429: 'Too many wrong passwords.',
        },
      },
      'POST /login/idp_discovery': {
        summary: 'Find the provider of an address',
        form: {
          ...csrf,
          email: must('The address.'),
          username: may('The name to hand on.'),
          login_hint: may('A provider.'),
          skipDiscovery: may('Whether to ask for the password in any case.'),
          form_redirect_uri: may('Where to go on.'),
        },
        answers: {
          200: page('The page for the password.'),
          302: redirect('To the provider or to the sign-in page.'),
          400: 'The address is missing or too long.',
          403: forged,
        },
      },
      'POST /origin-chooser': {
        summary: 'Name the provider',
        form: { ...csrf, login_hint: may('Origin of the provider.'), form_redirect_uri: may('Where to go on.') },
        answers: { 302: redirect('To the sign-in page.'), 400: 'The name is too long.', 403: forged },
      },
      'GET /login/external/:origin': {
        summary: 'Begin a sign-in at a provider',
        ...callback,
        query: { username: may('The name to hand on.') },
        answers: {
          302: redirect('To the provider, or back to the sign-in page.'),
          502: 'The provider does not answer.',
        },
      },
      'GET /login/callback/:origin': {
        summary: 'Come back from a provider',
        ...callback,
        query: answerOfProvider,
        answers: signInError,
      },
      'POST /login/callback/:origin': {
        summary: 'Come back from a provider by a form',
        ...callback,
        form: answerOfProvider,
        answers: { 303: redirect('To the same by GET, so that the browser sends its cookies.') },
      },
      'GET /force_password_change': own('The page for a new password'),
      'POST /force_password_change': {
        summary: 'Choose the new password',
        form: { ...csrf, password: must('The new one.'), password_confirmation: must('Again.') },
        answers: { 302: redirect('On.'), 403: forged, 422: page('The page with what is wrong with the password.') },
      },
      'GET /force_password_change_completed': {
        summary: 'The end of a change of the password',
        answers: { 302: redirect('To where the person was on the way.') },
      },
      'GET /error': errorPage('A page that something went wrong'),
      'GET /error*': {
        ...errorPage('A page that something went wrong'),
        wildcard: 'more',
        path: { more: must('Anything.') },
      },
      'GET /error404': errorPage('The page for what is not there'),
      'GET /error429': errorPage('The page for too many attempts'),
      'GET /error500': errorPage('The page for a fault'),
      'GET /saml_error': errorPage('The page for a SAML sign-in that failed'),
      'GET /oauth_error': errorPage('The page for an OAuth sign-in that failed'),
      'GET /invalid_request': errorPage('The page for a form that is not one of ours'),
      'GET /rejected': errorPage('The page for a URL that was refused', behaviour.rejectedStatus),
      'GET /': own('The applications of the person'),
      'GET /home': own('The applications of the person'),
      'GET /zone.css': {
        summary: 'The colours of the zone',
        answers: {
          200: { about: 'A stylesheet.', content: { 'text/css': text } },
          404: 'The zone has none of its own.',
        },
      },
      'GET /passcode': {
        summary: 'A code that a program can sign in with, once',
        answers: {
          200: {
            about: 'The page with the code, or the code.',
            content: { 'text/html': text, 'application/json': text },
          },
          403: 'The request comes from another site.',
          429: 'Too many codes were asked for.',
        },
      },
      'GET /profile': {
        summary: 'What clients may do for the person, and where the person is signed in',
        query: {
          error_message_code: may('What went wrong before.'),
          success_message_code: may('What went well before.'),
        },
        answers: { 200: page('The page.') },
      },
      'POST /profile': {
        summary: 'Change what a client may do',
        form: {
          ...csrf,
          clientId: must('The client.'),
          update: may('Keeps the scopes that are checked.'),
          delete: may('Takes all back.'),
          checkedScopes: may('`<client>-<scope>`, once for each scope.'),
        },
        answers: { 302: redirect('To the profile.'), 403: forged },
      },
      'POST /profile/sessions': {
        summary: 'End another session of the person',
        form: { ...csrf, session: may('The one to end.'), others: may('All but this one.', oneOf(['true'])) },
        answers: { 302: redirect('To the profile.'), 403: forged },
      },
      'GET /delete_saved_account': {
        summary: 'Let the browser forget an account',
        query: forget,
        answers: { 302: redirect('To the sign-in page.') },
      },
      'POST /delete_saved_account': {
        summary: 'Let the browser forget an account',
        form: forget,
        answers: { 302: redirect('To the sign-in page.') },
      },
    },
  }
}
