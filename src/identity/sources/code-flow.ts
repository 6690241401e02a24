// The authorization code flow (RFC 6749 §4.1) with PKCE, for every type of provider that has it: the address that the browser
// is sent to, and the exchange of the code. What the tokens say is read elsewhere.
import { memberOf } from '../../base/json.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'
import { digest } from '../../base/secrets.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { isOwnParameter } from '../../providers/provider-oauth.ts'
import type { OidcProviderConfig } from '../../records/provider-oauth.ts'
import type { RedirectAttempt, RedirectRefusal, RedirectStart } from '../source.ts'
import { createClientAuthentication } from './client-authentication.ts'
import type { ClientAuthenticationDeps } from './client-authentication.ts'
import { errorOf, parseObject, stringOf } from './oidc/request.ts'
import type { OidcRecord } from './oidc/request.ts'
import { refuse } from './oidc/token.ts'

/** The settings that the flow needs. */
export interface CodeEndpoints {
  readonly authUrl: string
  readonly tokenUrl: string
  /** The client id of this server at the provider. */
  readonly relyingPartyId: string
}

/** The tokens of a redeemed code, unverified. */
interface Redeemed {
  readonly outcome: 'tokens'
  readonly tokens: object
}

/** Exchanges a code for tokens. */
type CodeExchange = (
  provider: IdentityProvider,
  endpoints: CodeEndpoints,
  redeemable: { readonly code: string; readonly attempt: RedirectAttempt },
) => Promise<Redeemed | RedirectRefusal>

/** `sign-in`: connections reserved for users who return from a provider. */
export const shareOf = ({ zoneId, originKey }: IdentityProvider): OutboundShare => ({
  zoneId,
  provider: originKey,
  purpose: 'sign-in',
})

/** The refusal of a provider that did not answer, or not as its protocol says; the detail is for the log. */
export const unavailable = (detail: string): RedirectRefusal => ({ outcome: 'unavailable', detail })

/** The settings, if they are complete for the flow. */
export function codeEndpoints(
  settings: { [K in keyof CodeEndpoints]?: string | undefined },
): CodeEndpoints | undefined {
  const { authUrl, tokenUrl, relyingPartyId } = settings
  if (tokenUrl === undefined || relyingPartyId === undefined) return undefined
  // The browser is redirected there: a record or discovery document must not supply another scheme, such as javascript.
  if (authUrl === undefined || !URL.canParse(authUrl) || !/^https?:$/.test(new URL(authUrl).protocol)) return undefined
  return { authUrl, tokenUrl, relyingPartyId }
}

/** Whether the record asks for the code flow; with other response types, tokens would pass through the browser. */
export const usesCode = ({ responseType }: OidcProviderConfig): boolean =>
  responseType === undefined || responseType === null || responseType === 'code'

/**
 * The authorization URL. `first` are parameters that the record may replace (`additionalAuthzParameters`), `own` are
 * those that it may not.
 */
export function authorizationUrl(
  config: OidcProviderConfig,
  { authUrl, relyingPartyId }: CodeEndpoints,
  { start, first, own }: { start: RedirectStart; first: Parameters; own: Parameters },
): string {
  const { redirectUri, state, codeVerifier, userName } = start
  const url = new URL(authUrl)
  const wanted = {
    ...first,
    ...additionalParameters(config),
    client_id: relyingPartyId,
    response_type: 'code',
    redirect_uri: redirectUri,
    state,
    ...own,
    ...(usesPkce(config) &&
      (own['response_type'] ?? 'code').includes('code') && {
        code_challenge: digest(codeVerifier),
        code_challenge_method: 'S256',
      }), // RFC 7636 §4.2
  }
  for (const [name, value] of Object.entries(wanted)) url.searchParams.set(name, value)
  const propagation = stringOf(config.userPropagationParameter)
  if (propagation !== undefined && userName && mayCarryName(propagation)) url.searchParams.set(propagation, userName)
  return url.href
}

type Parameters = Readonly<Record<string, string>>

/** Makes the exchange. Never passes on the provider's error texts, which may repeat secrets of the request. */
export function createCodeExchange(deps: ClientAuthenticationDeps & { outbound: Outbound }): CodeExchange {
  const { outbound } = deps
  const prove = createClientAuthentication(deps)
  return async (provider, endpoints, { code, attempt }) => {
    const { config }: OidcRecord = provider
    const { tokenUrl, relyingPartyId } = endpoints
    const proof = await prove(provider, endpoints)
    if (proof.outcome !== 'proof') return proof
    const body = new URLSearchParams({
      ...additionalParameters(config),
      grant_type: 'authorization_code',
      code,
      redirect_uri: attempt.redirectUri,
      client_id: relyingPartyId,
      ...proof.fields,
      ...(usesPkce(config) && { code_verifier: attempt.codeVerifier }),
    })
    const headers = {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...proof.headers,
    }
    const share = shareOf(provider)
    try {
      const response = await outbound.fetch(tokenUrl, { method: 'POST', headers, body: body.toString(), share })
      const answer = isForm(response) ? formObject(await response.text()) : parseObject(await response.text())
      if (response.status >= 500) return unavailable(`the token endpoint responded with status ${response.status}`)
      // GitHub: answers 200 with an error.
      if (response.status !== 200 || memberOf(answer, 'error') !== undefined)
        return refuse('untrusted', REFUSED, `${response.status} ${errorOf(answer)}`)
      return answer
        ? { outcome: 'tokens', tokens: answer }
        : unavailable('the token endpoint did not return a JSON object')
    } catch (error) {
      if (error instanceof OutboundError) return unavailable(error.message)
      throw error
    }
  }
}

const REFUSED = 'The provider did not accept the code.'

/** GitHub: responds with a form unless JSON is requested, and some providers ignore `Accept`. */
const isForm = ({ headers }: Response): boolean =>
  /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers.get('content-type') ?? '')

/** The fields of a form; undefined if one is repeated (RFC 6749 §5.1). */
function formObject(text: string): object | undefined {
  const fields = [...new URLSearchParams(text)]
  const names = new Set(fields.map(([name]) => name))
  return names.size === fields.length ? Object.fromEntries(fields) : undefined
}

/** `response_mode` is reserved because the response is read from the query. */
const isReserved = (name: string): boolean => isOwnParameter(name) || name === 'response_mode'

/** `username` is the password grant's own; in an authorization request it has no other meaning. */
const mayCarryName = (name: string): boolean => name === 'username' || !isReserved(name)

/** Required without a client secret: nothing else would bind the code to this server. */
const usesPkce = (config: OidcProviderConfig): boolean =>
  config.pkce !== false || stringOf(config.relyingPartySecret) === undefined

function additionalParameters(config: OidcProviderConfig): Parameters {
  const given = config.additionalAuthzParameters
  if (typeof given !== 'object' || given === null) return {}
  return Object.fromEntries(
    Object.entries(given).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && !isReserved(entry[0]),
    ),
  )
}
