import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, privatePem, temporaryFolder } from '../../support/config.ts'
import { KEYS } from '../../support/keys.ts'

const folder = temporaryFolder()
const code = {
  client_id: 'bank',
  authorized_grant_types: ['authorization_code'],
  redirect_uri: ['https://bank.example/cb'],
  scope: ['openid'],
}
const signing_keys = { active: 'ec', keys: { ec: KEYS.ES256 } }
const jwks_uri = 'https://bank.example/keys.json'

describe('Warnings about configured clients', () => {
  async function warned(client: object, file: object = {}): Promise<readonly string[]> {
    const smtp = { host: 'localhost', from: 'id@example.org' }
    const text = JSON.stringify({ smtp, bootstrap: { clients: [{ ...code, ...client }] }, ...file })
    return (await loadText(folder, text)).warnings
  }

  it('report violations of their profile', async () => {
    const profile = 'fapi2-security'
    assert.deepEqual(await warned({ profile, jwks_uri }, { signing_keys }), [])
    const [keyless] = await warned({ profile, client_secret: 's' })
    assert.match(keyless ?? '', /^client bank: fapi2-security does not allow it: jwks: it has no key/)
    const [plain] = await warned({ profile, jwks_uri, redirect_uri: ['http://bank.example/cb'] })
    assert.match(plain ?? '', /redirect_uri: http:\/\/bank\.example\/cb must be https/)
  })

  it('report violations of their zone’s profile', async () => {
    const zone_config = { profile: 'fapi2-security' }
    assert.deepEqual(await warned({ jwks_uri }, { zone_config, signing_keys }), [])
    const [keyless] = await warned({ client_secret: 's' }, { zone_config })
    assert.match(keyless ?? '', /^client bank: fapi2-security does not allow it: jwks: it has no key/)
    const [stricter] = await warned({ profile: 'fapi2-message-signing', client_secret: 's' }, { zone_config })
    assert.match(stricter ?? '', /^client bank: fapi2-message-signing does not allow it: jwks/)
  })

  it('report additional attributes that look like misspelled members', async () => {
    const mistyped = {
      client_secret: 's',
      alowpublic: true,
      redirectUri: 'x',
      client_secrets: 's',
      'token-salt': 'x',
      appicon: '',
    }
    assert.deepEqual(await warned(mistyped), [
      'client bank: alowpublic is stored as an attribute without effect; did you mean allowpublic?',
      'client bank: redirectUri is stored as an attribute without effect; did you mean redirect_uri?',
      'client bank: client_secrets is stored as an attribute without effect; did you mean client_secret?',
      'client bank: token-salt is stored as an attribute without effect; did you mean token_salt?',
      'client bank: appicon is stored as an attribute without effect; did you mean appIcon?',
    ])
    const meant = { client_secret: 's', owner: 'finance', signup_redirect_url: 'https://bank.example', appIcon: '' }
    assert.deepEqual(await warned(meant), [])
  })

  it('report missing credentials of confidential clients', async () => {
    const [keyless] = await warned({})
    assert.equal(
      keyless,
      'client bank: it has no client_secret, no keys and not allowpublic: true, so /oauth/token refuses it unless it gets a secret by the API',
    )
    assert.deepEqual(await warned({ allowpublic: true }), [])
    assert.deepEqual(await warned({ jwks_uri }), [])
    assert.deepEqual(await warned({ secondary_client_secret: 's' }), [])
    assert.deepEqual(await warned({ authorized_grant_types: ['implicit'] }), [])
    assert.deepEqual(await warned({ client_secret: '' }), [], 'an empty secret counts, as for cf')
  })

  it('report user scopes of clients without users', async () => {
    const machine = { client_secret: 's', authorized_grant_types: ['client_credentials'], redirect_uri: [] }
    const confused = ['client bank: scope has no effect with client_credentials alone; did you mean authorities?']
    assert.deepEqual(await warned({ ...machine, scope: ['jobs.run'] }), confused)
    assert.deepEqual(await warned({ ...machine, scope: 'jobs.run' }), confused)
    assert.deepEqual(await warned({ ...machine, scope: [], authorities: ['jobs.run'] }), [])
    assert.deepEqual(await warned({ ...machine, scope: ['a.b'], authorities: ['jobs.run'] }), [])
    assert.deepEqual(await warned({ client_secret: 's', scope: ['openid'] }), [])
  })

  it('report scopes of UAA under another service name', async () => {
    const authorities = ['uaa.admin', 'uaa.jobs', 'clients.read']
    assert.deepEqual(await warned({ client_secret: 's', authorities, scope: ['openid', 'uaa.user'] }), [
      'client bank: uaa.user has no effect, because the service name is svc; did you mean svc.user?',
      'client bank: uaa.admin has no effect, because the service name is svc; did you mean svc.admin?',
    ])
    assert.deepEqual(await warned({ client_secret: 's', authorities }, { service: 'uaa' }), [])
  })

  it('report pairwise subjects that the zone does not support', async () => {
    const pairwise = { client_secret: 's', subject_type: 'pairwise' }
    const useless = /^client bank: subject_type has no effect, because protocols\.pairwiseSubjects is off/m
    assert.deepEqual(await warned(pairwise), [])
    const off = { zone_config: { protocols: { pairwiseSubjects: false } } }
    assert.match((await warned(pairwise, off)).join('\n'), useless)
    assert.match((await warned(pairwise, { compatibility: 'uaa' })).join('\n'), useless)
    const on = { compatibility: 'uaa', zone_config: { protocols: { pairwiseSubjects: true } } }
    assert.doesNotMatch((await warned(pairwise, on)).join('\n'), useless)
  })

  it('report signatures without a matching key', async () => {
    const signed = { client_secret: 's', id_token_signed_response_alg: 'ES256' }
    const missing = /^client bank: id_token_signed_response_alg is ES256, and the configuration has no such key/
    assert.match((await warned(signed)).join('\n'), missing)
    const rsa = { active: 'rsa', keys: { rsa: KEYS.RS256 } }
    assert.match((await warned(signed, { signing_keys: rsa })).join('\n'), missing)
    const both = { active: 'rsa', keys: { ...rsa.keys, ec: KEYS.ES256 } }
    assert.deepEqual(await warned(signed, { signing_keys: both }), [])
    const identity_zones = [{ id: 'z1', subdomain: 'z1', name: 'Z', bootstrap: { clients: [{ ...code, ...signed }] } }]
    assert.match((await warned({}, { bootstrap: { identity_zones } })).join('\n'), missing)
    assert.deepEqual(await warned({}, { bootstrap: { identity_zones }, signing_keys: both }), [])
  })

  it('report a profile without a suitable key', async () => {
    const bank = { profile: 'fapi2-security', jwks_uri }
    const missing =
      'client bank: fapi2-security needs a key for one of PS256, ES256, EdDSA, and the configuration has none: the client gets no tokens unless the zone gets one by the API'
    assert.deepEqual(await warned(bank), [missing], 'with the key generated at the first start')
    const rsa = { active: 'rsa', keys: { rsa: KEYS.RS256 } }
    assert.deepEqual(await warned(bank, { signing_keys: rsa }), [missing])
    const both = { active: 'rsa', keys: { ...rsa.keys, ...signing_keys.keys } }
    assert.deepEqual(await warned(bank, { signing_keys: both }), [])
    const signingKey = privatePem('rsa', 2048)
    const zoneWith = (config: object) => ({
      signing_keys,
      bootstrap: {
        identity_zones: [
          { id: 'z1', subdomain: 'z1', name: 'Z', config, bootstrap: { clients: [{ ...code, ...bank }] } },
        ],
      },
    })
    assert.deepEqual(await warned({}, zoneWith({})), [])
    assert.deepEqual(await warned({}, zoneWith({ tokenPolicy: { activeKeyId: 'k', keys: { k: { signingKey } } } })), [
      missing,
    ])
  })
})
