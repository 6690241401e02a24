// The registration of a passkey (Web Authentication Level 3 §7.1).
import type { Clock } from '../base/clock.ts'
import { isValidCoseKey } from '../base/certificates/cose-key.ts'
import type { JsonRecord } from '../base/json.ts'
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { Random } from '../base/random.ts'
import type { Passkey } from '../model/users/passkey.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'
import { useOfAttestation } from './attestation.ts'
import { clientDataOf, identityOf, MAX_ID_LENGTH, readAnswer } from './browser-answer.ts'
import type { BrowserAnswer } from './browser-answer.ts'
import { credentialsOf, library, refused, relyingPartyId, TIMEOUT_MILLISECONDS, userHandle } from './ceremony.ts'
import type { Ceremony, PasskeyRefusal } from './ceremony.ts'
import type { ChallengeFor, Challenges } from './challenges.ts'

/** Dependencies of the registration. */
interface RegistrationDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly challenges: Challenges
  /** Root certificates of attestations, in DER; without them, no attestation is requested. */
  readonly attestationRoots?: readonly Uint8Array[]
}

/** COSE algorithms: ES256, EdDSA, RS256. */
const ALGORITHMS = [-7, -8, -257]

const libraryHelpers = loadOnce(() => import('@simplewebauthn/server/helpers'))

/** The options of `navigator.credentials.create` for a new passkey of the user. */
export async function registrationOptions(
  at: Ceremony,
  { user, siteName }: { readonly user: User; readonly siteName: string },
  { store, challenges, attestationRoots: roots = [] }: RegistrationDeps,
): Promise<JsonRecord> {
  const { zoneId, browser } = at
  return {
    rp: { id: relyingPartyId(at), name: siteName },
    user: { id: userHandle(zoneId, user.id), name: user.userName, displayName: user.userName },
    challenge: challenges.issue({ purpose: 'registration', zoneId, browser, userId: user.id }),
    pubKeyCredParams: ALGORITHMS.map(alg => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MILLISECONDS,
    excludeCredentials: await credentialsOf(zoneId, user.id, store),
    // Discoverable without a user name, where the authenticator supports that.
    authenticatorSelection: { residentKey: 'preferred', requireResidentKey: false, userVerification: 'preferred' },
    attestation: roots.length > 0 ? 'direct' : 'none',
  }
}

/** The new passkey in the browser's response; it is not stored yet. */
export async function readRegistration(
  at: Ceremony,
  { user, answer, name }: { readonly user: User; readonly answer: string; readonly name: string },
  deps: RegistrationDeps,
): Promise<{ readonly outcome: 'new'; readonly passkey: Passkey } | PasskeyRefusal> {
  const { clock, random, challenges } = deps
  const of: ChallengeFor = { purpose: 'registration', ...at, userId: user.id }
  const sent = readAnswer(answer, ['clientDataJSON', 'attestationObject'])
  if (!sent) return refused('malformed')
  const { challenge, isFramed } = clientDataOf(sent.response['clientDataJSON'] ?? '')
  if (isFramed || challenges.stateOf(challenge, of) !== 'valid') return refused('challenge')
  const verified = await verify(at, { sent, challenge }, deps).catch((cause: unknown) => refused('invalid', cause))
  if (verified.outcome === 'refused') return verified
  if (!(await challenges.use(challenge, of))) return refused('used')
  if (verified.facts.credentialId.length > MAX_ID_LENGTH) return refused('malformed')
  const passkey = {
    id: random.urlSafe(22),
    userId: user.id,
    ...verified.facts,
    transports: sent.transports,
    name,
    createdAt: clock.now(),
  }
  return { outcome: 'new', passkey }
}

/** The library's result for a valid response. */
interface VerifiedRegistration {
  readonly outcome: 'verified'
  readonly facts: Pick<
    Passkey,
    | 'credentialId'
    | 'publicKey'
    | 'counter'
    | 'aaguid'
    | 'isBackupEligible'
    | 'isBackedUp'
    | 'isAttested'
    | 'hasVerifiedUser'
  >
}

/** Depends only on the response and the roots. The response is invalid if it throws anything. */
async function verify(
  at: Ceremony,
  { sent, challenge }: { readonly sent: BrowserAnswer; readonly challenge: string },
  { clock, attestationRoots: roots = [] }: RegistrationDeps,
): Promise<VerifiedRegistration | PasskeyRefusal> {
  const { verifyRegistrationResponse } = await library()
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await libraryHelpers()
  const bytes = isoBase64URL.toBuffer(sent.response['attestationObject'] ?? '')
  const attestation = decodeAttestationObject(bytes)
  // Decided before the library reads it: with its own roots it would fetch CRLs from URLs in certificates.
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
    expectedRPID: relyingPartyId(at),
    requireUserVerification: false, // a sign-in by passkey alone verifies the user then
    supportedAlgorithmIDs: ALGORITHMS,
  })
  if (!verified) return refused('invalid')
  const { credential, aaguid, credentialBackedUp: isBackedUp, credentialDeviceType, userVerified } = registrationInfo
  const isBackupEligible = credentialDeviceType === 'multiDevice'
  if (!isValidCoseKey(isoCBOR.decodeFirst(credential.publicKey))) return refused('key')
  return {
    outcome: 'verified',
    facts: {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      aaguid,
      isBackupEligible,
      isBackedUp,
      // A synchronized passkey is not bound to this hardware.
      isAttested: use.kind === 'verified' && use.provesHardware && !isBackupEligible,
      hasVerifiedUser: userVerified,
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
