// The URL to which self-service redirects when done: only one that the client has registered.
import { resolveRedirectUri } from '../clients/redirect-uri.ts'
import { isSafeUri } from '../model/safe-uri.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { RequestedReturn } from './codes.ts'
import type { AccountDeps } from './deps.ts'

/** Client attributes with the default URL, for requests without one or with an unregistered one. */
type FallbackAttribute = 'signup_redirect_url' | 'change_email_redirect_url'

const FALLBACKS: readonly FallbackAttribute[] = ['signup_redirect_url', 'change_email_redirect_url']

/**
 * The URL of the request, if its client has registered it, else the client's own for this purpose; undefined without either or
 * for a client that no administrator created; then the user stays here.
 */
export async function returnUrl(
  zone: Zone,
  { clientId, redirectUri }: RequestedReturn,
  {
    store,
    behaviour,
    settings,
    fallback,
  }: Pick<AccountDeps, 'store' | 'behaviour' | 'settings'> & { readonly fallback?: FallbackAttribute },
): Promise<string | undefined> {
  const client = clientId === undefined ? undefined : await store.clients.find(zone.id, clientId)
  // RFC 9700 §4.11.2: our mails must not link to URLs of clients that no administrator created.
  if (!client || client.registration) return undefined
  const rules = { exactRedirectUri: behaviour.exactRedirectUri, strictRedirects: settings.strictRedirects }
  const registered = redirectUri === undefined ? undefined : resolveRedirectUri(client, redirectUri, rules)
  if (registered !== undefined) return registered
  const own = fallback === undefined ? undefined : client.additional[fallback]
  return typeof own === 'string' && isSafeUri(own) ? own : undefined
}

/** Whether the client has registered the URL, as a redirect URI or as a self-service URL. */
export async function isRegisteredReturn(
  zone: Zone,
  requestedReturn: RequestedReturn,
  deps: AccountDeps,
): Promise<boolean> {
  const { redirectUri } = requestedReturn
  if (redirectUri === undefined) return false
  for (const fallback of FALLBACKS) {
    if ((await returnUrl(zone, requestedReturn, { ...deps, fallback })) === redirectUri) return true
  }
  return false
}
