// Where the browser goes after a logout: UAA's `redirect` and what it is compared with. `post_logout_redirect_uri` has the
// rules of its client alone.
import { fitsLogoutEntry } from '../../clients/redirect-uri.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import { isSafeUri } from '../../model/safe-uri.ts'
import { clientIdOf } from '../../token/claims.ts'
import { isOwnUrl } from '../../web/requests/own-path.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { Params } from '../params.ts'
import { hintIn, isOfUser } from './hint.ts'
import type { LogoutHint } from './hint.ts'
import type { OAuthDeps } from '../deps.ts'

/** The name of UAA's redirect parameter, which a zone may change. */
export const redirectParameterName = (zone: AddressedZone): string =>
  zone.config.links?.logout?.redirectParameterName ?? 'redirect'

/** Whether the client registered exactly this `post_logout_redirect_uri` (RP-Initiated Logout §3). */
export const isRegistered = (client: Client, target: string): boolean =>
  client.postLogoutRedirectUris?.includes(target) === true && isSafeUri(target)

/**
 * Whether a logout may redirect to a URI of the client. Anyone can get an ID token of a client that registered itself, so a link
 * with one must not lead to any site (RFC 9700 §4.11.2). Only one of the signed-in user shows that the application is theirs.
 */
export const mayRedirect = ({ registration }: Client, isOfUser: boolean): boolean =>
  registration === undefined || isOfUser

/** Encoded once more, it becomes a part of the provider's URL, which a browser, a proxy or the provider would refuse. */
const MAX_QUERY_LENGTH = 2000

/** Finds targets. */
export interface LogoutTargets {
  /** The default of the zone, or the sign-in page. */
  fallback(zone: AddressedZone): string
  /** The target that the request names, if it is allowed, and the default otherwise. */
  of(zone: AddressedZone, params: Params, signedIn: SignedInUser | undefined): Promise<string>
  /**
   * The query with which the same target is found when the browser returns from a provider; empty for one that is too long.
   * Undefined if only an ID token of the signed-in user allows it, which the return lacks.
   */
  returnQuery(zone: AddressedZone, params: Params): Promise<string | undefined>
}

/** The client that a request names, and by which ID token. */
interface ClientOfLogout {
  readonly client?: Client | undefined
  readonly hint?: LogoutHint | undefined
}

const NO_CLIENT: ClientOfLogout = {}

/** One instance serves every zone. */
export function createLogoutTargets({ store, reader, urls, behaviour, subjects }: OAuthDeps): LogoutTargets {
  function fallback(zone: AddressedZone): string {
    const target = zone.config.links?.logout?.redirectUrl ?? '/login'
    return target.startsWith('/') ? urls.ofZone(zone) + target : target
  }

  const isOwn = (zone: AddressedZone, target: string): boolean =>
    isSafeUri(target) && isOwnUrl(urls.addressesOf(zone), new URL(target))

  /**
   * UAA's `redirect`: one of our own URLs, an entry of the zone's list, or a URI that the client registered, which
   * `standard` compares exactly. Any other target is replaced by the default, without an error (rows L2, L4). The same for
   * `post_logout_redirect_uri` in `uaa`, which may also be an exact entry of the client's `post_logout_redirect_uris`.
   */
  async function targetOf(zone: AddressedZone, params: Params, signedIn: SignedInUser | undefined): Promise<string> {
    const otherwise = fallback(zone)
    const named = behaviour.rpInitiatedLogout ? undefined : params.get('post_logout_redirect_uri')
    const target = named ?? params.get(redirectParameterName(zone))
    if (target === undefined) return otherwise
    const listed = zone.config.links?.logout?.whitelist ?? []
    if (/^\/(?!\/)/.test(target)) {
      return listed.includes(target) && isSafeUri(urls.ofZone(zone) + target) ? urls.ofZone(zone) + target : otherwise
    }
    if (isOwn(zone, target) || listed.some(entry => fitsLogoutEntry(entry, target))) return target
    const { client, hint } = await clientOfLogout(zone, params)
    if (!client) return otherwise
    if (!mayRedirect(client, hint !== undefined && isOfUser(zone, { hint, signedIn }, subjects))) return otherwise
    if ((behaviour.rpInitiatedLogout || named !== undefined) && isRegistered(client, target)) return target
    const fits = behaviour.rpInitiatedLogout
      ? client.redirectUris.includes(target) && isSafeUri(target)
      : client.redirectUris.some(entry => fitsLogoutEntry(entry, target))
    return fits ? target : otherwise
  }

  /** UAA: the request's own parameters, with the client in place of `id_token_hint`, whose claims the provider must not see. */
  async function returnQuery(zone: AddressedZone, params: Params): Promise<string | undefined> {
    const query = new URLSearchParams()
    for (const name of [redirectParameterName(zone), 'post_logout_redirect_uri']) {
      const value = params.get(name)
      if (value !== undefined) query.set(name, value)
    }
    const { client } = query.size > 0 ? await clientOfLogout(zone, params) : NO_CLIENT
    if (client && !mayRedirect(client, false)) return undefined
    if (client) query.set('client_id', client.clientId)
    const text = query.toString()
    return text.length > MAX_QUERY_LENGTH ? '' : text
  }

  async function clientOfLogout(zone: AddressedZone, params: Params): Promise<ClientOfLogout> {
    const hint = params.get('id_token_hint')
    if (hint !== undefined) {
      const claims = await reader.readHint(zone, hint).catch((cause: unknown) => {
        if (cause instanceof OAuthError) return undefined // UAA: ignores an invalid hint
        throw cause
      })
      const issuedTo = claims && clientIdOf(claims)
      const client = issuedTo === undefined ? undefined : await store.clients.find(zone.id, issuedTo)
      return client && claims ? { client, hint: hintIn(claims, client) } : NO_CLIENT
    }
    const clientId = params.get('client_id')
    return clientId === undefined ? NO_CLIENT : { client: await store.clients.find(zone.id, clientId) }
  }

  return { fallback, of: targetOf, returnQuery }
}
