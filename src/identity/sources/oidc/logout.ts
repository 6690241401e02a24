// Reads the logout tokens of OpenID Connect providers (OpenID Connect Back-Channel Logout §2.4, §2.6).
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { decodeJwt } from 'jose/jwt/decode'
import { addSeconds, epochSeconds } from '../../../base/clock.ts'
import type { Clock } from '../../../base/clock.ts'
import { isJsonRecord } from '../../../base/json.ts'
import { isStorable } from '../../../base/text/storable-text.ts'
import { jwtType } from '../../../model/tokens/jwt.ts'
import type { IdentityProvider } from '../../../model/zones/identity-provider.ts'
import type { LogoutNotice } from '../../provider-logout.ts'
import type { ExternalRefusal } from '../../source.ts'
import type { ForeignClaims } from './claims.ts'
import type { OidcSettingsReader } from './settings.ts'
import { refuse } from './token.ts'
import type { TokenCheck } from './token.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Maximum age of a token. Providers send it immediately, and retry only for a short time. */
const MAX_AGE_SECONDS = 300
/** Accepted clock difference. */
const SKEW_SECONDS = 60

/** Reads the logout token of a provider; `jti` is for the caller to compare with those of earlier tokens. */
export function createLogoutReader(deps: { settings: OidcSettingsReader; check: TokenCheck; clock: Clock }) {
  return async (
    provider: IdentityProvider,
    token: string,
  ): Promise<{ readonly outcome: 'genuine'; readonly notice: LogoutNotice } | ExternalRefusal> => {
    // Any caller can send one: anything but a logout token is refused before a document is fetched or a signature verified.
    const notice = noticeIn(token, deps.clock.now())
    if (typeof notice === 'string') return refuse('untrusted', notice)
    const { zoneId } = provider
    const checked = await deps.check(token, await deps.settings.read(provider), { zoneId, purpose: 'background' })
    return checked.outcome === 'refused' ? checked : { outcome: 'genuine', notice }
  }
}

/** §2.4 recommends the first; many providers send `JWT` or nothing. Other types are for other purposes (RFC 8725 §3.11). */
const TYPES: ReadonlySet<unknown> = new Set(['logout+jwt', 'jwt', undefined])

/** What an unverified token says, or why it is no logout token. */
function noticeIn(token: string, now: Date): LogoutNotice | string {
  const read = decoded(token)
  if (!read) return 'The logout token is malformed.'
  const { type, claims } = read
  if (!TYPES.has(type)) return 'The token has another type.'
  const { events, sub, sid, jti, iat } = claims
  if (!isJsonRecord(events) || !isJsonRecord(events[EVENT])) return 'The token has no logout event.'
  if ('nonce' in claims) return 'A logout token must not have a nonce.'
  if (!isText(jti)) return 'The logout token has no jti.'
  if ((sub ?? sid) === undefined || ![sub, sid].every(each => each === undefined || isText(each))) {
    return 'The logout token has neither a sub nor a sid.'
  }
  const seconds = epochSeconds(now)
  if (typeof iat !== 'number' || iat < seconds - MAX_AGE_SECONDS || iat > seconds + SKEW_SECONDS) {
    return 'The logout token is too old or from the future.'
  }
  return {
    id: jti,
    usableUntil: addSeconds(now, MAX_AGE_SECONDS + SKEW_SECONDS + 1),
    ...(isText(sub) && { externalId: sub }),
    ...(isText(sid) && { sid }),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && isStorable(value)

/** The unverified content of a JWT. */
function decoded(token: string): { readonly type: unknown; readonly claims: ForeignClaims } | undefined {
  try {
    return { type: jwtType(decodeProtectedHeader(token).typ), claims: decodeJwt(token) }
  } catch {
    return undefined
  }
}
