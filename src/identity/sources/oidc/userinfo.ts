// Completes an ID token with what the provider's userinfo endpoint says (OpenID Connect Core §5.3).
import { memberOf } from '../../../base/json.ts'
import { OutboundBusy } from '../../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../../base/outbound.ts'
import type { OidcProviderConfig } from '../../../records/provider-oauth.ts'
import type { RedirectRefusal } from '../../source.ts'
import { claimsFor, mappedClaims } from './claims.ts'
import type { ForeignClaims } from './claims.ts'
import { refuse } from './token.ts'
import { readUserinfo } from '../userinfo.ts'

/** Where to ask, and with what. */
export interface UserinfoAccess {
  readonly userInfoUrl?: string | undefined
  /** From the same response, unverified. */
  readonly accessToken: unknown
  readonly share: OutboundShare
}

/** Claims that a user usually has, if the record does not map others. */
const PROFILE_CLAIMS = ['email', 'given_name', 'family_name'] as const
/** How and when the user signed in comes only from the signed token. */
const OF_THE_TOKEN = ['amr', 'acr', 'auth_time'] as const

/**
 * The claims, completed where one is missing that the record maps or a user usually has. The usual ones may be missing
 * in the end; one that the record maps must not, because of an endpoint that fails: missing groups would be taken away.
 */
export async function completed(
  outbound: Outbound,
  claims: ForeignClaims,
  { config, access }: { readonly config: OidcProviderConfig; readonly access: UserinfoAccess },
): Promise<{ readonly outcome: 'described'; readonly claims: ForeignClaims } | RedirectRefusal> {
  const { userInfoUrl, accessToken, share } = access
  const lacks = (claim: string): boolean => (memberOf(claims, claim) ?? undefined) === undefined
  const lacksMapped = mappedClaims(config).some(lacks)
  const lacksProfileClaims = PROFILE_CLAIMS.some(
    name => claimsFor(config.attributeMappings, name).length === 0 && lacks(name),
  )
  const unchanged = { outcome: 'described', claims } as const
  if (userInfoUrl === undefined || typeof accessToken !== 'string' || !(lacksMapped || lacksProfileClaims))
    return unchanged
  const answer = await readUserinfo(outbound, userInfoUrl, { accessToken, share }).catch((cause: unknown) => {
    if (cause instanceof OutboundBusy && !lacksMapped) return unchanged
    throw cause
  })
  if (answer === unchanged) return unchanged
  if (answer.outcome !== 'described') return lacksMapped ? answer : unchanged
  // OpenID Connect Core §5.3.2: otherwise it may be about another user.
  if (answer.claims['sub'] !== claims['sub']) return refuse('untrusted', 'The userinfo response is about another user.')
  const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null))
  return { outcome: 'described', claims: merged(given, answer.claims, config) }
}

/** The token takes precedence. What verifies an address, also by a mapped claim, stays with the address that it was asserted for. */
function merged(
  token: ForeignClaims,
  userinfo: ForeignClaims,
  { attributeMappings: mappings }: OidcProviderConfig,
): ForeignClaims {
  const [email = 'email'] = claimsFor(mappings, 'email')
  const all: Record<string, unknown> = { ...userinfo, ...token }
  for (const name of OF_THE_TOKEN) if (!Object.hasOwn(token, name)) delete all[name]
  const address = memberOf(token, email) ?? undefined
  if (address !== undefined && memberOf(userinfo, email) === address) return all
  const source = address === undefined ? userinfo : token
  for (const name of ['email_verified', ...claimsFor(mappings, 'email_verified')]) {
    delete all[name]
    if (Object.hasOwn(source, name)) all[name] = source[name]
  }
  return all
}
