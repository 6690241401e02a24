import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieOf, cookiesNamed, setCookie } from '../../../src/web/sessions/cookies.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target } from '../target.ts'

const NAMES = ['Session', 'Session.zone', '__Host-svc-session', 'X-Uaa-Csrf', 'toString', '__proto__'] as const

const requestWith = (cookie: string): FastifyRequest => ({ headers: { cookie } }) as FastifyRequest // what is read

/** The values that the header has for the name, by RFC 6265 §5.4 read backwards. */
function valuesOf(header: string, name: string): readonly string[] {
  return header.split(';').flatMap(pair => {
    const equals = pair.indexOf('=')
    return equals >= 0 && trimmed(pair.slice(0, equals)) === name ? [trimmed(pair.slice(equals + 1))] : []
  })
}

const trimmed = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '')

/** With the quotes around it and without. */
const decoded = (value: string): readonly string[] => [value, value.replace(/^"(.*)"$/s, '$1')].map(decodedOnce)

function decodedOnce(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The header of a reply for the cookie. */
function written(name: string, value: string): string {
  let sent: unknown
  const reply = {
    removeHeader: () => reply,
    header: (_: string, values: readonly string[]) => ((sent = values[0]), reply),
  }
  setCookie(reply as unknown as FastifyReply, name, value, { path: '/', httpOnly: true }) // the members that it uses
  return String(sent)
}

const PIECES = [
  'Session=',
  '; ',
  ';',
  'Session=a; Session=b',
  'Session.zone=',
  '=',
  '$Version=1; ',
  '%20',
  '"',
  ',',
  ...NAMES,
]
const header = fc
  .array(fc.tuple(fc.constantFrom(...NAMES, 'other', ''), fc.oneof(jumble(['a', '%41']), anyText)), { maxLength: 5 })
  .map(pairs => pairs.map(([name, value]) => `${name}=${value}`).join('; '))

/** The header Cookie: the first pair of exactly that name, and no other. */
export const cookies = target({
  name: 'cookies',
  inputs: fc.tuple(fc.oneof(changed(header, PIECES), jumble(PIECES)), fc.constantFrom(...NAMES), anyText),
  check([cookie, name, value]) {
    const found = cookieOf(requestWith(cookie), name)
    const there = valuesOf(cookie, name)
    if (found !== undefined) {
      assert.ok(
        there.some(each => each === found || decoded(each).some(one => one === found || one === trimmed(found))),
        'read a cookie of another name, or none',
      )
    }
    for (const [rest] of cookiesNamed(requestWith(cookie), 'Session')) {
      assert.ok(valuesOf(cookie, `Session${rest}`).length > 0)
    }
    if (value.isWellFormed()) {
      const [pair = '', ...attributes] = written(name, value).split('; ')
      assert.deepEqual(attributes, ['Path=/', 'HttpOnly'], 'a value wrote attributes')
      assert.match(pair, /^[\x21-\x7e]*$/)
      assert.equal(cookieOf(requestWith(`a=b; ${pair}; c=d`), name), value)
    }
    return found === undefined ? 'refused' : 'read'
  },
})
