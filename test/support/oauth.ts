// Shared by tests of the token endpoint and related ones: refusals in either mode, codes without a browser, and tokens
// verified by an independent library with the published keys of the server.
import assert from 'node:assert/strict'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet, JWTPayload, JWTVerifyOptions, ProtectedHeaderParameters } from 'jose'
import { addSeconds } from '../../src/base/clock.ts'
import { createRandom } from '../../src/base/random.ts'
import { digest } from '../../src/base/secrets.ts'
import type { Client } from '../../src/model/clients/client.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { AuthorizationCode } from '../../src/model/tokens/token.ts'
import type { User } from '../../src/model/users/user.ts'
import type { TestAnswer, TestServer } from './server.ts'

export { MODES } from './thinning.ts'

/** Credentials of the usual application, for Basic. */
export const APP = ['app', 'app-secret'] as const
/** Credentials of the client whose users need not approve. */
export const AUTO = ['auto', 'auto-secret'] as const
/** Credentials of the client that acts for itself. */
export const SERVICE = ['service', 'service-secret'] as const
/** Credentials of the resource server, which may introspect. */
export const RESOURCE = ['resource', 'resource-secret'] as const

/** An expected refusal: `status error` for each mode or for both, and its description. */
export interface Refusal {
  readonly want: string | Readonly<Record<CompatibilityMode, string>>
  readonly description?: string | RegExp | Readonly<Record<CompatibilityMode, string>>
  /** The whole `WWW-Authenticate` header; null when there must be none. */
  readonly challenge?: string | RegExp | null
}

/** The refusal for a bearer token with none of the scopes (row M12). */
export function insufficientScope(mode: CompatibilityMode, scopes: string): Refusal {
  const description = 'Insufficient scope for this resource'
  const error = `error="insufficient_scope", error_description="${description}", scope="${scopes}"`
  const challenge = mode === 'uaa' ? `Bearer ${error}` : `Bearer realm="SVC/oauth", ${error}`
  return { want: '403 insufficient_scope', description, challenge }
}

/** The description of a request without client credentials. */
export const NO_CREDENTIALS = {
  standard: 'The request has no client credentials',
  uaa: 'An Authentication object was not found in the SecurityContext',
} as const

/** How many tokens the server says it issued. */
export const issuedBy = (server: TestServer): number =>
  server.events.filter(({ type }) => type === 'TokenIssuedEvent').length

/** Sends a request that must be refused, and asserts that the response is JSON and nothing is issued or stored. */
export async function refused(
  server: TestServer,
  mode: CompatibilityMode,
  sending: () => Promise<TestAnswer>,
  { want, description, challenge }: Refusal,
): Promise<TestAnswer> {
  const before = issuedBy(server)
  const answer = await sending()
  const { error, error_description: text } = answer.json()
  assert.equal(`${answer.status} ${String(error)}`, typeof want === 'string' ? want : want[mode], answer.text)
  if (description instanceof RegExp) assert.match(String(text), description)
  else if (description) assert.equal(text, typeof description === 'string' ? description : description[mode])
  // In `standard`, for every API: see resource-metadata.test.ts.
  const header = answer.headers['www-authenticate']?.toString().replace(/, resource_metadata="[^"]*"/, '')
  if (challenge === null) assert.equal(header, undefined)
  else if (typeof challenge === 'string') assert.equal(header, challenge)
  else if (challenge) assert.match(String(header), challenge)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal(answer.headers['pragma'], 'no-cache')
  assert.match(String(answer.headers['content-type']), /^application\/json\b/)
  assert.equal(issuedBy(server), before, 'a refused request was given a token')
  return answer
}

/** The members of a token response that tests read. */
export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
  readonly jti: string
  readonly scope: string
  readonly expires_in: number
  readonly token_type: string
}

/** The answer of the token endpoint, which must be a success. */
export function tokensOf(answer: TestAnswer): Tokens {
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Tokens>()
}

/** Tokens by the password grant, by default for the usual application and user. */
export async function passwordTokens(
  server: TestServer,
  form: Readonly<Record<string, string>> = {},
  basic: readonly [string, string] = APP,
): Promise<Tokens> {
  const usual = { grant_type: 'password', username: 'marissa', password: 'koala' }
  return tokensOf(await server.token({ ...usual, ...form }, { basic }))
}

/** An answer of the token endpoint to a refresh. */
export const refresh = (
  server: TestServer,
  token: string,
  form: Readonly<Record<string, string>> = {},
  basic: readonly [string, string] | null = APP,
): Promise<TestAnswer> =>
  server.token({ grant_type: 'refresh_token', refresh_token: token, ...form }, basic ? { basic } : {})

/** A JWT verified by an independent library with the published keys, including issuer and expiry. */
export async function verified(
  server: TestServer,
  token: string,
  { host, ...options }: JWTVerifyOptions & { host?: string } = {},
): Promise<{ payload: JWTPayload; header: ProtectedHeaderParameters }> {
  const keys = await server.send('/token_keys', host === undefined ? {} : { host })
  const { payload, protectedHeader } = await jwtVerify(
    token,
    createLocalJWKSet(keys.json<JSONWebKeySet & Record<string, unknown>>()),
    {
      currentDate: server.clock.now(),
      ...options,
    },
  )
  return { payload, header: protectedHeader }
}

/** The account of a user name, from the database. */
export async function userNamed(server: TestServer, userName: string, zoneId = 'svc'): Promise<User> {
  const user = await server.store.users.findByName(zoneId, 'svc', userName)
  assert.ok(user, `there is no user ${userName}`)
  return user
}

/** Writes a change of the account to the database. */
export async function changeUser(server: TestServer, userName: string, change: Partial<User>): Promise<void> {
  await server.store.users.update('svc', { ...(await userNamed(server, userName)), ...change })
}

/** The client as it is in the database. */
export async function clientNamed(server: TestServer, clientId: string): Promise<Client> {
  const client = await server.store.clients.find('svc', clientId)
  assert.ok(client, `there is no client ${clientId}`)
  return client
}

/** Writes a change of the client to the database. */
export async function changeClient(server: TestServer, clientId: string, change: Partial<Client>): Promise<void> {
  await server.store.clients.update('svc', { ...(await clientNamed(server, clientId)), ...change })
}

const random = createRandom()

/** Stores a code like /oauth/authorize, by default for the usual user and the auto-approved client; returns its value. */
export async function insertCode(
  server: TestServer,
  { userName = 'marissa', ...change }: Partial<AuthorizationCode> & { userName?: string } = {},
): Promise<string> {
  const value = random.urlSafe(32)
  const zoneId = change.zoneId ?? 'svc'
  const now = server.clock.now()
  await server.store.codes.insert(zoneId, {
    zoneId,
    codeDigest: digest(value),
    clientId: 'auto',
    userId: (await userNamed(server, userName, zoneId)).id,
    scopes: ['openid', 'profile', 'cloud.read'],
    authenticatedAt: addSeconds(now, -30),
    amr: ['pwd'],
    sessionId: 'session-of-auto',
    grantId: random.hex(16),
    expiresAt: addSeconds(now, 60),
    keptUntil: addSeconds(now, 3660),
    ...change,
  })
  return value
}

/** An answer of the token endpoint to a code. */
export const exchange = (
  server: TestServer,
  code: string,
  form: Readonly<Record<string, string>> = {},
  basic: readonly [string, string] | null = AUTO,
): Promise<TestAnswer> => server.token({ grant_type: 'authorization_code', code, ...form }, basic ? { basic } : {})

/** Whether the server still accepts the access token. */
export async function isAlive(server: TestServer, accessToken: string, host?: string): Promise<boolean> {
  const request = { form: { token: accessToken }, basic: RESOURCE, ...(host !== undefined && { host }) }
  const answer = await server.send('/introspect', request)
  return answer.json()['active'] === true
}

/** Stores decisions of the usual user for the usual application. */
export async function approve(
  server: TestServer,
  scopes: readonly string[],
  status: 'APPROVED' | 'DENIED',
  seconds = 3600,
): Promise<void> {
  const now = server.clock.now()
  const { id: userId } = await userNamed(server, 'marissa')
  const shared = { zoneId: 'svc', userId, clientId: 'app', updatedAt: now, expiresAt: addSeconds(now, seconds) }
  await server.store.approvals.save(
    'svc',
    scopes.map(scope => ({ ...shared, scope, status })),
  )
}
