// Shared by tests of revocation and the token lists: all kinds of callers, and tokens of all possible targets.
import assert from 'node:assert/strict'
import { refresh, tokensOf, userNamed } from './oauth.ts'
import type { Tokens } from './oauth.ts'
import type { TestServer, ServerOptions } from './server.ts'
import { startServer, defaultBootstrap } from './server.ts'

type Credentials = readonly [clientId: string, secret: string]

/** The client whose tokens are revoked; it acts for users and for itself. */
export const TARGET: Credentials = ['target', 'secret']
/** Another client with the same rights. */
export const OTHER: Credentials = ['other', 'secret']
/** A client that may revoke and list all tokens of the zone. */
export const ADMIN: Credentials = ['admin', 'secret']
/** The client of the users with administrative scopes. */
export const CONSOLE: Credentials = ['console', 'secret']
/** Host of the second zone, which has the same clients and user names. */
export const ELSEWHERE = 'z1.localhost:8080'

const forUsers = (client_id: string) => ({
  client_id,
  client_secret: 'secret',
  authorized_grant_types: ['authorization_code', 'password', 'refresh_token', 'client_credentials'],
  scope: ['openid', 'cloud.read'],
  authorities: ['jobs.run'],
  redirect_uri: [`https://${client_id}.example/cb`],
  autoapprove: true,
})

const forItself = (client_id: string, ...authorities: readonly string[]) => ({
  client_id,
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials'],
  authorities,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    forUsers('target'),
    forUsers('other'),
    forItself('admin', 'svc.admin'),
    forItself('revoker', 'tokens.revoke'),
    forItself('lister', 'tokens.list'),
    forItself('reader', 'zones.z1.read'),
    { ...forItself('brief', 'svc.admin'), access_token_validity: 60 },
    {
      client_id: 'console',
      client_secret: 'secret',
      authorized_grant_types: ['password'],
      scope: ['tokens.revoke', 'tokens.list', 'svc.admin', 'openid'],
    },
  ],
  users: [
    ...defaultBootstrap.users,
    { userName: 'warden', password: 'secret', emails: [{ value: 'w@example.org' }], groups: ['tokens.revoke'] },
    { userName: 'auditor', password: 'secret', emails: [{ value: 'a@example.org' }], groups: ['tokens.list'] },
    { userName: 'root', password: 'secret', emails: [{ value: 'r@example.org' }], groups: ['svc.admin'] },
  ],
}

/** A server with all of them, and a second zone with the same names and a further user and client. */
export function startRevocationServer({ config, ...options }: ServerOptions = {}): Promise<TestServer> {
  const elsewhere = {
    ...bootstrap,
    clients: [...bootstrap.clients, forUsers('only-there')],
    users: [...bootstrap.users, { userName: 'stranger', password: 'x', emails: [{ value: 's@example.org' }] }],
  }
  const zones = [{ id: 'z1', subdomain: 'z1', name: 'z1', config: {}, bootstrap: elsewhere }]
  return startServer({ ...options, config: { bootstrap: { ...bootstrap, identity_zones: zones }, ...config } })
}

/** Tokens of a user through a client. */
export async function userTokens(
  server: TestServer,
  userName: string,
  { basic = TARGET, host, ...form }: { basic?: Credentials; host?: string } & Readonly<Record<string, unknown>> = {},
): Promise<Tokens> {
  const passwords: Readonly<Record<string, string>> = { marissa: 'koala', joel: 'wombat' }
  const request = { grant_type: 'password', username: userName, password: passwords[userName] ?? 'secret', ...form }
  return tokensOf(await server.token(request, { basic, ...(host !== undefined && { host }) }))
}

/** A client's own token. */
export async function clientToken(
  server: TestServer,
  basic: Credentials,
  form: Readonly<Record<string, string>> = {},
  host?: string,
): Promise<string> {
  const request = { grant_type: 'client_credentials', ...form }
  return tokensOf(await server.token(request, { basic, ...(host !== undefined && { host }) })).access_token
}

/** Makes a client of the zone whose id is the id of the user. */
export async function nameClientAfterUser(server: TestServer, userName: string): Promise<Credentials> {
  const { id } = await userNamed(server, userName)
  const client = await server.store.clients.find('svc', 'other')
  assert.ok(client)
  await server.store.clients.insert('svc', { ...client, clientId: id })
  return [id, 'secret']
}

/** Who a token belongs to, how it was issued, and whether it is valid. */
export interface Victim {
  readonly userName?: 'marissa' | 'joel'
  readonly client: 'target' | 'other'
  readonly kind: 'opaque' | 'jwt' | 'refresh'
  readonly zone: 'svc' | 'z1'
  readonly value: string
  isAlive(): Promise<boolean>
}

/** The name of a token in the list of invalid ones. */
export const nameOf = ({ zone, userName, client, kind }: Victim): string =>
  `${zone} ${userName ?? 'itself'} ${client} ${kind}`

/** A token of each kind for each of both users and the client itself, through both clients, and some of another zone. */
export async function issueVictims(server: TestServer): Promise<readonly Victim[]> {
  const victims: Victim[] = []
  const access = (who: Omit<Victim, 'value' | 'isAlive'>, value: string, host?: string): void => {
    const request = { form: { token: value }, basic: ['resource', 'resource-secret'], ...(host && { host }) } as const
    const isAlive = async (): Promise<boolean> => (await server.send('/introspect', request)).json()['active'] === true
    victims.push({ ...who, value, isAlive })
  }
  for (const client of ['target', 'other'] as const) {
    for (const userName of ['marissa', 'joel'] as const) {
      const who = { userName, client, zone: 'svc' } as const
      const basic = [client, 'secret'] as const
      const { access_token, refresh_token } = await userTokens(server, userName, { basic })
      const { access_token: opaque } = await userTokens(server, userName, { basic, token_format: 'opaque' })
      access({ ...who, kind: 'jwt' }, access_token)
      access({ ...who, kind: 'opaque' }, opaque)
      const isAlive = async (): Promise<boolean> => (await refresh(server, refresh_token, {}, basic)).status === 200
      victims.push({ ...who, kind: 'refresh', value: refresh_token, isAlive })
    }
    access({ client, zone: 'svc', kind: 'jwt' }, await clientToken(server, [client, 'secret']))
    const opaque = await clientToken(server, [client, 'secret'], { token_format: 'opaque' })
    access({ client, zone: 'svc', kind: 'opaque' }, opaque)
  }
  const there = await userTokens(server, 'marissa', { token_format: 'opaque', host: ELSEWHERE })
  access({ userName: 'marissa', client: 'target', zone: 'z1', kind: 'opaque' }, there.access_token, ELSEWHERE)
  return victims
}

/** The names of the invalid ones. */
export async function revokedNames(victims: readonly Victim[]): Promise<readonly string[]> {
  const dead: string[] = []
  for (const victim of victims) if (!(await victim.isAlive())) dead.push(nameOf(victim))
  return dead
}

/** The victim with this name. */
export function victimNamed(victims: readonly Victim[], name: string): Victim {
  const victim = victims.find(each => nameOf(each) === name)
  assert.ok(victim, name)
  return victim
}
