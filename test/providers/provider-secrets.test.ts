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

describe('the secrets of a provider', () => {
  const secrets = [
    { bindPassword: 'hush' },
    { relyingPartySecret: 'hush' },
    { jwtClientAuthentication: { kid: 'k', key: 'hush' } },
    { tokenKey: 'hush' },
    { tokenKey: '{"kty":"oct","k":"hush"}' },
    { tokenKey: '{"keys":[{"kty":"RSA"},{"kty":"oct","k":"hush"}]}' },
  ]
  for (const config of secrets) {
    it(`are sealed, opened and never shown: ${JSON.stringify(config)}`, () => {
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

  it('are not the public keys that verify', () => {
    for (const tokenKey of [PEM, JWK, `{"keys":[${JWK}]}`]) {
      assert.equal(sealProviderSecrets(provider({ tokenKey }), vault).config['tokenKey'], tokenKey)
      assert.deepEqual(withoutSecrets({ tokenKey }), { tokenKey })
    }
  })

  it('open where an earlier version kept a shared key as it was', () => {
    assert.equal(openProviderSecrets(provider({ tokenKey: 'plain' }), vault).config['tokenKey'], 'plain')
  })

  it('leave an answer whatever they are, and a refused record wherever they are', () => {
    assert.deepEqual(withoutSecrets({ bindPassword: { a: 1 }, relyingPartySecret: 7, linkText: 'x' }), {
      linkText: 'x',
    })
    assert.deepEqual(withoutSecrets({ jwtClientAuthentication: 'text' }), { jwtClientAuthentication: null })
    assert.deepEqual(withoutSecrets({ jwtClientAuthentication: true }), { jwtClientAuthentication: true })
    // In a record that was taken these are names of attributes.
    const named = { attributeMappings: { code: 'c' }, additionalConfiguration: { password: 'p' } }
    assert.deepEqual(withoutSecrets(named), named)
    assert.deepEqual(withoutSuspects({ additionalAuthzParameters: { password: 'p', a: 1 }, secret: 's' }), {
      additionalAuthzParameters: { a: 1 },
    })
  })

  const kept = { bindPassword: 'b', relyingPartySecret: 's', tokenKey: 'shared' }
  const rows: readonly { name: string; config: object; before?: object; want: object }[] = [
    { name: 'all that are not named', config: {}, want: kept },
    {
      name: 'none that is named',
      config: { relyingPartySecret: '', tokenKey: PEM, bindPassword: 'n' },
      want: { relyingPartySecret: '', tokenKey: PEM, bindPassword: 'n' },
    },
    { name: 'no public key', config: {}, before: { tokenKey: PEM }, want: {} },
    {
      name: 'no secret where another way is taken',
      config: { authMethod: 'none' },
      before: { relyingPartySecret: 's' },
      want: { authMethod: 'none' },
    },
    {
      name: 'the key of the same name',
      config: { jwtClientAuthentication: { kid: 'k' } },
      before: { jwtClientAuthentication: { kid: 'k', key: 'x' } },
      want: { jwtClientAuthentication: { kid: 'k', key: 'x' } },
    },
    {
      name: 'the key without a name',
      config: { jwtClientAuthentication: {} },
      before: { jwtClientAuthentication: { key: 'x' } },
      want: { jwtClientAuthentication: { key: 'x' } },
    },
    {
      name: 'no key of another name',
      config: { jwtClientAuthentication: { kid: 'l' } },
      before: { jwtClientAuthentication: { kid: 'k', key: 'x' } },
      want: { jwtClientAuthentication: { kid: 'l' } },
    },
    {
      name: 'no key where that of the zone is used',
      config: { jwtClientAuthentication: true },
      before: { jwtClientAuthentication: { key: 'x' } },
      want: { jwtClientAuthentication: true },
    },
  ]
  for (const { name, config, before = kept, want } of rows) {
    it(`are kept through a change: ${name}`, () => {
      assert.deepEqual(withKeptSecrets({ ...config }, { ...before }), want)
    })
  }
})
