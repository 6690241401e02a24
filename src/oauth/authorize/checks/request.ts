// The checks of an authorization request's own parameters, once its client and redirect URI are verified: what is wrong is a
// redirect (row R2 for UAA's exceptions).
import { unprotectedProblem } from '../../../clients/redirect-uri-form.ts'
import { demandsOn } from '../../../model/clients/client-demands.ts'
import { hasCredential } from '../../../model/clients/client.ts'
import type { OAuthErrorCode } from '../../../model/oauth-error.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { isS256Challenge, isWellFormed } from '../../../model/tokens/pkce.ts'
import { namedResources } from '../../../model/tokens/resources.ts'
import { parseScope, requestableScopes, scopeMatches } from '../../../model/tokens/scopes.ts'
import { supportsProtocol } from '../../../model/zones/protocols.ts'
import { azAttrOf, tokenFormatOf } from '../../params.ts'
import { CODE_CHALLENGE_METHODS, isCodeChallengeMethod } from '../../pkce.ts'
import { found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { RedirectRefusal } from '../response/redirect.ts'
import { refusal } from '../refusal.ts'
import { grantsAllow } from '../response/response-type.ts'
import { suitableDelivery } from './target.ts'
import type { OAuthDeps } from '../../deps.ts'

/** RFC 6749 §3.1, for every other parameter. */
export function refuseRepeatedParameters(context: AuthorizeContext, deps: OAuthDeps): void {
  const [name] = context.params.repeated
  if (name === undefined) return
  throw refusal(
    context,
    deps,
    new OAuthError('invalid_request', `The parameter ${name.slice(0, 100)} must not be repeated`),
  )
}

/** Refuses a client whose list of identity providers is empty, because no user can sign in to it. */
export function requireIdentityProvider(context: AuthorizeContext, deps: OAuthDeps): void {
  if (context.asked.client?.allowedProviders?.length !== 0) return
  const description = 'Client is not authorized for any identity providers.'
  throw refusal(context, deps, new OAuthError('unauthorized_client', description))
}

/** Each has an error code of its own (OpenID Connect Core §3.1.2.6). */
const UNSUPPORTED: readonly (readonly [name: string, error: OAuthErrorCode, description: string])[] = [
  ['request', 'request_not_supported', 'Request objects are not supported'],
  ['request_uri', 'request_uri_not_supported', 'Request objects by reference are not supported'],
  ['registration', 'registration_not_supported', 'Registration within a request is not supported'],
]

/** Refuses request objects and registration (row A14). */
export function refuseUnsupported(context: AuthorizeContext, deps: OAuthDeps): void {
  for (const [name, error, description] of UNSUPPORTED) {
    if (context.params.get(name) !== undefined) throw refusal(context, deps, new OAuthError(error, description))
  }
}

/** Reads `response_type`, and refuses a `response_mode` that it does not allow. */
export function readResponseType(context: AuthorizeContext, deps: OAuthDeps): void {
  const { params, asked } = context
  const { behaviour } = deps
  const target = found(asked.target)
  if (params.get('response_type') === undefined) {
    const missing = new OAuthError('invalid_request', 'Missing response_type in authorization request')
    // UAA: leaves the state out. See docs/compatibility.md, A5.
    const { state: _, ...bare } = target
    throw new RedirectRefusal(behaviour.fullErrors ? target : bare, missing)
  }
  const { type } = target
  if (!type) throw refusal(context, deps, new OAuthError('unsupported_response_type', 'Unsupported response types'))
  // Its codes need a proof of possession; tokens in a redirect have none.
  const isCodeAlone = type.size === 1 && type.has('code')
  if (found(asked.client).registration?.byDocument && !isCodeAlone) {
    throw refusal(context, deps, new OAuthError('unauthorized_client', 'This client may only request a code'))
  }
  const { zone } = context.request
  const mode = params.get('response_mode')
  const delivery = mode === undefined ? undefined : suitableDelivery(mode, { type, zone }, behaviour)
  if (behaviour.responseModes && mode !== undefined && !delivery) {
    const description = 'The response_mode is unknown or not allowed for the response_type'
    throw refusal(context, deps, new OAuthError('invalid_request', description))
  }
  if (demandsOn(zone, found(asked.client)).signedResponses && delivery?.isSigned !== true) {
    throw refusal(context, deps, new OAuthError('invalid_request', 'This client must request signed responses'))
  }
  context.asked = { ...asked, responseType: type }
}

/** The client's grants must allow the response type (row A4). */
export function requireGrantForType(context: AuthorizeContext, deps: OAuthDeps): void {
  const { client, responseType } = context.asked
  if (grantsAllow(found(client), found(responseType))) return
  const description = 'The grants and response types of this client do not allow this response_type'
  throw refusal(context, deps, new OAuthError('unauthorized_client', description))
}

/** Reads `nonce` and other values that become claims. */
export function readTokenParameters(context: AuthorizeContext): void {
  const nonce = context.params.get('nonce')
  const azAttr = azAttrOf(context.params)
  context.asked = { ...context.asked, ...(nonce !== undefined && { nonce }), ...(azAttr && { azAttr }) }
}

/** ID tokens of clients or zones with `require_nonce` are bound to the request (row A8). */
export function requireNonce(context: AuthorizeContext, deps: OAuthDeps): void {
  const { client, responseType, nonce } = context.asked
  const isRequired = client?.requireNonce === true || context.request.zone.config.require_nonce === true
  if (!isRequired || nonce !== undefined || !found(responseType).has('id_token')) return
  throw refusal(context, deps, new OAuthError('invalid_request', 'This client must send a nonce'))
}

/** Reads `code_challenge` and its method (RFC 7636 §4.3, row A16). */
export function readCodeChallenge(context: AuthorizeContext, deps: OAuthDeps): void {
  const { params, asked } = context
  const { strictPkce } = deps.behaviour
  const refuse = (description: string): Error => refusal(context, deps, new OAuthError('invalid_request', description))
  const challenge = params.get('code_challenge')
  const named = params.get('code_challenge_method')
  // RFC 9700 §2.1.1: without a credential, only PKCE binds the code to the client.
  const client = found(asked.client)
  const isBare = (strictPkce && !hasCredential(client)) || client.registration?.byDocument === true
  const needsS256 = isBare && found(asked.responseType).has('code')
  if (challenge === undefined) {
    if (strictPkce && named !== undefined) throw refuse('A code_challenge_method requires a code_challenge')
    if (needsS256) throw refuse('This client must send a code_challenge of method S256')
    return
  }
  if (strictPkce && named === undefined) throw refuse('A code_challenge requires a code_challenge_method')
  const method = named ?? 'plain'
  if (!isCodeChallengeMethod(method)) {
    throw refuse(`Unsupported code challenge method. Supported: [${CODE_CHALLENGE_METHODS.join(', ')}]`)
  }
  if (!isWellFormed(challenge)) {
    throw refuse('Code challenge length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.')
  }
  if (strictPkce && method === 'S256' && !isS256Challenge(challenge)) {
    throw refuse('A code_challenge of method S256 must have 43 characters [A-Z],[a-z],[0-9],_,-')
  }
  if (needsS256 && method !== 'S256') throw refuse('This client must send a code_challenge of method S256')
  context.asked = { ...asked, codeChallenge: challenge, codeChallengeMethod: method }
}

/** Reads `resource`, which may be repeated (RFC 8707 §2.1). */
export function readResources(context: AuthorizeContext, deps: OAuthDeps): void {
  if (!supportsProtocol(context.request.zone, 'resourceIndicators', deps.behaviour)) return
  try {
    const resources = namedResources(context.params.all('resource'), found(context.asked.client))
    if (resources.length > 0) context.asked = { ...context.asked, resources }
  } catch (error) {
    throw error instanceof OAuthError ? refusal(context, deps, error) : error
  }
}

/** FAPI 2.0 Security Profile §5.3.2.2: a code and nothing else, with PKCE, for a redirect URI that the request names. */
export function requireProfile(context: AuthorizeContext, deps: OAuthDeps): void {
  const { client, responseType, codeChallengeMethod } = context.asked
  const { codeWithProofOnly, signedCodesOnly } = demandsOn(context.request.zone, found(client))
  if (signedCodesOnly) return requireSignedCode(context, deps)
  if (!codeWithProofOnly) return
  const refuse = (error: OAuthErrorCode, description: string): Error =>
    refusal(context, deps, new OAuthError(error, description))
  const isCodeAlone = found(responseType).size === 1 && found(responseType).has('code')
  if (!isCodeAlone) throw refuse('unauthorized_client', 'This client may only request a code')
  requireProtectedTarget(context, deps)
  if (codeChallengeMethod !== 'S256') {
    throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
  }
}

/** Also of a client that is older than its profile: a redirect URI that the request names, and at which nobody else reads. */
function requireProtectedTarget(context: AuthorizeContext, deps: OAuthDeps): void {
  const { client, namedRedirectUri } = context.asked
  const refuse = (description: string): Error => refusal(context, deps, new OAuthError('invalid_request', description))
  if (namedRedirectUri === undefined) throw refuse('This client must name its redirect_uri')
  const problem = unprotectedProblem(namedRedirectUri, demandsOn(context.request.zone, found(client)))
  if (problem !== undefined) throw refuse(`The redirect_uri of this client ${problem}`)
}

/** FAPI 1.0 Baseline §5.2.2 and Advanced §5.2.2: what the request must have, so that the response can be trusted. */
function requireSignedCode(context: AuthorizeContext, deps: OAuthDeps): void {
  const { params, source, asked } = context
  const refuse = (error: OAuthErrorCode, description: string): Error =>
    refusal(context, deps, new OAuthError(error, description))
  const type = found(asked.responseType)
  const isWithIdToken = type.size === 2 && type.has('code') && type.has('id_token')
  const isCodeAlone = type.size === 1 && type.has('code')
  if (!isWithIdToken && !(isCodeAlone && asked.target?.isSigned === true)) {
    throw refuse(
      'unsupported_response_type',
      'This client may only request a code with an ID token or in a signed response',
    )
  }
  requireProtectedTarget(context, deps)
  const scopes = found(asked.namedScopes)
  if (scopes.length === 0) throw refuse('invalid_request', 'This client must send a scope')
  const name = asksForOpenid(scopes) ? 'nonce' : 'state'
  if (params.get(name) === undefined) throw refuse('invalid_request', `This client must send a ${name}`)
  const isProven = asked.codeChallengeMethod === 'S256'
  if (!isProven && (source?.kind === 'pushed' || asked.codeChallengeMethod !== undefined)) {
    throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
  }
}

/** Reads `scope`: what the client may request at all, independent of the user. */
export function readScope(context: AuthorizeContext, deps: OAuthDeps): void {
  try {
    const namedScopes = parseScope(context.params.get('scope'))
    const requestedScopes = requestableScopes(
      { client: found(context.asked.client), requested: namedScopes },
      deps.behaviour,
    )
    context.asked = { ...context.asked, namedScopes, requestedScopes }
  } catch (error) {
    throw error instanceof OAuthError ? refusal(context, deps, error) : error
  }
}

const asksForOpenid = (scopes: readonly string[]): boolean => scopes.some(scope => scopeMatches(scope, 'openid'))

/** Only a request for `openid` asks for an ID token (row A7): no user could make it valid. */
export function requireOpenid(context: AuthorizeContext, deps: OAuthDeps): void {
  const { responseType, requestedScopes } = context.asked
  if (!found(responseType).has('id_token')) return
  if (asksForOpenid(found(requestedScopes))) return
  const description = 'An ID token requires the scope openid'
  throw refusal(context, deps, new OAuthError('invalid_scope', description, { rule: 'openid-scope' }))
}

/** Reads `token_format`. */
export function readTokenFormat(context: AuthorizeContext, deps: OAuthDeps): void {
  try {
    const tokenFormat = tokenFormatOf(context.params)
    context.asked = { ...context.asked, ...(tokenFormat && { tokenFormat }) }
  } catch (error) {
    throw error instanceof OAuthError ? refusal(context, deps, error) : error
  }
}
