// Whether a sign-in is strong enough for a client: requirements of its request and policy beyond the zone's
// (model/sessions/step-up.ts).
import { levelOf, reaches } from '../model/sessions/assurance.ts'
import type { Client } from '../model/clients/client.ts'
import { secondFactorPolicy } from '../model/users/second-factor.ts'
import { requiredLevel } from '../model/sessions/step-up.ts'
import type { RequiredLevel } from '../model/sessions/step-up.ts'
import type { User } from '../model/users/user.ts'
import type { AddressedZone } from '../model/request.ts'
import type { OAuthDeps } from './deps.ts'

/** A sign-in for a client. */
export interface LevelQuestion {
  readonly client: Client
  readonly user: User
  /** The classes of the sign-in, with its level first. */
  readonly acr: readonly string[] | undefined
  /** As the request has them. */
  readonly acrValues?: string | undefined
}

/** The level that the sign-in does not reach; undefined if it is strong enough. A remembered browser does not raise the level. */
export async function lackingLevel(
  zone: AddressedZone,
  { client, user, acr, acrValues }: LevelQuestion,
  { groupsOf, behaviour }: Pick<OAuthDeps, 'groupsOf' | 'behaviour'>,
): Promise<RequiredLevel | undefined> {
  const policy = secondFactorPolicy(zone, behaviour)
  const { secondFactor } = client
  if (policy.requirement === 'off' || (secondFactor === undefined && acrValues === undefined)) return undefined
  const groupNames = secondFactor?.requirement === 'groups' ? (await groupsOf(zone, user)).groups : []
  const needed = requiredLevel(policy, { acrValues, client: secondFactor, user, groupNames })
  return needed && !reaches(levelOf(acr), needed.level) ? needed : undefined
}
