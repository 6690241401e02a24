import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientKeys } from '../../../src/model/clients/client-keys.ts'
import {
  keySetProblem,
  keyUriProblem,
  namesOfKeys,
  publicKeySet,
  withKeys,
  withoutKeys,
} from '../../../src/model/clients/client-keys.ts'

const key = (kid: string, n = 'n'): object => ({ kty: 'RSA', kid, n })
const set = (...keys: readonly object[]): ClientKeys => ({ jwks: JSON.stringify({ keys }) })
const at = (jwksUri: string): ClientKeys => ({ jwksUri })

describe('keyUriProblem', () => {
  const notAbsolute = 'Invalid private_key_jwt: jwks_uri must be an absolute URL'
  const invalid = 'Client jwt configuration with invalid URI'
  const scheme = 'Invalid private_key_jwt: jwks_uri must be either using https or http'
  const notLocal = 'Invalid private_key_jwt: jwks_uri with http is not on localhost'
  const cases: Readonly<Record<string, string | undefined>> = {
    'https://a.example/keys?x=y&z=%20#f': undefined,
    'https://a.example:8443': undefined,
    'https://[2001:4860::1]/keys': undefined,
    'http://localhost/keys': undefined,
    'http://localhost:9000/keys': undefined,
    'http://app.localhost/keys': undefined,
    'http://127.0.0.1:9000/keys': undefined,
    'http://[::1]/keys': undefined,
    '': notAbsolute,
    keys: notAbsolute,
    '/keys': notAbsolute,
    '//a.example/keys': notAbsolute,
    'https://': invalid,
    'https://a.example/my keys': invalid,
    'https://a.example/{keys}': invalid,
    'https://a.example/"keys"': invalid,
    'https://a.example/keys\n': invalid,
    'https://a.example/kéys': invalid,
    'https://a.example\\@b.example/': invalid,
    'https://me:secret@a.example/keys': invalid,
    'https://me@a.example/keys': invalid,
    'ftp://a.example/keys': scheme,
    'file:///etc/passwd': scheme,
    'data:application/json,1': scheme,
    'http://a.example/keys': notLocal,
    'http://localhost.example/keys': notLocal,
    'http://127.0.0.1.example/keys': notLocal,
    'http://10.0.0.1/keys': notLocal,
  }
  for (const [uri, want] of Object.entries(cases)) {
    it(`${want === undefined ? 'accepts' : 'refuses'} ${JSON.stringify(uri)}`, () => {
      assert.equal(keyUriProblem(uri), want)
    })
  }
})

describe('keySetProblem', () => {
  it('requires a kid of a single key only for changes by name', () => {
    assert.equal(keySetProblem({ kty: 'RSA' }), undefined)
    assert.equal(keySetProblem({ kty: 'RSA' }, { named: true }), 'Invalid private_key_jwt: kid is required attribute')
    assert.equal(keySetProblem({ kty: 'RSA', kid: 'a' }, { named: true }), undefined)
  })
})

describe('publicKeySet', () => {
  it('removes private members only', () => {
    const secret = Object.fromEntries(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].map(name => [name, 'secret']))
    assert.equal(
      publicKeySet({ ...key('a'), ...secret, use: 'sig' }),
      '{"keys":[{"kty":"RSA","kid":"a","n":"n","use":"sig"}]}',
    )
  })
})

describe('withKeys', () => {
  const cases = [
    { name: 'sets the first keys', before: {}, given: set(key('a')), add: set(key('a')), update: set(key('a')) },
    { name: 'sets the first URL', before: {}, given: at('u'), add: at('u'), update: at('u') },
    {
      name: 'appends new keys',
      before: set(key('a')),
      given: set(key('b'), key('c')),
      add: set(key('a'), key('b'), key('c')),
      update: set(key('a'), key('b'), key('c')),
    },
    {
      name: 'replaces a key with the same kid only if overwrite is set',
      before: set(key('a', 'old'), key('b')),
      given: set(key('a', 'new'), key('c')),
      add: set(key('a', 'old'), key('b'), key('c')),
      update: set(key('a', 'new'), key('b'), key('c')),
    },
    {
      name: 'replaces a URL only if overwrite is set',
      before: at('old'),
      given: at('new'),
      add: at('old'),
      update: at('new'),
    },
    {
      name: 'replaces keys by a URL only if overwrite is set',
      before: set(key('a')),
      given: at('u'),
      add: set(key('a')),
      update: at('u'),
    },
    {
      name: 'replaces a URL by keys only if overwrite is set',
      before: at('u'),
      given: set(key('a')),
      add: at('u'),
      update: set(key('a')),
    },
  ]
  for (const { name, before, given, add, update } of cases) {
    it(name, () => {
      assert.deepEqual(withKeys(before, given, { overwrite: false }), add)
      assert.deepEqual(withKeys(before, given, { overwrite: true }), update)
    })
  }
})

describe('withoutKeys', () => {
  const both = set(key('a'), key('b'))
  const cases = [
    { name: 'a key by its kid', before: both, removal: { kids: ['a'] }, want: set(key('b')) },
    { name: 'several keys', before: both, removal: { kids: ['b', 'a'] }, want: {} },
    { name: 'a URL', before: at('u'), removal: { jwksUri: 'u' }, want: {} },
    { name: 'any URL by *', before: at('u'), removal: { jwksUri: '*' }, want: {} },
  ]
  for (const { name, before, removal, want } of cases) {
    it(`removes ${name}`, () => assert.deepEqual(withoutKeys(before, removal), want))
  }
  const unchanged = [
    { name: 'an unknown kid', before: both, removal: { kids: ['c'] } },
    { name: 'no kid', before: both, removal: { kids: [] } },
    { name: 'another URL', before: at('u'), removal: { jwksUri: 'v' } },
    { name: 'any URL of a key set', before: both, removal: { jwksUri: '*' } },
    { name: 'a kid of a URL', before: at('u'), removal: { kids: ['u'] } },
    { name: 'any URL of no keys', before: {}, removal: { jwksUri: '*' } },
  ]
  for (const { name, before, removal } of unchanged) {
    it(`returns the same object when removing ${name}`, () => assert.equal(withoutKeys(before, removal), before))
  }
})

describe('namesOfKeys', () => {
  it('returns the kids of a key set or a JSON key, and none of other values', () => {
    assert.deepEqual(namesOfKeys({ keys: [key('a'), { kty: 'RSA' }, key('b')] }), ['a', 'b'])
    assert.deepEqual(namesOfKeys(JSON.stringify(key('a'))), ['a'])
    for (const value of ['', 'null', undefined, 5]) assert.deepEqual(namesOfKeys(value), [])
  })
})
