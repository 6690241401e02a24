import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isSafeUri } from '../../src/model/safe-uri.ts'
import { fitsLogoutEntry, resolveRedirectUri } from '../../src/clients/redirect-uri.ts'
import { anyCodePoint } from '../support/code-points.ts'
import { webUrls } from '../support/web-urls.ts'
import { runs } from '../support/thinning.ts'

const STANDARD = { exactRedirectUri: true }
const UAA = { exactRedirectUri: false }
const STRICT = { exactRedirectUri: false, strictRedirects: true }

const CB = 'https://app.example/cb'

/** Requested URIs that must never be redirected to by a client that registered `https://app.example/cb`. */
const ATTACKS: readonly (readonly [name: string, uri: string])[] = [
  ['another host', 'https://evil.example/cb'],
  ['a host that ends the same way', 'https://evilapp.example/cb'],
  ['a host that begins the same way', 'https://app.example.evil.com/cb'],
  ['the host below another domain', 'https://app.example.com/cb'],
  ['a parent host', 'https://example/cb'],
  ['a host that ends in a dot', 'https://app.example./cb'],
  ['the registered host as user', 'https://app.example@evil.example/cb'],
  ['the registered host as user and password', 'https://app.example:443@evil.example/cb'],
  ['the registered URI as user', 'https://app.example%2Fcb@evil.example/cb'],
  ['a user before the registered host', 'https://user@app.example/cb'],
  ['a password before the registered host', 'https://:secret@app.example/cb'],
  ['an empty user', 'https://@app.example/cb#'],
  ['a fragment', 'https://app.example/cb#fragment'],
  ['an empty fragment', 'https://app.example/cb#'],
  ['a fragment that hides the host', 'https://evil.example#@app.example/cb'],
  ['a query that hides the host', 'https://evil.example?@app.example/cb'],
  ['a query that names the URI', 'https://evil.example/?https://app.example/cb'],
  ['a path that names the URI', 'https://evil.example/https://app.example/cb'],
  ['dot segments that leave the path', 'https://app.example/cb/../evil'],
  ['encoded dots that leave the path', 'https://app.example/cb/%2e%2e/evil'],
  ['partly encoded dots that leave the path', 'https://app.example/cb/.%2e/evil'],
  ['dots encoded twice', 'https://app.example/cb/%252e%252e/evil'],
  ['dots and slash encoded', 'https://app.example/cb%2f..%2fevil'],
  ['dots encoded six times', `https://app.example/cb/${'%25'.repeat(6)}2e`],
  ['dots before a path parameter', 'https://app.example/cb/..;/evil'],
  ['a backslash after the host', 'https://app.example\\.evil.example/cb'],
  ['a backslash before a user', 'https://evil.example\\@app.example/cb'],
  ['backslashes for slashes', 'https:\\\\app.example\\cb'],
  ['an encoded backslash in the path', 'https://app.example/cb/..%5cevil'],
  ['a tab in the host', 'https://app.exa\tmple/cb'],
  ['a newline in the host', 'https://app.example\n.evil.example/cb'],
  ['header injection by a line break', 'https://app.example/cb\r\nSet-Cookie: a=b'],
  ['a leading space', ` ${CB}`],
  ['a trailing space', `${CB} `],
  ['a leading control character', `\u0001${CB}`],
  ['a byte order mark', `\ufeff${CB}`],
  ['a NUL character', `${CB}\0`],
  ['an incomplete percent-encoding', `${CB}/%`],
  ['another scheme', 'http://app.example/cb'],
  ['a web socket', 'wss://app.example/cb'],
  ['no scheme', '//app.example/cb'],
  ['a relative path', '/cb'],
  ['a bare host', 'app.example/cb'],
  ['a scheme alone', 'https:'],
  ['a scheme without slashes', 'https:app.example@evil.example/cb'],
  ['three slashes', 'https:///evil.example/cb'],
  ['a javascript: URI', 'javascript:alert(1)'],
  ['a javascript: URI with the registered host', 'javascript://app.example/cb%0aalert(1)'],
  ['a javascript: URI in mixed case', 'JaVaScRiPt://app.example/cb'],
  ['a data: URI', 'data:text/html,<script>alert(1)</script>'],
  ['a file: URI', 'file:///etc/passwd'],
  ['a blob: URI', 'blob:https://app.example/cb'],
  ['another port', 'https://app.example:8443/cb'],
  ['the port of the other scheme', 'https://app.example:80/cb'],
  ['a port out of range', 'https://app.example:99999/cb'],
  ['a port that is not a number', 'https://app.example:a/cb'],
  ['a homograph of the host', 'https://аpp.example/cb'],
  ['the Punycode of a homograph', 'https://xn--pp-7lc.example/cb'],
  ['a full-width dot', 'https://app。example/cb'],
  ['a full-width slash', 'https://app.example／.evil.example/cb'],
  ['an encoded host', 'https://%65vil.example/cb'],
  ['an encoded slash in the host', 'https://app.example%2f.evil.example/cb'],
  ['an encoded at sign in the host', 'https://app.example%40evil.example/cb'],
  ['another path', 'https://app.example/evil'],
  ['the path in another case', 'https://app.example/CB'],
  ['no path', 'https://app.example'],
  ['a wildcard', 'https://*.example/cb'],
  ['an empty string', ''],
  ['a URI of more than 5000 characters', `${CB}/${'a'.repeat(5000)}`],
]

describe('resolveRedirectUri in any mode', () => {
  for (const [name, uri] of ATTACKS) {
    it(`refuses ${name}`, () => {
      assert.equal(resolveRedirectUri({ redirectUris: [CB] }, uri, STANDARD), undefined, 'standard')
      assert.equal(resolveRedirectUri({ redirectUris: [CB] }, uri, UAA), undefined, 'uaa')
      assert.equal(resolveRedirectUri({ redirectUris: [CB] }, uri, STRICT), undefined, 'uaa, strict')
    })
  }
})

interface Case {
  readonly name: string
  readonly registered: readonly string[]
  readonly requested: string | undefined
  /** The resolved URI; true for the requested one, false for none. */
  readonly want: boolean | string
}

function table(title: string, rules: typeof UAA | typeof STRICT, cases: readonly Case[]): void {
  describe(title, () => {
    for (const { name, registered, requested, want } of cases) {
      it(name, () => {
        const expected = want === true ? requested : want === false ? undefined : want
        assert.equal(resolveRedirectUri({ redirectUris: registered }, requested, rules), expected)
      })
    }
  })
}

const one = (name: string, registered: string, requested: string | undefined, want: boolean | string): Case => ({
  name,
  registered: [registered],
  requested,
  want,
})

// Covers redirect URI matching: exact text
// Covers compatibility: authorization request: A15 redirect URI
table('resolveRedirectUri by exact comparison', STANDARD, [
  one('accepts the same URI', CB, CB, true),
  { name: 'accepts any registered URI', registered: ['https://a.example/', CB], requested: CB, want: true },
  // Covers redirect URI matching: only registered URI when none is asked for
  one('defaults to the only registered URI', CB, undefined, CB),
  {
    name: 'has no default among several registered URIs',
    registered: [CB, 'https://b.example/'],
    requested: undefined,
    want: false,
  },
  { name: 'refuses any URI if none is registered', registered: [], requested: CB, want: false },
  { name: 'has no default if none is registered', registered: [], requested: undefined, want: false },
  one('compares the query too', `${CB}?x=1`, `${CB}?x=1`, true),
  one('refuses a query that is not registered', CB, `${CB}?x=1`, false),
  one('refuses a missing query', `${CB}?x=1`, CB, false),
  one('refuses several URIs in one', CB, `${CB},https://evil.example/cb`, false),
  one('refuses a longer path', CB, `${CB}/more`, false),
  one('refuses a trailing slash', CB, `${CB}/`, false),
  one('refuses a subdomain', CB, 'https://www.app.example/cb', false),
  one('refuses a host in another case', CB, 'https://APP.example/cb', false),
  one('refuses a scheme in another case', CB, 'HTTPS://app.example/cb', false),
  one('refuses an explicit default port', CB, 'https://app.example:443/cb', false),
  one('refuses a percent-encoded path', CB, 'https://app.example/%63b', false),
  one('never matches an imported wildcard', 'https://*.app.example/**', 'https://a.app.example/cb', false),
  one('refuses a wildcard even literally', 'https://app.example/*', 'https://app.example/*', false),
  one('does not default to a wildcard', 'https://app.example/*', undefined, false),
  one('refuses a registered javascript: URI', 'javascript:alert(1)', 'javascript:alert(1)', false),
  one('accepts a private-use scheme', 'com.example.app:/cb', 'com.example.app:/cb', true),
  one('refuses another path of a private-use scheme', 'com.example.app:/cb', 'com.example.app:/evil', false),
  // Covers redirect URI matching: loopback with any port
  one('accepts any port on 127.0.0.1', 'http://127.0.0.1/cb', 'http://127.0.0.1:51004/cb', true),
  one('ignores a registered port on 127.0.0.1', 'http://127.0.0.1:8000/cb', 'http://127.0.0.1:51004/cb', true),
  one('accepts no port on 127.0.0.1', 'http://127.0.0.1:8000/cb', 'http://127.0.0.1/cb', true),
  one('accepts any port on [::1]', 'http://[::1]/cb', 'http://[::1]:51004/cb', true),
  one('accepts any port on localhost registered without one', 'http://localhost/cb', 'http://localhost:51004/cb', true),
  one(
    'refuses another port on localhost registered with one',
    'http://localhost:8000/cb',
    'http://localhost:51004/cb',
    false,
  ),
  one('requires the port of localhost registered with one', 'http://localhost:8000/cb', 'http://localhost/cb', false),
  one('refuses a missing query on loopback', 'http://127.0.0.1/cb?x=1', 'http://127.0.0.1:51004/cb', false),
  one('accepts a loopback URI without a path', 'http://127.0.0.1', 'http://127.0.0.1:51004', true),
  one('refuses another path on loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:51004/evil', false),
  one('refuses https on loopback', 'http://127.0.0.1/cb', 'https://127.0.0.1:51004/cb', false),
  one('refuses another port for https on loopback', 'https://127.0.0.1/cb', 'https://127.0.0.1:51004/cb', false),
  one('refuses localhost for 127.0.0.1', 'http://127.0.0.1/cb', 'http://localhost:51004/cb', false),
  one('refuses 127.0.0.1 for localhost', 'http://localhost/cb', 'http://127.0.0.1:51004/cb', false),
  one('refuses another loopback address', 'http://127.0.0.1/cb', 'http://127.0.0.2:51004/cb', false),
  one('refuses a host that begins with localhost', 'http://localhost/cb', 'http://localhost.evil.example/cb', false),
  one('refuses a loopback address as user', 'http://127.0.0.1/cb', 'http://127.0.0.1:80@evil.example/cb', false),
  one('refuses an empty port on loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:/cb', false),
  one('refuses a port out of range on loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:65536/cb', false),
  one('refuses a port of six digits on loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:000080/cb', false),
])

table('resolveRedirectUri in uaa without wildcards', UAA, [
  one('accepts the same URI', CB, CB, true),
  one(
    'accepts the same percent-encoded URI',
    'https://app.example/my%20app/cb',
    'https://app.example/my%20app/cb',
    true,
  ),
  one('accepts a longer path', CB, `${CB}/more`, true),
  one('accepts a path with the registered prefix', CB, `${CB}2`, true),
  one('accepts another query', CB, `${CB}?x=1`, true),
  one('ignores the registered query', `${CB}?x=1`, CB, true),
  one('accepts a subdomain', CB, 'https://www.app.example/cb', true),
  // Covers redirect URI matching: subdomain and path prefix (uaa)
  one('accepts a subdomain of a subdomain', CB, 'https://a.b.app.example/cb', true),
  one('accepts host and scheme in another case', CB, 'HTTPS://App.Example/cb', true),
  one('accepts an explicit default port', CB, 'https://app.example:443/cb', true),
  // Covers redirect URI matching: path normalisation (uaa)
  one('accepts a percent-encoded path', CB, 'https://app.example/%63b', true),
  one('decodes a registered percent-encoded path', 'https://app.example/%63b', `${CB}/more`, true),
  one(
    'accepts any path of a host registered without one',
    'https://app.example',
    'https://app.example/any/where',
    true,
  ),
  one('refuses a shorter path', `${CB}/deep`, CB, false),
  one('refuses another port on localhost', 'http://localhost:8000/cb', 'http://localhost:8001/cb', false),
  one('refuses another port on loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:51004/cb', false),
  // Covers redirect URI matching: other schemes by equality (uaa)
  one('accepts the exact URI with a private-use scheme', 'myapp://cb', 'myapp://cb', true),
  one('refuses a longer path with a private-use scheme', 'myapp://cb', 'myapp://cb/more', false),
  one('defaults to the only registered URI', CB, undefined, CB),
  one('defaults to a wildcard', 'https://app.example/*', undefined, 'https://app.example/*'),
  {
    name: 'has no default among several registered URIs',
    registered: [CB, 'https://b.example/'],
    requested: undefined,
    want: false,
  },
  { name: 'refuses any URI if none is registered', registered: [], requested: CB, want: false },
  { name: 'accepts any registered URI', registered: ['https://a.example/', CB], requested: CB, want: true },
])

table('resolveRedirectUri in uaa with strict redirects', STRICT, [
  one('accepts the same URI', CB, CB, true),
  one('accepts an additional query', CB, `${CB}?x=1`, true),
  one('accepts the registered parameters among others', `${CB}?x=1&y=2`, `${CB}?y=2&z=3&x=1`, true),
  one('refuses a missing query', `${CB}?x=1`, CB, false),
  one('refuses another value of a registered parameter', `${CB}?x=1`, `${CB}?x=2`, false),
  one('refuses response parameters in the query', CB, `${CB}?code=1`, false),
  one('refuses an encoded response parameter in the query', CB, `${CB}?x=1&res%70onse=ey.J.x`, false),
  one('accepts host and scheme in another case', CB, 'HTTPS://App.Example/cb', true),
  one('accepts an explicit default port', CB, 'https://app.example:443/cb', true),
  one('refuses a longer path', CB, `${CB}/more`, false),
  one('refuses a path with the registered prefix', CB, `${CB}2`, false),
  one('refuses a trailing slash', CB, `${CB}/`, false),
  one('refuses a subdomain', CB, 'https://www.app.example/cb', false),
  one('refuses another port', CB, 'https://app.example:444/cb', false),
  one('refuses another scheme', CB, 'http://app.example/cb', false),
  one('refuses a user name', CB, 'https://a@app.example/cb', false),
  one('ignores wildcards in the path', 'https://app.example/*', CB, false),
  one('ignores wildcards in the host', 'https://*.app.example/cb', 'https://www.app.example/cb', false),
  one('accepts the exact URI with a private-use scheme', 'myapp://cb', 'myapp://cb', true),
  one('refuses another host with a private-use scheme', 'myapp://cb', 'myapp://other', false),
  one('defaults to the only registered URI', CB, undefined, CB),
])

// Covers redirect URI matching: wildcard entries (uaa)
table('resolveRedirectUri in uaa with wildcards', UAA, [
  one('matches * within a path segment', 'https://app.example/*/cb', 'https://app.example/any/cb', true),
  one('does not match * across segments', 'https://app.example/*/cb', 'https://app.example/a/b/cb', false),
  one('matches ** with several segments', 'https://app.example/**', 'https://app.example/a/b/c', true),
  one('matches ** with no segment', 'https://app.example/a/**/cb', 'https://app.example/a/cb', true),
  one(
    'matches ** in the middle with several segments',
    'https://app.example/a/**/cb',
    'https://app.example/a/x/y/cb',
    true,
  ),
  one('requires the path after **', 'https://app.example/a/**/cb', 'https://app.example/a/x/y', false),
  one('matches ** at the end with nothing', 'https://app.example/a/**', 'https://app.example/a', true),
  one('matches ? with one character', 'https://app.example/v?/*', 'https://app.example/v2/cb', true),
  one('does not match ? with no character', 'https://app.example/v?/*', 'https://app.example/v/cb', false),
  one('matches * with several host labels', 'https://*.app.example/cb', 'https://a.b.app.example/cb', true),
  one('does not match * with no host label', 'https://*.app.example/cb', 'https://app.example/cb', false),
  one('matches * within a host label', 'https://app-*.eu.example/cb', 'https://app-12.eu.example/cb', true),
  one('requires the host after *', 'https://*.app.example/cb', 'https://app.example.evil.com/cb', false),
  one(
    'does not match * with another host and a path',
    'https://*.app.example/cb',
    'https://evil.com/.app.example/cb',
    false,
  ),
  one('does not match * with user information', 'https://*.app.example/cb', 'https://evil.com@x.app.example/cb', false),
  one(
    'does not match * with an encoded slash',
    'https://*.app.example/cb',
    'https://evil.com%2fx.app.example/cb',
    false,
  ),
  one('does not match * with a backslash', 'https://*.app.example/cb', 'https://evil.com\\x.app.example/cb', false),
  one('does not match * with a fragment', 'https://*.app.example/**', 'https://evil.com#x.app.example/cb', false),
  one('does not match * with a query', 'https://*.app.example/**', 'https://evil.com?x.app.example/cb', false),
  one('refuses a port that is not registered', 'https://*.app.example/cb', 'https://a.app.example:8443/cb', false),
  one('matches * in http*', 'http*://app.example/cb', 'https://app.example/cb', true),
  one('matches http* with http', 'http*://app.example/cb', 'http://app.example/cb', true),
  one('does not match * with javascript', 'j*://app.example/**', 'javascript://app.example/cb', false),
  one('matches * with an explicit port', 'http://localhost:*/cb', 'http://localhost:51004/cb', true),
  one('does not match * with no port', 'http://localhost:*/cb', 'http://localhost/cb', false),
  one(
    'accepts the registered port beside a wildcard',
    'https://*.app.example:8443/cb',
    'https://a.app.example:8443/cb',
    true,
  ),
  one('accepts the default port beside a wildcard', 'https://*.app.example:443/cb', 'https://a.app.example/cb', true),
  one('matches * with a query', 'https://app.example/*', 'https://app.example/cb?x=1', true),
  one(
    'refuses a query that does not match the pattern',
    'https://*.app.example/cb',
    'https://a.app.example/cb?x=1',
    false,
  ),
  one('refuses dot segments', 'https://app.example/safe/**', 'https://app.example/safe/../evil', false),
  one('refuses encoded dot segments', 'https://app.example/safe/**', 'https://app.example/safe/%252e%252e/evil', false),
  one(
    'refuses dot segments with encoded slashes',
    'https://app.example/safe/*',
    'https://app.example/safe/..%2f..%2fevil',
    false,
  ),
  one('ignores the case of the host', 'https://*.App.Example/cb', 'https://a.APP.example/cb', true),
])

describe('resolveRedirectUri with an invalid registered URI', () => {
  const entries = [
    'https://*',
    'https://*/cb',
    'https://*.example/cb',
    'https://app.*/cb',
    'https://*app.example/cb',
    'https://app.exa*mple/cb',
    'https://app.example*/cb',
    'https://localhost*/cb',
    'https://app.example:80*/cb',
    'https://app.example?x=*',
    'javascript://*',
    'com.example.app:/cb',
    'not a URI',
    '*',
    '**',
    '',
  ]
  for (const entry of entries) {
    it(`refuses all URIs of the client in uaa: ${entry || 'an empty string'}`, () => {
      assert.equal(resolveRedirectUri({ redirectUris: [CB, entry] }, CB, UAA), undefined)
      assert.equal(resolveRedirectUri({ redirectUris: [entry] }, undefined, UAA), undefined)
      assert.equal(resolveRedirectUri({ redirectUris: [CB, entry] }, CB, STANDARD), CB)
    })
  }
})

describe('resolveRedirectUri with random URIs', () => {
  const noise = fc.string({
    unit: fc.constantFrom(
      ...'/\\.:@?#%&=* \t\n;,2eEfF5cC'.split(''),
      'evil',
      'app',
      'example',
      'https:',
      '//',
      '..',
      '%2e',
      '%252e',
    ),
    maxLength: 24,
  })
  const parts = fc.tuple(
    fc.constantFrom('https', 'http', 'HTTPS', 'javascript', ''),
    fc.constantFrom('://', ':', ':/', ':///', '//', ':\\\\'),
    fc.constantFrom('', 'app.example@', 'user:pw@'),
    fc.constantFrom(
      'app.example',
      'APP.EXAMPLE',
      'evil.example',
      'x.app.example',
      'evilapp.example',
      'app.example.evil',
    ),
    fc.constantFrom('', ':443', ':80', ':'),
    noise,
  )
  const requests = fc.oneof(
    parts.map(all => all.join('')),
    noise,
    webUrls,
    fc.tuple(noise, noise).map(([before, after]) => `${before}${CB}${after}`),
  )
  const isOwn = ({ protocol, hostname, port, username, password, pathname, hash }: URL): boolean =>
    protocol === 'https:' &&
    (hostname === 'app.example' || hostname.endsWith('.app.example')) &&
    port === '' &&
    username === '' &&
    password === '' &&
    hash === '' &&
    pathname.startsWith('/cb')

  it('returns only the registered URI in standard', () => {
    fc.assert(
      fc.property(requests, requested => {
        const resolved = resolveRedirectUri({ redirectUris: [CB] }, requested, STANDARD)
        assert.ok(resolved === undefined || resolved === CB)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('returns only URIs that browsers resolve to the registered host and path in uaa', () => {
    let accepted = 0
    fc.assert(
      fc.property(requests, requested => {
        const resolved = resolveRedirectUri({ redirectUris: [CB] }, requested, UAA)
        if (resolved === undefined) return
        accepted += 1
        assert.ok(isOwn(new URL(resolved)), resolved)
        assert.match(resolved, /^[\x21-\x7e]+$/)
      }),
      { numRuns: runs(4000), examples: [[`${CB}/x`]] },
    )
    assert.ok(accepted > 0, 'no URI was accepted')
  })

  it('returns only URIs of the registered host and path with wildcards', () => {
    const redirectUris = ['https://*.app.example/cb/**']
    fc.assert(
      fc.property(
        fc.oneof(
          requests,
          parts.map(all => all.join('').replace('app.example', 'a.app.example/cb')),
        ),
        requested => {
          const resolved = resolveRedirectUri({ redirectUris }, requested, UAA)
          if (resolved !== undefined) assert.ok(isOwn(new URL(resolved)), resolved)
        },
      ),
      { numRuns: runs(4000) },
    )
  })

  it('ignores other registered URIs in standard', () => {
    fc.assert(
      fc.property(fc.array(requests, { maxLength: 5 }), others => {
        assert.equal(resolveRedirectUri({ redirectUris: [...others, CB] }, CB, STANDARD), CB)
      }),
    )
  })

  it('matches many wildcards without backtracking', () => {
    const entry = `https://app.example/${'*a'.repeat(60)}/**/${'**/x/'.repeat(20)}end`
    assert.equal(
      resolveRedirectUri({ redirectUris: [entry] }, `https://app.example/${'a'.repeat(3900)}`, UAA),
      undefined,
    )
  })
})

describe('fitsLogoutEntry', () => {
  const cases: readonly { name: string; entry: string; target: string; want: boolean }[] = [
    {
      name: 'accepts the exact entry',
      entry: 'https://app.example/bye',
      target: 'https://app.example/bye',
      want: true,
    },
    {
      name: 'rejects a longer path without a wildcard',
      entry: 'https://app.example/bye',
      target: 'https://app.example/bye/x',
      want: false,
    },
    {
      name: 'rejects a subdomain without a wildcard',
      entry: 'https://app.example/bye',
      target: 'https://a.app.example/bye',
      want: false,
    },
    {
      name: 'accepts a match of a pattern',
      entry: 'https://*.app.example/**',
      target: 'https://a.app.example/bye?x=1',
      want: true,
    },
    {
      name: 'accepts a fragment, as used by single-page applications',
      entry: 'https://app.example/**',
      target: 'https://app.example/#/bye',
      want: true,
    },
    {
      name: 'rejects another host',
      entry: 'https://*.app.example/**',
      target: 'https://evil.example/bye',
      want: false,
    },
    {
      name: 'rejects a pattern with a wildcard as host',
      entry: 'https://*/**',
      target: 'https://evil.example/bye',
      want: false,
    },
    { name: 'rejects a pattern without a host', entry: '**', target: 'https://evil.example/bye', want: false },
    {
      name: 'rejects a javascript: URI, even if registered',
      entry: 'javascript:alert(1)',
      target: 'javascript:alert(1)',
      want: false,
    },
    {
      name: 'rejects a line break',
      entry: 'https://app.example/**',
      target: 'https://app.example/\nx',
      want: false,
    },
  ]
  for (const { name, entry, target, want } of cases) it(name, () => assert.equal(fitsLogoutEntry(entry, target), want))
})

describe('isSafeUri', () => {
  it('accepts only characters allowed in a header', () => {
    fc.assert(fc.property(fc.string({ unit: anyCodePoint }), text => !isSafeUri(text) || /^[\x21-\x7e]+$/.test(text)))
    assert.ok(isSafeUri('https://app.example/%C3%BC?x=1#y'))
  })
})
