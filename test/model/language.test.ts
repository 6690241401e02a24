import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LANGUAGES, negotiateLanguage } from '../../src/model/language.ts'
import type { Language, LanguagePreferences } from '../../src/model/language.ts'

interface Case extends LanguagePreferences {
  readonly name: string
  readonly want: Language
}

function check(cases: readonly Case[]): void {
  for (const { name, want, ...wishes } of cases) it(name, () => assert.equal(negotiateLanguage(wishes), want))
}

describe('the language of a page', () => {
  for (const language of LANGUAGES) {
    it(`can be ${language}, by ui_locales and by Accept-Language`, () => {
      assert.equal(negotiateLanguage({ uiLocales: language }), language)
      assert.equal(negotiateLanguage({ acceptLanguage: language }), language)
    })
  }
  check([
    { name: 'is English for who asks for nothing', want: 'en' },
    { name: 'is English if an unsupported language is requested', acceptLanguage: 'sv, nb;q=0.9', want: 'en' },
    {
      name: 'is what the application asks for, whatever the browser is set to',
      uiLocales: 'fr',
      acceptLanguage: 'de',
      want: 'fr',
    },
    {
      name: 'is what the browser is set to when there is nothing that the application asks for',
      uiLocales: 'sv nb',
      acceptLanguage: 'de',
      want: 'de',
    },
    {
      name: 'is that of the browser when the application asks for nothing',
      uiLocales: '',
      acceptLanguage: 'de',
      want: 'de',
    },
  ])
})

describe('ui_locales', () => {
  check([
    { name: 'is taken in its order', uiLocales: 'ja de', want: 'ja' },
    { name: 'is passed over where there is nothing for it', uiLocales: 'sv fr-CA fr en', want: 'fr' },
    { name: 'may have any case', uiLocales: 'DE-at', want: 'de' },
    { name: 'may have several blanks', uiLocales: '  es   de ', want: 'es' },
    { name: 'knows no weights', uiLocales: 'de;q=0.1 fr', want: 'fr' },
    { name: 'knows no commas', uiLocales: 'de,fr', acceptLanguage: 'es', want: 'es' },
    { name: 'is not read for ever', uiLocales: `${'sv '.repeat(100_000)}de`, acceptLanguage: 'fr', want: 'fr' },
    { name: 'is not read beyond thirty ranges', uiLocales: `${'sv '.repeat(30)}de`, acceptLanguage: 'fr', want: 'fr' },
    { name: 'is read up to thirty ranges', uiLocales: `${'sv '.repeat(29)}de`, acceptLanguage: 'fr', want: 'de' },
    { name: 'may be of other characters', uiLocales: 'ｄｅ\u0000 \u202e \ud800', acceptLanguage: 'fr', want: 'fr' },
    { name: 'is no name of an object', uiLocales: '__proto__ constructor', want: 'en' },
  ])
})

describe('Accept-Language', () => {
  check([
    { name: 'is shortened from the end (RFC 4647 §3.4)', acceptLanguage: 'de-Latn-CH-1996', want: 'de' },
    { name: 'is shortened through a subtag of one letter', acceptLanguage: 'zh-Hans-x-own', want: 'zh' },
    { name: 'has one Chinese for all', acceptLanguage: 'zh-TW', want: 'zh' },
    { name: 'is no prefix of a word', acceptLanguage: 'deu, english, jam', want: 'en' },
    { name: 'does not begin with what is private', acceptLanguage: 'x-de, fr;q=0.1', want: 'fr' },
    { name: 'is what a browser sends', acceptLanguage: 'de-AT,de;q=0.9,en-US;q=0.8,en;q=0.7', want: 'de' },
    { name: 'goes by weight', acceptLanguage: 'en;q=0.5, fr;q=0.8, de;q=0.7', want: 'fr' },
    { name: 'has a weight of one where none is named', acceptLanguage: 'en;q=0.999, fr', want: 'fr' },
    { name: 'goes by order where the weight is the same', acceptLanguage: 'es;q=0.5, fr;q=0.5', want: 'es' },
    {
      name: 'prefers the heavier range to the one with more subtags',
      acceptLanguage: 'fr-CA;q=0.4, es;q=0.5',
      want: 'es',
    },
    { name: 'may have blanks and tabs', acceptLanguage: ' fr ;\tq=0.2 , es ; q=0.1', want: 'fr' },
    { name: 'may have empty elements', acceptLanguage: ',, ,fr,', want: 'fr' },
    { name: 'may be repeated: the first of equal weight counts', acceptLanguage: 'fr, de, fr, de', want: 'fr' },
    { name: 'may have a weight in capitals', acceptLanguage: 'en;Q=0.1, fr;Q=1.000', want: 'fr' },
    { name: 'takes a language away with a weight of zero', acceptLanguage: 'de;q=0, de-AT, fr;q=0.1', want: 'fr' },
    { name: 'takes it away however the zero is written', acceptLanguage: 'de, de;q=0.000, fr;q=0.1', want: 'fr' },
    { name: 'takes away no more than it names', acceptLanguage: 'de-CH;q=0, de;q=0.5', want: 'de' },
    {
      name: 'takes a region away from the regions below it',
      acceptLanguage: 'de-CH;q=0, de-CH-1996, fr;q=0.1',
      want: 'fr',
    },
    { name: 'falls back to English even where that is refused alone', acceptLanguage: 'en;q=0', want: 'en' },
    { name: 'says nothing by a star', acceptLanguage: '*', want: 'en' },
    { name: 'passes over a star before a language', acceptLanguage: '*, de;q=0.1', want: 'de' },
    { name: 'passes over a refusal of all the rest', acceptLanguage: 'de, *;q=0', want: 'de' },
    { name: 'accepts no star within a range', acceptLanguage: '*-CH, de-*, fr;q=0.1', want: 'fr' },
  ])

  describe('when it is malformed', () => {
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
        name: `has no range with the weight ${JSON.stringify(weight)}`,
        acceptLanguage: `de;${weight}, fr;q=0.001`,
        want: 'fr' as const,
      })),
    )
    check([
      { name: 'may be empty', acceptLanguage: '', want: 'en' },
      { name: 'has no underscores', acceptLanguage: 'de_DE, fr;q=0.1', want: 'fr' },
      { name: 'has no subtag of nine letters', acceptLanguage: 'de-abcdefghi, fr;q=0.1', want: 'fr' },
      { name: 'has no empty subtag', acceptLanguage: 'de-, -de, de--CH, fr;q=0.1', want: 'fr' },
      { name: 'may be nothing but separators', acceptLanguage: ';,;,;;==q', want: 'en' },
      { name: 'may be of other characters', acceptLanguage: 'dé, \u202ede, de\u0000, fr;q=0.1', want: 'fr' },
      { name: 'is not read for ever', acceptLanguage: `${'sv;q=0.1,'.repeat(100_000)}de`, want: 'en' },
      { name: 'may be one word without end', acceptLanguage: 'de'.repeat(100_000), want: 'en' },
      {
        name: 'may be a range without end, which is shortened',
        acceptLanguage: `de${'-a'.repeat(100_000)}`,
        want: 'de',
      },
      { name: 'is no name of an object', acceptLanguage: '__proto__, toString;q=0.5', want: 'en' },
    ])
  })
})
