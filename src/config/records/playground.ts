import { behaviourOf } from '../../model/compatibility.ts'
import type { CompatibilityMode } from '../../model/compatibility.ts'
import { serviceNamed } from '../../model/service.ts'
import type { Bootstrap } from './records.ts'

/** The error for another listening address or base URL in the playground. */
export const LOOPBACK_ONLY =
  'without a configuration file the accounts are public, so only loopback (localhost, 127.0.0.1) is allowed'

/** Ports on which development tools serve applications: the target of a logout is compared with its port. */
const PORTS = ['', ':3000', ':4200', ':5000', ':5173', ':8000', ':9000'] as const

/** The public accounts of the playground, for trying out on loopback. */
export function playgroundBootstrap(serviceName: string, compatibility: CompatibilityMode): Bootstrap {
  const service = serviceNamed(serviceName)
  const redirects = ['http://localhost/callback', 'http://127.0.0.1/callback']
  // Exact matching allows any port on loopback addresses (RFC 8252 §7.3); the lenient rules need a wildcard.
  const anyPort = behaviourOf(compatibility).exactRedirectUri
    ? []
    : ['http://localhost:*/callback', 'http://127.0.0.1:*/callback']
  return {
    groups: [{ displayName: 'cloud.read', description: 'Read the cloud' }],
    clients: [
      {
        client_id: 'app',
        client_secret: 'appclientsecret',
        name: 'Playground application',
        authorized_grant_types: ['authorization_code', 'refresh_token', 'password', 'client_credentials'],
        scope: ['openid', 'profile', 'email', 'cloud.read'],
        authorities: [service.scope('resource')], // so that introspection can be tried
        redirect_uri: [...redirects, ...anyPort],
        post_logout_redirect_uris: ['localhost', '127.0.0.1'].flatMap(host =>
          PORTS.map(port => `http://${host}${port}/`),
        ),
      },
      {
        client_id: 'admin',
        client_secret: 'adminsecret',
        authorized_grant_types: ['client_credentials'],
        authorities: [
          service.scope('admin'),
          'clients.admin',
          'clients.read',
          'clients.write',
          'clients.secret',
          'scim.read',
          'scim.write',
          'idps.read',
          'idps.write',
          'zones.read',
          'zones.write',
        ],
      },
    ],
    users: [
      {
        userName: 'marissa',
        password: 'koala',
        emails: [{ value: 'marissa@example.org' }],
        name: { givenName: 'Marissa', familyName: 'Bloggs' },
        groups: ['cloud.read'],
      },
    ],
    externalGroups: [],
    identityProviders: [],
    identityZones: [],
  }
}
