// The authentication with a passkey (Web Authentication Level 3 §7.2).
import type { Clock } from '../base/clock.ts'
import type { JsonRecord } from '../base/json.ts'
import type { Level } from '../model/sessions/assurance.ts'
import type { Passkey } from '../model/users/passkey.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'
import { clientDataOf, identityOf, readAnswer } from './browser-answer.ts'
import type { BrowserAnswer } from './browser-answer.ts'
import { credentialsOf, library, refused, relyingPartyId, TIMEOUT_MILLISECONDS, userHandle } from './ceremony.ts'
import type { Ceremony, PasskeyRefusal } from './ceremony.ts'
import type { ChallengeFor, Challenges } from './challenges.ts'

/** Dependencies of the authentication. */
interface AuthenticationDeps {
  readonly store: Store
  readonly clock: Clock
  readonly challenges: Challenges
}

/** What a passkey proved. */
export interface PasskeyProof {
  readonly outcome: 'proved'
  readonly userId: string
  readonly level: Level
  /** RFC 8176, without `mfa`. */
  readonly amr: readonly string[]
}

/** What a passkey proves by itself, without the user's verification. */
export const provenBy = ({ isAttested }: Pick<Passkey, 'isAttested'>): Pick<PasskeyProof, 'level' | 'amr'> =>
  isAttested ? { level: 'phrh', amr: ['hwk'] } : { level: 'phr', amr: ['pop'] }

const purposeFor = (user: User | undefined): ChallengeFor['purpose'] => (user ? 'second factor' : 'sign-in')

/** The options of `navigator.credentials.get`: with a user for a second factor, else to identify the user. */
export async function authenticationOptions(
  at: Ceremony,
  user: User | undefined,
  { store, challenges }: AuthenticationDeps,
): Promise<JsonRecord> {
  const { zoneId, browser } = at
  return {
    rpId: relyingPartyId(at),
    challenge: challenges.issue({ purpose: purposeFor(user), zoneId, browser, userId: user?.id }),
    timeout: TIMEOUT_MILLISECONDS,
    userVerification: user ? 'preferred' : 'required',
    ...(user && { allowCredentials: await credentialsOf(zoneId, user.id, store) }),
  }
}

/** Verifies the browser's response, and records the use of the passkey. */
export async function authenticate(
  at: Ceremony,
  { answer, user }: { readonly answer: string; readonly user?: User },
  { store, clock, challenges }: AuthenticationDeps,
): Promise<PasskeyProof | PasskeyRefusal> {
  const { zoneId } = at
  const of: ChallengeFor = { purpose: purposeFor(user), ...at, userId: user?.id }
  const sent = readAnswer(answer, ['clientDataJSON', 'authenticatorData', 'signature'])
  if (!sent) return refused('malformed')
  const { challenge, isFramed } = clientDataOf(sent.response['clientDataJSON'] ?? '')
  const state = challenges.stateOf(challenge, of)
  if (isFramed || state === 'unknown') return refused('challenge')
  if (state === 'expired') return refused('expired')
  const passkey = await store.factors.findPasskey(zoneId, sent.id)
  if (!passkey) return refused('unknown')
  const handle = userHandle(zoneId, passkey.userId)
  const { userHandle: sentHandle } = sent
  const isTheirs = user ? passkey.userId === user.id && (sentHandle ?? handle) === handle : sentHandle === handle
  if (!isTheirs) return refused('other-person')
  const question = { sent, challenge, passkey, verifiesUser: !user }
  const verified = await verify(at, question).catch((cause: unknown) => refused('invalid', cause))
  if (verified.outcome === 'refused') return verified
  // §7.2: one that begins or ceases to be eligible for a backup is not the same credential.
  const { isBackupEligible } = passkey
  if (isBackupEligible !== undefined && isBackupEligible !== verified.isBackupEligible) return refused('eligibility')
  // §4, uvInitialized: whoever finds an authenticator without a PIN can give it one. The password has to come first once.
  if (!user && !passkey.hasVerifiedUser) return { ...refused('never-verified'), userId: passkey.userId }
  if (!(await challenges.use(challenge, of))) return refused('used')
  const { outcome: _, ...seen } = verified
  const use = { ...seen, at: clock.now() }
  if (!(await store.factors.usePasskey(zoneId, passkey.credentialId, use))) return refused('counter')
  const { level, amr } = provenBy(passkey)
  return { outcome: 'proved', userId: passkey.userId, level, amr: seen.isUserVerified ? [...amr, 'user'] : amr }
}

/** The library's result for a valid response. */
interface VerifiedAnswer {
  readonly outcome: 'verified'
  readonly counter: number
  readonly isBackupEligible: boolean
  readonly isBackedUp: boolean
  readonly isUserVerified: boolean
}

/** Depends only on the response and the passkey. The response is invalid if it throws anything. */
async function verify(
  at: Ceremony,
  {
    sent,
    challenge,
    passkey,
    verifiesUser,
  }: {
    readonly sent: BrowserAnswer
    readonly challenge: string
    readonly passkey: Passkey
    readonly verifiesUser: boolean
  },
): Promise<VerifiedAnswer | PasskeyRefusal> {
  const { verifyAuthenticationResponse } = await library()
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
    expectedRPID: relyingPartyId(at),
    credential: {
      id: passkey.credentialId,
      publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
      counter: 0, // the database compares, for every process at once
    },
    requireUserVerification: verifiesUser,
  })
  if (!verified) return refused('invalid')
  const { newCounter: counter, credentialBackedUp: isBackedUp, userVerified: isUserVerified } = authenticationInfo
  const isBackupEligible = authenticationInfo.credentialDeviceType === 'multiDevice'
  return { outcome: 'verified', counter, isBackupEligible, isBackedUp, isUserVerified }
}
