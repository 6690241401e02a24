// Shared by tests of explanations: clients and users for each rule, and an authorized caller.
import assert from 'node:assert/strict'
import type { Explanation } from '../../src/oauth/explain/explanation.ts'
import { auditBootstrap, machineToken } from './audit.ts'
import type { TestAnswer, TestServer } from './server.ts'

/** The grants with long names. */
export const GRANTS = {
  device: 'urn:ietf:params:oauth:grant-type:device_code',
  exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
  jwtBearer: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
} as const

const client = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['authorization_code', 'password', 'refresh_token', 'user_token', GRANTS.jwtBearer],
  scope: ['openid', 'profile', 'cloud.*', 'team.all'],
  redirect_uri: ['https://app.example/cb'],
  autoapprove: true,
  ...more,
})

/** In addition to the default accounts and auditors. */
export const explainBootstrap = {
  ...auditBootstrap,
  groups: [...auditBootstrap.groups, { displayName: 'team.all' }, { displayName: 'club' }],
  clients: [
    ...auditBootstrap.clients,
    client('wild'),
    client('front', { scope: ['openid', 'cloud.read', 'cloud.write', 'svc.user'] }),
    client('cloud', {
      authorized_grant_types: [GRANTS.exchange, GRANTS.device, GRANTS.jwtBearer, 'refresh_token'],
      scope: ['openid', 'cloud.read', 'cloud.write'],
      tokenExchange: [{ audience: 'stock', subjects: ['front', 'wild'], scopes: ['cloud.read'], mode: 'delegation' }],
    }),
    client('minimal', { id_token_minimal: true }),
    client('foreign', { allowedproviders: ['ldap'] }),
    client('closed', { required_user_groups: ['club'] }),
    client('scopeless', { scope: ['svc.none'] }),
    client('asking', { autoapprove: ['openid'] }),
    client('meant', { resources: ['https://api.example/'] }),
    client('machine', {
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.none'],
      scope: ['svc.none'],
    }),
    client('strong', { secondFactor: { requirement: 'required' } }),
  ],
  users: [
    ...auditBootstrap.users,
    { userName: 'gone', password: 'wombat', emails: [{ value: 'gone@example.org' }] },
    { userName: 'outdated', password: 'wombat', emails: [{ value: 'outdated@example.org' }] },
    { userName: 'loose', password: 'wombat', emails: [{ value: 'loose@example.org' }], verified: false },
  ],
  identity_zones: [
    ...auditBootstrap.identity_zones,
    { id: 'z3', subdomain: 'z3', name: 'z3', bootstrap: { clients: [client('wild')], users: auditBootstrap.users } },
  ],
}

/** The configuration of a server that stores its audit trail. */
export const explainConfig = (more: object = {}) => ({
  bootstrap: explainBootstrap,
  audit: { enabled: true },
  zone_config: {
    protocols: {
      tokenExchange: true,
      deviceGrant: true,
      resourceIndicators: true,
      requestObjects: true,
      pushedRequests: true,
      dpop: true,
    },
  },
  ...more,
})

/** The request, by default from an administrator. */
export async function asking(
  server: TestServer,
  question: unknown,
  {
    id = 'root',
    host,
    headers = {},
    bearer,
  }: {
    id?: string
    host?: string
    headers?: Record<string, string>
    bearer?: string
  } = {},
): Promise<TestAnswer> {
  return server.send('/explain', {
    method: 'POST',
    bearer: bearer ?? (await machineToken(server, id)),
    body: typeof question === 'string' ? question : JSON.stringify(question),
    headers: { 'content-type': 'application/json', ...headers },
    ...(host !== undefined && { host }),
  })
}

/** The explanation. */
export async function explained(
  server: TestServer,
  question: object,
  options?: Parameters<typeof asking>[2],
): Promise<Explanation> {
  const answer = await asking(server, question, options)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['cache-control'], 'no-store')
  return answer.json<Explanation>()
}

/** The scopes with this outcome, in alphabetical order. */
export const scopesWith = ({ scopes }: Explanation, outcome = 'granted'): readonly string[] =>
  scopes.flatMap(each => (each.outcome === outcome ? [each.scope] : [])).toSorted()

/** The rules that an explanation names for a scope. */
export const rulesOf = ({ scopes }: Explanation, scope: string): readonly string[] =>
  scopes.find(each => each.scope === scope)?.because.map(({ rule }) => rule) ?? []

/** Names of the claims that a token of this kind has. */
export const claimsOf = ({ claims }: Explanation, token: string): readonly string[] =>
  claims.flatMap(each => (each.token === token && each.outcome === 'present' ? [each.claim] : [])).toSorted()
