import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ResponseMode } from '../../src/oauth/respond.ts'
import { bareLocation, locationFor } from '../../src/oauth/respond.ts'

const at = (redirectUri: string, mode: ResponseMode = 'query') => ({ clientId: 'app', redirectUri, mode })

describe('locationFor', () => {
  const cases: readonly {
    name: string
    uri: string
    mode?: ResponseMode
    values: Record<string, string | undefined>
    want: string
  }[] = [
    {
      name: 'begins a query',
      uri: 'https://a.example/cb',
      values: { code: 'c', state: 's' },
      want: 'https://a.example/cb?code=c&state=s',
    },
    {
      name: 'extends a query',
      uri: 'https://a.example/cb?x=1',
      values: { code: 'c' },
      want: 'https://a.example/cb?x=1&code=c',
    },
    {
      name: 'keeps the order and leaves out what has no value',
      uri: 'https://a.example/',
      values: { b: '1', a: undefined, c: '' },
      want: 'https://a.example/?b=1&c=',
    },
    {
      name: 'puts a query in front of a fragment',
      uri: 'https://a.example/#/bye',
      values: { state: 's' },
      want: 'https://a.example/?state=s#/bye',
    },
    {
      name: 'begins a fragment',
      uri: 'https://a.example/cb',
      mode: 'fragment',
      values: { error: 'e' },
      want: 'https://a.example/cb#error=e',
    },
    {
      name: 'extends a fragment',
      uri: 'https://a.example/cb#x=1',
      mode: 'fragment',
      values: { error: 'e' },
      want: 'https://a.example/cb#x=1&error=e',
    },
    {
      name: 'serves schemes of applications',
      uri: 'com.example.app:/cb',
      values: { code: 'c' },
      want: 'com.example.app:/cb?code=c',
    },
    {
      name: 'encodes what would end a parameter, a header or the query',
      uri: 'https://a.example/cb',
      values: { state: 'a&b=c#d\r\nX: y +%' },
      want: 'https://a.example/cb?state=a%26b%3Dc%23d%0D%0AX%3A%20y%20%2B%25',
    },
  ]
  for (const { name, uri, mode, values, want } of cases) {
    it(name, () => assert.equal(locationFor(at(uri, mode), values), want))
  }

  it('brings any value back unchanged and stays within what a header may hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), state => {
        fc.pre(state.isWellFormed())
        const location = locationFor(at('https://a.example/cb?x=1'), { state })
        assert.match(location, /^[\x21-\x7e]+$/)
        assert.equal(new URL(location).searchParams.get('state'), state)
        assert.equal(new URL(location).origin, 'https://a.example')
      }),
    )
  })
})

describe('bareLocation', () => {
  const cases: readonly { error: string; want: string | undefined }[] = [
    { error: 'login_required', want: 'https://a.example/cb?error=login_required&session_state=h.s' },
    { error: 'interaction_required', want: 'https://a.example/cb#error=interaction_required' },
    { error: 'server_error', want: 'https://a.example/cb#error=internal_server_error' },
    { error: 'temporarily_unavailable', want: 'https://a.example/cb#error=internal_server_error' },
    { error: 'invalid_scope', want: undefined },
  ]
  for (const { error, want } of cases) {
    it(`${want === undefined ? 'leaves alone' : 'tells without state and description'} ${error}`, () => {
      const target = { ...at('https://a.example/cb'), state: 's' }
      assert.equal(bareLocation(target, error, { session_state: 'h.s' }), want)
    })
  }
})
