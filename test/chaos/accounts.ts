// The configuration of the nodes: a client for each grant, users who stay, and a SAML provider.
import { systemClock } from '../../src/base/clock.ts'
import { SAML_BEARER, samlRecord } from '../support/saml/saml-bearer.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import type { SamlIdp } from '../support/saml/saml-idp.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'
const BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Grant types with long names. */
export const GRANTS = { exchange: EXCHANGE, device: DEVICE, bearer: BEARER, saml: SAML_BEARER } as const

/** The redirect URI for codes, without a listener. */
export const REDIRECT_URI = 'http://127.0.0.1:9/cb'
/** Of all accounts. */
export const PASSWORD = 'correct-horse-battery'
/** Users that are never deleted. */
export const PEOPLE: readonly string[] = Array.from({ length: 10 }, (_, index) => `resident-${index}`)

/** The provider of assertions for the SAML bearer grant. Its users are created at their first sign-in. */
export const corp: SamlIdp = createSamlIdp({
  clock: systemClock,
  to: { entityId: 'latchkey', recipient: 'named by each assertion' },
  entityId: 'https://corp.example/saml',
})

/** Client id and secret for `Authorization: Basic`. */
export const basicOf = (clientId: string): readonly [string, string] => [clientId, `${clientId}-secret`]

const client = (clientId: string, grants: readonly string[], more: object = {}): object => ({
  client_id: clientId,
  client_secret: `${clientId}-secret`,
  authorized_grant_types: grants,
  scope: ['openid', 'cloud.read'],
  ...more,
})

/** The configuration file, with what differs between nodes: address, database, management port. */
export const configOf = (more: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  // Hashes are cheap, so that the rest of the server is what works. On loopback only, and the server warns of it.
  passwords: { memory_kib: 8, passes: 1 },
  zone_config: { tokenPolicy: { refreshTokenRotate: true } },
  uaa: { health: { db: { rate: 500 } } },
  bootstrap: {
    groups: [{ displayName: 'cloud.read' }],
    clients: [
      client('app', ['authorization_code', 'refresh_token', 'password', BEARER], {
        redirect_uri: [REDIRECT_URI],
        autoapprove: true,
      }),
      client('asking', ['authorization_code', 'refresh_token'], { redirect_uri: [REDIRECT_URI], scope: ['openid'] }),
      client('service', ['client_credentials'], { authorities: ['jobs.run'] }),
      client('resource', ['client_credentials'], { authorities: ['svc.resource'] }),
      client('directory', ['client_credentials'], {
        authorities: ['scim.read', 'scim.write', 'clients.admin'],
      }),
      client('cloud', [EXCHANGE], {
        scope: ['cloud.read'],
        tokenExchange: [{ audience: 'stock', subjects: ['app'], scopes: ['cloud.read'], mode: 'delegation' }],
      }),
      client('carrier', [SAML_BEARER], { scope: ['openid'], autoapprove: true }),
      client('portal', ['password', 'user_token'], { scope: ['openid', 'svc.user', 'cloud.read'] }),
      {
        client_id: 'tv',
        allowpublic: true,
        authorized_grant_types: [DEVICE, 'refresh_token'],
        scope: ['openid', 'cloud.read'],
      },
    ],
    identity_providers: [samlRecord('corp', corp.metadata())],
    users: PEOPLE.map(userName => ({
      userName,
      password: PASSWORD,
      emails: [{ value: `${userName}@example.org` }],
      groups: ['cloud.read'],
    })),
  },
  ...more,
})
