// The pages for users: sign-in and account.
import type { Behaviour } from '../../../model/compatibility.ts'
import { LANGUAGES } from '../../../model/language.ts'
import type { Area, Facts, Fields, Operation } from '../description.ts'
import { closed, json, may, must, oneOf, page, redirect, ref, text } from '../description.ts'
import { ASSERTION_FIELDS, CLIENT_FIELDS } from '../oauth/oauth.ts'
import { samlOperations } from './saml.ts'

const loginQuery: Fields = {
  error: may('Key of an error message to show.'),
  success: may('Key of a success message to show.'),
  login_hint: may('A provider or a user name.'),
  username: may('User name to pre-fill.'),
  email: may('E-mail address to pre-fill.'),
  origin: may('Origin of the provider whose fields to show.'),
  discoveryPerformed: may('`true` if the provider is already chosen.'),
  otherAccountSignIn: may('`true` to sign in with an account that is not remembered.'),
  ui_locales: may('Preferred languages of the pages, best first.'),
}

const own = (about: string): Operation => ({ summary: about, answers: { 200: page('The page.') } })

const errorPage = (summary: string, status = 200): Operation => ({
  summary,
  answers: {
    [status]: { about: 'The page.', content: { 'text/html': text, 'application/json': ref('Error') } },
  },
})

const samlMetadata = {
  summary: "Read the metadata of the zone's SAML service provider",
  answers: {
    200: {
      about: 'The signed EntityDescriptor (SAML Metadata §2.3.2), as an attachment.',
      content: { 'application/samlmetadata+xml': text },
    },
  },
} satisfies Operation
const samlAlias = { alias: must('The entity id of the zone, as in its metadata.') }
const samlMessages: Fields = {
  SAMLRequest: may('The request of a provider, signed.'),
  SAMLResponse: may(
    'The provider’s response to the request of `/logout.do`. Needs no signature, because it ends no session.',
  ),
  RelayState: may('Returned with the response, up to 2,048 characters.'),
}
const samlLogout =
  'SAML 2.0, Profiles §4.4. For browsers that a provider redirects here. A request ends the sessions of the user in every browser.'
const samlLogoutAnswers = {
  200: page('A form that posts the response to the provider automatically, or the signed-out page.'),
  302: redirect('To the provider with the response.'),
  303: redirect('To `/logout.do`, after a response.'),
  400: 'The message is missing or malformed, or the request is not one that an active provider of the zone signed.',
}

const FORGED = 'The anti-forgery value or the origin of the form is invalid.'

type Operations = Area['operations']

/** The pages. */
export function loginArea({ service, behaviour }: Facts): Area {
  const csrf = {
    [service.csrfName]: must(
      'The anti-forgery value from the page or the cookie of the same name; valid for one browser and session.',
    ),
  }
  return {
    name: 'Sign-in and pages',
    about: 'Pages for users. Forms carry an anti-forgery value. Some pages are also served as JSON.',
    operations: {
      ...signInOperations(csrf, behaviour),
      ...PROVIDER_OPERATIONS,
      ...invitationOperations(csrf),
      ...passwordChangeOperations(csrf),
      ...errorPages(behaviour),
      ...ownPages(csrf),
    },
  }
}

const signInOperations = (csrf: Fields, behaviour: Behaviour): Operations => ({
  'GET /login': {
    summary: 'Show the sign-in page',
    query: loginQuery,
    answers: {
      200: {
        about: 'The page, or its content as JSON.',
        content: { 'text/html': text, 'application/json': ref('ServerInfo') },
      },
      302: redirect('To the home page if the user is signed in, or to a provider.'),
      406: 'The client accepts neither HTML nor JSON.',
    },
  },
  'POST /login.do': {
    summary: 'Sign in with a password',
    form: {
      ...csrf,
      username: may('User name.'),
      password: may('Password.'),
      login_hint: may('`{"origin":"…"}` names the provider.'),
      form_redirect_uri: may('URL to continue with.'),
    },
    answers: {
      302: redirect('To the next page, or back to the sign-in page with an error.'),
      403: `${FORGED} Or another user has signed in meanwhile, in another tab: the choice of an account.`,
      429: 'Too many wrong passwords.',
    },
  },
  'POST /authenticate': {
    summary: 'Check a password, or assert a user',
    about:
      'Opens no session. The token of an external login server (authority `oauth.login`) shows origin and id as well; with `source=login` it asserts the user without a password.',
    credentials: ['bearer', 'none'],
    refusesRepeated: 'every field',
    form: {
      username: must('User name.'),
      password: may('Password; required unless `source` is `login`.'),
      source: may('`login`: the caller asserts the user.'),
      origin: may('With `source=login`: origin of the user.'),
      add_new: may('With `source=login`: whether to create an account for a new user.', oneOf(['true', 'false'])),
      email: may('With `source=login`: e-mail address of the user.'),
      given_name: may('With `source=login`: given name of the user.'),
      family_name: may('With `source=login`: family name of the user.'),
    },
    answers: {
      200: json(
        'The user.',
        closed({ username: text, origin: text, email: text, user_id: text }, ['origin', 'email', 'user_id']),
      ),
      400: 'A parameter is missing or malformed.',
      401: json('The password is wrong, or there is no such user.', ref('Error')),
      403: json(
        'The account is not verified or needs a second factor (`mfa_required`), or the token lacks the right.',
        ref('Error'),
      ),
      429: 'Too many wrong passwords.',
    },
  },
  'POST /autologin': {
    summary: 'Get a sign-in code for a user',
    about:
      'Checks the password. The code is valid for five minutes and works once, for the same client: at `GET /autologin`, or as `code` at `/oauth/authorize`. The body may also be JSON.',
    credentials: behaviour.assertionsEverywhere ? ['form'] : [],
    refusesRepeated: 'every field',
    form: {
      username: must('User name.'),
      password: must('Password.'),
      ...(behaviour.assertionsEverywhere && { ...CLIENT_FIELDS, ...ASSERTION_FIELDS }),
    },
    answers: {
      200: json('The code, and where to send the browser with it.', closed({ code: text, path: text })),
      400: 'The body is malformed.',
      403: 'The account is not verified.',
      415: 'The body is neither a form nor JSON.',
      429: 'Too many wrong passwords.',
    },
  },
  'GET /autologin': {
    summary: 'Sign in with a code',
    query: {
      code: may('The code; without it, no session starts.'),
      client_id: may('The client that got the code.'),
    },
    answers: {
      302: redirect('To the page that was requested first, the home page or the password change page.'),
      400: 'The code is invalid, expired or already used.',
      401: 'The code is of another client.',
      403: 'Another user is signed in, or the page was not opened in a window.',
      406: 'The code is of another client.',
    },
  },
  'POST /login/idp_discovery': {
    summary: 'Find the provider of an e-mail address',
    form: {
      ...csrf,
      email: must('E-mail address.'),
      username: may('User name to pass on.'),
      login_hint: may('A provider.'),
      skipDiscovery: may('Whether to ask for the password in every case.'),
      form_redirect_uri: may('URL to continue with.'),
    },
    answers: {
      200: page('The password page.'),
      302: redirect('To the provider or to the sign-in page.'),
      400: 'The e-mail address is missing or too long.',
      403: FORGED,
    },
  },
  'POST /origin-chooser': {
    summary: 'Choose the provider',
    form: { ...csrf, login_hint: may('Origin of the provider.'), form_redirect_uri: may('URL to continue with.') },
    answers: { 302: redirect('To the sign-in page.'), 400: 'The origin is too long.', 403: FORGED },
  },
})

const CALLBACK = { path: { origin: must('Origin of the provider.') } }

const ANSWER_OF_PROVIDER: Fields = {
  state: may('The `state` of the sign-in.'),
  code: may('The authorization code.'),
  error: may('The error code of the provider.'),
  iss: may('RFC 9207.'),
}

const SIGN_IN_ANSWERS = {
  200: page('The choice of an account, if another tab signed in with another one meanwhile.'),
  302: redirect('To the application, the home page or the password change page.'),
  400: 'The sign-in is unknown, expired or already used.',
  403: 'The provider or the zone refused the sign-in.',
  404: 'Provider not found.',
  502: 'Sign-in with the provider failed.',
}

/** Sign-in and logout at other providers. */
const PROVIDER_OPERATIONS: Operations = {
  'GET /login/external/:origin': {
    summary: 'Start a sign-in with a provider',
    ...CALLBACK,
    query: { username: may('User name to pass on.') },
    answers: {
      302: redirect('To the provider, or back to the sign-in page.'),
      502: 'The provider is unavailable.',
    },
  },
  'GET /login/callback/:origin': {
    summary: 'Receive the response of a provider',
    ...CALLBACK,
    query: ANSWER_OF_PROVIDER,
    answers: SIGN_IN_ANSWERS,
  },
  'POST /login/callback/:origin': {
    summary: 'Receive the response of a provider as a form post',
    ...CALLBACK,
    form: ANSWER_OF_PROVIDER,
    answers: { 303: redirect('To the same URL by GET, so that the browser sends its cookies.') },
  },
  ...samlOperations,
  'POST /login/backchannel_logout/:origin': {
    summary: 'End sessions at a provider’s request',
    about: 'OpenID Connect Back-Channel Logout. For the provider, not for browsers.',
    path: { origin: must('Origin of the provider.') },
    form: { logout_token: must('The logout token, signed by the provider.') },
    answers: {
      200: 'The sessions have ended, or there were none.',
      400: json('The provider is unknown, or the token is invalid or was used before.', ref('Error')),
    },
  },
  'GET /saml/SingleLogout/alias/:alias': {
    summary: 'Single logout by redirect',
    about: samlLogout,
    path: samlAlias,
    query: {
      ...samlMessages,
      SigAlg: may('The algorithm of the signature.'),
      Signature: may('The signature of a request, over the query.'),
    },
    answers: samlLogoutAnswers,
  },
  'POST /saml/SingleLogout/alias/:alias': {
    summary: 'Single logout by posted form',
    about: samlLogout,
    path: samlAlias,
    form: samlMessages,
    answers: samlLogoutAnswers,
  },
}

const invitationOperations = (csrf: Fields): Operations => ({
  'GET /invitations/accept': {
    summary: 'Show an invitation',
    about: 'The code is not consumed. Users of other providers are redirected there.',
    query: {
      code: must('The code of the invitation.'),
      error_message_code: may('Key of an error message to show.'),
      error_code: may('The same.'),
    },
    answers: {
      200: page('The form.'),
      302: redirect('To the provider.'),
      422: page('The invitation has expired, or there is no provider for it.'),
    },
  },
  'POST /invitations/accept.do': {
    summary: 'Accept an invitation',
    form: {
      ...csrf,
      code: must('The code of the invitation.'),
      password: may('The first password of the account.'),
      password_confirmation: may('The password again.'),
      does_user_consent: may('`true` if the user agrees to the terms of the zone.'),
    },
    answers: {
      302: redirect('To the sign-in page, to the application, or back to the form with an error.'),
      403: FORGED,
      422: page('The invitation has expired, or the password is not allowed.'),
    },
  },
  'POST /invitations/accept_enterprise.do': {
    summary: 'Accept an invitation with an account of a directory',
    form: {
      ...csrf,
      code: must('The code of the invitation.'),
      enterprise_username: must('The user name at the directory.'),
      enterprise_password: must('The password there.'),
      enterprise_email: may('Ignored: the invitation has the address, which the directory must have too.'),
    },
    answers: {
      302: redirect('To the sign-in page, and then to the application.'),
      403: FORGED,
      422: page('The invitation has expired, or the account is not that of the address.'),
    },
  },
})

const passwordChangeOperations = (csrf: Fields): Operations => ({
  'GET /force_password_change': own('Show the password change page'),
  'POST /force_password_change': {
    summary: 'Change the password',
    form: { ...csrf, password: must('The new password.'), password_confirmation: must('The new password again.') },
    answers: {
      302: redirect('To the next page.'),
      403: FORGED,
      422: page('The page, with the reason for the refusal.'),
    },
  },
  'GET /force_password_change_completed': {
    summary: 'Continue after a password change',
    answers: { 302: redirect('To the page that was requested first.') },
  },
})

const errorPages = (behaviour: Behaviour): Operations => ({
  'GET /error': errorPage('Show the error page'),
  'GET /error*': {
    ...errorPage('Show the error page'),
    wildcard: 'more',
    path: { more: must('Ignored.') },
  },
  'GET /error404': errorPage('Show the page for 404'),
  'GET /error429': errorPage('Show the page for 429'),
  'GET /error500': errorPage('Show the page for 500'),
  'GET /saml_error': errorPage('Show the page for a failed SAML sign-in'),
  'GET /oauth_error': errorPage('Show the page for a failed sign-in with a provider'),
  'GET /saml/metadata': samlMetadata,
  'GET /saml/metadata/alias/:alias': {
    ...samlMetadata,
    path: { alias: must('The SAML entity id of the zone.') },
    answers: { ...samlMetadata.answers, 404: 'Not the entity id of the zone.' },
  },
  'GET /invalid_request': errorPage('Show the page for a refused form'),
  'GET /rejected': errorPage('Show the page for a refused URL', behaviour.rejectedStatus),
})

const SAVED_ACCOUNT = { userId: may('Id of the user.') }

/** Pages of the signed-in user, and the files and forms that they need. */
const ownPages = (csrf: Fields): Operations => ({
  'GET /': own('Show the applications of the user'),
  'GET /home': own('Show the applications of the user'),
  'GET /outbox': {
    summary: 'Show the mails that the playground would have sent',
    answers: { 200: page('The page.') },
    inPlayground: true,
  },
  'GET /zone.css': {
    summary: 'Read the colours of the zone',
    answers: {
      200: { about: 'A stylesheet.', content: { 'text/css': text } },
      404: 'The zone has no colours of its own.',
    },
  },
  'GET /passcode': {
    summary: 'Get a one-time passcode for a program',
    answers: {
      200: {
        about: 'The passcode, as a page or as JSON.',
        content: { 'text/html': text, 'application/json': text },
      },
      403: 'The request comes from another site.',
      429: 'Too many passcodes.',
    },
  },
  'GET /profile': {
    summary: 'Show the details, approvals, sessions and recent events of the user',
    query: {
      error_message_code: may('Key of an error message to show.'),
      success_message_code: may('Key of a success message to show.'),
    },
    answers: { 200: page('The page.') },
  },
  'POST /profile': {
    summary: 'Change the approvals of a client',
    form: {
      ...csrf,
      clientId: must('Client id.'),
      update: may('Approves exactly the checked scopes.'),
      delete: may('Revokes all approvals of the client.'),
      checkedScopes: may('`<client>-<scope>`, once for each scope.'),
      listedScopes: may('The scopes that are decided on, with spaces between; all of the client unless sent.'),
    },
    answers: { 302: redirect('To the profile.'), 403: FORGED },
  },
  'POST /profile/details': {
    summary: 'Change the name and the language of the user',
    about:
      'Names can change only for local accounts. Omitted fields stay; an empty name is removed. UAA has no such endpoint.',
    form: {
      ...csrf,
      givenName: may('At most 255 characters.'),
      familyName: may('At most 255 characters.'),
      displayName: may('At most 255 characters.'),
      language: may('Language of the pages and of the claim `locale`.', oneOf(['browser', ...LANGUAGES])),
    },
    answers: { 302: redirect('To the profile.'), 403: FORGED },
  },
  'POST /profile/sessions': {
    summary: 'End other sessions of the user',
    form: {
      ...csrf,
      session: may('Handle of the session to end.'),
      others: may('End all sessions but the current one.', oneOf(['true'])),
    },
    answers: { 302: redirect('To the profile.'), 403: FORGED },
  },
  'GET /delete_saved_account': {
    summary: 'Forget a remembered account in this browser',
    query: SAVED_ACCOUNT,
    answers: { 302: redirect('To the sign-in page.') },
  },
  'POST /delete_saved_account': {
    summary: 'Forget a remembered account in this browser',
    form: SAVED_ACCOUNT,
    answers: { 302: redirect('To the sign-in page.') },
  },
})
