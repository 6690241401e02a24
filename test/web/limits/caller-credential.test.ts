import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CredentialPart } from '../../../src/model/zones/rate-limit.ts'
import { createCredentialReader } from '../../../src/web/limits/caller-credential.ts'

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const jwt = (payload: unknown): string => `${encode({ alg: 'none', kid: 'k-1' })}.${encode(payload)}.c2ln`
const bearer = (payload: unknown): string => `Bearer ${jwt(payload)}`

const claim = (name: string, section: 0 | 1 = 1): CredentialPart => ({ kind: 'claim', section, claim: name })
const pattern = (text: string): CredentialPart => ({ kind: 'pattern', section: 1, pattern: text })

describe('`createCredentialReader`', () => {
  const cases: readonly {
    readonly name: string
    readonly part: CredentialPart
    readonly header: string | undefined
    readonly want: string | undefined
  }[] = [
    { name: 'returns a claim', part: claim('email'), header: bearer({ email: 'a@b.c' }), want: 'a@b.c' },
    { name: 'returns a numeric claim', part: claim('n'), header: bearer({ n: 7 }), want: '7' },
    { name: 'returns a header parameter', part: claim('kid', 0), header: bearer({}), want: 'k-1' },
    { name: 'ignores the case of the scheme', part: claim('a'), header: `bEARER  ${jwt({ a: 'x' })} `, want: 'x' },
    {
      name: 'reads DPoP tokens',
      part: claim('a'),
      header: `DPoP ${jwt({ a: 'x' })}`,
      want: 'x',
    },
    { name: 'ignores a missing claim', part: claim('email'), header: bearer({}), want: undefined },
    { name: 'ignores an empty claim', part: claim('a'), header: bearer({ a: '' }), want: undefined },
    { name: 'ignores an array', part: claim('a'), header: bearer({ a: ['x'] }), want: undefined },
    { name: 'ignores inherited properties', part: claim('constructor'), header: bearer({}), want: undefined },
    { name: 'ignores malformed JSON', part: claim('a'), header: bearer('{'), want: undefined },
    { name: 'ignores a payload that is an array', part: claim('0'), header: bearer(['x']), want: undefined },
    {
      name: 'returns a capture group',
      part: pattern('"sub":"(.*?)"'),
      header: bearer({ sub: 'u-1', x: 'y' }),
      want: 'u-1',
    },
    { name: 'joins several capture groups', part: pattern('"(a)":"(.)"'), header: bearer({ a: 'b' }), want: 'a|b' },
    {
      name: 'ignores an empty capture group',
      part: pattern('"sub":"(x*)'),
      header: bearer({ sub: 'u-1' }),
      want: undefined,
    },
    { name: 'ignores a pattern without a match', part: pattern('"sub":(\\d)'), header: bearer({}), want: undefined },
    { name: 'returns a raw section', part: { kind: 'section', section: 2 }, header: bearer({}), want: 'c2ln' },
    { name: 'returns undefined without a header', part: { kind: 'token' }, header: undefined, want: undefined },
    { name: 'ignores other schemes', part: { kind: 'token' }, header: 'Basic YTpi', want: undefined },
    { name: 'ignores opaque tokens', part: { kind: 'token' }, header: 'Bearer abc', want: undefined },
    { name: 'ignores tokens of two sections', part: { kind: 'token' }, header: 'Bearer a.b', want: undefined },
    { name: 'ignores tokens of five sections', part: { kind: 'token' }, header: 'Bearer a.b.c.d.e', want: undefined },
    {
      name: 'ignores a token that is too long',
      part: claim('a'),
      header: bearer({ a: 'x', b: 'y'.repeat(9000) }),
      want: undefined,
    },
  ]
  for (const { name, part, header, want } of cases) {
    it(name, () => assert.equal(createCredentialReader(part)(header), want))
  }

  it('returns a short, distinct id for each token', () => {
    const read = createCredentialReader({ kind: 'token' })
    const [first = '', second = ''] = [read(bearer({ a: 'x'.repeat(500) })), read(bearer({ a: 'y'.repeat(500) }))]
    assert.notEqual(first, second)
    for (const id of [first, second]) assert.ok(id.length > 20 && id.length <= 64, id)
  })
})
