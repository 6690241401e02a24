// The responses that a route has because of its access rules, independent of its handler, and their OpenAPI form.
import type { Behaviour } from '../../model/compatibility.ts'
import type { RegisteredRoute } from '../../web/route.ts'
import type { Answer, Operation, Schema } from './description.ts'
import { described, open, ref, text } from './description.ts'

/** A response, with its name in `components/responses` if routes share it. */
export interface NamedAnswer extends Answer {
  readonly shared?: string
}

/** The body of an error. */
export const ERROR: Schema = {
  ...open({
    error: described(text, 'An error code. Without `error_description`, it may be a sentence.'),
    error_description: text,
    message: described(text, 'The same as `error_description`, where UAA has both.'),
    scope: described(text, 'The scopes that would do, or those that are allowed, with spaces between them.'),
    origin: described(text, 'Of a user name that is taken: the provider of its account.'),
  }),
  required: ['error'],
}

const DESCRIPTIONS = {
  NotSignedIn: 'The user is not signed in, or must change the password.',
  Malformed: 'The request is malformed.',
  NoToken: 'The token is missing or invalid.',
  NoClient: 'Client authentication failed.',
  NoRight: 'The token lacks a scope, the origin is not allowed, or the caller may not choose a zone by a header.',
  NotAllowed: 'The origin is not allowed, the zone may not be chosen by a header, or the user is not signed in.',
  NoZone: 'Zone not found.',
  NoMethod: 'Method not allowed for pages of other origins.',
  TooLarge: 'Body too large.',
  Encoded: 'The body has a content encoding, such as gzip.',
  TooLong: 'Path segment too long.',
  TooMany: 'Too many requests.',
  Fault: 'Internal error.',
  Unavailable: 'The database is unavailable, or the server is overloaded.',
} as const

/** The shared responses that apply to the route. */
function sharedAnswers(
  { access, method, url, zone }: RegisteredRoute,
  { isRateLimited }: { readonly isRateLimited: boolean },
): readonly (readonly [status: number, name: keyof typeof DESCRIPTIONS])[] {
  const isBearer = access.by === 'bearer'
  const all: readonly (readonly [applies: boolean, status: number, name: keyof typeof DESCRIPTIONS])[] = [
    [access.by === 'session', 302, 'NotSignedIn'],
    [true, 400, 'Malformed'],
    [isBearer, 401, 'NoToken'],
    [access.by === 'client', 401, 'NoClient'],
    [true, 403, isBearer ? 'NoRight' : 'NotAllowed'],
    [zone !== false, 404, 'NoZone'],
    [true, 405, 'NoMethod'],
    [method !== 'GET', 413, 'TooLarge'],
    [url.includes(':'), 414, 'TooLong'],
    [method !== 'GET' && method !== 'DELETE', 415, 'Encoded'],
    // Wrong secrets of a client are limited without any configuration.
    [access.by === 'client' || isRateLimited, 429, 'TooMany'],
    [true, 500, 'Fault'],
    [true, 503, 'Unavailable'],
  ]
  return all.flatMap(([applies, status, name]) => (applies ? [[status, name] as const] : []))
}

const ANY_REFUSAL = { 'application/json': ref('Error'), 'text/html': text }

/** All responses of a route by status: those of its description and the shared ones. */
export function answersOf(
  route: RegisteredRoute,
  { answers }: Operation,
  facts: { readonly isRateLimited: boolean; readonly behaviour: Behaviour },
): Readonly<Record<string, NamedAnswer>> {
  const all: Record<string, NamedAnswer> = {}
  for (const [status, answer] of Object.entries(answers)) {
    const { statusAlone = false, ...own } = typeof answer === 'string' ? { about: answer } : answer
    const mayBeEmpty = statusAlone && !facts.behaviour.bodyInEveryRefusal
    all[status] = { ...own, ...(mayBeEmpty && { about: `${own.about} Without a body.`, mayBeEmpty }) }
  }
  for (const [status, name] of sharedAnswers(route, facts)) {
    const own = all[status]
    if (own) all[status] = both(own, DESCRIPTIONS[name], status)
    else if (status < 400) all[status] = { about: DESCRIPTIONS[name], content: {} }
    // The rate limiter does not know the route: it answers by the `Accept` header.
    else all[status] = { about: DESCRIPTIONS[name], shared: name, ...(name === 'TooMany' && { content: ANY_REFUSAL }) }
  }
  return all
}

/** Combines the handler's error with a shared one of the same status. */
function both(own: Answer, standard: string, status: number): Answer {
  const about = `${own.about} Or: ${standard.charAt(0).toLowerCase()}${standard.slice(1)}`
  if (!own.content || status < 400) return { ...own, about }
  const isEmpty = Object.keys(own.content).length === 0
  return { ...own, about, content: { ...ANY_REFUSAL, ...own.content }, ...(isEmpty && { mayBeEmpty: true }) }
}

/** The name of a shared response; pages answer errors with pages, and SCIM in its own form. */
export const sharedName = (name: string, route: RegisteredRoute): string =>
  route.audience !== 'api' ? `${name}OrPage` : isScim(route) ? `${name}OfScim` : name

/** Whether the route's own refusals have the form of RFC 7644 §3.12. */
const isScim = ({ url }: RegisteredRoute): boolean => url.includes('/scim/v2')

/** Headers of every response with this status. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  302: { location: 'Target of the redirect.' },
  303: { location: 'Target of the redirect.' },
  401: { 'www-authenticate': 'The challenge.' },
  415: {
    accept: 'The content types that the endpoint takes.',
    'accept-encoding': '`identity`, if the body has a content encoding.',
  },
  429: { 'retry-after': 'Seconds to wait.' },
  503: { 'retry-after': 'Seconds to wait.' },
}

/** RFC 6750 §3.1. */
const LACKING_SCOPE = { 'www-authenticate': 'The challenge, if the caller lacks a scope.' }

/** The Response Object; an error has the default error body of the route's audience. */
export function responseObject(
  { about, content, headers: own, mayBeEmpty }: Answer,
  status: string,
  route: RegisteredRoute,
): Schema {
  const refusal = {
    'application/json': ref('Error'),
    ...(isScim(route) && { 'application/scim+json': ref('ScimError') }),
    ...(route.audience !== 'api' && { 'text/html': text }),
  }
  const types = Object.entries(content ?? (Number(status) >= 400 ? refusal : {}))
  const headers = Object.entries({
    ...HEADERS[status],
    ...(status === '403' && route.audience === 'api' && LACKING_SCOPE),
    ...own,
  })
  return {
    description: about,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map(([name, description]) => [name, { description, schema: text }])),
    }),
    ...(types.length > 0 && { content: Object.fromEntries(types.map(([type, schema]) => [type, { schema }])) }),
    ...(mayBeEmpty && { 'x-body-may-be-absent': true }),
  }
}
