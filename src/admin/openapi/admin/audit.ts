// The stored audit trail.
import type { Area } from '../description.ts'
import { closed, described, flag, json, listOf, mayBe, oneOf, ref, text, whole } from '../description.ts'

const time = { type: 'string', format: 'date-time' }
const outcome = oneOf(['success', 'failure'])

/** `/audit/events`. */
export const auditArea = (): Area => ({
  name: 'Audit trail',
  about: 'The stored audit trail of a zone.',
  operations: {
    'GET /audit/events': {
      summary: 'List the events of the zone',
      about:
        'Newest first. A page may have fewer events than requested, or none: more follow as long as the response has `next`.',
      query: {
        principal: mayBe('Id of the user, client or other record that the event is about.'),
        actor: mayBe('Id of the user who changed another user or a record.'),
        client_id: mayBe('The client that was used.'),
        type: mayBe('Type of the event; may be given up to twenty times.'),
        outcome: mayBe('Only successes, or only failures.', outcome),
        from: mayBe('Events since this time.', time),
        to: mayBe('Events until this time.', time),
        before: mayBe('`next` of the page before.', { type: 'integer', minimum: 1 }),
        count: mayBe('Maximum number of events per page.', { type: 'integer', minimum: 1, maximum: 500, default: 100 }),
      },
      answers: {
        200: json('The events.', ref('AuditEvents')),
        400: 'A parameter is invalid.',
        404: 'The server does not store the audit trail.',
      },
    },
  },
  schemas: {
    AuditEvents: closed(
      {
        events: listOf(ref('AuditEvent')),
        next: described(whole, '`before` of the next page; absent on the last one.'),
      },
      ['next'],
    ),
    AuditEvent: closed(
      {
        number: described(whole, 'Consecutive in the zone, from 1.'),
        time,
        type: text,
        outcome,
        principal: described(text, 'Id of the subject of the event; for a name without an account, a digest.'),
        actor: described(text, 'Id of the user whose token was used, if it is not the principal.'),
        clientId: text,
        remoteAddress: text,
        userAgent: text,
        origin: described(text, 'Key of the identity provider.'),
        authenticationType: text,
        byOther: described(flag, 'Whether another user changed the account.'),
        requestId: described(text, 'The request that caused it, where the log names requests.'),
        data: described(text, 'Further facts.'),
        hash: described(text, 'Covers this event and the hash of the one before it.'),
      },
      [
        'actor',
        'clientId',
        'remoteAddress',
        'userAgent',
        'origin',
        'authenticationType',
        'byOther',
        'requestId',
        'data',
      ],
    ),
  },
})
