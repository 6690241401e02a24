// The package has no types: these cover the parts that benchmarks and tests use.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  import type { JsonWebKey } from 'node:crypto'

  export interface StoredPayload {
    uid?: string
    grantId?: string
    consumed?: number
  }

  export interface Adapter {
    upsert(id: string, payload: StoredPayload, seconds?: number): Promise<void>
    find(id: string): Promise<StoredPayload | undefined>
    findByUid(uid: string): Promise<StoredPayload | undefined>
    findByUserCode(code: string): Promise<StoredPayload | undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  export interface ResourceServer {
    scope: string
    audience: string
    accessTokenTTL: number
    accessTokenFormat: string
    jwt?: { sign: { alg: string } }
  }

  interface Client {
    readonly clientId: string
    grantTypeAllowed(type: string): boolean
  }

  interface Grant {
    addOIDCScope(scope: string): void
    addResourceScope(resource: string, scope: string): void
    save(seconds: number): Promise<string>
  }

  interface Context {
    readonly oidc: {
      readonly client: Client
      readonly session: { readonly accountId: string; grantIdFor(clientId: string): string | undefined }
    }
  }

  export interface Configuration {
    adapter: (model: string) => Adapter
    clients: readonly Record<string, unknown>[]
    claims: Readonly<Record<string, readonly string[]>>
    cookies: { keys: readonly string[] }
    fetch: (url: string, options: { headers: Headers; body: URLSearchParams }) => Promise<Response>
    jwks: { keys: readonly JsonWebKey[] }
    scopes: readonly string[]
    pkce: { required: () => boolean }
    issueRefreshToken: (context: Context, client: Client) => boolean
    rotateRefreshToken: (context: Context) => boolean
    features: Partial<Features>
    findAccount: (context: Context, id: string) => { accountId: string; claims: () => { sub: string } }
    interactions: { url: (context: Context, interaction: { uid: string }) => string }
    loadExistingGrant: (context: Context) => Promise<Grant | undefined>
    ttl: Record<string, number>
  }

  interface Features {
    devInteractions: { enabled: boolean }
    clientCredentials: { enabled: boolean }
    revocation: { enabled: boolean }
    backchannelLogout: { enabled: boolean }
    rpInitiatedLogout: {
      enabled: boolean
      logoutSource: (context: { body: string }, form: string) => void
      postLogoutSuccessSource: (context: { body: string }) => void
    }
    introspection: { enabled: boolean; allowedPolicy: () => boolean }
    resourceIndicators: {
      enabled: boolean
      defaultResource: (context: Context, client: Client) => string | undefined
      useGrantedResource: () => boolean
      getResourceServerInfo: (context: Context, identifier: string) => ResourceServer
    }
  }

  export class Provider {
    constructor(issuer: string, configuration: Partial<Configuration>)
    readonly Grant: {
      new (owner: { clientId: string; accountId: string }): Grant
      find(id: string): Promise<Grant | undefined>
    }
    on(event: 'backchannel.error', listener: (context: unknown, error: Error) => void): void
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ uid: string; params: { client_id: string } }>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: { login: { accountId: string } },
    ): Promise<void>
  }
}
