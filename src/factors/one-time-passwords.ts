// One-time passwords of an authenticator app: TOTP (RFC 6238) with what every app understands, SHA-1, six digits and thirty
// seconds. Independent of sessions and pages; guesses are counted in code-check.ts.
import type { Clock } from '../base/clock.ts'
import { isJsonRecord, parseJson } from '../base/json.ts'
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { Totp } from '../model/users/passkey.ts'
import { sealContexts } from '../model/seal-contexts.ts'
import type { Store } from '../store/store.ts'
import { withoutSeparators } from './typed-code.ts'

/** A secret that the user has not confirmed yet. */
interface NewSecret {
  /** Base32, in groups of four for users to type. */
  readonly text: string
  /** `otpauth://totp/…`, which apps understand. */
  readonly uri: string
  /** The rows of the QR code of `uri`, true for dark. */
  readonly code: readonly (readonly boolean[])[]
  /** For the form: the secret, sealed for this user and session. */
  readonly sealed: string
}

/** The user and session that a new secret is for. */
export interface Enrolment {
  readonly zoneId: string
  readonly userId: string
  /** The digest of the session. */
  readonly session: string
  /** What the app shows above the passwords: the site, and the user name. */
  readonly issuer: string
  readonly userName: string
}

/** One-time passwords of all zones. */
export interface OneTimePasswords {
  /** A new secret, valid for ten minutes. */
  begin(enrolment: Enrolment): Promise<NewSecret>
  /** The same secret again, after a wrong password; undefined if it is another user's or session's, or too old. */
  again(sealed: string, enrolment: Enrolment): Promise<NewSecret | undefined>
  /** The secret to store, if `code` is its current password, which proves that the app has it. */
  confirm(
    sealed: string,
    code: string,
    enrolment: Enrolment,
  ): Promise<{ readonly outcome: 'confirmed'; readonly totp: Totp } | { readonly outcome: 'wrong' | 'expired' }>
  /** Whether it is an unused password of the current, previous or next step; consumes it. */
  verify(zoneId: string, userId: string, code: string): Promise<boolean>
}

const BYTES = 20 // 160 bits, as RFC 4226 §4 recommends
const PERIOD_SECONDS = 30
const ENROLMENT_SECONDS = 600
/** Tolerated clock skew, in steps. */
const WINDOW = 1
const MAX_SEALED_LENGTH = 500
/** Characters of a name in the URI, percent-encoded; more would make the QR code too dense. */
const MAX_LABEL_LENGTH = 90

const library = loadOnce(() => import('otpauth'))
const qrLibrary = loadOnce(() => import('uqr'))

/** The typed one-time password; undefined for anything that cannot be one. Apps show a space in the middle. */
export function enteredOneTimePassword(entered: string): string | undefined {
  const digits = withoutSeparators(entered)
  return /^\d{6}$/.test(digits) ? digits : undefined
}

/** A name, percent-encoded and truncated; a colon separates the two names of a URI. */
function labelOf(name: string): string {
  let label = ''
  for (const character of name.toWellFormed().replaceAll(':', ' ')) {
    const encoded = encodeURIComponent(character)
    if (label.length + encoded.length > MAX_LABEL_LENGTH) break
    label += encoded
  }
  return label
}

/** One instance serves every zone. */
export function createOneTimePasswords(deps: {
  store: Store
  clock: Clock
  random: Random
  vault: Vault
}): OneTimePasswords {
  const { store, clock, random, vault } = deps
  const newContext = ({ zoneId, userId, session }: Enrolment): string =>
    JSON.stringify(['new one-time passwords', zoneId, userId, session])

  async function generatorOf(secret: string): Promise<InstanceType<Awaited<ReturnType<typeof library>>['TOTP']>> {
    const { Secret, TOTP } = await library()
    return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS })
  }

  /** The step of the password; undefined if it is not valid now. */
  async function stepOf(secret: string, code: string): Promise<number | undefined> {
    const timestamp = clock.now().getTime()
    const delta = (await generatorOf(secret)).validate({ token: code, timestamp, window: WINDOW })
    return delta === null ? undefined : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta
  }

  async function describe(secret: string, sealed: string, enrolment: Enrolment): Promise<NewSecret> {
    const [issuer, userName] = [labelOf(enrolment.issuer), labelOf(enrolment.userName)]
    // Algorithm, digits and period are the defaults of every app.
    const uri = `otpauth://totp/${issuer}:${userName}?secret=${secret}&issuer=${issuer}`
    const { encode } = await qrLibrary()
    return { text: secret.replace(/.{4}(?=.)/g, '$& '), uri, code: encode(uri, { ecc: 'M', border: 4 }).data, sealed }
  }

  /** The secret in the form, if it was made for this user and session and is not too old. */
  function open(sealed: string, enrolment: Enrolment): string | undefined {
    if (sealed.length > MAX_SEALED_LENGTH) return undefined
    try {
      const value = parseJson(vault.open(sealed, newContext(enrolment)))
      const { secret, until } = isJsonRecord(value) ? value : {}
      return typeof secret === 'string' && Number(until) > clock.now().getTime() ? secret : undefined
    } catch {
      return undefined
    }
  }

  return {
    async begin(enrolment) {
      const { Secret } = await library()
      const bytes = random.bytes(BYTES)
      const secret = new Secret({ buffer: new Uint8Array(bytes).buffer }).base32
      const until = clock.now().getTime() + ENROLMENT_SECONDS * 1000
      return describe(secret, vault.seal(JSON.stringify({ secret, until }), newContext(enrolment)), enrolment)
    },
    async again(sealed, enrolment) {
      const secret = open(sealed, enrolment)
      return secret === undefined ? undefined : describe(secret, sealed, enrolment)
    },
    async confirm(sealed, code, enrolment) {
      const secret = open(sealed, enrolment)
      if (secret === undefined) return { outcome: 'expired' }
      const entered = enteredOneTimePassword(code)
      const step = entered === undefined ? undefined : await stepOf(secret, entered)
      if (step === undefined) return { outcome: 'wrong' }
      const sealedSecret = vault.seal(secret, sealContexts.oneTimePasswords(enrolment.zoneId, enrolment.userId))
      // The password that confirmed it must not be used again.
      return { outcome: 'confirmed', totp: { sealedSecret, lastStep: step, createdAt: clock.now() } }
    },
    async verify(zoneId, userId, code) {
      const totp = await store.factors.totpOf(zoneId, userId)
      if (!totp) return false
      const step = await stepOf(vault.open(totp.sealedSecret, sealContexts.oneTimePasswords(zoneId, userId)), code)
      return step !== undefined && store.factors.useTotp(zoneId, userId, { step, at: clock.now() })
    },
  }
}
