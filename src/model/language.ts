/** The languages of the pages, by their BCP 47 subtag; the first one is the default. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'ja', 'zh'] as const
/** See `LANGUAGES`. */
export type Language = (typeof LANGUAGES)[number]

/** The names of `LANGUAGES` in those languages: a user who looks for one may not read that of the page. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  ja: '日本語',
  zh: '简体中文',
}

/** Language preferences; all are untrusted and optional. */
export interface LanguagePreferences {
  /** Language ranges in order of preference, separated by spaces (OpenID Connect Core §3.1.2.1). */
  readonly uiLocales?: string | undefined
  /** The account's language, in the form of `Accept-Language`. */
  readonly preferred?: string | undefined
  /** The `Accept-Language` header (RFC 9110 §12.5.4). */
  readonly acceptLanguage?: string | undefined
}

// More than any real header; the rest is ignored.
const MAX_HEADER_LENGTH = 1000
const MAX_RANGES = 30

const RANGE = /^(?:[a-z]{1,8}(?:-[a-z0-9]{1,8})*|\*)$/i
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

interface WeighedRange {
  readonly range: string
  readonly weight: number
}

/** Negotiates the language: `ui_locales` of the application comes before the account, and that before the browser. */
export function negotiateLanguage({ uiLocales = '', preferred, acceptLanguage }: LanguagePreferences): Language {
  const asked = pieces(uiLocales, ' ').map(range => ({ range, weight: 1 }))
  return lookUp(asked) ?? languageIn(preferred) ?? languageIn(acceptLanguage) ?? LANGUAGES[0]
}

/** The first language of the pages in a text of the form of `Accept-Language`. */
export const languageIn = (ranges = ''): Language | undefined => lookUp(pieces(ranges, ',').flatMap(parseRange))

const pieces = (text: string, separator: string): readonly string[] =>
  text.slice(0, MAX_HEADER_LENGTH).split(separator, MAX_RANGES)

/** Parses one element of the header; ignores a malformed one. */
function parseRange(element: string): readonly WeighedRange[] {
  const [range = '', parameter, ...more] = element.split(';').map(part => part.trim())
  const weight = parameter === undefined ? '1' : WEIGHT.exec(parameter)?.[1]
  return weight === undefined || more.length > 0 ? [] : [{ range, weight: Number(weight) }]
}

/**
 * RFC 4647 §3.4 (lookup): the language of the first range that matches, each range being shortened from its end.
 * Ignores `*`; a weight of zero excludes a language.
 */
function lookUp(preferences: readonly WeighedRange[]): Language | undefined {
  const ranges = preferences.filter(({ range }) => RANGE.test(range))
  const refused = new Set(ranges.filter(({ weight }) => weight === 0).map(({ range }) => range.toLowerCase()))
  const wanted = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight)
  for (const { range } of wanted) {
    const subtags = range.toLowerCase().split('-')
    for (let length = subtags.length; length > 0; length--) {
      const tag = subtags.slice(0, length).join('-')
      if (refused.has(tag)) break // excludes its shortened forms, too
      const language = LANGUAGES.find(each => each === tag)
      if (language !== undefined) return language
    }
  }
  return undefined
}
