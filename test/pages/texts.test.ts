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

/** Pages of `uaa`, where everybody reads English, and of a language that there is not yet, have a name that begins so. */
const OTHERS = /^(?:reference-|rtl-|components)/
const spokenIn = (language: Language): readonly (readonly [name: string, page: string])[] =>
  Object.entries(statesIn(language)).flatMap(([name, page]) => (OTHERS.test(name) ? [] : [[name, page.toString()]]))

/** What stands in a sentence, by its place among the arguments. */
const MARKS = ['⟦0⟧', '⟦1⟧'] as const

/** Every text of a catalogue by its path; what is inserted is marked. */
function flatten(value: unknown, path = ''): readonly (readonly [path: string, text: string])[] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value === 'function') return [[path, said(value as (...given: unknown[]) => unknown, path)]] // of a catalogue
  assert.ok(typeof value === 'object' && value !== null, path)
  return Object.entries(value).flatMap(([name, inner]) => flatten(inner, path === '' ? name : `${path}.${name}`))
}

/** The sentences that take an object, and the names in it. */
const NAMED: Readonly<Record<string, readonly [string, string]>> = {
  'emailChange.verifyLead': ['userName', 'email'],
  'signOut.signedInAs': ['site', 'userName'],
  'profile.times': ['signedIn', 'lastSeen'],
  'profile.whichSession': ['name', 'signedIn'],
  'enrol.fileHeading': ['site', 'userName'],
}

/** Second words for one idea, another form of address, and in French the wrong space before a mark. */
const AVOIDED: Readonly<Record<Language, RegExp>> = {
  en: /e-mail|recognise/,
  de: /\b(?:du|dein|Webseite|Internetseite|Administrator|Konto erstellen|zur Wiederherstellung)\b/i,
  fr: /[ \u00A0][;?!](?!\S)| :|\u202F:|\b(?:tu|ton|votre courriel|l’administration)\b/,
  es: /\b(?:tú|tu|tus|la administración)\b/i,
  ja: /あなた|端末|IDプロバイダー/,
  zh: /你|帐户|账户|身份提供者|电子邮件/,
}
/** The sentences that take plain text or a number. */
const PLAIN = /^(?:descriptionsWith\.|error\.|browsers\.|accountMails\.)/

function said(sentence: (...given: unknown[]) => unknown, path: string): string {
  const [first, second] = PLAIN.test(path) ? MARKS : MARKS.map(mark => html`${mark}`)
  const names = path.startsWith('accountMails.') ? (['email', 'former'] as const) : NAMED[path]
  const given = names ? [{ [names[0]]: first, [names[1]]: second }] : [first, second]
  return String(sentence(...given))
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const catalogue = (texts: Texts): ReadonlyMap<string, string> => new Map(flatten(texts))
const marksIn = (text: string): readonly string[] => MARKS.filter(mark => text.includes(mark))

describe('the texts of the pages', () => {
  it('are those of six languages', () => {
    assert.deepEqual(
      LANGUAGES.map(language => textsIn(language).tag),
      ['en', 'de', 'fr', 'es', 'ja', 'zh-Hans'],
    )
  })

  for (const language of LANGUAGES) {
    it(`use one word for one idea, and one form of address: ${language}`, () => {
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
      it('are those that there are in English', () => {
        assert.deepEqual([...texts.keys()].toSorted(), [...inEnglish.keys()].toSorted())
      })
      it('are no English', () => {
        const same = [...texts].filter(([path, text]) => text === inEnglish.get(path))
        assert.deepEqual(same, [])
      })
      it('have in them what the English ones have, each once', () => {
        for (const [path, text] of texts) {
          assert.deepEqual(marksIn(text), marksIn(inEnglish.get(path) ?? ''), path)
          for (const mark of MARKS) assert.ok(text.split(mark).length <= 2, path)
        }
      })
      it('have no blank too many and no quotation mark of a typewriter', () => {
        for (const [path, text] of texts) {
          assert.equal(text, text.trim(), path)
          assert.doesNotMatch(text, /[ \u00a0\u202f]{2}|["'`]/, path)
        }
      })
    })
  }

  it('put a no-break space before the marks that French sets apart', () => {
    for (const [path, text] of catalogue(textsIn('fr'))) assert.doesNotMatch(text, /(?<![\u00a0\u202f])[:;!?]/, path)
  })
  it('begin questions and exclamations as Spanish does', () => {
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

describe('a page in another language', () => {
  for (const language of LANGUAGES) {
    const { tag } = textsIn(language)
    it(`says so at its beginning, whatever is in it: ${language}`, () => {
      for (const [name, page] of spokenIn(language)) {
        assert.ok(page.startsWith(`<!doctype html>\n<html lang="${tag}" dir="ltr">\n`), name)
      }
    })
  }
  for (const language of others) {
    it(`has no sentence in English: ${language}`, () => {
      // Whatever is long enough not to be a word of another language by chance.
      const sentences = [...catalogue(english).values()].filter(text => text.length > 15 && marksIn(text).length === 0)
      for (const [name, markup] of spokenIn(language)) {
        const left = sentences.filter(text => markup.includes(html`${text}`.toString()))
        // An application's own words for a scope in the example may be ours.
        assert.deepEqual(
          left.filter(text => text !== english.scopes.openid),
          [],
          name,
        )
      }
    })
    it(`keeps what programs look for: ${language}`, () => {
      const hooks = (page: string): readonly string[] =>
        page.match(/ (?:id|name|class|action|method|type)="[^"]*"/g) ?? []
      const pages = statesIn(language)
      for (const [name, page] of Object.entries(statesIn('en'))) {
        assert.deepEqual(hooks(String(pages[name])), hooks(page.toString()), name)
      }
    })
  }
})

describe('a description that programs get in English', () => {
  const files = globSync('src/**/*.ts', { cwd: join(import.meta.dirname, '../..') })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => !path.startsWith('src/pages/texts/'))
  const source = files.map(path => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')).join('\n')

  for (const [name, description] of Object.entries(english.descriptions)) {
    it(`is one that the server gives: ${name}`, () => {
      const written = description.replace('URI (none was named)', '${shown}')
      assert.ok(source.includes(written), description)
    })
    it(`is known in every language: ${name}`, () => {
      for (const language of LANGUAGES) {
        const texts = textsIn(language)
        assert.equal(translatedDescription(texts, description), Reflect.get(texts.descriptions, name))
      }
    })
  }
  for (const [name, sentence] of Object.entries(english.descriptionsWith)) {
    const [start = '', end = ''] = sentence('\0').split('\0')
    const isMade = name.startsWith('password') || name === 'tooManyAttemptsUntil'
    it(`is one that the server gives, with something in it: ${name}`, {
      skip: isMade && 'another test makes it',
    }, () => {
      assert.match(source, new RegExp(`${escaped(start)}\\$\\{[^}]+\\}+${escaped(end)}`), start + end)
    })
    it(`is known in every language, with something in it: ${name}`, () => {
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
    it(`says how long to wait after too many attempts, and never too short: ${seconds} s`, () => {
      for (const [index, language] of (['en', 'de', 'es', 'fr', 'ja', 'zh'] as const).entries()) {
        const said = translatedDescription(textsIn(language), tooManyAttempts(seconds)) ?? ''
        assert.ok(said.includes(when[index] ?? ''), `${language}: ${said}`)
      }
    })
  }

  it('is known for every rule of a password policy', () => {
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
    it(`is left to its English where there is no other: ${JSON.stringify(unknown)}`, () => {
      for (const language of LANGUAGES) assert.equal(translatedDescription(textsIn(language), unknown), undefined)
    })
  }
  it('is marked as English on a page that is not', () => {
    const foreign = (language: 'de' | 'en'): string => String(statesIn(language)['error-foreign'])
    assert.match(foreign('de'), /<bdi lang="en">Words that only programs are told\.<\/bdi>/)
    assert.match(foreign('en'), /<bdi>Words that only programs are told\.<\/bdi>/)
  })
})

describe('the words for a scope', () => {
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
    it(`are in the language of the page where they are ours: ${JSON.stringify(scope)}`, () => {
      assert.deepEqual([scopeText(english, scope, service), scopeText(textsIn('de'), scope, service)], [en, de])
    })
  }
})

describe('how long ago something was', () => {
  const cases = [
    { minutes: -5, en: 'just now', de: 'gerade eben', ja: 'たった今' },
    { minutes: 0, en: 'just now', de: 'gerade eben', ja: 'たった今' },
    { minutes: 1, en: '1 minute ago', de: 'vor 1 Minute', ja: '1 分前' },
    { minutes: 59, en: '59 minutes ago', de: 'vor 59 Minuten', ja: '59 分前' },
    { minutes: 60, en: '1 hour ago', de: 'vor 1 Stunde', ja: '1 時間前' },
    { minutes: 179, en: '2 hours ago', de: 'vor 2 Stunden', ja: '2 時間前' },
  ]
  for (const { minutes, ...want } of cases) {
    it(`is shown in the language of the page: ${minutes} minutes`, () => {
      for (const language of ['en', 'de', 'ja'] as const) {
        assert.equal(timeAgo(textsIn(language), minutes), want[language])
      }
    })
  }
})
