import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allowsProvider, displayName, isPublic, mayUseGrant } from '../../../src/model/clients/client.ts'
import { GRANT_TYPES } from '../../../src/model/clients/grant-types.ts'
import { bareClient as client } from '../../support/bare-client.ts'

describe('Client rules', () => {
  it('mayUseGrant is true only for the client’s grant types', () => {
    for (const given of GRANT_TYPES) {
      for (const asked of GRANT_TYPES) {
        assert.equal(mayUseGrant(client({ authorizedGrantTypes: [given] }), asked), given === asked)
      }
    }
  })

  const publicity = [
    { name: 'isPublic is true for allowPublic: true', members: { allowPublic: true }, want: true },
    { name: 'isPublic is false for allowPublic: false', members: { allowPublic: false }, want: false },
    { name: 'isPublic is false by default', members: {}, want: false },
  ]
  for (const { name, members, want } of publicity) {
    it(name, () => assert.equal(isPublic(client(members)), want))
  }

  const providers = [
    { name: 'allowsProvider accepts any provider if none is listed', members: {}, want: true },
    {
      name: 'allowsProvider accepts a listed provider',
      members: { allowedProviders: ['svc', 'ldap'] },
      want: true,
    },
    { name: 'allowsProvider rejects an unlisted provider', members: { allowedProviders: ['svc'] }, want: false },
    {
      name: 'allowsProvider rejects every provider if the list is empty',
      members: { allowedProviders: [] },
      want: false,
    },
  ]
  for (const { name, members, want } of providers) {
    it(name, () => assert.equal(allowsProvider(client(members), 'ldap'), want))
  }

  it('displayName is the name, or the id of a client without a name', () => {
    assert.equal(displayName(client({ name: 'The App' })), 'The App')
    assert.equal(displayName(client({})), 'app')
  })
})
