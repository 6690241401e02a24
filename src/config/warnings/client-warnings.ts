// Warnings about clients of the configuration whose records cannot work, or not as intended. The records are written anyway,
// because a key may be added by the API; the client API refuses such records.
import { CLIENT_MEMBERS, clientFromJson } from '../../clients/client-json.ts'
import type { ClientDefinition } from '../../clients/client-json.ts'
import { demandsOn, profileOf } from '../../model/clients/client-demands.ts'
import { hasCredential } from '../../model/clients/client.ts'
import { ruledOut } from '../../clients/profile-report.ts'
import { takeHomePage } from '../../model/clients/client-metadata.ts'
import type { HomePageMembers } from '../../model/clients/client-metadata.ts'
import { behaviourOf } from '../../model/compatibility.ts'
import type { Behaviour, CompatibilityMode } from '../../model/compatibility.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'
import { nearest } from '../nearest.ts'
import { clientRules } from '../records/records.ts'
import type { Bootstrap, ClientRecord } from '../records/records.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'

const HOME_PAGE_MEMBERS: readonly (keyof HomePageMembers)[] = ['showOnHomePage', 'appLaunchUrl', 'appIcon']

interface ZoneOfClients {
  readonly config: ZoneConfig
  readonly clients: readonly ClientRecord[]
  readonly signingKeys?: SigningKeys | undefined
}

/** Members that need a key of the zone. */
const ALGORITHMS = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'introspection_signed_response_alg',
  'authorization_signed_response_alg',
] as const

/**
 * Attributes whose name looks mistyped, no credential, scopes and subjects without effect, what the profile of a client or its
 * zone rules out, and algorithms without a key.
 */
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
    zone.clients.flatMap(record => {
      const { definition, secrets } = clientFromJson(takeHomePage(record).rest, clientRules(rules))
      const messages = [
        ...nameWarnings(record),
        ...credentialWarnings(definition, secrets),
        ...scopeWarnings(record, definition, rules.service),
        ...profileWarnings(definition, zone),
        ...keyWarnings(record, zone),
        ...profileKeyWarnings(definition, zone),
        ...subjectWarnings(definition, zone, behaviourOf(rules.compatibility)),
      ]
      return messages.map(message => `client ${record.client_id}: ${message}`)
    }),
  )
}

/** A client may have attributes of any name, so a mistyped member becomes an attribute and would be ignored silently. */
function nameWarnings(record: ClientRecord): readonly string[] {
  const members = [...CLIENT_MEMBERS, ...HOME_PAGE_MEMBERS]
  return Object.keys(record).flatMap(name => {
    const meant = members.includes(name) ? undefined : nearest(name, members)
    if (meant === undefined) return []
    return `${name} is stored as an attribute without effect; did you mean ${meant}?`
  })
}

/** Every grant but the implicit one requires the client to authenticate. */
function credentialWarnings(definition: ClientDefinition, texts: readonly string[]): readonly string[] {
  const secrets = texts.map(() => ({})) // also an empty one: cf authenticates with it
  const mustAuthenticate = definition.authorizedGrantTypes.some(grant => grant !== 'implicit')
  if (!mustAuthenticate || definition.allowPublic === true || hasCredential({ ...definition, secrets })) return []
  return [
    'it has no client_secret, no keys and not allowpublic: true, so /oauth/token refuses it unless it gets a secret by the API',
  ]
}

const UAA_NAMES = new Set(['admin', 'none', 'offline_token', 'resource', 'user'].map(rest => `uaa.${rest}`))

/** Scopes are for users, authorities for the client itself; both are often confused, and copied from a UAA. */
function scopeWarnings(
  record: ClientRecord,
  { scope, authorities, authorizedGrantTypes: grants }: ClientDefinition,
  service: string,
): readonly string[] {
  const isForItself = grants.length > 0 && grants.every(grant => grant === 'client_credentials')
  const isConfused = isForItself && isNamed(record['scope']) && !isNamed(record['authorities'])
  const foreign = service === 'uaa' ? [] : [...scope, ...authorities].filter(name => UAA_NAMES.has(name))
  return [
    ...(isConfused ? ['scope has no effect with client_credentials alone; did you mean authorities?'] : []),
    ...[...new Set(foreign)].map(
      name =>
        `${name} has no effect, because the service name is ${service}; did you mean ${name.replace('uaa', service)}?`,
    ),
  ]
}

/** A list, or words in a string. */
const isNamed = (given: unknown): boolean =>
  Array.isArray(given) ? given.length > 0 : typeof given === 'string' && given !== ''

function profileWarnings(definition: ClientDefinition, { config }: ZoneOfClients): readonly string[] {
  const profile = profileOf({ config }, definition)
  return ruledOut({ config }, definition).map(({ key, message }) => `${profile} does not allow it: ${key}: ${message}`)
}

function subjectWarnings(
  { subjectType }: ClientDefinition,
  zone: ZoneOfClients,
  behaviour: Pick<Behaviour, 'furtherProtocols'>,
): readonly string[] {
  if (subjectType !== 'pairwise' || supportsProtocol(zone, 'pairwiseSubjects', behaviour)) return []
  return ['subject_type has no effect, because protocols.pairwiseSubjects is off: the client gets the ids of accounts']
}

const algorithmsIn = ({ signingKeys }: ZoneOfClients): readonly string[] =>
  signingKeys ? Object.values(signingKeys.keys).map(({ algorithm }) => algorithm) : ['RS256'] // made at first start

/** A profile allows few algorithms; a client gets no token where the zone has no key for one. */
function profileKeyWarnings(definition: ClientDefinition, zone: ZoneOfClients): readonly string[] {
  const { profile, algorithms } = demandsOn(zone, definition)
  const own = algorithmsIn(zone)
  if (!algorithms || algorithms.some(each => own.includes(each))) return []
  return [
    `${profile} needs a key for one of ${algorithms.join(', ')}, and the configuration has none: the client gets no tokens unless the zone gets one by the API`,
  ]
}

function keyWarnings(record: ClientRecord, zone: ZoneOfClients): readonly string[] {
  const algorithms = algorithmsIn(zone)
  return ALGORITHMS.flatMap(member => {
    const algorithm = record[member]
    if (typeof algorithm !== 'string' || algorithms.some(each => each === algorithm)) return []
    return `${member} is ${algorithm}, and the configuration has no such key: its tokens fail unless the zone gets one by the API`
  })
}
