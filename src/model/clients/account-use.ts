// What a client may do with the account of a person whose token it has, beyond the scopes that the person approved.
import type { Behaviour } from '../compatibility.ts'
import { isPairwiseIn } from '../tokens/subject.ts'
import type { Zone } from '../zones/zone.ts'
import type { Client } from './client.ts'

/**
 * Whether the token alone lets the client act as the account's owner where no scope is asked for. Not a client that nobody
 * vouches for, whose approval page names scopes and nothing else, and not one that must not learn whose account it is.
 */
export const actsAsOwner = (
  zone: Pick<Zone, 'config'>,
  client: Pick<Client, 'registration' | 'subjectType'>,
  behaviour: Pick<Behaviour, 'furtherProtocols'>,
): boolean => client.registration === undefined && !isPairwiseIn(zone, client, behaviour)
