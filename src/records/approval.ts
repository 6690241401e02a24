// The record of an approval, as UAA's `/approvals` and the database have it.
import { moment, oneOf, own, string } from './kinds.ts'
import { describeRecord } from './record.ts'
import type { RecordOf, RowOf } from './record.ts'

/** The fields of an approval, in the order of answers. */
export const approvalFields = describeRecord({
  zoneId: { kind: own<string>(), column: 'zone_id', storage: 'text' },
  userId: {
    wire: 'userId',
    kind: string,
    column: 'user_id',
    storage: 'text',
    about: 'Id of the user; in a request it may be omitted, or be the id of the caller.',
  },
  clientId: {
    wire: 'clientId',
    kind: string,
    column: 'client_id',
    storage: 'text',
    about: 'The client that was allowed or denied; below `/approvals/{clientId}` it may be omitted.',
  },
  scope: {
    wire: 'scope',
    kind: string,
    column: 'scope',
    storage: 'text',
    required: true,
    schema: { minLength: 1, maxLength: 255 },
    about: 'A scope of the client, or one that the user decided on before.',
  },
  status: {
    wire: 'status',
    kind: oneOf(['APPROVED', 'DENIED']),
    column: 'status',
    storage: 'text',
    required: true,
  },
  updatedAt: {
    wire: 'lastUpdatedAt',
    kind: moment,
    column: 'updated_at',
    storage: 'time',
    show: (value: Date) => value.toISOString(),
    shownAs: string,
    about: 'When the decision was made; now unless given.',
  },
  expiresAt: {
    wire: 'expiresAt',
    kind: moment,
    column: 'expires_at',
    storage: 'time',
    show: (value: Date) => value.toISOString(),
    shownAs: string,
    about: 'When the decision expires; in half an hour unless given.',
  },
})

/** An approval as described. */
export interface ApprovalFields extends RecordOf<typeof approvalFields> {}

/** An approval as the database keeps it. */
export interface ApprovalRow extends RowOf<typeof approvalFields> {}
