import { allowsProvider, hasCredential, mayUseGrant } from '../../model/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { parseScope, userScopes } from '../../model/scopes.ts'
import { signInOf } from '../presented-sign-in.ts'
import type { Grant } from './grant.ts'
import { PROVIDER_BARRED } from './grant.ts'
import { checkProvider, requireFactorOfToken } from './resource-owner.ts'

/** UAA: a user obtains a refresh token for another client, which only that client can redeem. */
export const userToken: Grant = {
  type: 'user_token',
  caller: 'user-token',
  async authorize({ zone, params, bearer }, deps) {
    const { behaviour, store, random } = deps
    const user = bearer?.user
    if (!user) throw new Error('this grant is called by a user')
    const receiver = await store.clients.find(zone.id, params.get('client_id') ?? '')
    if (!receiver || !mayUseGrant(receiver, 'refresh_token')) {
      throw new OAuthError(behaviour.grantNotAllowed, 'Unauthorized grant type')
    }
    if (!allowsProvider(receiver, user.origin)) throw new OAuthError(behaviour.userProviderBarred, PROVIDER_BARRED)
    await checkProvider(zone, user, deps)
    const authTime = bearer.claims['auth_time']
    const signIn = signInOf(bearer.claims, zone, behaviour)
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
      scopes: userScopes(receiver, parseScope(params.get('scope')), await deps.groupsOf(zone, user), behaviour),
      tokens: ['refresh_token'],
      format: 'opaque', // whatever `token_format` asks for: only this server reads it
      grantId: random.hex(16),
      // The client did not authenticate here; without this claim, one that has no credential could not refresh later.
      ...(!hasCredential(receiver) && { clientAuthMethod: 'none' }),
    }
  },
}
