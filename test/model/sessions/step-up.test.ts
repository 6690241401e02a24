import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SecondFactorPolicy } from '../../../src/model/users/second-factor.ts'
import { requiredLevel } from '../../../src/model/sessions/step-up.ts'
import type { LevelRequest, RequiredLevel } from '../../../src/model/sessions/step-up.ts'

const BOTH = ['passkey', 'totp'] as const

describe('the level that an application needs', () => {
  const cases: readonly {
    readonly name: string
    readonly zone?: Partial<SecondFactorPolicy>
    readonly asked?: Partial<LevelRequest>
    readonly want: RequiredLevel | undefined
  }[] = [
    { name: 'is none where neither request nor client asks', want: undefined },
    { name: 'is that of the request', asked: { acrValues: 'phr 2' }, want: { level: '2', methods: BOTH } },
    { name: 'is reached by passkeys alone', asked: { acrValues: 'phr' }, want: { level: 'phr', methods: ['passkey'] } },
    {
      name: 'is two factors by the policy of the client',
      asked: { client: { requirement: 'required' } },
      want: { level: '2', methods: BOTH },
    },
    {
      name: 'is one that no one-time password reaches where passkeys alone count for the client',
      asked: { client: { requirement: 'required', methods: ['passkey'] } },
      want: { level: 'phr', methods: ['passkey'] },
    },
    {
      name: 'is the same where the other method does not count in the zone',
      zone: { methods: ['passkey'] },
      asked: { client: { requirement: 'required' } },
      want: { level: 'phr', methods: ['passkey'] },
    },
    {
      name: 'is reached by nothing where client and zone have no method in common',
      zone: { methods: ['totp'] },
      asked: { client: { requirement: 'required', methods: ['passkey'] } },
      want: { level: 'phr', methods: [] },
    },
    {
      name: 'is not lowered by the client',
      asked: { acrValues: 'phr', client: { requirement: 'optional', methods: ['totp'] } },
      want: { level: 'phr', methods: ['passkey'] },
    },
    {
      name: 'is for members of the groups, in any case of letters',
      asked: { client: { requirement: 'groups', groups: ['Admins'] }, groupNames: ['admins'] },
      want: { level: '2', methods: BOTH },
    },
    {
      name: 'is none for others',
      asked: { client: { requirement: 'groups', groups: ['admins'] }, groupNames: ['staff'] },
      want: undefined,
    },
    {
      name: 'is none where the zone has no second factors',
      zone: { requirement: 'off' },
      asked: { acrValues: 'phr', client: { requirement: 'required' } },
      want: undefined,
    },
    {
      name: 'is none for users of other providers than those of the policy',
      zone: { origins: ['ldap'] },
      asked: { acrValues: '2', client: { requirement: 'required' } },
      want: undefined,
    },
  ]
  for (const { name, zone, asked, want } of cases) {
    it(name, () => {
      const policy: SecondFactorPolicy = {
        requirement: 'optional',
        groups: [],
        methods: BOTH,
        rememberDays: 0,
        ...zone,
      }
      const question = { acrValues: undefined, client: undefined, user: { origin: 'svc' }, groupNames: [], ...asked }
      assert.deepEqual(requiredLevel(policy, question), want)
    })
  }
})
