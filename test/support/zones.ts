// Shared by tests of the zone API: a server whose default zone has a client for each right, and requests to it.
import assert from 'node:assert/strict'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { tokensOf } from './oauth.ts'
import type { ServerOptions, TestAnswer, TestRequest, TestServer } from './server.ts'
import { startServer, defaultBootstrap } from './server.ts'

/** A client that acts for itself with these authorities; its secret is its id and `-secret`. */
export const caller = (id: string, ...authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

/** The default zone. */
export const HOST_OF_Z1 = 'one.localhost:8080'

/** Callers by the right that each one has. */
export const CALLERS = {
  root: 'svc.admin',
  reader: 'zones.read',
  writer: 'zones.write',
  'admin-here': 'zones.svc.admin',
  'reader-here': 'zones.svc.read',
  'admin-of-z1': 'zones.z1.admin',
  'reader-of-z1': 'zones.z1.read',
  'admin-of-z2': 'zones.z2.admin',
  other: 'clients.admin',
} as const

/** A server with the callers in the default zone and in `z1`, and two more zones. */
export const startZoneServer = (options: ServerOptions = {}): Promise<TestServer> => {
  const callers = Object.entries(CALLERS).map(([id, right]) => caller(id, right))
  return startServer({
    ...options,
    config: {
      bootstrap: {
        ...defaultBootstrap,
        clients: [...defaultBootstrap.clients, ...callers],
        identity_zones: [
          { id: 'z1', subdomain: 'one', name: 'Zone 1', bootstrap: { clients: callers } },
          { id: 'z2', subdomain: 'two', name: 'Zone 2' },
          { id: 'off', subdomain: 'off', name: 'Switched off', active: false },
        ],
      },
      ...options.config,
    },
  })
}

/** A token of one of the callers, of the default zone unless another host is named. */
export async function tokenOf(server: TestServer, id: string, host?: string): Promise<string> {
  const request: TestRequest = { basic: [id, `${id}-secret`], ...(host !== undefined && { host }) }
  return tokensOf(await server.token({ grant_type: 'client_credentials' }, request)).access_token
}

/** Sends a body as JSON, or as the text that it is. */
export const sendJson = (
  server: TestServer,
  method: string,
  path: string,
  body: unknown,
  request: TestRequest = {},
): Promise<TestAnswer> =>
  server.send(path, {
    method,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...request,
    headers: { 'content-type': 'application/json', ...request.headers },
  })

/** A zone as the API answers it. */
export interface ZoneAnswer {
  readonly id: string
  readonly subdomain: string
  readonly name: string
  readonly description?: string
  readonly version: number
  readonly active: boolean
  readonly created: number
  readonly last_modified: number
  readonly config: Readonly<Record<string, Readonly<Record<string, unknown>>>> &
    Readonly<{ issuer?: string; defaultIdentityProvider?: string | null }>
}

/** The descriptions in `standard` where UAA returns only a status (row M10), by error code. */
const STATUS_ALONE: Readonly<Record<string, string>> = {
  invalid_request: 'The name or the subdomain is missing.',
  access_denied: 'The caller is in another zone, or the zone is the default one.',
  not_found: 'There is no such zone, or no such client in it.',
  invalid_identity_zone: 'A provider of the zone has an alias in another one.',
}

/** Whether the response is a refusal with only a status: in `uaa` with an empty body. */
export function isStatusAlone(answer: TestAnswer, mode: CompatibilityMode): boolean {
  const { text } = answer
  if (mode === 'uaa' || text === '') return mode === 'uaa' && text === ''
  const { error, error_description: description } = answer.json<{ error?: string; error_description?: string }>()
  return error !== undefined && STATUS_ALONE[error] === description
}

/** Creates and replaces zones with a configuration, by the token of a caller. */
export function zoneWrites(server: () => TestServer, bearer: () => string) {
  let count = 0
  const post = (config: unknown): Promise<TestAnswer> => {
    count += 1
    const body = { id: `c${count}`, subdomain: `c${count}`, name: 'x', ...(config !== undefined && { config }) }
    return sendJson(server(), 'POST', '/identity-zones', body, { bearer: bearer() })
  }
  return {
    /** Posts a new zone. */
    post,
    /** The zone that was posted, which has to be accepted. */
    created: async (config?: unknown): Promise<ZoneAnswer> => {
      const answer = await post(config)
      assert.equal(answer.status, 201, answer.text)
      return answer.json<ZoneAnswer>()
    },
    put: ({ id, subdomain, name }: ZoneAnswer, config: unknown): Promise<TestAnswer> =>
      sendJson(server(), 'PUT', `/identity-zones/${id}`, { id, subdomain, name, config }, { bearer: bearer() }),
    /** The id of the last posted zone. */
    lastId: (): string => `c${count}`,
  }
}
