// Profile data of a user beyond names, address and state: the attributes of SCIM 2.0 (RFC 7643 §4.1 and §4.3) and those
// of OpenID Connect's standard claims that SCIM lacks. Kept together, since nothing but answers and claims uses them.
import * as v from 'valibot'
import type { Kind } from './kinds.ts'
import { string } from './kinds.ts'

const MAX_TEXT = 1024
const MAX_VALUES = 100
/** Thumbnails and certificates may be sent inline. */
const MAX_LONG_TEXT = 16_384

const textOf = (max: number) => v.pipe(string, v.maxLength(max, `must have at most ${max} characters`))

const text = textOf(MAX_TEXT)
const longText = textOf(MAX_LONG_TEXT)

/** Optional members, none of them undefined. */
const members = <const T extends v.ObjectEntries>(entries: T) => v.strictObject(entries, 'must be an object')

const many = <const K extends Kind>(kind: K) =>
  v.pipe(
    v.array(kind, 'must be a list'),
    v.maxLength(MAX_VALUES, `must have at most ${MAX_VALUES} entries`),
    v.readonly(),
  )

const value = <const K extends Kind>(kind: K) =>
  v.pipe(
    members({
      value: kind,
      display: v.exactOptional(text),
      type: v.exactOptional(text),
      primary: v.exactOptional(v.boolean('must be true or false')),
    }),
    v.readonly(),
  )

const values = many(value(text))
const longValues = many(value(longText))

/** The parts of a postal address; `formatted` may have several lines. */
const address = v.pipe(
  members({
    formatted: v.exactOptional(text),
    streetAddress: v.exactOptional(text),
    locality: v.exactOptional(text),
    region: v.exactOptional(text),
    postalCode: v.exactOptional(text),
    country: v.exactOptional(text),
    type: v.exactOptional(text),
    primary: v.exactOptional(v.boolean('must be true or false')),
  }),
  v.readonly(),
)

/** RFC 7643 §4.3. */
const enterprise = v.pipe(
  members({
    employeeNumber: v.exactOptional(text),
    costCenter: v.exactOptional(text),
    organization: v.exactOptional(text),
    division: v.exactOptional(text),
    department: v.exactOptional(text),
    manager: v.exactOptional(
      v.pipe(members({ value: v.exactOptional(text), displayName: v.exactOptional(text) }), v.readonly()),
    ),
  }),
  v.readonly(),
)

/** Accepts a profile in its stored form, with the names of SCIM. */
export const profileKind = v.pipe(
  members({
    /** The other parts of the name; given and family name have columns. */
    name: v.exactOptional(
      v.pipe(
        members({
          formatted: v.exactOptional(text),
          middleName: v.exactOptional(text),
          honorificPrefix: v.exactOptional(text),
          honorificSuffix: v.exactOptional(text),
        }),
        v.readonly(),
      ),
    ),
    displayName: v.exactOptional(text),
    nickName: v.exactOptional(text),
    profileUrl: v.exactOptional(text),
    title: v.exactOptional(text),
    userType: v.exactOptional(text),
    preferredLanguage: v.exactOptional(text),
    locale: v.exactOptional(text),
    timezone: v.exactOptional(text),
    /** All of them, when there is more to say than the one address in its column; the primary one is that of the column. */
    emails: v.exactOptional(values),
    /** In the same way; the first number is that of the column. */
    phoneNumbers: v.exactOptional(values),
    ims: v.exactOptional(values),
    photos: v.exactOptional(longValues),
    addresses: v.exactOptional(many(address)),
    entitlements: v.exactOptional(values),
    roles: v.exactOptional(values),
    x509Certificates: v.exactOptional(longValues),
    enterprise: v.exactOptional(enterprise),
    /** OpenID Connect Core §5.1; SCIM has no attribute for these. */
    gender: v.exactOptional(text),
    birthdate: v.exactOptional(text),
    website: v.exactOptional(text),
    /** The organization's own attributes, by name. */
    custom: v.exactOptional(v.pipe(v.record(text, many(text)), v.readonly())),
  }),
  v.readonly(),
)

/** A user's profile; every member is optional. */
export type Profile = v.InferOutput<typeof profileKind>

/** An entry of `emails`, `phoneNumbers` and the like. */
export type ProfileValue = NonNullable<Profile['emails']>[number]
