// Validates tokens that this server issued: signature or row, zone, expiry and revocation. The only place that does, for
// userinfo, introspection, refresh and every bearer-protected route.
import type { AddressedZone, TokenPresentation } from '../model/request.ts'
import type { TokenKind } from '../model/tokens/authorization.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { Claims } from './claims.ts'
import type { KeyRing } from './keys/keys.ts'
import { kindOf } from './token-kind.ts'
import { createTokenOrigin } from './token-origin.ts'
import { refuseToken } from './token-refusals.ts'
import { createTokenValidity } from './token-validity.ts'
import type { Expected, ValidityDeps, VerifiedToken } from './token-validity.ts'
import type { Verifications } from './verifications.ts'

/** A token that this server issued; it may be expired or revoked. */
export interface IssuedToken {
  readonly kind: TokenKind
  readonly claims: Claims
  readonly expiresAt: Date
  /** The row of an opaque or revocable token, as long as there is one. */
  readonly stored?: StoredToken
}

/** Verifies tokens; every refusal is an `invalid_token`. */
export interface TokenReader {
  /**
   * Checks signature or row, issuer, expiry, revocation, that client, user and scopes are still valid, and that the client that
   * presents an access token is the one it is bound to.
   */
  read(request: TokenPresentation, token: string, expected?: Expected): Promise<VerifiedToken>
  /** Checks the rest of what `read` does, but not who presents the token; for what `readIssued` has read. */
  verifyIssued(
    zone: AddressedZone,
    issued: Pick<IssuedToken, 'claims' | 'stored'>,
    expected: Expected,
  ): Promise<VerifiedToken>
  /** Checks only signature or row, and issuer, for revocation (RFC 7009 §2.1): an unusable token may become usable again. */
  readIssued(zone: AddressedZone, token: string): Promise<IssuedToken>
  /** Checks only signature and issuer of an ID token: a logout hint may be expired (RP-Initiated Logout §4). */
  readHint(zone: AddressedZone, idToken: string): Promise<Claims>
}

/** A JWT longer than this is refused before it is parsed. */
const MAX_TOKEN_LENGTH = 32_768

/** One instance serves every zone. */
export function createTokenReader(deps: ValidityDeps & { keys: KeyRing; verifications: Verifications }): TokenReader {
  const origin = createTokenOrigin(deps)
  const verify = createTokenValidity(deps)

  async function readJwt(
    zone: AddressedZone,
    token: string,
    expected: Expected,
  ): Promise<[Claims, StoredToken | undefined]> {
    const { claims, type } = await origin.readJwt(zone, token)
    if (expected === 'access_token' && kindOf(claims, type) === 'id_token') {
      throw refuseToken('token-kind', 'Invalid access token', 'an ID token is not an access token') // RFC 8725 §3.11
    }
    return [claims, claims['revocable'] === true ? await origin.rowOf(zone, claims) : undefined]
  }

  return {
    async read(presentation, token, expected = 'access_token') {
      const { zone } = presentation
      if (token.length > MAX_TOKEN_LENGTH) throw refuseToken('token-too-long', 'The token is too long.')
      const [claims, stored] = isJwt(token)
        ? await readJwt(zone, token, expected)
        : await origin.readOpaque(zone, token)
      return verify({ claims, stored }, expected, { presentation, token })
    },

    verifyIssued: (zone, issued, expected) =>
      verify(issued, expected, { presentation: { zone, inspected: true }, token: '' }),

    async readIssued(zone, token) {
      if (token.length > MAX_TOKEN_LENGTH) throw refuseToken('token-too-long', 'The token is too long.')
      if (!isJwt(token)) {
        const [claims, stored] = await origin.readOpaque(zone, token)
        return { kind: stored.kind, claims, expiresAt: stored.expiresAt, stored }
      }
      const { claims, type } = await origin.readJwt(zone, token)
      const stored = claims['revocable'] === true ? await origin.rowOf(zone, claims) : undefined
      return {
        kind: kindOf(claims, type),
        claims,
        expiresAt: new Date(Number(claims['exp']) * 1000),
        ...(stored && { stored }),
      }
    },

    async readHint(zone, idToken) {
      if (idToken.length > MAX_TOKEN_LENGTH || !isJwt(idToken)) {
        throw refuseToken('token-kind', 'The hint is not an ID token.')
      }
      const { claims, type } = await origin.readJwt(zone, idToken)
      if (kindOf(claims, type) !== 'id_token' || type !== 'JWT' || claims['events'] !== undefined) {
        throw refuseToken('token-kind', 'The hint is not an ID token.')
      }
      return claims
    },
  }
}

const isJwt = (token: string): boolean => token.split('.').length === 3
