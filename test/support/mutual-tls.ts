// A server behind a proxy that requests client certificates, and clients with certificates.
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { FORWARDED, issue, nameOf } from './client-certificates.ts'
import type { TestCertificate } from './client-certificates.ts'
import { defaultBootstrap } from './server.ts'
import type { ServerOptions } from './server.ts'

const bank = (commonName: string) => nameOf([['O', 'Bank']], [['CN', commonName]])

/** Authorities: a trusted one, its intermediate one, and an untrusted one. */
export const authority = issue({ name: bank('authority'), isAuthority: true })
const stranger = issue({ name: bank('authority'), isAuthority: true })

/** Certificates by kind. */
export const certificates = {
  client: issue({ issuer: authority, name: bank('client'), usages: ['client'], dns: ['Client.example'] }),
  names: issue({
    issuer: authority,
    name: bank('names'),
    dns: ['a.example', 'b.example'],
    uri: ['spiffe://bank/names'],
    email: ['names@bank.example'],
    ip: [[10, 0, 0, 1]],
  }),
  renewed: issue({ issuer: authority, name: bank('client') }),
  wildcard: issue({ issuer: authority, name: bank('wildcard'), dns: ['*.example'] }),
  untrusted: issue({ issuer: stranger, name: bank('client') }),
  selfMade: issue({ name: bank('client') }),
  expired: issue({ issuer: authority, name: bank('client'), to: new Date(Date.UTC(2001, 0)) }),
  early: issue({ issuer: authority, name: bank('client'), from: new Date(Date.UTC(2080, 0)) }),
  server: issue({ issuer: authority, name: bank('client'), usages: ['server'] }),
  short: issue({ issuer: authority, name: bank('client'), rsaBits: 1024 }),
  brokenHash: issue({ issuer: authority, name: bank('client'), hash: 'sha1' }),
  registered: issue({ name: nameOf([['CN', 'registered']]) }),
  registeredExpired: issue({ to: new Date(Date.UTC(2001, 0)) }),
  other: issue(),
} as const

const service = { authorized_grant_types: ['client_credentials'], authorities: ['jobs.run'] }
const tls = (id: string, members: object) => ({
  client_id: id,
  token_endpoint_auth_method: 'tls_client_auth',
  ...service,
  ...members,
})

/** One client for each way to name a subject, one with certificates of its own, and some that have them beside a secret. */
export const certificateClients = [
  tls('by-dn', { tls_client_auth_subject_dn: 'CN=client, O=Bank' }),
  tls('by-dns', { tls_client_auth_san_dns: 'B.Example' }),
  tls('by-uri', { tls_client_auth_san_uri: 'spiffe://bank/names' }),
  tls('by-email', { tls_client_auth_san_email: 'names@Bank.example' }),
  tls('by-ip', { tls_client_auth_san_ip: '10.0.0.1' }),
  {
    client_id: 'self-signed',
    token_endpoint_auth_method: 'self_signed_tls_client_auth',
    jwks: { keys: [certificates.registered.jwk, certificates.registeredExpired.jwk] },
    ...service,
  },
  tls('bound', { tls_client_auth_subject_dn: 'CN=client,O=Bank', tls_client_certificate_bound_access_tokens: true }),
  {
    client_id: 'bound-secret',
    client_secret: 'secret',
    tls_client_certificate_bound_access_tokens: true,
    authorized_grant_types: ['client_credentials', 'password', 'authorization_code', 'refresh_token'],
    authorities: ['jobs.run', 'clients.read'],
    scope: ['openid'],
    redirect_uri: ['https://app.example/cb'],
  },
  {
    client_id: 'bound-public',
    allowpublic: true,
    tls_client_certificate_bound_access_tokens: true,
    authorized_grant_types: ['authorization_code', 'refresh_token'],
    scope: ['openid'],
    redirect_uri: ['https://spa.example/cb'],
    autoapprove: true,
  },
]

/** Options of a server that trusts every proxy; in uaa with mutual TLS enabled. */
export const behindProxy = (
  mode: CompatibilityMode = 'standard',
  { mutualTls = {}, ...config }: { readonly mutualTls?: object } & Readonly<Record<string, unknown>> = {},
): ServerOptions => ({
  mode,
  config: {
    listen: { trusted_proxies: ['127.0.0.1'] },
    mutual_tls: { trusted_ca: authority.pem, ...mutualTls },
    bootstrap: { ...defaultBootstrap, clients: [...defaultBootstrap.clients, ...certificateClients] },
    ...(mode === 'uaa' && { zone_config: { protocols: { mutualTls: true } } }),
    ...config,
  },
})

/** The header of a proxy. */
export const shown = (certificate: TestCertificate): Readonly<Record<string, string>> => ({
  'client-cert': FORWARDED['RFC 9440'](certificate),
})
