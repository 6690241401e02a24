import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import {
  openProviderSecrets,
  sealProviderSecrets,
  withKeptSecrets,
  withoutSecrets,
  withoutSuspects,
} from '../../src/providers/provider-secrets.ts'

const vault = createVault(Buffer.alloc(32, 7), createRandom())
const PEM = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'
const JWK = '{"kty":"EC","x":"x"}'

const provider = (config: IdentityProvider['config'], more: Partial<IdentityProvider> = {}): IdentityProvider => ({
  zoneId: 'svc',
  id: 'p1',
  originKey: 'corp',
  type: 'oidc1.0',
  name: 'Corp',
  active: true,
  config,
  version: 0,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  ...more,
})

describe('Provider secrets', () => {
  const secrets = [
    { bindPassword: 'hush' },
    { relyingPartySecret: 'hush' },
    { jwtClientAuthentication: { kid: 'k', key: 'hush' } },
    { tokenKey: 'hush' },
    { tokenKey: '{"kty":"oct","k":"hush"}' },
    { tokenKey: '{"keys":[{"kty":"RSA"},{"kty":"oct","k":"hush"}]}' },
  ]
  for (const config of secrets) {
    it(`are encrypted, decrypted and never returned: ${JSON.stringify(config)}`, () => {
      const sealed = sealProviderSecrets(provider(config), vault)
      assert.doesNotMatch(JSON.stringify(sealed), /hush/)
      assert.deepEqual(openProviderSecrets(sealed, vault).config, config)
      for (const each of [config, sealed.config]) {
        for (const hide of [withoutSecrets, withoutSuspects]) {
          assert.doesNotMatch(JSON.stringify(hide({ config: [each] })), /hush|v2\./)
        }
      }
    })

    it(`are bound to zone and origin: ${JSON.stringify(config)}`, () => {
      const sealed = sealProviderSecrets(provider(config), vault)
      for (const moved of [{ zoneId: 'z1' }, { originKey: 'other' }]) {
        assert.throws(() => openProviderSecrets({ ...sealed, ...moved }, vault))
      }
    })
  }

  it('do not include public keys', () => {
    for (const tokenKey of [PEM, JWK, `{"keys":[${JWK}]}`]) {
      assert.equal(sealProviderSecrets(provider({ tokenKey }), vault).config['tokenKey'], tokenKey)
      assert.deepEqual(withoutSecrets({ tokenKey }), { tokenKey })
    }
  })

  it('are read if an earlier version stored a shared key in plain text', () => {
    assert.equal(openProviderSecrets(provider({ tokenKey: 'plain' }), vault).config['tokenKey'], 'plain')
  })

  it('are removed from responses by name, and from rejected records at any depth', () => {
    assert.deepEqual(withoutSecrets({ bindPassword: { a: 1 }, relyingPartySecret: 7, linkText: 'x' }), {
      linkText: 'x',
    })
    assert.deepEqual(withoutSecrets({ jwtClientAuthentication: 'text' }), { jwtClientAuthentication: null })
    assert.deepEqual(withoutSecrets({ jwtClientAuthentication: true }), { jwtClientAuthentication: true })
    // In an accepted record these are names of attributes.
    const named = { attributeMappings: { code: 'c' }, additionalConfiguration: { password: 'p' } }
    assert.deepEqual(withoutSecrets(named), named)
    assert.deepEqual(withoutSuspects({ additionalAuthzParameters: { password: 'p', a: 1 }, secret: 's' }), {
      additionalAuthzParameters: { a: 1 },
    })
  })

  const kept = { bindPassword: 'b', relyingPartySecret: 's', tokenKey: 'shared' }
  const rows: readonly { name: string; config: object; before?: object; want: object }[] = [
    { name: 'all omitted ones', config: {}, want: kept },
    {
      name: 'none that is sent',
      config: { relyingPartySecret: '', tokenKey: PEM, bindPassword: 'n' },
      want: { relyingPartySecret: '', tokenKey: PEM, bindPassword: 'n' },
    },
    { name: 'no public key', config: {}, before: { tokenKey: PEM }, want: {} },
    {
      name: 'no secret for another authMethod',
      config: { authMethod: 'none' },
      before: { relyingPartySecret: 's' },
      want: { authMethod: 'none' },
    },
    {
      name: 'the key with the same kid',
      config: { jwtClientAuthentication: { kid: 'k' } },
      before: { jwtClientAuthentication: { kid: 'k', key: 'x' } },
      want: { jwtClientAuthentication: { kid: 'k', key: 'x' } },
    },
    {
      name: 'the key without a kid',
      config: { jwtClientAuthentication: {} },
      before: { jwtClientAuthentication: { key: 'x' } },
      want: { jwtClientAuthentication: { key: 'x' } },
    },
    {
      name: 'no key with another kid',
      config: { jwtClientAuthentication: { kid: 'l' } },
      before: { jwtClientAuthentication: { kid: 'k', key: 'x' } },
      want: { jwtClientAuthentication: { kid: 'l' } },
    },
    {
      name: 'no key if the key of the zone is used',
      config: { jwtClientAuthentication: true },
      before: { jwtClientAuthentication: { key: 'x' } },
      want: { jwtClientAuthentication: true },
    },
  ]
  for (const { name, config, before = kept, want } of rows) {
    it(`are kept by an update: ${name}`, () => {
      assert.deepEqual(withKeptSecrets({ ...config }, { ...before }), want)
    })
  }
})
