import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultGroups, ownLifetime } from '../../../src/model/zones/zone.ts'
import type { Zone, ZoneConfig } from '../../../src/model/zones/zone.ts'

const EPOCH = new Date(0)

describe('defaultGroups', () => {
  const zone = (config: ZoneConfig): Zone => ({
    id: 'z1',
    subdomain: 'z1',
    name: 'Zone 1',
    active: true,
    version: 0,
    config,
    createdAt: EPOCH,
    updatedAt: EPOCH,
  })
  const usual = (service: string): readonly string[] => [
    'openid',
    'password.write',
    `${service}.user`,
    'approvals.me',
    'profile',
    'roles',
    'user_attributes',
    `${service}.offline_token`,
  ]

  const cases: readonly { name: string; config: ZoneConfig; want: readonly string[] }[] = [
    { name: 'are the standard groups if the zone has no user settings', config: {}, want: usual('svc') },
    {
      name: 'are the standard groups if the user settings have none',
      config: { userConfig: { allowedGroups: ['a'] } },
      want: usual('svc'),
    },
    { name: 'are the zone’s own groups', config: { userConfig: { defaultGroups: ['a', 'b'] } }, want: ['a', 'b'] },
    { name: 'are empty for an empty list', config: { userConfig: { defaultGroups: [] } }, want: [] },
  ]
  for (const { name, config, want } of cases) {
    it(name, () => assert.deepEqual(defaultGroups(zone(config), 'svc'), want))
  }

  it('follow the service name', () => assert.deepEqual(defaultGroups(zone({}), 'uaa'), usual('uaa')))
})

describe('ownLifetime', () => {
  const cases = [
    { name: 'is the configured value', value: 600, want: 600 },
    { name: 'ignores 0, since the token would expire at once', value: 0, want: undefined },
    { name: 'ignores a value beyond the range of dates', value: 2 ** 53, want: undefined },
    { name: 'ignores -1', value: -1, want: undefined },
    { name: 'is undefined if absent', value: undefined, want: undefined },
  ]
  for (const { name, value, want } of cases) {
    it(name, () => assert.equal(ownLifetime(value), want))
  }
})
