// The record of an identity provider, and what the settings of its types have in common (§6.2 of the interface's page). One
// file next to this one describes the settings of each type.
import * as v from 'valibot'
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { isParsableUrl } from '../base/text/parsable-url.ts'
import { flag, MAX_SECONDS, milliseconds, own, string } from './kinds.ts'
import { LEVELS } from './levels.ts'
import type { Level } from './levels.ts'
import { describeRecord } from './record.ts'
import type { RecordOf, RowOf } from './record.ts'
import { section, setting } from './settings.ts'
import type { Secret, Setting } from './settings.ts'

const TIME = {
  sent: 'never',
  kind: own<Date>(),
  storage: 'time',
  show: (value: Date) => value.getTime(),
  shownAs: milliseconds,
} as const
const VERSION = 'must be a whole number that is not negative'

/** The members of every provider, in the order of an answer. */
export const providerFields = describeRecord({
  type: { wire: 'type', kind: string, column: 'type', storage: 'text' },
  /** Each type knows its own members; the secrets in it are sealed. */
  config: {
    wire: 'config',
    sent: 'never', // read by the description of the type
    kind: own<JsonRecord>(),
    column: 'config',
    storage: 'json',
    schema: { type: ['string', 'object', 'null'] },
    about: 'The settings of the type, as an object or a JSON string.',
  },
  id: { wire: 'id', sent: 'never', kind: string, column: 'id', storage: 'text' },
  originKey: {
    wire: 'originKey',
    kind: string,
    column: 'origin_key',
    storage: 'text',
    required: true,
    schema: { minLength: 1, maxLength: 36 },
    about: 'Unique in the zone.',
  },
  name: {
    wire: 'name',
    kind: string,
    column: 'name',
    storage: 'text',
    required: true,
    schema: { minLength: 1, maxLength: 255 },
  },
  version: {
    wire: 'version',
    // One below the largest, so that there is a next one.
    kind: v.pipe(v.number(VERSION), v.integer(VERSION), v.minValue(0, VERSION), v.maxValue(MAX_SECONDS - 1, VERSION)),
    column: 'version',
    storage: 'integer',
  },
  createdAt: { ...TIME, wire: 'created', column: 'created_at', about: 'Milliseconds since 1970.' },
  updatedAt: { ...TIME, wire: 'last_modified', column: 'updated_at', about: 'Milliseconds since 1970.' },
  active: { wire: 'active', kind: v.boolean('must be true or false'), column: 'active', storage: 'flag' },
  zoneId: { wire: 'identityZoneId', sent: 'never', kind: string, column: 'zone_id', storage: 'text' },
  /** The copy of this record in another zone, which every change of either changes. */
  aliasId: { wire: 'aliasId', kind: string, column: 'alias_id', storage: 'text', optional: true },
  aliasZoneId: { wire: 'aliasZid', kind: string, column: 'alias_zone_id', storage: 'text', optional: true },
  /** Its issuer or SAML entity id, unique among the providers of its type in the zone. */
  externalKey: { kind: string, column: 'external_key', storage: 'text', optional: true },
})

/** A source of identities as it is configured: the internal accounts, or an LDAP, SAML or OpenID Connect provider. */
export type IdentityProvider = RecordOf<typeof providerFields>

/** Its row. */
export type ProviderRow = RowOf<typeof providerFields>

/** The rest of a setting. */
type More = Partial<Pick<Setting, 'about' | 'schema'>>

/** Any string that the database can keep. */
export const text = <const U>(unset: U, more: More & { readonly secret?: Secret } = {}) =>
  setting({ kind: string, needs: 'a string', unset, ...more })

/** A boolean, or the word for one. */
export const boolean = <const U>(unset: U, more: More = {}) =>
  setting({ kind: flag, needs: 'true or false', unset, ...more })

const whole = v.pipe(v.number(), v.integer(), v.minValue(-MAX_SECONDS), v.maxValue(MAX_SECONDS))

/** A whole number of 32 bits; `needs` where a rule next to the description demands more. */
export const number = <const U>(unset: U, { needs = 'a whole number' } = {}) => setting({ kind: whole, needs, unset })

/** Each is compared at every sign-in. */
const MAX_STRINGS = 1000
const listOfStrings = v.pipe(v.array(string), v.maxLength(MAX_STRINGS), v.readonly())

/** A list of strings. */
export const stringList = <const U>(unset: U, more: More = {}) =>
  setting({ kind: listOfStrings, needs: 'a list of strings', unset, ...more })

/** One of the words. */
export const choice = <const W extends readonly string[], const U>(words: W, unset: U) =>
  setting({ kind: v.picklist(words), needs: `one of ${words.join(', ')}`, unset })

const isWebAddress = (value: string): boolean => isParsableUrl(value) && /^https?:$/.test(new URL(value).protocol)

const webAddress = v.pipe(
  string,
  v.check(value => value === '' || isWebAddress(value)),
  v.transform(value => value || undefined),
)

/** An http or https address; an empty one is not set. */
export const url = <const U>(unset: U, more: More = {}) =>
  setting({ kind: webAddress, needs: 'an http or https URL', unset, ...more })

/** An address, or the image itself; UAA's clients also send an empty string. */
export const image = <const U>(unset: U) =>
  setting({
    kind: v.pipe(
      string,
      v.check(value => value === '' || isWebAddress(value) || /^data:image\//i.test(value)),
      v.transform(value => value || undefined),
    ),
    needs: 'an http or https URL, or a data: URL of an image',
    unset,
  })

// An array is an object to valibot, and `record` drops keys like "constructor".
const objectOf = <T>(is: (value: unknown) => value is T) =>
  v.custom<Readonly<Record<string, T>>>(value => isJsonRecord(value) && Object.values(value).every(is))

const isText = (value: unknown): value is string => v.is(string, value)
const isNames = (value: unknown): value is string | readonly string[] | null =>
  value === null || isText(value) || v.is(listOfStrings, value)

/** Any object. */
const object = <const U>(unset: U) =>
  setting({ kind: v.custom<JsonRecord>(isJsonRecord), needs: 'an object', unset, schema: { type: 'object' } })

/** An object whose members are strings. */
export const stringMap = <const U>(unset: U) =>
  setting({
    kind: objectOf(isText),
    needs: 'an object of strings',
    unset,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  })

/** Each is done for every sign-in, with a claim that may have thousands of values. */
const MAX_MAPPINGS = 200

/** Names of attributes or claims, each alone or several for one thing. */
const mappings = setting({
  kind: v.pipe(
    objectOf(isNames),
    v.check(value => Object.keys(value).length <= MAX_MAPPINGS),
    v.transform(value => Object.fromEntries(Object.entries(value).filter(([, names]) => names !== null))),
  ),
  needs: `an object of strings and lists of strings, with at most ${MAX_MAPPINGS} members`,
  unset: {},
  about:
    'Claims or attributes, by their target: user_name, email, given_name, external_groups, user.attribute.<name> and others; external_id names the claim that identifies users of an OAuth 2.0 provider.',
  schema: {
    type: 'object',
    additionalProperties: { type: ['string', 'array', 'null'], items: { type: 'string' } },
  },
})

/** Which level of a sign-in (`model/sessions/assurance.ts`) each class of the provider stands for. */
export const acrMapping = setting({
  kind: v.pipe(
    objectOf((value): value is Level => v.is(v.picklist(LEVELS), value)),
    v.check(value => Object.keys(value).length <= MAX_MAPPINGS),
  ),
  needs: `an object of ${LEVELS.join(', ')}, with at most ${MAX_MAPPINGS} members`,
  unset: undefined,
  about:
    'Levels of a sign-in, by the authentication context class that the provider sends; any other class is level 1.',
  schema: { type: 'object', additionalProperties: { type: 'string', enum: LEVELS } },
})

const MAX_WILDCARDS = 5

/** Whether a pattern of group names can be compared with every group of every sign-in. */
export const isGroupPattern = (pattern: string): boolean =>
  pattern.split('*', MAX_WILDCARDS + 2).length <= MAX_WILDCARDS + 1

const groupPatterns = setting({
  kind: v.pipe(
    listOfStrings,
    v.check(patterns => patterns.every(isGroupPattern)),
  ),
  needs: `a list of strings with at most ${MAX_WILDCARDS} wildcards each`,
  unset: [],
  about: 'Groups of the provider that are accepted at sign-in; * is a wildcard.',
})

/** A list of objects, each with exactly these strings. */
export const listOfRecords = <const N extends string, const U>(names: readonly N[], unset: U) => {
  const entries = Object.fromEntries(names.map(name => [name, string])) as { [K in N]: typeof string } // of all names
  return setting({
    kind: v.pipe(v.array(v.pipe(v.custom<JsonRecord>(isJsonRecord), v.object(entries))), v.readonly()),
    needs: `a list of objects with ${names.join(', ')}`,
    unset,
    schema: {
      items: {
        type: 'object',
        required: names,
        properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])),
      },
    },
  })
}

/** Members of every type. */
export const commonMembers = {
  emailDomain: stringList(null, { about: 'Domains of its users; * stands for one label.' }),
  additionalConfiguration: object(null),
  providerDescription: text(null),
}

/** Members of the types whose users are known elsewhere. */
export const externalMembers = {
  ...commonMembers,
  externalGroupsWhitelist: groupPatterns,
  attributeMappings: mappings,
  addShadowUserOnLogin: boolean(true, { about: 'Whether the first sign-in creates an account.' }),
  storeCustomAttributes: boolean(true, { about: 'Whether roles and mapped attributes are stored with the account.' }),
  linkByEmail: boolean(undefined, {
    about: 'Whether a verified e-mail address links to an account of this origin that was never signed in to.',
  }),
}

/** A provider that is stored although nobody can sign in through it; `additionalConfiguration` has its settings. */
export const keystoneSettings = section({ unknown: 'ignored', members: externalMembers })
