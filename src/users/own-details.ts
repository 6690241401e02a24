// Changes that users make to their own account: the language and, if the account is kept here, the name.
import { isDeepStrictEqual } from 'node:util'
import { normalized } from '../base/text/normalized.ts'
import { LANGUAGES } from '../model/language.ts'
import type { Language } from '../model/language.ts'
import { MAX_NAME_LENGTH, withFormattedName } from '../model/users/user.ts'
import type { Profile, User } from '../model/users/user.ts'

/** The details that a user changes; absent members stay as they are, an empty name is removed. */
export interface OwnDetails {
  readonly givenName?: string | undefined
  readonly familyName?: string | undefined
  readonly displayName?: string | undefined
  /** `browser` for no language of their own. */
  readonly language?: Language | 'browser' | undefined
}

/** Characters that show nothing, or change how the text around them is read. */
const INVISIBLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/** The name as it is kept, in its composed form; undefined for one that is too long or has control characters. */
export function acceptedName(text: string): string | undefined {
  const name = normalized(text, 'NFC').trim()
  return name.length > MAX_NAME_LENGTH || INVISIBLE.test(name) ? undefined : name
}

/** The language of the pages that a form names; undefined for none of them. */
export const acceptedLanguage = (text: string): OwnDetails['language'] =>
  text === 'browser' ? text : LANGUAGES.find(language => language === text)

/** The user with these details; the same object when nothing changes. */
export function withOwnDetails(user: User, details: OwnDetails): User {
  const { profile: before, givenName: _, familyName: __, ...others } = user
  const { displayName = before?.displayName ?? '', language } = details
  const names = {
    ...kept('givenName', details.givenName ?? user.givenName ?? ''),
    ...kept('familyName', details.familyName ?? user.familyName ?? ''),
  }
  const { displayName: ___, ...restOfProfile } = withLanguage(before ?? {}, language)
  const profile = { ...restOfProfile, ...kept('displayName', displayName) }
  const isEmpty = before === undefined && Object.keys(profile).length === 0
  const after = withFormattedName(user, { ...others, ...names, ...(!isEmpty && { profile }) })
  return isDeepStrictEqual(after, user) ? user : after
}

const kept = <const N extends string>(name: N, value: string): { readonly [K in N]?: string } =>
  value === '' ? {} : ({ [name]: value } as { readonly [K in N]: string }) // a computed name loses its type

/** `locale`, which applications receive, keeps its country as long as its language is the same. */
function withLanguage(profile: Profile, language: OwnDetails['language']): Profile {
  if (language === undefined) return profile
  const { preferredLanguage: _, locale, ...others } = profile
  if (language === 'browser') return others
  const isOfLanguage = locale?.toLowerCase().split(/[-_]/)[0] === language
  return { ...others, preferredLanguage: language, locale: isOfLanguage && locale !== undefined ? locale : language }
}
