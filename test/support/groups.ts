// Shared by tests of groups: callers with one right each, in two zones, users as members, and requests.
import assert from 'node:assert/strict'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { tokensOf } from './oauth.ts'
import { callerRequests, clientTokens } from './client-tokens.ts'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'
import { startServer, defaultBootstrap } from './server.ts'

const caller = (id: string, authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

const CALLERS = {
  root: ['svc.admin'],
  reader: ['scim.read'],
  writer: ['scim.write'],
  updater: ['groups.update'],
  'zone-admin': ['zones.svc.admin'],
  zoner: ['scim.zones'],
  'writer-and-reader': ['scim.write', 'clients.read'],
  stranger: ['jobs.run'],
  'z1-admin': ['zones.z1.admin'],
  'z1-reader': ['zones.z1.scim.read'],
  'z1-writer': ['zones.z1.scim.write'],
} as const
/** The name of a caller of the default zone. */
export type GroupCallerName = keyof typeof CALLERS

const user = (userName: string) => ({
  userName,
  password: 'koala-koala',
  emails: [{ value: `${userName}@groups.example` }],
  name: { givenName: 'A', familyName: 'B' },
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    ...Object.entries(CALLERS).map(([id, authorities]) => caller(id, authorities)),
    {
      client_id: 'web',
      client_secret: 'web-secret',
      authorized_grant_types: ['password', 'refresh_token'],
      scope: ['openid', 'svc.admin', 'scim.write', 'orders.*', 'zones.*.admin'],
    },
  ],
  users: [...defaultBootstrap.users, user('gu1'), user('gu2'), user('gu3')],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        clients: [
          caller('native', ['svc.admin']),
          caller('writer', ['scim.write', 'zones.z1.admin']), // which is nothing in a token of this zone
          caller('pretender', ['zones.z1.admin', 'zones.svc.admin', 'scim.zones']),
        ],
        users: [user('theirs')],
      },
    },
  ],
}

/** A Host header of the other zone. */
export const HOST_OF_Z1 = 'z1.localhost:8080'
/** The header with which administrators address it. */
export const TO_Z1 = { 'x-identity-zone-id': 'z1' }

type Members = Readonly<Record<string, unknown>>
/** A request by a caller; by default by `root`. */
export type GroupRequest = TestRequest & { readonly by?: GroupCallerName; readonly ifMatch?: string }

/** A server with those callers. */
export interface GroupServer {
  readonly server: TestServer
  tokenOf(id: string, host?: string): Promise<string>
  send(method: string, path: string, body?: unknown, request?: GroupRequest): Promise<TestAnswer>
  /** The id of a new group. */
  make(displayName: string, members?: readonly Members[], request?: GroupRequest): Promise<string>
  userId(userName: string, zoneId?: string): Promise<string>
  /** The id of an existing group of the zone. */
  groupId(displayName: string, zoneId?: string): Promise<string>
  /** The scopes of a token of the user. */
  scopesOf(userName: string): Promise<readonly string[]>
  stop(): Promise<void>
}

/** Starts one. */
export async function startGroupServer(
  mode: CompatibilityMode,
  options: { database?: string; config?: Members } = {},
): Promise<GroupServer> {
  const { database, config } = options
  const server = await startServer({
    mode,
    config: { bootstrap, ...config },
    ...(database !== undefined && { database }),
  })
  const tokenOf = clientTokens(server)

  const sendPlain = callerRequests<GroupCallerName>(server, tokenOf)
  const send = (
    method: string,
    path: string,
    body?: unknown,
    { ifMatch, ...request }: GroupRequest = {},
  ): Promise<TestAnswer> => {
    const headers = { ...(ifMatch !== undefined && { 'if-match': ifMatch }), ...request.headers }
    return sendPlain(method, path, body, { ...request, headers })
  }

  return {
    server,
    tokenOf,
    send,
    async make(displayName, members = [], request) {
      const answer = await send('POST', '/Groups', { displayName, members }, request)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.json()['id'])
    },
    async userId(userName, zoneId = 'svc') {
      const found = await server.store.users.findByName(zoneId, 'svc', userName)
      assert.ok(found, userName)
      return found.id
    },
    async groupId(displayName, zoneId = 'svc') {
      const found = await server.store.groups.findByName(zoneId, displayName)
      assert.ok(found, displayName)
      return found.id
    },
    async scopesOf(username) {
      const form = { grant_type: 'password', username, password: 'koala-koala' }
      const { scope } = tokensOf(await server.token(form, { basic: ['web', 'web-secret'] }))
      return scope.split(' ').toSorted()
    },
    async stop() {
      assert.deepEqual(server.faults, [])
      await server.stop()
    },
  }
}

/** Checks a refusal: `status code`, and the description, which stands in `message` too. */
export function assertRefused(answer: TestAnswer, want: string, description?: string): void {
  const body = answer.json()
  assert.equal(`${answer.status} ${String(body['error'])}`, want, answer.text)
  // In `standard`, some characters cannot be in a description (row R8).
  const text = String(body['message'])
  assert.ok([text, text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')].includes(String(body['error_description'])))
  if (description !== undefined) assert.equal(body['message'], description)
}
