// The applications that end their sessions in the browser (OpenID Connect Front-Channel Logout).
import type { FastifyRequest } from 'fastify'
import { OutboundBusy } from '../../base/outbound/error.ts'
import { isSafeUri } from '../../model/safe-uri.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { sessionIdFor } from '../../model/sessions/session.ts'
import type { OAuthDeps } from '../deps.ts'

/** A page loads no more than these; the back channel has no such limit. */
const MAX_FRAMES = 30

/** The URLs to load when the session of the request ends, with `iss` and `sid` for clients that ask for them (§2). */
export async function framesOf(
  request: FastifyRequest,
  { store, sessions, urls, behaviour }: OAuthDeps,
): Promise<readonly string[]> {
  const { zone } = request
  if (!supportsProtocol(zone, 'frontchannelLogout', behaviour)) return []
  const signedIn = await sessions.signedIn(request)
  if (!signedIn) return []
  const clients = await Promise.all(
    (signedIn.session.clients ?? []).map(async clientId => {
      try {
        return await store.clients.find(zone.id, clientId)
      } catch (cause) {
        if (cause instanceof OutboundBusy) return undefined // nothing about a client prevents the sign-out
        throw cause
      }
    }),
  )
  const frames: string[] = []
  for (const client of clients) {
    if (frames.length === MAX_FRAMES) break
    // A URI stored by an earlier version may have a host that is not safe in a header.
    if (client?.frontchannelLogoutUri === undefined || !isSafeUri(client.frontchannelLogoutUri)) continue
    const url = new URL(client.frontchannelLogoutUri)
    if (client.frontchannelLogoutSessionRequired === true) {
      url.searchParams.set('iss', urls.issuer(zone))
      url.searchParams.set('sid', sessionIdFor(signedIn.session.signIn, client.clientId))
    }
    frames.push(url.href)
  }
  return frames
}
