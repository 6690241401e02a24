import { isJsonRecord, parseJson } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { isLoopbackHost } from '../../base/loopback.ts'
import { addressKind } from '../../base/network-address.ts'
import { JWT_BEARER } from '../../model/clients/grant-types.ts'
import { LDAP_ORIGIN } from '../../model/zones/identity-provider.ts'
import { providerFromJson } from '../../providers/provider-json.ts'
import { providerTypes } from '../../providers/provider-types.ts'
import { readSamlMetadata } from '../../providers/saml-metadata.ts'
import { CUT_OFF } from '../environment.ts'
import { nearest } from '../nearest.ts'
import type { Bootstrap, ProviderRecord, ZoneBootstrap } from '../records/records.ts'

/**
 * Warnings about identity providers of the configuration with which sign-in is not possible yet, about settings without effect,
 * groups of no provider, and issuers of several providers.
 */
export async function providerWarnings(
  {
    identityProviders,
    externalGroups,
    clients,
    identityZones,
  }: Pick<Bootstrap, 'identityProviders' | 'externalGroups' | 'clients' | 'identityZones'>,
  { serviceName, allowPrivate, baseUrl }: { serviceName: string; allowPrivate: boolean; baseUrl: string },
): Promise<readonly string[]> {
  const records = [...identityProviders, ...identityZones.flatMap(({ bootstrap }) => bootstrap.identityProviders)]
  const warnings: string[] = []
  for (const record of records) {
    const { definition, problems } = providerFromJson({ ...record }, { serviceName })
    const directoryProblem = definition.type === 'ldap' ? await directoryProblemOf(definition.config) : undefined
    const texts = [
      ...(allowPrivate ? [] : privateAddresses(definition.config, isLoopbackHost(new URL(baseUrl).hostname))),
      ...problems.map(({ key, message }) => `${key}: ${message}`),
      ...(definition.type === 'saml' ? metadataProblems(definition.config) : []),
      ...(directoryProblem === undefined ? [] : [`config: ${directoryProblem}`]),
    ]
    warnings.push(
      ...unknownSettings(record, serviceName).map(text => `identity provider ${record.originKey}: ${text}`),
      ...texts.map(text => `identity provider ${record.originKey}: it cannot be used: ${text}`),
    )
  }
  return [
    ...warnings,
    ...groupWarnings({ identityProviders, externalGroups }, serviceName),
    ...identityZones.flatMap(zone => groupWarnings(zone.bootstrap, serviceName)),
    ...issuerWarnings({ identityProviders, clients }, serviceName),
    ...identityZones.flatMap(zone => issuerWarnings(zone.bootstrap, serviceName)),
  ]
}

/** As the API, the start ignores settings that the type does not have; in a file they are usually mistyped. */
function unknownSettings({ type, config }: ProviderRecord, serviceName: string): readonly string[] {
  const described = providerTypes(serviceName).find(each => each.type === type)
  const given = typeof config === 'string' ? parseJson(config) : config
  if (!described || !isJsonRecord(given)) return []
  const known = [...Object.keys(described.settings.members), 'additionalConfiguration']
  return Object.keys(given)
    .filter(name => !known.includes(name))
    .map(name => {
      if (given[name] === null) return `config ${CUT_OFF}`
      const meant = nearest(name, known)
      return `config.${name} has no effect${meant === undefined ? '' : `; did you mean ${meant}?`}`
    })
}

/** Several providers may share an issuer in browsers, but an assertion names no provider: it is refused (`invalid_grant`). */
function issuerWarnings(
  { identityProviders, clients }: Pick<ZoneBootstrap, 'identityProviders' | 'clients'>,
  serviceName: string,
): readonly string[] {
  const isUsed = clients.some(client => [client['authorized_grant_types']].flat().includes(JWT_BEARER))
  if (!isUsed) return []
  const originsOf = new Map<string, string[]>()
  for (const record of identityProviders) {
    const { type, active, config } = providerFromJson({ ...record }, { serviceName }).definition
    const issuer = config['issuer']
    if (type !== 'oidc1.0' || !active || typeof issuer !== 'string') continue
    originsOf.set(issuer, [...(originsOf.get(issuer) ?? []), record.originKey])
  }
  return [...originsOf]
    .filter(([, origins]) => origins.length > 1)
    .map(
      ([issuer, origins]) =>
        `identity providers ${origins.join(', ')}: clients cannot present assertions of ${issuer} (jwt-bearer), which is the issuer of several`,
    )
}

/** Accounts of the internal provider have no groups elsewhere. */
function groupWarnings(
  { identityProviders, externalGroups }: Pick<ZoneBootstrap, 'identityProviders' | 'externalGroups'>,
  serviceName: string,
): readonly string[] {
  const known = new Set(identityProviders.flatMap(({ originKey, type }) => (type === serviceName ? [] : [originKey])))
  const unknown = externalGroups.map(({ origin = LDAP_ORIGIN }) => origin).filter(origin => !known.has(origin))
  return [...new Set(unknown)].map(
    origin =>
      `external_groups: those of the origin ${origin} have no effect until the API creates the provider, which the configuration lacks`,
  )
}

/** Settings that this server connects to. */
const TARGETS = ['baseUrl', 'discoveryUrl', 'metaDataLocation', 'tokenKeyUrl', 'tokenUrl', 'userInfoUrl']

/** Names are not looked up: a check needs no network. */
function privateAddresses(config: JsonRecord, allowsLoopback: boolean): readonly string[] {
  return TARGETS.flatMap(name => {
    const value = config[name]
    const urls = typeof value === 'string' && !value.includes('<') ? value.trim().toLowerCase().split(/\s+/) : []
    const hosts = urls.flatMap(url => URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? [])
    return hosts
      .filter(host => {
        const kind = addressKind(host)
        return kind === 'private' || (!allowsLoopback && (kind === 'loopback' || host === 'localhost'))
      })
      .map(host => `config.${name}: ${host} is not a public address; outbound.allow_private: true allows it`)
  })
}

/** Metadata at a URL is read at the first sign-in. */
function metadataProblems({ metaDataLocation: location }: JsonRecord): readonly string[] {
  if (typeof location !== 'string' || /^\s*https?:\/\//i.test(location)) return []
  const metadata = readSamlMetadata(location)
  if (metadata.outcome === 'readable') return []
  const reason = location.includes('<') ? `: ${metadata.problem}` : ''
  return [`config.metaDataLocation: must be an http or https URL, or the metadata itself${reason}`]
}

/** The API accepts any directory, so a problem would otherwise show at the first sign-in. */
async function directoryProblemOf(config: JsonRecord): Promise<string | undefined> {
  const { directoryProblem } = await import('../../providers/directory-settings.ts') // only needed with a directory
  return directoryProblem(config)
}
