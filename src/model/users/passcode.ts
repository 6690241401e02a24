// The form of passcodes, which users read from one screen and may type at another (row P8), and what is kept with them.
import { memberOf, parseJson, stringsIn } from '../../base/json.ts'
import type { Random } from '../../base/random.ts'
import type { Behaviour } from '../compatibility.ts'
import type { SignIn } from '../sessions/session.ts'

const GROUPED_LENGTH = 20 // 100 bits, in groups of four
const PLAIN_LENGTH = 32 // 192 bits
/** Longer input is not a passcode, regardless of separators. */
const MAX_INPUT_LENGTH = 64

/** A new passcode, as it is compared: without the separators that it is shown with. */
export const newPasscode = (random: Random, { groupedPasscodes }: Behaviour): string =>
  groupedPasscodes ? random.base32(GROUPED_LENGTH) : random.urlSafe(PLAIN_LENGTH)

/** As it is shown: in groups of four where it is one to type. */
export const shownPasscode = (passcode: string, { groupedPasscodes }: Behaviour): string =>
  groupedPasscodes ? passcode.replace(/.{4}(?=.)/g, '$&-') : passcode

/**
 * The entered passcode as it is compared; undefined for what cannot be a passcode. Case and separators are ignored, and
 * letters that look like digits are those digits.
 */
export function enteredPasscode(entered: string, { groupedPasscodes }: Behaviour): string | undefined {
  if (!groupedPasscodes) return /^[\w-]{32}$/.test(entered) ? entered : undefined
  if (entered.length > MAX_INPUT_LENGTH) return undefined
  const characters = entered.replace(/[\s-]/g, '').toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1')
  return /^[0-9A-HJKMNP-TV-Z]{20}$/.test(characters) ? characters : undefined
}

/** How the session signed in that a passcode is from. */
export interface PasscodeSignIn extends Pick<SignIn, 'amr' | 'authenticatedAt'> {
  readonly acr: readonly string[] | undefined
  /** Whether the browser was remembered, which the zone then took for a second factor. */
  readonly isRemembered: boolean
}

/** Its stored form. */
export const formatPasscodeSignIn = (
  { authenticatedAt, amr, acr }: SignIn,
  { isRemembered }: { readonly isRemembered: boolean },
): string => JSON.stringify({ at: authenticatedAt?.getTime(), amr, acr, isRemembered })

/** Parses the stored form; a passcode of an older version has no data. */
export function parsePasscodeSignIn(text: string | undefined): PasscodeSignIn {
  const kept = text === undefined ? undefined : parseJson(text)
  const at = memberOf(kept, 'at')
  const acr = memberOf(kept, 'acr')
  return {
    amr: stringsIn(memberOf(kept, 'amr')),
    acr: acr === undefined ? undefined : stringsIn(acr),
    isRemembered: memberOf(kept, 'isRemembered') === true,
    ...(typeof at === 'number' && { authenticatedAt: new Date(at) }),
  }
}
