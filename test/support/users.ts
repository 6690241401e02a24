// Shared by tests of users and groups: a server with a client for each right, zones, and users with tokens.
import assert from 'node:assert/strict'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { tokensOf } from './oauth.ts'
import type { ServerOptions, TestAnswer, TestRequest, TestServer } from './server.ts'
import { defaultBootstrap, startServer } from './server.ts'
import { caller } from './zones.ts'

/** Clients by the authorities that each one has; the secret is the id and `-secret`. */
export const USER_CALLERS = {
  admin: ['svc.admin', 'scim.read', 'scim.write', 'password.write'],
  root: ['svc.admin'],
  reader: ['scim.read'],
  writer: ['scim.write'],
  maker: ['scim.create'],
  unlocker: ['svc.account_status.write'],
  setter: ['password.write'],
  finder: ['scim.userids'],
  'admin-here': ['zones.svc.admin'],
  'admin-of-z1': ['zones.z1.admin'],
  'reader-of-z1': ['zones.z1.scim.read'],
  'admin-of-z2': ['zones.z2.admin'],
  nobody: ['cloud.read'],
} as const

/** The header that moves a request to the zone `z1`. */
export const IN_Z1 = { headers: { 'x-identity-zone-id': 'z1' } } as const

/** The id of one of the clients above. */
export type UserCallerId = keyof typeof USER_CALLERS

/** A user as answers show it. */
export interface UserAnswer {
  readonly id: string
  readonly externalId?: string
  readonly meta: { readonly version: number; readonly created: string; readonly lastModified: string }
  readonly userName: string
  readonly name: { readonly givenName?: string; readonly familyName?: string }
  readonly emails: readonly { readonly value: string; readonly primary: boolean }[]
  readonly groups?: readonly { readonly value: string; readonly display: string; readonly type: string }[]
  readonly approvals?: readonly Readonly<Record<string, unknown>>[]
  readonly phoneNumbers?: readonly { readonly value: string }[]
  readonly active: boolean
  readonly verified: boolean
  readonly origin: string
  readonly zoneId: string
  readonly salt?: string
  readonly passwordLastModified: string
  readonly lastLogonTime?: number
  readonly previousLogonTime?: number
  readonly schemas: readonly string[]
}

/** A server with these callers in the default zone and two more zones, and requests to it. */
export interface UserApi {
  readonly server: TestServer
  /** A request with the token of a client, `admin` unless another is named, or of a user. */
  send(method: string, path: string, body?: unknown, request?: UserRequest): Promise<TestAnswer>
  /** Creates a user; missing members of the body are derived from the name. */
  create(userName: string, more?: object, request?: UserRequest): Promise<UserAnswer>
  read(id: string, request?: UserRequest): Promise<UserAnswer>
  /** A token by the password grant, through a client whose users may have everything of these tests. */
  tokenOfUser(userName: string, password?: string): Promise<string>
  stop(): Promise<void>
}

/** A request of these tests. */
export interface UserRequest extends TestRequest {
  readonly by?: UserCallerId | null
}

/** The body of a new user. */
export const newUserBody = (userName: string, more: object = {}): object => ({
  userName,
  emails: [{ value: `${userName}@test.org` }],
  name: { givenName: 'A', familyName: 'B' },
  password: 'pw-1-long-enough',
  ...more,
})

/** Starts it; the test stops it. */
export async function startUserServer(mode: CompatibilityMode, options: ServerOptions = {}): Promise<UserApi> {
  const { bootstrap: moreBootstrap = {}, ...config } = options.config ?? {}
  const server = await startServer({
    mode,
    ...options,
    config: {
      ...config,
      bootstrap: {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          ...Object.entries(USER_CALLERS).map(([id, rights]) => caller(id, ...rights)),
          {
            client_id: 'portal',
            client_secret: 'portal-secret',
            authorized_grant_types: ['password', 'refresh_token'],
            scope: ['openid', 'svc.user', 'password.write', 'scim.*', 'svc.admin', 'zones.*.admin'],
          },
        ],
        identity_zones: [
          { id: 'z1', subdomain: 'one', name: 'Zone 1' },
          { id: 'z2', subdomain: 'two', name: 'Zone 2' },
        ],
        ...(moreBootstrap as object),
      },
    },
  })
  const tokens = new Map<string, string>()
  async function tokenOfClient(id: string): Promise<string> {
    const known = tokens.get(id)
    if (known !== undefined) return known
    const answer = await server.token({ grant_type: 'client_credentials' }, { basic: [id, `${id}-secret`] })
    const { access_token } = tokensOf(answer)
    tokens.set(id, access_token)
    return access_token
  }

  async function send(method: string, path: string, body?: unknown, request: UserRequest = {}): Promise<TestAnswer> {
    const { by = 'admin', ...rest } = request
    const bearer = rest.bearer ?? (by === null ? undefined : await tokenOfClient(by))
    return server.send(path, {
      method,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...rest,
      ...(bearer !== undefined && { bearer }),
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...rest.headers },
    })
  }

  return {
    server,
    send,
    async create(userName, more, request) {
      const answer = await send('POST', '/Users', newUserBody(userName, more), request)
      assert.equal(answer.status, 201, answer.text)
      return answer.json<UserAnswer & Record<string, unknown>>()
    },
    async read(id, request) {
      const answer = await send('GET', `/Users/${id}`, undefined, request)
      assert.equal(answer.status, 200, answer.text)
      return answer.json<UserAnswer & Record<string, unknown>>()
    },
    async tokenOfUser(username, password = 'pw-1-long-enough') {
      const form = { grant_type: 'password', username, password }
      return tokensOf(await server.token(form, { basic: ['portal', 'portal-secret'] })).access_token
    },
    stop: () => server.stop(),
  }
}

/** Asserts a refusal of these APIs: the text stands in two members, in `standard` with plain characters only in one. */
export function assertRefused(
  answer: TestAnswer,
  want: { readonly status: number; readonly error: string; readonly message: string | RegExp },
): void {
  const { error, message, error_description: description } = answer.json<Record<string, string>>()
  assert.equal(`${answer.status} ${error}`, `${want.status} ${want.error}`, answer.text)
  if (typeof want.message === 'string') assert.equal(message, want.message)
  else assert.match(message ?? '', want.message)
  const plain = (text = ''): string => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
  assert.ok(description === message || description === plain(message), answer.text)
}

/** The statuses of answers, in ascending order. */
export const statusesOf = (answers: readonly TestAnswer[]): readonly number[] =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b)
