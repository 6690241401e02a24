// Reports to the client that a user signed in at a SAML provider has no account here, as UAA does.
import { resolveRedirectUri } from '../../clients/redirect-uri.ts'
import { mayUseGrant } from '../../model/clients/client.ts'
import type { AddressedZone } from '../../model/request.ts'
import { authorizationQuery } from '../sign-in/sign-in-target.ts'
import type { LoginDeps } from '../deps.ts'

/**
 * The URL of the client that requested the authorization at this path, with `access_denied` (RFC 6749 §4.1.2.1). Undefined
 * unless the request is for a code and names a redirect URI that the authorization endpoint would answer to.
 */
export async function deniedUrl(
  zone: AddressedZone,
  { path, description }: { readonly path: string | undefined; readonly description: string },
  { store, urls, behaviour, settings }: LoginDeps,
): Promise<string | undefined> {
  const query = authorizationQuery(path)
  const clientId = query?.get('client_id')
  const named = query?.get('redirect_uri')
  if (!query || clientId === undefined || named === undefined) return undefined
  if (['client_id', 'redirect_uri', 'state'].some(name => query.repeated.includes(name))) return undefined
  // Errors of other response types travel in another way.
  const mode = query.get('response_mode') ?? 'query'
  if (query.get('response_type')?.trim() !== 'code' || (behaviour.responseModes && mode !== 'query')) return undefined
  const client = await store.clients.find(zone.id, clientId)
  if (!client || !mayUseGrant(client, 'authorization_code')) return undefined
  const rules = { exactRedirectUri: behaviour.exactRedirectUri, strictRedirects: settings.strictRedirects }
  const target = resolveRedirectUri(client, named, rules)
  if (target === undefined) return undefined
  const state = query.get('state')
  const parameters = new URLSearchParams({
    error: 'access_denied',
    error_description: description,
    ...(state !== undefined && { state }),
    ...(behaviour.issuerInResponse && { iss: urls.issuer(zone) }),
  })
  return `${target}${target.includes('?') ? '&' : '?'}${parameters.toString()}`
}
