// The fields that users and groups have in common, with UAA's names in filters.
import { own } from './kinds.ts'
import { describeRecord } from './record.ts'

/** Where the record is. */
export const keyFields = describeRecord({
  zoneId: { wire: 'zoneId', sent: 'never', kind: own<string>(), column: 'zone_id', storage: 'text' },
  id: { wire: 'id', sent: 'never', kind: own<string>(), column: 'id', storage: 'text', filter: 'text', sort: true },
})

/** What SCIM calls `meta`. */
export const metaFields = describeRecord({
  /** Counts the changes through the APIs, but not those of a group's single members; the ETag. */
  version: {
    kind: own<number>(),
    column: 'version',
    storage: 'integer',
    attribute: 'version',
    filter: 'number',
    sort: true,
  },
  createdAt: {
    kind: own<Date>(),
    column: 'created_at',
    storage: 'time',
    attribute: 'created',
    filter: 'date',
    sort: true,
  },
  updatedAt: {
    kind: own<Date>(),
    column: 'updated_at',
    storage: 'time',
    attribute: 'lastmodified',
    filter: 'date',
    sort: true,
  },
})
