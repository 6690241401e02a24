import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { issue, nameOf } from '../support/client-certificates.ts'
import type { TestCertificate } from '../support/client-certificates.ts'
import { freePort } from '../support/free-port.ts'
import { launch } from '../support/process.ts'
import type { StartedProcess } from '../support/process.ts'

const authority = issue({ name: nameOf([['CN', 'authority']]), isAuthority: true })
const client = issue({ name: nameOf([['O', 'Bank']], [['CN', 'client']]), issuer: authority })
const other = issue()
const own = issue({ ip: [[127, 0, 0, 1]], dns: ['localhost'] })
const keyOf = ({ privateKey }: TestCertificate): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** `fetch` by TLS with a certificate, or without one. */
const fetchWith =
  (certificate: TestCertificate | undefined) =>
  (url: string, options: { method?: string; headers?: HeadersInit; body?: unknown }): Promise<Response> =>
    new Promise((resolve, reject) => {
      const identity = certificate && { cert: certificate.pem, key: keyOf(certificate) }
      const headers = Object.fromEntries(new Headers(options.headers))
      const sent = request(
        url,
        { method: options.method, headers, ca: own.pem, agent: false, ...identity },
        response => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('end', () => {
            const answer = new Response(Buffer.concat(parts), {
              status: response.statusCode ?? 0,
              headers: response.headers as Record<string, string>, // no header is sent twice
            })
            resolve(Object.defineProperty(answer, 'url', { value: url }))
          })
        },
      )
      sent.on('error', reject)
      const { body } = options
      sent.end(body instanceof URLSearchParams ? body.toString() : body)
    })

describe('Mutual TLS with client libraries', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-mtls-'))
  let server: StartedProcess
  let issuer: string
  let aliases: string
  const start = async (port: number, more: object = {}): Promise<StartedProcess> => {
    const usual = {
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run', 'clients.read'],
      tls_client_certificate_bound_access_tokens: true,
    }
    const config = {
      base_url: `https://127.0.0.1:${port}`,
      listen: {
        port,
        ...more,
        tls: { certificate_file: 'server.pem', private_key_file: 'server-key.pem', client_certificates: 'request' },
      },
      mutual_tls: { trusted_ca: authority.pem, endpoint_base_url: `https://localhost:${port}` },
      database: 'sqlite::memory:',
      master_key: Buffer.alloc(32, 1).toString('base64'),
      bootstrap: {
        clients: [
          {
            client_id: 'bank',
            token_endpoint_auth_method: 'tls_client_auth',
            tls_client_auth_subject_dn: 'CN=client,O=Bank',
            ...usual,
          },
          {
            client_id: 'lone',
            token_endpoint_auth_method: 'self_signed_tls_client_auth',
            jwks: { keys: [other.jwk] },
            ...usual,
          },
        ],
      },
    }
    const started = launch(['serve', '--config', 'latchkey.json'], {
      folder,
      files: { 'latchkey.json': JSON.stringify(config) },
    })
    await started.printed(/listening on/)
    return started
  }

  before(async () => {
    const port = await freePort()
    issuer = `https://127.0.0.1:${port}`
    aliases = `https://localhost:${port}`
    writeFileSync(join(folder, 'server.pem'), own.pem)
    writeFileSync(join(folder, 'server-key.pem'), keyOf(own))
    server = await start(port)
  })
  after(async () => {
    server.signal('SIGTERM')
    assert.equal((await server.ended).status, 0)
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [clientId, certificate, wrong] of [
    ['bank', client, other],
    ['lone', other, client],
  ] as const) {
    it(`oauth4webapi: ${clientId} gets a token at the alias, bound to its certificate`, async () => {
      const withCertificate = { [oauth.customFetch]: fetchWith(certificate) }
      const discovered = await oauth.discoveryRequest(new URL(issuer), withCertificate)
      const as = await oauth.processDiscoveryResponse(new URL(issuer), discovered)
      assert.equal(as.mtls_endpoint_aliases?.token_endpoint, `${aliases}/oauth/token`)
      const me: oauth.Client = { client_id: clientId, use_mtls_endpoint_aliases: true }
      const ask = (fetch: ReturnType<typeof fetchWith>) =>
        oauth.clientCredentialsGrantRequest(as, me, oauth.TlsClientAuth(), {}, { [oauth.customFetch]: fetch })
      assert.equal((await ask(fetchWith(undefined))).status, 401)
      assert.equal((await ask(fetchWith(wrong))).status, 401)
      const { access_token: token } = await oauth.processClientCredentialsResponse(
        as,
        me,
        await ask(fetchWith(certificate)),
      )
      assert.deepEqual(decodeJwt(token)['cnf'], { 'x5t#S256': certificate.thumbprint })
      const use = (fetch: ReturnType<typeof fetchWith>) =>
        fetch(`${aliases}/oauth/clients`, { headers: { authorization: `Bearer ${token}` } })
      assert.equal((await use(fetchWith(certificate))).status, 200)
      assert.equal((await use(fetchWith(wrong))).status, 401)
      assert.equal((await use(fetchWith(undefined))).status, 401)
      const claimed = await fetchWith(undefined)(`${issuer}/oauth/clients`, {
        headers: { authorization: `Bearer ${token}`, 'client-cert': `:${certificate.raw.toString('base64')}:` },
      })
      assert.equal(claimed.status, 401, 'the header is ignored')
    })
  }

  it('openid-client: gets a token', async () => {
    const metadata = { client_id: 'bank', use_mtls_endpoint_aliases: true }
    const fetch = fetchWith(client) as openid.CustomFetch
    const config = await openid.discovery(new URL(issuer), 'bank', metadata, openid.TlsClientAuth(), {
      [openid.customFetch]: fetch,
    })
    const tokens = await openid.clientCredentialsGrant(config)
    assert.deepEqual(decodeJwt(tokens.access_token)['cnf'], { 'x5t#S256': client.thumbprint })
  })

  it('reads the certificate of a trusted proxy’s header, not of its connection', async () => {
    const port = await freePort()
    const behind = await start(port, { trusted_proxies: ['127.0.0.1', '::1'] })
    const ask = async (clientId: string, headers: Record<string, string>) => {
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId })
      const sent = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
      const answer = await fetchWith(client)(`https://127.0.0.1:${port}/oauth/token`, {
        method: 'POST',
        headers: sent,
        body,
      })
      return answer.status
    }
    assert.equal(await ask('bank', {}), 401)
    assert.equal(await ask('lone', { 'client-cert': `:${other.raw.toString('base64')}:` }), 200)
    behind.signal('SIGTERM')
    await behind.ended
  })
})
