// The public identifiers of zones in the configuration file: their issuers, and their entity ids in SAML.
import { isSameIssuer } from '../../model/zones/zone-names.ts'
import { InvalidZoneConfig, refuseForeignEntityId } from '../../model/zones/zone-rules.ts'
import type { Urls } from '../../model/urls.ts'
import type { SamlConfig } from '../../model/zones/zone.ts'
import type { Problems } from '../problems.ts'
import type { BootstrapFile } from './records.ts'

/**
 * Refuses those of the default zone and of other zones for another one, as the API does. A zone without keys signs with those of the default zone:
 * nothing else tells the tokens and messages of the two apart.
 */
export function checkZoneIdentities(
  { identity_zones: zones }: BootstrapFile,
  {
    urls,
    issuer: ofDefault,
    samlEntityId,
    problems,
  }: {
    readonly urls: Urls
    /** The issuer of the default zone, if it is not the base URL. */
    readonly issuer: string | undefined
    readonly samlEntityId: string
    readonly problems: Problems
  },
): void {
  if (!Array.isArray(zones)) return
  const ofDefaultZone = [urls.base, ofDefault].flatMap(issuer => URL.parse(issuer ?? '') ?? [])
  const ofOthers: URL[] = []
  for (const [index, zone] of zones.entries()) {
    const key = `bootstrap.identity_zones[${index}]`
    if (!problems.hasValidTypes(key)) continue
    const { subdomain, config } = zone
    const issuer = URL.parse(config?.issuer ?? '')
    const isOwn = urls
      .addressesOf({ subdomain: subdomain.toLowerCase(), address: 'host' })
      .includes(config?.issuer ?? '')
    if (issuer && !isOwn) {
      const problem = issuerProblem(issuer, { ofDefaultZone, ofOthers, urls })
      if (problem !== undefined) problems.add(`${key}.config.issuer`, problem)
      ofOthers.push(issuer)
    }
    const entityProblem = entityIdProblem(config?.samlConfig, {
      subdomain: subdomain.toLowerCase(),
      serverEntityId: samlEntityId,
    })
    if (entityProblem !== undefined) problems.add(`${key}.config.samlConfig.entityID`, entityProblem)
  }
}

function issuerProblem(
  issuer: URL,
  known: { readonly ofDefaultZone: readonly URL[]; readonly ofOthers: readonly URL[]; readonly urls: Urls },
): string | undefined {
  const isAmong = (issuers: readonly URL[]): boolean => issuers.some(each => isSameIssuer(each, issuer))
  if (isAmong(known.ofDefaultZone)) return 'is that of the default zone'
  if (isAmong(known.ofOthers)) return 'is that of another zone'
  const host = issuer.hostname.replace(/\.$/, '') // the full name is the same host
  const isHere = host === known.urls.hostname || host.endsWith(`.${known.urls.hostname}`)
  return isHere ? 'must not be a URL of this server other than that of the zone' : undefined
}

function entityIdProblem(
  samlConfig: Pick<SamlConfig, 'entityID'> | undefined,
  names: Parameters<typeof refuseForeignEntityId>[1],
): string | undefined {
  try {
    refuseForeignEntityId(samlConfig, names)
    return undefined
  } catch (error) {
    if (error instanceof InvalidZoneConfig) return 'is that of the server, or of another zone'
    throw error
  }
}
