// Shared by the SCIM tests: callers with one right each in two zones, and their requests.
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import { clientTokens } from '../../support/client-tokens.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const caller = (id: string, ...authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

/** One right each, by the name of the client that has it. */
const CALLERS = {
  root: ['svc.admin'],
  writer: ['scim.write', 'scim.read'],
  reader: ['scim.read'],
  creator: ['scim.create'],
  stranger: ['jobs.run'],
  'zone-admin': ['zones.svc.admin'],
  'z1-admin': ['zones.z1.admin'],
  'z1-writer': ['zones.z1.scim.write', 'zones.z1.scim.read'],
} as const

/** The name of a caller of the default zone. */
export type Caller = keyof typeof CALLERS

/** A Host header of the other zone. */
export const HOST_OF_Z1 = 'z1.localhost:8080'
/** The header with which an administrator addresses it. */
export const TO_Z1 = { 'x-identity-zone-id': 'z1' }

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    ...Object.entries(CALLERS).map(([id, authorities]) => caller(id, ...authorities)),
    {
      client_id: 'web',
      client_secret: 'web-secret',
      authorized_grant_types: ['password'],
      scope: ['openid', 'scim.write', 'scim.read'],
    },
  ],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: { clients: [caller('z1-native', 'scim.write', 'scim.read')] },
    },
  ],
}

/** A request to SCIM; the body is sent as JSON. */
export interface ScimRequest {
  readonly by?: Caller
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly bearer?: string
  readonly host?: string
  readonly query?: Readonly<Record<string, string>>
}

/** A server with those callers. */
export interface ScimServer {
  readonly server: TestServer
  /** A request below `/scim/v2`, by a caller with `scim.write` and `scim.read` by default. */
  send(method: string, path: string, request?: ScimRequest): Promise<TestAnswer>
  /** Creates a user and returns the resource. */
  createUser(more?: Readonly<Record<string, unknown>>, request?: ScimRequest): Promise<Resource>
  /** A token of a user through the client `web`. */
  userToken(userName: string, password: string): Promise<string>
  tokenOf(id: string, host?: string): Promise<string>
  stop(): Promise<void>
}

/** A resource in a response. */
export interface Resource extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly meta: { readonly version: string; readonly location: string; readonly lastModified: string }
}

/** The schema of users. */
export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User'
/** The schema of groups. */
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group'
/** The enterprise extension. */
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
/** The Latchkey extension of users. */
export const OWN = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0:User'
/** The schema of errors. */
export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error'
/** The schema of a PATCH body. */
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

/** The body of a PATCH. */
export const patchOf = (...operations: readonly unknown[]) => ({ schemas: [PATCH_SCHEMA], Operations: operations })

/** Starts a SCIM server. */
export async function startScimServer(
  mode: CompatibilityMode = 'standard',
  options: { readonly database?: string; readonly config?: Readonly<Record<string, unknown>> } = {},
): Promise<ScimServer> {
  const { database, config } = options
  const server = await startServer({
    mode,
    config: { bootstrap, ...config },
    ...(database !== undefined && { database }),
  })
  const tokenOf = clientTokens(server)

  async function send(method: string, path: string, request: ScimRequest = {}): Promise<TestAnswer> {
    const { by = 'writer', body, headers, host, query } = request
    const bearer = request.bearer ?? (await tokenOf(by))
    return server.send(`/scim/v2${path}`, {
      method,
      bearer,
      headers: { ...(body !== undefined && { 'content-type': 'application/scim+json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(host !== undefined && { host }),
      ...(query && { query }),
    })
  }

  let count = 0
  return {
    server,
    send,
    tokenOf,
    async createUser(more = {}, request = {}) {
      count += 1
      const body = { schemas: [USER_SCHEMA], userName: `user${count}@example.org`, ...more }
      const answer = await send('POST', '/Users', { ...request, body })
      if (answer.status !== 201) throw new Error(answer.text)
      return answer.json<Resource>()
    },
    async userToken(username, password) {
      const answer = await server.token(
        { grant_type: 'password', username, password },
        { basic: ['web', 'web-secret'] },
      )
      return String(answer.json()['access_token'])
    },
    stop: () => server.stop(),
  }
}
