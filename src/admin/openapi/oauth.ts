// Getting tokens, and signing out.
import type { Area, Facts, Fields, Operation, Schema } from './description.ts'
import {
  bare,
  closed,
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
} from './description.ts'

/** Credentials of a client in a form. */
export const CLIENT_FIELDS: Fields = {
  client_id: may('The client, where it is not named in an `Authorization` header.'),
  client_secret: may('Its secret (`client_secret_post`).'),
}

/** A signed assertion of a client in a form. */
export const ASSERTION_FIELDS: Fields = {
  client_assertion_type: may(
    'For a client that signs.',
    oneOf(['urn:ietf:params:oauth:client-assertion-type:jwt-bearer']),
  ),
  client_assertion: may('A JWT that the client signed (`private_key_jwt`, RFC 7523 §2.2).'),
}

const tokenRequest = ({ lists }: Facts): Fields => ({
  grant_type: must('What leads to the tokens.', oneOf(lists.grantTypes)),
  scope: may('Scopes, separated by spaces; all that are possible where it is absent.'),
  code: may('Of `authorization_code`.'),
  redirect_uri: may('Of `authorization_code`: the one of the authorization request.'),
  code_verifier: may('Of `authorization_code`: RFC 7636.'),
  refresh_token: may('Of `refresh_token`.'),
  username: may('Of `password`.'),
  password: may('Of `password`.'),
  passcode: may('Of `password`: a code from /passcode instead of name and password.'),
  login_hint: may('Of `password`: `{"origin":"…"}` names the provider.'),
  assertion: may('Of the assertion grants: RFC 7522 and RFC 7523.'),
  token_format: may('What the access token is.', oneOf(['jwt', 'opaque'])),
  authorities: may('`{"az_attr":{…}}`: attributes that stand in the tokens.'),
  nonce: may('Repeated in the answer.'),
  ...CLIENT_FIELDS,
  ...ASSERTION_FIELDS,
})

const tokenOperation = (facts: Facts, more: Partial<Operation> = {}): Operation => ({
  summary: 'Issue tokens',
  about:
    'RFC 6749 §3.2. The grant `user_token` takes the access token of a user, as bearer, instead of the credentials of a client.',
  credentials: ['form', 'bearer', 'none'],
  form: tokenRequest(facts),
  answers: {
    200: json('The tokens.', ref('Tokens')),
    400: 'What is asked for cannot be given: `invalid_request`, `invalid_grant`, `invalid_scope`, `unsupported_grant_type`, `unauthorized_client`.',
    403: 'The caller lacks a right.',
    406: 'Parameters stand in the query.',
    429: 'Too many wrong passwords or passcodes.',
  },
  ...more,
})

const authorizationRequest = ({ lists, behaviour }: Facts): Fields => ({
  response_type: must('What the answer holds.', oneOf(lists.responseTypes)),
  client_id: must('Who asks.'),
  redirect_uri: may('Where the answer goes; may be left out where the client has one only.'),
  scope: may('Scopes, separated by spaces.'),
  state: may('Repeated in the answer.'),
  nonce: may('Repeated in the ID token.'),
  ...(behaviour.responseModes && { response_mode: may('How the answer travels.', oneOf(lists.responseModes)) }),
  code_challenge: may('RFC 7636.'),
  code_challenge_method: may('RFC 7636.', oneOf(lists.codeChallengeMethods)),
  prompt: may('`none`, `login`, `consent` or `select_account`.'),
  max_age: may('Seconds since the sign-in at most.', { type: 'string', pattern: '^\\d+$' }),
  login_hint: may('A provider or a name.'),
  id_token_hint: may('An ID token of the person who is wanted.'),
  ui_locales: may('Languages of the pages, the best first.'),
  token_format: may('What an access token is.', oneOf(['jwt', 'opaque'])),
  authorities: may('`{"az_attr":{…}}`: attributes that stand in the tokens.'),
})

const authorize = (where: Partial<Operation>): Operation => ({
  summary: 'Begin an authorization',
  about: 'RFC 6749 §3.1. An error is a page until the redirect URI is verified, and a redirect afterwards.',
  answers: {
    200: {
      about: 'A question to the person, or a form that takes the answer to the client.',
      content: { 'text/html': text, 'application/json': ref('ApprovalQuestion') },
    },
    302: redirect('To the sign-in page, or back to the client with the answer or a refusal.'),
    303: redirect('To the same request by GET, where a browser has to send its cookies.'),
    400: bare('The client or its redirect URI is not right.'),
    401: bare('The client is unknown, or credentials were sent that are wrong.'),
    403: 'The form is not one of ours, or a demand is not met.',
    406: 'Credentials stand in the query.',
    429: 'Too many wrong passwords.',
  },
  ...where,
})

const logoutFields: Fields = {
  redirect: may('Where to go on; the zone may call the parameter otherwise.'),
  client_id: may('The client whose URIs count.'),
  post_logout_redirect_uri: may('Where to go on (OpenID Connect RP-Initiated Logout).'),
  id_token_hint: may('An ID token of the session.'),
  state: may('Repeated at the end.'),
}

const logout = (where: Partial<Operation>): Operation => ({
  summary: 'Sign out',
  answers: {
    200: page('A question whether to sign out, or that it is done.'),
    302: redirect('On from here.'),
    303: redirect('To the same by GET, where a browser has to send its cookies.'),
    400: 'The request names a place that is not the client’s.',
  },
  ...where,
})

const userinfo = (more: Partial<Operation> = {}): Operation => ({
  summary: 'Claims about the person of a token',
  about: 'OpenID Connect Core §5.3.',
  answers: {
    200: json('The claims.', ref('UserInfo')),
    403: 'The token does not speak for a user, or has no scope `openid`.',
  },
  ...more,
})

const scopeTexts = listOf(closed({ code: text, text }))
const choice = closed({ location: text, path: text, key: text, value: oneOf(['true', 'false']) })
const frame = (required: boolean): Operation => ({
  summary: 'A frame that notices another sign-in',
  about: 'OpenID Connect Session Management §3.2, and what the reference system has for it.',
  query: {
    clientId: (required ? must : may)('The client that looks.'),
    messageOrigin: (required ? must : may)('The origin of its page.'),
  },
  answers: { 200: page('The frame.'), ...(required && { 400: 'A parameter is missing.' }) },
})

const ownRequest = closed({ client_id: text, redirect_uri: text, scope: texts, state: text }, ['state'])

/** UAA: the request as its own object has it (A19). */
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
  const { form: tokenFields = {} } = tokenOperation(facts)
  const entity = { entity: must('The SAML entity id of the zone.') }
  return {
    name: 'OAuth and OpenID Connect',
    about: 'Getting tokens, and signing out.',
    operations: {
      'POST /oauth/token': tokenOperation(facts),
      'POST /oauth/token/alias/:entity': tokenOperation(facts, {
        summary: 'Issue tokens, at the address that SAML assertions are made out to',
        path: entity,
        answers: { ...tokenOperation(facts).answers, 404: 'The zone has another entity id.' },
      }),
      ...(facts.settings.queryString && {
        'GET /oauth/token': tokenOperation(facts, { query: tokenFields, form: {} }),
        'GET /oauth/token/alias/:entity': tokenOperation(facts, { query: tokenFields, form: {}, path: entity }),
      }),
      'GET /oauth/authorize': authorize({ query: authorizationRequest(facts) }),
      'POST /oauth/authorize': authorize({
        summary: 'Begin an authorization, or answer the question of its page',
        form: {
          ...Object.fromEntries(
            Object.entries(authorizationRequest(facts)).map(([name, field]) => [name, { ...field, required: false }]),
          ),
          user_oauth_approval: may('What the person decided.', oneOf(['true', 'false'])),
          [facts.service.csrfName]: may('The anti-forgery value, with a decision.'),
        },
      }),
      'GET /logout.do': logout({ query: logoutFields }),
      'POST /logout.do': logout({
        form: { ...logoutFields, [facts.service.csrfName]: may('The anti-forgery value.') },
      }),
      'GET /userinfo': userinfo(),
      'POST /userinfo': userinfo({ form: { access_token: may('The token, where it is not in a header.') } }),
      ...(!facts.behaviour.getOrPostUserinfo && {
        'PUT /userinfo': userinfo(),
        'DELETE /userinfo': userinfo(),
        'PATCH /userinfo': userinfo(),
      }),
      'GET /session': frame(true),
      'GET /session_management': frame(true),
      'GET /check_session': frame(false),
    },
    schemas: {
      ApprovalQuestion: approvalQuestion(facts.behaviour),
      Tokens: closed(
        {
          access_token: textOrNull,
          token_type: { const: 'bearer' },
          id_token: text,
          refresh_token: text,
          expires_in: whole,
          scope: text,
          jti: text,
          nonce: text,
          az_attr: { type: 'object', additionalProperties: text },
        },
        ['id_token', 'refresh_token', 'nonce', 'az_attr'],
      ),
      UserInfo: open({ sub: text, user_id: text, user_name: text, email: text, name: text }, [
        'sub',
        'user_id',
        'user_name',
      ]),
    },
  }
}
