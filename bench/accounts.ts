// Who the servers of a run know: the same clients, user and signing keys for Latchkey and for the peer, made anew for
// every run.
import { LANES, nameOfLane } from './flows.ts'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'

/** The algorithms whose access tokens are compared. */
export type Algorithm = 'RS256' | 'ES256'

/** What the access tokens of a client are: a JWT of one algorithm, or opaque. */
export type TokenKind = Algorithm | 'opaque'

/** A client of the run; without `resource` it asks for no tokens of its own. */
export interface BenchClient {
  readonly id: string
  readonly secret: string
  readonly grants: readonly string[]
  readonly resource?: TokenKind
  readonly redirectUri?: string
}

/** What the peer reads from its standard input. */
export interface PeerJob {
  readonly scope: string
  readonly userName: string
  readonly clients: readonly BenchClient[]
  readonly keys: readonly JsonWebKey[]
}

/** Everything a server is configured with. */
export interface Accounts {
  readonly scope: string
  readonly user: { readonly name: string; readonly password: string }
  readonly service: Readonly<Record<TokenKind, BenchClient>>
  /** Introspects other clients' tokens. */
  readonly resourceServer: BenchClient
  /** Signs users in by authorization code; approved in advance. */
  readonly application: BenchClient
  /** Signs users in by the password grant. */
  readonly console: BenchClient
  readonly keys: Readonly<Record<Algorithm, KeyObject>>
}

function newSecret(): string {
  return randomBytes(18).toString('base64url')
}

/** New secrets and keys: RSA of 2048 bits, and P-256. */
export function createAccounts(): Accounts {
  const service = (resource: TokenKind): BenchClient => ({
    id: `service-${resource.toLowerCase()}`,
    secret: newSecret(),
    grants: ['client_credentials'],
    resource,
  })
  return {
    scope: 'cloud.read',
    user: { name: 'marissa', password: newSecret() },
    service: { RS256: service('RS256'), ES256: service('ES256'), opaque: service('opaque') },
    resourceServer: { id: 'resource-server', secret: newSecret(), grants: ['client_credentials'] },
    application: {
      id: 'application',
      secret: newSecret(),
      grants: ['authorization_code'],
      resource: 'RS256',
      redirectUri: 'http://127.0.0.1:9/callback',
    },
    console: { id: 'console', secret: newSecret(), grants: ['password'] },
    keys: {
      RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
      ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    },
  }
}

/** The peer's share: the clients whose grants it has, and both keys. */
export function peerJob(accounts: Accounts): PeerJob {
  const { service, resourceServer, application } = accounts
  return {
    scope: accounts.scope,
    userName: accounts.user.name,
    clients: [service.RS256, service.ES256, service.opaque, resourceServer, application],
    keys: (['RS256', 'ES256'] as const).map(alg => ({
      ...accounts.keys[alg].export({ format: 'jwk' }),
      alg,
      use: 'sig',
      kid: alg.toLowerCase(),
    })),
  }
}

/** Latchkey's config file. JSON, which is YAML too; everything not said here is left at its default. */
export function latchkeyConfig(
  accounts: Accounts,
  server: { baseUrl: string; algorithm: Algorithm; pemFile: string },
): string {
  const { service, resourceServer, application, console, scope, user } = accounts
  const record = (client: BenchClient): Record<string, unknown> => ({
    client_id: client.id,
    client_secret: client.secret,
    authorized_grant_types: client.grants,
    authorities: [scope],
    scope: ['openid', scope],
  })
  return JSON.stringify(
    {
      base_url: server.baseUrl,
      workers: 1,
      signing_keys: {
        active: 'bench',
        keys: { bench: { alg: server.algorithm, pem_file: server.pemFile } },
      },
      bootstrap: {
        groups: [{ displayName: scope, description: 'Read the cloud' }],
        clients: [
          ...Object.values(service).map(record),
          { ...record(resourceServer), authorities: ['svc.resource'] },
          { ...record(application), redirect_uri: [application.redirectUri], autoapprove: true },
          record(console),
        ],
        users: Array.from({ length: LANES }, (_, lane) => {
          const userName = nameOfLane(user.name, lane)
          return {
            userName,
            password: user.password,
            emails: [{ value: `${userName}@example.org` }],
            name: { givenName: 'Marissa', familyName: 'Bloggs' },
            groups: [scope],
          }
        }),
      },
    },
    undefined,
    2,
  )
}
