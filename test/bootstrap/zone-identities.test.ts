import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPasswords } from '../../src/base/passwords.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { applyBootstrap } from '../../src/bootstrap.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { createTestClock } from '../support/clock.ts'
import { loadText, privatePem, temporaryFolder } from '../support/config.ts'
import { zone } from '../store/records.ts'

const folder = temporaryFolder()
const keys = { k1: { signingKey: privatePem('ec', 'P-256') } }
const ISSUER = 'https://tokens.example.org'

describe('A configured zone with another’s subdomain, issuer or SAML entity id', () => {
  type Zones = Readonly<Record<string, { readonly issuer?: string; readonly samlConfig?: object }>>

  /** Starts with a zone of the API, then with each of the files in turn. */
  async function issuersAfter(ofApi: object, ...files: readonly Zones[]): Promise<object> {
    const clock = createTestClock()
    const random = createRandom()
    const vault = createVault(Buffer.alloc(32, 7), random)
    const passwords = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })
    const store: Store = await openStore('sqlite::memory:', { clock })
    try {
      await store.zones.insert(zone({ id: 'made', subdomain: 'made', config: ofApi }))
      for (const file of files) {
        const identity_zones = Object.entries(file).map(([id, config]) => ({
          id,
          subdomain: id,
          name: id,
          config: { tokenPolicy: { keys }, ...config },
        }))
        const config = await loadText(folder, JSON.stringify({ bootstrap: { identity_zones } }))
        await applyBootstrap({ store, passwords, vault, clock, random, config, log: () => {}, warn: () => {} })
      }
      const found = Object.keys(files.at(-1) ?? {}).map(async id => [id, (await store.zones.find(id))?.config.issuer])
      return Object.fromEntries(await Promise.all(found))
    } finally {
      await store.close()
    }
  }

  it('is rejected if the issuer is of a zone outside the file, in any notation', async () => {
    const message = 'zone one: its issuer is that of a zone that is not in the file; change one of them'
    for (const issuer of [ISSUER, `${ISSUER.toUpperCase().replace('HTTPS', 'https')}/`]) {
      await assert.rejects(issuersAfter({ issuer }, { one: { issuer: ISSUER } }), { name: 'BootstrapError', message })
    }
    await assert.rejects(issuersAfter({ issuer: ISSUER }, { one: {} }, { one: { issuer: ISSUER } }), { message })
  })

  it('is rejected if the subdomain is of a zone outside the file', async () => {
    await assert.rejects(issuersAfter({}, { MADE: {} }), {
      message: 'zone MADE: its subdomain is that of a zone that is not in the file; change one of them',
    })
  })

  it('is rejected if the entity id is of a zone outside the file', async () => {
    const samlConfig = { entityID: 'urn:example:sp' }
    await assert.rejects(issuersAfter({ samlConfig }, { one: { samlConfig } }), {
      message: 'zone one: its SAML entity id is that of a zone that is not in the file; change one of them',
    })
  })

  it('is accepted if the other zone of the file gives it up', async () => {
    const other = 'https://other.example.org'
    const before = { one: { issuer: ISSUER }, two: { issuer: other } }
    const after = { one: { issuer: other }, two: { issuer: ISSUER } }
    assert.deepEqual(await issuersAfter({}, before, after), { one: other, two: ISSUER })
  })

  it('is accepted if they are unique', async () => {
    assert.deepEqual(await issuersAfter({ issuer: `${ISSUER}/x` }, { one: { issuer: ISSUER } }), { one: ISSUER })
  })
})
