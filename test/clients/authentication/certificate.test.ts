import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { FORWARDED } from '../../support/client-certificates.ts'
import type { TestCertificate } from '../../support/client-certificates.ts'
import { behindProxy, certificateClients, certificates, shown } from '../../support/mutual-tls.ts'
import { MODES, refused, tokensOf, verified } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import { sendJson } from '../../support/zones.ts'

const by = (
  server: TestServer,
  clientId: string,
  certificate: TestCertificate | undefined,
  form: Readonly<Record<string, string>> = {},
): Promise<TestAnswer> =>
  server.token(
    { grant_type: 'client_credentials', client_id: clientId, ...form },
    { headers: certificate ? shown(certificate) : {} },
  )

for (const mode of MODES) {
  describe(`Client authentication by certificate in ${mode} (RFC 8705)`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer(behindProxy(mode))
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const accepted: readonly (readonly [string, keyof typeof certificates, string])[] = [
      ['by-dn', 'client', 'tls_client_auth'],
      ['by-dn', 'renewed', 'tls_client_auth'],
      ['by-dns', 'names', 'tls_client_auth'],
      ['by-uri', 'names', 'tls_client_auth'],
      ['by-email', 'names', 'tls_client_auth'],
      ['by-ip', 'names', 'tls_client_auth'],
      ['self-signed', 'registered', 'self_signed_tls_client_auth'],
    ]
    for (const [clientId, name, method] of accepted) {
      it(`accepts the certificate ${name} of ${clientId}`, async () => {
        const tokens = tokensOf(await by(server, clientId, certificates[name]))
        const { payload } = await verified(server, tokens.access_token)
        assert.equal(payload['client_auth_method'], method)
        assert.equal(payload['cnf'], undefined)
      })
    }

    for (const [proxy, write] of Object.entries(FORWARDED)) {
      it(`accepts the header format of ${proxy}`, async () => {
        const headers = { 'client-cert': write(certificates.client) }
        tokensOf(await server.token({ grant_type: 'client_credentials', client_id: 'by-dn' }, { headers }))
      })
    }

    const wrong: readonly (readonly [string, string, keyof typeof certificates | undefined, RegExp?])[] = [
      ['that is missing', 'by-dn', undefined],
      ['of another subject', 'by-dn', 'names', /another subject/],
      ['of an untrusted CA with the same name', 'by-dn', 'untrusted', /no trusted authority/],
      ['that is self-signed', 'by-dn', 'selfMade', /no trusted authority/],
      ['that expired', 'by-dn', 'expired', /not valid/],
      ['that is not valid yet', 'by-dn', 'early', /not valid/],
      ['with a key that is too short', 'by-dn', 'short', /too short/],
      ['signed with SHA-1', 'by-dn', 'brokenHash', /hash algorithm is insecure/],
      ['for servers', 'by-dn', 'server', /does not allow client authentication/],
      ['with a wildcard', 'by-dns', 'wildcard', /another subject/],
      ['that is not registered', 'self-signed', 'other', /not among/],
      ['of a trusted CA instead of a registered one', 'self-signed', 'client', /not among/],
      ['that is registered and expired', 'self-signed', 'registeredExpired', /not valid/],
      ['of an unknown client', 'nobody', 'client'],
      ['for a client with a secret', 'service', 'client'],
      ['for a public client', 'spa', 'client'],
    ]
    for (const [what, clientId, name, detail] of wrong) {
      it(`refuses a certificate ${what}`, async () => {
        const certificate = name && certificates[name]
        const challenge = /^Basic realm="SVC\/client"/
        const sending = () => by(server, clientId, certificate)
        await refused(server, mode, sending, { want: '401 invalid_client', challenge })
        if (detail) assert.match(server.refusals.at(-1) ?? '', detail)
      })
    }

    it('refuses a header without a certificate or with two', async () => {
      const good = FORWARDED['RFC 9440'](certificates.client)
      for (const value of ['nonsense', `${good}, ${good}`, `${good.slice(0, 80)}:`]) {
        const answer = await server.token(
          { grant_type: 'client_credentials', client_id: 'by-dn' },
          { headers: { 'client-cert': value } },
        )
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '401 invalid_client')
      }
    })

    it('refuses an empty secret of a client with a certificate', async () => {
      const answer = await server.token({ grant_type: 'client_credentials' }, { basic: ['by-dn', ''] })
      assert.equal(answer.status, 401)
    })

    it('ignores the certificate if a secret is sent', async () => {
      const headers = shown(certificates.other)
      const form = { grant_type: 'client_credentials' }
      tokensOf(await server.token(form, { basic: ['service', 'service-secret'], headers }))
      assert.equal((await server.token(form, { basic: ['service', 'wrong'], headers })).status, 401)
    })

    it('is supported at introspection and revocation', async () => {
      const { access_token: token } = tokensOf(await by(server, 'by-dn', certificates.client))
      const form = { token, client_id: 'by-dn' }
      const revoked = await server.send('/oauth/revoke', { form, headers: shown(certificates.client) })
      assert.equal(revoked.status, 200)
      assert.equal((await server.send('/oauth/revoke', { form, headers: shown(certificates.names) })).status, 401)
      const asked = await server.send('/introspect', { form, headers: shown(certificates.client) })
      assert.equal(asked.status, 403, 'authenticated, but without the right to introspect')
    })
  })
}

describe('The certificate header', () => {
  const attempt = async (options: Parameters<typeof startServer>[0], headers: Readonly<Record<string, string>>) => {
    const server = await startServer(options)
    const form = { grant_type: 'client_credentials', client_id: 'by-dn' }
    const answer = await server.token(form, { headers })
    assert.deepEqual(server.faults, [])
    await server.stop()
    return answer.status
  }
  const header = shown(certificates.client)

  it('is accepted from trusted proxies only', async () => {
    assert.equal(await attempt(behindProxy(), header), 200)
    const others = behindProxy('standard', {
      listen: { trusted_proxies: ['10.0.0.9', '192.0.2.0/24', '2001:db8::/32'] },
    })
    assert.equal(await attempt(others, header), 401)
    assert.equal(await attempt(others, { ...header, 'x-forwarded-for': '10.0.0.9' }), 401)
    const block = behindProxy('standard', { listen: { trusted_proxies: ['127.0.0.0/8'] } })
    assert.equal(await attempt(block, header), 200)
  })

  it('has the configured name', async () => {
    const options = behindProxy('standard', { mutualTls: { header: 'X-Ssl-Cert' } })
    assert.equal(await attempt(options, header), 401)
    assert.equal(await attempt(options, { 'x-ssl-cert': header['client-cert'] ?? '' }), 200)
  })

  it('is ignored if not configured, or if RFC 8705 is disabled in the zone', async () => {
    assert.equal(await attempt(behindProxy('standard', { mutual_tls: undefined }), header), 401)
    const off = { zone_config: { protocols: { mutualTls: false } } }
    assert.equal(await attempt(behindProxy('standard', off), header), 401)
    assert.equal(await attempt(behindProxy('uaa', { zone_config: {} }), header), 401)
  })

  it('is rejected without a trusted CA', async () => {
    assert.equal(await attempt(behindProxy('standard', { mutual_tls: {} }), header), 401)
  })

  it('is treated as absent if empty', async () => {
    const server = await startServer(behindProxy())
    for (const value of ['', ' ', '-', '(null)']) {
      const form = { grant_type: 'client_credentials', client_id: 'by-dn' }
      const answer = await server.token(form, { headers: { 'client-cert': value } })
      assert.equal(answer.json()['error_description'], 'Missing credentials')
    }
    await server.stop()
  })
})

describe('A certificate at jwks_uri', () => {
  it('is fetched and accepted after a rotation', async () => {
    const published = [certificates.registered.jwk]
    const keys = createServer((_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }))
    })
    await new Promise<void>(resolve => keys.listen(0, '127.0.0.1', resolve))
    const client = {
      client_id: 'remote',
      token_endpoint_auth_method: 'self_signed_tls_client_auth',
      jwks_uri: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/keys`, // it listens on a port
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
    }
    const server = await startServer(behindProxy('standard', { bootstrap: { ...defaultBootstrap, clients: [client] } }))
    try {
      assert.equal((await by(server, 'remote', certificates.other)).status, 401)
      assert.equal((await by(server, 'remote', certificates.registered)).status, 200)
      published.push(certificates.other.jwk)
      server.clock.advance(31)
      assert.equal((await by(server, 'remote', certificates.other)).status, 200)
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
      await new Promise(resolve => keys.close(resolve))
    }
  })
})

describe('The record of a client with a certificate', () => {
  const admin = {
    client_id: 'admin',
    client_secret: 'secret',
    authorized_grant_types: ['client_credentials'],
    authorities: ['clients.admin', 'clients.read', 'clients.write'],
  }
  let server: TestServer
  let bearer: string
  before(async () => {
    server = await startServer(
      behindProxy('standard', { bootstrap: { ...defaultBootstrap, clients: [admin, ...certificateClients] } }),
    )
    bearer = tokensOf(
      await server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'secret'] }),
    ).access_token
  })
  after(() => server.stop())

  const record = {
    client_id: 'new',
    authorized_grant_types: ['client_credentials'],
    authorities: ['jobs.run'],
    token_endpoint_auth_method: 'tls_client_auth',
  }
  const refusals: readonly (readonly [string, object, RegExp])[] = [
    ['no subject', {}, /tls_client_auth needs one of tls_client_auth_subject_dn/],
    [
      'two subjects',
      { tls_client_auth_san_dns: 'a.example', tls_client_auth_san_ip: '10.0.0.1' },
      /Only one of tls_client_auth_subject_dn/,
    ],
    [
      'a subject that is not a DN',
      { tls_client_auth_subject_dn: 'client' },
      /tls_client_auth_subject_dn cannot be read/,
    ],
    ['an invalid IP address', { tls_client_auth_san_ip: '10.0.0' }, /tls_client_auth_san_ip cannot be read/],
    ['an empty DNS name', { tls_client_auth_san_dns: '' }, /tls_client_auth_san_dns cannot be read/],
    [
      'a subject with another method',
      { client_secret: 'x', token_endpoint_auth_method: 'client_secret_basic', tls_client_auth_san_dns: 'a.example' },
      /tls_client_auth_san_dns needs token_endpoint_auth_method tls_client_auth/,
    ],
  ]
  for (const [what, change, about] of refusals) {
    it(`is rejected with ${what}`, async () => {
      const answer = await sendJson(server, 'POST', '/oauth/clients', { ...record, ...change }, { bearer })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.text, about)
    })
  }

  it('does not need a secret, and allows authentication', async () => {
    const subject = { tls_client_auth_subject_dn: 'CN=client,O=Bank' }
    const made = await sendJson(server, 'POST', '/oauth/clients', { ...record, ...subject }, { bearer })
    assert.equal(made.status, 201, made.text)
    assert.equal(made.json()['tls_client_auth_subject_dn'], 'CN=client,O=Bank')
    tokensOf(await by(server, 'new', certificates.client))
  })

  it('is rejected if the server cannot verify certificates, but an existing one can be updated', async () => {
    const subject = { ...record, tls_client_auth_san_dns: 'a.example' }
    const clients = [{ ...subject, client_id: 'old' }, admin]
    for (const [mutualTls, about] of [
      [undefined, /the server has client certificates disabled \(mutual_tls\)/],
      [{}, /the server has no trusted CA \(mutual_tls\.trusted_ca\)/],
    ] as const) {
      const other = await startServer(
        behindProxy('standard', { mutual_tls: mutualTls, bootstrap: { ...defaultBootstrap, clients } }),
      )
      const token = await other.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'secret'] })
      const by = { bearer: tokensOf(token).access_token }
      const refusal = await sendJson(other, 'POST', '/oauth/clients', subject, by)
      assert.equal(refusal.status, 400)
      assert.match(refusal.text, about)
      const kept = { ...subject, client_id: 'old', name: 'Renamed' }
      assert.equal((await sendJson(other, 'PUT', '/oauth/clients/old', kept, by)).status, 200)
      await other.stop()
    }
  })
})
