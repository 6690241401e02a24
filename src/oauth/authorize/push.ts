// The handler of `POST /oauth/par` (RFC 9126): authenticates the client, runs those checks of an authorization request that need
// no user, and stores the request until a browser presents its reference.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds, isWithin } from '../../base/clock.ts'
import { LatestMap } from '../../base/latest-map.ts'
import { digest } from '../../base/secrets.ts'
import type { AuthenticatedClient } from '../../clients/authentication/authentication.ts'
import type { AuthenticatingEndpoint } from '../../clients/authentication/method.ts'
import type { Client } from '../../model/clients/client.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { BEGUN_SECONDS, PUSHED_PREFIX, PUSHED_SECONDS } from '../../model/tokens/pushed-request.ts'
import type { PushedRequest } from '../../model/tokens/pushed-request.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { PageError, turnedOff } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Exchange } from '../../web/exchange.ts'
import type { Form } from '../../web/requests/form.ts'
import { EMPTY_FORM, MalformedInput, parseForm } from '../../web/requests/form.ts'
import { sendJson } from '../../web/requests/json.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { TooManyRequests } from '../../web/limits/too-many-requests.ts'
import { authorizationOf } from '../../web/requests/plain-basic.ts'
import { encodeForm } from '../../web/requests/query.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import { formOf, parseParams, readParams } from '../params.ts'
import { recordingRefusals } from '../refusal-event.ts'
import { SECRETS } from './context.ts'
import type { AuthorizeContext } from './context.ts'
import { pushedChecks } from './checks/parameter-checks.ts'
import { isSilent } from './checks/prompt.ts'
import { RedirectRefusal } from './response/redirect.ts'
import { MAX_PUSHED_OBJECT_LENGTH, readObject } from './sources/request-object.ts'
import type { VerifiedObject } from './sources/request-object.ts'
import type { OAuthDeps } from '../deps.ts'

const ENDPOINT: AuthenticatingEndpoint = { path: '/oauth/par', allowsNone: true, allowsAssertion: true }

const ID_LENGTH = 43
/** Characters of the stored parameters. */
const MAX_PARAMETERS_LENGTH = 20_000
/** Per client: several hours of a busy application none of whose users complete the sign-in. */
const MAX_KEPT = 20_000
/** How long a count of a client's requests is cached. */
const RECOUNT_SECONDS = 5
/** Number of cached counts; the oldest one is dropped. */
const MAX_COUNTED = 1000

/** `POST /oauth/par` (RFC 9126). */
export function pushHandler(on: On<'POST /oauth/par'>, deps: OAuthDeps): void {
  const { store, clock, random, behaviour, settings } = deps
  const refuseTooMany = createKeptCounts(deps)

  async function push(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { zone } = request
    if (!supportsProtocol(zone, 'pushedRequests', behaviour)) throw turnedOff()
    const from = contextOf(request)
    const sent = formOf(request, settings) ?? EMPTY_FORM
    const params = parseParams(sent, behaviour)
    const credentials = { authorization: authorizationOf(request), params, endpoint: ENDPOINT }
    const caller = await deps.authenticator.authenticate(from, credentials)
    const of = { context: from, client: caller.client, params, endpoint: ENDPOINT.path }
    return recordingRefusals(of, deps, () => accept({ request, reply }, { ...caller, sent }))
  }

  /** Checks what an authenticated client has sent, and stores it. */
  async function accept(
    { request, reply }: Exchange,
    { client, clientAuthMethod, sent }: AuthenticatedClient & { readonly sent: Form },
  ): Promise<FastifyReply> {
    const { zone } = request
    // Any caller can push for a client that need not authenticate.
    if (clientAuthMethod === 'none') {
      await deps.limits.anonymousPushes.take(callerKey(contextOf(request), client.clientId))
    }
    const { once, ...found } = await parametersIn(request, { client, sent }, deps)
    const parameters = await withKey(request, { client, parameters: found.parameters }, deps)
    if (parameters.length > MAX_PARAMETERS_LENGTH) {
      throw new OAuthError({ error: 'invalid_request', status: 413 }, 'The request is too long') // RFC 9126 §2.3
    }
    const isSigned = Boolean(sent.get('request'))
    await check({ request, reply, client, form: formIn(parameters), isSigned }, deps)
    await refuseTooMany(zone, client)
    // Anybody can push what a client without a credential signed, also after it was answered.
    if (once && !(await store.assertions.use(zone.id, once.idDigest, once.until))) {
      throw new OAuthError('invalid_request_object', 'The request object was used already')
    }
    const id = random.urlSafe(ID_LENGTH)
    const expiresAt = addSeconds(clock.now(), PUSHED_SECONDS)
    const pushed: PushedRequest = {
      zoneId: zone.id,
      idDigest: digest(id),
      clientId: client.clientId,
      parameters,
      isSigned,
      expiresAt,
      keptUntil: addSeconds(expiresAt, BEGUN_SECONDS),
    }
    await store.pushedRequests.insert(zone.id, pushed).catch(async (cause: unknown) => {
      if (once) await store.assertions.release(zone.id, once.idDigest)
      throw cause
    })
    reply.header('cache-control', 'no-cache, no-store')
    return sendJson(reply, { request_uri: PUSHED_PREFIX + id, expires_in: PUSHED_SECONDS }, 201)
  }

  on('POST /oauth/par', push)
}

/** Refuses a client with too many pending requests; recounts them periodically. */
function createKeptCounts({ store, clock }: Pick<OAuthDeps, 'store' | 'clock'>) {
  const counts = new LatestMap<{ readonly at: Date; kept: number }>(MAX_COUNTED)
  return async (zone: Zone, { clientId }: Client): Promise<void> => {
    const key = JSON.stringify([zone.id, clientId])
    let counted = counts.get(key)
    const now = clock.now()
    if (!counted || !isWithin(RECOUNT_SECONDS, counted.at, now)) {
      counted = { at: now, kept: await store.pushedRequests.count(zone.id, clientId, MAX_KEPT) }
      counts.set(key, counted)
    }
    if (counted.kept >= MAX_KEPT) throw new TooManyRequests(RECOUNT_SECONDS)
    counted.kept += 1
  }
}

interface Sent {
  readonly client: Client
  readonly sent: Form
}

/** The form fields that authenticate the client. */
const NOT_PARAMETERS = [...SECRETS, 'client_assertion_type', 'client_id']

/** The parameters of the request. If it has a request object, only those in the object count (RFC 9126 §3). */
async function parametersIn(
  { zone }: FastifyRequest,
  { client, sent }: Sent,
  deps: OAuthDeps,
): Promise<VerifiedObject> {
  if (sent.get('request_uri')) {
    throw new OAuthError('invalid_request', 'A pushed request cannot refer to another one') // RFC 9126 §2.1
  }
  const jwt = sent.get('request')
  if (!jwt) {
    return { parameters: `client_id=${encodeURIComponent(client.clientId)}&${encodeForm(sent, NOT_PARAMETERS)}` }
  }
  if (!supportsProtocol(zone, 'requestObjects', deps.behaviour)) {
    throw new OAuthError('request_not_supported', 'Request objects are not supported')
  }
  if (jwt.length > MAX_PUSHED_OBJECT_LENGTH) {
    throw new OAuthError({ error: 'invalid_request_object', status: 413 }, 'The request object is too long')
  }
  return readObject({ jwt, client, zone, at: deps.clock.now() }, deps)
}

/** RFC 9449 §10.1: a proof with the push binds the code to its key, as `dpop_jkt` does. */
async function withKey(
  request: FastifyRequest,
  { client, parameters }: { readonly client: Client; readonly parameters: string },
  { senders }: OAuthDeps,
): Promise<string> {
  const form = formIn(parameters)
  const named = form.get('dpop_jkt') || undefined // an empty parameter is none: RFC 6749 §3.1
  const key = await senders.keyOfPushed(contextOf(request), client, named)
  if (key === undefined || key === named) return parameters
  return `${encodeForm(form, ['dpop_jkt'])}&dpop_jkt=${encodeURIComponent(key)}`
}

function formIn(parameters: string): Form {
  try {
    return parseForm(parameters)
  } catch (cause) {
    if (!(cause instanceof MalformedInput)) throw cause
    throw new OAuthError('invalid_request_object', 'The request object has a parameter that is not text', { cause })
  }
}

interface Pushed {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly client: Client
  readonly form: Form
  readonly isSigned: boolean
}

/** Runs the checks of the authorization endpoint; their refusals become the response. */
async function check({ form, client, isSigned, ...exchange }: Pushed, deps: OAuthDeps): Promise<void> {
  const context: AuthorizeContext = {
    ...exchange,
    form,
    query: () => '',
    params: readParams(form),
    silent: isSilent(form, deps.behaviour),
    source: { kind: 'pushed', isSigned, sent: EMPTY_FORM },
    asked: { client },
  }
  try {
    for (const one of pushedChecks(deps)) await one(context, deps)
  } catch (cause) {
    if (cause instanceof RedirectRefusal) throw here(cause.refusal.error, cause.message)
    if (cause instanceof PageError) throw here(cause.code ?? 'invalid_request', cause.message)
    throw cause
  }
}

/** RFC 9126 §2.3: as an error of the token endpoint. */
const here = (error: OAuthErrorCode, description: string): OAuthError =>
  new OAuthError({ error, status: 400 }, description)
