// Whether this server issued a token: the signature and the issuer of a JWT, the row of an opaque token. Not whether it is
// still valid.
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { isJsonRecord } from '../base/json.ts'
import { digest } from '../base/secrets.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import { hasOneSpelling } from '../model/tokens/jwt.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { Urls } from '../model/urls.ts'
import type { Store } from '../store/store.ts'
import type { Claims } from './claims.ts'
import type { KeyRing } from './keys/keys.ts'
import { GONE, refuseToken, shown } from './token-refusals.ts'
import type { Verifications } from './verifications.ts'

const UNVERIFIED = 'Could not verify token signature.'

/** What a JWT says. */
interface SignedToken {
  readonly claims: Claims
  /** `typ` of its header. */
  readonly type: unknown
}

/** Reads tokens that this server issued, and refuses others. */
interface TokenOrigin {
  /** Checks signature and issuer. */
  readJwt(zone: AddressedZone, token: string): Promise<SignedToken>
  /** Finds the row. */
  readOpaque(zone: AddressedZone, token: string): Promise<[Claims, StoredToken]>
  /** The row of a revocable JWT; undefined once it is revoked. */
  rowOf(zone: AddressedZone, claims: Claims): Promise<StoredToken | undefined>
}

/** One instance serves every zone. */
export function createTokenOrigin({
  store,
  keys,
  urls,
  verifications,
}: {
  readonly store: Store
  readonly keys: KeyRing
  readonly urls: Urls
  readonly verifications: Verifications
}): TokenOrigin {
  return {
    async readJwt(zone, token) {
      const header = protectedHeader(token)
      if (typeof header.kid !== 'string') throw refuseToken('token-key', 'kid claim not found in JWT token header')
      const key = await keys.find(zone.id, header.kid)
      if (!key) {
        const description = `Token header claim [kid] references unknown signing key : [${shown(header.kid)}]`
        throw refuseToken('token-key', description)
      }
      if (!hasOneSpelling(token)) throw refuseToken('token-signature', UNVERIFIED)
      let claims: Claims
      try {
        // The key's own algorithm and no other: neither "none" nor HS256 over a public key gets past this line.
        const verify = () => compactVerify(token, key.verifyKey, { algorithms: [key.algorithm] })
        claims = parseClaims((await verifications.inTurn(zone.id, verify)).payload)
      } catch (cause) {
        if (cause instanceof OAuthError) throw cause
        throw new OAuthError('invalid_token', UNVERIFIED, { rule: 'token-signature', cause })
      }
      checkIssuer(zone, claims, urls)
      return { claims, type: header.typ }
    },
    async readOpaque(zone, token) {
      const stored = await store.tokens.find(zone.id, digest(token))
      if (!stored || stored.format !== 'opaque') throw refuseToken('token-unknown', GONE)
      return [{ ...stored.claims, jti: token }, stored]
    },
    rowOf: (zone, claims) => store.tokens.find(zone.id, digest(String(claims['jti']))),
  }
}

function checkIssuer(zone: AddressedZone, claims: Claims, urls: Urls): void {
  const issuers = urls.issuersOf(zone)
  const [expected] = issuers
  if (!issuers.some(issuer => issuer === claims['iss'])) {
    throw refuseToken(
      'token-issuer',
      `Invalid issuer (${shown(String(claims['iss']))}) for token did not match expected: ${expected}`,
    )
  }
}

function protectedHeader(token: string): { kid?: unknown; typ?: unknown } {
  try {
    return decodeProtectedHeader(token)
  } catch (cause) {
    throw new OAuthError('invalid_token', 'The token is malformed.', { rule: 'token-malformed', cause })
  }
}

function parseClaims(payload: Uint8Array): Claims {
  const value: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
  if (!isJsonRecord(value)) throw refuseToken('token-malformed', 'The token is malformed.')
  return value
}
