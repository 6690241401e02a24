// Where the parameters of an authorization request come from: the request itself, a request object (RFC 9101), or what the
// client pushed before (RFC 9126). In the latter two the client asserts every parameter, so all other parameters are ignored.
import { loadOnce } from '../../../base/concurrency/load-once.ts'
import type { OAuthErrorCode } from '../../../model/oauth-error.ts'
import { demandsOn } from '../../../model/clients/client-demands.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { supportsProtocol } from '../../../model/zones/protocols.ts'
import { PUSHED_PREFIX } from '../../../model/tokens/pushed-request.ts'
import { found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { refusal } from '../refusal.ts'
import type { OAuthDeps } from '../../deps.ts'

const resolver = loadOnce(() => import('./resolve.ts'))

/**
 * The context with the parameters of the source that the request names; as it is without one, or with one that the zone does
 * not support, which `refuseUnsupported` refuses. Throws the refusal of an invalid one.
 */
export async function fromSource(context: AuthorizeContext, deps: OAuthDeps): Promise<AuthorizeContext> {
  const { params, request } = context
  const reference = params.get('request_uri')
  if (reference === undefined && params.get('request') === undefined) return context
  const protocol = reference?.startsWith(PUSHED_PREFIX) ? 'pushedRequests' : 'requestObjects'
  if (!supportsProtocol(request.zone, protocol, deps.behaviour)) return context
  return (await resolver()).resolve(context, deps)
}

/** What the request, its client or its zone requires of the source. */
export function requireSource(context: AuthorizeContext, deps: OAuthDeps): void {
  const { pushed, signedRequests } = demandsOn(context.request.zone, found(context.asked.client))
  const refuse = (error: OAuthErrorCode, description: string): Error =>
    refusal(context, deps, new OAuthError(error, description))
  if (pushed && context.source?.kind !== 'pushed') throw refuse('invalid_request', 'This client must push its requests')
  if (signedRequests && context.source?.isSigned !== true) {
    throw refuse('invalid_request', 'This client must sign its requests')
  }
}
