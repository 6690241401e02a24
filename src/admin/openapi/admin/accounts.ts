// The account APIs for login servers and administrators.
import { schemaOf } from '../../../records/json-schema.ts'
import { moment } from '../../../records/kinds.ts'
import type { Area } from '../description.ts'
import {
  closed,
  described,
  flag,
  json,
  listOf,
  mayBe,
  milliseconds,
  must,
  open,
  ref,
  sent,
  text,
  textOrNull,
} from '../description.ts'

/** `/Codes` and `/invite_users`. */
export function accountsArea(): Area {
  return {
    name: 'Accounts',
    about: 'For login servers, and for clients that invite users.',
    operations: {
      'POST /Codes': {
        summary: 'Store a text and get a one-time code for it',
        json: {
          schema: sent(
            open(
              {
                data: { ...text, maxLength: 65_536 },
                expiresAt: described(
                  schemaOf(moment, 'input'),
                  'Milliseconds since 1970, or a date and time; at most five years ahead.',
                ),
              },
              ['data', 'expiresAt'],
            ),
          ),
          example: { data: '{"x":1}', expiresAt: '2030-01-01T00:00:00.000Z' },
        },
        answers: {
          201: json('Stored.', ref('Code')),
          400: 'A member is missing or malformed, or `expiresAt` is past or more than five years ahead.',
          413: 'The text is too large.',
          415: 'The body is not JSON.',
        },
      },
      'GET /Codes/:code': {
        summary: 'Get the text of a one-time code',
        about: 'Consumes the code.',
        path: { code: must('The code.') },
        answers: { 200: json('The text.', ref('Code')), 404: 'Unknown, used or expired.' },
      },
      'POST /invite_users': {
        summary: 'Invite users',
        about:
          'Nothing is mailed: the caller delivers each `inviteLink`, which is valid for seven days. The domain of the address determines the provider.',
        query: {
          redirect_uri: must(
            'Where the user is redirected after the invitation, if the client has registered it at that time.',
            { type: 'string', minLength: 1, maxLength: 2048 },
          ),
          client_id: mayBe('The client whose providers are used; default: that of the token.'),
        },
        json: {
          // Any string: what is not an address is among `failed_invites`.
          schema: open({ emails: { type: 'array', items: { ...text, pattern: '^' }, maxItems: 1000 } }, ['emails']),
          example: { emails: ['kai@shop.example'] },
        },
        answers: {
          200: json('Who was invited, and who was not.', ref('Invitations')),
          400: 'The request is malformed, or there is no such client.',
          413: 'Too many addresses.',
          415: 'The body is not JSON.',
        },
      },
    },
    schemas: {
      Invitations: closed({ new_invites: listOf(ref('Invitation')), failed_invites: listOf(ref('Invitation')) }),
      Invitation: closed({
        email: text,
        userId: textOrNull,
        origin: textOrNull,
        success: flag,
        errorCode: textOrNull,
        errorMessage: textOrNull,
        inviteLink: textOrNull,
      }),
      Code: closed({
        code: text,
        expiresAt: milliseconds,
        data: text,
        intent: described({ type: 'null' }, 'Always null.'),
      }),
    },
  }
}
