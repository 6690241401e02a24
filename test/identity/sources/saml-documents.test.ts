import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { samlSource } from '../../../src/identity/sources/saml.ts'
import type { SamlDeps } from '../../../src/identity/sources/saml.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'
import type { Zone } from '../../../src/model/zones/zone.ts'

const ENTITY = 'https://idp.example/saml'

describe('metadata of a SAML provider are where the entity itself would publish them', () => {
  const source = samlSource({ behaviour: behaviourOf('standard'), samlEntityId: 'latchkey' } as SamlDeps) // no other is used
  const cases = [
    { name: 'at the entity id', location: ENTITY, want: true },
    { name: 'elsewhere on its host', location: 'https://idp.example/metadata.xml', want: true },
    { name: 'not on another host', location: 'https://evil.example/saml', want: false },
    { name: 'not on another port', location: 'https://idp.example:8443/saml', want: false },
    { name: 'not on a host below its own', location: 'https://evil.idp.example/saml', want: false },
    {
      name: 'not on a host that reads like the name of an entity',
      location: 'https://idp.example',
      entity: 'idp.example',
    },
    { name: 'not without a host', location: 'urn:idp', entity: 'urn:idp' },
    { name: 'not without an address', location: undefined, entity: '' },
  ]
  for (const { name, location, entity = ENTITY, want = false } of cases) {
    it(name, () => {
      const record = { config: { metaDataLocation: location } } as unknown as IdentityProvider // the rest does not matter
      const opened = source.open({ id: 'svc', config: {} } as Zone, record, {} as never)
      assert.equal(opened.hasDocumentOf?.(entity), want)
    })
  }
})
