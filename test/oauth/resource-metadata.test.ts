import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { serviceNamed } from '../../src/model/service.ts'
import { isRestricted } from '../../src/model/tokens/restricted-scopes.ts'

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
  // Covers GET /.well-known/oauth-protected-resource: response: resource; authorization_servers
  it("returns issuer and scopes of this server's own endpoints", () =>
    inServer({}, async server => {
      const answer = await server.send(PATH)
      assert.equal(answer.status, 200)
      const reported = answer.json()
      assert.equal(reported['resource'], 'http://localhost:8080')
      assert.deepEqual(reported['authorization_servers'], ['http://localhost:8080'])
      assert.ok(reported['dpop_signing_alg_values_supported'])
      assert.equal(reported['tls_client_certificate_bound_access_tokens'], undefined) // mutual TLS is not configured
      const metadata = (await server.send('/.well-known/oauth-authorization-server')).json()
      assert.equal(metadata['issuer'], 'http://localhost:8080')
      assert.deepEqual(reported['scopes_supported'], metadata['scopes_supported'])
      const listed = reported['scopes_supported'] as readonly string[] // as tested in metadata.test.ts
      assert.deepEqual(
        listed.filter(scope => isRestricted(scope, serviceNamed('svc'))),
        [],
      )
    }))

  it('includes certificate-bound tokens if mutual TLS is configured and enabled in the zone', async () => {
    const certificates = { listen: { trusted_proxies: ['127.0.0.1'] }, mutual_tls: {} }
    const reported = async (server: TestServer): Promise<unknown> =>
      (await server.send(PATH)).json()['tls_client_certificate_bound_access_tokens']
    await inServer(certificates, async server => assert.equal(await reported(server), true))
    const off = { ...certificates, zone_config: { protocols: { mutualTls: false } } }
    await inServer(off, async server => assert.equal(await reported(server), undefined))
  })

  it('returns the metadata of each zone, by host and path', () =>
    inServer({}, async server => {
      const byHost = (await server.send(PATH, { host: 'z1.localhost:8080' })).json()
      assert.equal(byHost['resource'], 'http://z1.localhost:8080')
      for (const path of [`/z/z1${PATH}`, `${PATH}/z/z1`]) {
        const answer = await server.send(path)
        assert.equal(answer.status, 200, path)
        assert.equal(answer.json()['resource'], 'http://localhost:8080/z/z1')
      }
    }))

  it('supports the well-known path before the path of the base URL', () =>
    inServer({ base_url: 'http://localhost:8080/uaa' }, async server => {
      for (const path of [`${PATH}/uaa`, `/uaa${PATH}`]) {
        assert.equal((await server.send(path)).json()['resource'], 'http://localhost:8080/uaa', path)
      }
    }))

  it('answers 404 if it is disabled in the zone', async () => {
    const zone_config = { protocols: { protectedResourceMetadata: false } }
    await inServer({ zone_config }, async server => {
      const answer = await server.send(PATH)
      assert.equal(answer.status, 404)
      assert.equal(answer.json()['error_description'], 'This feature is turned off here.')
    })
    await inServer({}, async server => assert.equal((await server.send(PATH)).status, 404), 'uaa')
  })
})

describe('WWW-Authenticate', () => {
  const challengeOf = async (server: TestServer, path: string, host?: string): Promise<string> =>
    String((await server.send(path, host === undefined ? {} : { host })).headers['www-authenticate'])

  // Covers later standards: protected resource metadata
  it('has resource_metadata of the zone at resource endpoints (§5.1)', () =>
    inServer({}, async server => {
      for (const path of ['/Users', '/userinfo', '/scim/v2/Users', '/oauth/clients', '/Users/x/unknown']) {
        assert.match(
          await challengeOf(server, path),
          /^Bearer .*resource_metadata="http:\/\/localhost:8080\/\.well-known\/oauth-protected-resource"/,
          path,
        )
      }
      const ofZone = /resource_metadata="http:\/\/localhost:8080\/\.well-known\/oauth-protected-resource\/z\/z1"/
      assert.match(await challengeOf(server, '/z/z1/Users'), ofZone)
      assert.match(
        await challengeOf(server, '/Users', 'z1.localhost:8080'),
        /resource_metadata="http:\/\/z1\.localhost:8080\//,
      )
      const named = /resource_metadata="([^"]+)"/.exec(await challengeOf(server, '/Users'))?.[1] ?? ''
      assert.equal((await server.send(new URL(named).pathname)).status, 200)
    }))

  it('has resource_metadata before the path of the base URL', () =>
    inServer({ base_url: 'http://localhost:8080/uaa' }, async server => {
      const url = /resource_metadata="http:\/\/localhost:8080\/\.well-known\/oauth-protected-resource\/uaa"/
      assert.match(await challengeOf(server, '/uaa/Users'), url)
    }))

  it('has no resource_metadata for a zone whose host is not a valid URL', () =>
    inServer({ base_url: 'http://127.0.0.1:8080' }, async server => {
      const answer = await server.send('/Users', { host: 'z1.localhost:8080' })
      assert.equal(answer.status, 401)
      assert.doesNotMatch(String(answer.headers['www-authenticate']), /resource_metadata/)
      assert.equal(answer.json()['error'], 'unauthorized')
    }))

  it('has no resource_metadata in uaa, or if it is disabled in the zone', async () => {
    const reported = /resource_metadata/
    await inServer({}, async server => assert.doesNotMatch(await challengeOf(server, '/Users'), reported), 'uaa')
    const zone_config = { protocols: { protectedResourceMetadata: false } }
    await inServer({ zone_config }, async server => assert.doesNotMatch(await challengeOf(server, '/Users'), reported))
  })

  it('has no resource_metadata at the token endpoint', () =>
    inServer({}, async server => {
      const answer = await server.send('/oauth/token', { form: { grant_type: 'client_credentials' } })
      assert.doesNotMatch(String(answer.headers['www-authenticate']), /resource_metadata/)
    }))
})
