// Signs users in at an OpenID Connect provider with the authorization code flow (OpenID Connect Core §3.1). See
// docs/decisions/0014-upstream-sign-in.md.
import { OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'
import { digest } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import { isOwnParameter } from '../../providers/provider-oauth.ts'
import { openProviderSecrets } from '../../providers/provider-secrets.ts'
import type {
  AnswerShape,
  ExternalPerson,
  ExternalRefusal,
  RedirectAnswer,
  RedirectAttempt,
  RedirectRefusal,
  RedirectSignIn,
} from '../source.ts'
import type { ForeignClaims } from './oidc-claims.ts'
import { basic, errorOf, parseObject, scopesOf, stringOf } from './oidc-request.ts'
import type { OidcRecord } from './oidc-request.ts'
import type { OidcSettings, OidcSettingsReader } from './oidc-settings.ts'
import { idTokenProblem, refuse } from './oidc-token.ts'
import type { TokenCheck } from './oidc-token.ts'
import type { OidcProviderConfig } from '../../records/provider-oauth.ts'

/** Dependencies of `createOidcRedirect`. */
export interface OidcRedirectDeps {
  readonly outbound: Outbound
  readonly vault: Vault
  readonly settings: OidcSettingsReader
  readonly check: TokenCheck
}

/** Maps verified claims to a user. */
export type Read = (
  claims: ForeignClaims,
) => { readonly outcome: 'genuine'; readonly person: ExternalPerson } | ExternalRefusal

/** RFC 6749 §4.1.2, RFC 9207 §2. */
const ANSWER: AnswerShape = { state: 'state', fields: ['code', 'error', 'iss'] }

/** Whether the provider uses the code flow; with other response types, tokens would pass through the browser. */
export const mayRedirect = ({ config }: OidcRecord): boolean =>
  config.responseType === undefined || config.responseType === null || config.responseType === 'code'

/** `response_mode` is reserved because the response is read from the query. */
const isReserved = (name: string): boolean => isOwnParameter(name) || name === 'response_mode'

/** Creates the redirect sign-in of one provider. */
export function createOidcRedirect(deps: OidcRedirectDeps): (provider: IdentityProvider, read: Read) => RedirectSignIn {
  const { outbound, vault, check } = deps

  /** Exchanges the code for tokens. */
  async function redeem(
    provider: IdentityProvider,
    { tokenUrl, relyingPartyId }: RedirectSettings,
    { code, attempt }: { code: string; attempt: RedirectAttempt },
  ): Promise<{ readonly outcome: 'tokens'; readonly tokens: object } | RedirectRefusal> {
    const { config }: OidcRecord = openProviderSecrets(provider, vault)
    const secret = stringOf(config.relyingPartySecret)
    const inBody = config.clientAuthInBody === true
    const body = new URLSearchParams({
      ...additionalParameters(config),
      grant_type: 'authorization_code',
      code,
      redirect_uri: attempt.redirectUri,
      client_id: relyingPartyId,
      ...(secret !== undefined && inBody && { client_secret: secret }),
      ...(usesPkce(config) && { code_verifier: attempt.codeVerifier }),
    })
    const headers = {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(secret !== undefined && !inBody && { authorization: basic(relyingPartyId, secret) }),
    }
    try {
      const response = await outbound.fetch(tokenUrl, {
        method: 'POST',
        headers,
        body: body.toString(),
        share: shareOf(provider),
      })
      const answer = parseObject(await response.text())
      if (response.status >= 500) return unavailable(`the token endpoint answered ${response.status}`)
      if (response.status !== 200) return refuse('untrusted', REFUSED, `${response.status} ${errorOf(answer)}`)
      return answer ? { outcome: 'tokens', tokens: answer } : unavailable('the token endpoint answered no JSON object')
    } catch (error) {
      if (error instanceof OutboundError) return unavailable(error.message)
      throw error
    }
  }

  return (provider, read) => ({
    answer: ANSWER,
    async start({ redirectUri, state, nonce, codeVerifier, userName, reauthenticate }) {
      const { config }: OidcRecord = provider
      const settings = redirectSettings(await deps.settings.read(provider, { wanted: 'endpoints' }))
      if (!settings) return undefined
      const url = new URL(settings.authUrl)
      const wanted = {
        ...(reauthenticate && { prompt: 'login' }),
        ...additionalParameters(config),
        client_id: settings.relyingPartyId,
        response_type: 'code',
        redirect_uri: redirectUri,
        state,
        scope: scopesOf(config),
        nonce,
        ...(usesPkce(config) && { code_challenge: digest(codeVerifier), code_challenge_method: 'S256' }), // RFC 7636 §4.2
      }
      for (const [name, value] of Object.entries(wanted)) url.searchParams.set(name, value)
      const propagation = stringOf(config.userPropagationParameter)
      if (propagation !== undefined && userName && !isReserved(propagation)) {
        url.searchParams.set(propagation, userName)
      }
      return url.href
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

/** `sign-in`: connections reserved for users who return from a provider. */
const shareOf = ({ zoneId }: IdentityProvider): OutboundShare => ({ zoneId, purpose: 'sign-in' })

const REFUSED = 'The provider did not accept the code.'

const unavailable = (detail: string): RedirectRefusal => ({ outcome: 'unavailable', detail })

/** Settings that are complete for a redirect sign-in. */
type RedirectSettings = OidcSettings & Required<Pick<OidcSettings, 'authUrl' | 'tokenUrl' | 'relyingPartyId'>>

function redirectSettings(settings: OidcSettings): RedirectSettings | undefined {
  const { authUrl, tokenUrl, relyingPartyId } = settings
  if (tokenUrl === undefined || relyingPartyId === undefined) return undefined
  // The browser is redirected there: a record or discovery document must not supply another scheme, such as javascript.
  if (authUrl === undefined || !URL.canParse(authUrl) || !/^https?:$/.test(new URL(authUrl).protocol)) return undefined
  return { ...settings, authUrl, tokenUrl, relyingPartyId }
}

/** RFC 9207 §2.4: `iss` must be the provider's issuer, and must be present if its metadata says so. */
function isFromProvider({ iss: issuer }: RedirectAnswer, settings: OidcSettings): boolean {
  return issuer === undefined ? settings.sendsIssuer !== true : issuer === settings.issuer
}

/** Required without a client secret: nothing else would bind the code to this server. */
const usesPkce = (config: OidcProviderConfig): boolean =>
  config.pkce !== false || stringOf(config.relyingPartySecret) === undefined

function additionalParameters(config: OidcProviderConfig): Readonly<Record<string, string>> {
  const given = config.additionalAuthzParameters
  if (typeof given !== 'object' || given === null) return {}
  return Object.fromEntries(
    Object.entries(given).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && !isReserved(entry[0]),
    ),
  )
}
