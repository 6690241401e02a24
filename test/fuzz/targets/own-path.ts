import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isOwnUrl, ownPath } from '../../../src/web/requests/own-path.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target } from '../target.ts'

const BASES = ['https://id.example/base', 'https://zone.id.example/base']
const PIECES = [
  '/',
  '//',
  '/../',
  '/..',
  '%2e%2e/',
  '/./',
  '\\',
  '@',
  '#',
  '?',
  ':443',
  '/z/',
  '/%7a/',
  '/z',
  'evil.example',
  '\t',
  '\n',
  'javascript:',
  'https://',
  'id.example',
  '/base',
]
const urls = fc.constantFrom(
  'https://id.example/base/oauth/authorize?client_id=app',
  'https://id.example/base/',
  'https://zone.id.example/base/profile#x',
  'https://id.example/base/z/other/login',
  'https://evil.example/base/',
)

/**
 * Where pages lead back to: a path below one of the zone's own addresses, as a browser reads it; never another host's, never
 * another zone's.
 */
export const ownPaths = target({
  name: 'own-path',
  inputs: fc.oneof(changed(urls, PIECES), jumble(PIECES), anyText),
  check(text) {
    const path = ownPath(BASES, text)
    if (URL.canParse(text) && isOwnUrl(BASES, new URL(text))) isBelow(new URL(text))
    if (path === undefined) return 'refused'
    assert.match(path, /^\/(?!\/)[\x21-\x7e]*$/)
    assert.ok(!path.includes('\\'))
    for (const base of BASES) isBelow(new URL(base + path))
    isBelow(new URL(text))
    return 'read'
  },
})

function isBelow({ origin, username, pathname }: URL): void {
  assert.equal(username, '')
  assert.ok(
    BASES.some(base => new URL(base).origin === origin),
    'another origin',
  )
  assert.ok(pathname === '/base' || pathname.startsWith('/base/'), 'another path')
  assert.doesNotMatch(pathname, /^\/base\/+(?:z|%7a)(?:\/|%2f|$)/i)
}
