// The subject of a user for a client: the `sub` of ID tokens, userinfo and logout tokens (OpenID Connect Core §8).
import { isLoopbackHost } from '../../base/loopback.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Client } from '../clients/client.ts'
import type { Behaviour } from '../compatibility.ts'
import { supportsProtocol } from '../zones/protocols.ts'
import type { User } from '../users/user.ts'
import type { Zone } from '../zones/zone.ts'

/** Computes subjects. */
export interface Subjects {
  /** The id of the account, or for a pairwise client one that only its sector knows. Never changes. */
  of(zone: Zone, client: Client, user: Pick<User, 'id'>): string
  /** Whether the client must not learn the id of an account. */
  isPairwise(zone: Zone, client: Client): boolean
  /** Whether both clients have the same subject for every user. */
  areShared(zone: Zone, client: Client, other: Client): boolean
}

/** Whether the client must not learn the id of an account. */
export const isPairwiseIn = (
  zone: Pick<Zone, 'config'>,
  { subjectType }: Pick<Client, 'subjectType'>,
  behaviour: Pick<Behaviour, 'furtherProtocols'>,
): boolean => subjectType === 'pairwise' && supportsProtocol(zone, 'pairwiseSubjects', behaviour)

/** Without the master key a pairwise subject cannot be linked to its account. */
export function createSubjects({
  vault,
  behaviour,
}: {
  readonly vault: Pick<Vault, 'keyedDigest'>
  readonly behaviour: Behaviour
}): Subjects {
  const isPairwise = (zone: Zone, client: Client): boolean => isPairwiseIn(zone, client, behaviour)
  return {
    isPairwise,
    of: (zone, client, { id }) =>
      isPairwise(zone, client) ? vault.keyedDigest(JSON.stringify(['subject', zone.id, sectorOf(client), id])) : id,
    areShared: (zone, client, other) => {
      const sectors = [client, other].map(each => (isPairwise(zone, each) ? sectorOf(each) : undefined))
      return sectors[0] === sectors[1]
    },
  }
}

/** The host that a client's subjects are for (Core §8.1): of its sector, or of its redirect URIs, which then have one host. */
export function sectorOf({ clientId, sectorIdentifierUri, redirectUris }: SectorFields): string {
  const uri = sectorIdentifierUri ?? redirectUris[0]
  // A client without redirect URIs is a sector of its own; no host has a blank.
  return uri === undefined ? `client ${clientId}` : new URL(uri).host
}

type SectorFields = Pick<Client, 'clientId' | 'redirectUris'> & Partial<Pick<Client, 'sectorIdentifierUri'>>

/** The problem of the sector of a pairwise client; undefined if there is none. */
export function sectorProblem({
  subjectType,
  sectorIdentifierUri,
  redirectUris,
}: Pick<Client, 'redirectUris'> & Partial<Pick<Client, 'subjectType' | 'sectorIdentifierUri'>>): string | undefined {
  if (sectorIdentifierUri !== undefined && !/^https:\/\/[^/]/i.test(sectorIdentifierUri)) {
    return 'sector_identifier_uri must be an https URL'
  }
  if (sectorIdentifierUri !== undefined && !URL.canParse(sectorIdentifierUri)) {
    return 'sector_identifier_uri must be an https URL'
  }
  if (subjectType !== 'pairwise' || sectorIdentifierUri !== undefined) return undefined
  const hosts = new Set(redirectUris.map(ownHost))
  if (hosts.has('')) return 'a pairwise client whose redirect URIs are on the device needs a sector_identifier_uri'
  return hosts.size > 1
    ? 'a pairwise client with redirect URIs of several hosts needs a sector_identifier_uri'
    : undefined
}

/** Empty for a program on the device: others have the same loopback address, and may have the same text after their own scheme. */
function ownHost(uri: string): string {
  const { protocol, host, hostname } = URL.parse(uri) ?? { protocol: '', host: '', hostname: '' }
  return /^https?:$/.test(protocol) && !isLoopbackHost(hostname) ? host : ''
}
