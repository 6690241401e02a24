// Clients of the configuration that cannot work as their records are. They are written all the same, because a key may come by
// the API; the client API refuses such records.
import { clientFromJson } from '../clients/client-json.ts'
import type { ClientDefinition } from '../clients/client-json.ts'
import { ruledOut } from '../clients/profile-report.ts'
import { takeHomePage } from '../model/clients/client-metadata.ts'
import type { CompatibilityMode } from '../model/compatibility.ts'
import type { ZoneConfig } from '../model/zones/zone.ts'
import { clientRules } from './records.ts'
import type { Bootstrap, ClientRecord } from './records.ts'
import type { SigningKeys } from './signing-keys.ts'

interface ZoneOfClients {
  readonly config: ZoneConfig
  readonly clients: readonly ClientRecord[]
  readonly signingKeys?: SigningKeys | undefined
}

/** Members that need a key of the zone. */
const ALGORITHMS = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'authorization_signed_response_alg',
] as const

/** What the profile of a client rules out, and algorithms that the configuration has no key for. */
export function clientWarnings(
  { clients, identityZones }: Pick<Bootstrap, 'clients' | 'identityZones'>,
  rules: {
    readonly zoneConfig: ZoneConfig
    readonly signingKeys: SigningKeys | undefined
    readonly service: string
    readonly compatibility: CompatibilityMode
  },
): readonly string[] {
  const { zoneConfig, signingKeys } = rules
  const zones: readonly ZoneOfClients[] = [
    { config: zoneConfig, clients, signingKeys },
    // A zone without keys signs with those of the default zone.
    ...identityZones.map(({ config, bootstrap, signingKeys: own = signingKeys }) => ({
      config,
      clients: bootstrap.clients,
      signingKeys: own,
    })),
  ]
  return zones.flatMap(zone =>
    zone.clients
      .flatMap(client => [...profileWarnings(client, zone, rules), ...keyWarnings(client, zone)])
      .map(({ clientId, message }) => `client ${clientId}: ${message}`),
  )
}

interface ClientWarning {
  readonly clientId: string
  readonly message: string
}

function profileWarnings(
  record: ClientRecord,
  { config }: ZoneOfClients,
  rules: Parameters<typeof clientRules>[0],
): readonly ClientWarning[] {
  if ((record['profile'] ?? undefined) === undefined) return []
  const definition: ClientDefinition = clientFromJson(takeHomePage(record).rest, clientRules(rules)).definition
  return ruledOut({ config }, definition).map(({ key, message }) => ({
    clientId: record.client_id,
    message: `${definition.profile} rules it out as it is: ${key}: ${message}`,
  }))
}

function keyWarnings(record: ClientRecord, { signingKeys }: ZoneOfClients): readonly ClientWarning[] {
  const known = signingKeys ? Object.values(signingKeys.keys).map(({ algorithm }) => algorithm) : ['RS256'] // made at first start
  return ALGORITHMS.flatMap(member => {
    const algorithm = record[member]
    if (typeof algorithm !== 'string' || known.some(each => each === algorithm)) return []
    const message = `${member} is ${algorithm}, and the configuration has no such key: its tokens fail unless the zone got one by the API`
    return { clientId: record.client_id, message }
  })
}
