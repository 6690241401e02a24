import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPasswords } from '../../src/base/passwords.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { applyBootstrap } from '../../src/bootstrap.ts'
import { openStore } from '../../src/store/open.ts'
import { createTestClock } from '../support/clock.ts'
import { loadText, privatePem, temporaryFolder } from '../support/config.ts'
import { groupNamesOf } from '../support/group-names.ts'

const folder = temporaryFolder()

describe('A configured zone deleted through the API', () => {
  it('is not created again, nor its records, until its definition changes', async () => {
    const clock = createTestClock()
    const random = createRandom()
    const vault = createVault(Buffer.alloc(32, 7), random)
    const passwords = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })
    const store = await openStore('sqlite::memory:', { clock })
    const keys = { k1: { signingKey: privatePem('ec', 'P-256') } }
    const client = { client_id: 'app', client_secret: 'x', authorized_grant_types: ['client_credentials'] }
    async function start(name: string, clientName: string): Promise<void> {
      const bootstrap = { clients: [{ ...client, name: clientName }], groups: [{ displayName: 'g' }] }
      const zone = { id: 'z1', subdomain: 'one', name, config: { tokenPolicy: { keys } }, bootstrap }
      const config = await loadText(folder, JSON.stringify({ bootstrap: { identity_zones: [zone] } }))
      await applyBootstrap({ store, passwords, vault, clock, random, config, log: () => {}, warn: () => {} })
    }
    const found = async () => [
      (await store.zones.find('z1'))?.name,
      (await store.clients.find('z1', 'app'))?.name,
      (await store.keys.list('z1')).length,
      (await store.providers.listActive('z1')).length,
      (await groupNamesOf(store, 'z1')).includes('g'),
    ]
    try {
      await start('First', 'one')
      assert.deepEqual(await found(), ['First', 'one', 1, 1, true])
      assert.equal((await store.zones.delete('z1', 'svc')).outcome, 'deleted')
      const nothing = [undefined, undefined, 0, 0, false]
      await start('First', 'one')
      assert.deepEqual(await found(), nothing)
      await start('First', 'changed')
      assert.deepEqual(await found(), nothing)
      await start('Second', 'changed')
      assert.deepEqual(await found(), ['Second', 'changed', 1, 1, true])
    } finally {
      await store.close()
    }
  })
})
