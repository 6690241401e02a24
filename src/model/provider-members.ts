// The kinds of values that a provider's `config` may have, so that each type's record is a table of names and kinds.
import { isJsonRecord } from '../base/json.ts'

/** How a value is read: `undefined` is unreadable, `null` the same as not set. */
export interface Kind {
  /** What it must be, for a message that begins with "must be". */
  readonly expected: string
  readonly read: (value: unknown) => unknown
}

/** What stands for a member that an answer leaves out. */
export const ABSENT = Symbol('absent')

/** One member of `config`: how it is read, and what an answer shows for it while it is not set. */
export interface Member {
  readonly name: string
  readonly kind: Kind
  readonly unset: unknown
}

/** A member of a table. */
export const member = (name: string, kind: Kind, unset: unknown = null): Member => ({ name, kind, unset })

/** Whether both databases keep the text: no NUL, no half of a surrogate pair. */
export const isPlainText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** Any text. */
export const TEXT: Kind = { expected: 'a string', read: value => (isPlainText(value) ? value : undefined) }

/** A boolean; the words for one are understood as well. */
export const FLAG: Kind = {
  expected: 'true or false',
  read: value => (typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : undefined),
}

const MAX_INT32 = 2 ** 31 - 1

/** Whether it is a whole number that every client can hold. */
export const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MAX_INT32

/** A whole number. */
export const WHOLE: Kind = { expected: 'a whole number', read: value => (isWhole(value) ? value : undefined) }

/** Each is compared with what every sign-in brings. */
const MAX_STRINGS = 1000

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length <= MAX_STRINGS && value.every(isPlainText)

/** A list of texts. */
export const TEXTS: Kind = { expected: 'a list of texts', read: value => (isTexts(value) ? value : undefined) }

/** One of the words. */
export const oneOf = (...words: readonly string[]): Kind => ({
  expected: `one of ${words.join(', ')}`,
  read: value => (words.some(word => word === value) ? value : undefined),
})

/** An http or https address; an empty one is not set. */
export const URL_TEXT: Kind = {
  expected: 'an http or https URL',
  read(value) {
    if (value === '') return null
    if (!isPlainText(value) || !URL.canParse(value)) return undefined
    return /^https?:$/.test(new URL(value).protocol) ? value : undefined
  },
}

/** Any object. */
export const OBJECT: Kind = { expected: 'an object', read: value => (isJsonRecord(value) ? value : undefined) }

/** An object whose members are texts. */
export const TEXT_MAP: Kind = {
  expected: 'an object of texts',
  read: value => (isJsonRecord(value) && Object.values(value).every(isPlainText) ? value : undefined),
}

/** Names of attributes or claims, each alone or several for one thing. */
export const MAPPINGS: Kind = {
  expected: 'an object of texts and lists of texts',
  read: value =>
    isJsonRecord(value) && Object.values(value).every(each => each === null || isPlainText(each) || isTexts(each))
      ? Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))
      : undefined,
}

/** A list of objects with exactly these members, each a string. */
export const listOfRecords = (...names: readonly string[]): Kind => ({
  expected: `a list of objects with ${names.join(', ')}`,
  read(value) {
    if (!Array.isArray(value)) return undefined
    const records = value.map((each: unknown) => (isJsonRecord(each) ? names.map(name => each[name]) : []))
    if (!records.every(values => values.length === names.length && values.every(isPlainText))) return undefined
    return records.map(values => Object.fromEntries(names.map((name, place) => [name, values[place]])))
  },
})

/** Members of every type (§6.2). */
export const COMMON_MEMBERS: readonly Member[] = [
  member('emailDomain', TEXTS),
  member('additionalConfiguration', OBJECT),
  member('providerDescription', TEXT),
]

/** Members of the types whose people are known elsewhere (§6.2). */
export const EXTERNAL_MEMBERS: readonly Member[] = [
  ...COMMON_MEMBERS,
  member('externalGroupsWhitelist', TEXTS, []),
  member('attributeMappings', MAPPINGS, {}),
  member('addShadowUserOnLogin', FLAG, true),
  member('storeCustomAttributes', FLAG, true),
  // Whether a verified address finds an account that nobody signed in to yet; no member of the reference system's answers.
  member('linkByEmail', FLAG, ABSENT),
]
