import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { samlSource } from '../../../src/identity/sources/saml.ts'
import type { SamlDeps } from '../../../src/identity/sources/saml.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'
import type { Zone } from '../../../src/model/zones/zone.ts'

const ENTITY = 'https://idp.example/saml'

describe('hasDocumentOf', () => {
  const source = samlSource({ behaviour: behaviourOf('standard'), samlEntityId: 'latchkey' } as SamlDeps) // no other member is used
  const cases = [
    { name: 'accepts metadata at the entity id', location: ENTITY, want: true },
    { name: 'accepts metadata on the host of the entity id', location: 'https://idp.example/metadata.xml', want: true },
    { name: 'refuses another host', location: 'https://evil.example/saml', want: false },
    { name: 'refuses another port', location: 'https://idp.example:8443/saml', want: false },
    { name: 'refuses a subdomain', location: 'https://evil.idp.example/saml', want: false },
    {
      name: 'refuses an entity id that is a host name',
      location: 'https://idp.example',
      entity: 'idp.example',
    },
    { name: 'refuses an entity id without a host', location: 'urn:idp', entity: 'urn:idp' },
    { name: 'refuses a record without metadata', location: undefined, entity: '' },
  ]
  for (const { name, location, entity = ENTITY, want = false } of cases) {
    it(name, () => {
      const record = { config: { metaDataLocation: location } } as unknown as IdentityProvider // the rest does not matter
      const opened = source.open({ id: 'svc', config: {} } as Zone, record, {} as never)
      assert.equal(opened.hasDocumentOf?.(entity), want)
    })
  }
})
