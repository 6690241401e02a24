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

/** What a scope rule says: the scopes it grants, or the description it refuses with. */
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
    { name: 'gives nothing for an absent parameter', value: undefined, want: [] },
    { name: 'gives nothing for an empty one', value: '', want: [] },
    { name: 'gives nothing for separators alone', value: ' ,+\t', want: [] },
    { name: 'keeps a single word', value: 'openid', want: ['openid'] },
    { name: 'separates at blanks (RFC 6749 §3.3)', value: 'openid email', want: ['openid', 'email'] },
    { name: 'separates at commas', value: 'openid,email', want: ['openid', 'email'] },
    { name: 'separates at plus signs that were not decoded', value: 'openid+email', want: ['openid', 'email'] },
    { name: 'takes several separators for one', value: ' openid ,\n email ', want: ['openid', 'email'] },
    { name: 'counts a repeated word once, at its first place', value: 'b a b', want: ['b', 'a'] },
    { name: 'keeps case and dots', value: 'Cloud.Read cloud.read', want: ['Cloud.Read', 'cloud.read'] },
  ]
  for (const { name, value, want } of cases) {
    it(name, () => assert.deepEqual(parseScope(value), want))
  }

  it('refuses more words than a client can have', () => {
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

  it('agrees with the regular expression that says the same', () => {
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

  it('matches what is made from the pattern by filling in its stars', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 4 })
    const part = fc.oneof(word, fc.constant('.'), fc.constant('*'))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), word, (parts, filling) => {
        const scope = parts.map(each => (each === '*' ? filling : each)).join('')
        assert.equal(scopeMatches(parts.join(''), scope), true)
      }),
    )
  })

  it('takes time in proportion for a pattern that would make a regular expression backtrack', () => {
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
    { name: 'grants every authority when none is asked for', authorities: ['a', 'b'], requested: [], want: ['a', 'b'] },
    { name: 'grants those that are asked for', authorities: ['a', 'b'], requested: ['b'], want: ['b'] },
    { name: 'refuses one that the client lacks', authorities: ['a'], requested: ['a', 'c'], want: 'Invalid scope: c' },
    {
      name: 'takes a wildcard among the authorities literally',
      authorities: ['a.*'],
      requested: ['a.b'],
      want: 'Invalid scope: a.b',
    },
    {
      name: 'refuses a client without authorities',
      authorities: [],
      requested: [],
      want: 'Empty scope (client has no registered scopes)',
    },
    {
      name: 'refuses a client without authorities that asks',
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

  it('names the authorities in the refusal', () => {
    assert.throws(
      () => clientScopes(client({ authorities: ['a', 'b'] }), ['c']),
      (error: OAuthError) => error.extra['scope'] === 'a b',
    )
  })

  it('ignores the scopes for users', () => {
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
      name: 'the client’s scopes when none is asked for',
      scope: ['a', 'b.*'],
      requested: [],
      strict: ['a', 'b.*'],
      lenient: ['a', 'b.*'],
    },
    { name: 'a scope of the client', scope: ['a', 'b'], requested: ['b'], strict: ['b'], lenient: ['b'] },
    { name: 'a scope that fits a wildcard', scope: ['b.*'], requested: ['b.c'], strict: ['b.c'], lenient: ['b.c'] },
    {
      name: 'a scope that the client lacks',
      scope: ['a'],
      requested: ['c'],
      strict: invalid('c'),
      lenient: invalid('c'),
    },
    {
      name: 'email beside openid',
      scope: ['openid'],
      requested: ['openid', 'email'],
      strict: invalid('email'),
      lenient: ['openid'],
    },
    {
      name: 'every OpenID scope beside openid',
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
      name: 'openid itself',
      scope: ['a'],
      requested: ['openid'],
      strict: invalid('openid'),
      lenient: invalid('openid'),
    },
    {
      name: 'a foreign scope beside openid',
      scope: ['openid'],
      requested: ['openid', 'c'],
      strict: invalid('c'),
      lenient: invalid('c'),
    },
    {
      name: 'email that the client has',
      scope: ['openid', 'email'],
      requested: ['openid', 'email'],
      strict: ['openid', 'email'],
      lenient: ['openid', 'email'],
    },
    {
      name: 'anything of a client without scopes',
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
      it(`${typeof want === 'string' ? 'refuses' : 'answers'} ${name}${dropForeignOpenidScopes ? ', leniently' : ''}`, () => {
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
      name: 'grants the groups that the client may see',
      client: { scope: ['a', 'b'] },
      user: { groups: ['b', 'c'] },
      want: ['b'],
    },
    {
      name: 'grants only what was asked for',
      client: { scope: ['a', 'b'] },
      requested: ['a'],
      user: { groups: ['a', 'b'] },
      want: ['a'],
    },
    {
      name: 'drops what was asked for and the user lacks',
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
      name: 'does not let a wildcard in the request reach beyond the client',
      client: { scope: ['b.*'] },
      requested: ['b.*'],
      user: { groups: ['b.1', 'c.1'] },
      want: ['b.1'],
    },
    {
      name: 'counts a group that was given twice once',
      client: { scope: ['a'] },
      user: { groups: ['a', 'a'] },
      want: ['a'],
    },
    {
      name: 'keeps to the groups that the zone allows',
      client: { scope: ['a', 'b'] },
      user: { groups: ['a', 'b'], allowed: ['b'] },
      want: ['b'],
    },
    {
      name: 'refuses when the zone allows no group',
      client: { scope: ['a'] },
      user: { groups: ['a'], allowed: [] },
      want: notAllowed('a'),
    },
    {
      name: 'refuses a client without scopes',
      client: { scope: [] },
      user: { groups: ['a'] },
      want: 'Empty scope (client has no registered scopes)',
    },
    {
      name: 'refuses a user without groups',
      client: { scope: ['a', 'b'] },
      user: { groups: [] },
      want: notAllowed('a, b'),
    },
    {
      name: 'refuses when nothing that was asked for is left',
      client: { scope: ['a', 'b'] },
      requested: ['b'],
      user: { groups: ['a'] },
      want: notAllowed('b'),
    },
    {
      name: 'refuses a scope that the client lacks before it looks at the user',
      client: { scope: ['a'] },
      requested: ['c'],
      user: { groups: ['c'] },
      want: 'c is invalid. Please use a valid scope name in the request',
    },
    {
      name: 'refuses a user outside a required group',
      client: { scope: ['a'], requiredUserGroups: ['b'] },
      user: { groups: ['a'] },
      want: "User does not meet the client's required group criteria.",
    },
    {
      name: 'accepts a required group that the client may not see',
      client: { scope: ['a'], requiredUserGroups: ['b'] },
      user: { groups: ['a', 'b'] },
      want: ['a'],
    },
    {
      name: 'accepts a required group that the zone hides',
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

  it('drops OpenID scopes of others where the mode says so', () => {
    const app = client({ scope: ['openid'] })
    const user = { groups: ['openid', 'email'] }
    assert.deepEqual(
      userScopes({ client: app, requested: ['openid', 'email'] }, user, { dropForeignOpenidScopes: true }),
      ['openid'],
    )
  })

  it('grants nothing that the user, the client, the zone or the request lacks, whatever they are', () => {
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
    { name: 'holds for every user when none is required', required: [], groups: [], want: true },
    { name: 'holds for a member of all', required: ['a', 'b'], groups: ['b', 'c', 'a'], want: true },
    { name: 'fails for a member of some', required: ['a', 'b'], groups: ['a'], want: false },
    { name: 'accepts no wildcard', required: ['a.*'], groups: ['a.b'], want: false },
  ]
  for (const { name, required, groups, want } of cases) {
    it(name, () => assert.equal(hasRequiredGroups(client({ requiredUserGroups: required }), groups), want))
  }
})

describe('narrow', () => {
  const refusal = 'Unable to narrow the scope of the client authentication to [c, a].'
  const cases: readonly { name: string; before: string[]; requested: string[]; want: readonly string[] | string }[] = [
    { name: 'keeps everything when nothing is asked for', before: ['a', 'b'], requested: [], want: ['a', 'b'] },
    { name: 'keeps what is asked for', before: ['a', 'b'], requested: ['b'], want: ['b'] },
    { name: 'refuses more than was granted (RFC 6749 §6)', before: ['a', 'b'], requested: ['c', 'a'], want: refusal },
    { name: 'accepts a wildcard that was granted literally', before: ['a.*'], requested: ['c', 'a'], want: refusal },
    { name: 'keeps nothing of nothing', before: [], requested: [], want: [] },
  ]
  for (const { name, before, requested, want } of cases) {
    it(name, () => {
      assert.deepEqual(
        outcome(() => narrow(before, requested)),
        want,
      )
    })
  }

  it('names what was granted in the refusal', () => {
    assert.throws(
      () => narrow(['a', 'b'], ['c']),
      (error: OAuthError) => error.extra['scope'] === 'a b',
    )
  })
})

describe('approvedScopes', () => {
  it('keeps those that were approved, in their order', () => {
    assert.deepEqual(
      approvedScopes(storedScopes(['c', 'a', 'b']), scope => scope !== 'a'),
      ['c', 'b'],
    )
  })

  it('keeps nothing when nothing was approved', () => {
    assert.deepEqual(
      approvedScopes(storedScopes(['a']), () => false),
      [],
    )
  })
})

describe('isAutoApproved', () => {
  const cases: readonly { name: string; autoapprove: Client['autoapprove']; scope: string; want: boolean }[] = [
    { name: 'approves everything for a client that is trusted so', autoapprove: true, scope: 'a', want: true },
    { name: 'approves a scope in the list', autoapprove: ['a', 'b'], scope: 'b', want: true },
    { name: 'approves what fits a wildcard in the list', autoapprove: ['b.*'], scope: 'b.c', want: true },
    { name: 'asks for a scope outside the list', autoapprove: ['a'], scope: 'b', want: false },
    { name: 'asks for everything when the list is empty', autoapprove: [], scope: 'a', want: false },
    { name: 'does not take the word "true" in the list for trust', autoapprove: ['true'], scope: 'a', want: false },
  ]
  for (const { name, autoapprove, scope, want } of cases) {
    it(name, () => assert.equal(isAutoApproved(client({ autoapprove }), scope), want))
  }
})
