import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Client } from '../../../src/model/clients/client.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import {
  approvedScopes,
  clientScopes,
  hasRequiredGroups,
  isAutoApproved,
  narrow,
  parseScope,
  requestableScopes,
  scopeMatches,
  storedScopes,
  userScopes,
} from '../../../src/model/tokens/scopes.ts'
import type { UserGroups } from '../../../src/model/tokens/scopes.ts'
import { bareClient as client } from '../../support/bare-client.ts'
import { runs } from '../../support/thinning.ts'

/** The granted scopes, or the description of the error. */
function outcome(rule: () => readonly string[]): readonly string[] | string {
  try {
    return rule()
  } catch (error) {
    assert.ok(error instanceof OAuthError)
    assert.deepEqual([error.error, error.status], ['invalid_scope', 400])
    return error.message
  }
}

describe('parseScope', () => {
  const cases: readonly { name: string; value: string | undefined; want: readonly string[] }[] = [
    { name: 'returns no scope for an absent parameter', value: undefined, want: [] },
    { name: 'returns no scope for an empty parameter', value: '', want: [] },
    { name: 'returns no scope for separators only', value: ' ,+\t', want: [] },
    { name: 'returns a single scope', value: 'openid', want: ['openid'] },
    { name: 'splits at spaces (RFC 6749 §3.3)', value: 'openid email', want: ['openid', 'email'] },
    { name: 'splits at commas', value: 'openid,email', want: ['openid', 'email'] },
    { name: 'splits at undecoded plus signs', value: 'openid+email', want: ['openid', 'email'] },
    { name: 'accepts repeated separators', value: ' openid ,\n email ', want: ['openid', 'email'] },
    { name: 'drops repeated scopes', value: 'b a b', want: ['b', 'a'] },
    { name: 'keeps case and dots', value: 'Cloud.Read cloud.read', want: ['Cloud.Read', 'cloud.read'] },
  ]
  for (const { name, value, want } of cases) {
    it(name, () => assert.deepEqual(parseScope(value), want))
  }

  it('rejects more than 1000 scopes', () => {
    const words = (count: number): string => Array.from({ length: count }, (_, index) => `s${index}`).join(' ')
    assert.equal(parseScope(words(1000)).length, 1000)
    assert.match(String(outcome(() => parseScope(words(1001)))), /more than 1000/)
  })
})

describe('scopeMatches', () => {
  const cases = [
    { pattern: 'cloud.read', scope: 'cloud.read', want: true },
    { pattern: 'cloud.read', scope: 'cloud.write', want: false },
    { pattern: 'cloud.read', scope: 'cloudxread', want: false },
    { pattern: 'cloud.read', scope: 'Cloud.read', want: false },
    { pattern: '*', scope: 'cloud', want: true },
    { pattern: '*', scope: '', want: false },
    { pattern: '*', scope: 'cloud.read', want: false },
    { pattern: 'cloud.*', scope: 'cloud.read', want: true },
    { pattern: 'cloud.*', scope: 'cloud.', want: false },
    { pattern: 'cloud.*', scope: 'cloud', want: false },
    { pattern: 'cloud.*', scope: 'cloud.read.all', want: false },
    { pattern: '*.read', scope: 'cloud.read', want: true },
    { pattern: '*.*.read', scope: 'zones.z1.read', want: true },
    { pattern: 'zones.*.admin', scope: 'zones.z1.admin', want: true },
    { pattern: 'zones.*.admin', scope: 'zones.z1.read', want: false },
    { pattern: 'cl*d.read', scope: 'cloud.read', want: true },
    { pattern: 'cl*d.read', scope: 'cld.read', want: false },
    { pattern: 'a*b*c', scope: 'a1b2c', want: true },
    { pattern: 'a*b*c', scope: 'abbc', want: false },
    { pattern: 'a*b*c', scope: 'axbbxc', want: true },
    { pattern: '**', scope: 'ab', want: true },
    { pattern: '**', scope: 'a', want: false },
    { pattern: 'a*a', scope: 'a', want: false },
    { pattern: 'a*a', scope: 'aa', want: false },
    { pattern: 'a*a', scope: 'aba', want: true },
    { pattern: 'a.*', scope: 'a.*', want: true },
    { pattern: '(a)*', scope: '(a)+', want: true },
    { pattern: 'a\\*', scope: 'a\\b', want: true },
    { pattern: '[a]*', scope: 'ab', want: false },
    { pattern: 'cloud.*', scope: 'cloud.x openid', want: false },
    { pattern: 'cloud.*.admin', scope: 'cloud.x billing.admin', want: false },
    { pattern: 'cloud.*.admin', scope: 'cloud.x\tbilling.admin', want: false },
    { pattern: 'cloud.*', scope: 'cloud.x\u00a0y', want: false },
  ]
  for (const { pattern, scope, want } of cases) {
    it(`${pattern} ${want ? 'matches' : 'does not match'} "${scope}"`, () => {
      assert.equal(scopeMatches(pattern, scope), want)
    })
  }

  it('agrees with an equivalent regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '$'), maxLength: 9 })
    const quoted = (part: string): string => part.replace(/[.$]/g, '\\$&')
    fc.assert(
      fc.property(text, text, (pattern, scope) => {
        const reference = new RegExp(`^${pattern.split('*').map(quoted).join('[^.]+')}$`)
        assert.equal(scopeMatches(pattern, scope), reference.test(scope))
      }),
      { numRuns: runs(5000) },
    )
  })

  it('matches a pattern with its wildcards filled in', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 4 })
    const part = fc.oneof(word, fc.constant('.'), fc.constant('*'))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), word, (parts, filling) => {
        const scope = parts.map(each => (each === '*' ? filling : each)).join('')
        assert.equal(scopeMatches(parts.join(''), scope), true)
      }),
    )
  })

  it('takes linear time for a pattern that makes a regular expression backtrack', () => {
    assert.equal(scopeMatches(`${'a*'.repeat(5000)}b`, 'a'.repeat(20_000)), false)
  })
})

describe('clientScopes', () => {
  const cases: readonly {
    name: string
    authorities: string[]
    requested: string[]
    want: readonly string[] | string
  }[] = [
    {
      name: 'grants every authority if no scope is requested',
      authorities: ['a', 'b'],
      requested: [],
      want: ['a', 'b'],
    },
    { name: 'grants the requested authorities', authorities: ['a', 'b'], requested: ['b'], want: ['b'] },
    {
      name: 'rejects a scope that is not an authority',
      authorities: ['a'],
      requested: ['a', 'c'],
      want: 'Invalid scope: c',
    },
    {
      name: 'does not expand wildcards of authorities',
      authorities: ['a.*'],
      requested: ['a.b'],
      want: 'Invalid scope: a.b',
    },
    {
      name: 'rejects a client without authorities',
      authorities: [],
      requested: [],
      want: 'Empty scope (client has no registered scopes)',
    },
    {
      name: 'rejects a request by a client without authorities',
      authorities: [],
      requested: ['a'],
      want: 'Empty scope (client has no registered scopes)',
    },
  ]
  for (const { name, authorities, requested, want } of cases) {
    it(name, () => {
      assert.deepEqual(
        outcome(() => clientScopes(client({ authorities }), requested)),
        want,
      )
    })
  }

  it('lists the authorities in the error', () => {
    assert.throws(
      () => clientScopes(client({ authorities: ['a', 'b'] }), ['c']),
      (error: OAuthError) => error.extra['scope'] === 'a b',
    )
  })

  it('does not grant the client’s scopes for users', () => {
    assert.throws(() => clientScopes(client({ authorities: ['a'], scope: ['b'] }), ['b']), OAuthError)
  })
})

describe('requestableScopes', () => {
  const invalid = (scope: string): string => `${scope} is invalid. Please use a valid scope name in the request`
  const cases: readonly {
    name: string
    scope: string[]
    requested: string[]
    strict: readonly string[] | string
    lenient: readonly string[] | string
  }[] = [
    {
      name: 'all scopes of the client if none is requested',
      scope: ['a', 'b.*'],
      requested: [],
      strict: ['a', 'b.*'],
      lenient: ['a', 'b.*'],
    },
    { name: 'a scope of the client', scope: ['a', 'b'], requested: ['b'], strict: ['b'], lenient: ['b'] },
    { name: 'a scope that matches a wildcard', scope: ['b.*'], requested: ['b.c'], strict: ['b.c'], lenient: ['b.c'] },
    {
      name: 'a scope outside the client',
      scope: ['a'],
      requested: ['c'],
      strict: invalid('c'),
      lenient: invalid('c'),
    },
    {
      name: 'email with openid',
      scope: ['openid'],
      requested: ['openid', 'email'],
      strict: invalid('email'),
      lenient: ['openid'],
    },
    {
      name: 'every OpenID scope with openid',
      scope: ['openid'],
      requested: ['profile', 'email', 'phone', 'address', 'offline_access', 'openid'],
      strict: invalid('profile'),
      lenient: ['openid'],
    },
    {
      name: 'email without openid',
      scope: ['a'],
      requested: ['a', 'email'],
      strict: invalid('email'),
      lenient: invalid('email'),
    },
    {
      name: 'openid for a client without it',
      scope: ['a'],
      requested: ['openid'],
      strict: invalid('openid'),
      lenient: invalid('openid'),
    },
    {
      name: 'another scope with openid',
      scope: ['openid'],
      requested: ['openid', 'c'],
      strict: invalid('c'),
      lenient: invalid('c'),
    },
    {
      name: 'email of a client that has it',
      scope: ['openid', 'email'],
      requested: ['openid', 'email'],
      strict: ['openid', 'email'],
      lenient: ['openid', 'email'],
    },
    {
      name: 'any scope of a client without scopes',
      scope: [],
      requested: ['a'],
      strict: invalid('a'),
      lenient: invalid('a'),
    },
  ]
  for (const { name, scope, requested, strict, lenient } of cases) {
    for (const [dropForeignOpenidScopes, want] of [
      [false, strict],
      [true, lenient],
    ] as const) {
      it(`${typeof want === 'string' ? 'rejects' : 'accepts'} ${name}${dropForeignOpenidScopes ? ' (dropForeignOpenidScopes)' : ''}`, () => {
        assert.deepEqual(
          outcome(() => requestableScopes({ client: client({ scope }), requested }, { dropForeignOpenidScopes })),
          want,
        )
      })
    }
  }
})

describe('userScopes', () => {
  const strict = { dropForeignOpenidScopes: false }
  const notAllowed = (patterns: string): string =>
    `[${patterns}] is invalid. This user is not allowed any of the requested scopes`
  const cases: readonly {
    name: string
    client: Partial<Client>
    requested?: readonly string[]
    user: UserGroups
    want: readonly string[] | string
  }[] = [
    {
      name: 'grants groups within the client’s scopes',
      client: { scope: ['a', 'b'] },
      user: { groups: ['b', 'c'] },
      want: ['b'],
    },
    {
      name: 'grants only requested scopes',
      client: { scope: ['a', 'b'] },
      requested: ['a'],
      user: { groups: ['a', 'b'] },
      want: ['a'],
    },
    {
      name: 'drops requested scopes outside the user’s groups',
      client: { scope: ['a', 'b'] },
      requested: ['a', 'b'],
      user: { groups: ['b'] },
      want: ['b'],
    },
    {
      name: 'expands a wildcard of the client to the user’s groups',
      client: { scope: ['b.*'] },
      user: { groups: ['b.1', 'b.2', 'c.1'] },
      want: ['b.1', 'b.2'],
    },
    {
      name: 'limits a requested wildcard to the client’s scopes',
      client: { scope: ['b.*'] },
      requested: ['b.*'],
      user: { groups: ['b.1', 'c.1'] },
      want: ['b.1'],
    },
    {
      name: 'grants a repeated group once',
      client: { scope: ['a'] },
      user: { groups: ['a', 'a'] },
      want: ['a'],
    },
    {
      name: 'grants only groups allowed by the zone',
      client: { scope: ['a', 'b'] },
      user: { groups: ['a', 'b'], allowed: ['b'] },
      want: ['b'],
    },
    {
      name: 'rejects if the zone allows no group',
      client: { scope: ['a'] },
      user: { groups: ['a'], allowed: [] },
      want: notAllowed('a'),
    },
    {
      name: 'rejects a client without scopes',
      client: { scope: [] },
      user: { groups: ['a'] },
      want: 'Empty scope (client has no registered scopes)',
    },
    {
      name: 'rejects a user without groups',
      client: { scope: ['a', 'b'] },
      user: { groups: [] },
      want: notAllowed('a, b'),
    },
    {
      name: 'rejects if no requested scope can be granted',
      client: { scope: ['a', 'b'] },
      requested: ['b'],
      user: { groups: ['a'] },
      want: notAllowed('b'),
    },
    {
      name: 'rejects a scope outside the client before checking the user',
      client: { scope: ['a'] },
      requested: ['c'],
      user: { groups: ['c'] },
      want: 'c is invalid. Please use a valid scope name in the request',
    },
    {
      name: 'rejects a user outside a required group',
      client: { scope: ['a'], requiredUserGroups: ['b'] },
      user: { groups: ['a'] },
      want: "User does not meet the client's required group criteria.",
    },
    {
      name: 'accepts a required group outside the client’s scopes',
      client: { scope: ['a'], requiredUserGroups: ['b'] },
      user: { groups: ['a', 'b'] },
      want: ['a'],
    },
    {
      name: 'accepts a required group that the zone does not allow',
      client: { scope: ['a'], requiredUserGroups: ['b'] },
      user: { groups: ['a', 'b'], allowed: ['a'] },
      want: ['a'],
    },
  ]
  for (const { name, client: members, requested = [], user, want } of cases) {
    it(name, () => {
      assert.deepEqual(
        outcome(() => userScopes({ client: client(members), requested }, user, strict)),
        want,
      )
    })
  }

  // Reading them again for each group would take seconds.
  it('reads each requested pattern once, however many groups the user has', context => {
    const groups = Array.from({ length: 200 }, (_, index) => `a.group${index}`)
    const requested = Array.from({ length: 200 }, (_, index) => `a.*${index}x`)
    const split = context.mock.method(String.prototype, 'split')
    const rejected = outcome(() => userScopes({ client: client({ scope: ['a.*'] }), requested }, { groups }, strict))
    const count = split.mock.callCount()
    assert.match(String(rejected), /not allowed any/)
    assert.ok(count < 10 * (groups.length + requested.length), `${count} times`)
  })

  it('drops OpenID scopes outside the client with dropForeignOpenidScopes', () => {
    const app = client({ scope: ['openid'] })
    const user = { groups: ['openid', 'email'] }
    assert.deepEqual(
      userScopes({ client: app, requested: ['openid', 'email'] }, user, { dropForeignOpenidScopes: true }),
      ['openid'],
    )
  })

  it('grants only scopes within user, client, zone and request, for any input', () => {
    const scope = fc.constantFrom<string[]>('a', 'b', 'c.1', 'c.2', 'openid', 'email')
    const pattern = fc.oneof(scope, fc.constantFrom('*', 'c.*'))
    const list = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 4 })
    fc.assert(
      fc.property(
        list(pattern),
        list(scope),
        list(scope),
        fc.option(list(scope), { nil: undefined }),
        list(scope),
        fc.boolean(),
        (patterns, requested, groups, allowed, required, dropForeignOpenidScopes) => {
          const app = client({ scope: patterns, requiredUserGroups: required })
          const user = { groups, ...(allowed && { allowed }) }
          const granted = outcome(() => userScopes({ client: app, requested }, user, { dropForeignOpenidScopes }))
          if (typeof granted === 'string') return
          assert.ok(granted.length > 0)
          assert.equal(new Set(granted).size, granted.length)
          assert.ok(required.every(group => groups.includes(group)))
          for (const each of granted) {
            assert.ok(groups.includes(each))
            assert.ok(patterns.some(own => scopeMatches(own, each)))
            assert.ok(allowed === undefined || allowed.includes(each))
            assert.ok(requested.length === 0 || requested.includes(each))
          }
        },
      ),
      { numRuns: runs(2000) },
    )
  })
})

describe('hasRequiredGroups', () => {
  const cases = [
    { name: 'is true if no group is required', required: [], groups: [], want: true },
    { name: 'is true for a member of all required groups', required: ['a', 'b'], groups: ['b', 'c', 'a'], want: true },
    { name: 'is false for a member of some required groups', required: ['a', 'b'], groups: ['a'], want: false },
    { name: 'does not expand wildcards', required: ['a.*'], groups: ['a.b'], want: false },
  ]
  for (const { name, required, groups, want } of cases) {
    it(name, () => assert.equal(hasRequiredGroups(client({ requiredUserGroups: required }), groups), want))
  }
})

describe('narrow', () => {
  const refusal = 'Unable to narrow the scope of the client authentication to [c, a].'
  const cases: readonly { name: string; before: string[]; requested: string[]; want: readonly string[] | string }[] = [
    { name: 'returns every granted scope if none is requested', before: ['a', 'b'], requested: [], want: ['a', 'b'] },
    { name: 'returns the requested scopes', before: ['a', 'b'], requested: ['b'], want: ['b'] },
    {
      name: 'rejects scopes outside the grant (RFC 6749 §6)',
      before: ['a', 'b'],
      requested: ['c', 'a'],
      want: refusal,
    },
    { name: 'does not expand a granted wildcard', before: ['a.*'], requested: ['c', 'a'], want: refusal },
    { name: 'returns no scope if none was granted or requested', before: [], requested: [], want: [] },
  ]
  for (const { name, before, requested, want } of cases) {
    it(name, () => {
      assert.deepEqual(
        outcome(() => narrow(before, requested)),
        want,
      )
    })
  }

  it('lists the granted scopes in the error', () => {
    assert.throws(
      () => narrow(['a', 'b'], ['c']),
      (error: OAuthError) => error.extra['scope'] === 'a b',
    )
  })
})

describe('approvedScopes', () => {
  it('returns the approved scopes in order', () => {
    assert.deepEqual(
      approvedScopes(storedScopes(['c', 'a', 'b']), scope => scope !== 'a'),
      ['c', 'b'],
    )
  })

  it('returns no scope if none was approved', () => {
    assert.deepEqual(
      approvedScopes(storedScopes(['a']), () => false),
      [],
    )
  })
})

describe('isAutoApproved', () => {
  const cases: readonly { name: string; autoapprove: Client['autoapprove']; scope: string; want: boolean }[] = [
    { name: 'is true for every scope with autoapprove: true', autoapprove: true, scope: 'a', want: true },
    { name: 'is true for a listed scope', autoapprove: ['a', 'b'], scope: 'b', want: true },
    { name: 'is true for a scope that matches a listed wildcard', autoapprove: ['b.*'], scope: 'b.c', want: true },
    { name: 'is false for an unlisted scope', autoapprove: ['a'], scope: 'b', want: false },
    { name: 'is false for an empty list', autoapprove: [], scope: 'a', want: false },
    { name: 'does not read a listed "true" as autoapprove: true', autoapprove: ['true'], scope: 'a', want: false },
  ]
  for (const { name, autoapprove, scope, want } of cases) {
    it(name, () => assert.equal(isAutoApproved(client({ autoapprove }), scope), want))
  }
})
