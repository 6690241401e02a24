// Maps everything that can be thrown to an answer: JSON for programs, a page for users. Details of a fault go to the log
// only, never to the caller.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { QueueFull } from '../base/concurrency/fair-queue.ts'
import { OutboundBusy } from '../base/outbound/error.ts'
import { TooManyHashes } from '../base/passwords.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { OAuthErrorCode, RefusalBody } from '../model/oauth-error.ts'
import { descriptionText, OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import { StoreBusy, StoreUnavailable, TooManyDetails, ZoneDeleted } from '../store/store.ts'
import { SigningUnavailable } from '../token/keys/signer.ts'
import { bearerChallenge, bearerHeader, inScheme } from './callers/authorization-header.ts'
import { MalformedInput } from './requests/form.ts'
import { securityHeaders } from './headers.ts'
import { EncodedBody, takenTypes } from './requests/bodies.ts'
import { sendJson } from './requests/json.ts'
import { Overloaded } from './limits/overload.ts'
import type { PageWriter } from './pages.ts'
import { TooManyRequests } from './limits/too-many-requests.ts'

/** A refusal shown to a user: status and sentence, with the protocol's error code where there is one. */
export class PageError extends Error {
  override name = 'PageError'
  readonly status: number
  readonly code: OAuthErrorCode | undefined
  constructor(status: number, description: string, options: { code?: OAuthErrorCode; cause?: unknown } = {}) {
    super(description, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.code = options.code
  }
}

/** Message for a form without a valid anti-forgery value. */
export const FORGED =
  'This form was not sent from one of our pages, or it was open for too long. Go back and try again.'

/** Refuses endpoints of a feature that the zone has turned off, or in `uaa` not turned on (row N1). */
export const turnedOff = (): PageError => new PageError(404, 'This feature is turned off here.')

/** The answer to an error, before it is rendered as JSON or as a page. */
interface Answer {
  readonly status: number
  readonly error: OAuthErrorCode | undefined
  readonly description: string
  readonly extra: Readonly<Record<string, string>>
  /** Replaces code and description. */
  readonly body?: RefusalBody
  /** A server fault: logged with its stack. */
  readonly fault: boolean
  /** Value of `Retry-After`. */
  readonly retryAfterSeconds?: number
}

const answer = (status: number, error: OAuthErrorCode | undefined, description: string): Answer => ({
  status,
  error,
  description,
  extra: {},
  fault: false,
})

const FAULT: Answer = { ...answer(500, 'server_error', 'Internal Server Error'), fault: true }

/** Maps an error to its answer; anything unknown is a 500 without details. */
export function answerFor(thrown: unknown): Answer {
  if (thrown instanceof OAuthError) {
    const { status, error, message, extra, body } = thrown
    const description = error === 'server_error' ? FAULT.description : message // the cause goes to the log only
    if (body) return { status, error, description, extra, body, fault: false } // intended, with any status
    return { status, error, description, extra, fault: status >= 500 }
  }
  if (thrown instanceof PageError) {
    return {
      ...answer(thrown.status, undefined, thrown.message),
      ...(thrown.code && { error: thrown.code }),
    } // shown only
  }
  if (thrown instanceof ZoneDeleted) return answer(404, undefined, thrown.message)
  if (thrown instanceof TooManyDetails) return answer(400, 'invalid_request', thrown.message)
  if (thrown instanceof MalformedInput) return answer(400, 'invalid_request', thrown.message)
  if (thrown instanceof TooManyRequests) {
    return { ...answer(429, 'too_many_requests', thrown.message), retryAfterSeconds: thrown.retryAfterSeconds }
  }
  if (thrown instanceof TooManyHashes) {
    return answer(503, 'temporarily_unavailable', 'Too many sign-ins at the moment. Try again in a few seconds.')
  }
  if (thrown instanceof QueueFull) {
    return answer(
      503,
      'temporarily_unavailable',
      'Too many changes of this kind at the moment. Try again in a few seconds.',
    )
  }
  if (thrown instanceof StoreBusy || thrown instanceof Overloaded || thrown instanceof OutboundBusy) {
    return answer(503, 'temporarily_unavailable', 'Too many requests at the moment. Try again in a few seconds.')
  }
  if (thrown instanceof SigningUnavailable) {
    return { ...answer(503, 'temporarily_unavailable', 'Signing is unavailable. Retry later.'), fault: true }
  }
  if (thrown instanceof StoreUnavailable) {
    return { ...answer(503, 'temporarily_unavailable', 'Database unavailable. Retry later.'), fault: true }
  }
  return FRAMEWORK_ERRORS[codeOf(thrown)] ?? FAULT
}

/** Errors that Fastify throws before a handler runs. */
const FRAMEWORK_ERRORS: Readonly<Record<string, Answer>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: answer(413, 'invalid_request', 'The request body is too large'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: answer(
    400,
    'invalid_request',
    'The request body does not have the announced length',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: answer(400, 'invalid_request', 'The content type is not valid'),
  FST_ERR_BAD_URL: answer(400, 'invalid_request', 'The URL is not valid'),
  FST_ERR_MAX_PARAM_LENGTH: answer(414, 'invalid_request', 'The URL is too long'),
  ECONNRESET: answer(400, 'invalid_request', 'The request ended early'),
}

function codeOf(thrown: unknown): string {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return typeof code === 'string' && Object.hasOwn(FRAMEWORK_ERRORS, code) ? code : ''
}

/** In `standard`, without characters that an error description must not have (row R8). */
export const plainDescription = (description: string, behaviour: Behaviour): string =>
  behaviour.plainDescriptions ? descriptionText(description) : description

/** The media types in `Accept`, in lower case and without parameters (RFC 9110 §8.3.1). */
const acceptedTypes = ({ headers: { accept = '' } }: FastifyRequest): readonly string[] =>
  accept
    .toLowerCase()
    .split(',')
    .filter(range => !/;\s*q=0(?:\.0*)?\s*$/.test(range)) // RFC 9110 §12.4.2: not acceptable
    .map(range => range.split(';', 1).join('').trim())

/** Whether `Accept` names the media type, which is in lower case. */
export const accepts = (request: FastifyRequest, type: string): boolean => acceptedTypes(request).includes(type)

/** Whether `Accept` names JSON. */
export const wantsJson = (request: FastifyRequest): boolean => accepts(request, 'application/json')

// Documented browser requests send the last one, and then follow the redirect to the sign-in page.
const PAGE_TYPES = new Set(['text/html', 'text/*', '*/*', 'application/x-www-form-urlencoded'])

/** Whether the caller accepts a page; without `Accept` anything is accepted (RFC 9110 §12.5.1). */
export const acceptsPage = (request: FastifyRequest): boolean =>
  (request.headers.accept ?? '').trim() === '' || acceptedTypes(request).some(type => PAGE_TYPES.has(type))

/** Whether to refuse with a page: on routes for users, and elsewhere if `Accept` names HTML. */
export function prefersPage(request: FastifyRequest): boolean {
  const audience = request.audience ?? request.routeOptions.config.audience
  if (audience === 'api') return false
  if (audience === 'page') return !wantsJson(request) && bearerHeader(request) === undefined // only programs send tokens
  return (request.headers.accept ?? '').includes('text/html')
}

/** Security headers for a refusal outside of any route, which has set none. */
export const refusalHeaders = (request: FastifyRequest, isHttps: boolean): Readonly<Record<string, string>> =>
  securityHeaders(prefersPage(request) ? 'page' : 'api', isHttps)

/** Dependencies of challenges. */
export interface ChallengeDeps {
  readonly service: Service
  readonly behaviour: Behaviour
}

/** What was thrown, and the answer to it. */
interface Refused {
  readonly thrown: unknown
  readonly answer: Answer
}

/** Sets `Retry-After` and `WWW-Authenticate` where the answer needs them. */
export function setRefusalHeaders(
  reply: FastifyReply,
  { thrown, answer: { status, error, description, extra, retryAfterSeconds } }: Refused,
  { service, behaviour }: ChallengeDeps,
): void {
  // RFC 9110 §15.5.16
  if (thrown instanceof EncodedBody) reply.header('accept-encoding', 'identity')
  else if (status === 415) reply.header('accept', takenTypes(reply.request).join(', '))
  if (status === 503) reply.header('retry-after', '2')
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  // RFC 6750 §3. Of a 401, only challenges made elsewhere carry a realm.
  const challenge = thrown instanceof OAuthError ? thrown.challenge : undefined
  if (challenge !== undefined) reply.header('www-authenticate', inScheme(reply.request, challenge))
  else if (status === 401 || error === 'insufficient_scope') {
    const realm = status === 403 && behaviour.fullRightsChallenge ? service.oauthRealm : undefined
    const bare = bearerChallenge(realm, { error: error ?? 'unauthorized', description, scope: extra['scope'] })
    reply.header('www-authenticate', inScheme(reply.request, bare))
  }
}

/** Fastify's error handler. Logs faults with their stack, and the details of refusals. */
export function createErrorHandler(deps: {
  pages: PageWriter
  service: Service
  behaviour: Behaviour
  log: { fault(message: string, cause: unknown): void; refusal(message: string): void }
}): (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { pages, behaviour, log } = deps
  return async (thrown, request, reply) => {
    try {
      return await answerTo(thrown, request, reply)
    } catch (cause) {
      // Fastify's own handler would show the cause, and log nothing.
      log.fault('an error could not be answered', cause)
      return reply.status(500).type('text/plain; charset=utf-8').send('Internal Server Error')
    }
  }

  async function answerTo(thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const answer = answerFor(thrown)
    const { status, error, description, extra, fault } = answer
    if (fault) log.fault(`${request.method} ${request.routeOptions.url ?? 'unknown route'}`, thrown)
    else if (thrown instanceof OAuthError && thrown.detail) log.refusal(`${thrown.error}: ${thrown.detail}`)
    setRefusalHeaders(reply, { thrown, answer }, deps)
    reply.status(status)
    if (prefersPage(request)) {
      try {
        return await pages.error(request, reply, { status, description, ...(error !== undefined && { code: error }) })
      } catch (cause) {
        // Rendering can fail too, for example without a database. Do not let Fastify's default handler expose the cause.
        log.fault('an error page could not be rendered', cause)
        return reply.type('text/plain; charset=utf-8').send(description)
      }
    }
    if (answer.body) return sendBody(reply, answer.body, answer)
    const body = {
      error: error ?? (status === 404 ? 'not_found' : 'invalid_request'),
      error_description: plainDescription(description, behaviour),
      ...extra,
    }
    return sendJson(reply, body, status)
  }
}

function sendBody(reply: FastifyReply, body: RefusalBody, { status, description }: Answer): FastifyReply {
  switch (body.kind) {
    case 'json':
      return sendJson(reply, body.value, status)
    case 'text':
      return reply.type('text/plain; charset=utf-8').send(description)
    case 'none':
    case 'sent':
      return reply.send()
  }
}
