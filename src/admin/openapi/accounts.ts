// What login servers and administrators do with accounts by API.
import { schemaOf } from '../../records/json-schema.ts'
import { moment } from '../../records/kinds.ts'
import type { Area } from './description.ts'
import { closed, described, json, milliseconds, must, open, ref, sent, text } from './description.ts'

/** `/Codes`. */
export function accountsArea(): Area {
  return {
    name: 'Accounts',
    about: 'For login servers, and for whoever invites people.',
    operations: {
      'POST /Codes': {
        summary: 'Keep a text for a one-time code',
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
          201: json('Kept for the code.', ref('Code')),
          400: 'A member is missing or malformed, or `expiresAt` is past or more than five years ahead.',
          413: 'The text is too large.',
          415: 'The body is not JSON.',
        },
      },
      'GET /Codes/:code': {
        summary: 'Take the text of a one-time code',
        about: 'The code is used up.',
        path: { code: must('The code.') },
        answers: { 200: json('The text.', ref('Code')), 404: 'Unknown, used or expired.' },
      },
    },
    schemas: {
      Code: closed({
        code: text,
        expiresAt: milliseconds,
        data: text,
        intent: described({ type: 'null' }, 'Always null.'),
      }),
    },
  }
}
