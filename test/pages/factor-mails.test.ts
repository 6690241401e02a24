import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LANGUAGES } from '../../src/model/language.ts'
import { factorNoticeMail } from '../../src/pages/mails/factor.ts'
import { factorMailTexts } from '../../src/pages/texts/factor-mail-texts.ts'
import type { FactorNotice } from '../../src/pages/texts/factor-mail-texts.ts'
import { referenceTexts, textsIn } from '../../src/pages/texts/texts.ts'

const notices = Object.keys(factorMailTexts(textsIn('en')).changes) as readonly FactorNotice[] // its own keys
const about = { userName: 'zoë@shop.example', byOther: false, url: 'https://id.example/profile' }
const mailIn = (language: (typeof LANGUAGES)[number], notice: FactorNotice, more: Partial<typeof about> = {}) =>
  factorNoticeMail({ texts: textsIn(language), site: 'Shop' }, notice, { ...about, ...more })

describe('`factorNoticeMail`', () => {
  for (const language of LANGUAGES) {
    it(`names and links the account, with a distinct subject for each notice: ${language}`, () => {
      const mails = notices.map(notice => mailIn(language, notice))
      for (const { text, html } of mails) {
        assert.ok(text.includes(about.userName) && html.includes(about.userName))
        assert.ok(text.includes(about.url) && html.includes(`lang="${textsIn(language).tag}"`))
      }
      assert.equal(new Set(mails.map(({ subject }) => subject)).size, notices.length)
      const english = notices.map(notice => mailIn('en', notice).subject)
      if (language !== 'en') assert.ok(mails.every(({ subject }, place) => subject !== english[place]))
    })
  }

  it('says whether an administrator made the change', () => {
    assert.match(mailIn('en', 'reset').text, /If it was not you/)
    assert.match(mailIn('en', 'reset', { byOther: true }).text, /An administrator did this/)
  })

  it('escapes the user name', () => {
    const { text, html } = mailIn('en', 'passkeyAdded', { userName: '<a href=x>\r\n\u202eevil' })
    assert.doesNotMatch(html, /<a href=x>/)
    assert.doesNotMatch(text, /\u202e|\nevil/)
  })

  it('is English with UAA’s texts', () => {
    assert.equal(factorMailTexts(referenceTexts), factorMailTexts(textsIn('en')))
  })
})
