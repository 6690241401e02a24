// The client that registered metadata describe, checked in every way that a client of the client API is.
import { clientFromJson } from '../../clients/client-json.ts'
import type { ClientDefinition } from '../../clients/client-json.ts'
import { problemInZone } from '../../clients/in-zone.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { clientFields } from '../../records/client.ts'
import { signingKeyProblem } from './signing-keys.ts'
import { invalidMetadata, REGISTERED_MEMBERS } from './metadata.ts'
import type { RequestedClient } from './metadata.ts'
import { checkSector } from './sector.ts'
import type { OAuthDeps } from '../deps.ts'

/** The requested client under its ID; refuses what the zone does not allow. */
export async function defineClient(
  zone: Zone,
  {
    requested,
    clientId,
    secret,
  }: { readonly requested: RequestedClient; readonly clientId: string; readonly secret: string | undefined },
  deps: OAuthDeps,
): Promise<ClientDefinition> {
  const { service, behaviour, outbound } = deps
  const json = { ...requested.json, client_id: clientId, ...(secret !== undefined && { client_secret: secret }) }
  const rules = { service, exactRedirectUri: true, furtherProtocols: behaviour.furtherProtocols }
  const { definition: read, problems } = clientFromJson(json, rules, { as: 'configured', withSecondSecret: false })
  const [problem] = problems
  if (problem) {
    throw invalidMetadata(problem.message, problem.key === 'redirect_uri' ? 'invalid_redirect_uri' : undefined)
  }
  const definition = { ...read, authorizedGrantTypes: requested.grantTypes }
  const problemHere = signingKeyProblem(zone, definition) ?? (await problemInZone(zone, definition, deps))
  if (problemHere !== undefined) throw invalidMetadata(problemHere)
  await checkSector(zone.id, definition, outbound.for('client_metadata'))
  return definition
}

/** The client with the members that a registration sets; what an administrator set in addition stays. */
export function withMembersOf(existing: Client, definition: ClientDefinition): Client {
  const isRegistered = (name: string): boolean => {
    const field = Reflect.get(clientFields, name) as { readonly wire?: string } | undefined // a row of it
    return REGISTERED_MEMBERS.has(field?.wire ?? '')
  }
  const kept = Object.entries(existing).filter(([name]) => !isRegistered(name))
  const given = Object.entries(definition).filter(([name]) => isRegistered(name))
  return Object.fromEntries([...kept, ...given]) as unknown as Client // every member of a client comes from one of both
}
