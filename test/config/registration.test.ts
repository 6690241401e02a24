import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (file: object) => loadText(folder, JSON.stringify(file))
const ofZone = (registration: unknown) => ({ zone_config: { registration } })
const ofTenant = (registration: unknown) => ({
  bootstrap: { identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', config: { registration } }] },
})

describe('The client registration policy', () => {
  it('applies to the default zone and to other zones', async () => {
    const policy = { mode: 'open', maxClients: 5, scopes: ['openid', 'notes.read'], grantTypes: ['authorization_code'] }
    assert.deepEqual((await load(ofZone(policy))).zoneConfig.registration, policy)
    assert.deepEqual((await load(ofTenant(policy))).bootstrap.identityZones[0]?.config.registration, policy)
  })

  for (const [policy, want] of [
    [{ mode: 'on' }, /must be one of/],
    [{ maxClients: -1 }, /maxClients/],
    [{ maxclients: 5 }, /maxclients/],
    [{ grantTypes: ['password'] }, /grantTypes/],
    [{ scopes: ['openid', 'svc.admin'] }, /registration\.scopes.*svc\.admin/],
    [{ scopes: ['*'] }, /registration\.scopes/],
    [{ resources: ['https://api.example/', 'notes'] }, /registration\.resources\[1\].*must match/],
    [{ resources: ['https://api.example/#part'] }, /registration\.resources\[0\].*must match/],
    [{ resources: [''] }, /registration\.resources/],
    [{ scopes: ['approvals.me'] }, /registration\.scopes/],
    ['open', /must be/],
  ] as const) {
    it(`rejects ${JSON.stringify(policy)}`, async () => {
      for (const file of [ofZone(policy), ofTenant(policy)])
        assert.match((await problemsOf(load(file))).join('\n'), want)
    })
  }
})
