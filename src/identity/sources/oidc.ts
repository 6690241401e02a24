import { createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { compactVerify, decodeJwt, decodeProtectedHeader } from 'jose'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import type { ExternalRefusal, IdentitySourceType } from '../source.ts'
import { personOf, UnmappableClaims } from './oidc-claims.ts'
import type { ForeignClaims } from './oidc-claims.ts'
import { createOidcSettings } from './oidc-settings.ts'
import type { OidcSettings } from './oidc-settings.ts'

/** Finds another server's key: in the JSON of a key set, or in the one at an address. */
export interface KeyFinder {
  /** Undefined when no key fits; throws when the set cannot be had. */
  find(
    source: { readonly jwks?: string; readonly jwksUri?: string },
    wanted: { readonly kid: string | undefined; readonly alg: string },
  ): Promise<KeyObject | undefined>
}

/** The type of OpenID Connect providers. */
export const OIDC = 'oidc1.0'

// Never `none`, and nothing symmetric: whoever can read a public key could sign with it otherwise.
const ALGORITHM = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/
/** How far two clocks may differ. */
const SKEW_SECONDS = 60

const refuse = (reason: ExternalRefusal['reason'], description: string): ExternalRefusal => ({
  outcome: 'refused',
  reason,
  description,
})

const notProven = (detail: string): ExternalRefusal => ({
  ...refuse('untrusted', 'Could not verify token signature.'),
  detail,
})

/** What reading the tokens of OpenID Connect providers needs. */
export interface OidcDeps {
  readonly outbound: Outbound
  readonly foreignKeys: KeyFinder
  readonly clock: Clock
}

/** OpenID Connect providers: their ID tokens and JWT access tokens are read as assertions. */
export function oidcSource(deps: OidcDeps): IdentitySourceType {
  const { foreignKeys, clock } = deps
  const settingsOf = createOidcSettings(deps)

  /** Named by the record and nothing else: what the token's header says of keys (`jku`, `x5u`, `jwk`) is not looked at. */
  async function keyFor(
    { tokenKey, tokenKeyUrl }: OidcSettings,
    wanted: { kid: string | undefined; alg: string },
  ): Promise<KeyObject | undefined> {
    if (tokenKey?.startsWith('-----BEGIN')) return createPublicKey(tokenKey)
    if (tokenKey !== undefined) return foreignKeys.find({ jwks: tokenKey }, wanted)
    if (tokenKeyUrl !== undefined) return foreignKeys.find({ jwksUri: tokenKeyUrl }, wanted)
    return undefined
  }

  /** The claims that the provider signed; throws for whatever is wrong with token, key or key document. */
  async function verify(assertion: string, settings: OidcSettings): Promise<ForeignClaims> {
    const { alg, kid } = decodeProtectedHeader(assertion)
    if (alg === undefined || !ALGORITHM.test(alg)) throw new Error('the algorithm is not allowed')
    const key = await keyFor(settings, { kid, alg })
    if (!key) throw new Error('no key of the provider fits')
    const { payload } = await compactVerify(assertion, key, { algorithms: [alg] })
    const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    if (typeof claims !== 'object' || claims === null) throw new Error('the payload is no object')
    return { ...claims }
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

  return {
    type: OIDC,
    open: (_, provider) => ({
      assertion: {
        async isFrom(assertion) {
          const claimed = claimedIssuer(assertion)
          return claimed !== undefined && (await settingsOf(provider)).issuer === claimed
        },
        async read(assertion) {
          const settings = await settingsOf(provider)
          return verify(assertion, settings).then(
            claims => problemOf(claims, settings) ?? map(claims, provider, clock.now()),
            (cause: unknown) => notProven(cause instanceof Error ? cause.message : String(cause)),
          )
        },
      },
    }),
  }
}

function map(
  claims: ForeignClaims,
  { config }: IdentityProvider,
  now: Date,
): { outcome: 'genuine'; person: ReturnType<typeof personOf> } | ExternalRefusal {
  try {
    return { outcome: 'genuine', person: personOf(claims, config['attributeMappings'], now) }
  } catch (error) {
    if (error instanceof UnmappableClaims) return refuse('unusable', error.message)
    throw error
  }
}

/** What a token says of its issuer before anything is proven; undefined for what is no JWT. */
function claimedIssuer(assertion: string): string | undefined {
  try {
    const { iss } = decodeJwt(assertion)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined // then it is nobody's
  }
}

/** RFC 7519 §2: seconds since 1970, as far as a date reaches. */
function momentOf(value: unknown): Date | undefined {
  if (typeof value !== 'number') return undefined
  const moment = new Date(value * 1000)
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : typeof value)
