// Finds the parameters of requests that refer to them: fetches and verifies request objects. Loaded on first use.
import { addSeconds } from '../../../base/clock.ts'
import { OutboundError } from '../../../base/outbound.ts'
import type { Outbound } from '../../../base/outbound.ts'
import { digest } from '../../../base/secrets.ts'
import { outboundShareOf } from '../../../clients/outbound-share.ts'
import type { Client } from '../../../model/clients/client.ts'
import type { OAuthErrorCode } from '../../../model/oauth-error.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { BEGUN_SECONDS, PUSHED_PREFIX } from '../../../model/tokens/pushed-request.ts'
import type { AddressedZone } from '../../../model/request.ts'
import { PageError } from '../../../web/answers.ts'
import { MalformedInput, parseForm } from '../../../web/requests/form.ts'
import type { Form } from '../../../web/requests/form.ts'
import { encodeForm } from '../../../web/requests/query.ts'
import { readParams } from '../../params.ts'
import type { AuthorizeContext, RequestSource } from '../context.ts'
import { BEGUN, MARKS } from '../carried.ts'
import { isSilent } from '../checks/prompt.ts'
import { MAX_REQUEST_OBJECT_LENGTH, readObject } from './request-object.ts'
import { refusal } from '../refusal.ts'
import { verifyRedirectUri } from '../checks/target.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Repeated next to the source for the sign-in pages, which do not read it; the endpoint uses those of the source. */
const HINTS = ['login_hint', 'ui_locales', 'acr_values']

/** How a request first arrived. */
interface Begun {
  readonly at: Date
  /** Whether its object was fetched: the browser comes back with the object itself. */
  readonly isFetched: boolean
}

/** A request whose parameters were found. */
interface Resolved extends Pick<RequestSource, 'kind' | 'isSigned' | 'pushed' | 'once'> {
  readonly parameters: string
  /** How the browser refers to it on return. */
  readonly name: 'request' | 'request_uri'
  readonly value: string
  readonly isFetched?: boolean
}

/** The context with the parameters that the request refers to. Throws the refusal of an invalid one. */
export async function resolve(context: AuthorizeContext, deps: OAuthDeps): Promise<AuthorizeContext> {
  const { params, request, form: sent } = context
  const { zone } = request
  const client = await deps.store.clients.find(zone.id, params.get('client_id') ?? '')
  if (!client) return context // refused by the check that looks for it
  context.asked = { ...context.asked, client } // whom a refusal is for
  const begun = begunOf(context, client, deps)
  const begunAt = begun?.at
  const now = deps.clock.now()
  try {
    const resolved = await find(params, { zone, client, begun, now }, deps)
    const form = parseForm(resolved.parameters)
    const { kind, isSigned, pushed, once } = resolved
    return {
      ...context,
      form,
      params: readParams(form),
      silent: isSilent(form, deps.behaviour),
      query: () => queryOf(resolved, { form, context, client, begunAt: begunAt ?? now }, deps),
      source: {
        kind,
        isSigned,
        sent,
        begunAt,
        ...(pushed && { pushed }),
        ...(once && { once }),
      },
    }
  } catch (cause) {
    if (cause instanceof OAuthError) {
      if (cause.detail !== undefined) deps.log.refusal(`${cause.error}: ${cause.detail}`)
      throw refusalTo(client, { context, cause }, deps)
    }
    if (!(cause instanceof MalformedInput)) throw cause
    const error = new OAuthError('invalid_request_object', 'The request object has a parameter that is not text')
    throw refusalTo(client, { context, cause: error }, deps)
  }
}

interface ReferenceContext {
  readonly zone: AddressedZone
  readonly client: Client
  readonly begun: Begun | undefined
  readonly now: Date
}

async function find(params: AuthorizeContext['params'], asked: ReferenceContext, deps: OAuthDeps): Promise<Resolved> {
  const value = params.get('request')
  const reference = params.get('request_uri')
  const twice = ['request', 'request_uri'].find(name => params.repeated.includes(name))
  if (twice !== undefined) throw new OAuthError('invalid_request', `The parameter ${twice} must not be repeated`)
  if (value !== undefined && reference !== undefined) {
    throw new OAuthError('invalid_request', 'A request must not have both request and request_uri') // RFC 9101 §5
  }
  if (reference?.startsWith(PUSHED_PREFIX)) return findPushed(reference, asked, deps)
  const jwt = value ?? (await fetchObject(reference ?? '', asked, deps))
  if (jwt.length > MAX_REQUEST_OBJECT_LENGTH) {
    const name = reference === undefined ? 'invalid_request_object' : 'invalid_request_uri'
    throw new OAuthError(name, `A request object must have at most ${MAX_REQUEST_OBJECT_LENGTH} characters`)
  }
  const { zone, client, begun, now } = asked
  const { parameters, once } = await readObject({ jwt, client, zone, at: begun?.at ?? now }, deps)
  // An object that a client publishes at a URL can be used many times (OpenID Connect Core §6.2).
  const isFetched = value === undefined || begun?.isFetched === true
  const used = isFetched ? undefined : once
  return {
    kind: 'object',
    isSigned: true,
    parameters,
    name: 'request',
    value: jwt,
    isFetched,
    ...(used && { once: used }),
  }
}

async function findPushed(
  reference: string,
  { zone, client, begun, now }: ReferenceContext,
  { store }: OAuthDeps,
): Promise<Resolved> {
  const pushed = await store.pushedRequests.find(zone.id, digest(reference.slice(PUSHED_PREFIX.length)))
  const isInTime = pushed && (now < pushed.expiresAt || (begun && begun.at < pushed.expiresAt))
  // The same message as for another client's request, so that callers cannot probe for existing ones.
  if (!pushed || !isInTime || pushed.clientId !== client.clientId) {
    throw new OAuthError('invalid_request_uri', 'The request_uri is unknown, expired or already used')
  }
  const { parameters, isSigned } = pushed
  return { kind: 'pushed', isSigned, pushed, parameters, name: 'request_uri', value: reference }
}

/** The object at an address that the client registered. */
async function fetchObject(
  uri: string,
  { zone, client }: ReferenceContext,
  { outbound, fetchedObjects }: OAuthDeps,
): Promise<string> {
  const refuse = (description: string, cause?: OutboundError): OAuthError =>
    new OAuthError('invalid_request_uri', description, { cause, detail: cause?.message })
  const [address = '', fragment] = uri.split('#')
  const isRegistered = client.requestUris?.some(one => one === uri || one === address) === true
  if (!isRegistered) throw refuse('The request_uri is not registered for this client')
  const key = JSON.stringify([zone.id, client.clientId, uri])
  const kept = fragment ? fetchedObjects.peek(key) : undefined
  if (kept) return kept.content.trim()
  try {
    const content = await download(address, client, outbound.for('request_uri'))
    if (fragment === digest(content)) {
      await fetchedObjects.get(key, () => Promise.resolve({ content }))
    }
    return content.trim()
  } catch (cause) {
    if (cause instanceof OutboundError) throw refuse('The request_uri cannot be fetched', cause)
    throw cause
  }
}

async function download(address: string, client: Client, outbound: Outbound): Promise<string> {
  const response = await outbound.fetch(address, {
    headers: { accept: 'application/oauth-authz-req+jwt, application/jwt' },
    maxBytes: MAX_REQUEST_OBJECT_LENGTH + 2, // and a line end
    share: outboundShareOf(client, 'sign-in'),
  })
  if (response.status !== 200) throw new OutboundError('bad-answer', `${new URL(address).origin}: no request object`)
  return response.text()
}

/** If the request itself has a registered redirect URI, the refusal is sent there like that of any request. */
function refusalTo(
  client: Client,
  { context, cause }: { readonly context: AuthorizeContext; readonly cause: OAuthError },
  deps: OAuthDeps,
): Error {
  const outer = { ...context, asked: { client } }
  const onPage = (code: OAuthErrorCode): PageError => new PageError(400, cause.message, { code, cause })
  if (context.params.get('redirect_uri') === undefined) return onPage(cause.error)
  try {
    verifyRedirectUri(outer, deps)
  } catch (problem) {
    if (problem instanceof PageError) return onPage(cause.error)
    throw problem
  }
  return refusal(outer, deps, cause)
}

/** The encryption context: one request of one client, in one browser. Programs have no browser and share an empty one. */
const sealOf = ({ request }: AuthorizeContext, { clientId }: Client, of: { value: string; browser: string }): string =>
  JSON.stringify(['begun request', request.zone.id, clientId, digest(of.value), of.browser])

/** The sealed data, if it belongs to this request and is not too old. */
function begunOf(context: AuthorizeContext, client: Client, { vault, clock, csrf }: OAuthDeps): Begun | undefined {
  const { form: sent, program, request } = context
  const sealed = sent.get(BEGUN)
  const browser = program ? '' : csrf.browserOf(request)
  // A browser without the cookie has no identity; the empty one is that of programs.
  if (!sealed || browser === undefined) return undefined
  const value = sent.get('request_uri') ?? sent.get('request') ?? ''
  try {
    const [at = '', how] = vault.open(sealed, sealOf(context, client, { value, browser })).split(' ')
    const begun = { at: new Date(at), isFetched: how === FETCHED }
    return clock.now() < addSeconds(begun.at, BEGUN_SECONDS) ? begun : undefined
  } catch {
    return undefined // of another request or browser, or invented
  }
}

const FETCHED = 'fetched'

interface Returning {
  readonly form: Form
  readonly context: AuthorizeContext
  readonly client: Client
  readonly begunAt: Date
}

/** The query with which the browser comes back. */
function queryOf(
  { name, value, isFetched }: Resolved,
  { form, context, client, begunAt }: Returning,
  { vault, csrf, behaviour }: OAuthDeps,
): string {
  const { form: sent, program, request, reply } = context
  const marks = sent.names.filter(mark => MARKS.includes(mark)).map(mark => [mark, 'true'])
  const hints = HINTS.flatMap(hint => {
    const text = form.get(hint)
    return text === undefined ? [] : [[hint, text]]
  })
  // A request with prompt=none shows no page to return from.
  const browser = program || isSilent(form, behaviour) ? '' : csrf.browserFor(request, reply)
  const begun = `${begunAt.toISOString()}${isFetched ? ` ${FETCHED}` : ''}`
  const pairs = [
    ['client_id', client.clientId],
    [name, value],
    ...hints,
    ...marks,
    [BEGUN, vault.seal(begun, sealOf(context, client, { value, browser }))],
  ]
  const query = pairs.map(pair => pair.map(encodeURIComponent).join('=')).join('&')
  if (program?.by !== 'login-server') return query
  return `${query}&${encodeForm(sent, [...pairs.map(([own = '']) => own), 'login', 'user_oauth_approval'])}` // and the user
}
