// Passwords that are guessed first (NIST 800-63B §3.1.1.2): the most common ones, and those made of publicly known words
// of the account, also in the usual disguise. Case, accents, `@` for `a` and the like never count.
import { normalized } from '../../base/text/normalized.ts'
import { emailDomainOf } from '../zones/identity-provider.ts'

/** Characters added to a word to satisfy a rule, such as a year and two marks, which guessing programs try too. */
const MAX_DECORATION = 6
/** Longer passwords are not in the list; limits the work. */
const MAX_CHECKED_LENGTH = 255
const MIN_WORD_LENGTH = 3

const folded = (text: string): string => normalized(text, 'NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()

const LETTER_LIKE: Readonly<Record<string, string>> = {
  0: 'o',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  '@': 'a',
  $: 's',
  '+': 't',
}

/** The text, and what it reads as where digits and marks stand for letters; `1`, `!` and `|` for an i or an l. */
function readings(text: string): readonly string[] {
  const letters = text.replaceAll(/[03457@$+]/g, sign => LETTER_LIKE[sign] ?? sign)
  return [...new Set([text, ...['i', 'l'].map(letter => letters.replaceAll(/[1!|]/g, letter))])]
}

/** The text without up to `MAX_DECORATION` characters around it that are no letters. */
function cores(text: string): readonly string[] {
  const before = /^\P{L}*/u.exec(text)?.[0].length ?? 0
  const after = /\P{L}*$/u.exec(text)?.[0].length ?? 0
  if (before === text.length) return [text] // no word inside
  const found = [text]
  for (let start = 0; start <= Math.min(before, MAX_DECORATION); start += 1) {
    for (let end = 0; end <= Math.min(after, MAX_DECORATION - start); end += 1) {
      if (start + end > 0) found.push(text.slice(start, text.length - end))
    }
  }
  return found
}

/** What the text is a repetition of, or itself. */
function repeatedUnit(text: string): string {
  const length = `${text}${text}`.indexOf(text, 1)
  return text.slice(0, length)
}

/** Neighbours in the alphabet or among the digits, upwards or downwards. */
function isSequence(text: string): boolean {
  const steps = Array.from(text)
    .slice(1)
    .map((char, index) => {
      const step = char.charCodeAt(0) - text.charCodeAt(index)
      return /\d/.test(char) ? (step + 10) % 10 : (step + 26) % 26
    })
  return steps.length > 0 && [1, 9, 25].some(step => steps.every(each => each === step))
}

/** Whether the password is in the list, which has lower-case passwords, or is a repetition or a sequence of characters. */
export function isCommonPassword(password: string, isListed: (candidate: string) => boolean): boolean {
  const text = folded(password)
  if (text === '' || text.length > MAX_CHECKED_LENGTH) return false
  const unit = repeatedUnit(text)
  if (unit.length < Math.min(MIN_WORD_LENGTH + 1, text.length) || isSequence(text)) return true
  return [...new Set([...cores(text), ...cores(unit)].flatMap(readings))].some(isListed)
}

/** The words of names: each whole, without what separates its parts, and the parts. */
function wordsOf(names: readonly string[]): readonly string[] {
  const words = names.map(folded).flatMap(name => [
    name,
    name.replaceAll(/[^\p{L}\p{N}]/gu, ''),
    ...name.split(/[^\p{L}\p{N}]+/u), // before digits are dropped: `anna77`
    ...name.split(/[^\p{L}]+/u),
  ])
  const long = words.filter(word => word.length >= MIN_WORD_LENGTH)
  return [...new Set(long)].toSorted((a, b) => b.length - a.length)
}

/** Names by which an e-mail address is known; not the top-level domain. */
export function namesInEmail(email: string): readonly string[] {
  const domain = emailDomainOf(email)
  if (domain === undefined) return [email]
  return [email.slice(0, -domain.length - 1), ...domain.split('.').slice(0, -1)]
}

/** Whether the password has one of the names in it and hardly anything else. */
export function isMadeOfNames(password: string, names: readonly string[]): boolean {
  const words = wordsOf(names)
  return readings(folded(password).slice(0, MAX_CHECKED_LENGTH)).some(text => {
    const rest = words.flatMap(readings).reduce((left, word) => left.replaceAll(word, ''), text)
    return rest.length < text.length && Array.from(rest).length <= MAX_DECORATION
  })
}
