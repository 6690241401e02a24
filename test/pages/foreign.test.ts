import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isolated, plain, pngDataUri, safeLink } from '../../src/pages/parts/foreign.ts'

describe('a text from outside', () => {
  const cases = [
    { name: 'stays as it is when it is harmless', text: 'Zoë & Søn’s 東京 مرحبا', want: 'Zoë & Søn’s 東京 مرحبا' },
    { name: 'loses overrides of direction', text: 'photo_\u202Egnp.exe\u202C', want: 'photo_gnp.exe' },
    { name: 'loses isolates of direction', text: 'a\u2066b\u2067c\u2068d\u2069e', want: 'abcde' },
    { name: 'keeps marks that right-to-left scripts need', text: 'a\u200Fb', want: 'a\u200Fb' },
    {
      name: 'has a blank for control characters and line breaks',
      text: ' a\u0000\u001b\u0085\r\n\u2028b ',
      want: 'a b',
    },
    { name: 'is cut where it is too long', text: 'abcdef', limit: 4, want: 'abcd…' },
    { name: 'is not cut through a character of two units', text: 'abc😀def', limit: 4, want: 'abc…' },
    { name: 'is not cut at exactly the limit', text: 'abcd', limit: 4, want: 'abcd' },
  ]
  for (const { name, text, limit, want } of cases) {
    it(name, () => assert.equal(plain(text, limit), want))
  }
  it('is isolated from the direction of its neighbours', () => {
    assert.equal(isolated('<a>\u202E').toString(), '<bdi>&lt;a&gt;</bdi>')
  })
})

describe('a link from outside', () => {
  const kept = [
    'https://example.org/a?b=c#d',
    'http://localhost:8080/',
    'mailto:help@example.org',
    '/login',
    'saml2/authenticate/x',
  ]
  for (const url of kept) it(`may be ${url}`, () => assert.equal(safeLink(url), url))

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
    `HTTPS:${'名'.repeat(256)}.example/`, // takes long to read
  ]
  for (const url of dropped) it(`may not be ${JSON.stringify(url)}`, () => assert.equal(safeLink(url), undefined))
})

describe('a picture from outside', () => {
  const cases = [
    { name: 'is a data URI', base64: 'iVBORw0KGgo=', want: 'data:image/png;base64,iVBORw0KGgo=' },
    { name: 'may be broken into lines', base64: 'iVBO\n  Rw0K\nGgo=\n', want: 'data:image/png;base64,iVBORw0KGgo=' },
    { name: 'is left out when it is absent', base64: undefined, want: undefined },
    { name: 'is left out when it is null', base64: null, want: undefined },
    { name: 'is left out when it is empty', base64: ' ', want: undefined },
    { name: 'is left out with characters outside the alphabet', base64: 'iVBO"onload=', want: undefined },
    { name: 'is left out when it is a URL', base64: 'https://example.org/logo.png', want: undefined },
    { name: 'may lack its padding', base64: 'iVBORw0', want: 'data:image/png;base64,iVBORw0' },
    { name: 'is left out when it is cut off', base64: 'iVBOR', want: undefined },
    { name: 'is left out when it goes on behind its padding', base64: 'iV==iVBO', want: undefined },
  ]
  for (const { name, base64, want } of cases) it(name, () => assert.equal(pngDataUri(base64), want))
})
