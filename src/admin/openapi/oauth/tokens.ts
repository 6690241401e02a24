// Introspection, listing and revocation of tokens.
import type { Area, Facts, Fields, Operation, Schema } from '../description.ts'
import {
  closed,
  described,
  empty,
  flag,
  json,
  listOf,
  may,
  milliseconds,
  must,
  oneOf,
  open,
  ref,
  text,
  textOrNull,
  texts,
  whole,
  repeatedIn,
} from '../description.ts'
import { ASSERTION_FIELDS, CLIENT_FIELDS } from './oauth.ts'

const revoked = (what: string, path: Fields): Operation => ({
  summary: `Revoke ${what}`,
  path,
  answers: {
    200: empty('Revoked.'),
    403: 'The token belongs to another caller, and the caller lacks the scope.',
    404: 'Not found.',
  },
})

const user = { userId: must('Id of the user.') }
const client = { clientId: must('Client id.') }
const userOfSessions = { id: must('Id of the user.') }
const ANY_METHOD = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']

const listed = (of: string, name: string): Operation => ({
  summary: `List the stored tokens of a ${of}`,
  wildcard: name,
  path: { [name]: must(`Id of the ${of}.`) },
  answers: { 200: json('The tokens, without their values.', listOf(ref('StoredToken'))) },
})

const byAnyMethod = (path: string, operation: Operation): Readonly<Record<string, Operation>> =>
  Object.fromEntries(ANY_METHOD.map(method => [`${method} ${path}`, operation]))

/** Claims of access tokens. */
const CLAIMS: Readonly<Record<string, Schema>> = {
  sub: text,
  user_id: text,
  user_name: text,
  origin: text,
  email: text,
  client_id: text,
  cid: text,
  azp: text,
  client_auth_method: text,
  authorities: texts,
  aud: texts,
  iss: text,
  zid: text,
  jti: text,
  iat: whole,
  exp: whole,
  auth_time: whole,
  amr: texts,
  acr: { type: ['string', 'object'] },
  grant_type: text,
  rev_sig: text,
  nonce: text,
  az_attr: { type: 'object', additionalProperties: text },
  cnf: { type: 'object' },
  act: { type: 'object' },
  revocable: described(flag, 'Whether the token is stored.'),
}

const inspected = (fields: Fields): Fields => ({ ...fields, ...CLIENT_FIELDS, ...ASSERTION_FIELDS })

/** Introspection, revocation and lists. */
export function tokensArea(facts: Facts): Area {
  const refusesRepeated = repeatedIn(facts.behaviour)
  const token = { token: must('The token.'), token_type_hint: may('The type of the token.') }
  const checked = { token: must('The token.'), scopes: may('Comma-separated scopes that the token must have.') }
  const check: Operation = {
    summary: 'Inspect a token (UAA)',
    answers: {
      200: json('The claims of the token.', ref('CheckedToken')),
      400: 'The token is invalid or lacks a scope.',
      403: `The client lacks ${facts.service.scope('resource')}.`,
      406: 'Parameters in the query are not allowed.',
    },
  }
  return {
    name: 'Tokens',
    about: 'Inspecting, listing and revoking tokens.',
    operations: {
      'POST /introspect': {
        summary: 'Inspect a token',
        refusesRepeated,
        about: 'RFC 7662, and RFC 9701 with `Accept: application/token-introspection+jwt`.',
        credentials: ['form', 'bearer'],
        form: inspected(token),
        answers: {
          200: {
            about: 'The claims of the token, or `"active": false`.',
            content: { 'application/json': ref('Introspection'), 'application/token-introspection+jwt': text },
          },
          400: 'A parameter is missing.',
          403: `The caller lacks ${facts.service.scope('resource')}.`,
        },
      },
      'POST /check_token': { ...check, form: checked, refusesRepeated },
      ...(facts.settings.queryString && {
        'GET /check_token': { ...check, query: { token: checked.token, scope: checked.scopes } },
        'PUT /check_token': { ...check, form: { token: checked.token, scope: checked.scopes } },
        'DELETE /check_token': { ...check, form: { token: checked.token, scope: checked.scopes } },
        'PATCH /check_token': { ...check, form: { token: checked.token, scope: checked.scopes } },
      }),
      'POST /oauth/revoke': {
        summary: 'Revoke a token of the calling client',
        refusesRepeated,
        about: 'RFC 7009.',
        credentials: ['form', 'none'],
        form: inspected(token),
        answers: {
          200: json('Revoked, or already invalid: an empty object.', closed({})),
          400: 'A parameter is missing, or the token belongs to another client.',
        },
      },
      ...byAnyMethod('/oauth/token/revoke/user/:userId', revoked('all tokens of a user', user)),
      ...byAnyMethod(
        '/oauth/token/revoke/user/:userId/client/:clientId',
        revoked('the codes and stored tokens of a user with a client, and JWTs of the same grants', {
          ...user,
          ...client,
        }),
      ),
      ...byAnyMethod('/oauth/token/revoke/client/:clientId', revoked('all tokens of a client', client)),
      'DELETE /oauth/token/revoke/:tokenId': revoked('one token', {
        tokenId: must('Id of the token, or the token itself.'),
      }),
      'GET /oauth/token/list/user/*': listed('user', 'userId'),
      'GET /oauth/token/list/client/*': listed('client', 'clientId'),
      'GET /Users/:id/sessions': {
        summary: 'List the sessions of a user',
        about: 'Where the user is signed in with a browser. UAA has no such endpoint.',
        path: userOfSessions,
        answers: { 200: json('The sessions, at most 100.', listOf(ref('UserSession'))), 404: 'User not found.' },
      },
      'DELETE /Users/:id/sessions': {
        summary: 'End all sessions and tokens of a user',
        about: 'Ends sessions, codes, passcodes and tokens at once. The password stays. UAA has no such endpoint.',
        path: userOfSessions,
        answers: { 204: empty('Ended.'), 404: 'User not found.' },
      },
    },
    schemas: {
      Introspection: open(
        {
          active: flag,
          ...CLAIMS,
          scope: facts.behaviour.standardIntrospection ? text : texts,
          username: text,
          token_type: text,
        },
        ['active'],
      ),
      CheckedToken: open({ ...CLAIMS, scope: texts }, ['scope', 'client_id', 'exp', 'jti']),
      UserSession: closed(
        {
          signedInAt: text,
          lastSeenAt: text,
          expiresAt: text,
          methods: described(texts, 'How the user signed in, as `amr` has it.'),
          userAgent: text,
          remoteAddress: described(text, 'The IP address that the user signed in from.'),
          clients: described(texts, 'Ids of the clients that the user signed in to with this session.'),
        },
        ['userAgent', 'remoteAddress'],
      ),
      StoredToken: closed({
        tokenId: text,
        clientId: text,
        userId: textOrNull,
        format: oneOf(['jwt', 'opaque']),
        responseType: text,
        issuedAt: milliseconds,
        expiresAt: milliseconds,
        scope: text,
        value: { type: 'null' },
        zoneId: text,
      }),
    },
  }
}
