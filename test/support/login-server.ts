// Shared by tests of external login servers: a server with the client of a login server, clients of users, and providers,
// including one whose users it may not assert.
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { User } from '../../src/model/users/user.ts'
import { tokensOf } from './oauth.ts'
import type { ServerOptions, TestAnswer, TestRequest, TestServer } from './server.ts'
import { defaultBootstrap, startServer } from './server.ts'
import { caller } from './zones.ts'

/** The host of the other zone. */
export const OTHER_HOST = 'one.localhost:8080'

const client = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['password', 'authorization_code', 'implicit', 'refresh_token'],
  scope: ['openid', 'profile', 'cloud.read', 'password.write'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: ['openid'],
  ...more,
})

/** A login server with its clients and users. */
export interface LoginServerApi {
  readonly server: TestServer
  /** The token of the client that has `oauth.login` and nothing else. */
  readonly token: string
  tokenOf(id: string, host?: string): Promise<string>
  tokenOfUser(userName: string, password: string): Promise<string>
  /** `POST /oauth/token` with `source=login` for a user of the origin `ext-a`, for the client `shop`. */
  tokens(form?: Readonly<Record<string, string | undefined>>, request?: TestRequest): Promise<TestAnswer>
  /** `POST /oauth/authorize` with `source=login`, for the same user and client. */
  authorize(form?: Readonly<Record<string, string | undefined>>, request?: TestRequest): Promise<TestAnswer>
  userOf(origin: string, userName: string, zoneId?: string): Promise<User | undefined>
  stop(): Promise<void>
}

const JSON_ACCEPTED = { accept: 'application/json' }

const defined = (form: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(form).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

/** Starts it; the test stops it. */
export async function startLoginServer(
  mode: CompatibilityMode,
  { bootstrap = {}, config = {} }: { bootstrap?: object; config?: ServerOptions['config'] } = {},
): Promise<LoginServerApi> {
  const inZone = [caller('login', 'oauth.login')]
  const server = await startServer({
    mode,
    config: {
      ...config,
      bootstrap: {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          caller('login', 'oauth.login'),
          caller('admin', 'svc.admin', 'scim.read', 'scim.write'),
          client('shop'),
          client('closed', { allowedproviders: ['svc'] }),
          client('machine', {
            authorized_grant_types: ['client_credentials'],
            scope: ['svc.none'],
            authorities: ['jobs.run'],
          }),
          client('portal', { scope: ['openid', 'svc.user', 'oauth.login', 'cloud.read'] }),
          client('bare', { client_secret: '' }),
          client('open', {
            client_secret: undefined,
            allowpublic: true,
            authorized_grant_types: ['authorization_code'],
          }),
        ],
        users: [
          ...defaultBootstrap.users,
          { userName: 'lena', password: 'koala', emails: [{ value: 'lena@example.org' }], groups: ['oauth.login'] },
        ],
        identity_providers: [
          {
            originKey: 'corp',
            type: 'oidc1.0',
            name: 'Corp',
            config: {
              issuer: 'https://corp.example',
              authUrl: 'https://corp.example/authorize',
              tokenUrl: 'https://corp.example/token',
              tokenKeyUrl: 'https://corp.example/keys',
              relyingPartyId: 'latchkey',
              relyingPartySecret: 'secret',
            },
          },
        ],
        identity_zones: [
          { id: 'z1', subdomain: 'one', name: 'Zone 1', bootstrap: { clients: [...inZone, client('shop')] } },
        ],
        ...bootstrap,
      },
    },
  })

  async function tokenOf(id: string, host?: string): Promise<string> {
    const request = { basic: [id, `${id}-secret`] as const, ...(host !== undefined && { host }) }
    return tokensOf(await server.token({ grant_type: 'client_credentials' }, request)).access_token
  }
  const token = await tokenOf('login')
  const person = { source: 'login', username: 'erin', origin: 'ext-a', add_new: 'true' }

  return {
    server,
    token,
    tokenOf,
    async tokenOfUser(username, password) {
      const form = { grant_type: 'password', username, password }
      return tokensOf(await server.token(form, { basic: ['portal', 'portal-secret'] })).access_token
    },
    tokens: (form = {}, request = {}) =>
      server.token(
        defined({ grant_type: 'password', client_id: 'shop', client_secret: 'shop-secret', ...person, ...form }),
        { bearer: token, headers: JSON_ACCEPTED, ...request },
      ),
    authorize(form = {}, request = {}) {
      const id = form['client_id'] ?? 'shop'
      const asked = {
        response_type: 'code',
        client_id: id,
        redirect_uri: `https://${id}.example/cb`,
        scope: 'openid',
        state: 's1',
      }
      return server.send('/oauth/authorize', {
        form: defined({ ...asked, ...person, ...form }),
        bearer: token,
        headers: JSON_ACCEPTED,
        ...request,
      })
    },
    userOf: (origin, userName, zoneId = 'svc') => server.store.users.findByName(zoneId, origin, userName),
    stop: () => server.stop(),
  }
}
