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
    { name: 'are the usual ones when the zone has no user settings', config: {}, want: usual('svc') },
    {
      name: 'are the usual ones when the user settings do not name any',
      config: { userConfig: { allowedGroups: ['a'] } },
      want: usual('svc'),
    },
    { name: 'are the zone’s own', config: { userConfig: { defaultGroups: ['a', 'b'] } }, want: ['a', 'b'] },
    { name: 'are none when the zone says so', config: { userConfig: { defaultGroups: [] } }, want: [] },
  ]
  for (const { name, config, want } of cases) {
    it(name, () => assert.deepEqual(defaultGroups(zone(config), 'svc'), want))
  }

  it('follow the service name', () => assert.deepEqual(defaultGroups(zone({}), 'uaa'), usual('uaa')))
})

describe('the lifetime of a zone', () => {
  const cases = [
    { name: 'is the value that is set', value: 600, want: 600 },
    { name: 'takes 0 for not set: a token that expires at once is useless', value: 0, want: undefined },
    { name: 'takes for not set what is not a date when it is added to now', value: 2 ** 53, want: undefined },
    { name: 'takes -1 for not set', value: -1, want: undefined },
    { name: 'is absent when absent', value: undefined, want: undefined },
  ]
  for (const { name, value, want } of cases) {
    it(name, () => assert.equal(ownLifetime(value), want))
  }
})
