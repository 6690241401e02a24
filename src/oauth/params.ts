import { isJsonRecord, memberOf, parseJson } from '../base/json.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { TokenFormat } from '../model/token.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM } from '../web/form.ts'

/** The parameters of an OAuth request, parsed once (RFC 6749 §3.1, §3.2). */
export interface Params {
  /** The value, or undefined when it is absent or empty: the standard makes no difference between the two. */
  get(name: string): string | undefined
  /** The value as it was sent; an empty client secret is a secret. */
  raw(name: string): string | undefined
  /** Names that were sent more than once. */
  readonly repeated: readonly string[]
}

/** Reads a form or a query without judging repetitions. */
export function readParams(form: Form = EMPTY_FORM): Params {
  return {
    get: name => form.get(name) || undefined,
    raw: name => form.get(name),
    repeated: form.repeated,
  }
}

/** Reads the form of the token endpoint and its neighbours; throws `invalid_request` for a repeated parameter (row A3). */
export function parseParams(form: Form | undefined, behaviour: Behaviour): Params {
  const params = readParams(form)
  const [repeated] = params.repeated
  if (repeated !== undefined && behaviour.refuseRepeated) {
    throw new OAuthError('invalid_request', `The parameter ${repeated.slice(0, 100)} must not be repeated`)
  }
  return params
}

const MAX_ATTRIBUTE_CHARACTERS = 2000 // characters; they travel in every token

/** UAA: the attributes of `authorities={"az_attr":{…}}`, texts only; anything else counts as absent. */
export function azAttrOf(params: Params): Readonly<Record<string, string>> | undefined {
  const text = params.get('authorities')
  if (text === undefined || text.length > MAX_ATTRIBUTE_CHARACTERS) return undefined
  const attributes = memberOf(parseJson(text), 'az_attr')
  if (!isJsonRecord(attributes)) return undefined
  const entries = Object.entries(attributes)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ? Object.fromEntries(entries)
    : undefined
}

/** The wanted form of the access token; throws `invalid_request` for a word that names none. */
export function tokenFormatOf(params: Params): TokenFormat | undefined {
  const format = params.get('token_format')
  if (format === undefined || format === 'jwt' || format === 'opaque') return format
  throw new OAuthError('invalid_request', 'The token_format must be jwt or opaque')
}
