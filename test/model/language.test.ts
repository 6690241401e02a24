import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LANGUAGES, negotiateLanguage } from '../../src/model/language.ts'
import type { Language, LanguagePreferences } from '../../src/model/language.ts'

interface Case extends LanguagePreferences {
  readonly name: string
  readonly want: Language
}

function check(cases: readonly Case[]): void {
  for (const { name, want, ...preferences } of cases) it(name, () => assert.equal(negotiateLanguage(preferences), want))
}

describe('negotiateLanguage', () => {
  for (const language of LANGUAGES) {
    it(`chooses ${language} by ui_locales and by Accept-Language`, () => {
      assert.equal(negotiateLanguage({ uiLocales: language }), language)
      assert.equal(negotiateLanguage({ acceptLanguage: language }), language)
    })
  }
  check([
    { name: 'defaults to English', want: 'en' },
    { name: 'falls back to English for unsupported languages', acceptLanguage: 'sv, nb;q=0.9', want: 'en' },
    {
      name: 'prefers ui_locales to Accept-Language',
      uiLocales: 'fr',
      acceptLanguage: 'de',
      want: 'fr',
    },
    {
      name: 'falls back to Accept-Language if ui_locales has no supported language',
      uiLocales: 'sv nb',
      acceptLanguage: 'de',
      want: 'de',
    },
    {
      name: 'falls back to Accept-Language if ui_locales is empty',
      uiLocales: '',
      acceptLanguage: 'de',
      want: 'de',
    },
  ])
})

describe('ui_locales', () => {
  check([
    { name: 'is in order of preference', uiLocales: 'ja de', want: 'ja' },
    { name: 'skips unsupported languages', uiLocales: 'sv fr-CA fr en', want: 'fr' },
    { name: 'is case-insensitive', uiLocales: 'DE-at', want: 'de' },
    { name: 'accepts several spaces between languages', uiLocales: '  es   de ', want: 'es' },
    { name: 'does not support weights', uiLocales: 'de;q=0.1 fr', want: 'fr' },
    { name: 'does not support commas', uiLocales: 'de,fr', acceptLanguage: 'es', want: 'es' },
    {
      name: 'accepts an extremely long value',
      uiLocales: `${'sv '.repeat(100_000)}de`,
      acceptLanguage: 'fr',
      want: 'fr',
    },
    { name: 'is ignored after thirty ranges', uiLocales: `${'sv '.repeat(30)}de`, acceptLanguage: 'fr', want: 'fr' },
    { name: 'is read up to the thirtieth range', uiLocales: `${'sv '.repeat(29)}de`, acceptLanguage: 'fr', want: 'de' },
    { name: 'ignores other characters', uiLocales: 'ｄｅ\u0000 \u202e \ud800', acceptLanguage: 'fr', want: 'fr' },
    { name: 'ignores names of Object.prototype', uiLocales: '__proto__ constructor', want: 'en' },
  ])
})

describe('Accept-Language', () => {
  check([
    { name: 'truncates ranges from the end (RFC 4647 §3.4)', acceptLanguage: 'de-Latn-CH-1996', want: 'de' },
    { name: 'truncates single-letter subtags', acceptLanguage: 'zh-Hans-x-own', want: 'zh' },
    { name: 'maps every Chinese range to the only Chinese texts', acceptLanguage: 'zh-TW', want: 'zh' },
    { name: 'does not match prefixes of words', acceptLanguage: 'deu, english, jam', want: 'en' },
    { name: 'ignores private-use ranges', acceptLanguage: 'x-de, fr;q=0.1', want: 'fr' },
    { name: 'accepts the header of a browser', acceptLanguage: 'de-AT,de;q=0.9,en-US;q=0.8,en;q=0.7', want: 'de' },
    { name: 'orders by weight', acceptLanguage: 'en;q=0.5, fr;q=0.8, de;q=0.7', want: 'fr' },
    { name: 'has a default weight of 1', acceptLanguage: 'en;q=0.999, fr', want: 'fr' },
    { name: 'keeps the order of equal weights', acceptLanguage: 'es;q=0.5, fr;q=0.5', want: 'es' },
    {
      name: 'prefers the higher weight to the more specific range',
      acceptLanguage: 'fr-CA;q=0.4, es;q=0.5',
      want: 'es',
    },
    { name: 'accepts spaces and tabs', acceptLanguage: ' fr ;\tq=0.2 , es ; q=0.1', want: 'fr' },
    { name: 'accepts empty elements', acceptLanguage: ',, ,fr,', want: 'fr' },
    { name: 'keeps the first of repeated ranges', acceptLanguage: 'fr, de, fr, de', want: 'fr' },
    { name: 'accepts a weight in upper case', acceptLanguage: 'en;Q=0.1, fr;Q=1.000', want: 'fr' },
    { name: 'excludes a language with weight 0', acceptLanguage: 'de;q=0, de-AT, fr;q=0.1', want: 'fr' },
    { name: 'excludes a language with weight 0.000', acceptLanguage: 'de, de;q=0.000, fr;q=0.1', want: 'fr' },
    { name: 'does not exclude the language of an excluded region', acceptLanguage: 'de-CH;q=0, de;q=0.5', want: 'de' },
    {
      name: 'excludes the variants of an excluded region',
      acceptLanguage: 'de-CH;q=0, de-CH-1996, fr;q=0.1',
      want: 'fr',
    },
    { name: 'falls back to English even if it is excluded', acceptLanguage: 'en;q=0', want: 'en' },
    { name: 'ignores a wildcard', acceptLanguage: '*', want: 'en' },
    { name: 'ignores a wildcard before a language', acceptLanguage: '*, de;q=0.1', want: 'de' },
    { name: 'ignores a wildcard with weight 0', acceptLanguage: 'de, *;q=0', want: 'de' },
    { name: 'ignores ranges that contain a wildcard', acceptLanguage: '*-CH, de-*, fr;q=0.1', want: 'fr' },
  ])

  describe('with malformed input', () => {
    const weights = [
      'q=2',
      'q=1.001',
      'q=-1',
      'q=.5',
      'q=0.5555',
      'q=1e0',
      'q=',
      'q',
      'q = 1',
      'q=0.5;q=1',
      'level=1',
      '',
    ]
    check(
      weights.map(weight => ({
        name: `ignores a range with the weight ${JSON.stringify(weight)}`,
        acceptLanguage: `de;${weight}, fr;q=0.001`,
        want: 'fr' as const,
      })),
    )
    check([
      { name: 'accepts an empty header', acceptLanguage: '', want: 'en' },
      { name: 'ignores a range with an underscore', acceptLanguage: 'de_DE, fr;q=0.1', want: 'fr' },
      { name: 'ignores a range with a subtag of nine letters', acceptLanguage: 'de-abcdefghi, fr;q=0.1', want: 'fr' },
      { name: 'ignores a range with an empty subtag', acceptLanguage: 'de-, -de, de--CH, fr;q=0.1', want: 'fr' },
      { name: 'accepts only separators', acceptLanguage: ';,;,;;==q', want: 'en' },
      { name: 'ignores other characters', acceptLanguage: 'dé, \u202ede, de\u0000, fr;q=0.1', want: 'fr' },
      { name: 'accepts an extremely long header', acceptLanguage: `${'sv;q=0.1,'.repeat(100_000)}de`, want: 'en' },
      { name: 'accepts one extremely long word', acceptLanguage: 'de'.repeat(100_000), want: 'en' },
      {
        name: 'truncates an extremely long range',
        acceptLanguage: `de${'-a'.repeat(100_000)}`,
        want: 'de',
      },
      { name: 'ignores names of Object.prototype', acceptLanguage: '__proto__, toString;q=0.5', want: 'en' },
    ])
  })
})
