// Verifies what an OpenID Connect provider signed: who signed it, for whom and until when. Owns what makes a token genuine;
// refuses to know what becomes of its claims.
import { createPublicKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { OutboundShare } from '../../base/outbound.ts'
import { sameSecret } from '../../base/secrets.ts'
import type { ExternalRefusal } from '../source.ts'
import type { ForeignClaims } from './oidc-claims.ts'
import type { OidcSettings } from './oidc-settings.ts'

/** Finds another server's key: in the JSON of a key set, or in the one at an address. */
export interface KeyFinder {
  /** Undefined when no key fits; throws when the set cannot be had. */
  find(
    source: { readonly jwks?: string; readonly jwksUri?: string; readonly share?: OutboundShare },
    wanted: { readonly kid: string | undefined; readonly alg: string },
  ): Promise<KeyObject | undefined>
}

/** What a genuine token says. */
export interface VerifiedToken {
  readonly outcome: 'verified'
  readonly claims: ForeignClaims
  /** The algorithm of its signature, which is that of the hashes in it. */
  readonly alg: string
}

/** Checks signature, issuer, audience and time of a token; a request for keys that it takes is of the share. */
export type TokenCheck = (
  token: string,
  settings: OidcSettings,
  share?: OutboundShare,
) => Promise<VerifiedToken | ExternalRefusal>

// Never `none`, and nothing symmetric: whoever can read a public key could sign with it otherwise.
const ALGORITHM = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/
/** How far two clocks may differ. */
const SKEW_SECONDS = 60

/** A refusal of an external sign-in, with the caller's words and, where there is more to know, the log's. */
export const refuse = (reason: ExternalRefusal['reason'], description: string, detail?: string): ExternalRefusal => ({
  outcome: 'refused',
  reason,
  description,
  ...(detail !== undefined && { detail }),
})

/** Uses only keys that the provider's record names, itself or by its discovery document. */
export function createTokenCheck({ foreignKeys, clock }: { foreignKeys: KeyFinder; clock: Clock }): TokenCheck {
  /** Named by the record and nothing else: what the token's header says of keys (`jku`, `x5u`, `jwk`) is not looked at. */
  async function keyFor(
    { tokenKey, tokenKeyUrl }: OidcSettings,
    { share, ...wanted }: { kid: string | undefined; alg: string; share: OutboundShare | undefined },
  ): Promise<KeyObject | undefined> {
    if (tokenKey?.startsWith('-----BEGIN')) return createPublicKey(tokenKey)
    if (tokenKey !== undefined) return foreignKeys.find({ jwks: tokenKey }, wanted)
    if (tokenKeyUrl !== undefined) return foreignKeys.find({ jwksUri: tokenKeyUrl, ...(share && { share }) }, wanted)
    return undefined
  }

  /** The claims that the provider signed; throws for whatever is wrong with token, key or key document. */
  async function verify(
    token: string,
    settings: OidcSettings,
    share: OutboundShare | undefined,
  ): Promise<VerifiedToken> {
    const { alg, kid } = decodeProtectedHeader(token)
    if (alg === undefined || !ALGORITHM.test(alg)) throw new Error('the algorithm is not allowed')
    const key = await keyFor(settings, { kid, alg, share })
    if (!key) throw new Error('no key of the provider fits')
    const { payload } = await compactVerify(token, key, { algorithms: [alg] })
    const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    if (typeof claims !== 'object' || claims === null) throw new Error('the payload is no object')
    return { outcome: 'verified', claims: { ...claims }, alg }
  }

  /** What is wrong with the claims of a genuine token. */
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
    const expiresAt = momentOf(exp)
    if (!expiresAt) return refuse('untrusted', 'Token does not bear a valid EXP claim.')
    const now = clock.now()
    if (expiresAt <= now) return refuse('untrusted', `Token expired at ${expiresAt.toISOString()}`)
    if (nbf === undefined) return undefined
    const notBefore = momentOf(nbf)
    return notBefore && notBefore <= addSeconds(now, SKEW_SECONDS)
      ? undefined
      : refuse('untrusted', 'Token is not valid yet.') // RFC 7523 §3
  }

  return (token, settings, share) =>
    verify(token, settings, share).then(
      verified => problemOf(verified.claims, settings) ?? verified,
      (cause: unknown) =>
        refuse(
          'untrusted',
          'Could not verify token signature.',
          cause instanceof Error ? cause.message : String(cause),
        ),
    )
}

/** What an ID token must say besides, because it answers a request of ours. */
export interface IdTokenDemands {
  /** Absent where none was sent. */
  readonly nonce?: string
  readonly relyingPartyId: string
  /** As it came beside the ID token. */
  readonly accessToken: unknown
}

/** What is wrong with a genuine ID token as the answer to a request (OpenID Connect Core §3.1.3.7, §3.1.3.8). */
export function idTokenProblem({ claims, alg }: VerifiedToken, demands: IdTokenDemands): ExternalRefusal | undefined {
  const { nonce, aud, azp, at_hash: tokenHash } = claims
  const wanted = demands.nonce
  if (wanted !== undefined && (typeof nonce !== 'string' || !sameSecret(nonce, wanted))) {
    return refuse('untrusted', 'The nonce of the token is not the one that was sent.')
  }
  const isForSeveral = Array.isArray(aud) && aud.length > 1
  if ((isForSeveral || azp !== undefined) && azp !== demands.relyingPartyId) {
    return refuse('untrusted', 'The token was issued to another party.')
  }
  if (tokenHash === undefined) return undefined
  const { accessToken } = demands
  return typeof accessToken === 'string' && tokenHash === leftHalfHash(accessToken, alg)
    ? undefined
    : refuse('untrusted', 'The token does not belong to the access token beside it.')
}

/** The hash of the algorithm's own length; that of EdDSA with Ed25519 is SHA-512 (RFC 8032 §5.1). */
function leftHalfHash(text: string, alg: string): string {
  const bits = /(?:256|384)$/.exec(alg)?.[0] ?? '512'
  const bytes = hash(`sha${bits}`, text, 'buffer')
  return bytes.subarray(0, bytes.length / 2).toString('base64url')
}

/** RFC 7519 §2: seconds since 1970, as far as a date reaches. */
function momentOf(value: unknown): Date | undefined {
  if (typeof value !== 'number') return undefined
  const moment = new Date(value * 1000)
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : typeof value)
