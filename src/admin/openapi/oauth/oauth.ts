// The OAuth 2.0 and OpenID Connect endpoints.
import { TOKEN_GRANT_TYPES } from '../../../model/clients/grant-types.ts'
import type { Area, Facts, Fields, Operation, Schema } from '../description.ts'
import { pushedRequestOperations } from './pushed-requests.ts'
import {
  bare,
  closed,
  described,
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
  text,
  textOrNull,
  texts,
  whole,
  repeatable,
  repeatedIn,
} from '../description.ts'

/** Credentials of a client in a form. */
export const CLIENT_FIELDS: Fields = {
  client_id: may('Client id, if there is no `Authorization` header.'),
  client_secret: may('Client secret (`client_secret_post`).'),
}

/** A signed assertion of a client in a form. */
export const ASSERTION_FIELDS: Fields = {
  client_assertion_type: may(
    'Type of `client_assertion`.',
    oneOf(['urn:ietf:params:oauth:client-assertion-type:jwt-bearer']),
  ),
  client_assertion: may('A JWT signed by the client (`private_key_jwt`, RFC 7523 §2.2).'),
}

/** The user that an external login server has authenticated. */
const VOUCHED_FIELDS: Fields = {
  source: may('`login` in the request of an external login server.'),
  add_new: may('With `source=login`: whether to create an account for a new user.', oneOf(['true', 'false'])),
  user_id: may('With `source=login`: id of the user, instead of the user name.'),
  origin: may('With `source=login`: origin of the user; `login-server` by default.'),
  email: may('With `source=login`: e-mail address of the user.'),
  given_name: may('With `source=login`: given name of the user.'),
  family_name: may('With `source=login`: family name of the user.'),
}

const EXCHANGED_TYPES = ['urn:ietf:params:oauth:token-type:access_token', 'urn:ietf:params:oauth:token-type:jwt']

const TOKEN_REQUEST: Fields = {
  grant_type: must('The grant type.', oneOf(TOKEN_GRANT_TYPES)),
  scope: may('Space-separated scopes. Absent: all that can be granted.'),
  code: may('For `authorization_code`.'),
  redirect_uri: may('For `authorization_code`: as in the authorization request.'),
  code_verifier: may('For `authorization_code`: the PKCE verifier (RFC 7636).'),
  refresh_token: may('For `refresh_token`.'),
  username: may('For `password`.'),
  password: may('For `password`.'),
  passcode: may('For `password`: a code from /passcode instead of user name and password.'),
  login_hint: may('For `password`: `{"origin":"…"}` names the provider.'),
  assertion: may(
    'For the assertion grants: a JWT (RFC 7523), or a signed SAML 2.0 assertion in base64url whose `Recipient` is the URL of `/oauth/token/alias/{entity}` and whose audience is the entity id (RFC 7522).',
  ),
  device_code: may('For the device grant (RFC 8628): from `/oauth/device_authorization`.'),
  subject_token: may('For token exchange (RFC 8693): the access token of a user.'),
  subject_token_type: may('For token exchange.', oneOf(EXCHANGED_TYPES)),
  actor_token: may('For token exchange: the access token of the actor, if that is not the client.'),
  actor_token_type: may('For token exchange.', oneOf(EXCHANGED_TYPES)),
  audience: may('For token exchange: the recipient of the new token.', repeatable),
  resource: may('The URI of the API that the token is for (RFC 8707).', repeatable),
  requested_token_type: may('For token exchange.', oneOf(EXCHANGED_TYPES)),
  token_format: may('Format of the access token.', oneOf(['jwt', 'opaque'])),
  authorities: may('`{"az_attr":{…}}`: attributes to put into the tokens.'),
  nonce: may('Returned in the response.'),
  ...VOUCHED_FIELDS,
  ...CLIENT_FIELDS,
  ...ASSERTION_FIELDS,
}

const tokenOperation = (more: Partial<Operation> = {}): Operation => ({
  summary: 'Issue tokens',
  about:
    'RFC 6749 §3.2. The grant `user_token` takes the access token of a user as bearer token instead of client credentials. With `source=login` the bearer token is that of an external login server, and the credentials of the client are in the form.',
  credentials: ['form', 'bearer', 'none'],
  form: TOKEN_REQUEST,
  headers: { DPoP: may('A proof of the key that the tokens are bound to (RFC 9449 §5).') },
  answers: {
    200: json('The tokens.', ref('Tokens')),
    400: 'The request was refused: `invalid_request`, `invalid_grant`, `invalid_scope`, `unsupported_grant_type`, `unauthorized_client`, `invalid_dpop_proof`, `authorization_pending`, `slow_down`, `expired_token` or `access_denied` for a device, `use_dpop_nonce` with the nonce in the header `DPoP-Nonce`, or `mfa_required` for a user who needs a second factor.',
    403: 'The caller lacks a scope.',
    406: 'Parameters in the query are not allowed.',
    429: 'Too many wrong passwords or passcodes.',
  },
  ...more,
})

const authorizationRequest = ({ lists, behaviour }: Facts): Fields => ({
  response_type: may(
    'The response type; required, unless a request object or a pushed request has it.',
    oneOf(lists.responseTypes),
  ),
  client_id: must('Client id.'),
  redirect_uri: may('Where to send the response; optional if the client has exactly one redirect URI.'),
  scope: may('Space-separated scopes.'),
  state: may('Returned in the response.'),
  nonce: may('Returned in the ID token.'),
  ...(behaviour.responseModes && { response_mode: may('How the response is returned.', oneOf(lists.responseModes)) }),
  request: may(
    'A request object (RFC 9101), signed with a key of the client; all other parameters except `client_id` are then ignored.',
  ),
  request_uri: may('A pushed request (RFC 9126), or the registered URL of a request object.'),
  code_challenge: may('PKCE challenge (RFC 7636).'),
  code_challenge_method: may('PKCE method (RFC 7636).', oneOf(lists.codeChallengeMethods)),
  dpop_jkt: may('Thumbprint of the key that must redeem the code (RFC 9449 §10).', {
    type: 'string',
    pattern: '^[\\w-]{43}$',
  }),
  prompt: may('`none`, `login`, `consent` or `select_account`.'),
  max_age: may('Maximum age of the sign-in in seconds.', { type: 'string', pattern: '^\\d+$' }),
  acr_values: may(
    'Levels of the sign-in, any of which is enough: 1, 2, phr, phrh. Without effect in a zone without second factors.',
    {
      type: 'string',
      maxLength: 1000,
    },
  ),
  login_hint: may('A provider or a user name.'),
  id_token_hint: may('An ID token of the expected user.'),
  ui_locales: may('Preferred languages of the pages, best first.'),
  token_format: may('Format of the access token.', oneOf(['jwt', 'opaque'])),
  authorities: may('`{"az_attr":{…}}`: attributes to put into the tokens.'),
})

const authorize = (where: Partial<Operation>): Operation => ({
  summary: 'Start an authorization',
  about: 'RFC 6749 §3.1. Errors are shown as a page until the redirect URI is verified, then sent as a redirect.',
  answers: {
    200: {
      about: 'The approval page, or a form that posts the response to the client.',
      content: { 'text/html': text, 'application/json': ref('ApprovalQuestion') },
    },
    302: redirect('To the sign-in page, or to the client with the response or an error.'),
    303: redirect('To the same request by GET, so that the browser sends its cookies.'),
    400: bare('The client or the redirect URI is invalid.'),
    401: bare('The client is unknown, or the credentials are wrong.'),
    403: 'The form was refused, or a requirement of the request is not met.',
    406: 'Credentials in the query are not allowed, or a login server does not accept JSON.',
    429: 'Too many wrong passwords.',
  },
  ...where,
})

const logoutFields: Fields = {
  redirect: may('URL to continue with; a zone can rename the parameter.'),
  client_id: may('Client whose redirect URIs are allowed.'),
  post_logout_redirect_uri: may('URL to continue with (OpenID Connect RP-Initiated Logout).'),
  id_token_hint: may('An ID token of the session.'),
  state: may('Returned in the redirect.'),
}

const logout = (where: Partial<Operation>): Operation => ({
  summary: 'Sign out',
  answers: {
    200: page('The confirmation page, or the signed-out page.'),
    302: redirect('To the target.'),
    303: redirect('To the same URL by GET, so that the browser sends its cookies.'),
    400: 'The target is not registered for the client, or the form to repeat is too long.',
  },
  ...where,
})

const userinfo = (more: Partial<Operation> = {}): Operation => ({
  summary: 'Read the claims of the user',
  about: 'OpenID Connect Core §5.3.',
  answers: {
    200: {
      about: 'The claims, as a signed JWT for clients with `userinfo_signed_response_alg`.',
      content: { 'application/json': ref('UserInfo'), 'application/jwt': text },
    },
    403: 'The token is not a user token, or lacks the scope `openid`.',
  },
  ...more,
})

/** OpenID Connect Core §5.1: those that are strings. */
const TEXT_CLAIMS = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'email',
  'phone_number',
]
const ADDRESS_PARTS = ['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country']

const scopeTexts = listOf(closed({ code: text, text }))
const choice = closed({ location: text, path: text, key: text, value: oneOf(['true', 'false']) })
const frame = (
  required: boolean,
  { summary, about }: { readonly summary: string; readonly about: string },
): Operation => ({
  summary,
  about,
  query: {
    clientId: (required ? must : may)('Client id.'),
    messageOrigin: (required ? must : may)('Origin of the page of the client.'),
  },
  answers: { 200: page('The frame.'), ...(required && { 400: 'A parameter is missing.' }) },
})

const ownRequest = closed({ client_id: text, redirect_uri: text, scope: texts, state: text }, ['state'])

/** UAA: the serialized authorization request (A19). */
const requestInUaa = closed({
  clientId: text,
  scope: texts,
  requestParameters: { type: 'object', additionalProperties: text },
  approvalParameters: closed({}),
  state: textOrNull,
  responseTypes: texts,
  resourceIds: texts,
  authorities: listOf(closed({ authority: text })),
  approved: { const: false },
  redirectUri: text,
  extensions: closed({}),
})

/** The approval page as JSON. */
function approvalQuestion({ ownApprovalModel }: Facts['behaviour']): Schema {
  return closed({
    auth_request: ownApprovalModel ? ownRequest : requestInUaa,
    approved_scopes: scopeTexts,
    denied_scopes: scopeTexts,
    options: closed({ confirm: choice, deny: choice }),
    redirect_uri: text,
    undecided_scopes: scopeTexts,
    scopes: scopeTexts,
    message: text,
    client_display_name: text,
    ...(ownApprovalModel && { client_id: text, original_uri: text }),
  })
}

/** The endpoints of OAuth 2.0 and OpenID Connect. */
export function oauthArea(facts: Facts): Area {
  const { form: tokenFields = {} } = tokenOperation()
  const refusesRepeated = repeatedIn(facts.behaviour)
  const entity = { entity: must('The SAML entity id of the zone.') }
  return {
    name: 'OAuth and OpenID Connect',
    about: 'Authorization, tokens, user claims and logout.',
    operations: {
      'POST /oauth/token': tokenOperation({ refusesRepeated }),
      'POST /oauth/token/alias/:entity': tokenOperation({
        refusesRepeated,
        summary: 'Issue tokens, at the URL that SAML assertions name as recipient',
        about:
          'RFC 7522. Takes every grant that `/oauth/token` takes. A SAML assertion is accepted once; the response has no `id_token`.',
        path: entity,
        answers: {
          ...tokenOperation().answers,
          404: 'The zone has another entity id.',
        },
      }),
      ...(facts.settings.queryString && {
        'GET /oauth/token': tokenOperation({ query: tokenFields, form: {} }),
        'GET /oauth/token/alias/:entity': tokenOperation({ query: tokenFields, form: {}, path: entity }),
      }),
      'GET /oauth/authorize': authorize({
        query: { ...authorizationRequest(facts), code: may('A code of `POST /autologin`, which signs the user in.') },
      }),
      'POST /oauth/authorize': authorize({
        summary: 'Start an authorization, or submit the approval page',
        form: {
          ...Object.fromEntries(
            Object.entries(authorizationRequest(facts)).map(([name, field]) => [name, { ...field, required: false }]),
          ),
          ...VOUCHED_FIELDS,
          username: may('User name, with `source=login` or `source=credentials`.'),
          password: may('Password, with `source=credentials`.'),
          login: may('With `source=login`: the user as JSON.'),
          credentials: may('User name and password as JSON.'),
          user_oauth_approval: may('The decision of the user.', oneOf(['true', 'false'])),
          [facts.service.csrfName]: may('The anti-forgery value; required with a decision.'),
        },
      }),
      ...pushedRequestOperations({
        refusesRepeated,
        request: authorizationRequest(facts),
        credentials: { ...CLIENT_FIELDS, ...ASSERTION_FIELDS },
      }),
      'GET /logout.do': logout({ query: logoutFields }),
      'POST /logout.do': logout({
        form: { ...logoutFields, [facts.service.csrfName]: may('The anti-forgery value.') },
      }),
      'GET /userinfo': userinfo(),
      'POST /userinfo': userinfo({ form: { access_token: may('The token, if it is not in a header.') } }),
      ...(!facts.behaviour.getOrPostUserinfo && {
        'PUT /userinfo': userinfo(),
        'DELETE /userinfo': userinfo(),
        'PATCH /userinfo': userinfo(),
      }),
      'GET /session': frame(true, {
        summary: 'Show the session frame for the id of a user',
        about: 'Of UAA. A message has the client id and the id of the last user, `~` for none.',
      }),
      'GET /session_management': frame(true, {
        summary: 'Show the session frame for one client',
        about: 'Of UAA. A message has the client id and `session_state`.',
      }),
      'GET /check_session': frame(false, {
        summary: 'Show the session frame of OpenID Connect',
        about: 'OpenID Connect Session Management §3.2. A message has the client id and `session_state`.',
      }),
    },
    schemas: {
      ApprovalQuestion: approvalQuestion(facts.behaviour),
      Tokens: closed(
        {
          access_token: textOrNull,
          token_type: oneOf(['bearer', 'DPoP']),
          issued_token_type: text,
          id_token: text,
          refresh_token: text,
          expires_in: whole,
          scope: text,
          jti: text,
          nonce: text,
          az_attr: { type: 'object', additionalProperties: text },
        },
        ['issued_token_type', 'id_token', 'refresh_token', 'nonce', 'az_attr'],
      ),
      UserInfo: open(
        {
          sub: text,
          user_id: text,
          user_name: text,
          ...Object.fromEntries(TEXT_CLAIMS.map(name => [name, text])),
          email_verified: flag,
          phone_number_verified: flag,
          updated_at: whole,
          previous_logon_time: described({ type: ['integer', 'null'] }, 'Milliseconds since 1970.'),
          address: described(
            open(Object.fromEntries(ADDRESS_PARTS.map(name => [name, text]))),
            'With scope `address`.',
          ),
          user_attributes: described(
            { type: 'object', additionalProperties: texts },
            'Custom attributes, with scope `user_attributes`.',
          ),
          roles: described(texts, "From the user's provider, at the last sign-in; with scope `roles`."),
        },
        ['sub', 'user_id', 'user_name'],
      ),
    },
  }
}
