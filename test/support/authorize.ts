// Shared by tests of the authorization endpoint: clients for each rule, and their requests.
import type { Browser, TestAnswer, TestRequest, TestServer } from './server.ts'
import { defaultBootstrap } from './server.ts'

/** A plain request of the client `app`, which requires approval. */
export const APP_REQUEST = {
  response_type: 'code',
  client_id: 'app',
  redirect_uri: 'https://app.example/cb',
  state: 's1',
} as const

/** A plain request of the client `auto`, which requires no approval. */
export const AUTO_REQUEST = { ...APP_REQUEST, client_id: 'auto', redirect_uri: 'https://auto.example/cb' } as const

const codeClient = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['authorization_code', 'refresh_token'],
  scope: ['openid', 'cloud.read'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: true,
  ...more,
})

/** A request of one of the clients below. */
export const requestOf = (id: string) => ({
  ...APP_REQUEST,
  client_id: id,
  redirect_uri: `https://${id}.example/cb`,
})

/** The default accounts, and clients and zones named after the one setting in which they differ. */
export const authorizeBootstrap = {
  ...defaultBootstrap,
  groups: [
    ...defaultBootstrap.groups,
    { displayName: 'cloud.staff', description: 'Staff' },
    { displayName: 'password.read' },
  ],
  clients: [
    ...defaultBootstrap.clients,
    codeClient('partly', { autoapprove: ['openid'] }),
    codeClient('wild', { autoapprove: ['openid', 'cloud.*'], scope: ['openid', 'cloud.*'] }),
    codeClient('asks', {
      autoapprove: [],
      scope: ['cloud.write', 'cloud.read', 'openid', 'password.write', 'profile'],
    }),
    codeClient('staff', { required_user_groups: ['cloud.staff'] }),
    codeClient('ldaponly', { allowedproviders: ['ldap'] }),
    codeClient('nobody', { allowedproviders: [] }),
    codeClient('writer', { scope: ['cloud.write'] }),
    codeClient('many', { redirect_uri: ['https://many.example/cb', 'https://many.example/other'] }),
    codeClient('password', { authorized_grant_types: ['password'] }),
    codeClient('implicit', { authorized_grant_types: ['implicit'], client_secret: undefined }),
    codeClient('hybrid', {
      authorized_grant_types: ['authorization_code', 'refresh_token', 'implicit'],
      scope: ['openid', 'profile', 'email', 'cloud.read'],
    }),
    codeClient('portal', {
      authorized_grant_types: ['password', 'refresh_token'],
      scope: ['openid', 'svc.user', 'cloud.read'],
    }),
    codeClient('bound', {
      authorized_grant_types: ['authorization_code', 'implicit'],
      scope: ['openid'],
      require_nonce: true,
    }),
    codeClient('native', { client_secret: undefined, allowpublic: true }),
  ],
  users: [
    ...defaultBootstrap.users,
    {
      userName: 'sam',
      password: 'dingo',
      emails: [{ value: 's@example.org' }],
      groups: ['cloud.read', 'cloud.write', 'cloud.staff'],
    },
  ],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone one',
      bootstrap: {
        clients: [codeClient('auto', { client_secret: 'z1-secret', scope: ['openid'] })],
        users: [{ userName: 'marissa', password: 'z1-koala', emails: [{ value: 'm@z1.example' }] }],
      },
    },
    { id: 'z2', subdomain: 'z2', name: 'Zone two', active: false },
  ],
}

/** Host of the zone `z1`. */
export const Z1_HOST = 'z1.localhost:8080'

/** `GET /oauth/authorize`. */
export const authorize = (
  browser: Pick<Browser, 'send'>,
  query: Readonly<Record<string, string | undefined>>,
  request: TestRequest = {},
): Promise<TestAnswer> => browser.send('/oauth/authorize', { query: defined(query), ...request })

/** The parameters that have a value. */
export const defined = (query: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

/** A browser with a signed-in user. */
export async function signedIn(
  server: TestServer,
  userName = 'marissa',
  password = 'koala',
  host?: string,
): Promise<Browser> {
  const browser = server.browser(host)
  const answer = await browser.signIn(userName, password)
  if (answer.location().search !== '') throw new Error(`not signed in: ${answer.location().href}`)
  return browser
}

/** The query and fragment of a Location, each as names and values. */
export function responseOf(answer: TestAnswer): { query: Record<string, string>; fragment: Record<string, string> } {
  const { searchParams, hash } = answer.location()
  return {
    query: Object.fromEntries(searchParams),
    fragment: Object.fromEntries(new URLSearchParams(hash.slice(1))),
  }
}
