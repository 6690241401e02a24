import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const PATH = '/.well-known/oauth-protected-resource'
const bootstrap = { identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'One' }] }

async function inServer(
  config: object,
  work: (server: TestServer) => Promise<void>,
  mode: CompatibilityMode = 'standard',
): Promise<void> {
  const server = await startServer({ mode, config: { bootstrap, ...config } })
  try {
    await work(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

describe(`GET ${PATH}`, () => {
  it('tells who issues tokens for the server’s own interfaces', () =>
    inServer({}, async server => {
      const answer = await server.send(PATH)
      assert.equal(answer.status, 200)
      const told = answer.json()
      assert.equal(told['resource'], 'http://localhost:8080')
      assert.deepEqual(told['authorization_servers'], ['http://localhost:8080'])
      assert.ok(told['dpop_signing_alg_values_supported'])
      const metadata = (await server.send('/.well-known/oauth-authorization-server')).json()
      assert.equal(metadata['issuer'], 'http://localhost:8080')
    }))

  it('is that of each zone, by host and by path', () =>
    inServer({}, async server => {
      const byHost = (await server.send(PATH, { host: 'z1.localhost:8080' })).json()
      assert.equal(byHost['resource'], 'http://z1.localhost:8080')
      for (const path of [`/z/z1${PATH}`, `${PATH}/z/z1`]) {
        const answer = await server.send(path)
        assert.equal(answer.status, 200, path)
        assert.equal(answer.json()['resource'], 'http://localhost:8080/z/z1')
      }
    }))

  it('is before the path of the base URL, too', () =>
    inServer({ base_url: 'http://localhost:8080/uaa' }, async server => {
      for (const path of [`${PATH}/uaa`, `/uaa${PATH}`]) {
        assert.equal((await server.send(path)).json()['resource'], 'http://localhost:8080/uaa', path)
      }
    }))

  it('is nothing where the zone does not have it', async () => {
    const zone_config = { protocols: { protectedResourceMetadata: false } }
    await inServer({ zone_config }, async server => assert.equal((await server.send(PATH)).status, 404))
    await inServer({}, async server => assert.equal((await server.send(PATH)).status, 404), 'uaa')
  })
})
