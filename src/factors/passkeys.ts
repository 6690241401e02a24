// The two ceremonies of passkeys: registration and authentication (Web Authentication Level 3 §7). What a browser is asked is
// written here; what it answers is verified by the library, which is loaded with the first answer. Knows neither sessions
// nor pages.
import type { Clock } from '../base/clock.ts'
import { isValidCoseKey } from '../base/cose-key.ts'
import { isJsonRecord, memberOf, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { loadOnce } from '../base/load-once.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import type { Vault } from '../base/secrets.ts'
import type { Level } from '../model/sessions/assurance.ts'
import type { Passkey } from '../model/users/passkey.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'
import { useOfAttestation } from './attestation.ts'
import { createChallenges } from './challenges.ts'
import type { ChallengeFor } from './challenges.ts'

/** Where a ceremony takes place. */
export interface Ceremony {
  readonly zoneId: string
  /** Base URL of the zone: its host is the relying party's id, its origin the only one accepted. */
  readonly baseUrl: string
  /** What the challenge is bound to: the browser's session, or what stands for it before a sign-in. */
  readonly browser: string
}

/** What a passkey proved. */
interface PasskeyProof {
  readonly outcome: 'proved'
  readonly userId: string
  readonly level: Level
  /** RFC 8176, without `mfa`. */
  readonly amr: readonly string[]
}

/** Why an answer is not accepted: one word for the audit trail, and what the library said for the log. */
interface PasskeyRefusal {
  readonly outcome: 'refused'
  readonly reason:
    | 'malformed'
    | 'challenge'
    | 'unknown'
    | 'other-person'
    | 'attestation'
    | 'key'
    | 'invalid'
    | 'counter'
    | 'used'
  readonly detail?: string
}

/** Passkeys of all zones. */
export interface Passkeys {
  /** What `navigator.credentials.create` is asked for a new passkey of the user. */
  registrationOptions(at: Ceremony, account: { readonly user: User; readonly siteName: string }): Promise<JsonRecord>
  /** The new passkey in what the browser answered; it is not stored yet. */
  readRegistration(
    at: Ceremony,
    sent: { readonly user: User; readonly answer: string; readonly name: string },
  ): Promise<{ readonly outcome: 'new'; readonly passkey: Passkey } | PasskeyRefusal>
  /** What `navigator.credentials.get` is asked: with a user for a second factor, else to identify the user. */
  authenticationOptions(at: Ceremony, user?: User): Promise<JsonRecord>
  /** Verifies what the browser answered, and uses the passkey. */
  authenticate(
    at: Ceremony,
    sent: { readonly answer: string; readonly user?: User },
  ): Promise<PasskeyProof | PasskeyRefusal>
}

/** COSE algorithms: ES256, EdDSA, RS256. */
const ALGORITHMS = [-7, -8, -257]
const TIMEOUT_MILLISECONDS = 300_000
/** Characters of what a browser answers; real answers have a tenth of it. */
const MAX_ANSWER_LENGTH = 16_384
/** Characters of base64url: 1,023 bytes, the most that the standard allows. */
const MAX_ID_LENGTH = 1364
const TRANSPORT = /^[a-z-]{1,20}$/

const library = loadOnce(() => import('@simplewebauthn/server'))
const libraryHelpers = loadOnce(() => import('@simplewebauthn/server/helpers'))

/**
 * The user handle, which an authenticator keeps with the credential: zone and user. Zones below one host share a relying
 * party's id, and a credential of the same handle would replace the one of another zone.
 */
export const userHandle = (zoneId: string, userId: string): string =>
  digest(JSON.stringify(['passkey of', zoneId, userId]))

const refused = (reason: PasskeyRefusal['reason'], cause?: unknown): PasskeyRefusal => ({
  outcome: 'refused',
  reason,
  ...(cause instanceof Error && { detail: cause.message.slice(0, 300) }),
})

/** Dependencies of `createPasskeys`. */
interface PasskeyDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  /** Certificates in DER to which attestations must lead; none is asked for without them. */
  readonly attestationRoots?: readonly Uint8Array[]
}

/** One instance serves every zone. */
export function createPasskeys(deps: PasskeyDeps): Passkeys {
  const { store, clock, random, attestationRoots: roots = [] } = deps
  const challenges = createChallenges(deps)

  const rpIdOf = ({ baseUrl }: Ceremony): string => new URL(baseUrl).hostname
  const describe = async (zoneId: string, userId: string) =>
    (await store.factors.passkeysOf(zoneId, userId)).map(({ credentialId: id, transports }) => ({
      type: 'public-key',
      id,
      transports,
    }))

  return {
    async registrationOptions(at, { user, siteName }) {
      const { zoneId, browser } = at
      return {
        rp: { id: rpIdOf(at), name: siteName },
        user: { id: userHandle(zoneId, user.id), name: user.userName, displayName: user.userName },
        challenge: challenges.issue({ purpose: 'registration', zoneId, browser, userId: user.id }),
        pubKeyCredParams: ALGORITHMS.map(alg => ({ type: 'public-key', alg })),
        timeout: TIMEOUT_MILLISECONDS,
        excludeCredentials: await describe(zoneId, user.id),
        // Discoverable without a user name, where the authenticator supports that.
        authenticatorSelection: { residentKey: 'preferred', requireResidentKey: false, userVerification: 'preferred' },
        attestation: roots.length > 0 ? 'direct' : 'none',
      }
    },
    async readRegistration(at, { user, answer, name }) {
      const of: ChallengeFor = { purpose: 'registration', ...at, userId: user.id }
      const sent = readAnswer(answer, ['clientDataJSON', 'attestationObject'])
      if (!sent) return refused('malformed')
      const { challenge, isFramed } = clientDataOf(sent.response['clientDataJSON'] ?? '')
      if (isFramed || !challenges.isValid(challenge, of)) return refused('challenge')
      const { verifyRegistrationResponse } = await library()
      const { decodeAttestationObject, isoBase64URL, isoCBOR } = await libraryHelpers()
      try {
        const bytes = isoBase64URL.toBuffer(sent.response['attestationObject'] ?? '')
        const attestation = decodeAttestationObject(bytes)
        // Decided before the library reads it: with roots of its own it would fetch CRLs from addresses in certificates.
        const use = useOfAttestation(attestation, { roots, now: clock.now() })
        if (use.kind === 'refused') return refused('attestation', new Error(attestation.get('fmt')))
        const kept = use.kind === 'verified' ? bytes : isoCBOR.encode(withoutStatement(attestation.get('authData')))
        const { verified, registrationInfo } = await verifyRegistrationResponse({
          response: {
            ...identityOf(sent),
            response: {
              clientDataJSON: sent.response['clientDataJSON'] ?? '',
              attestationObject: isoBase64URL.fromBuffer(kept),
            },
          },
          expectedChallenge: challenge,
          expectedOrigin: new URL(at.baseUrl).origin,
          expectedRPID: rpIdOf(at),
          requireUserVerification: false, // a sign-in by passkey alone verifies the user then
          supportedAlgorithmIDs: ALGORITHMS,
        })
        if (!verified) return refused('invalid')
        const { credential, aaguid, credentialBackedUp, credentialDeviceType } = registrationInfo
        if (!isValidCoseKey(isoCBOR.decodeFirst(credential.publicKey))) return refused('key')
        if (!(await challenges.use(challenge, of))) return refused('used')
        if (credential.id.length > MAX_ID_LENGTH) return refused('malformed')
        const passkey = {
          id: random.urlSafe(22),
          userId: user.id,
          credentialId: credential.id,
          publicKey: Buffer.from(credential.publicKey).toString('base64url'),
          counter: credential.counter,
          transports: sent.transports,
          aaguid,
          isBackedUp: credentialBackedUp,
          // What other devices can have is not bound to this hardware.
          isAttested: use.kind === 'verified' && use.provesHardware && credentialDeviceType === 'singleDevice',
          name,
          createdAt: clock.now(),
        }
        return { outcome: 'new', passkey }
      } catch (cause) {
        return refused('invalid', cause)
      }
    },
    async authenticationOptions(at, user) {
      const { zoneId, browser } = at
      const purpose = user ? 'second factor' : 'sign-in'
      return {
        rpId: rpIdOf(at),
        challenge: challenges.issue({ purpose, zoneId, browser, userId: user?.id }),
        timeout: TIMEOUT_MILLISECONDS,
        userVerification: user ? 'preferred' : 'required',
        ...(user && { allowCredentials: await describe(zoneId, user.id) }),
      }
    },
    async authenticate(at, { answer, user }) {
      const { zoneId } = at
      const of: ChallengeFor = { purpose: user ? 'second factor' : 'sign-in', ...at, userId: user?.id }
      const sent = readAnswer(answer, ['clientDataJSON', 'authenticatorData', 'signature'])
      if (!sent) return refused('malformed')
      const { challenge, isFramed } = clientDataOf(sent.response['clientDataJSON'] ?? '')
      if (isFramed || !challenges.isValid(challenge, of)) return refused('challenge')
      const passkey = await store.factors.findPasskey(zoneId, sent.id)
      if (!passkey) return refused('unknown')
      const handle = userHandle(zoneId, passkey.userId)
      const { userHandle: sentHandle } = sent
      const isTheirs = user ? passkey.userId === user.id && (sentHandle ?? handle) === handle : sentHandle === handle
      if (!isTheirs) return refused('other-person')
      const { verifyAuthenticationResponse } = await library()
      try {
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response: {
            ...identityOf(sent),
            response: {
              clientDataJSON: sent.response['clientDataJSON'] ?? '',
              authenticatorData: sent.response['authenticatorData'] ?? '',
              signature: sent.response['signature'] ?? '',
            },
          },
          expectedChallenge: challenge,
          expectedOrigin: new URL(at.baseUrl).origin,
          expectedRPID: rpIdOf(at),
          credential: {
            id: passkey.credentialId,
            publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
            counter: 0, // the database compares, for every process at once
          },
          requireUserVerification: !user,
        })
        if (!verified) return refused('invalid')
        if (!(await challenges.use(challenge, of))) return refused('used')
        const { newCounter: counter, credentialBackedUp: isBackedUp, userVerified } = authenticationInfo
        if (!(await store.factors.usePasskey(zoneId, passkey.credentialId, { counter, isBackedUp, at: clock.now() }))) {
          return refused('counter')
        }
        return {
          outcome: 'proved',
          userId: passkey.userId,
          level: passkey.isAttested ? 'phrh' : 'phr',
          amr: [passkey.isAttested ? 'hwk' : 'pop', ...(userVerified ? ['user'] : [])],
        }
      } catch (cause) {
        return refused('invalid', cause)
      }
    },
  }
}

type Statement = Map<string, string | Uint8Array | Map<string, string>>

/** The attestation object of an authenticator without attestation, as browsers write it. */
const withoutStatement = (authenticatorData: Uint8Array): Statement =>
  new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, string>()],
    ['authData', authenticatorData],
  ])

/** What a browser answered, as far as it is read. */
interface Answer {
  readonly id: string
  /** The required members, each of base64url. */
  readonly response: Readonly<Record<string, string>>
  readonly userHandle: string | undefined
  readonly transports: readonly string[]
}

/** Reads the JSON of a credential; undefined if a member is missing, too long or of another type. */
function readAnswer(text: string, required: readonly string[]): Answer | undefined {
  if (text.length > MAX_ANSWER_LENGTH) return undefined
  const value = parseJson(text)
  const sent = isJsonRecord(value) && isJsonRecord(value['response']) ? value['response'] : undefined
  const id = memberOf(value, 'id')
  if (!sent || typeof id !== 'string' || id.length > MAX_ID_LENGTH || !isBase64url(id)) return undefined
  const response: Record<string, string> = {}
  for (const name of required) {
    const member = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (typeof member !== 'string' || !isBase64url(member)) return undefined
    response[name] = member
  }
  const handle = sent['userHandle'] ?? undefined
  if (handle !== undefined && typeof handle !== 'string') return undefined
  const { transports } = sent
  const names = Array.isArray(transports) ? transports.filter(each => typeof each === 'string') : []
  return {
    id,
    response,
    userHandle: handle,
    transports: names.filter(each => TRANSPORT.test(each)).slice(0, 8),
  }
}

const isBase64url = (text: string): boolean => /^[\w-]+$/.test(text)

const identityOf = ({ id }: Answer) => ({ id, rawId: id, type: 'public-key', clientExtensionResults: {} }) as const

/** What the browser collected (§5.8.1), before anything is verified. Our pages are never in frames. */
function clientDataOf(base64url: string): { readonly challenge: string; readonly isFramed: boolean } {
  const value = parseJson(Buffer.from(base64url, 'base64url').toString())
  const challenge = memberOf(value, 'challenge')
  return {
    challenge: typeof challenge === 'string' ? challenge : '',
    isFramed: (memberOf(value, 'crossOrigin') ?? false) !== false,
  }
}
