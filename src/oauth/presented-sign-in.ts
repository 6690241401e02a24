// How the user of a presented token signed in, for what is granted in exchange: never more than the token contains.
import { memberOf, stringsIn } from '../base/json.ts'
import { foreignClasses, levelOf, withLevel } from '../model/sessions/assurance.ts'
import { TOKEN_EXCHANGE } from '../model/clients/grant-types.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { supportsLevels } from '../model/users/second-factor.ts'
import type { Zone } from '../model/zones/zone.ts'
import { refuseToken } from '../token/token-refusals.ts'

/** Whether the token was issued by a token exchange, which limits its scopes and lifetime. */
export const isExchanged = ({ grant_type: type }: Readonly<Record<string, unknown>>): boolean => type === TOKEN_EXCHANGE

/** Refuses an exchanged token, even one for this server, where it would start another grant. */
export function requireNotExchanged(claims: Readonly<Record<string, unknown>>): void {
  if (isExchanged(claims)) throw refuseToken('token-audience', 'An exchanged token cannot be used for another grant')
}

/** The methods, and the classes with the level first; nothing where the zone has no second factors. */
interface PresentedSignIn {
  readonly amr: readonly string[]
  readonly acr: readonly string[] | undefined
}

/** Reads the sign-in from an access token of the zone, which contained no class before the zone had second factors. */
export function signInOf(
  { amr, acr }: Readonly<Record<string, unknown>>,
  zone: Zone,
  behaviour: Behaviour,
): PresentedSignIn {
  if (!supportsLevels(zone, behaviour)) return { amr: [], acr: undefined }
  return { amr: stringsIn(amr), acr: classesIn(acr) }
}

/**
 * Reads the sign-in from an ID token of the zone. One of a provider's user may be older than the policy, and have a word of the
 * provider that reads like a level.
 */
export function signInOfIdToken(
  claims: Readonly<Record<string, unknown>>,
  zone: Zone,
  behaviour: Behaviour,
): PresentedSignIn {
  const amr = stringsIn(claims['amr']) // UAA: regardless of the zone's policy
  const { acr = [] } = signInOf(claims, zone, behaviour)
  const classes = amr.includes('ext') ? foreignClasses(acr) : acr
  return { amr, acr: classes.length > 0 ? classes : undefined }
}

/** One class as a string, or several as UAA has them (row T2). */
function classesIn(acr: unknown): readonly string[] | undefined {
  const classes = stringsIn(typeof acr === 'string' ? [acr] : memberOf(acr, 'values'))
  return withLevel(levelOf(classes), classes)
}
