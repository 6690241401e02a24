// Which sender an authorization request binds its tokens to.
import { OAuthError } from '../../../model/oauth-error.ts'
import { supportsProtocol } from '../../../model/zones/protocols.ts'
import { found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { refusal } from '../refusal.ts'
import type { OAuthDeps } from '../../deps.ts'

/** SHA-256, base64url (RFC 9449 §10). */
const THUMBPRINT = /^[\w-]{43}$/

/** Reads `dpop_jkt`: the key that must redeem the code, so that a stolen code is useless. */
export function readKeyThumbprint(context: AuthorizeContext, deps: OAuthDeps): void {
  const jkt = context.params.get('dpop_jkt')
  if (jkt === undefined || !supportsProtocol(context.request.zone, 'dpop', deps.behaviour)) return
  if (!THUMBPRINT.test(jkt)) {
    throw refusal(context, deps, new OAuthError('invalid_request', 'The dpop_jkt must be a SHA-256 thumbprint'))
  }
  context.asked = { ...context.asked, jkt }
}

/** Refuses tokens in a redirect, which cannot be bound, to clients with bound tokens (RFC 9449 §5.2, RFC 8705 §3.4). */
export function refuseUnboundTokens(context: AuthorizeContext, deps: OAuthDeps): void {
  const client = found(context.asked.client)
  if (!found(context.asked.responseType).has('token')) return
  if (client.dpopBoundTokens !== true && client.certificateBoundTokens !== true) return
  const description = 'The tokens of this client must be bound to it, and tokens in a redirect cannot be'
  throw refusal(context, deps, new OAuthError('unauthorized_client', description))
}
