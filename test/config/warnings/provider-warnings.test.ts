import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadText, temporaryFolder } from '../../support/config.ts'

const folder = temporaryFolder()
const provider = { type: 'oidc1.0', originKey: 'partner', name: 'Partner' }
const usable = {
  discoveryUrl: 'https://partner.example/.well-known/openid-configuration',
  relyingPartyId: 'us',
  linkText: 'Partner',
}

async function warned(config: object | string): Promise<readonly string[]> {
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

it('warns of unusable identity providers, in every zone', async () => {
  assert.deepEqual(await warned(usable), [])
  const [first, second] = await warned({ ...usable, relyingPartyId: '', discoveryUrl: undefined })
  assert.match(first ?? '', /^identity provider partner: it cannot be used: config\.relyingPartyId: /)
  assert.match(second ?? '', /^identity provider partner: it cannot be used: config\.authUrl: /)
})

it('warns of settings that the type does not have', async () => {
  const mistyped = { addShadowUserOnLogn: false, nothing: 1, additionalConfiguration: {} }
  const want = [
    'identity provider partner: config.addShadowUserOnLogn has no effect; did you mean addShadowUserOnLogin?',
    'identity provider partner: config.nothing has no effect',
  ]
  assert.deepEqual(await warned({ ...usable, ...mistyped }), want)
  assert.deepEqual(await warned(JSON.stringify({ ...usable, ...mistyped })), want)
  assert.deepEqual(await warned({ ...usable, relyingPartySecret: 'abc', S3cret: null }), [
    'identity provider partner: config has a key without a value: inside { } put quotes around a value with a comma',
  ])
})

it('warns of an unusable directory', async () => {
  const directory = async (config: object): Promise<readonly string[]> => {
    const identity_providers = [{ type: 'ldap', originKey: 'ldap', name: 'Directory', config }]
    const smtp = { host: 'localhost', from: 'id@example.org' }
    return (await loadText(folder, JSON.stringify({ smtp, bootstrap: { identity_providers } }))).warnings
  }
  const usableOne = {
    baseUrl: 'ldaps://directory.example.org',
    ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
    userSearchBase: 'dc=example,dc=org',
    userSearchFilter: 'uid={0}',
    bindUserDn: 'cn=reader,dc=example,dc=org',
    bindPassword: 'a-password',
  }
  assert.deepEqual(await directory(usableOne), [])
  assert.deepEqual(await directory({}), []) // not configured yet
  const because = 'identity provider ldap: it cannot be used: config:'
  assert.deepEqual(await directory({ ...usableOne, baseUrl: 'directory.example.org' }), [
    `${because} baseUrl must be addresses with ldap:// or ldaps://, with spaces in between`,
  ])
  assert.deepEqual(await directory({ ...usableOne, bindPassword: undefined }), [
    `${because} bindUserDn requires a bindPassword`,
  ])
  assert.deepEqual(await directory({ ...usableOne, userSearchFilter: 'uid=x' }), [
    `${because} userSearchFilter must contain {0}`,
  ])
})

it('warns of a SAML provider with invalid metadata', async () => {
  const saml = async (metaDataLocation: string): Promise<readonly string[]> => {
    const identity_providers = [{ type: 'saml', originKey: 'corp', name: 'Corp', config: { metaDataLocation } }]
    const smtp = { host: 'localhost', from: 'id@example.org' }
    return (await loadText(folder, JSON.stringify({ smtp, bootstrap: { identity_providers } }))).warnings
  }
  const because =
    'identity provider corp: it cannot be used: config.metaDataLocation: must be an http or https URL, or the metadata itself'
  assert.deepEqual(await saml('https://idp.example/metadata'), [])
  assert.deepEqual(await saml('idp.example/metadata'), [because])
  const [broken = '', ...others] = await saml('<xml>')
  assert.ok(broken.startsWith(`${because}: `), broken)
  assert.deepEqual(others, [])
})

it('warns of a provider at a forbidden address', async () => {
  const directory = async (baseUrl: string, more: object = {}): Promise<readonly string[]> => {
    const config = { baseUrl, userDNPattern: 'uid={0},dc=example,dc=org' }
    const identity_providers = [{ type: 'ldap', originKey: 'ldap', name: 'Directory', config }]
    const smtp = { host: 'localhost', from: 'id@example.org' }
    const file = { base_url: 'https://id.example.org', smtp, bootstrap: { identity_providers }, ...more }
    return (await loadText(folder, JSON.stringify(file))).warnings
  }
  const about = (host: string): string =>
    `identity provider ldap: it cannot be used: config.baseUrl: ${host} is not a public address; outbound.allow_private: true allows it`
  assert.deepEqual(await directory('ldap://10.1.2.3:3389 ldaps://directory.example.org ldaps://[fd00::1]'), [
    about('10.1.2.3'),
    about('fd00::1'),
  ])
  assert.deepEqual(await directory('ldap://localhost'), [about('localhost')])
  assert.deepEqual(await directory('ldap://localhost', { base_url: 'http://localhost:8080' }), [])
  assert.deepEqual(await directory('ldap://10.1.2.3', { outbound: { allow_private: true } }), [])
  assert.deepEqual(await directory('ldaps://directory.example.org'), [])
})

it('warns of providers with the same issuer for the JWT bearer grant, in every zone', async () => {
  const load = async (providers: readonly (object | undefined)[], grants: unknown): Promise<readonly string[]> => {
    const client = {
      client_id: 'app',
      client_secret: 'a long secret',
      authorized_grant_types: grants,
      scope: ['openid'],
    }
    const bootstrap = { clients: [client], identity_providers: providers }
    const inZone = { identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', bootstrap }] }
    const smtp = { host: 'localhost', from: 'id@example.org' }
    const { warnings } = await loadText(folder, JSON.stringify({ smtp, bootstrap }))
    const { warnings: ofZone } = await loadText(folder, JSON.stringify({ smtp, bootstrap: inZone }))
    const about = (each: string): boolean => each.startsWith('identity providers ')
    assert.deepEqual(ofZone.filter(about), warnings.filter(about))
    return warnings.filter(about)
  }
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const of = (originKey: string, issuer: string | undefined, active = true): object => ({
    ...provider,
    originKey,
    active,
    config: { ...usable, issuer },
  })
  const both = [of('staff', 'https://partner.example'), of('guests', 'https://partner.example')]
  const warning =
    'identity providers staff, guests: clients cannot present assertions of https://partner.example (jwt-bearer), which is the issuer of several'
  assert.deepEqual(await load(both, [grant]), [warning])
  assert.deepEqual(await load(both, ['client_credentials']), [])
  assert.deepEqual(await load([both[0], of('guests', 'https://other.example')], [grant]), [])
  assert.deepEqual(await load([both[0], of('guests', 'https://partner.example', false)], [grant]), [])
  assert.deepEqual(await load([of('staff', undefined), of('guests', undefined)], [grant]), [])
})

it('warns of external groups of unknown origins, in every zone', async () => {
  const mapped = (...origins: readonly (string | undefined)[]) =>
    origins.map((origin, index) => ({ displayName: 'cloud.read', externalGroup: `group-${index}`, origin }))
  const load = async (bootstrap: object): Promise<readonly string[]> => {
    const smtp = { host: 'localhost', from: 'id@example.org' }
    return (await loadText(folder, JSON.stringify({ smtp, bootstrap }))).warnings
  }
  const providers = { identity_providers: [{ ...provider, config: usable }] }
  const because = (origin: string): string =>
    `external_groups: those of the origin ${origin} have no effect until the API creates the provider, which the configuration lacks`
  assert.deepEqual(await load({ ...providers, external_groups: mapped('partner') }), [])
  assert.deepEqual(await load({ ...providers, external_groups: mapped('partner', 'partnr', 'partnr', undefined) }), [
    because('partnr'),
    because('ldap'),
  ])
  const inZone = { external_groups: mapped('partner') }
  assert.deepEqual(
    await load({ ...providers, identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', bootstrap: inZone }] }),
    [because('partner')],
  )
})
