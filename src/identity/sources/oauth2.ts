// Signs users in at OAuth 2.0 providers that have no OpenID Connect, such as GitHub: by the authorization code flow, then by
// the userinfo endpoint, or else by the access token itself if it is a signed JWT. See
// docs/decisions/0025-identifying-oauth-2-users.md.
import type { Outbound } from '../../base/outbound.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OidcProviderConfig } from '../../records/provider-oauth.ts'
import type { AnswerShape, ExternalUser, IdentitySourceType, RedirectRefusal, RedirectSignIn } from '../source.ts'
import type { ClientAuthenticationDeps } from './client-authentication.ts'
import { authorizationUrl, codeEndpoints, createCodeExchange, shareOf, unavailable, usesCode } from './code-flow.ts'
import type { CodeEndpoints } from './code-flow.ts'
import { externalUserOf, UnmappableClaims } from './oidc/claims.ts'
import type { ForeignClaims, MappingContext } from './oidc/claims.ts'
import { stringOf } from './oidc/request.ts'
import type { OidcRecord } from './oidc/request.ts'
import { createTokenCheck, refuse } from './oidc/token.ts'
import type { KeyFinder } from './oidc/token.ts'
import { signOutUrl } from './sign-out.ts'
import type { SignOutEndpoint } from './sign-out.ts'
import { readUserinfo } from './userinfo.ts'
import { memberOf } from '../../base/json.ts'

/** The type of OAuth 2.0 providers. */
const OAUTH = 'oauth2.0'

/** Dependencies of `oauth2Source`. */
interface Oauth2Deps extends ClientAuthenticationDeps {
  readonly outbound: Outbound
  readonly foreignKeys: KeyFinder
}

/** RFC 6749 §4.1.2, RFC 9207 §2. */
const ANSWER: AnswerShape = { state: 'state', fields: ['code', 'error', 'iss'] }

/** OAuth 2.0 providers: sign-in by redirect, and nothing else. */
export function oauth2Source(deps: Oauth2Deps): IdentitySourceType {
  const redirectTo = createRedirect(deps)
  return {
    type: OAUTH,
    // An access token that comes through the browser may have been issued to another client.
    open: (_, provider, { behaviour }) => ({
      ...(usesCode(provider.config) && { redirect: redirectTo(provider, behaviour) }),
      signOut: signOut => Promise.resolve(signOutUrl(provider.config, signOutEndpoint(provider.config), signOut)),
    }),
  }
}

function createRedirect(deps: Oauth2Deps): (provider: IdentityProvider, behaviour: Behaviour) => RedirectSignIn {
  const { outbound, clock } = deps
  const redeem = createCodeExchange(deps)
  const check = createTokenCheck(deps)

  /** Calls the userinfo endpoint or, if the record has none, verifies the access token. */
  async function claimsOf(
    provider: IdentityProvider,
    settings: Oauth2Settings,
    tokens: object,
  ): Promise<{ readonly outcome: 'described'; readonly claims: ForeignClaims } | RedirectRefusal> {
    const accessToken: unknown = Reflect.get(tokens, 'access_token')
    const type: unknown = Reflect.get(tokens, 'token_type')
    // RFC 6749 §7.1. Providers that leave the type out mean this one.
    if (typeof type === 'string' && type.toLowerCase() !== 'bearer') {
      return refuse('untrusted', 'The provider did not return a bearer token.')
    }
    const { userInfoUrl } = settings
    const share = shareOf(provider)
    if (userInfoUrl !== undefined) {
      const answer = await readUserinfo(outbound, userInfoUrl, { accessToken, share })
      return answer.outcome === 'described' ? { ...answer, claims: withoutAuthentication(answer.claims) } : answer
    }
    if (typeof accessToken !== 'string') return unavailable('the provider did not return an access token')
    const checked = await check(accessToken, settings, share)
    return checked.outcome === 'refused' ? checked : { outcome: 'described', claims: checked.claims }
  }

  return (provider, behaviour) => ({
    answer: ANSWER,
    mayIgnoreDemands: true,
    async start(start) {
      const { config }: OidcRecord = provider
      const settings = settingsOf(config)
      if (!settings) return undefined
      const first = start.reauthenticate ? { prompt: 'login' } : {}
      const scope = scopesOf(config)
      return authorizationUrl(config, settings, { start, first, own: { ...(scope !== '' && { scope }) } })
    },
    isReady: () => Promise.resolve(settingsOf(provider.config) !== undefined),
    isOffered: () => settingsOf(provider.config) !== undefined,
    async finish({ code, error, iss }, attempt) {
      const { config }: OidcRecord = provider
      const settings = settingsOf(config)
      if (!settings) return unavailable('the endpoints of the provider are incomplete')
      if (iss !== undefined && settings.ownIssuer !== undefined && iss !== settings.ownIssuer) {
        return refuse('untrusted', 'The response is from another provider.') // RFC 9207 §2.4
      }
      if (error !== undefined) return { outcome: 'declined', error }
      if (code === undefined) return refuse('untrusted', 'The response has neither a code nor an error.')
      const redeemed = await redeem(provider, settings, { code, attempt })
      if (redeemed.outcome !== 'tokens') return redeemed
      const described = await claimsOf(provider, settings, redeemed.tokens)
      return described.outcome === 'described'
        ? read(described.claims, config, { now: clock.now(), behaviour })
        : described
    },
  })
}

const signOutEndpoint = ({ logoutUrl, relyingPartyId }: OidcProviderConfig): SignOutEndpoint => ({
  logoutUrl: stringOf(logoutUrl),
  relyingPartyId: stringOf(relyingPartyId),
})

/** The settings of a record that are complete for a sign-in. */
interface Oauth2Settings extends CodeEndpoints {
  readonly userInfoUrl?: string
  readonly tokenKey?: string
  readonly tokenKeyUrl?: string
  /** What signed tokens must name. */
  readonly issuer: string
  /** As the record has it. */
  readonly ownIssuer?: string
}

function settingsOf(config: OidcProviderConfig): Oauth2Settings | undefined {
  const text = (name: keyof OidcProviderConfig): string | undefined => stringOf(config[name])
  const [userInfoUrl, tokenKey, tokenKeyUrl] = [text('userInfoUrl'), text('tokenKey'), text('tokenKeyUrl')]
  const endpoints = codeEndpoints({
    authUrl: text('authUrl'),
    tokenUrl: text('tokenUrl'),
    relyingPartyId: text('relyingPartyId'),
  })
  if (!endpoints || (userInfoUrl ?? tokenKey ?? tokenKeyUrl) === undefined) return undefined
  const ownIssuer = text('issuer')
  return {
    ...endpoints,
    issuer: ownIssuer ?? endpoints.tokenUrl,
    ...(ownIssuer !== undefined && { ownIssuer }),
    ...(userInfoUrl !== undefined && { userInfoUrl }),
    ...(tokenKey !== undefined && { tokenKey }),
    ...(tokenKeyUrl !== undefined && { tokenKeyUrl }),
  }
}

/** The scopes of the record; `openid` is not added. */
const scopesOf = ({ scopes }: OidcProviderConfig): string =>
  Array.isArray(scopes) ? scopes.filter(scope => typeof scope === 'string' && scope !== '').join(' ') : ''

/** The endpoint describes a user; only signed tokens may assert how and when they signed in. */
function withoutAuthentication(claims: ForeignClaims): ForeignClaims {
  const { amr: _amr, acr: _acr, auth_time: _authTime, ...rest } = claims
  return rest
}

/** Maps the claims to a user, with the identifier as `sub`. */
function read(
  claims: ForeignClaims,
  config: OidcProviderConfig,
  context: MappingContext,
): { readonly outcome: 'genuine'; readonly externalUser: ExternalUser } | RedirectRefusal {
  const identifier = identifierIn(claims, config.attributeMappings)
  if (typeof identifier === 'string')
    return refuse('untrusted', 'The provider did not send a stable identifier.', identifier)
  const { claim, value } = identifier
  try {
    const externalUser = externalUserOf({ ...claims, [claim]: value, sub: value }, config, context)
    return { outcome: 'genuine', externalUser }
  } catch (error) {
    if (error instanceof UnmappableClaims) return refuse('unusable', error.message)
    throw error
  }
}

/** The stable identifier of a user, and the claim that it comes from; OAuth, unlike OpenID Connect, has no claim for it. */
interface Identifier {
  readonly claim: string
  readonly value: string
}

/**
 * Reads the claim that `attributeMappings.external_id` names; without it `sub`, or `id` where there is no `sub`. Returns
 * the reason, for the log, if no claim identifies the user.
 */
function identifierIn(claims: ForeignClaims, mappings: unknown): Identifier | string {
  const named = memberOf(mappings, 'external_id')
  if (named !== undefined) {
    if (typeof named !== 'string' || named === '') return 'attributeMappings.external_id must name one claim'
    const value = identifier(memberOf(claims, named))
    return value === undefined
      ? `the claim of attributeMappings.external_id is not an identifier`
      : { claim: named, value }
  }
  const [sub, id] = [memberOf(claims, 'sub'), memberOf(claims, 'id')]
  const claim = isGiven(sub) ? 'sub' : 'id'
  const value = identifier(claim === 'sub' ? sub : id)
  if (value === undefined)
    return 'neither sub nor id is an identifier; attributeMappings.external_id can name the claim'
  // If users of the provider can add claims, one whose identifier is `id` could add the `sub` of their choice.
  if (claim === 'sub' && isGiven(id) && identifier(id) !== value) {
    return 'sub and id differ; attributeMappings.external_id must name one of them'
  }
  return { claim, value }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/**
 * A string as it is, or a positive whole number in decimal digits. Above 2^53, different numbers of the JSON text would
 * have become equal; 0 means no user at many providers.
 */
function identifier(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
