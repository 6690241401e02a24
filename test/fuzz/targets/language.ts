import assert from 'node:assert/strict'
import fc from 'fast-check'
import { LANGUAGES, languageIn, negotiateLanguage } from '../../../src/model/language.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target } from '../target.ts'

const PIECES = [
  'de',
  'fr',
  'en-GB',
  'zh-Hant-TW',
  '*',
  ',',
  ';',
  'q=0',
  ';q=0.5',
  ';q=1.001',
  ';q=',
  '-',
  '--',
  ' ',
  'x-',
  'DE',
]
const range = fc.constantFrom(
  'de',
  'de-AT',
  'fr-CA;q=0.8',
  'en;q=0',
  'ja;q=1.000',
  'zh-Hans-CN;q=0.1',
  '*;q=0.5',
  'tlh',
)
const header = fc.array(range, { maxLength: 6 }).map(ranges => ranges.join(', '))

/** Whether a range of the header names the language, by its first subtag. */
const names = (header: string, language: string): boolean =>
  header
    .toLowerCase()
    .split(/[ ,;]/)
    .some(each => each.trim().split('-')[0] === language)

/** Accept-Language, ui_locales and the language of an account: one of our languages, and never one that was refused. */
export const language = target({
  name: 'language',
  inputs: fc.tuple(fc.oneof(changed(header, PIECES), jumble(PIECES, 60), anyText), fc.oneof(jumble(PIECES), anyText)),
  check([acceptLanguage, uiLocales]) {
    const answer = negotiateLanguage({ acceptLanguage, uiLocales })
    assert.ok(LANGUAGES.includes(answer))
    assert.ok(answer === LANGUAGES[0] || names(acceptLanguage, answer) || names(uiLocales, answer))
    const found = languageIn(acceptLanguage)
    if (found === undefined) return 'refused'
    assert.ok(names(acceptLanguage, found))
    assert.equal(negotiateLanguage({ preferred: acceptLanguage }), found)
    const isRefused = acceptLanguage
      .slice(0, 1000)
      .split(',', 30)
      .some(each => new RegExp(`^\\s*${found}\\s*;\\s*q=0(?:\\.0{0,3})?\\s*$`, 'i').test(each))
    assert.ok(!isRefused, 'chose a language of weight zero')
    return 'read'
  },
})
