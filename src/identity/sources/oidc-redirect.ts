// Signs users in at an OpenID Connect provider with the authorization code flow (OpenID Connect Core §3.1). See
// docs/decisions/0014-upstream-sign-in.md.
import type { Outbound } from '../../base/outbound.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import type { AnswerShape, ExternalPerson, ExternalRefusal, RedirectAnswer, RedirectSignIn } from '../source.ts'
import type { ClientAuthenticationDeps } from './client-authentication.ts'
import { authorizationUrl, codeEndpoints, createCodeExchange, shareOf, unavailable, usesCode } from './code-flow.ts'
import type { CodeEndpoints } from './code-flow.ts'
import type { ForeignClaims } from './oidc-claims.ts'
import { scopesOf } from './oidc-request.ts'
import type { OidcRecord } from './oidc-request.ts'
import type { OidcSettings, OidcSettingsReader } from './oidc-settings.ts'
import { idTokenProblem, refuse } from './oidc-token.ts'
import type { TokenCheck } from './oidc-token.ts'

/** Dependencies of `createOidcRedirect`. */
export interface OidcRedirectDeps extends ClientAuthenticationDeps {
  readonly outbound: Outbound
  readonly settings: OidcSettingsReader
  readonly check: TokenCheck
}

/** Maps verified claims to a user. */
export type Read = (
  claims: ForeignClaims,
) => { readonly outcome: 'genuine'; readonly person: ExternalPerson } | ExternalRefusal

/** RFC 6749 §4.1.2, RFC 9207 §2. */
const ANSWER: AnswerShape = { state: 'state', fields: ['code', 'error', 'iss'] }

/** Whether the provider uses the code flow. */
export const mayRedirect = ({ config }: OidcRecord): boolean => usesCode(config)

/** Creates the redirect sign-in of one provider. */
export function createOidcRedirect(deps: OidcRedirectDeps): (provider: IdentityProvider, read: Read) => RedirectSignIn {
  const { check } = deps
  const redeem = createCodeExchange(deps)

  return (provider, read) => ({
    answer: ANSWER,
    async start(start) {
      const { config }: OidcRecord = provider
      const settings = redirectSettings(await deps.settings.read(provider, { wanted: 'endpoints' }))
      if (!settings) return undefined
      const { reauthenticate, maxAge, passedOn } = start
      const demand = reauthenticate ? { prompt: 'login' } : maxAge === undefined ? {} : { max_age: String(maxAge) }
      const first = { ...passedOn, ...demand }
      return authorizationUrl(config, settings, { start, first, own: { scope: scopesOf(config), nonce: start.nonce } })
    },
    async isReady() {
      return redirectSettings(await deps.settings.read(provider, { wanted: 'endpoints' })) !== undefined
    },
    isOffered() {
      const settings = deps.settings.peek(provider, 'endpoints')
      return settings === undefined || redirectSettings(settings) !== undefined
    },
    async finish(answer, attempt) {
      const { purpose } = shareOf(provider)
      const settings = redirectSettings(await deps.settings.read(provider, { wanted: 'endpoints', purpose }))
      if (!settings) return unavailable('the addresses of the provider are not known')
      if (!isFromProvider(answer, settings)) return refuse('untrusted', 'The answer is from another provider.')
      const { error, code } = answer
      if (error !== undefined) return { outcome: 'declined', error }
      if (code === undefined) return refuse('untrusted', 'The answer has neither a code nor an error.')
      const redeemed = await redeem(provider, settings, { code, attempt })
      if (redeemed.outcome !== 'tokens') return redeemed
      const idToken: unknown = Reflect.get(redeemed.tokens, 'id_token')
      if (typeof idToken !== 'string') return refuse('untrusted', 'The provider gave no ID token.')
      const checked = await check(idToken, settings, shareOf(provider))
      if (checked.outcome === 'refused') return checked
      const problem = idTokenProblem(checked, {
        nonce: attempt.nonce,
        relyingPartyId: settings.relyingPartyId,
        accessToken: Reflect.get(redeemed.tokens, 'access_token'),
      })
      return problem ?? read(checked.claims)
    },
  })
}

/** Settings that are complete for a redirect sign-in. */
type RedirectSettings = OidcSettings & CodeEndpoints

function redirectSettings(settings: OidcSettings): RedirectSettings | undefined {
  const endpoints = codeEndpoints(settings)
  return endpoints && { ...settings, ...endpoints }
}

/** RFC 9207 §2.4: `iss` must be the provider's issuer, and must be present if its metadata says so. */
function isFromProvider({ iss: issuer }: RedirectAnswer, settings: OidcSettings): boolean {
  return issuer === undefined ? settings.sendsIssuer !== true : issuer === settings.issuer
}
