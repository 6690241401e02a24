import { demandsOn } from '../../model/clients/client-demands.ts'
import { hasCredential, mayUseGrant } from '../../model/clients/client.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import { concerningUser, OAuthError } from '../../model/oauth-error.ts'
import type { User } from '../../model/users/user.ts'
import type { Claims } from '../../token/claims.ts'
import { signInOf } from '../presented-sign-in.ts'
import type { DecidedRequest, DecisionDeps, Grant } from './grant.ts'
import { requireFactorOfToken, requireUsableProvider, scopesOfUser } from './resource-owner.ts'

/** UAA: a user obtains a refresh token for another client, which only that client can redeem. */
export const userToken: Grant = {
  type: 'user_token',
  caller: 'user-token',
  async authorize(request, deps) {
    const { bearer } = request
    if (!bearer?.user) throw new Error('this grant is called by a user')
    const { user, claims } = bearer
    return concerningUser(user, () => authorizeByUser({ user, claims }, request, deps))
  },
}

/** The authorization that the user of this token gives the client in the request. */
export async function authorizeByUser(
  { user, claims }: { readonly user: User; readonly claims: Claims },
  { zone, params, because }: Pick<DecidedRequest, 'zone' | 'params' | 'because'>,
  deps: DecisionDeps,
): Promise<Authorization> {
  const { behaviour, store, random } = deps
  const receiver = await store.clients.find(zone.id, params.get('client_id') ?? '')
  // Users must sign in to self-registered clients themselves, and approve them.
  if (!receiver || !mayUseGrant(receiver, 'refresh_token') || receiver.registration) {
    throw new OAuthError(behaviour.grantNotAllowed, 'Unauthorized grant type', { rule: 'client-grant-type' })
  }
  const { grantTypes } = demandsOn(zone, receiver)
  if (grantTypes && !grantTypes.includes('user_token')) {
    throw new OAuthError(behaviour.grantNotAllowed, 'Unauthorized grant type', { rule: 'client-profile' })
  }
  await requireUsableProvider({ zone, client: receiver }, user, deps)
  const authTime = claims['auth_time']
  const signIn = signInOf(claims, zone, behaviour)
  await requireFactorOfToken(zone, { user, acr: signIn.acr }, deps)
  return {
    zone,
    client: receiver,
    grantType: 'user_token',
    subject: {
      kind: 'user',
      user,
      ...signIn,
      ...(typeof authTime === 'number' && { authenticatedAt: new Date(authTime * 1000) }),
    },
    scopes: await scopesOfUser(user, { zone, client: receiver, params, because }, deps),
    tokens: ['refresh_token'],
    format: 'opaque', // regardless of `token_format`: only this server reads it
    grantId: random.hex(16),
    // The client did not authenticate here; without this claim, one that has no credential could not refresh later.
    ...(!hasCredential(receiver) && { clientAuthMethod: 'none' }),
  }
}
