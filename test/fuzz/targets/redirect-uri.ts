import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isRedirectPattern } from '../../../src/clients/redirect-uri-form.ts'
import { acceptsHost, fitsLogoutEntry, resolveRedirectUri } from '../../../src/clients/redirect-uri.ts'
import { anyText, changed, changes, jumble } from '../changes.ts'
import { target } from '../target.ts'

const MODES = {
  exact: { exactRedirectUri: true },
  strict: { exactRedirectUri: false, strictRedirects: true },
  lenient: { exactRedirectUri: false },
} as const
type Mode = keyof typeof MODES

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** RFC 8252 §7.3: the same but for the port. */
function isSameLoopback(entry: string, requested: string): boolean {
  const [one, other] = [URL.parse(entry), URL.parse(requested)]
  if (!one || !other) return false
  const of = ({ protocol, username, hostname, pathname, search }: URL): string =>
    JSON.stringify([protocol, username, hostname, pathname, search])
  return one.protocol === 'http:' && LOOPBACK.has(one.hostname) && of(one) === of(other)
}

const isSamePlace = (entry: string, requested: string): boolean => {
  const [one, other] = [URL.parse(entry), URL.parse(requested)]
  return (
    one !== null &&
    other !== null &&
    one.protocol === other.protocol &&
    one.host === other.host &&
    one.pathname === other.pathname
  )
}

/** As often as a server behind proxies could decode it. */
function decodedPath(path: string): string {
  let text = path
  for (let round = 0; round < 6; round += 1) {
    text = text.replace(/%[0-7][0-9a-f]/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  }
  return text
}

/** The text before the first wildcard, and after the last. */
const before = (pattern: string): string => /^[^*?]*/.exec(pattern)?.[0] ?? ''
const behind = (pattern: string): string => /[^*?]*$/.exec(pattern)?.[0] ?? ''

/** Whether the request is below the entry: same scheme, host and port, and a path with its prefix. */
function isBelow(written: string, requested: string): boolean {
  const registered = written.includes('*') ? undefined : URL.parse(written)
  const entry = registered ? `${registered.protocol}//${registered.host}${registered.pathname}` : written
  const parts = /^([^:]+):\/\/(?:[^@/]*@)?(\[[^\]]*\]|[^/:]*)(?::(\d+|\*))?(\/.*)?$/s.exec(entry)
  if (!parts) return false
  const [, scheme = '', host = '', port, rest = ''] = parts
  const url = new URL(requested)
  if (url.username !== '' || url.password !== '') return false
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return false
  const isScheme = scheme.includes('*')
    ? url.protocol.startsWith(before(scheme).toLowerCase())
    : url.protocol === `${scheme.toLowerCase()}:`
  const name = host.toLowerCase()
  const isHost = name.includes('*')
    ? url.hostname.startsWith(before(name)) && url.hostname.endsWith(behind(name))
    : `.${url.hostname}`.endsWith(`.${URL.parse(`http://${name}`)?.hostname ?? name}`)
  const usual = url.protocol === 'https:' ? '443' : '80'
  const isPort = port === '*' || Number(port || usual) === Number(url.port || usual)
  const path = decodedPath(url.pathname)
  const wanted = entry.includes('*') ? before(rest).replace(/#.*$/s, '') : URL.parse(entry)?.pathname
  const isPath = wanted !== undefined && `${path}/`.startsWith(decodedPath(wanted))
  const climbs = /(?:^|[/\\])\.\.(?:[/\\;]|$)/.test(path) || path.includes('\\')
  return isScheme && isHost && isPort && isPath && !climbs
}

function isAllowed(entry: string, requested: string, mode: Mode): boolean {
  if (entry === requested) return true
  switch (mode) {
    case 'exact':
      return !entry.includes('*') && isSameLoopback(entry, requested)
    case 'strict':
      return isSamePlace(entry, requested)
    case 'lenient':
      return isBelow(entry, requested)
  }
}

const ENTRIES = [
  'https://app.example/cb',
  'https://app.example/cb?x=1',
  'https://app.example',
  'http://127.0.0.1/cb',
  'http://localhost:8000/cb',
  'http://[::1]:1/cb',
  'com.example.app://cb',
  'com.example.app:/cb',
  'https://*.app.example/cb',
  'https://app-*.eu.example/**/cb',
  'http*://app.example:*/a/*/b?',
  'https://user@app.example:8443/a%20b/**',
  'https://app.example/*',
]
const PIECES = [
  '/',
  '//',
  '..',
  '/../',
  '%2e%2e',
  '%252e',
  '%2f',
  '%5c',
  '\\',
  '@',
  '.',
  ':',
  ':443',
  ':80',
  '?',
  '#',
  '&',
  '*',
  '**',
  'evil.example',
  'evil',
  'app.example',
  'https://',
  'http://',
  'javascript:',
  ';',
  '?code=1',
  '\t',
  '。',
  '%',
  'x',
  'a',
]
const entries = fc.oneof(fc.constantFrom(...ENTRIES), changed(fc.constantFrom(...ENTRIES), PIECES))

/** A value for each wildcard. */
const filled = (entry: string, by: string): string => entry.replace(/\*\*?/g, by).replace(/\?$/, 'x')
const fillings = fc.constantFrom('a', 's', '', '8443', 'a/b', 'evil.example/')
const further = fc.constantFrom('', '', '/more', '?y=2', '2')

/** Redirect URIs: an accepted one is at the registered place, as checked independently by a URL parser. */
export const redirectUri = target({
  name: 'redirect-uri',
  inputs: fc
    .oneof(
      {
        weight: 5,
        arbitrary: fc
          .tuple(fc.array(entries, { minLength: 1, maxLength: 3 }), fillings, further, changes(PIECES), fc.boolean())
          .map(([registered, by, more, change, isChanged]) => {
            const near = filled(registered[0] ?? '', by) + more
            return [registered, isChanged ? change(near) : near] as const
          }),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.array(entries, { minLength: 1, maxLength: 3 }), fc.oneof(jumble(PIECES), anyText)),
      },
    )
    .chain(([registered, requested]) =>
      fc.constantFrom<Mode>('exact', 'strict', 'lenient').map(mode => [registered, requested, mode] as const),
    ),
  check([registered, requested, mode]) {
    for (const entry of registered) {
      if (!fitsLogoutEntry(entry, requested) || entry === requested) continue
      assert.ok(entry.includes('*') && isBelow(entry, requested.replace(/#.*$/s, '')), 'a foreign logout redirect')
    }
    const resolved = resolveRedirectUri({ redirectUris: registered }, requested, MODES[mode])
    if (resolved === undefined) return 'refused'
    assert.equal(resolved, requested)
    assert.match(resolved, /^[\x21-\x22\x24-\x5b\x5d-\x7e]+$/)
    const url = new URL(resolved)
    assert.ok(!['javascript:', 'data:', 'vbscript:', 'blob:', 'file:'].includes(url.protocol))
    assert.ok(
      registered.some(entry => isAllowed(entry, requested, mode)),
      'no entry allows it',
    )
    if (mode === 'lenient') {
      assert.ok(registered.every(isRedirectPattern), 'an invalid pattern')
      const isWeb = url.protocol === 'http:' || url.protocol === 'https:'
      assert.ok(!isWeb || registered.includes(requested) || registered.some(entry => acceptsHost(entry, url.hostname)))
    }
    return 'read'
  },
})
