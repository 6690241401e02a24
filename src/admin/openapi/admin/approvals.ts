// A user's own approvals.
import { approvalFields } from '../../../records/approval.ts'
import { sentSchemas, shownSchemas } from '../../../records/json-schema.ts'
import type { Area, Operation } from '../description.ts'
import { closed, json, listOf, mayBe, must, open, ref, sent, text } from '../description.ts'

const stored = json('The approvals as stored.', listOf(ref('Approval')))
const client = { clientId: must('Client id.') }
const example = [
  { clientId: 'app', scope: 'cloud.read', status: 'APPROVED', expiresAt: '2035-01-01T00:00:00.000Z' },
  { clientId: 'app', scope: 'openid', status: 'DENIED' },
]

const replacing = (summary: string, more: Partial<Operation> = {}): Operation => ({
  summary,
  about:
    'Applied completely or not at all. A client that has no approval left loses its codes and stored tokens for the user.',
  ...more,
  json: {
    schema: { type: 'array', items: ref('ApprovalToStore'), maxItems: 1000 },
    example: example.slice(0, 1),
  },
  answers: {
    200: stored,
    400: 'An approval is malformed, or for a scope that the client does not have.',
    401: 'An approval is for another user.',
    403: 'The token was not issued for a user.',
    404: 'Client not found.',
  },
})

/** `/approvals` and below. */
export function approvalsArea(): Area {
  return {
    name: 'Approvals',
    about: 'The scopes that the token’s user has approved or denied for clients.',
    operations: {
      'GET /approvals': {
        summary: 'List the approvals of the user',
        about: 'Expired ones are listed too; automatically approved scopes are not.',
        query: {
          startIndex: mayBe('Index of the first, from 1.', { type: 'integer', minimum: 0, maximum: 999_999_999 }),
          count: mayBe('How many, 100 unless given.', { type: 'integer', minimum: 0, maximum: 999_999_999 }),
        },
        answers: { 200: json('The approvals.', listOf(ref('Approval'))), 403: 'The token was not issued for a user.' },
      },
      'PUT /approvals': replacing('Replace all approvals of the user'),
      'PUT /approvals/:clientId': replacing('Replace the approvals of the user for a client', { path: client }),
      'DELETE /approvals': {
        summary: 'Revoke the approvals of the user for a client',
        query: client,
        answers: {
          200: json('Revoked, or never made.', closed({ status: text, message: text })),
          403: 'The token was not issued for a user.',
          404: 'Client not found.',
        },
      },
    },
    schemas: {
      Approval: closed(shownSchemas(approvalFields).properties),
      ApprovalToStore: sent(open(sentSchemas(approvalFields, { nullable: true }), ['scope', 'status'])),
    },
  }
}
