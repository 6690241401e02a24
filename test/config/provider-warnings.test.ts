import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadText, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const provider = { type: 'oidc1.0', originKey: 'partner', name: 'Partner' }
const usable = {
  discoveryUrl: 'https://partner.example/.well-known/openid-configuration',
  relyingPartyId: 'us',
  linkText: 'Partner',
}

async function warned(config: object): Promise<readonly string[]> {
  const bootstrap = { identity_providers: [{ ...provider, config }] }
  const inZone = { identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', bootstrap }] }
  const load = async (of: object): Promise<readonly string[]> => {
    const smtp = { host: 'localhost', from: 'id@example.org' }
    return (await loadText(folder, JSON.stringify({ smtp, bootstrap: of }))).warnings
  }
  const warnings = await load(bootstrap)
  assert.deepEqual(await load(inZone), warnings)
  return warnings
}

it('names identity providers of the configuration that cannot be used, in every zone', async () => {
  assert.deepEqual(await warned(usable), [])
  const [first, second] = await warned({ ...usable, relyingPartyId: '', discoveryUrl: undefined })
  assert.match(first ?? '', /^identity provider partner: it cannot be used as it is: config\.relyingPartyId: /)
  assert.match(second ?? '', /^identity provider partner: it cannot be used as it is: config\.authUrl: /)
})
