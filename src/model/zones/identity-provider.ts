import { domainToASCII } from 'node:url'
import type { JsonRecord } from '../../base/json.ts'
import type { IdentityProvider } from '../../records/provider.ts'
import type { Prompt } from './zone.ts'

export type { IdentityProvider } from '../../records/provider.ts'

/** The origin of users authenticated by an external login server that names no other origin. */
export const LOGIN_SERVER_ORIGIN = 'login-server'

/** The origin of users of a directory; a zone has one at most. */
export const LDAP_ORIGIN = 'ldap'

/** Origins reserved for one type of provider, whether or not the zone has it. */
export const RESERVED_ORIGINS: ReadonlySet<string> = new Set([LDAP_ORIGIN, 'keystone', 'unknown'])

/** UAA's words for a user of a SAML provider whose account an administrator must make first. */
export const SAML_NOT_PRECREATED =
  'SAML user does not exist. You can correct this by creating a shadow user for the SAML user.'

/** The e-mail domains of a provider's users (`config.emailDomain`); undefined if not set. */
export function emailDomains({ config }: IdentityProvider): readonly string[] | undefined {
  const domains: unknown = config['emailDomain']
  if (!Array.isArray(domains)) return undefined
  const isText = (domain: unknown): domain is string => typeof domain === 'string'
  return domains.every(isText) ? domains : domains.filter(isText) // the same list, for `writtenInAscii`
}

/** The part after the last `@`, if any. */
export function emailDomainOf(text: string): string | undefined {
  const at = text.lastIndexOf('@')
  return at < 0 ? undefined : text.slice(at + 1)
}

/** RFC 1035 §2.3.4. Longer ones are no domains, and the time to write one in Punycode grows with the square of its length. */
const MAX_DOMAIN_LENGTH = 253
const MAX_LABEL_LENGTH = 63
/** The dots of IDNA (RFC 3490 §3.1). */
const DOTS = /[.\u3002\uff0e\uff61]/
const ASCII = /^[!-~]*$/

/** In lower case; a name with other letters in Punycode, in which it can be written as well. Empty for what is too long. */
function inAscii(domain: string): string {
  if (ASCII.test(domain)) return domain.toLowerCase()
  const isTooLong =
    domain.length > MAX_DOMAIN_LENGTH || domain.split(DOTS).some(({ length }) => length > MAX_LABEL_LENGTH)
  return isTooLong ? '' : domainToASCII(domain)
}

const inPunycode = new WeakMap<readonly string[], readonly string[]>()

/** A record may have thousands of patterns, and each request compares with all of them. */
function writtenInAscii(patterns: readonly string[]): readonly string[] {
  const cached = inPunycode.get(patterns)
  if (cached) return cached
  const written = patterns.every(pattern => ASCII.test(pattern)) ? patterns : patterns.map(inAscii)
  inPunycode.set(patterns, written)
  return written
}

/** Returns a test for the patterns of a provider: whether one matches the domain, ignoring case. `*` stands for one label. */
export function domainMatcher(domain: string): (patterns: readonly string[] | undefined) => boolean {
  const labels = inAscii(domain).split('.')
  if (labels.includes('')) return () => false
  return patterns =>
    patterns !== undefined &&
    writtenInAscii(patterns).some(pattern => {
      const wanted = pattern.toLowerCase().split('.')
      return wanted.length === labels.length && wanted.every((label, index) => label === '*' || label === labels[index])
    })
}

/** The text of the provider's link on the sign-in page; undefined when its record hides it (`showLinkText`, `showSamlLink`). */
export function linkTextOf({ type, config, name }: IdentityProvider): string | undefined {
  if (type === 'saml' ? config['showSamlLink'] !== true : config['showLinkText'] === false) return undefined
  const text = config['linkText']
  return typeof text === 'string' && text.trim() !== '' ? text : name
}

/** The form fields of a provider that takes passwords (`config.prompts`); undefined if not set. */
export function promptsOfProvider({ config }: IdentityProvider): readonly Prompt[] | undefined {
  const prompts = config['prompts']
  if (config['passwordGrantEnabled'] !== true || !Array.isArray(prompts)) return undefined
  return prompts.flatMap((prompt: unknown) => {
    const [name, type, text] = ['name', 'type', 'text'].map((member): unknown => Reflect.get(Object(prompt), member))
    return typeof name === 'string' && typeof type === 'string' && typeof text === 'string'
      ? [{ name, type, text }]
      : []
  })
}

/** When failed sign-ins lock an account (`config.lockoutPolicy`). */
export interface LockoutPolicy {
  /** 0 counts as 1: no value disables the lockout. */
  readonly lockoutAfterFailures: number
  /** The window in seconds in which failures count. */
  readonly countFailuresWithin: number
  /** Seconds that the lockout lasts after the last counted failure, but never beyond the counting window. */
  readonly lockoutPeriodSeconds: number
}

/** For zones without a policy of their own, if the server has none. */
export const DEFAULT_LOCKOUT: LockoutPolicy = {
  lockoutAfterFailures: 5,
  countFailuresWithin: 1200,
  lockoutPeriodSeconds: 300,
}

/** What the configuration says for internal providers without a policy of their own, as `config` of the provider has it. */
export interface GlobalPolicies {
  readonly passwordPolicy?: JsonRecord
  readonly lockoutPolicy?: LockoutPolicy
}

/** The provider's lockout policy. An incomplete one counts as absent, so that it never disables the lockout. */
export function lockoutPolicy(provider: Pick<IdentityProvider, 'config'>): LockoutPolicy {
  const policy = provider.config['lockoutPolicy']
  if (typeof policy !== 'object' || policy === null) return DEFAULT_LOCKOUT
  const value = (name: keyof LockoutPolicy): number | undefined => {
    const number: unknown = Reflect.get(policy, name)
    return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined
  }
  const lockoutAfterFailures = value('lockoutAfterFailures')
  const countFailuresWithin = value('countFailuresWithin')
  const lockoutPeriodSeconds = value('lockoutPeriodSeconds')
  if (lockoutAfterFailures === undefined || countFailuresWithin === undefined || lockoutPeriodSeconds === undefined) {
    return DEFAULT_LOCKOUT
  }
  return { lockoutAfterFailures, countFailuresWithin, lockoutPeriodSeconds }
}

/** Whether there can be more guesses, in any time, than by the policy before. */
export function allowsMoreGuesses(policy: LockoutPolicy, before: LockoutPolicy): boolean {
  const { lockoutAfterFailures, countFailuresWithin, lockoutPeriodSeconds } = before
  return (
    policy.lockoutAfterFailures > Math.max(lockoutAfterFailures, 1) ||
    policy.countFailuresWithin < countFailuresWithin ||
    policy.lockoutPeriodSeconds < lockoutPeriodSeconds
  )
}

/** Failures that seem later were counted before the clock was set back: they would lock the account until then. */
const CLOCKS_AGREE_WITHIN_MS = 30_000

/** The end of the lockout caused by the failures; undefined if the account is not locked. */
export function lockedUntil(policy: LockoutPolicy, failures: readonly Date[], now: Date): Date | undefined {
  const since = now.getTime() - policy.countFailuresWithin * 1000
  const latest = now.getTime() + CLOCKS_AGREE_WITHIN_MS
  const newestFirst = failures
    .map(failure => failure.getTime())
    .filter(time => time > since && time <= latest)
    .toSorted((a, b) => b - a)
  const newest = newestFirst[0]
  const decisive = newestFirst[Math.max(policy.lockoutAfterFailures, 1) - 1]
  if (newest === undefined || decisive === undefined) return undefined
  // When the decisive failure leaves the counting window, too few are left.
  const until = Math.min(newest + policy.lockoutPeriodSeconds * 1000, decisive + policy.countFailuresWithin * 1000)
  return until > now.getTime() ? new Date(until) : undefined
}

/**
 * The failures besides an attempt that was counted at `now`, or a concurrent one. It is not always the latest: others may seem
 * to be still to come.
 */
export const withoutAttempt = (failures: readonly Date[], now: Date): readonly Date[] =>
  failures.toSpliced(
    failures.findIndex(failure => failure.getTime() === now.getTime()),
    1,
  )
