// Signs users in at an OpenID Connect provider with the authorization code, implicit or hybrid flow (OpenID Connect Core §3). See
// docs/decisions/0014-upstream-sign-in.md.
import type { Outbound, OutboundShare } from '../../../base/outbound.ts'
import type { IdentityProvider } from '../../../model/zones/identity-provider.ts'
import type {
  AnswerShape,
  ExternalUser,
  ExternalRefusal,
  RedirectAnswer,
  RedirectRefusal,
  RedirectSignIn,
  RedirectSuccess,
} from '../../source.ts'
import type { ClientAuthenticationDeps } from '../client-authentication.ts'
import { authorizationUrl, codeEndpoints, createCodeExchange, shareOf, unavailable } from '../code-flow.ts'
import type { CodeEndpoints } from '../code-flow.ts'
import type { ForeignClaims } from './claims.ts'
import { scopesOf, stringOf } from './request.ts'
import type { OidcRecord } from './request.ts'
import type { OidcSettings, OidcSettingsReader } from './settings.ts'
import { idTokenProblem, refuse } from './token.ts'
import type { ExpectedIdToken, TokenCheck, VerifiedToken } from './token.ts'
import type { UserinfoAccess } from './userinfo.ts'
import type { OidcProviderConfig } from '../../../records/provider-oauth.ts'

/** Dependencies of `createOidcRedirect`. */
export interface OidcRedirectDeps extends ClientAuthenticationDeps {
  readonly outbound: Outbound
  readonly settings: OidcSettingsReader
  readonly check: TokenCheck
}

/** Maps verified claims to a user, and asks for those that are missing. */
export type Read = (
  claims: ForeignClaims,
  access: UserinfoAccess,
) => Promise<{ readonly outcome: 'genuine'; readonly externalUser: ExternalUser } | RedirectRefusal>

/** RFC 6749 §4.1.2, RFC 9207 §2. */
const ANSWER: AnswerShape = { state: 'state', fields: ['code', 'error', 'iss'] }
/** OpenID Connect Core §3.2.2.5 and §3.3.2.5. */
const ANSWER_WITH_TOKENS: AnswerShape = {
  state: 'state',
  fields: ['code', 'id_token', 'access_token', 'error', 'iss'],
  hasTokens: true,
}

/** The kinds of the record's response type; a code alone unless it says otherwise. */
const kindsOf = ({ responseType }: OidcProviderConfig): ReadonlySet<string> =>
  new Set((stringOf(responseType) ?? 'code').split(' ').filter(kind => kind !== ''))

const KINDS = new Set(['code', 'id_token', 'token'])

/** Whether the response type leads to an ID token; an access token that came through the browser proves nothing. */
export function mayRedirect({ config }: OidcRecord): boolean {
  const { responseType } = config
  if ((responseType ?? undefined) !== undefined && typeof responseType !== 'string') return false
  const kinds = kindsOf(config)
  return [...kinds].every(kind => KINDS.has(kind)) && (kinds.has('code') || kinds.has('id_token'))
}

/** Creates the redirect sign-in of one provider. */
export function createOidcRedirect(deps: OidcRedirectDeps): (provider: IdentityProvider, read: Read) => RedirectSignIn {
  const { check } = deps
  const redeem = createCodeExchange(deps)

  /** Verifies an ID token as part of the answer. */
  async function verify(
    idToken: unknown,
    settings: RedirectSettings,
    { share, ...expected }: Omit<ExpectedIdToken, 'relyingPartyId'> & { readonly share: OutboundShare },
  ): Promise<VerifiedToken | ExternalRefusal> {
    if (typeof idToken !== 'string') return refuse('untrusted', 'The provider did not return an ID token.')
    const checked = await check(idToken, settings, share)
    if (checked.outcome === 'refused') return checked
    return idTokenProblem(checked, { ...expected, relyingPartyId: settings.relyingPartyId }) ?? checked
  }

  return (provider, read) => ({
    answer: hasTokens(provider.config) ? ANSWER_WITH_TOKENS : ANSWER,
    async start(start) {
      const { config }: OidcRecord = provider
      const settings = redirectSettings(await deps.settings.read(provider, { wanted: 'endpoints' }))
      if (!settings) return undefined
      const { reauthenticate, maxAge, passedOn } = start
      const demand = reauthenticate ? { prompt: 'login' } : maxAge === undefined ? {} : { max_age: String(maxAge) }
      const first = passedOn ?? {}
      const own = {
        ...demand, // a `prompt` of the record must not replace what the client demands
        scope: scopesOf(config),
        nonce: start.nonce,
        response_type: [...kindsOf(config)].join(' '),
        ...(hasTokens(config) && settings.postsAnswers && { response_mode: 'form_post' }),
      }
      return authorizationUrl(config, settings, { start, first, own })
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
      if (!settings) return unavailable('the endpoints of the provider are unknown')
      const hasIssuer = kindsOf(provider.config).has('id_token') && answer['id_token'] !== undefined
      if (!isFromProvider(answer, settings, hasIssuer))
        return refuse('untrusted', 'The response is from another provider.')
      deps.settings.peek(provider, 'logout') // fetches it where it is unknown, so that the logout need not wait
      const { error, code, id_token: idToken, access_token: accessToken } = answer
      if (error !== undefined) return { outcome: 'declined', error }
      const kinds = kindsOf(provider.config)
      const share = shareOf(provider)
      const { userInfoUrl } = settings
      const { nonce } = attempt
      const expected = {
        nonce,
        accessToken,
        isFromBrowser: true,
        share,
        ...(kinds.has('code') && { code: code ?? '' }),
      }
      const shown = kinds.has('id_token') ? await verify(idToken, settings, expected) : undefined
      if (shown?.outcome === 'refused') return shown
      if (shown && !kinds.has('code'))
        return complete(shown, idToken, read(shown.claims, { userInfoUrl, accessToken, share }))
      if (code === undefined) return refuse('untrusted', 'The response has neither a code nor an error.')
      const redeemed = await redeem(provider, settings, { code, attempt })
      if (redeemed.outcome !== 'tokens') return redeemed
      const { access_token: ownToken, id_token: ownIdToken } = redeemed.tokens as Readonly<Record<string, unknown>> // a JSON object
      const checked = await verify(ownIdToken, settings, { nonce, accessToken: ownToken, share })
      if (checked.outcome === 'refused') return checked
      // OpenID Connect Core §3.3.3.6
      if (shown && shown.claims['sub'] !== checked.claims['sub']) {
        return refuse('untrusted', 'The two ID tokens have different subjects.')
      }
      return complete(checked, ownIdToken, read(checked.claims, { userInfoUrl, accessToken: ownToken, share }))
    },
  })
}

/** Whether tokens come through the browser. */
const hasTokens = (config: OidcProviderConfig): boolean => [...kindsOf(config)].some(kind => kind !== 'code')

/** Adds what the logout needs. */
async function complete(
  { claims: { sid } }: VerifiedToken,
  idToken: unknown,
  reading: ReturnType<Read>,
): Promise<RedirectSuccess | RedirectRefusal> {
  const read = await reading
  if (read.outcome !== 'genuine' || typeof idToken !== 'string') return read
  return { ...read, upstream: { logoutHint: idToken, ...(typeof sid === 'string' && sid !== '' && { sid }) } }
}

/** Settings that are complete for a redirect sign-in. */
type RedirectSettings = OidcSettings & CodeEndpoints

/** Settings that were checked before: the reader gives the same object until something changes. */
const checkedSettings = new WeakMap<OidcSettings, { readonly settings: RedirectSettings | undefined }>()

function redirectSettings(settings: OidcSettings): RedirectSettings | undefined {
  const before = checkedSettings.get(settings)
  if (before) return before.settings
  const endpoints = codeEndpoints(settings)
  const checked = { settings: endpoints && { ...settings, ...endpoints } }
  checkedSettings.set(settings, checked)
  return checked.settings
}

/**
 * RFC 9207 §2.4: `iss` must be the provider's issuer, and must be present if its metadata says so. An ID token in the same
 * answer names the issuer itself, and is verified next.
 */
function isFromProvider({ iss: issuer }: RedirectAnswer, settings: OidcSettings, hasIssuer: boolean): boolean {
  return issuer === undefined ? settings.sendsIssuer !== true || hasIssuer : issuer === settings.issuer
}
