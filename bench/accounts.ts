// The clients, user and signing keys of a run, the same for Latchkey and the peer, generated for every run.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'
import { LANES } from './browser.ts'
import { nameOfLane } from './flows.ts'

/** The algorithms whose access tokens are compared. */
export type Algorithm = 'RS256' | 'ES256'

/** The format of a client's access tokens: a JWT of one algorithm, or opaque. */
export type TokenKind = Algorithm | 'opaque'

/** A client with a secret; without `resource` it requests no tokens. */
export interface BenchClient {
  readonly id: string
  readonly secret: string
  readonly grants: readonly string[]
  readonly resource?: TokenKind
  readonly redirectUri?: string
  /** Whether each refresh replaces the refresh token. */
  readonly rotates?: boolean
}

/** A client with a P-256 key, which authenticates by assertions (RFC 7523). */
export interface KeyClient {
  readonly id: string
  readonly grants: readonly string[]
  readonly resource: TokenKind
  readonly privateKey: JsonWebKey
  readonly publicKey: JsonWebKey
}

/** What the peer reads from its standard input. */
export interface PeerJob {
  readonly scope: string
  /** Of every user. */
  readonly password: string
  readonly clients: readonly (BenchClient | KeyClient)[]
  readonly keys: readonly JsonWebKey[]
  /** The file of its SQLite database; absent: it keeps everything in memory. */
  readonly database?: string
}

/**
 * argon2id at minimal cost, for workloads that measure everything but the hash. Keys as in Latchkey's configuration.
 */
export const CHEAP_HASHES = { memory_kib: 8, passes: 1 } as const

/** Everything a server is configured with. */
export interface Accounts {
  readonly scope: string
  readonly user: { readonly name: string; readonly password: string }
  readonly service: Readonly<Record<TokenKind, BenchClient>>
  /** Requests tokens with private_key_jwt. */
  readonly signer: KeyClient
  /** Introspects other clients' tokens, and lists the clients. */
  readonly resourceServer: BenchClient
  /** May manage everything. */
  readonly administrator: BenchClient
  /** Signs users in by authorization code; approved in advance. */
  readonly application: Readonly<Record<Algorithm, BenchClient>>
  /** Signs users in by the password grant. */
  readonly console: BenchClient
  /** Use refresh tokens: one keeps its token, the other's is rotated. */
  readonly refreshing: { readonly kept: BenchClient; readonly rotated: BenchClient }
  /** Signs users in and lets them grant tokens to `console` in advance. */
  readonly portal: BenchClient
  readonly keys: Readonly<Record<Algorithm, KeyObject>>
}

const REDIRECT_URI = 'http://127.0.0.1:9/callback'

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
  const refreshing = (id: string, rotates: boolean): BenchClient => ({
    id,
    secret: newSecret(),
    grants: ['authorization_code', 'refresh_token'],
    resource: 'ES256',
    redirectUri: REDIRECT_URI,
    rotates,
  })
  const application = (resource: Algorithm): BenchClient => ({
    id: `application-${resource.toLowerCase()}`,
    secret: newSecret(),
    grants: ['authorization_code', 'refresh_token'],
    resource,
    redirectUri: REDIRECT_URI,
  })
  return {
    scope: 'cloud.read',
    user: { name: 'marissa', password: newSecret() },
    service: { RS256: service('RS256'), ES256: service('ES256'), opaque: service('opaque') },
    signer: createKeyClient(),
    resourceServer: { id: 'resource-server', secret: newSecret(), grants: ['client_credentials'] },
    administrator: { id: 'administrator', secret: newSecret(), grants: ['client_credentials'] },
    application: { RS256: application('RS256'), ES256: application('ES256') },
    console: { id: 'console', secret: newSecret(), grants: ['password'] },
    refreshing: { kept: refreshing('refreshing', false), rotated: refreshing('rotating', true) },
    portal: { id: 'portal', secret: newSecret(), grants: ['password', 'user_token'] },
    keys: {
      RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
      ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    },
  }
}

function createKeyClient(): KeyClient {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const named = (key: KeyObject): JsonWebKey => ({ ...key.export({ format: 'jwk' }), kid: 'signer', alg: 'ES256' })
  return {
    id: 'signer',
    grants: ['client_credentials'],
    resource: 'ES256',
    privateKey: named(privateKey),
    publicKey: { ...named(publicKey), use: 'sig' },
  }
}

/** The peer's configuration: the clients whose grants it supports, and both keys. */
export function peerJob(accounts: Accounts): PeerJob {
  const { service, signer, resourceServer, application, refreshing } = accounts
  return {
    scope: accounts.scope,
    password: accounts.user.password,
    clients: [
      ...Object.values(service),
      signer,
      resourceServer,
      ...Object.values(application),
      ...Object.values(refreshing),
    ],
    keys: (['RS256', 'ES256'] as const).map(alg => ({
      ...accounts.keys[alg].export({ format: 'jwk' }),
      alg,
      use: 'sig',
      kid: alg.toLowerCase(),
    })),
  }
}

/** Latchkey's configuration file, as JSON; everything else has its default. */
export function latchkeyConfig(
  accounts: Accounts,
  server: {
    baseUrl: string
    algorithm: Algorithm
    pemFile: string
    cheapHashes: boolean
    managementPort?: number | undefined
  },
): string {
  const { service, signer, resourceServer, administrator, application, console, refreshing, portal, scope, user } =
    accounts
  const record = (client: BenchClient | KeyClient): Record<string, unknown> => ({
    client_id: client.id,
    ...('publicKey' in client ? { jwks: { keys: [client.publicKey] } } : { client_secret: client.secret }),
    authorized_grant_types: client.grants,
    authorities: [scope],
    scope: ['openid', scope],
  })
  return JSON.stringify(
    {
      base_url: server.baseUrl,
      workers: 1,
      ...(server.managementPort !== undefined && { listen: { management: { port: server.managementPort } } }),
      ...(server.cheapHashes && { passwords: CHEAP_HASHES }),
      signing_keys: {
        active: 'bench',
        keys: { bench: { alg: server.algorithm, pem_file: server.pemFile } },
      },
      bootstrap: {
        groups: [{ displayName: scope, description: 'Read the cloud' }],
        clients: [
          ...Object.values(service).map(record),
          { ...record(resourceServer), authorities: ['svc.resource', 'clients.read'] },
          { ...record(administrator), authorities: ['svc.admin'] },
          ...Object.values(application).map(client => ({
            ...record(client),
            redirect_uri: [client.redirectUri],
            autoapprove: true,
          })),
          { ...record(console), autoapprove: true }, // for the user_token grant
          record(signer),
          ...Object.values(refreshing).map(client => ({
            ...record(client),
            redirect_uri: [client.redirectUri],
            autoapprove: true,
            allowpublic: client.rotates, // makes refresh tokens rotate; the client still authenticates with its secret
          })),
          { ...record(portal), scope: ['openid', scope, 'svc.user'] },
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
