// The record of a group, as `/Groups`, the configuration and the database have it. Its members are rows of their own.
import { string } from './kinds.ts'
import { describeRecord } from './record.ts'
import type { RecordOf, RowOf } from './record.ts'
import { keyFields, metaFields } from './resource.ts'

/** UAA's columns have as many characters. */
export const MAX_GROUP_TEXT = 255

/** The fields of a group. */
export const groupFields = describeRecord({
  ...keyFields,
  /** As written; unique in the zone, case-insensitively. */
  displayName: {
    wire: 'displayName',
    kind: string,
    column: 'display_name',
    storage: 'text',
    required: true,
    filter: 'text',
    sort: true,
    schema: { minLength: 1, maxLength: MAX_GROUP_TEXT },
    about: 'The scope that its members may receive in tokens; unique in the zone, case-insensitively.',
  },
  description: {
    wire: 'description',
    kind: string,
    column: 'description',
    storage: 'text',
    optional: true,
    filter: 'text',
    sort: true,
    schema: { maxLength: MAX_GROUP_TEXT },
    about: 'Shown to users who are asked to approve the scope.',
  },
  /** The group's id in the system that provides it; SCIM 2.0 has it. */
  externalId: { kind: string, column: 'external_id', storage: 'text', optional: true },
  ...metaFields,
})

/** A group as described. */
export interface GroupFields extends RecordOf<typeof groupFields> {}

/** A group as the database keeps it, without what is only there to find it. */
export interface GroupFieldsRow extends RowOf<typeof groupFields> {}
