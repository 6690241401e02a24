// Reads and checks an authorization request, in the order of row A1 of docs/compatibility.md: client, redirect URI, parameters. What is
// wrong with the first two is a page, because there is nobody to redirect to yet; everything after is a redirect.
import type { Client } from '../model/client.ts'
import { hasCredential, mayUseGrant } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { OAuthErrorCode } from '../model/oauth-error.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { parseScope, requestableScopes } from '../model/scopes.ts'
import type { TokenFormat } from '../model/token.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import { PageError } from '../web/answers.ts'
import type { Params } from './params.ts'
import { azAttrOf, tokenFormatOf } from './params.ts'
import { CODE_CHALLENGE_METHODS, isCodeChallengeMethod, isWellFormed } from './pkce.ts'
import type { CodeChallengeMethod } from './pkce.ts'
import { resolveRedirectUri } from './redirect-uri.ts'
import { RedirectRefusal } from './respond.ts'
import type { ResponseTarget } from './respond.ts'

/** A checked authorization request, whatever carried it. */
export interface AuthorizationRequest {
  readonly client: Client
  readonly target: ResponseTarget
  /** The URI as it was named; absent when the client's only one is meant. The code exchange must agree with it. */
  readonly namedRedirectUri?: string
  readonly requestedScopes: readonly string[]
  readonly silent: boolean
  readonly forceLogin: boolean
  readonly forceConsent: boolean
  /** Seconds (OpenID Connect Core §3.1.2.1). */
  readonly maxAge?: number
  readonly nonce?: string
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: CodeChallengeMethod
  readonly tokenFormat?: TokenFormat
  readonly azAttr?: Readonly<Record<string, string>>
}

/** The response types that are served, as discovery lists them. */
export const RESPONSE_TYPES = ['code'] as const

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
  { store, behaviour }: { store: Store; behaviour: Behaviour },
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
  if (!behaviour.checkCodeGrant) checkRedirectingGrant(client)
  return { client, target: verifyTarget(client, params, behaviour) }
}

/** Checks everything else that depends on nobody's sign-in; throws a `RedirectRefusal`, or in `uaa` a `PageError`. */
export function readAuthorizationRequest(
  { client, target }: Asker,
  params: Params,
  behaviour: Behaviour,
): AuthorizationRequest {
  const refuse = (error: OAuthErrorCode, description: string): Error => {
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
  checkResponseType(client, { params, behaviour, target }, refuse)
  const proof = readProof(client, params, { behaviour, refuse })
  const requestedScopes = refusing(refuse, () => requestableScopes(client, parseScope(params.get('scope')), behaviour))
  const tokenFormat = refusing(refuse, () => tokenFormatOf(params))
  const redirectUri = params.get('redirect_uri')
  const nonce = params.get('nonce')
  const azAttr = azAttrOf(params)
  return {
    client,
    target,
    requestedScopes,
    ...(redirectUri !== undefined && { namedRedirectUri: redirectUri }),
    ...readPrompt(params, behaviour, refuse),
    ...readMaxAge(params, refuse),
    ...(nonce !== undefined && { nonce }),
    ...proof,
    ...(tokenFormat && { tokenFormat }),
    ...(azAttr && { azAttr }),
  }
}

type Refuse = (error: OAuthErrorCode, description: string) => Error

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

function verifyTarget(client: Client, params: Params, behaviour: Behaviour): ResponseTarget {
  const requested = params.get('redirect_uri')
  const redirectUri = resolveRedirectUri(client, requested, behaviour)
  if (redirectUri === undefined) {
    const shown = requested === undefined ? 'URI (none was named)' : requested.slice(0, 500)
    throw pageError(
      400,
      behaviour.redirectErrors ? 'invalid_request' : 'invalid_grant',
      `Invalid redirect ${shown} did not match one of the registered values`,
    )
  }
  const state = params.get('state')
  return { clientId: client.clientId, redirectUri, mode: 'query', ...(state !== undefined && { state }) }
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

function checkResponseType(
  client: Client,
  { params, behaviour, target }: { params: Params; behaviour: Behaviour; target: ResponseTarget },
  refuse: Refuse,
): void {
  const responseType = params.get('response_type')
  if (responseType === undefined) {
    const refusal = new OAuthError('invalid_request', 'Missing response_type in authorization request')
    // Row A5: UAA leaves the state out.
    const { state: _, ...bare } = target
    throw new RedirectRefusal(behaviour.fullErrors ? target : bare, refusal)
  }
  if (!RESPONSE_TYPES.some(type => type === responseType.trim())) {
    throw refuse('unsupported_response_type', 'Unsupported response types')
  }
  if (behaviour.checkCodeGrant && !mayUseGrant(client, 'authorization_code')) {
    throw refuse('unauthorized_client', NOT_REDIRECTING)
  }
}

function readProof(
  client: Client,
  params: Params,
  { behaviour, refuse }: { behaviour: Behaviour; refuse: Refuse },
): { codeChallenge?: string; codeChallengeMethod?: CodeChallengeMethod } {
  const challenge = params.get('code_challenge')
  const named = params.get('code_challenge_method')
  if (challenge === undefined) {
    if (behaviour.strictPkce && named !== undefined)
      throw refuse('invalid_request', 'A code_challenge_method needs a code_challenge')
    // RFC 9700 §2.1.1: without a credential, PKCE is all that ties the code to the client.
    if (behaviour.strictPkce && !hasCredential(client))
      throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
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
  if (behaviour.strictPkce && !hasCredential(client) && method !== 'S256') {
    throw refuse('invalid_request', 'This client must send a code_challenge of method S256')
  }
  return { codeChallenge: challenge, codeChallengeMethod: method }
}

/** Whether no page may be shown, which can be told before the request is checked. */
export function isSilent(params: Pick<Params, 'get'>, behaviour: Behaviour): boolean {
  const prompt = params.get('prompt') ?? ''
  return behaviour.promptWords ? promptWords(prompt).has('none') : prompt.startsWith('none')
}

/** The words of a `prompt` parameter, in their order (OpenID Connect Core §3.1.2.1). */
export const promptWords = (prompt: string): ReadonlySet<string> =>
  new Set(prompt.split(' ').filter(word => word !== ''))

/** OpenID Connect Core §3.1.2.1: `none` stands alone, unknown words are ignored. */
function readPrompt(
  params: Params,
  behaviour: Behaviour,
  refuse: Refuse,
): Pick<AuthorizationRequest, 'silent' | 'forceLogin' | 'forceConsent'> {
  const prompt = params.get('prompt') ?? ''
  const silent = isSilent(params, behaviour)
  if (!behaviour.promptWords) return { silent, forceLogin: prompt === 'login', forceConsent: false }
  const words = promptWords(prompt)
  if (silent && words.size > 1) throw refuse('invalid_request', 'prompt=none cannot be combined with another prompt')
  return { silent, forceLogin: words.has('login'), forceConsent: words.has('consent') }
}

function readMaxAge(params: Params, refuse: Refuse): { maxAge?: number } {
  const text = params.get('max_age')
  if (text === undefined) return {}
  if (!/^\d{1,10}$/.test(text)) throw refuse('invalid_request', 'The max_age must be a number of seconds')
  return { maxAge: Number(text) }
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
