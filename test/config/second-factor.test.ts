import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (file: object) => loadText(folder, JSON.stringify(file))
const ofZone = (secondFactor: unknown) => ({ zone_config: { secondFactor } })
const ofTenant = (secondFactor: unknown) => ({
  bootstrap: { identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', config: { secondFactor } }] },
})
const client = (secondFactor: unknown) => ({
  clients: [{ client_id: 'a', client_secret: 's', authorized_grant_types: ['password'], secondFactor }],
})
const ofClient = (secondFactor: unknown) => ({ bootstrap: client(secondFactor) })

describe('The second factor policy', () => {
  it('applies to the default zone, other zones and clients', async () => {
    const policy = {
      requirement: 'groups',
      groups: ['admins'],
      methods: ['passkey'],
      rememberDays: 7,
      origins: ['ldap'],
    }
    assert.deepEqual((await load(ofZone(policy))).zoneConfig.secondFactor, policy)
    assert.deepEqual((await load(ofTenant(policy))).bootstrap.identityZones[0]?.config.secondFactor, policy)
    const ofApp = { requirement: 'required', methods: ['totp'] }
    assert.deepEqual((await load(ofClient(ofApp))).bootstrap.clients[0]?.['secondFactor'], ofApp)
  })

  const wrong: readonly { readonly policy: unknown; readonly want: RegExp; readonly zonesOnly?: true }[] = [
    { policy: 'required', want: /secondFactor: must be/ },
    { policy: { requirement: 'sometimes' }, want: /secondFactor.*must be one of/ },
    { policy: { requirement: 'required', methods: [] }, want: /secondFactor.*(at least 1|has no methods)/ },
    { policy: { requirement: 'required', methods: ['sms'] }, want: /secondFactor.*must be one of/ },
    {
      policy: { requirement: 'groups' },
      want: /secondFactor.*groups must name a group|secondFactor.groups: must name/,
    },
    { policy: { groups: ['a'] }, want: /secondFactor.*(has no effect without requirement|requirement: is missing)/ },
    { policy: { requirement: 'groups', groups: Array.from({ length: 10_000 }, (_, n) => `g${n}`) }, want: /100/ },
    { policy: { requirment: 'required' }, want: /requirment|must be an object with requirement/ },
    {
      policy: { requirement: 'required', rememberDays: -1 },
      want: /rememberDays: must be at least 0/,
      zonesOnly: true,
    },
    {
      policy: { requirement: 'required', rememberDays: 1e9 },
      want: /rememberDays: must be at most 365/,
      zonesOnly: true,
    },
    { policy: { requirement: 'required', rememberDays: '1' }, want: /rememberDays: must be /, zonesOnly: true },
    { policy: { requirement: 'required', origins: [] }, want: /origins/, zonesOnly: true },
  ]
  for (const { policy, want, zonesOnly } of wrong) {
    it(`rejects ${JSON.stringify(policy).slice(0, 60)}`, async () => {
      for (const file of [ofZone(policy), ofTenant(policy), ...(zonesOnly ? [] : [ofClient(policy)])]) {
        assert.match((await problemsOf(load(file))).join('\n'), want)
      }
    })
  }

  it('of a client cannot be weaker than the zone’s, or be about devices and providers', async () => {
    for (const policy of [
      { requirement: 'off' },
      { requirement: 'required', rememberDays: 30 },
      { requirement: 'required', origins: ['ldap'] },
      { methods: ['passkey'] },
      {},
    ]) {
      assert.match((await problemsOf(load(ofClient(policy)))).join('\n'), /clients\[0\]\.secondFactor/)
    }
  })

  it('of a client causes a warning if second factors are off in the zone', async () => {
    const warningsOf = async (file: object) => (await load(file)).warnings.filter(text => text.includes('secondFactor'))
    const ofApp = ofClient({ requirement: 'required' })
    const text =
      'client a: its secondFactor has no effect, because that of the zone is off; set secondFactor.requirement in'
    assert.deepEqual(await warningsOf(ofApp), [])
    assert.deepEqual(await warningsOf({ ...ofApp, compatibility: 'uaa' }), [`${text} zone_config`])
    assert.deepEqual(await warningsOf({ ...ofApp, ...ofZone({ requirement: 'off' }) }), [`${text} zone_config`])
    assert.deepEqual(await warningsOf({ ...ofApp, ...ofZone({ requirement: 'optional' }), compatibility: 'uaa' }), [])
    const tenant = { id: 'z1', subdomain: 'z1', name: 'Z', bootstrap: client({ requirement: 'required' }) }
    assert.deepEqual(await warningsOf({ compatibility: 'uaa', bootstrap: { identity_zones: [tenant] } }), [
      `${text} the config of the zone z1`,
    ])
  })
})
