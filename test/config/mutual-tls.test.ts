import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError, loadConfig } from '../../src/config.ts'
import { issue } from '../support/client-certificates.ts'

const root = issue({ isAuthority: true })

async function load(mutualTls: unknown, more: object = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  const config = join(folder, 'latchkey.json')
  await writeFile(join(folder, 'ca.pem'), root.pem)
  await writeFile(join(folder, 'key.pem'), root.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const usual = { database: 'sqlite::memory:', listen: { trusted_proxies: ['10.0.0.1'] }, ...more }
  await writeFile(config, JSON.stringify({ ...usual, mutual_tls: mutualTls }))
  try {
    return await loadConfig({ options: { config }, env: {}, cwd: folder })
  } finally {
    await rm(folder, { recursive: true })
  }
}

describe('mutual_tls', () => {
  it('is off by default, and has defaults', async () => {
    assert.equal((await load(undefined)).mutualTls, undefined)
    assert.deepEqual((await load({})).mutualTls, { header: 'client-cert', asks: false, trustedAuthorities: [] })
  })

  it('has a header, a file of certification authorities and a base URL', async () => {
    const given = { header: 'X-SSL-Cert', trusted_ca_file: 'ca.pem', endpoint_base_url: 'https://mtls.example/id/' }
    const { mutualTls } = await load(given, { base_url: 'https://id.example/id' })
    assert.equal(mutualTls?.header, 'x-ssl-cert')
    assert.deepEqual(
      mutualTls.trustedAuthorities.map(raw => Buffer.from(raw)),
      [root.raw],
    )
    assert.equal(mutualTls.endpointBase, 'https://mtls.example/id')
  })

  it('needs no proxy if the server requests certificates, which turns it on', async () => {
    const listen = {
      tls: { certificate_file: 'ca.pem', private_key_file: 'key.pem', client_certificates: 'request' },
    }
    const https = { base_url: 'https://id.example', listen }
    assert.deepEqual((await load(undefined, https)).mutualTls, { asks: true, trustedAuthorities: [] })
    assert.deepEqual((await load({}, https)).mutualTls, { asks: true, trustedAuthorities: [] })
    const both = { ...https, listen: { ...listen, trusted_proxies: ['10.0.0.1'] } }
    assert.equal((await load({}, both)).mutualTls?.header, 'client-cert')
  })

  it('warns of clients that cannot authenticate by certificate', async () => {
    const client = (id: string, method: string) => ({
      client_id: id,
      token_endpoint_auth_method: method,
      tls_client_auth_san_dns: method === 'tls_client_auth' ? 'a.example' : undefined,
      jwks: { keys: [issue().jwk] },
      authorized_grant_types: ['client_credentials'],
    })
    const zone = { id: 'z1', subdomain: 'z1', name: 'Zone one' }
    const bootstrap = {
      clients: [client('one', 'tls_client_auth'), client('two', 'self_signed_tls_client_auth')],
      identity_zones: [{ ...zone, bootstrap: { clients: [client('three', 'tls_client_auth')] } }],
    }
    const warned = async (mutualTls: unknown) =>
      (await load(mutualTls, { bootstrap })).warnings.filter(line => line.includes('mutual_tls'))
    const about = (id: string, method: string, missing: string) =>
      `client ${id}: it cannot authenticate by ${method}; set ${missing}`
    assert.deepEqual(await warned({ trusted_ca_file: 'ca.pem' }), [])
    assert.deepEqual(await warned({}), [
      about('one', 'tls_client_auth', 'mutual_tls.trusted_ca'),
      about('three', 'tls_client_auth', 'mutual_tls.trusted_ca'),
    ])
    assert.equal((await warned(undefined)).length, 3)
  })

  const PATH = 'mutual_tls.endpoint_base_url: must be an https URL with the path of base_url, and nothing after it'
  const refusals: readonly (readonly [object, string, object?])[] = [
    [
      {},
      'mutual_tls: requires listen.trusted_proxies, whose header is read, or listen.tls.client_certificates',
      { listen: {} },
    ],
    [{ header: 'Authorization' }, 'mutual_tls.header: is a header with another meaning'],
    [{ header: 'X-Forwarded-For' }, 'mutual_tls.header: is a header with another meaning'],
    [{ trusted_ca: 'nonsense' }, 'mutual_tls.trusted_ca: must be X.509 certificates in PEM'],
    [{ endpoint_base_url: 'http://mtls.example' }, PATH],
    [{ endpoint_base_url: 'https://mtls.example/other' }, PATH],
    [{ endpoint_base_url: 'https://mtls.example/?a' }, PATH],
    [{ endpoint_base_url: 'https://a:b@mtls.example' }, PATH],
  ]
  for (const [given, problem, more] of refusals) {
    it(`rejects ${JSON.stringify(given)} ${more ? JSON.stringify(more) : ''}`, async () => {
      await assert.rejects(load(given, more), (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.deepEqual(
          error.problems.map(({ key, message }) => `${key}: ${message}`),
          [problem],
        )
        return true
      })
    })
  }
})
