// Reads and checks an authorization request, in the order of row A1 of docs/compatibility.md: client, redirect URI,
// parameters. What is wrong with the first two is a page, because there is nobody to redirect to yet; everything after is
// a redirect.
import { memberOf, parseJson } from '../../base/json.ts'
import type { Client } from '../../model/client.ts'
import { hasCredential, mayUseGrant } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isWellFormed } from '../../model/pkce.ts'
import { parseScope, requestableScopes } from '../../model/scopes.ts'
import type { TokenSettings } from '../../model/settings.ts'
import type { TokenFormat } from '../../model/token.ts'
import type { Zone } from '../../model/zone.ts'
import type { Store } from '../../store/store.ts'
import { PageError } from '../../web/answers.ts'
import type { Params } from '../params.ts'
import { azAttrOf, tokenFormatOf } from '../params.ts'
import { CODE_CHALLENGE_METHODS, isCodeChallengeMethod } from '../pkce.ts'
import type { CodeChallengeMethod } from '../pkce.ts'
import { resolveRedirectUri } from './redirect-uri.ts'
import type { Demands, Refuse } from './demands.ts'
import { readDemands } from './demands.ts'
import { RedirectRefusal } from './respond.ts'
import type { ResponseTarget } from './respond.ts'
import {
  defaultMode,
  grantsAllow,
  isResponseMode,
  mayTravel,
  parseResponseType,
  withoutIdToken,
} from './response-type.ts'
import type { ResponseMode, ResponseType } from './response-type.ts'

/** A checked authorization request, whatever carried it. */
export interface AuthorizationRequest extends Demands {
  readonly client: Client
  readonly target: ResponseTarget
  readonly responseType: ResponseType
  /** The URI as it was named; absent when the client's only one is meant. The code exchange must agree with it. */
  readonly namedRedirectUri?: string
  readonly requestedScopes: readonly string[]
  /** The scopes as the request named them, also those that were dropped; none when it asked for whatever there is. */
  readonly namedScopes: readonly string[]
  readonly nonce?: string
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: CodeChallengeMethod
  readonly tokenFormat?: TokenFormat
  readonly azAttr?: Readonly<Record<string, string>>
}

const SINGLE_ON_PAGE = ['client_id', 'redirect_uri']

/** Who asks, and where the answer goes: what must be known before anything can be told by a redirect. */
export interface Asker {
  readonly client: Client
  readonly target: ResponseTarget
}

/** Finds the client and verifies its redirect URI; throws a `PageError`. */
export async function findAsker(
  zone: Zone,
  params: Params,
  { store, behaviour, settings }: { store: Store; behaviour: Behaviour; settings: TokenSettings },
): Promise<Asker> {
  const repeated = behaviour.refuseRepeated ? params.repeated : []
  for (const name of SINGLE_ON_PAGE) {
    if (repeated.includes(name)) throw pageError(400, 'invalid_request', `The parameter ${name} must not be repeated`)
  }
  const clientId = params.get('client_id')
  const client = clientId === undefined ? undefined : await store.clients.find(zone.id, clientId)
  if (!client) {
    const description =
      clientId === undefined ? 'Missing client_id' : `No client with requested id: ${clientId.slice(0, 255)}`
    throw pageError(behaviour.redirectErrors ? 400 : 401, 'invalid_client', description)
  }
  if (!behaviour.checkGrantFirst) checkRedirectingGrant(client)
  return { client, target: verifyTarget(client, params, { behaviour, settings }) }
}

/** Checks everything else that depends on nobody's sign-in; throws a `RedirectRefusal`, or in `uaa` a `PageError`. */
export function readAuthorizationRequest(
  { client, target }: Asker,
  params: Params,
  { zone, behaviour }: { zone: Zone; behaviour: Behaviour },
): AuthorizationRequest {
  const refuse: Refuse = (error, description) => {
    const refusal = new OAuthError(error, description)
    // UAA shows these on a page (row R2).
    const onPage = error === 'invalid_request' || error === 'unauthorized_client'
    if (!behaviour.redirectErrors && onPage) return pageError(refusal.status, error, description)
    return new RedirectRefusal(target, refusal)
  }

  const [odd] = behaviour.refuseRepeated ? params.repeated : []
  if (odd !== undefined) throw refuse('invalid_request', `The parameter ${odd.slice(0, 100)} must not be repeated`)
  if (client.allowedProviders?.length === 0) {
    throw refuse('unauthorized_client', 'Client is not authorized for any identity providers.')
  }
  checkUnsupported(params, behaviour, refuse)
  const responseType = readResponseType(client, { params, behaviour, target }, refuse)
  const nonce = params.get('nonce')
  if (nonce === undefined && responseType.has('id_token') && behaviour.nonceMayBeRequired) {
    if (requiresNonce(client, zone)) throw refuse('invalid_request', 'This client must send a nonce')
  }
  const proof = readProof(client, params, { behaviour, refuse, responseType })
  const scopes = parseScope(params.get('scope'))
  const requestedScopes = refusing(refuse, () => requestableScopes(client, scopes, behaviour))
  const tokenFormat = refusing(refuse, () => tokenFormatOf(params))
  const redirectUri = params.get('redirect_uri')
  const azAttr = azAttrOf(params)
  return {
    client,
    target,
    responseType,
    requestedScopes,
    namedScopes: scopes,
    ...(redirectUri !== undefined && { namedRedirectUri: redirectUri }),
    ...readDemands(params, behaviour, refuse),
    ...(nonce !== undefined && { nonce }),
    ...proof,
    ...(tokenFormat && { tokenFormat }),
    ...(azAttr && { azAttr }),
  }
}

const pageError = (status: number, code: OAuthErrorCode, description: string): PageError =>
  new PageError(status, description, { code })

const NOT_REDIRECTING = 'A redirect_uri can only be used by implicit or authorization_code grant types.'

/** UAA: which grants a client has is a question of its redirect URI. */
function checkRedirectingGrant(client: Client): void {
  if (client.authorizedGrantTypes.length === 0) {
    throw pageError(400, 'invalid_grant', 'A client must have at least one authorized grant type.')
  }
  if (!mayUseGrant(client, 'authorization_code') && !mayUseGrant(client, 'implicit')) {
    throw pageError(400, 'invalid_grant', NOT_REDIRECTING)
  }
}

function verifyTarget(
  client: Client,
  params: Params,
  { behaviour, settings }: { behaviour: Behaviour; settings: TokenSettings },
): ResponseTarget {
  const requested = params.get('redirect_uri')
  const rules = { ...behaviour, strictRedirects: settings.strictRedirects }
  const redirectUri = resolveRedirectUri(client, requested, rules)
  if (redirectUri === undefined) {
    const shown = requested === undefined ? 'URI (none was named)' : requested.slice(0, 500)
    throw pageError(
      400,
      behaviour.redirectErrors ? 'invalid_request' : 'invalid_grant',
      `Invalid redirect ${shown} did not match one of the registered values`,
    )
  }
  const state = params.get('state')
  const asked = parseResponseType(params.get('response_type') ?? '')
  const type = asked && settings.idTokenDisabled ? withoutIdToken(asked) : asked
  return {
    clientId: client.clientId,
    redirectUri,
    type,
    mode: modeOf(params, type, behaviour),
    ...(state !== undefined && { state }),
  }
}

/** The mode that was asked for where it suits; the refusal of one that does not is told in the default mode (row A6). */
function modeOf(params: Params, type: ResponseType | undefined, behaviour: Behaviour): ResponseMode {
  const { responseModes } = behaviour
  const asked = params.get('response_mode') ?? modeInRefusedObject(params, behaviour)
  if (!responseModes || asked === undefined || !isResponseMode(asked)) return defaultMode(type)
  return type === undefined || mayTravel(type, asked) ? asked : defaultMode(type)
}

const MAX_REQUEST_OBJECT_LENGTH = 8192

/**
 * How a client that put everything into a request object wants to hear that those are not supported. The object is not
 * verified, and nothing else in it counts.
 */
function modeInRefusedObject(params: Params, { refuseRequestObjects }: Behaviour): string | undefined {
  const object = params.get('request')
  if (!refuseRequestObjects || object === undefined || object.length > MAX_REQUEST_OBJECT_LENGTH) return undefined
  const [, payload = ''] = object.split('.')
  const mode = memberOf(parseJson(Buffer.from(payload, 'base64url').toString('utf8')), 'response_mode')
  return typeof mode === 'string' ? mode : undefined
}

/** Row A14: what is not supported yet says so by its own code (OpenID Connect Core §3.1.2.6). */
function checkUnsupported(params: Params, behaviour: Behaviour, refuse: Refuse): void {
  if (!behaviour.refuseRequestObjects) return
  if (params.get('request') !== undefined) throw refuse('request_not_supported', 'Request objects are not supported')
  if (params.get('request_uri') !== undefined) {
    throw refuse('request_uri_not_supported', 'Request objects by reference are not supported')
  }
  if (params.get('registration') !== undefined) {
    throw refuse('registration_not_supported', 'Registration within a request is not supported')
  }
}

function readResponseType(
  client: Client,
  { params, behaviour, target }: { params: Params; behaviour: Behaviour; target: ResponseTarget },
  refuse: Refuse,
): ResponseType {
  const { type } = target
  if (params.get('response_type') === undefined) {
    const refusal = new OAuthError('invalid_request', 'Missing response_type in authorization request')
    // Row A5: UAA leaves the state out.
    const { state: _, ...bare } = target
    throw new RedirectRefusal(behaviour.fullErrors ? target : bare, refusal)
  }
  if (!type) throw refuse('unsupported_response_type', 'Unsupported response types')
  const mode = behaviour.responseModes ? params.get('response_mode') : undefined
  if (mode !== undefined && mode !== target.mode) {
    throw refuse('invalid_request', 'The response_mode is unknown, or does not suit the response_type')
  }
  if (behaviour.checkGrantFirst && !grantsAllow(client, type)) throw refuse('unauthorized_client', NOT_REDIRECTING)
  return type
}

/** Row A8: of clients that say so, and in zones that do, every ID token from this endpoint is bound to its request. */
const requiresNonce = (client: Client, zone: Zone): boolean =>
  client.requireNonce === true || zone.config.require_nonce === true

function readProof(
  client: Client,
  params: Params,
  { behaviour, refuse, responseType }: { behaviour: Behaviour; refuse: Refuse; responseType: ResponseType },
): { codeChallenge?: string; codeChallengeMethod?: CodeChallengeMethod } {
  const challenge = params.get('code_challenge')
  const named = params.get('code_challenge_method')
  // RFC 9700 §2.1.1: without a credential, PKCE is all that ties the code to the client.
  const needsS256 = behaviour.strictPkce && responseType.has('code') && !hasCredential(client)
  if (challenge === undefined) {
    if (behaviour.strictPkce && named !== undefined)
      throw refuse('invalid_request', 'A code_challenge_method needs a code_challenge')
    if (needsS256) throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
    return {}
  }
  if (behaviour.strictPkce && named === undefined)
    throw refuse('invalid_request', 'A code_challenge needs a code_challenge_method')
  const method = named ?? 'plain'
  if (!isCodeChallengeMethod(method)) {
    throw refuse(
      'invalid_request',
      `Unsupported code challenge method. Supported: [${CODE_CHALLENGE_METHODS.join(', ')}]`,
    )
  }
  if (!isWellFormed(challenge)) {
    throw refuse(
      'invalid_request',
      'Code challenge length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.',
    )
  }
  if (needsS256 && method !== 'S256') {
    throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
  }
  return { codeChallenge: challenge, codeChallengeMethod: method }
}

/** Runs a check of the shared rules and tells its refusal as those of this file. */
function refusing<T>(refuse: Refuse, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof OAuthError) throw refuse(error.error, error.message)
    throw error
  }
}
