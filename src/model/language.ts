/** The languages that people are addressed in, by their subtag of BCP 47; the first one speaks where nothing else fits. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'ja', 'zh'] as const
/** See `LANGUAGES`. */
export type Language = (typeof LANGUAGES)[number]

/** The client's language preferences; both are untrusted and optional. */
export interface LanguagePreferences {
  /** Ranges in their order, separated by spaces (OpenID Connect Core §3.1.2.1). */
  readonly uiLocales?: string | undefined
  /** The header of RFC 9110 §12.5.4: ranges separated by commas, each with a weight. */
  readonly acceptLanguage?: string | undefined
}

// People name a handful; what comes after this much is not read.
const MAX_HEADER_LENGTH = 1000
const MAX_RANGES = 30

const RANGE = /^(?:[a-z]{1,8}(?:-[a-z0-9]{1,8})*|\*)$/i
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

interface WeighedRange {
  readonly range: string
  readonly weight: number
}

/** The language that fits best: what an application asked for comes before what the browser is set to. */
export function negotiateLanguage({ uiLocales = '', acceptLanguage = '' }: LanguagePreferences): Language {
  const asked = pieces(uiLocales, ' ').map(range => ({ range, weight: 1 }))
  return lookUp(asked) ?? lookUp(pieces(acceptLanguage, ',').flatMap(weigh)) ?? LANGUAGES[0]
}

const pieces = (text: string, separator: string): readonly string[] =>
  text.slice(0, MAX_HEADER_LENGTH).split(separator, MAX_RANGES)

/** One element of the header; none when it is malformed, for a guess would be as good as the next range. */
function weigh(element: string): readonly WeighedRange[] {
  const [range = '', parameter, ...more] = element.split(';').map(part => part.trim())
  const weight = parameter === undefined ? '1' : WEIGHT.exec(parameter)?.[1]
  return weight === undefined || more.length > 0 ? [] : [{ range, weight: Number(weight) }]
}

/**
 * RFC 4647 §3.4: the first range that leads to a language, each shortened from its end until it does. `*` alone says nothing
 * and is passed over; a weight of zero takes a language away.
 */
function lookUp(wishes: readonly WeighedRange[]): Language | undefined {
  const ranges = wishes.filter(({ range }) => RANGE.test(range))
  const refused = new Set(ranges.filter(({ weight }) => weight === 0).map(({ range }) => range.toLowerCase()))
  const wanted = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight)
  for (const { range } of wanted) {
    const subtags = range.toLowerCase().split('-')
    for (let length = subtags.length; length > 0; length--) {
      const tag = subtags.slice(0, length).join('-')
      if (refused.has(tag)) break // and with it whatever it could be shortened to
      const language = LANGUAGES.find(each => each === tag)
      if (language !== undefined) return language
    }
  }
  return undefined
}
