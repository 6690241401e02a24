// Shared by tests of the client management API: callers with one right each, in two zones, and their requests.
import assert from 'node:assert/strict'
import type { Client } from '../../src/model/clients/client.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { tokensOf } from './oauth.ts'
import { callerRequests, clientTokens } from './client-tokens.ts'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'
import { startServer, defaultBootstrap } from './server.ts'

/** A client that acts for itself; its secret is its name and `-secret`. */
const caller = (id: string, authorities: readonly string[], scope: readonly string[] = []) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
  scope,
})

/** One right each, by the name of the client that has it. */
export const CALLERS = {
  root: ['svc.admin'],
  'clients-admin': ['clients.admin'],
  'zone-admin': ['zones.svc.admin'],
  reader: ['clients.read'],
  writer: ['clients.write'],
  changer: ['clients.secret'],
  truster: ['clients.trust'],
  stranger: ['jobs.run'],
  'z1-admin': ['zones.z1.admin'],
  'z1-clients': ['zones.z1.clients.admin'],
  'z1-reader': ['zones.z1.clients.read'],
  'z1-writer': ['zones.z1.clients.write'],
  'z2-admin': ['zones.z2.admin'],
} as const

/** The name of a caller of the default zone. */
export type Caller = keyof typeof CALLERS

/** A Host header of the other zone. */
export const HOST_OF_Z1 = 'z1.localhost:8080'
/** The header with which administrators address it. */
export const TO_Z1 = { 'x-identity-zone-id': 'z1' }

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    ...Object.entries(CALLERS).map(([id, authorities]) =>
      caller(id, authorities, id === 'writer' ? ['shop.read'] : []),
    ),
    {
      ...caller('web', [], ['clients.write', 'clients.secret', 'clients.admin']),
      authorized_grant_types: ['password'],
    },
  ],
  groups: [...defaultBootstrap.groups, { displayName: 'clients.write' }, { displayName: 'clients.secret' }],
  users: defaultBootstrap.users.map(user => ({ ...user, groups: ['clients.write', 'clients.secret'] })),
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        clients: [
          caller('z1-writer', ['jobs.run'], ['taken.scope']), // the same id as an administrator of the default zone
          caller('pretender', ['zones.svc.admin', 'zones.z1.admin']),
          caller('native', ['clients.admin']),
          caller('changer', ['jobs.run']),
        ],
      },
    },
    { id: 'z2', subdomain: 'z2', name: 'Zone 2', bootstrap: {} },
  ],
}

type Members = Readonly<Record<string, unknown>>

/** A server with those callers. */
export interface ClientServer {
  readonly server: TestServer
  /** A token of a caller, in the zone of the host. */
  tokenOf(id: string, host?: string): Promise<string>
  /** A token of the usual user who came through the client `web`. */
  userToken(): Promise<string>
  /** A request with a JSON body, by default from an administrator. */
  send(method: string, path: string, body?: unknown, request?: TestRequest & { by?: Caller }): Promise<TestAnswer>
  /** The record from the API, without the time of its last change. */
  read(id: string, request?: TestRequest): Promise<Members | undefined>
  stop(): Promise<void>
}

/** Starts one. */
export async function startClientServer(
  mode: CompatibilityMode,
  options: { database?: string; config?: Members } = {},
): Promise<ClientServer> {
  const { database, config } = options
  const server = await startServer({
    mode,
    config: { bootstrap, ...config },
    ...(database !== undefined && { database }),
  })
  const tokenOf = clientTokens(server)

  const send = callerRequests<Caller>(server, tokenOf)

  return {
    server,
    tokenOf,
    async userToken() {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      return tokensOf(await server.token(form, { basic: ['web', 'web-secret'] })).access_token
    },
    send,
    async read(id, request) {
      const answer = await send('GET', `/oauth/clients/${encodeURIComponent(id)}`, undefined, request)
      if (answer.status === 404) return undefined
      assert.equal(answer.status, 200, answer.text)
      const { lastModified: _, ...record } = answer.json()
      return record
    },
    async stop() {
      assert.deepEqual(server.faults, [])
      await server.stop()
    },
  }
}

/** Checks a refusal of the client API. */
export function assertInvalid(answer: TestAnswer, description: string | RegExp, status = 400): void {
  const { error, error_description: text } = answer.json()
  assert.equal(`${answer.status} ${String(error)}`, `${status} invalid_client`, answer.text)
  if (typeof description === 'string') assert.equal(text, description)
  else assert.match(String(text), description)
}

/** Checks the response for a missing client: in `uaa` only a status (row M10). */
export function assertNotFound({ status, text }: TestAnswer, mode: CompatibilityMode): void {
  const body = JSON.stringify({ error: 'not_found', error_description: 'There is no such client.' })
  assert.deepEqual([status, text], [404, mode === 'uaa' ? '' : body])
}

/**
 * Simulates a concurrent change between the read and the write of the next request, which two
 * parallel requests would hit only by chance.
 */
export function changeConcurrently({ store }: TestServer, change: (client: Client) => Promise<unknown>): void {
  const { clients } = store
  const findForChange = clients.findForChange.bind(clients)
  Object.assign(clients, {
    async findForChange(zoneId: string, clientId: string) {
      Object.assign(clients, { findForChange })
      const found = await findForChange(zoneId, clientId)
      if (found) await change(found.client)
      return found
    },
  })
}
