// Verifies tokens of OpenID Connect providers: signature, issuer, audience and time. Does not know how claims are used.
import { createPublicKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { addSeconds } from '../../../base/clock.ts'
import type { Clock } from '../../../base/clock.ts'
import { OutboundBusy } from '../../../base/outbound.ts'
import type { OutboundShare } from '../../../base/outbound.ts'
import { isWithinRsaLimits } from '../../../base/certificates/rsa-limits.ts'
import { sameSecret } from '../../../base/secrets.ts'
import { hasOneSpelling } from '../../../model/tokens/jwt.ts'
import type { ExternalRefusal } from '../../source.ts'
import type { ForeignClaims } from './claims.ts'
import type { OidcSettings } from './settings.ts'

/** Finds another server's key in a JWK set, inline or at a URL. */
export interface KeyFinder {
  /** Undefined if no key matches; throws if the set is not available. */
  find(
    source: {
      readonly jwks?: string
      readonly jwksUri?: string
      readonly refetch?: boolean
      readonly share?: OutboundShare
    },
    wanted: { readonly kid: string | undefined; readonly alg: string },
  ): Promise<KeyObject | undefined>
  /** Runs the verification of a signature when few others run; zones take turns. */
  inTurn<T>(zoneId: string, verify: () => Promise<T>): Promise<T>
}

/** A verified token. */
export interface VerifiedToken {
  readonly outcome: 'verified'
  readonly claims: ForeignClaims
  /** The algorithm of its signature, which determines that of `at_hash`. */
  readonly alg: string
}

/** Checks signature, issuer, audience and time; fetching keys counts against the share. Throws `OutboundBusy`. */
export type TokenCheck = (
  token: string,
  settings: OidcSettings,
  share?: OutboundShare,
) => Promise<VerifiedToken | ExternalRefusal>

// Neither `none` nor symmetric algorithms, with which a public key could be used as the secret.
const ALGORITHM = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/
/** Accepted clock difference. */
const SKEW_SECONDS = 60

/** Refuses an external sign-in; the description is for the caller, the detail for the log. */
export const refuse = (reason: ExternalRefusal['reason'], description: string, detail?: string): ExternalRefusal => ({
  outcome: 'refused',
  reason,
  description,
  ...(detail !== undefined && { detail }),
})

function strongKey(pem: string): KeyObject {
  const key = createPublicKey(pem)
  if (isWithinRsaLimits(key)) return key
  throw new Error('the RSA key of the provider has too few or too many bits, or its exponent is too long')
}

/** Uses only keys from the provider's record or its discovery document. */
export function createTokenCheck({ foreignKeys, clock }: { foreignKeys: KeyFinder; clock: Clock }): TokenCheck {
  /** Never reads keys from the token's header (`jku`, `x5u`, `jwk`). */
  async function keyFor(
    { tokenKey, tokenKeyUrl, refetchesKeys }: OidcSettings,
    { share, ...wanted }: { kid: string | undefined; alg: string; share: OutboundShare | undefined },
  ): Promise<KeyObject | undefined> {
    if (tokenKey?.startsWith('-----BEGIN')) return strongKey(tokenKey)
    if (tokenKey !== undefined) return foreignKeys.find({ jwks: tokenKey }, wanted)
    if (tokenKeyUrl !== undefined)
      return foreignKeys.find(
        { jwksUri: tokenKeyUrl, ...(refetchesKeys && { refetch: true }), ...(share && { share }) },
        wanted,
      )
    return undefined
  }

  /** Verifies the signature; throws for any problem with the token, key or key document. */
  async function verify(
    token: string,
    settings: OidcSettings,
    share: OutboundShare | undefined,
  ): Promise<VerifiedToken> {
    const { alg, kid } = decodeProtectedHeader(token)
    if (alg === undefined || !ALGORITHM.test(alg)) throw new Error('the algorithm is not allowed')
    const key = await keyFor(settings, { kid, alg, share })
    if (!key) throw new Error('no key of the provider matches')
    if (!hasOneSpelling(token)) throw new Error('the signature is not base64url without padding')
    const verifyText = () => compactVerify(token, key, { algorithms: [alg] })
    const { payload } = await foreignKeys.inTurn(share?.zoneId ?? '', verifyText)
    // Refuses what is no UTF-8: replaced characters could make the identifiers of two users equal.
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    if (typeof claims !== 'object' || claims === null) throw new Error('the payload is not an object')
    return { outcome: 'verified', claims: { ...claims }, alg }
  }

  /** Checks issuer, audience and times. */
  function problemOf(claims: ForeignClaims, { issuer, relyingPartyId }: OidcSettings): ExternalRefusal | undefined {
    if (issuer === undefined || claims['iss'] !== issuer) {
      return refuse('untrusted', `Invalid issuer (${shown(claims['iss'])}) for token did not match expected: ${issuer}`)
    }
    const { aud, exp, nbf } = claims
    if (
      relyingPartyId === undefined ||
      !(aud === relyingPartyId || (Array.isArray(aud) && aud.includes(relyingPartyId)))
    ) {
      return refuse('untrusted', `Some parties were not in the token audience: ${relyingPartyId ?? ''}`)
    }
    const expiresAt = dateOf(exp)
    if (!expiresAt) return refuse('untrusted', 'Token does not bear a valid EXP claim.')
    const now = clock.now()
    if (expiresAt <= now) return refuse('untrusted', `Token expired at ${expiresAt.toISOString()}`)
    if (nbf === undefined) return undefined
    const notBefore = dateOf(nbf)
    return notBefore && notBefore <= addSeconds(now, SKEW_SECONDS)
      ? undefined
      : refuse('untrusted', 'Token is not valid yet.') // RFC 7523 §3
  }

  return (token, settings, share) =>
    verify(token, settings, share).then(
      verified => problemOf(verified.claims, settings) ?? verified,
      (cause: unknown) => {
        if (cause instanceof OutboundBusy) throw cause
        const detail = cause instanceof Error ? cause.message : String(cause)
        return refuse('untrusted', 'Could not verify token signature.', detail)
      },
    )
}

/** Any other audience could present the token, so it must name the client that it was issued to (OpenID Connect Core §3.1.3.7). */
export function partyProblem({ aud, azp }: ForeignClaims, parties: readonly unknown[]): ExternalRefusal | undefined {
  const isForSeveral = Array.isArray(aud) && aud.length > 1
  if ((azp === undefined && !isForSeveral) || (azp !== undefined && parties.includes(azp))) return undefined
  return refuse('untrusted', 'The token was issued to another party.')
}

/** The expectations of an ID token that responds to a request of this server. */
export interface ExpectedIdToken {
  /** Absent if none was sent. */
  readonly nonce?: string
  readonly relyingPartyId: string
  /** The access token of the same response, unverified. */
  readonly accessToken: unknown
  /** The code of the same response, if it came through the browser, where hashes are required (§3.2.2.9, §3.3.2.11). */
  readonly code?: string | undefined
  readonly isFromBrowser?: boolean
}

/** Checks a verified ID token as the response to a request (OpenID Connect Core §3.1.3.7, §3.1.3.8). */
export function idTokenProblem({ claims, alg }: VerifiedToken, expected: ExpectedIdToken): ExternalRefusal | undefined {
  const { nonce, at_hash: tokenHash, c_hash: codeHash } = claims
  const wanted = expected.nonce
  if (wanted !== undefined && (typeof nonce !== 'string' || !sameSecret(nonce, wanted))) {
    return refuse('untrusted', 'The nonce of the token is not the one that was sent.')
  }
  const party = partyProblem(claims, [expected.relyingPartyId])
  if (party) return party
  const { accessToken, code, isFromBrowser = false } = expected
  if (code !== undefined && codeHash !== leftHalfHash(code, alg)) {
    return refuse('untrusted', 'The hash in the token does not match the code.')
  }
  if (tokenHash === undefined && !(isFromBrowser && accessToken !== undefined)) return undefined
  return typeof accessToken === 'string' && tokenHash === leftHalfHash(accessToken, alg)
    ? undefined
    : refuse('untrusted', 'The hash in the token does not match the access token.')
}

/** Uses the hash of the signature algorithm; for Ed25519 that is SHA-512 (RFC 8032 §5.1). */
function leftHalfHash(text: string, alg: string): string {
  const bits = /(?:256|384)$/.exec(alg)?.[0] ?? '512'
  const bytes = hash(`sha${bits}`, text, 'buffer')
  return bytes.subarray(0, bytes.length / 2).toString('base64url')
}

/** Reads a NumericDate (RFC 7519 §2); undefined if it is out of range. */
function dateOf(value: unknown): Date | undefined {
  if (typeof value !== 'number') return undefined
  const moment = new Date(value * 1000)
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : typeof value)
