// The checks of an authorization request's own parameters. What is wrong with the client or its redirect URI is a page,
// because there is nowhere to redirect to yet; everything after is a redirect (row R2 for UAA's exceptions).
import { memberOf, parseJson } from '../../base/json.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import { hasCredential, mayUseGrant } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { documentUrlProblem, isAddress } from '../../model/clients/document-address.ts'
import { isWellFormed } from '../../model/tokens/pkce.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { namedResources } from '../../model/tokens/resources.ts'
import { parseScope, requestableScopes } from '../../model/tokens/scopes.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { PageError } from '../../web/answers.ts'
import type { Params } from '../params.ts'
import { azAttrOf, tokenFormatOf } from '../params.ts'
import { CODE_CHALLENGE_METHODS, isCodeChallengeMethod } from '../pkce.ts'
import { found } from './context.ts'
import type { AuthorizeContext, AuthorizeDeps } from './context.ts'
import { RedirectRefusal } from './redirect.ts'
import { resolveRedirectUri } from '../../clients/redirect-uri.ts'
import {
  defaultMode,
  grantsAllow,
  mayUseMode,
  parseResponseMode,
  parseResponseType,
  withoutIdToken,
} from './response-type.ts'
import type { ResponseType, ResponseDelivery } from './response-type.ts'

const pageError = (status: number, code: OAuthErrorCode, description: string): PageError =>
  new PageError(status, description, { code })

/** The refusal of a request whose client and redirect URI are verified: a redirect, in `uaa` sometimes a page (row R2). */
export function refusal(
  { asked }: AuthorizeContext,
  { behaviour }: Pick<AuthorizeDeps, 'behaviour'>,
  { error, message, status, rule }: OAuthError,
): Error {
  const onPage = error === 'invalid_request' || error === 'unauthorized_client'
  if (!behaviour.redirectErrors && onPage) return pageError(status, error, message)
  return new RedirectRefusal(found(asked.target), new OAuthError(error, message, { rule }))
}

const NOT_REPEATABLE_BEFORE_REDIRECT = ['client_id', 'redirect_uri']

/** RFC 6749 §3.1: on a page, because these two say where to redirect to. */
export function refuseRepeatedTarget({ params }: AuthorizeContext): void {
  const name = NOT_REPEATABLE_BEFORE_REDIRECT.find(each => params.repeated.includes(each))
  if (name !== undefined) throw pageError(400, 'invalid_request', `The parameter ${name} must not be repeated`)
}

/** RFC 6749 §3.1, for every other parameter. */
export function refuseRepeatedParameters(context: AuthorizeContext, deps: AuthorizeDeps): void {
  const [name] = context.params.repeated
  if (name === undefined) return
  throw refusal(
    context,
    deps,
    new OAuthError('invalid_request', `The parameter ${name.slice(0, 100)} must not be repeated`),
  )
}

/** Finds the client by `client_id`. */
export async function findClient(context: AuthorizeContext, { store, behaviour }: AuthorizeDeps): Promise<void> {
  const clientId = context.params.get('client_id')
  const client = clientId === undefined ? undefined : await store.clients.find(context.request.zone.id, clientId)
  if (!client) {
    const description =
      clientId === undefined ? 'Missing client_id' : unknownClient(clientId, context.request.zone, behaviour)
    throw pageError(behaviour.redirectErrors ? 400 : 401, 'invalid_client', description)
  }
  context.asked = { ...context.asked, client }
}

/** The author of a metadata document, who cannot see our log, gets the fact that the document fails, without details. */
function unknownClient(clientId: string, zone: Zone, behaviour: Behaviour): string {
  const description = `No client with requested id: ${clientId.slice(0, 255)}`
  if (!isAddress(clientId) || !supportsProtocol(zone, 'clientMetadataDocuments', behaviour)) return description
  const problem = documentUrlProblem(clientId)
  return `${description} (${problem === undefined ? 'its document cannot be used' : `the address ${problem}`})`
}

const NOT_REDIRECTING = 'A redirect_uri can only be used by implicit or authorization_code grant types.'

/** UAA: the client's grants are checked with its redirect URI, and shown on a page. See docs/compatibility.md, A4. */
export function requireRedirectGrant({ asked }: AuthorizeContext): void {
  const client = found(asked.client)
  if (client.authorizedGrantTypes.length === 0) {
    throw pageError(400, 'invalid_grant', 'A client must have at least one authorized grant type.')
  }
  if (!mayUseGrant(client, 'authorization_code') && !mayUseGrant(client, 'implicit')) {
    throw pageError(400, 'invalid_grant', NOT_REDIRECTING)
  }
}

/** Verifies `redirect_uri`; from here on a refusal can be a redirect. */
export function verifyRedirectUri(context: AuthorizeContext, { behaviour, settings }: AuthorizeDeps): void {
  const { params, asked } = context
  const client = found(asked.client)
  const named = params.get('redirect_uri')
  const rules = { ...behaviour, strictRedirects: settings.strictRedirects }
  const redirectUri = resolveRedirectUri(client, named, rules)
  if (redirectUri === undefined) {
    const shown = named === undefined ? 'URI (none was named)' : named.slice(0, 500)
    throw pageError(
      400,
      behaviour.redirectErrors ? 'invalid_request' : 'invalid_grant',
      `Invalid redirect ${shown} did not match one of the registered values`,
    )
  }
  const state = params.get('state')
  const parsed = parseResponseType(params.get('response_type') ?? '')
  const type = parsed && settings.idTokenDisabled ? withoutIdToken(parsed) : parsed
  const target = {
    clientId: client.clientId,
    redirectUri,
    type,
    ...deliveryOf(params, { type, zone: context.request.zone }, behaviour),
    ...(state !== undefined && { state }),
  }
  context.asked = { ...asked, target, ...(named !== undefined && { namedRedirectUri: named }) }
}

interface DeliveryRequest {
  readonly type: ResponseType | undefined
  readonly zone: Zone
}

/** The requested mode, if it is allowed; the refusal of another one is sent in the default mode (row A6). */
function deliveryOf(params: Params, deliveryRequest: DeliveryRequest, behaviour: Behaviour): ResponseDelivery {
  const asked = params.get('response_mode') ?? modeInRequestObject(params)
  return (
    suitable(asked ?? '', deliveryRequest, behaviour) ?? { mode: defaultMode(deliveryRequest.type), isSigned: false }
  )
}

/** The mode, where the zone supports it and the response type allows it (row A6, JARM §2.3.1). */
function suitable(text: string, { type, zone }: DeliveryRequest, behaviour: Behaviour): ResponseDelivery | undefined {
  const delivery = parseResponseMode(text, type)
  if (!delivery) return undefined
  const isKnown = delivery.isSigned ? supportsProtocol(zone, 'signedResponses', behaviour) : behaviour.responseModes
  return isKnown && (type === undefined || mayUseMode(type, delivery.mode)) ? delivery : undefined
}

const MAX_REQUEST_OBJECT_LENGTH = 8192

/** How a client with a request object receives its refusal. The object is not verified, and nothing else in it is read. */
function modeInRequestObject(params: Params): string | undefined {
  const object = params.get('request')
  if (object === undefined || object.length > MAX_REQUEST_OBJECT_LENGTH) return undefined
  const [, payload = ''] = object.split('.')
  const mode = memberOf(parseJson(Buffer.from(payload, 'base64url').toString('utf8')), 'response_mode')
  return typeof mode === 'string' ? mode : undefined
}

/** Refuses a client whose list of identity providers is empty, because no user can sign in to it. */
export function requireIdentityProvider(context: AuthorizeContext, deps: AuthorizeDeps): void {
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
export function refuseUnsupported(context: AuthorizeContext, deps: AuthorizeDeps): void {
  for (const [name, error, description] of UNSUPPORTED) {
    if (context.params.get(name) !== undefined) throw refusal(context, deps, new OAuthError(error, description))
  }
}

/** Reads `response_type`, and refuses a `response_mode` that does not suit it. */
export function readResponseType(context: AuthorizeContext, deps: AuthorizeDeps): void {
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
  // Its codes need a proof; what comes through the browser needs none.
  const isCodeAlone = type.size === 1 && type.has('code')
  if (found(asked.client).registration?.byDocument && !isCodeAlone) {
    throw refusal(context, deps, new OAuthError('unauthorized_client', 'This client may only ask for a code'))
  }
  const { zone } = context.request
  const mode = behaviour.responseModes ? params.get('response_mode') : undefined
  if (mode !== undefined && !suitable(mode, { type, zone }, behaviour)) {
    const description = 'The response_mode is unknown, or does not suit the response_type'
    throw refusal(context, deps, new OAuthError('invalid_request', description))
  }
  if (demandsOn(zone, found(asked.client)).signedResponses && !target.isSigned) {
    throw refusal(context, deps, new OAuthError('invalid_request', 'This client must ask for signed responses'))
  }
  context.asked = { ...asked, responseType: type }
}

/** The client's grants must allow the response type (row A4). */
export function requireGrantForType(context: AuthorizeContext, deps: AuthorizeDeps): void {
  const { client, responseType } = context.asked
  if (grantsAllow(found(client), found(responseType))) return
  const description = 'The grants and response types of this client do not allow this response_type'
  throw refusal(context, deps, new OAuthError('unauthorized_client', description))
}

/** Reads `nonce`, and what else travels into the tokens. */
export function readTokenParameters(context: AuthorizeContext): void {
  const nonce = context.params.get('nonce')
  const azAttr = azAttrOf(context.params)
  context.asked = { ...context.asked, ...(nonce !== undefined && { nonce }), ...(azAttr && { azAttr }) }
}

/** ID tokens of clients or zones with `require_nonce` are bound to the request (row A8). */
export function requireNonce(context: AuthorizeContext, deps: AuthorizeDeps): void {
  const { client, responseType, nonce } = context.asked
  const isRequired = client?.requireNonce === true || context.request.zone.config.require_nonce === true
  if (!isRequired || nonce !== undefined || !found(responseType).has('id_token')) return
  throw refusal(context, deps, new OAuthError('invalid_request', 'This client must send a nonce'))
}

/** Reads `code_challenge` and its method (RFC 7636 §4.3, row A16). */
export function readCodeChallenge(context: AuthorizeContext, deps: AuthorizeDeps): void {
  const { params, asked } = context
  const { strictPkce } = deps.behaviour
  const refuse = (description: string): Error => refusal(context, deps, new OAuthError('invalid_request', description))
  const challenge = params.get('code_challenge')
  const named = params.get('code_challenge_method')
  // RFC 9700 §2.1.1: without a credential, PKCE is all that ties the code to the client.
  const client = found(asked.client)
  const isBare = (strictPkce && !hasCredential(client)) || client.registration?.byDocument === true
  const needsS256 = isBare && found(asked.responseType).has('code')
  if (challenge === undefined) {
    if (strictPkce && named !== undefined) throw refuse('A code_challenge_method needs a code_challenge')
    if (needsS256) throw refuse('This client must send a code_challenge of method S256')
    return
  }
  if (strictPkce && named === undefined) throw refuse('A code_challenge needs a code_challenge_method')
  const method = named ?? 'plain'
  if (!isCodeChallengeMethod(method)) {
    throw refuse(`Unsupported code challenge method. Supported: [${CODE_CHALLENGE_METHODS.join(', ')}]`)
  }
  if (!isWellFormed(challenge)) {
    throw refuse('Code challenge length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.')
  }
  if (needsS256 && method !== 'S256') throw refuse('This client must send a code_challenge of method S256')
  context.asked = { ...asked, codeChallenge: challenge, codeChallengeMethod: method }
}

/** Reads `resource`, which may be repeated (RFC 8707 §2.1). */
export function readResources(context: AuthorizeContext, deps: AuthorizeDeps): void {
  if (!supportsProtocol(context.request.zone, 'resourceIndicators', deps.behaviour)) return
  try {
    const resources = namedResources(context.params.all('resource'), found(context.asked.client))
    if (resources.length > 0) context.asked = { ...context.asked, resources }
  } catch (error) {
    throw error instanceof OAuthError ? refusal(context, deps, error) : error
  }
}

/** FAPI 2.0 Security Profile §5.3.2.2: a code and nothing else, with PKCE, for a redirect URI that the request names. */
export function requireProfile(context: AuthorizeContext, deps: AuthorizeDeps): void {
  const { client, responseType, codeChallengeMethod, namedRedirectUri } = context.asked
  if (!demandsOn(context.request.zone, found(client)).codeWithProofOnly) return
  const refuse = (error: OAuthErrorCode, description: string): Error =>
    refusal(context, deps, new OAuthError(error, description))
  const isCodeAlone = found(responseType).size === 1 && found(responseType).has('code')
  if (!isCodeAlone) throw refuse('unauthorized_client', 'This client may only ask for a code')
  if (namedRedirectUri === undefined) throw refuse('invalid_request', 'This client must name its redirect_uri')
  if (codeChallengeMethod !== 'S256') {
    throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
  }
}

/** Reads `scope`: what the client may request at all, independent of the user. */
export function readScope(context: AuthorizeContext, deps: AuthorizeDeps): void {
  const namedScopes = parseScope(context.params.get('scope'))
  try {
    const requestedScopes = requestableScopes(found(context.asked.client), namedScopes, deps.behaviour)
    context.asked = { ...context.asked, namedScopes, requestedScopes }
  } catch (error) {
    throw error instanceof OAuthError ? refusal(context, deps, error) : error
  }
}

/** Reads `token_format`. */
export function readTokenFormat(context: AuthorizeContext, deps: AuthorizeDeps): void {
  try {
    const tokenFormat = tokenFormatOf(context.params)
    context.asked = { ...context.asked, ...(tokenFormat && { tokenFormat }) }
  } catch (error) {
    throw error instanceof OAuthError ? refusal(context, deps, error) : error
  }
}
