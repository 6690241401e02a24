import { MAX_SECONDS } from '../../records/kinds.ts'
import type { ZoneConfig } from '../../records/zone-config.ts'
import { standardDefaultGroups } from '../../records/zone-config.ts'

export { standardDefaultGroups } from '../../records/zone-config.ts'
export type { SamlKey, ZoneConfig } from '../../records/zone-config.ts'

/** The SAML service provider of the zone. */
export type SamlConfig = NonNullable<ZoneConfig['samlConfig']>
/** Cross-origin resource sharing: for requests that say they are an XMLHttpRequest, and for all others. */
export type CorsPolicy = NonNullable<ZoneConfig['corsPolicy']>
/** One part of the policy. */
export type CorsConfiguration = NonNullable<CorsPolicy['defaultConfiguration']>
/** The branding of a zone's pages; logos are base64 PNG. */
export type Branding = NonNullable<ZoneConfig['branding']>
/** The links of a zone's pages. */
export type ZoneLinks = NonNullable<ZoneConfig['links']>
/** One field of the sign-in form. */
export type Prompt = NonNullable<ZoneConfig['prompts']>[number]
/** Default and allowed groups of users, and other settings of users. */
export type UserConfig = NonNullable<ZoneConfig['userConfig']>

/** An isolated realm with its own clients, users, keys and issuer, found by the host name or the path of a request. */
export interface Zone {
  readonly id: string
  /** Lower case; empty for the default zone. */
  readonly subdomain: string
  readonly name: string
  readonly description?: string
  readonly active: boolean
  readonly version: number
  readonly config: ZoneConfig
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Names of the groups that every user of the zone has (`userConfig.defaultGroups`). */
export const defaultGroups = ({ config }: Pick<Zone, 'config'>, serviceName: string): readonly string[] =>
  config.userConfig?.defaultGroups ?? standardDefaultGroups(serviceName)

/** The zone's SAML entity id: its own, or the server's prefixed with the subdomain. */
export function samlEntityIdOf({ config, subdomain }: Zone, serverEntityId: string): string {
  const own = config.samlConfig?.entityID ?? ''
  if (own.trim() !== '') return own
  return subdomain === '' ? serverEntityId : prefixedEntityId(serverEntityId, subdomain)
}

/**
 * The last segment of the paths of SAML sign-in and logout, whatever the zone's own entity id: the server's, or only its
 * host if it is a URL, prefixed with the subdomain.
 */
export function samlAliasOf({ subdomain }: Pick<Zone, 'subdomain'>, serverEntityId: string): string {
  const url = /^https?:\/\//i.test(serverEntityId) ? URL.parse(serverEntityId) : null
  const name = url?.hostname ?? serverEntityId
  return subdomain === '' ? name : `${subdomain}.${name}`
}

/** With a subdomain before it; if it is a URL, before its host. */
export const prefixedEntityId = (serverEntityId: string, subdomain: string): string =>
  serverEntityId.replace(/^(?:https?:\/\/)?/i, scheme => `${scheme}${subdomain}.`)

/** The zone's own lifetime in seconds; undefined if it is absent, -1 or otherwise invalid. */
export const ownLifetime = (seconds: number | undefined): number | undefined =>
  seconds !== undefined && seconds >= 1 && seconds <= MAX_SECONDS ? seconds : undefined

/** A link of the zone with its variables filled in: `{zone.id}` and `{zone.subdomain}`. */
export const linkOf = (zone: Zone, link: string): string =>
  link
    .replaceAll('{zone.id}', encodeURIComponent(zone.id))
    .replaceAll('{zone.subdomain}', encodeURIComponent(zone.subdomain))

/** Links for sign-up and a forgotten password. */
export interface SelfServiceLinks {
  readonly signup?: string
  readonly passwd?: string
}

/** The zone's own links, else the shared ones; none if the zone disabled them. */
export function selfServiceLinks(zone: Zone, shared: SelfServiceLinks): SelfServiceLinks {
  const { selfServiceLinksEnabled, ...own } = zone.config.links?.selfService ?? {}
  if (selfServiceLinksEnabled === false) return {}
  const signup = own.signup || shared.signup
  const passwd = own.passwd || shared.passwd
  return { ...(signup && { signup: linkOf(zone, signup) }), ...(passwd && { passwd: linkOf(zone, passwd) }) }
}

const DEFAULT_PROMPTS: readonly Prompt[] = [
  { name: 'username', type: 'text', text: 'Email' },
  { name: 'password', type: 'password', text: 'Password' },
]

/** Whether the texts are the defaults, which pages have in every language. */
export const isDefaultPrompt = ({ name, text }: Prompt): boolean =>
  DEFAULT_PROMPTS.some(prompt => prompt.name === name && prompt.text === text)

/** The fields of the zone's sign-in form. */
export const promptsOf = (zone: Zone): readonly Prompt[] => zone.config.prompts ?? DEFAULT_PROMPTS
