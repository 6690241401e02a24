// The JSON Schema of `user-profile.ts`, apart from it: a start without a file needs none.
import { schemaOf } from '../../records/json-schema.ts'
import { profileKind } from '../../records/profile.ts'
import { PROFILE_MEMBERS } from './user-profile.ts'

type Schemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const profileSchemas = schemaOf(profileKind, 'input')['properties'] as Schemas // of an object

/** The schemas of these members, and of the parts of `name`. */
export const userProfileSchemas: Schemas = {
  ...Object.fromEntries(
    Object.entries(PROFILE_MEMBERS).map(([name, description]) => [name, { ...profileSchemas[name], description }]),
  ),
  customAttributes: {
    ...profileSchemas['custom'],
    description: "The organization's own attributes by name, each a list: claim `user_attributes`.",
  },
}
/** See `userProfileSchemas`. */
export const namePartSchemas = Object(profileSchemas['name']?.['properties']) as Schemas // of an object
