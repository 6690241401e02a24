// `grant_type=password` with `source=login`: an external login server gets tokens for a user that it has signed in. Two
// parties call at once: the login server by its bearer token, and the client of the tokens by its credentials in the form.
import type { FastifyRequest } from 'fastify'
import type { AuthenticatedClient } from '../../clients/authentication/authentication.ts'
import type { AuthenticatingEndpoint } from '../../clients/authentication/method.ts'
import { vouchedUserOf } from '../../identity/vouched.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { bearerHeader, insufficientScope } from '../../web/callers/authorization-header.ts'
import { refuseVouching, requireLoginServer } from '../../web/callers/login-server.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import type { Params } from '../params.ts'
import { tokenFormatOf } from '../params.ts'
import type { GrantDeps, GrantRequest } from './grant.ts'
import { authorizeFor, MFA_REQUIRED } from './resource-owner.ts'
import type { OAuthDeps } from '../deps.ts'

/** Dependencies of these requests besides those of a grant. */
type VouchedDeps = GrantDeps & Pick<OAuthDeps, 'vouching' | 'bearerGate' | 'authenticator'>

/** Both callers. */
export interface VouchedCaller extends AuthenticatedClient {
  readonly server: Client
}

/**
 * Whether a login server sent the request; without its token it is an ordinary request with a password. UAA: every request
 * with a password and a token is of a login server, or refused. See docs/compatibility.md, E1.
 */
export const isVouched = (request: FastifyRequest, params: Params, { rejectMissingAddNew }: Behaviour): boolean =>
  params.get('grant_type') === 'password' &&
  (params.get('source') === 'login' || !rejectMissingAddNew) &&
  bearerHeader(request) !== undefined

/** Verifies the token of the login server, then the credentials of the client. */
export async function vouchedCaller(
  request: FastifyRequest,
  { params, endpoint }: { readonly params: Params; readonly endpoint: AuthenticatingEndpoint },
  deps: VouchedDeps,
): Promise<VouchedCaller> {
  const server = await requireLoginServer(request, deps)
  requireAddNew(params, deps)
  const { badClientOfLoginServer: bad } = deps.behaviour
  if (params.get('client_id') === undefined || !SECRETS.some(name => params.raw(name) !== undefined)) {
    throw refuseVouching(bad, 'Request does not contain client credentials.')
  }
  try {
    const credentials = { authorization: undefined, params, endpoint: { ...endpoint, allowsNone: false } }
    return { ...(await deps.authenticator.authenticate(contextOf(request), credentials)), server }
  } catch (cause) {
    if (!(cause instanceof OAuthError) || cause.error !== 'invalid_client') throw cause
    throw refuseVouching(bad, cause.message)
  }
}

const SECRETS = ['client_secret', 'client_assertion']

function requireAddNew(params: Params, { behaviour, service }: VouchedDeps): void {
  const isComplete = params.get('source') === 'login' && ['true', 'false'].includes(params.get('add_new') ?? '')
  if (isComplete) return
  if (behaviour.rejectMissingAddNew) {
    throw new OAuthError('invalid_request', 'The parameter add_new must be true or false')
  }
  // UAA: treats it as a request with a user's token. See docs/compatibility.md, E1.
  throw insufficientScope([service.scope('admin'), service.scope('user')])
}

/** Grants the same as with a password: all of the user's scopes that the client may have. */
export async function authorizeVouched(
  request: GrantRequest,
  server: Client,
  deps: VouchedDeps,
): Promise<Authorization> {
  const { client, params } = request
  const format = tokenFormatOf(params)
  const vouchedUser = vouchedUserOf(name => params.get(name))
  const addNew = params.get('add_new') === 'true'
  const result = await deps.vouching.signIn(request, { vouchedUser, addNew, server, client })
  if (result.outcome === 'signed-in') {
    return authorizeFor({ ...result, authenticatedAt: deps.clock.now(), format }, request, deps)
  }
  if (result.reason === 'second-factor-required') throw new OAuthError('mfa_required', MFA_REQUIRED)
  if (result.reason === 'provider-barred') {
    throw new OAuthError(deps.behaviour.userProviderBarred, result.description)
  }
  throw refuseVouching('unauthorized', result.description)
}
