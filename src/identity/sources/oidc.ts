import { decodeJwt } from 'jose/jwt/decode'
import type { Outbound } from '../../base/outbound.ts'
import type { ExternalUser, ExternalRefusal, IdentitySource, IdentitySourceType } from '../source.ts'
import type { ClientAuthenticationDeps } from './client-authentication.ts'
import { externalUserOf, UnmappableClaims } from './oidc/claims.ts'
import type { ForeignClaims, MappingContext } from './oidc/claims.ts'
import { createLogoutReader } from './oidc/logout.ts'
import { createOidcRedirect, mayRedirect } from './oidc/redirect.ts'
import type { Read } from './oidc/redirect.ts'
import { completed } from './oidc/userinfo.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { createOidcPassword, mayRelay } from './oidc/password.ts'
import { createOidcSettings } from './oidc/settings.ts'
import { createTokenCheck, partyProblem, refuse } from './oidc/token.ts'
import type { KeyFinder } from './oidc/token.ts'
import { signOutUrl } from './sign-out.ts'
import { stringOf } from './oidc/request.ts'
import type { OidcRecord } from './oidc/request.ts'

/** The type of OpenID Connect providers. */
const OIDC = 'oidc1.0'

/** Dependencies of `oidcSource`. */
export interface OidcDeps extends ClientAuthenticationDeps {
  readonly outbound: Outbound
  readonly foreignKeys: KeyFinder
}

/** OpenID Connect providers: sign-in by redirect or relayed password, and their tokens as assertions. */
export function oidcSource(deps: OidcDeps): IdentitySourceType {
  const { clock } = deps
  const settings = createOidcSettings(deps)
  const check = createTokenCheck(deps)
  const shared = { ...deps, settings, check }
  const redirectTo = createOidcRedirect(shared)
  const relayTo = createOidcPassword(shared)
  const readLogoutToken = createLogoutReader(shared)

  const readerOf =
    (provider: IdentityProvider, behaviour: Behaviour): Read =>
    async (claims, access) => {
      const { config }: OidcRecord = provider
      const described = behaviour.userinfoCompletes
        ? await completed(deps.outbound, claims, { config, access })
        : ({ outcome: 'described', claims } as const)
      return described.outcome === 'described'
        ? read(described.claims, provider, { now: clock.now(), behaviour })
        : described
    }

  const opened = new WeakMap<IdentityProvider, IdentitySource>()
  const open = (provider: IdentityProvider, behaviour: Behaviour): IdentitySource => ({
    ...(mayRedirect(provider) && { redirect: redirectTo(provider, readerOf(provider, behaviour)) }),
    ...(mayRelay(provider) && { relay: relayTo(provider, readerOf(provider, behaviour)) }),
    signOut: async signOut => signOutUrl(provider.config, await settings.read(provider, { wanted: 'logout' }), signOut),
    readLogoutToken: token => readLogoutToken(provider, token),
    issuerInRecord: ownIssuer(provider),
    issuerInDocument: async () => (await settings.read(provider)).issuer,
    hasDocumentOf: issuer => stringOf(provider.config.discoveryUrl) === issuer.replace(/\/$/, '') + DOCUMENT_PATH,
    assertion: {
      async read(assertion) {
        const used = await settings.read(provider)
        const checked = await check(assertion, used, { zoneId: provider.zoneId, purpose: 'background' })
        if (checked.outcome === 'refused') return checked
        const { authorizedParties }: OidcRecord['config'] = provider.config
        // UAA: looks at the audience alone, unless the record names the parties.
        const isOpen = !behaviour.assertionsForUsOnly && authorizedParties === undefined
        const parties = [used.relyingPartyId, ...(authorizedParties ?? [])]
        return (
          (isOpen ? undefined : partyProblem(checked.claims, parties)) ??
          read(checked.claims, provider, { now: clock.now(), behaviour })
        )
      },
    },
  })

  return {
    type: OIDC,
    issuerOf: assertion => Promise.resolve(claimedIssuer(assertion)),
    // Once for each record as it is stored: a page may show a thousand.
    open(_, provider, { behaviour }) {
      const source = opened.get(provider) ?? open(provider, behaviour)
      opened.set(provider, source)
      return source
    },
  }
}

/** OpenID Connect Discovery §4. */
const DOCUMENT_PATH = '/.well-known/openid-configuration'

const ownIssuer = ({ config }: OidcRecord): string | undefined => stringOf(config.issuer)

/** Maps verified claims to a user. */
function read(
  claims: ForeignClaims,
  { config }: OidcRecord,
  context: MappingContext,
): { readonly outcome: 'genuine'; readonly externalUser: ExternalUser } | ExternalRefusal {
  // A logout token has the issuer and audience of an ID token (Back-Channel Logout §2.4).
  if ('events' in claims) return refuse('untrusted', 'The token is not from a sign-in.')
  try {
    return { outcome: 'genuine', externalUser: externalUserOf(claims, config, context) }
  } catch (error) {
    if (error instanceof UnmappableClaims) return refuse('unusable', error.message)
    throw error
  }
}

/** The unverified `iss` of a JWT; undefined if it is not a JWT. */
function claimedIssuer(assertion: string): string | undefined {
  try {
    const { iss } = decodeJwt(assertion)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}
