// Compares a client's policy of second factors with that of its zone.
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { missingGroups } from '../model/users/group.ts'
import { secondFactorPolicy } from '../model/users/second-factor.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

/**
 * Why a new policy would apply to no user, or refuse all; undefined for a policy that the client already had, so that later
 * changes of the zone do not block other changes of the client.
 */
export async function clientPolicyProblem(
  zone: Zone,
  { clientId, secondFactor: policy }: Pick<Client, 'clientId' | 'secondFactor'>,
  { store, behaviour }: { readonly store: Pick<Store, 'clients' | 'groups'>; readonly behaviour: Behaviour },
): Promise<string | undefined> {
  if (policy === undefined) return undefined
  const before = (await store.clients.find(zone.id, clientId))?.secondFactor
  if (isDeepStrictEqual(policy, before)) return undefined
  const ofZone = secondFactorPolicy(zone, behaviour)
  if (ofZone.requirement === 'off') return 'secondFactor has no effect: second factors are disabled in the zone'
  const { groups = [], methods = ofZone.methods } = policy
  if (!methods.some(method => ofZone.methods.includes(method))) {
    return `secondFactor.methods must have one that the zone accepts: ${ofZone.methods.join(', ')}`
  }
  const found = groups.length === 0 ? [] : await store.groups.findByNames(zone.id, groups)
  const [unknown] = missingGroups(groups, found)
  return unknown === undefined ? undefined : `secondFactor.groups: there is no group named ${unknown}`
}
