// What a client may do with a user's account by the user's token, beyond the approved scopes.
import type { Behaviour } from '../compatibility.ts'
import { isPairwiseIn } from '../tokens/subject.ts'
import type { Zone } from '../zones/zone.ts'
import type { Client } from './client.ts'

/**
 * Whether the token alone lets the client act as the account's owner where no scope is requested. Not a client that no
 * administrator created, because its approval page names scopes only, nor one that must not learn the user's identity.
 */
export const actsAsOwner = (
  zone: Pick<Zone, 'config'>,
  client: Pick<Client, 'registration' | 'subjectType'>,
  behaviour: Pick<Behaviour, 'furtherProtocols'>,
): boolean => client.registration === undefined && !isPairwiseIn(zone, client, behaviour)
