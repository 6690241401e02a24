// The requests and flows of which the workloads are made.
import type { Accounts, Algorithm, TokenKind } from './accounts.ts'
import type { SignIn } from './browser.ts'
import { authorizedForm, expectFreshJwts, form, refuseWrongSecret, tokenOf } from './requests.ts'
import type { Endpoints, HttpRequest } from './requests.ts'
import type { FlowWork, RequestWork } from './workload.ts'

/** A flow in a browser. */
export function browserJob(
  flow:
    | 'authorization_code'
    | 'authorization_code_dpop'
    | 'authorization_code_pushed'
    | 'authorization_code_pushed_dpop'
    | 'sign_in',
  algorithm: Algorithm,
): FlowWork['job'] {
  return (endpoints, { application, user, scope }) => ({
    flow,
    endpoints,
    client: application[algorithm],
    user,
    scope: `openid ${scope}`,
    redirectUri: application[algorithm].redirectUri ?? '',
  })
}

/** A token request of a service, for a JWT. */
export function jwtRequest(algorithm: Algorithm): RequestWork {
  return {
    kind: 'request',
    prepare: async (endpoints, accounts) => tokenRequest(endpoints, accounts, algorithm),
    async prove(request, endpoints) {
      await expectFreshJwts(() => tokenOf(request), endpoints, algorithm)
      await refuseWrongSecret(request)
    },
  }
}

/** The same for an opaque token. */
export function opaqueRequest(): RequestWork {
  return {
    kind: 'request',
    prepare: async (endpoints, accounts) => tokenRequest(endpoints, accounts, 'opaque'),
    async prove(request) {
      const [first, second] = [await tokenOf(request), await tokenOf(request)]
      if (first.includes('.') || first === second) throw new Error('no fresh opaque token')
      await refuseWrongSecret(request)
    },
  }
}

/** A request for a token of a service. */
export function tokenRequest(endpoints: Endpoints, accounts: Accounts, kind: TokenKind): HttpRequest {
  const fields = { grant_type: 'client_credentials', scope: accounts.scope }
  // The peer decides by client and ignores token_format, but receives the same bytes.
  const format = kind === 'opaque' ? { token_format: 'opaque' } : undefined
  return form(endpoints.token, { ...fields, ...format }, accounts.service[kind])
}

/** The user who signs in for a client with refresh tokens. */
export function personOf(
  kind: 'kept' | 'rotated',
  endpoints: Endpoints,
  { refreshing, user, scope }: Accounts,
): SignIn {
  const client = refreshing[kind]
  return { endpoints, client, user, scope, redirectUri: client.redirectUri ?? '' }
}

/** Has a user of the portal grant a token to the console. */
export async function userTokenRequest(endpoints: Endpoints, accounts: Accounts): Promise<HttpRequest> {
  const { portal, console, user, scope } = accounts
  const signIn = { grant_type: 'password', username: user.name, password: user.password, scope: 'svc.user' }
  const bearer = await tokenOf(form(endpoints.token, signIn, portal))
  const fields = { grant_type: 'user_token', client_id: console.id, scope }
  return authorizedForm(endpoints.token, fields, `Bearer ${bearer}`)
}
