import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { linkTextOf, lockedUntil, lockoutPolicy } from '../../../src/model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'

const DEFAULT = { lockoutAfterFailures: 5, countFailuresWithin: 1200, lockoutPeriodSeconds: 300 }

const provider = (config: IdentityProvider['config']): IdentityProvider => ({
  zoneId: 'svc',
  id: 'p1',
  originKey: 'svc',
  type: 'svc',
  name: 'Internal',
  active: true,
  config,
  version: 0,
  createdAt: new Date(0),
  updatedAt: new Date(0),
})

describe('linkTextOf', () => {
  const cases: readonly { name: string; type: string; config: IdentityProvider['config']; want?: string }[] = [
    { name: 'shows OpenID Connect providers by default', type: 'oidc1.0', config: { linkText: 'Corp' }, want: 'Corp' },
    {
      name: 'hides OpenID Connect providers with showLinkText: false',
      type: 'oidc1.0',
      config: { linkText: 'Corp', showLinkText: false },
    },
    // Covers saml provider config: showSamlLink
    { name: 'hides SAML providers by default', type: 'saml', config: { linkText: 'Corp' } },
    {
      name: 'shows SAML providers with showSamlLink: true',
      type: 'saml',
      config: { linkText: 'Corp', showSamlLink: true },
      want: 'Corp',
    },
    {
      name: 'hides SAML providers with showSamlLink: false',
      type: 'saml',
      config: { showSamlLink: false, showLinkText: true },
    },
    { name: 'falls back to the name', type: 'saml', config: { linkText: ' ', showSamlLink: true }, want: 'Internal' },
  ]
  for (const { name, type, config, want } of cases) {
    it(name, () => assert.equal(linkTextOf({ ...provider(config), type }), want))
  }
})

describe('lockoutPolicy', () => {
  const complete = { lockoutAfterFailures: 3, countFailuresWithin: 60, lockoutPeriodSeconds: 30 }
  const cases: readonly { name: string; config: IdentityProvider['config']; want: typeof DEFAULT }[] = [
    { name: 'is the default if absent', config: {}, want: DEFAULT },
    { name: 'is the default if null', config: { lockoutPolicy: null }, want: DEFAULT },
    { name: 'is the default if not an object', config: { lockoutPolicy: 'never' }, want: DEFAULT },
    // Covers lockout: incomplete policy falls back
    { name: 'is the default if empty', config: { lockoutPolicy: {} }, want: DEFAULT },
    { name: 'is the provider’s own if complete', config: { lockoutPolicy: complete }, want: complete },
    {
      name: 'accepts zeros',
      config: { lockoutPolicy: { ...complete, lockoutPeriodSeconds: 0 } },
      want: { ...complete, lockoutPeriodSeconds: 0 },
    },
    {
      name: 'drops unknown members',
      config: { lockoutPolicy: { ...complete, other: 1 } },
      want: complete,
    },
    ...Object.keys(complete).flatMap(member =>
      [undefined, null, -1, 1.5, '3', Number.NaN, Number.POSITIVE_INFINITY].map(value => ({
        name: `is the default if ${member} is ${JSON.stringify(value) ?? 'absent'} (${String(value)})`,
        config: { lockoutPolicy: { ...complete, [member]: value } },
        want: DEFAULT,
      })),
    ),
  ]
  for (const { name, config, want } of cases) {
    it(name, () => assert.deepEqual(lockoutPolicy(provider(config)), want))
  }
})

describe('lockedUntil', () => {
  const now = new Date('2026-01-01T12:00:00Z')
  const policy = { lockoutAfterFailures: 3, countFailuresWithin: 600, lockoutPeriodSeconds: 300 }
  const at = (secondsFromNow: number): Date => new Date(now.getTime() + secondsFromNow * 1000)

  const cases: readonly {
    name: string
    policy?: Partial<typeof policy>
    failures: readonly number[]
    want: number | undefined
  }[] = [
    { name: 'does not lock an account without failures', failures: [], want: undefined },
    { name: 'does not lock an account below the limit', failures: [-2, -1], want: undefined },
    { name: 'locks at the limit, starting with the newest failure', failures: [-30, -20, -10], want: 290 },
    { name: 'locks beyond the limit, starting with the newest failure', failures: [-40, -30, -20, -10], want: 290 },
    { name: 'accepts failures in any order', failures: [-10, -30, -20], want: 290 },
    { name: 'counts simultaneous failures', failures: [0, 0, 0], want: 300 },
    { name: 'unlocks at the end of the period', failures: [-320, -310, -300], want: undefined },
    { name: 'is still locked just before the end of the period', failures: [-320, -310, -299.999], want: 0.001 },
    { name: 'ignores a failure as old as the window', failures: [-600, -20, -10], want: undefined },
    { name: 'counts a failure just inside the window', failures: [-599.999, -20, -10], want: 0.001 },
    { name: 'unlocks when too few failures are left in the window', failures: [-500, -20, -10], want: 100 },
    { name: 'counts the newest failures first', failures: [-590, -30, -20, -10], want: 290 },
    {
      name: 'does not lock beyond the window',
      policy: { lockoutPeriodSeconds: 3600 },
      failures: [-30, -20, -10],
      want: 570,
    },
    {
      name: 'locks at the first failure when the limit is 1',
      policy: { lockoutAfterFailures: 1 },
      failures: [-10],
      want: 290,
    },
    {
      name: 'treats a limit of 0 as 1',
      policy: { lockoutAfterFailures: 0 },
      failures: [-10],
      want: 290,
    },
    {
      name: 'does not lock an account without failures at a limit of 0',
      policy: { lockoutAfterFailures: 0 },
      failures: [],
      want: undefined,
    },
    {
      name: 'does not lock with a period of 0',
      policy: { lockoutPeriodSeconds: 0 },
      failures: [-2, -1, 0],
      want: undefined,
    },
    {
      name: 'counts no failure with a window of 0',
      policy: { countFailuresWithin: 0 },
      failures: [-2, -1, 0],
      want: undefined,
    },
    { name: 'counts failures of a server whose clock is ahead by half a minute', failures: [10, 20, 30], want: 330 },
    {
      name: 'ignores failures of a time that is still to come, because the clock was set back',
      failures: [-10, 31, 86_400],
      want: undefined,
    },
  ]
  for (const { name, policy: members, failures, want } of cases) {
    it(name, () => {
      const until = lockedUntil({ ...policy, ...members }, failures.map(at), now)
      assert.equal(until?.toISOString(), want === undefined ? undefined : at(want).toISOString())
    })
  }

  it('returns the exact time of unlocking, for any history', () => {
    const seconds = fc.integer({ min: 0, max: 100 })
    const anyPolicy = fc.record({
      lockoutAfterFailures: fc.nat({ max: 4 }),
      countFailuresWithin: seconds,
      lockoutPeriodSeconds: seconds,
    })
    fc.assert(
      fc.property(anyPolicy, fc.array(fc.integer({ min: -150, max: 0 }), { maxLength: 8 }), (limits, ages) => {
        const failures = ages.map(at)
        const until = lockedUntil(limits, failures, now)
        if (until === undefined) return
        assert.ok(until > now)
        const justBefore = new Date(until.getTime() - 1)
        assert.deepEqual(lockedUntil(limits, failures, justBefore), until)
        assert.equal(lockedUntil(limits, failures, until), undefined)
      }),
      { numRuns: 2000 },
    )
  })
})
