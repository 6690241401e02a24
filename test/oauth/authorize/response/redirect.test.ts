import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bareLocation, errorMode, locationFor } from '../../../../src/oauth/authorize/response/redirect.ts'
import type { ResponseTarget } from '../../../../src/oauth/authorize/response/redirect.ts'
import { defaultMode, parseResponseType } from '../../../../src/oauth/authorize/response/response-type.ts'
import { anyCodePoint } from '../../../support/code-points.ts'

const behaviours = { standard: { errorsLikeSuccess: true }, uaa: { errorsLikeSuccess: false } }

describe('locationFor', () => {
  const cases: readonly {
    name: string
    uri: string
    mode?: 'query' | 'fragment'
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
      name: 'keeps the order, and omits undefined values',
      uri: 'https://a.example/',
      values: { b: '1', a: undefined, c: '' },
      want: 'https://a.example/?b=1&c=',
    },
    {
      name: 'inserts a query before a fragment',
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
    // Covers GET /oauth/authorize: response: existing fragment is kept
    {
      name: 'extends a fragment',
      uri: 'https://a.example/cb#x=1',
      mode: 'fragment',
      values: { error: 'e' },
      want: 'https://a.example/cb#x=1&error=e',
    },
    {
      name: 'supports custom schemes',
      uri: 'com.example.app:/cb',
      values: { code: 'c' },
      want: 'com.example.app:/cb?code=c',
    },
    {
      name: 'encodes delimiters and line breaks',
      uri: 'https://a.example/cb',
      values: { state: 'a&b=c#d\r\nX: y +%' },
      want: 'https://a.example/cb?state=a%26b%3Dc%23d%0D%0AX%3A%20y%20%2B%25',
    },
  ]
  for (const { name, uri, mode, values, want } of cases) {
    it(name, () => assert.equal(locationFor(uri, mode ?? 'query', values), want))
  }

  it('preserves any value in characters allowed in headers', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), state => {
        fc.pre(state.isWellFormed())
        const location = locationFor('https://a.example/cb?x=1', 'query', { state })
        assert.match(location, /^[\x21-\x7e]+$/)
        assert.equal(new URL(location).searchParams.get('state'), state)
        assert.equal(new URL(location).origin, 'https://a.example')
      }),
    )
  })
})

describe('bareLocation', () => {
  const cases: readonly { error: string; type?: string; want: string | undefined }[] = [
    { error: 'login_required', want: 'https://a.example/cb?error=login_required&session_state=h.s' },
    { error: 'login_required', type: 'token', want: 'https://a.example/cb#error=login_required&session_state=h.s' },
    { error: 'login_required', type: 'id_token', want: 'https://a.example/cb#error=login_required&session_state=h.s' },
    {
      error: 'login_required',
      type: 'id_token code',
      want: 'https://a.example/cb?error=login_required&session_state=h.s',
    },
    { error: 'interaction_required', want: 'https://a.example/cb#error=interaction_required' },
    { error: 'server_error', want: 'https://a.example/cb#error=internal_server_error' },
    { error: 'temporarily_unavailable', want: 'https://a.example/cb#error=internal_server_error' },
    { error: 'invalid_scope', want: undefined },
  ]
  for (const { error, type = 'code', want } of cases) {
    it(`${want === undefined ? 'is undefined for' : 'omits state and description of'} ${error} with response_type=${type}`, () => {
      assert.equal(bareLocation(targetOf(type), error, { session_state: 'h.s' }), want)
    })
  }
})

// Covers compatibility: authorization response: R1 place of errors
describe('errorMode', () => {
  const cases: readonly { type: string; standard: string; uaa: string }[] = [
    { type: 'code', standard: 'query', uaa: 'query' },
    { type: 'token', standard: 'fragment', uaa: 'fragment' },
    { type: 'id_token', standard: 'fragment', uaa: 'query' },
    { type: 'token id_token', standard: 'fragment', uaa: 'fragment' },
    { type: 'code id_token', standard: 'fragment', uaa: 'query' },
    { type: 'code token', standard: 'fragment', uaa: 'fragment' },
    { type: 'code id_token token', standard: 'fragment', uaa: 'fragment' },
    { type: 'nonsense', standard: 'query', uaa: 'query' },
  ]
  for (const { type, standard, uaa } of cases) {
    it(`is ${standard} for ${type}, in uaa ${uaa}`, () => {
      assert.equal(errorMode(targetOf(type), behaviours.standard), standard)
      assert.equal(errorMode(targetOf(type), behaviours.uaa), uaa)
    })
  }

  it('is the requested form_post', () => {
    assert.equal(errorMode({ ...targetOf('code'), mode: 'form_post' }, behaviours.standard), 'form_post')
  })
})

function targetOf(text: string): ResponseTarget {
  const type = parseResponseType(text)
  return {
    clientId: 'app',
    redirectUri: 'https://a.example/cb',
    mode: defaultMode(type),
    isSigned: false,
    type,
    state: 's',
  }
}
