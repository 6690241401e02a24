import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isolated, plain, pngDataUri, safeLink } from '../../src/pages/parts/foreign.ts'

describe('`plain`', () => {
  const cases = [
    { name: 'keeps harmless text', text: 'Zoë & Søn’s 東京 مرحبا', want: 'Zoë & Søn’s 東京 مرحبا' },
    { name: 'removes bidirectional overrides', text: 'photo_\u202Egnp.exe\u202C', want: 'photo_gnp.exe' },
    { name: 'removes bidirectional isolates', text: 'a\u2066b\u2067c\u2068d\u2069e', want: 'abcde' },
    { name: 'keeps right-to-left marks', text: 'a\u200Fb', want: 'a\u200Fb' },
    {
      name: 'replaces control characters and line breaks with a space',
      text: ' a\u0000\u001b\u0085\r\n\u2028b ',
      want: 'a b',
    },
    { name: 'truncates long text', text: 'abcdef', limit: 4, want: 'abcd…' },
    { name: 'does not split a surrogate pair', text: 'abc😀def', limit: 4, want: 'abc…' },
    { name: 'keeps text of exactly the limit', text: 'abcd', limit: 4, want: 'abcd' },
  ]
  for (const { name, text, limit, want } of cases) {
    it(name, () => assert.equal(plain(text, limit), want))
  }
})

describe('`isolated`', () => {
  it('returns an escaped bdi element', () => {
    assert.equal(isolated('<a>\u202E').toString(), '<bdi>&lt;a&gt;</bdi>')
  })
})

describe('`safeLink`', () => {
  const kept = [
    'https://example.org/a?b=c#d',
    'http://localhost:8080/',
    'mailto:help@example.org',
    '/login',
    'saml2/authenticate/x',
  ]
  for (const url of kept) it(`accepts ${url}`, () => assert.equal(safeLink(url), url))

  const dropped = [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'blob:https://example.org/1',
    'file:///etc/passwd',
    'https://',
    undefined,
    `HTTPS:${'名'.repeat(256)}.example/`, // slow to parse
  ]
  for (const url of dropped) it(`refuses ${JSON.stringify(url)}`, () => assert.equal(safeLink(url), undefined))
})

describe('`pngDataUri`', () => {
  const cases = [
    { name: 'returns a data URI', base64: 'iVBORw0KGgo=', want: 'data:image/png;base64,iVBORw0KGgo=' },
    { name: 'ignores line breaks', base64: 'iVBO\n  Rw0K\nGgo=\n', want: 'data:image/png;base64,iVBORw0KGgo=' },
    { name: 'refuses undefined', base64: undefined, want: undefined },
    { name: 'refuses null', base64: null, want: undefined },
    { name: 'refuses an empty string', base64: ' ', want: undefined },
    { name: 'refuses characters outside the alphabet', base64: 'iVBO"onload=', want: undefined },
    { name: 'refuses a URL', base64: 'https://example.org/logo.png', want: undefined },
    { name: 'accepts missing padding', base64: 'iVBORw0', want: 'data:image/png;base64,iVBORw0' },
    { name: 'refuses truncated input', base64: 'iVBOR', want: undefined },
    { name: 'refuses data after the padding', base64: 'iV==iVBO', want: undefined },
  ]
  for (const { name, base64, want } of cases) it(name, () => assert.equal(pngDataUri(base64), want))
})
