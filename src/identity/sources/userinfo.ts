// Calls a provider's userinfo endpoint with the access token of the user (RFC 6750 §2.1).
import { isJsonRecord } from '../../base/json.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'
import type { RedirectRefusal } from '../source.ts'
import type { ForeignClaims } from './oidc/claims.ts'

/** The claims of the endpoint, or the reason why there are none. */
type Userinfo = { readonly outcome: 'described'; readonly claims: ForeignClaims } | RedirectRefusal

/** RFC 6749 §A.12; anything else could add header fields to the request. */
const isAccessToken = (value: unknown): value is string => typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)

/**
 * Reads the claims. The access token is that of a token response, unverified. Every failure except `OutboundBusy` is `unavailable`:
 * the provider refuses a token that it has just issued, or does not return a JSON object.
 */
export async function readUserinfo(
  outbound: Outbound,
  url: string,
  { accessToken, share }: { readonly accessToken: unknown; readonly share: OutboundShare },
): Promise<Userinfo> {
  if (!isAccessToken(accessToken))
    return { outcome: 'unavailable', detail: 'the provider did not return an access token' }
  const authorization = `Bearer ${accessToken}`
  // GitHub refuses requests without a user agent.
  const headers = { accept: 'application/json', authorization, 'user-agent': 'Latchkey' }
  try {
    const response = await outbound.fetch(url, { headers, share })
    if (response.status !== 200) {
      return { outcome: 'unavailable', detail: `the userinfo endpoint responded with status ${response.status}` }
    }
    const claims = parse(await response.arrayBuffer())
    if (!claims) return { outcome: 'unavailable', detail: 'the userinfo endpoint did not return a JSON object' }
    return { outcome: 'described', claims }
  } catch (error) {
    if (error instanceof OutboundError) return { outcome: 'unavailable', detail: error.message }
    throw error
  }
}

/** Refuses what is no UTF-8: replaced characters could make the identifiers of two users equal. */
function parse(body: ArrayBuffer): ForeignClaims | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return isJsonRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
