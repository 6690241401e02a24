// Sends a user name and password to an OpenID Connect provider (RFC 6749 §4.3), for providers with
// `passwordGrantEnabled`. Returns the claims of a verified ID token, never the provider's error texts, which may repeat
// the password.
import { OutboundError } from '../../../base/outbound.ts'
import type { OutboundShare } from '../../../base/outbound.ts'
import { promptsOfProvider } from '../../../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../../model/zones/identity-provider.ts'
import type { PasswordRelay, RedirectRefusal, RelayedAttempt } from '../../source.ts'
import { createClientAuthentication } from '../client-authentication.ts'
import type { OidcRedirectDeps, Read } from './redirect.ts'
import { errorOf, parseObject, scopesOf } from './request.ts'
import type { OidcRecord } from './request.ts'
import { idTokenProblem, refuse } from './token.ts'

/** Whether clients may send passwords of the provider's users. */
export const mayRelay = ({ config }: OidcRecord): boolean => config.passwordGrantEnabled === true

/** Form fields that are never sent as answers to the provider's prompts. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'username',
  'password',
  'passcode',
  'grant_type',
  'response_type',
  'scope',
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
])

/** Creates the relay of one provider. */
export function createOidcPassword(deps: OidcRedirectDeps): (provider: IdentityProvider, read: Read) => PasswordRelay {
  const { outbound, check } = deps
  const prove = createClientAuthentication(deps)

  return (provider, read) => ({
    onPages: false,
    async check({ remoteAddress }, attempt) {
      // `background`: leaves the connections that are reserved for users who return from a provider.
      const { zoneId, originKey } = provider
      const share: OutboundShare = { zoneId, provider: originKey, purpose: 'background' }
      const settings = await deps.settings.read(provider, { wanted: 'endpoints' })
      const { tokenUrl, relyingPartyId } = settings
      if (tokenUrl === undefined || relyingPartyId === undefined) {
        return unavailable('the token endpoint or relyingPartyId is not known')
      }
      const { config }: OidcRecord = provider
      const proof = await prove(provider, { tokenUrl, relyingPartyId }, { ignoresBody: true })
      if (proof.outcome !== 'proof') return proof
      const body = new URLSearchParams({
        ...promptedFields(provider, attempt),
        grant_type: 'password',
        response_type: 'id_token',
        username: attempt.userName,
        password: attempt.password,
        scope: scopesOf(config),
        ...proof.fields,
      })
      const headers = {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...proof.headers,
        ...(config.setForwardHeader === true && remoteAddress !== undefined && { 'x-forwarded-for': remoteAddress }),
      }
      try {
        const response = await outbound.fetch(tokenUrl, { method: 'POST', headers, body: body.toString(), share })
        const answer = parseObject(await response.text())
        if (response.status >= 500) return unavailable(`the token endpoint responded with status ${response.status}`)
        if (response.status !== 200)
          return refuse('unusable', 'Bad credentials', `${response.status} ${errorOf(answer)}`)
        const idToken: unknown = answer && Reflect.get(answer, 'id_token')
        if (typeof idToken !== 'string') return refuse('untrusted', NO_ID_TOKEN)
        const checked = await check(idToken, settings, share)
        if (checked.outcome === 'refused') return checked
        const accessToken: unknown = answer && Reflect.get(answer, 'access_token')
        const { userInfoUrl } = settings
        const problem = idTokenProblem(checked, { relyingPartyId, accessToken })
        return problem ?? (await read(checked.claims, { userInfoUrl, accessToken, share }))
      } catch (error) {
        if (error instanceof OutboundError) return unavailable(error.message)
        throw error
      }
    },
  })
}

const NO_ID_TOKEN = 'Could not obtain id_token from external OpenID Connect provider.'

const unavailable = (detail: string): RedirectRefusal => ({ outcome: 'unavailable', detail })

function promptedFields(provider: IdentityProvider, { field }: RelayedAttempt): Readonly<Record<string, string>> {
  const names = (promptsOfProvider(provider) ?? []).map(({ name }) => name).filter(name => !OWN_FIELDS.has(name))
  return Object.fromEntries(
    names.flatMap(name => {
      const value = field(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
