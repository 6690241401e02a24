// Rules of a zone's settings beyond their types, with UAA's messages and order.
import { base64In } from '../../base/text/base64.ts'
import { isParsableUrl } from '../../base/text/parsable-url.ts'
import { COLOUR, LOGOUT_TARGET, WEB_LINK } from '../../records/zone-config.ts'
import { corsProblems } from './cors-policy.ts'
import type { CorsProblem } from './cors-policy.ts'
import { scopesProblem } from '../clients/registration.ts'
import { policyProblem } from '../users/second-factor.ts'
import type { Service } from '../service.ts'
import { prefixedEntityId } from './zone.ts'
import type { Branding, SamlConfig, UserConfig, ZoneConfig, ZoneLinks } from './zone.ts'

/** Thrown for invalid settings, with UAA's message. */
export class InvalidZoneConfig extends Error {
  override name = 'InvalidZoneConfig'
}

const IS_COLOUR = new RegExp(COLOUR)
const IS_WEB_LINK = new RegExp(WEB_LINK)
const IS_LOGOUT_TARGET = new RegExp(LOGOUT_TARGET)

/**
 * Whether pages may link to it: an http or https URL, or a path of the zone. Variables may occur anywhere in it.
 */
export function isLink(value: string): boolean {
  const filled = value.replaceAll(/\{zone\.(?:id|subdomain)\}/g, 'z')
  if (/^\/(?![/\\])/.test(filled)) return !/[\s\\]/.test(filled)
  return /^https?:\/\/[^\s\\]+$/i.test(filled) && isParsableUrl(filled)
}

/** Throws `InvalidZoneConfig` for the first violated rule; keys are checked before. */
export function checkZoneConfig(
  { corsPolicy, userConfig, branding, links, secondFactor, registration }: ZoneConfig,
  { standardDefaultGroups, service }: { readonly standardDefaultGroups: readonly string[]; readonly service: Service },
): void {
  const problem =
    corsText(corsProblems(corsPolicy ?? {})[0]) ??
    groupsProblem(userConfig, standardDefaultGroups) ??
    usersProblem(userConfig) ??
    consentProblem(branding) ??
    bannerProblem(branding) ??
    footerProblem(branding) ??
    linksProblem(links) ??
    secondFactorProblem(secondFactor) ??
    registrationProblem(registration, service)
  if (problem !== undefined) throw new InvalidZoneConfig(problem)
}

/**
 * Throws `InvalidZoneConfig` for the SAML entity id of the default zone, or one that another zone has by its subdomain:
 * zones may share a key, so a provider could not distinguish their messages. Compared without case, as some providers do.
 */
export function refuseForeignEntityId(
  samlConfig: Pick<SamlConfig, 'entityID'> | undefined,
  { subdomain, serverEntityId }: { readonly subdomain: string; readonly serverEntityId: string },
): void {
  const own = (samlConfig?.entityID ?? '').trim().toLowerCase()
  const server = serverEntityId.trim().toLowerCase()
  if (own === prefixedEntityId(server, subdomain)) return
  const [, scheme = '', name = ''] = /^(https?:\/\/)?(.*)$/s.exec(server) ?? []
  if (own !== server && !(own.startsWith(scheme) && own.endsWith(`.${name}`))) return
  throw new InvalidZoneConfig('The SAML entity ID must not be that of the server, or of another zone.')
}

/** UAA's message names the list of exact values, for patterns too. */
function corsText(problem: CorsProblem | undefined): string | undefined {
  if (problem === undefined) return undefined
  const member = problem.member.replace(/(Origin|Uri)Patterns$/, '$1s')
  return `Invalid value in config.corsPolicy.${problem.part}.${member}: '${problem.value}'.`
}

/** The allowed names of the zone's groups; undefined if every name is allowed. */
export function allowedGroupNames(
  userConfig: UserConfig | undefined,
  standardDefaultGroups: readonly string[],
): ReadonlySet<string> | undefined {
  const { allowedGroups, defaultGroups } = userConfig ?? {}
  return allowedGroups ? new Set([...allowedGroups, ...(defaultGroups ?? standardDefaultGroups)]) : undefined
}

function groupsProblem(userConfig: UserConfig | undefined, usual: readonly string[]): string | undefined {
  return allowedGroupNames(userConfig, usual)?.size === 0 ? 'At least one group must be allowed' : undefined
}

function usersProblem({ maxUsers = -1 }: UserConfig = {}): string | undefined {
  if (maxUsers === -1 || maxUsers > 0) return undefined
  return 'Maximum number of users in the zone is invalid, either use -1 or a value more than 0.'
}

const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === ''

const isWrongLink = (link: string | undefined): boolean =>
  !isBlank(link) && !(IS_WEB_LINK.test(link ?? '') && isParsableUrl(link ?? ''))

const linkProblem = (whose: 'consent' | 'banner', link: string | undefined): string | undefined =>
  isWrongLink(link)
    ? `Invalid ${whose} link: ${link}. Must be a properly formatted URI beginning with http:// or https://`
    : undefined

function consentProblem({ consent }: Branding = {}): string | undefined {
  if (consent === undefined) return undefined
  if (isBlank(consent.text)) return 'Consent text must be set if configuring consent'
  return linkProblem('consent', consent.link)
}

function bannerProblem({ banner = {} }: Branding = {}): string | undefined {
  const colour = (which: string, value: string | undefined): string | undefined =>
    isBlank(value) || IS_COLOUR.test(value ?? '')
      ? undefined
      : `Invalid banner ${which} color: ${value}. Must be a properly formatted hexadecimal color code.`
  return (
    linkProblem('banner', banner.link) ??
    colour('background', banner.backgroundColor) ??
    colour('text', banner.textColor) ??
    (base64In(banner.logo ?? '') === undefined ? 'Invalid banner logo. Must be in BASE64 format.' : undefined)
  )
}

const LINK_RULE = 'Must be a path or a properly formatted URI beginning with http:// or https://'

function footerProblem({ footerLinks = {} }: Branding = {}): string | undefined {
  const wrong = Object.values(footerLinks).find(link => link !== '' && !isLink(link))
  return wrong === undefined ? undefined : `Invalid footer link: ${wrong}. ${LINK_RULE}`
}

function linksProblem({ selfService, homeRedirect, logout }: ZoneLinks = {}): string | undefined {
  const named = [
    ['self-service', selfService?.signup],
    ['self-service', selfService?.passwd],
    ['home', homeRedirect],
    ['logout', logout?.redirectUrl],
  ] as const
  for (const [which, link] of named) {
    if (link && !isLink(link)) return `Invalid ${which} link: ${link}. ${LINK_RULE}`
  }
  const target = logout?.whitelist?.find(each => !IS_LOGOUT_TARGET.test(each))
  return target === undefined ? undefined : `Invalid logout target: ${target}. ${LINK_RULE}`
}

function secondFactorProblem(policy: ZoneConfig['secondFactor'] = {}): string | undefined {
  const problem = policyProblem(policy)
  return problem && `config.secondFactor.${problem.member} ${problem.message}`
}

function registrationProblem(registration: ZoneConfig['registration'], service: Service): string | undefined {
  const problem = scopesProblem(registration, service)
  return problem && `config.registration.scopes ${problem}`
}
