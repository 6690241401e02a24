import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SecondFactorPolicy } from '../../../src/model/users/second-factor.ts'
import { requiredLevel } from '../../../src/model/sessions/step-up.ts'
import type { LevelRequest, RequiredLevel } from '../../../src/model/sessions/step-up.ts'

const BOTH = ['passkey', 'totp'] as const

describe('requiredLevel', () => {
  const cases: readonly {
    readonly name: string
    readonly zone?: Partial<SecondFactorPolicy>
    readonly asked?: Partial<LevelRequest>
    readonly want: RequiredLevel | undefined
  }[] = [
    { name: 'is undefined if neither request nor client requires one', want: undefined },
    { name: 'is the lowest level of acr_values', asked: { acrValues: 'phr 2' }, want: { level: '2', methods: BOTH } },
    {
      name: 'accepts only passkeys for phr',
      asked: { acrValues: 'phr' },
      want: { level: 'phr', methods: ['passkey'] },
    },
    {
      name: 'is two factors if the client requires a second factor',
      asked: { client: { requirement: 'required' } },
      want: { level: '2', methods: BOTH },
    },
    {
      name: 'is phr if the client accepts only passkeys',
      asked: { client: { requirement: 'required', methods: ['passkey'] } },
      want: { level: 'phr', methods: ['passkey'] },
    },
    {
      name: 'is phr if the zone accepts only passkeys',
      zone: { methods: ['passkey'] },
      asked: { client: { requirement: 'required' } },
      want: { level: 'phr', methods: ['passkey'] },
    },
    {
      name: 'accepts no method if client and zone share none',
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
      name: 'applies to members of the client’s groups, case-insensitively',
      asked: { client: { requirement: 'groups', groups: ['Admins'] }, groupNames: ['admins'] },
      want: { level: '2', methods: BOTH },
    },
    {
      name: 'is undefined for users outside the client’s groups',
      asked: { client: { requirement: 'groups', groups: ['admins'] }, groupNames: ['staff'] },
      want: undefined,
    },
    {
      name: 'is undefined if second factors are off in the zone',
      zone: { requirement: 'off' },
      asked: { acrValues: 'phr', client: { requirement: 'required' } },
      want: undefined,
    },
    {
      name: 'is undefined for users of providers outside the policy',
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
