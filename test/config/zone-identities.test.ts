import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('The configured issuer of a zone', () => {
  const load = (zoneIssuers: readonly string[], ownIssuer?: string) =>
    loadText(
      folder,
      JSON.stringify({
        base_url: 'https://id.example/auth',
        ...(ownIssuer !== undefined && { zone_config: { issuer: ownIssuer } }),
        bootstrap: {
          identity_zones: zoneIssuers.map((issuer, index) => ({
            id: `z${index}`,
            subdomain: `z${index}`,
            name: 'Zone',
            config: { issuer },
          })),
        },
      }),
    )

  it('may be any other URL', async () => {
    const { bootstrap } = await load(['https://one.example'], 'https://main.example')
    assert.equal(bootstrap.identityZones[0]?.config.issuer, 'https://one.example')
  })

  it('may be an address of the zone', async () => {
    await assert.doesNotReject(load(['https://z0.id.example/auth', 'https://id.example/auth/z/z1']))
  })

  const THERE = 'must not be a URL of this server other than that of the zone'
  const refused = [
    { name: 'base_url', issuers: ['https://ID.example/auth/'], problem: 'is that of the default zone' },
    {
      name: 'the issuer of the default zone',
      own: 'https://main.example',
      issuers: ['https://main.example'],
      problem: 'is that of the default zone',
    },
    {
      name: 'the issuer of a later zone',
      issuers: ['https://one.example', 'http://one.example/'],
      problem: 'is that of another zone',
    },
    { name: 'another zone’s address by host', issuers: ['https://z7.id.example/auth'], problem: THERE },
    { name: 'another zone’s address by path', issuers: ['https://id.example./auth/z/z7'], problem: THERE },
  ]
  for (const { name, own, issuers, problem } of refused) {
    // A zone without keys signs with those of the default zone: only the issuer distinguishes its tokens.
    it(`rejects ${name}`, async () =>
      assert.deepEqual(await problemsOf(load(issuers, own)), [
        `bootstrap.identity_zones[${issuers.length - 1}].config.issuer: ${problem}`,
      ]))
  }
})

describe('The configured SAML entity id of a zone', () => {
  const URL_OF_US = 'https://us.example/saml'
  const load = (entityID: string, server = entityID.includes('//') ? URL_OF_US : 'us') => {
    const zone = { id: 'z1', subdomain: 'z1', name: 'Zone', config: { samlConfig: { entityID } } }
    return loadText(folder, JSON.stringify({ saml: { entity_id: server }, bootstrap: { identity_zones: [zone] } }))
  }

  it('may be any other', async () => {
    for (const entityId of [
      'z1.us',
      'them',
      'https://z1.us.example/saml',
      'https://us.example/z1',
      'http://z2.us.example/saml', // that of z2 begins with https
    ]) {
      await assert.doesNotReject(load(entityId))
    }
  })

  for (const entityId of ['us', 'US', 'z2.us', URL_OF_US, 'https://z2.us.example/saml']) {
    it(`rejects ${entityId}, which providers could not distinguish`, async () =>
      assert.deepEqual(await problemsOf(load(entityId)), [
        'bootstrap.identity_zones[0].config.samlConfig.entityID: is that of the server, or of another zone',
      ]))
  }
})
