import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('the issuer of a zone in the configuration', () => {
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

  it('may be any other', async () => {
    const { bootstrap } = await load(['https://one.example'], 'https://main.example')
    assert.equal(bootstrap.identityZones[0]?.config.issuer, 'https://one.example')
  })

  const refused = [
    { name: 'base_url', issuers: ['https://ID.example/auth/'] },
    {
      name: 'the issuer of the default zone',
      own: 'https://main.example',
      issuers: ['https://main.example'],
    },
  ]
  for (const { name, own, issuers } of refused) {
    // A zone without keys signs with those of the default zone: only the issuer tells its tokens from those of others.
    it(`is not ${name}`, async () =>
      assert.deepEqual(await problemsOf(load(issuers, own)), [
        `bootstrap.identity_zones[0].config.issuer: is that of the default zone`,
      ]))
  }
})
