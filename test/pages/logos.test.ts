import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { behaviourOf } from '../../src/model/compatibility.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import { logoUrls } from '../../src/pages/parts/logos.ts'
import type { Store } from '../../src/store/store.ts'
import { createPageWriter } from '../../src/web/pages.ts'
import { png } from './states.ts'

describe('The logos of a zone', () => {
  it('are examined once, not for each page', () => {
    let reads = 0
    const branding = {
      productLogo: 'no base64!',
      get squareLogo() {
        reads += 1
        return png(2, 2, [1, 2, 3])
      },
    }
    assert.deepEqual(logoUrls(branding, '/uaa'), { squareLogo: '/uaa/square-logo.png' })
    const once = reads
    assert.deepEqual(logoUrls(branding, ''), { squareLogo: '/square-logo.png' })
    assert.equal(reads, once)
  })

  it('are those of a branding that stays the same object until one of its two records changes', async () => {
    const zone = (id: string, companyName: string): Zone =>
      ({ id, config: { branding: { companyName } } }) as unknown as Zone // all that the branding depends on
    let shared = zone('default', 'Acme')
    const store = { zones: { find: () => Promise.resolve(shared) } } as unknown as Store // reads no other record
    const deps = { store, defaultZoneId: 'default', behaviour: behaviourOf('standard') }
    const pages = createPageWriter(deps as Parameters<typeof createPageWriter>[0])
    const own = zone('own', 'Own')
    const first = await pages.brandingOf(own)
    assert.deepEqual(first, { companyName: 'Own' })
    assert.equal(await pages.brandingOf({ ...own }), first)
    shared = { ...shared, config: { branding: { footerLegalText: 'Legal' } } }
    assert.deepEqual(await pages.brandingOf(own), { companyName: 'Own', footerLegalText: 'Legal' })
    assert.notEqual(await pages.brandingOf({ ...own, config: { ...own.config } }), await pages.brandingOf(own))
  })
})
