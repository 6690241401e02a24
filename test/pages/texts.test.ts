import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { html } from '../../src/base/html.ts'
import { LANGUAGES } from '../../src/model/language.ts'
import type { Language } from '../../src/model/language.ts'
import { policyDemands, policyViolation } from '../../src/model/users/password-policy.ts'
import { serviceNamed } from '../../src/model/service.ts'
import { factorMailTexts } from '../../src/pages/texts/factor-mail-texts.ts'
import { factorTexts } from '../../src/pages/texts/factor-texts.ts'
import { securityTexts } from '../../src/pages/texts/security-texts.ts'
import { scopeText, textsIn, timeAgo, tooManyAttempts, translatedDescription } from '../../src/pages/texts/texts.ts'
import type { Texts } from '../../src/pages/texts/texts.ts'
import { statesIn } from './states.ts'

const english = textsIn('en')
const others = LANGUAGES.filter(language => language !== 'en')

/** Names of pages of `uaa`, which is English only, of right-to-left samples and of components. */
const OTHERS = /^(?:reference-|rtl-|components)/
const pagesIn = (language: Language): readonly (readonly [name: string, page: string])[] =>
  Object.entries(statesIn(language)).flatMap(([name, page]) => (OTHERS.test(name) ? [] : [[name, page.toString()]]))

/** Placeholders in a sentence, by argument position. */
const MARKS = ['⟦0⟧', '⟦1⟧'] as const

/** Every text of a catalogue by its path, with placeholders as arguments. */
function flatten(value: unknown, path = ''): readonly (readonly [path: string, text: string])[] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value === 'function') return [[path, rendered(value as (...given: unknown[]) => unknown, path)]] // of a catalogue
  assert.ok(typeof value === 'object' && value !== null, path)
  return Object.entries(value).flatMap(([name, inner]) => flatten(inner, path === '' ? name : `${path}.${name}`))
}

/** Functions that take an object, and its property names. */
const NAMED: Readonly<Record<string, readonly [string, string]>> = {
  'emailChange.verifyLead': ['userName', 'email'],
  'signOut.signedInAs': ['site', 'userName'],
  'profile.times': ['signedIn', 'lastSeen'],
  'profile.whichSession': ['name', 'signedIn'],
  'enrol.fileHeading': ['site', 'userName'],
}

/** Synonyms of chosen terms, the wrong form of address, and in French the wrong space before punctuation. */
const AVOIDED: Readonly<Record<Language, RegExp>> = {
  en: /e-mail|recognise/,
  de: /\b(?:du|dein|Webseite|Internetseite|Administrator|Konto erstellen|zur Wiederherstellung)\b/i,
  fr: /[ \u00A0][;?!](?!\S)| :|\u202F:|\b(?:tu|ton|votre courriel|l’administration)\b/,
  es: /\b(?:tú|tu|tus|la administración)\b/i,
  ja: /あなた|端末|IDプロバイダー/,
  zh: /你|帐户|账户|身份提供者|电子邮件/,
}
/** Functions that take plain text or a number. */
const PLAIN = /^(?:descriptionsWith\.|error\.|browsers\.|accountMails\.)/

function rendered(sentence: (...given: unknown[]) => unknown, path: string): string {
  const [first, second] = PLAIN.test(path) ? MARKS : MARKS.map(mark => html`${mark}`)
  const names = path.startsWith('accountMails.') ? (['email', 'former'] as const) : NAMED[path]
  const given = names ? [{ [names[0]]: first, [names[1]]: second }] : [first, second]
  return String(sentence(...given))
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const catalogue = (texts: Texts): ReadonlyMap<string, string> => new Map(flatten(texts))
const marksIn = (text: string): readonly string[] => MARKS.filter(mark => text.includes(mark))

describe('Texts of pages', () => {
  it('exist in six languages', () => {
    assert.deepEqual(
      LANGUAGES.map(language => textsIn(language).tag),
      ['en', 'de', 'fr', 'es', 'ja', 'zh-Hans'],
    )
  })

  for (const language of LANGUAGES) {
    it(`use consistent terms and form of address: ${language}`, () => {
      const texts = textsIn(language)
      const all = [texts, factorTexts(texts), securityTexts(texts), factorMailTexts(texts)].flatMap(each =>
        flatten(each),
      )
      assert.deepEqual(
        all.filter(([, text]) => AVOIDED[language].test(text)),
        [],
      )
    })
  }

  const inEnglish = catalogue(english)

  for (const language of others) {
    const texts = catalogue(textsIn(language))

    describe(`in ${language}`, () => {
      it('have the same keys as in English', () => {
        assert.deepEqual([...texts.keys()].toSorted(), [...inEnglish.keys()].toSorted())
      })
      it('differ from English', () => {
        const same = [...texts].filter(([path, text]) => text === inEnglish.get(path))
        assert.deepEqual(same, [])
      })
      it('have the placeholders of English, each once', () => {
        for (const [path, text] of texts) {
          assert.deepEqual(marksIn(text), marksIn(inEnglish.get(path) ?? ''), path)
          for (const mark of MARKS) assert.ok(text.split(mark).length <= 2, path)
        }
      })
      it('have no extra space and no straight quotation mark', () => {
        for (const [path, text] of texts) {
          assert.equal(text, text.trim(), path)
          assert.doesNotMatch(text, /[ \u00a0\u202f]{2}|["'`]/, path)
        }
      })
    })
  }

  it('have a no-break space before French punctuation', () => {
    for (const [path, text] of catalogue(textsIn('fr'))) assert.doesNotMatch(text, /(?<![\u00a0\u202f])[:;!?]/, path)
  })
  it('have Spanish opening punctuation', () => {
    for (const [path, text] of catalogue(textsIn('es'))) {
      assert.equal(text.split('?').length, text.split('¿').length, path)
      assert.equal(text.split('!').length, text.split('¡').length, path)
    }
  })
  for (const language of ['ja', 'zh'] as const) {
    it(`have the punctuation of ${language}`, () => {
      for (const [path, text] of catalogue(textsIn(language))) assert.doesNotMatch(text, /[,;:!?]|\.$/, path)
    })
  }
})

describe('Page in another language', () => {
  for (const language of LANGUAGES) {
    const { tag } = textsIn(language)
    it(`declares its language: ${language}`, () => {
      for (const [name, page] of pagesIn(language)) {
        assert.ok(page.startsWith(`<!doctype html>\n<html lang="${tag}" dir="ltr">\n`), name)
      }
    })
  }
  for (const language of others) {
    it(`has no English sentence: ${language}`, () => {
      // Long enough not to match a word of another language by chance.
      const sentences = [...catalogue(english).values()].filter(text => text.length > 15 && marksIn(text).length === 0)
      for (const [name, markup] of pagesIn(language)) {
        const left = sentences.filter(text => markup.includes(html`${text}`.toString()))
        // The example has an application with our own English text for a scope.
        assert.deepEqual(
          left.filter(text => text !== english.scopes.openid),
          [],
          name,
        )
      }
    })
    it(`keeps ids, names and classes: ${language}`, () => {
      const hooks = (page: string): readonly string[] =>
        page.match(/ (?:id|name|class|action|method|type)="[^"]*"/g) ?? []
      const pages = statesIn(language)
      for (const [name, page] of Object.entries(statesIn('en'))) {
        assert.deepEqual(hooks(String(pages[name])), hooks(page.toString()), name)
      }
    })
  }
})

describe('Texts with a number', () => {
  it('agree with it', () => {
    const left = LANGUAGES.map(language => [0, 1, 2].map(count => securityTexts(textsIn(language)).codesLeft(count, 8)))
    assert.deepEqual(left, [
      ['None left', '1 of 8 left', '2 of 8 left'],
      ['Keine mehr übrig', 'Noch 1 von 8', 'Noch 2 von 8'],
      ['Il n’en reste aucun', 'Il en reste 1 sur 8', 'Il en reste 2 sur 8'],
      ['No queda ninguno', 'Queda 1 de 8', 'Quedan 2 de 8'],
      ['残っていません', '8個中1個が残っています', '8個中2個が残っています'],
      ['已用完', '剩余 1/8 个', '剩余 2/8 个'],
    ])
  })
})

describe('`translatedDescription`', () => {
  const files = globSync('src/**/*.ts', { cwd: join(import.meta.dirname, '../..') })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => !path.startsWith('src/pages/texts/'))
  const source = files.map(path => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')).join('\n')

  for (const [name, description] of Object.entries(english.descriptions)) {
    it(`has the English text of the source: ${name}`, () => {
      const written = description.replace('URI (none was named)', '${shown}')
      assert.ok(source.includes(written), description)
    })
    it(`translates to every language: ${name}`, () => {
      for (const language of LANGUAGES) {
        const texts = textsIn(language)
        assert.equal(translatedDescription(texts, description), Reflect.get(texts.descriptions, name))
      }
    })
  }
  for (const [name, sentence] of Object.entries(english.descriptionsWith)) {
    const [start = '', end = ''] = sentence('\0').split('\0')
    const isTestedElsewhere = name.startsWith('password') || name === 'tooManyAttemptsUntil'
    it(`has the English template of the source: ${name}`, {
      skip: isTestedElsewhere && 'covered by another test',
    }, () => {
      assert.match(source, new RegExp(`${escaped(start)}\\$\\{[^}]+\\}+${escaped(end)}`), start + end)
    })
    it(`translates a template to every language: ${name}`, () => {
      for (const language of LANGUAGES) {
        const texts = textsIn(language)
        for (const what of ['12', '', 'a b', ' did not match ', '<&"', '\0', '$&', 'x'.repeat(10_000)]) {
          const wanted: unknown = Reflect.get(texts.descriptionsWith, name)
          assert.ok(typeof wanted === 'function')
          assert.equal(translatedDescription(texts, sentence(what)), (wanted as typeof sentence)(what))
        }
      }
    })
  }

  const waits = [
    { seconds: 1, when: ['in 1 second', 'in 1 Sekunde', 'dentro de 1 segundo', 'dans 1 seconde', '1 秒後', '1秒钟后'] },
    {
      seconds: 90,
      when: ['in 90 seconds', 'in 90 Sekunden', 'dentro de 90 segundos', 'dans 90 secondes', '90 秒後', '90秒钟后'],
    },
    {
      seconds: 91,
      when: ['in 2 minutes', 'in 2 Minuten', 'dentro de 2 minutos', 'dans 2 minutes', '2 分後', '2分钟后'],
    },
    {
      seconds: 3600,
      when: ['in 60 minutes', 'in 60 Minuten', 'dentro de 60 minutos', 'dans 60 minutes', '60 分後', '60分钟后'],
    },
    {
      seconds: 5401,
      when: ['in 2 hours', 'in 2 Stunden', 'dentro de 2 horas', 'dans 2 heures', '2 時間後', '2小时后'],
    },
  ]
  for (const { seconds, when } of waits) {
    it(`rounds up the wait after too many attempts: ${seconds} s`, () => {
      for (const [index, language] of (['en', 'de', 'es', 'fr', 'ja', 'zh'] as const).entries()) {
        const translated = translatedDescription(textsIn(language), tooManyAttempts(seconds)) ?? ''
        assert.ok(translated.includes(when[index] ?? ''), `${language}: ${translated}`)
      }
    })
  }

  it('translates every rule of a password policy', () => {
    const policy = {
      minLength: 8,
      maxLength: 20,
      requireUpperCaseCharacter: 1,
      requireLowerCaseCharacter: 2,
      requireDigit: 3,
      requireSpecialCharacter: 4,
      expirePasswordInMonths: 0,
    }
    const behaviour = { minPasswordLength: 8, refuseGuessablePasswords: true }
    const sentences = policyDemands(policy, behaviour)
    assert.equal(sentences.length, 7)
    const tooLong = policyViolation(policy, `Aa1!${'a'.repeat(30)}`, behaviour)
    assert.match(tooLong ?? '', /no more than 20/)
    for (const language of others) {
      const texts = textsIn(language)
      for (const sentence of sentences) assert.notEqual(translatedDescription(texts, sentence) ?? sentence, sentence)
    }
  })

  for (const unknown of [
    '',
    'Words that only programs are told.',
    'constructor',
    '__proto__',
    'Missing',
    ' missing client_id',
  ]) {
    it(`returns undefined for an unknown text: ${JSON.stringify(unknown)}`, () => {
      for (const language of LANGUAGES) assert.equal(translatedDescription(textsIn(language), unknown), undefined)
    })
  }
  it('leaves an unknown text marked as English on a page', () => {
    const foreign = (language: 'de' | 'en'): string => String(statesIn(language)['error-foreign'])
    assert.match(foreign('de'), /<bdi lang="en">Words that only programs are told\.<\/bdi>/)
    assert.match(foreign('en'), /<bdi>Words that only programs are told\.<\/bdi>/)
  })
})

describe('`scopeText`', () => {
  const service = serviceNamed('acme')
  const cases = [
    { scope: 'openid', en: 'Know who you are', de: 'Wissen, wer Sie sind' },
    { scope: 'acme.user', en: 'Act as you on this server', de: 'Auf diesem Server in Ihrem Namen handeln' },
    { scope: 'acme.offline_token', en: 'Stay connected while you are away', de: textsIn('de').scopes.offline },
    { scope: 'offline_access', en: 'Stay connected while you are away', de: textsIn('de').scopes.offline },
    { scope: 'svc.user', en: 'svc.user', de: 'svc.user' },
    { scope: 'cloud.read', en: 'cloud.read', de: 'cloud.read' },
    { scope: 'constructor', en: 'constructor', de: 'constructor' },
    { scope: '', en: '', de: '' },
  ]
  for (const { scope, en, de } of cases) {
    it(`translates only known scopes: ${JSON.stringify(scope)}`, () => {
      assert.deepEqual([scopeText(english, scope, service), scopeText(textsIn('de'), scope, service)], [en, de])
    })
  }
})

describe('`timeAgo`', () => {
  const cases = [
    { minutes: -5, en: 'just now', de: 'gerade eben', ja: 'たった今' },
    { minutes: 0, en: 'just now', de: 'gerade eben', ja: 'たった今' },
    { minutes: 1, en: '1 minute ago', de: 'vor 1 Minute', ja: '1 分前' },
    { minutes: 59, en: '59 minutes ago', de: 'vor 59 Minuten', ja: '59 分前' },
    { minutes: 60, en: '1 hour ago', de: 'vor 1 Stunde', ja: '1 時間前' },
    { minutes: 179, en: '2 hours ago', de: 'vor 2 Stunden', ja: '2 時間前' },
    { minutes: 1440, en: '1 day ago', de: 'vor 1 Tag', ja: '1 日前' },
    { minutes: 61 * 1440 - 1, en: '60 days ago', de: 'vor 60 Tagen', ja: '60 日前' },
    { minutes: 61 * 1440, en: '2 months ago', de: 'vor 2 Monaten', ja: '2 か月前' },
    { minutes: 729 * 1440, en: '23 months ago', de: 'vor 23 Monaten', ja: '23 か月前' },
    { minutes: 731 * 1440, en: '2 years ago', de: 'vor 2 Jahren', ja: '2 年前' },
  ]
  for (const { minutes, ...want } of cases) {
    it(`returns ${minutes} minutes in each language`, () => {
      for (const language of ['en', 'de', 'ja'] as const) {
        assert.equal(timeAgo(textsIn(language), minutes), want[language])
      }
    })
  }
})
