// Logout at a provider (OpenID Connect RP-Initiated Logout), for every type of provider that has an address for it.
import type { OidcProviderConfig } from '../../records/provider-oauth.ts'
import type { SignOut } from '../provider-logout.ts'

/** Where a browser signs out at a provider. */
export interface SignOutEndpoint {
  readonly logoutUrl?: string | undefined
  /** The client id of this server at the provider. */
  readonly relyingPartyId?: string | undefined
}

/**
 * The URL of the logout, with the parameters of RP-Initiated Logout §2. Undefined if the provider has no usable address, or
 * its record says not to sign out there (`performRpInitiatedLogout`).
 */
export function signOutUrl(
  { performRpInitiatedLogout }: Pick<OidcProviderConfig, 'performRpInitiatedLogout'>,
  { logoutUrl, relyingPartyId }: SignOutEndpoint,
  { returnTo, hint, state }: Omit<SignOut, 'zone'>,
): string | undefined {
  if (performRpInitiatedLogout === false || relyingPartyId === undefined) return undefined
  // The browser is redirected there: a record or discovery document must not supply another scheme, such as javascript.
  if (logoutUrl === undefined || !URL.canParse(logoutUrl)) return undefined
  const url = new URL(logoutUrl)
  if (!/^https?:$/.test(url.protocol)) return undefined
  const wanted = {
    post_logout_redirect_uri: returnTo,
    client_id: relyingPartyId,
    ...(hint !== undefined && { id_token_hint: hint }),
    ...(state !== undefined && { state }),
  }
  for (const [name, value] of Object.entries(wanted)) url.searchParams.set(name, value)
  return url.href
}
