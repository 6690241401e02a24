import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allowsProvider, displayName, isPublic, mayUseGrant } from '../../../src/model/clients/client.ts'
import { GRANT_TYPES } from '../../../src/model/clients/grant-types.ts'
import { bareClient as client } from '../../support/bare-client.ts'

describe('a client', () => {
  it('may use the grants that it was given and no other', () => {
    for (const given of GRANT_TYPES) {
      for (const asked of GRANT_TYPES) {
        assert.equal(mayUseGrant(client({ authorizedGrantTypes: [given] }), asked), given === asked)
      }
    }
  })

  const publicity = [
    { name: 'is public when it was configured so', members: { allowPublic: true }, want: true },
    { name: 'is not public when it was configured otherwise', members: { allowPublic: false }, want: false },
    { name: 'is not public when nothing was configured', members: {}, want: false },
  ]
  for (const { name, members, want } of publicity) {
    it(name, () => assert.equal(isPublic(client(members)), want))
  }

  const providers = [
    { name: 'accepts the users of every provider when none is named', members: {}, want: true },
    {
      name: 'accepts the users of a provider that is named',
      members: { allowedProviders: ['svc', 'ldap'] },
      want: true,
    },
    { name: 'accepts no users of a provider that is not named', members: { allowedProviders: ['svc'] }, want: false },
    { name: 'allows no provider when the list is empty', members: { allowedProviders: [] }, want: false },
  ]
  for (const { name, members, want } of providers) {
    it(name, () => assert.equal(allowsProvider(client(members), 'ldap'), want))
  }

  it('is shown by its name, or by its id when it has none', () => {
    assert.equal(displayName(client({ name: 'The App' })), 'The App')
    assert.equal(displayName(client({})), 'app')
  })
})
