// Reads the parameters of OAuth requests: where they are accepted, and those that several endpoints share.
import type { FastifyRequest } from 'fastify'
import { isJsonRecord, memberOf, parseJson } from '../base/json.ts'
import { isStorable } from '../base/text/storable-text.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { TokenFormat } from '../model/tokens/token.ts'
import type { Form } from '../web/requests/form.ts'
import { EMPTY_FORM, joinForms } from '../web/requests/form.ts'
import { queryForm } from '../web/requests/query.ts'
import { bodyForm } from '../web/route.ts'

/** The parameters of an OAuth request, parsed once (RFC 6749 §3.1, §3.2). */
export interface Params {
  /** The value; undefined when absent or empty, which RFC 6749 §3.1 treats alike. */
  get(name: string): string | undefined
  /** The value as sent: an empty client secret is a secret. */
  raw(name: string): string | undefined
  /** All values, in the order sent. */
  all(name: string): readonly string[]
  /** Names that were sent more than once and must not be. */
  readonly repeated: readonly string[]
}

/** May be sent more than once (RFC 8707 §2, RFC 8693 §2.1). */
const REPEATABLE: ReadonlySet<string> = new Set(['resource', 'audience'])

/** Reads a form or a query without refusing repeated parameters. */
export function readParams(form: Form = EMPTY_FORM): Params {
  return {
    get: name => form.get(name) || undefined,
    raw: name => form.get(name),
    all: name => form.all(name),
    repeated: form.repeated.filter(name => !REPEATABLE.has(name)),
  }
}

/** Reads the form of the token and similar endpoints; throws `invalid_request` for a repeated parameter (row A3). */
export function parseParams(form: Form | undefined, behaviour: Behaviour): Params {
  const params = readParams(form)
  const [repeated] = params.repeated
  if (repeated !== undefined && behaviour.refuseRepeated) {
    throw new OAuthError('invalid_request', `The parameter ${repeated.slice(0, 100)} must not be repeated`)
  }
  return params
}

/** Limited because every token carries the attributes. */
const MAX_ATTRIBUTES_LENGTH = 2000

/** UAA: the attributes of `authorities={"az_attr":{…}}`, strings only; anything else counts as absent. */
export function azAttrOf(params: Params): Readonly<Record<string, string>> | undefined {
  const text = params.get('authorities')
  if (text === undefined || text.length > MAX_ATTRIBUTES_LENGTH) return undefined
  const attributes = memberOf(parseJson(text), 'az_attr')
  if (!isJsonRecord(attributes)) return undefined
  const entries = Object.entries(attributes)
  return entries.every((entry): entry is [string, string] => entry.every(isText))
    ? Object.fromEntries(entries)
    : undefined
}

/** JSON can escape half of a surrogate pair, which no URL can hold. */
const isText = (value: unknown): boolean => typeof value === 'string' && isStorable(value)

/** The requested format of the access token; throws `invalid_request` for an unknown one. */
export function tokenFormatOf(params: Params): TokenFormat | undefined {
  const format = params.get('token_format')
  if (format === undefined || format === 'jwt' || format === 'opaque') return format
  throw new OAuthError('invalid_request', 'The token_format must be jwt or opaque')
}

/** An id for logs that MSAL, a library of Microsoft's, adds to the URL; not a parameter of the request. */
const CORRELATION_ID = 'client-request-id'

const NO_PARAMETERS: ReadonlySet<string> = new Set([CORRELATION_ID])

/** May appear in a log or a browser's history. */
const NOT_SECRET: ReadonlySet<string> = new Set([
  CORRELATION_ID,
  'grant_type',
  'client_id',
  'scope',
  'response_type',
  'token_format',
  'login_hint', // the origin, as cf sends it
])

/** Names that the query of a request to the token endpoint may have (row C5). */
export const queryNames = ({ refuseQueryParameters }: Behaviour): ReadonlySet<string> =>
  refuseQueryParameters ? NO_PARAMETERS : NOT_SECRET

/**
 * The form of a request to the token endpoint or /check_token: its body, joined with the query if the setting
 * `queryString` allows any or `allowed` has all of its names. Refuses any other query.
 */
export function formOf(
  request: FastifyRequest,
  { queryString }: TokenSettings,
  allowed?: ReadonlySet<string>,
): Form | undefined {
  const body = bodyForm(request)
  if (!request.url.includes('?')) return body
  if (queryString || (allowed && queryForm(request).names.every(name => allowed.has(name)))) {
    return joinForms(queryForm(request), body ?? EMPTY_FORM)
  }
  throw new OAuthError('query_string_not_allowed', 'Parameters must be passed in the body of the request')
}
