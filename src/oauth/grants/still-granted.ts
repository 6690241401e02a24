// For grants whose scopes a user approved earlier: those that can still be granted.
import { OAuthError } from '../../model/oauth-error.ts'
import {
  approvedScopes,
  hasRequiredGroups,
  lacksRequiredGroup,
  lostScopes,
  storedScopes,
} from '../../model/tokens/scopes.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import type { User } from '../../model/users/user.ts'
import type { DecidedRequest, DecisionDeps } from './grant.ts'
import { requireUsableProvider } from './resource-owner.ts'

/** The scopes that user, zone and client still have; refuses when none is left. */
export async function stillGranted(
  { scopes, user }: { readonly scopes: readonly string[]; readonly user: User },
  request: Pick<DecidedRequest, 'zone' | 'client' | 'because'>,
  deps: Pick<DecisionDeps, 'behaviour' | 'service' | 'store' | 'groupsOf'>,
): Promise<GrantedScopes> {
  const { zone, client } = request
  const { behaviour } = deps
  await requireUsableProvider(request, user, deps)
  const held = await deps.groupsOf(zone, user)
  if (!hasRequiredGroups(client, held.groups)) throw lacksRequiredGroup(behaviour.requiredGroupsLost)
  const lost = lostScopes(scopes, request, held)
  const left = approvedScopes(storedScopes(scopes), scope => !lost.includes(scope))
  if (left.length > 0) return left
  throw new OAuthError(behaviour.nothingGranted, 'No scopes were granted', { rule: 'no-scope-left' })
}
