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

describe('what identifies callers', () => {
  const cases: readonly {
    readonly name: string
    readonly part: CredentialPart
    readonly header: string | undefined
    readonly want: string | undefined
  }[] = [
    { name: 'a claim', part: claim('email'), header: bearer({ email: 'a@b.c' }), want: 'a@b.c' },
    { name: 'a claim that is a number', part: claim('n'), header: bearer({ n: 7 }), want: '7' },
    { name: 'a member of the header', part: claim('kid', 0), header: bearer({}), want: 'k-1' },
    { name: 'the scheme in any case', part: claim('a'), header: `bEARER  ${jwt({ a: 'x' })} `, want: 'x' },
    {
      name: 'a claim of a token that is bound to a key',
      part: claim('a'),
      header: `DPoP ${jwt({ a: 'x' })}`,
      want: 'x',
    },
    { name: 'no claim that does not exist', part: claim('email'), header: bearer({}), want: undefined },
    { name: 'no empty claim', part: claim('a'), header: bearer({ a: '' }), want: undefined },
    { name: 'no list', part: claim('a'), header: bearer({ a: ['x'] }), want: undefined },
    { name: 'no member of a prototype', part: claim('constructor'), header: bearer({}), want: undefined },
    { name: 'no claim of what is not JSON', part: claim('a'), header: bearer('{'), want: undefined },
    { name: 'no claim of a list', part: claim('0'), header: bearer(['x']), want: undefined },
    { name: 'a group', part: pattern('"sub":"(.*?)"'), header: bearer({ sub: 'u-1', x: 'y' }), want: 'u-1' },
    { name: 'several groups', part: pattern('"(a)":"(.)"'), header: bearer({ a: 'b' }), want: 'a|b' },
    { name: 'no empty group', part: pattern('"sub":"(x*)'), header: bearer({ sub: 'u-1' }), want: undefined },
    { name: 'no group without a match', part: pattern('"sub":(\\d)'), header: bearer({}), want: undefined },
    { name: 'a section as it was sent', part: { kind: 'section', section: 2 }, header: bearer({}), want: 'c2ln' },
    { name: 'nothing without a header', part: { kind: 'token' }, header: undefined, want: undefined },
    { name: 'nothing of other schemes', part: { kind: 'token' }, header: 'Basic YTpi', want: undefined },
    { name: 'nothing of an opaque token', part: { kind: 'token' }, header: 'Bearer abc', want: undefined },
    { name: 'nothing of two sections', part: { kind: 'token' }, header: 'Bearer a.b', want: undefined },
    { name: 'nothing of five sections', part: { kind: 'token' }, header: 'Bearer a.b.c.d.e', want: undefined },
    {
      name: 'nothing of a huge token',
      part: claim('a'),
      header: bearer({ a: 'x', b: 'y'.repeat(9000) }),
      want: undefined,
    },
  ]
  for (const { name, part, header, want } of cases) {
    it(`is ${name}`, () => assert.equal(createCredentialReader(part)(header), want))
  }

  it('is remembered in few characters, and differs where tokens differ', () => {
    const read = createCredentialReader({ kind: 'token' })
    const [first = '', second = ''] = [read(bearer({ a: 'x'.repeat(500) })), read(bearer({ a: 'y'.repeat(500) }))]
    assert.notEqual(first, second)
    for (const id of [first, second]) assert.ok(id.length > 20 && id.length <= 64, id)
  })
})
