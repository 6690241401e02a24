// Explanations.
import { TOKEN_GRANT_TYPES } from '../../../model/clients/grant-types.ts'
import { RULES } from '../../../model/rules.ts'
import type { Area } from '../description.ts'
import { closed, described, json, listOf, oneOf, ref, text, texts, whole } from '../description.ts'

const rule = described(oneOf(Object.keys(RULES)), 'The name of the rule, which does not change.')
const detail = described(text, 'The result of the rule for this request.')
const outcomes = ['granted', 'removed', 'undecided', 'not_requested']
const kind = oneOf(['access_token', 'refresh_token', 'id_token'])
const short = { type: 'string', minLength: 1, maxLength: 2000 }
const token = { type: 'string', minLength: 1, maxLength: 65_536 }

/** What else a planned request may say. */
const details = {
  user_id: described(short, 'The user, by id.'),
  username: described(short, 'The user, by name.'),
  origin: described(short, 'The identity provider of `username`; default: the internal one.'),
  scope: described(token, 'As in the request.'),
  resource: described({ type: ['string', 'array'], items: { type: 'string' }, maxItems: 20 }, 'RFC 8707.'),
  acr_values: described(short, 'As in the authorization request.'),
  token_format: oneOf(['jwt', 'opaque']),
  refresh_token: described(token, 'For a refresh: the token. It is not used up.'),
  subject_token: described(token, 'For an exchange: the access token. It is not used up.'),
  audience: described(short, 'For an exchange.'),
}

const planned = closed(
  {
    client_id: described(short, 'The client of the planned request.'),
    grant_type: oneOf(TOKEN_GRANT_TYPES),
    ...details,
  },
  Object.keys(details),
)

const presented = closed({ token: described(token, 'The value of a token, or the id of one that is stored.') })

const byRequest = closed({ request_id: described(short, '`X-Request-Id` of a refused request.') })
const byEvent = closed({ event: described({ type: 'integer', minimum: 1 }, 'Number of an event of the audit trail.') })

/** `/explain`. */
export const explainArea = (): Area => ({
  name: 'Explanations',
  about: 'Explains the result of a request. Issues, stores and counts nothing, and contacts no provider.',
  operations: {
    'POST /explain': {
      summary: 'Explain a token, a refusal, or a hypothetical request',
      about:
        'The body has `client_id`, `grant_type` and, for most grants, a user; or a `token`; or a refusal, by `request_id` or `event`. The response names the rule behind each scope and claim. Tokens of other issuers are not explained.',
      json: {
        schema: { oneOf: [planned, presented, byRequest, byEvent] },
        example: { client_id: 'app', grant_type: 'password', username: 'ann', scope: 'openid' },
      },
      answers: {
        200: json('The explanation, of a refusal as well.', ref('Explanation')),
        400: 'The body is incomplete, or asks two questions.',
        404: 'The audit trail is not stored, or does not have the event.',
      },
    },
  },
  schemas: {
    Explanation: closed(
      {
        decision: described(
          oneOf(['granted', 'pending', 'refused', 'valid', 'invalid']),
          'Pending: granted once the outstanding steps are done. For a token: whether it is valid.',
        ),
        request: described({ type: 'object' }, 'The request as it was parsed, without tokens.'),
        scopes: listOf(ref('ExplainedScope')),
        tokens: listOf(ref('ExplainedToken')),
        claims: listOf(ref('ExplainedClaim')),
        refusals: described(listOf(ref('ExplainedRefusal')), 'Why nothing is granted.'),
        outstanding: described(listOf(ref('ExplainedReason')), 'What the user or the client has to do.'),
        not_checked: described(texts, 'What only a real request can show.'),
        today: described(
          closed({
            decision: text,
            refusals: listOf(ref('ExplainedRefusal')),
            outstanding: listOf(ref('ExplainedReason')),
            not_checked: texts,
          }),
          'For a token: the result of the same grant now.',
        ),
        recorded: described(ref('RecordedEvent'), 'Of a refusal: what the audit trail has.'),
        events: described(
          listOf(closed({ number: whole, time: text, type: text, data: text }, ['data'])),
          'For a token that is no longer valid: events of the audit trail that may have ended it.',
        ),
      },
      ['today', 'events', 'recorded'],
    ),
    RecordedEvent: closed(
      {
        number: whole,
        type: text,
        time: text,
        principal: text,
        request_id: text,
        client_id: text,
        remote_address: text,
        user_agent: text,
        origin: text,
        data: text,
        refusal: described(
          { type: 'object' },
          'The request, the error that the caller got, and the detail that it did not get.',
        ),
      },
      ['request_id', 'client_id', 'remote_address', 'user_agent', 'origin', 'data', 'refusal'],
    ),
    ExplainedReason: closed({ rule, detail }),
    ExplainedScope: closed(
      {
        scope: text,
        outcome: described(
          oneOf([...outcomes, 'absent']),
          'Undecided: the user has to approve it. Not requested: the request names other scopes. Absent: the token does not have it.',
        ),
        because: listOf(ref('ExplainedReason')),
        today: described(oneOf(outcomes), 'Of a token: what a new one would have.'),
      },
      ['today'],
    ),
    ExplainedToken: closed(
      {
        token: kind,
        outcome: oneOf(['issued', 'not_issued']),
        format: oneOf(['jwt', 'opaque']),
        expires_in: described(whole, 'Seconds.'),
        because: listOf(ref('ExplainedReason')),
      },
      ['format', 'expires_in'],
    ),
    ExplainedClaim: closed(
      {
        claim: text,
        token: kind,
        outcome: oneOf(['present', 'absent']),
        value: { description: 'Left out for ids of single tokens, hashes and absent claims.' },
        because: listOf(ref('ExplainedReason')),
        today: { description: 'For a token: the value in a new token, if it differs; null for none.' },
      },
      ['value', 'today'],
    ),
    ExplainedRefusal: closed({
      rule,
      detail,
      error: described(text, 'The error code that the client gets.'),
      description: described(text, 'The description with it.'),
    }),
  },
})
